//! What this user may do. What can be tried without touching a message is tried; the rest is said.

use std::collections::BTreeSet;

use aws_sdk_sqs::{
    Client,
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};
use goqueue_core::driver::Finding;

use super::{
    Wanted,
    survey::{Spot, Survey, What},
};
use crate::error::{Fault, Meaning};

const CHECK: &str = "permissions";
const LIST: &str = "sqs:ListQueues";
const URL: &str = "sqs:GetQueueUrl";
const ATTRIBUTES: &str = "sqs:GetQueueAttributes";
const SEND: &str = "sqs:SendMessage";
const DELETE: &str = "sqs:DeleteMessage";
const HIDE: &str = "sqs:ChangeMessageVisibility";
/// What the driver can do without.
const SPARED: [&str; 2] = [LIST, ATTRIBUTES];
/// What a program that only enqueues can do without.
const OF_WORKERS: [&str; 2] = [DELETE, HIDE];
/// What is never tried: a receive counts as a delivery, and a new queue would stay.
const UNTRIED: &str = "`sqs:ReceiveMessage`";

/// What came of the tries.
#[derive(Debug, Default)]
pub(super) struct Rights {
    allowed: BTreeSet<&'static str>,
    refused: BTreeSet<&'static str>,
    /// What the service said to the first refusal.
    why: String,
}

impl Rights {
    fn note(&mut self, action: &'static str, fault: Option<&Fault>) {
        match fault {
            None => {
                self.allowed.insert(action);
            }
            Some(fault) if fault.meaning == Meaning::Denied => {
                if self.refused.is_empty() {
                    fault.text().clone_into(&mut self.why);
                }
                self.refused.insert(action);
            }
            // Nothing is known of a call that failed for another reason.
            Some(_) => {}
        }
    }

    /// A call with nothing in it, which the service answers with an error of its own when it gets as
    /// far as looking.
    fn note_empty<T, E>(
        &mut self,
        action: &'static str,
        answer: Result<T, SdkError<E, HttpResponse>>,
    ) where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let fault = answer.err().map(|error| Fault::of("try", &error));
        let is_about_emptiness = fault
            .as_ref()
            .is_none_or(|fault| fault.meaning == Meaning::Permanent);
        self.note(
            action,
            if is_about_emptiness {
                None
            } else {
                fault.as_ref()
            },
        );
    }
}

/// Tries what the driver does: the looks that the survey took, and batches without an entry on the
/// first queue of each kind.
pub(super) async fn tried(client: &Client, survey: &Survey) -> Rights {
    let mut rights = Rights::default();
    rights.note(LIST, survey.unlisted.as_ref());
    for spot in survey.spots() {
        match &spot.what {
            What::Missing => {}
            What::Unknown(fault) => rights.note(URL, Some(fault)),
            What::There { attributes, .. } => {
                rights.note(ATTRIBUTES, attributes.as_ref().err());
            }
        }
    }
    if let Some(spot) = survey.spots().find(|spot| spot.url().is_some()) {
        let answer = client.get_queue_url().queue_name(&spot.on_sqs).send().await;
        let fault = answer.err().map(|error| Fault::of("try", &error));
        rights.note(URL, fault.as_ref());
    }
    for is_dead in [false, true] {
        let first = survey.spots().filter(|spot| spot.is_dead == is_dead);
        if let Some(url) = first.filter_map(Spot::url).next() {
            try_empty(client, url, &mut rights).await;
        }
    }
    rights
}

async fn try_empty(client: &Client, url: &str, rights: &mut Rights) {
    let call = client.send_message_batch().queue_url(url);
    rights.note_empty(SEND, call.set_entries(Some(Vec::new())).send().await);
    let call = client.delete_message_batch().queue_url(url);
    rights.note_empty(DELETE, call.set_entries(Some(Vec::new())).send().await);
    let call = client.change_message_visibility_batch().queue_url(url);
    rights.note_empty(HIDE, call.set_entries(Some(Vec::new())).send().await);
}

pub(super) fn permissions(rights: &Rights, wanted: &Wanted<'_>) -> Finding {
    let untried = if wanted.settings.table.create_queues {
        format!("{UNTRIED} and `sqs:CreateQueue`")
    } else {
        UNTRIED.to_owned()
    };
    if rights.refused.is_empty() {
        let found = if rights.allowed.contains(SEND) {
            format!(
                "nothing that can be tried is refused: {}, the last three by batches without an entry; \
                 {untried} cannot be tried without a trace",
                in_order(&rights.allowed),
            )
        } else {
            format!(
                "nothing that can be tried without a queue is refused: {}",
                in_order(&rights.allowed)
            )
        };
        return Finding::good(CHECK, found);
    }
    let refused = |action: &&str| rights.refused.contains(*action);
    let found = format!("refused: {} ({})", in_order(&rights.refused), rights.why);
    let prefix = &wanted.settings.names.prefix;
    let allow = format!(
        "allow {} on `arn:aws:sqs:{}:ACCOUNT:{prefix}*` in the policy of the user or role",
        in_order(&rights.refused),
        wanted.region,
    );
    if rights.refused.iter().all(|action| SPARED.contains(action)) {
        let fix = format!(
            "{allow}: `{LIST}` is for listing queues, without `{ATTRIBUTES}` a redrive policy, a smaller \
             size limit and a short retention go unnoticed"
        );
        return Finding::warning(CHECK, found, fix);
    }
    let is_producer = OF_WORKERS.iter().all(refused) && !refused(&SEND) && !refused(&URL);
    if is_producer {
        let fix = format!("{allow}, and {UNTRIED}, unless this machine only enqueues");
        return Finding::warning(CHECK, found, fix);
    }
    Finding::problem(CHECK, found, allow)
}

/// The actions as the README has them.
fn in_order(actions: &BTreeSet<&'static str>) -> String {
    let all = [LIST, URL, ATTRIBUTES, SEND, DELETE, HIDE];
    let named = all.iter().filter(|action| actions.contains(*action));
    let named: Vec<_> = named.map(|action| format!("`{action}`")).collect();
    named.join(", ")
}

#[cfg(test)]
mod tests;
