//! Which queues there are, and what the service says of them.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_sqs::{Client, types::QueueAttributeName as Attribute};
use futures_util::{StreamExt, stream};
use goqueue_core::QueueName;

use crate::{
    error::{Fault, Meaning},
    names::Names,
    queues::url_of,
};

/// The most queues of goqueue that are looked at.
pub(super) const MOST: usize = 50;
/// The most names that one answer has.
const NAMES: usize = 1_000;
/// Calls under way at once.
const AT_ONCE: usize = 8;
const LOOK: &str = "look at the queues";

/// What was found.
pub(super) struct Survey {
    pub(super) pairs: Vec<Pair>,
    pub(super) plan: Plan,
    /// Why the names could not be listed.
    pub(super) unlisted: Option<Fault>,
}

/// A queue of goqueue: its jobs and its dead letters.
pub(super) struct Pair {
    pub(super) name: QueueName,
    /// Whether the configuration names it.
    pub(super) is_wanted: bool,
    pub(super) jobs: Spot,
    pub(super) dead: Spot,
}

/// A name on SQS, and what is there.
pub(super) struct Spot {
    pub(super) on_sqs: String,
    pub(super) is_dead: bool,
    pub(super) what: What,
}

pub(super) enum What {
    Missing,
    /// It could not be looked for.
    Unknown(Fault),
    There {
        url: String,
        attributes: Result<HashMap<Attribute, String>, Fault>,
    },
}

/// A queue whose attributes are known.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) on_sqs: &'a str,
    pub(super) is_dead: bool,
    pub(super) url: &'a str,
    attributes: &'a HashMap<Attribute, String>,
}

/// Which queues to look at, and what is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    candidates: Vec<QueueName>,
    /// Queues with the prefix that are of the other kind, standard or FIFO.
    pub(super) other_kind: Vec<String>,
    /// Names of the configuration that no queue on SQS can have, and why.
    pub(super) unusable: Vec<String>,
    /// Queues that nothing tells from those of other programs, for want of a prefix.
    pub(super) strangers: usize,
    /// Queues of goqueue beyond the most that are looked at.
    pub(super) beyond: usize,
    /// Whether there are more names than were listed.
    pub(super) is_cut: bool,
}

impl<'a> Known<'a> {
    pub(super) fn text(self, name: &Attribute) -> Option<&'a str> {
        self.attributes.get(name).map(String::as_str)
    }

    pub(super) fn number(self, name: &Attribute) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

impl Spot {
    pub(super) fn known(&self) -> Option<Known<'_>> {
        let What::There { url, attributes } = &self.what else {
            return None;
        };
        Some(Known {
            on_sqs: &self.on_sqs,
            is_dead: self.is_dead,
            url,
            attributes: attributes.as_ref().ok()?,
        })
    }

    pub(super) fn url(&self) -> Option<&str> {
        match &self.what {
            What::There { url, .. } => Some(url),
            _ => None,
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.what, What::Missing)
    }
}

impl Survey {
    pub(super) async fn make(client: &Client, names: &Names, wanted: Vec<QueueName>) -> Self {
        let (listed, is_cut, unlisted) = match list(client, names).await {
            Ok((listed, is_cut)) => (listed, is_cut, None),
            Err(fault) => (BTreeMap::new(), false, Some(fault)),
        };
        let mut plan = Plan::of(&listed, names, &wanted, unlisted.is_some());
        plan.is_cut = is_cut;
        let mut targets = Vec::with_capacity(plan.candidates.len());
        for name in std::mem::take(&mut plan.candidates) {
            if let (Ok(jobs), Ok(dead)) = (names.jobs(&name), names.dead(&name)) {
                let is_wanted = wanted.contains(&name);
                targets.push((name, is_wanted, jobs, dead));
            }
        }
        let listed = &listed;
        let looks = targets
            .into_iter()
            .map(|(name, is_wanted, jobs, dead)| async move {
                Pair {
                    name,
                    is_wanted,
                    jobs: spot(client, listed, jobs, false).await,
                    dead: spot(client, listed, dead, true).await,
                }
            });
        Self {
            pairs: stream::iter(looks).buffered(AT_ONCE).collect().await,
            plan,
            unlisted,
        }
    }

    pub(super) fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.pairs.iter().flat_map(|pair| [&pair.jobs, &pair.dead])
    }

    pub(super) fn known(&self) -> impl Iterator<Item = Known<'_>> {
        self.spots().filter_map(Spot::known)
    }
}

impl Plan {
    fn of(
        listed: &BTreeMap<String, String>,
        names: &Names,
        wanted: &[QueueName],
        is_unlisted: bool,
    ) -> Self {
        let mut plan = Self::default();
        for name in wanted {
            match names.jobs(name) {
                Ok(_) => plan.candidates.push(name.clone()),
                Err(error) => plan.unusable.push(error.to_string()),
            }
        }
        if is_unlisted && plan.candidates.is_empty() {
            // Every worker that is told nothing else serves it.
            plan.candidates.extend(QueueName::new("default"));
        }
        let other = Names {
            prefix: names.prefix.clone(),
            is_fifo: !names.is_fifo,
        };
        for on_sqs in listed.keys() {
            if let Some((name, is_pair)) = ours(listed, names, on_sqs) {
                if plan.candidates.contains(&name) {
                    continue;
                }
                if names.prefix.is_empty() && !is_pair {
                    plan.strangers += 1;
                } else {
                    plan.candidates.push(name);
                }
            } else if !names.prefix.is_empty() && ours(listed, &other, on_sqs).is_some() {
                plan.other_kind.push(on_sqs.clone());
            }
        }
        plan.beyond = plan.candidates.len().saturating_sub(MOST);
        plan.candidates.truncate(MOST);
        plan
    }
}

/// The queue of goqueue that has this name on SQS, and whether both of its queues are listed.
fn ours(
    listed: &BTreeMap<String, String>,
    names: &Names,
    on_sqs: &str,
) -> Option<(QueueName, bool)> {
    let name = names.queue_of(on_sqs)?;
    let (jobs, dead) = (names.jobs(&name).ok()?, names.dead(&name).ok()?);
    let is_one = jobs == on_sqs || dead == on_sqs;
    is_one.then(|| {
        let is_pair = listed.contains_key(&jobs) && listed.contains_key(&dead);
        (name, is_pair)
    })
}

/// The names with the prefix and their URLs, and whether there are more.
async fn list(client: &Client, names: &Names) -> Result<(BTreeMap<String, String>, bool), Fault> {
    let mut call = client.list_queues().max_results(NAMES as i32);
    if !names.prefix.is_empty() {
        call = call.queue_name_prefix(&names.prefix);
    }
    let answer = call.send().await;
    let answer = answer.map_err(|error| Fault::of(LOOK, &error))?;
    let is_cut = answer.next_token.is_some();
    let urls = answer.queue_urls.unwrap_or_default();
    let named = urls.into_iter().filter_map(|url| {
        let on_sqs = url.rsplit('/').next()?.to_owned();
        Some((on_sqs, url))
    });
    Ok((named.collect(), is_cut))
}

async fn spot(
    client: &Client,
    listed: &BTreeMap<String, String>,
    on_sqs: String,
    is_dead: bool,
) -> Spot {
    let url = match listed.get(&on_sqs) {
        Some(url) => Ok(url.clone()),
        None => url_of(client, &on_sqs, LOOK).await,
    };
    let what = match url {
        Ok(url) => match attributes(client, &url).await {
            Err(fault) if fault.meaning == Meaning::NoQueue => What::Missing,
            attributes => What::There { url, attributes },
        },
        Err(fault) if fault.meaning == Meaning::NoQueue => What::Missing,
        Err(fault) => What::Unknown(fault),
    };
    Spot {
        on_sqs,
        is_dead,
        what,
    }
}

async fn attributes(client: &Client, url: &str) -> Result<HashMap<Attribute, String>, Fault> {
    let call = client.get_queue_attributes().queue_url(url);
    let answer = call.attribute_names(Attribute::All).send().await;
    let answer = answer.map_err(|error| Fault::of(LOOK, &error))?;
    Ok(answer.attributes.unwrap_or_default())
}

#[cfg(test)]
pub(super) mod tests;
