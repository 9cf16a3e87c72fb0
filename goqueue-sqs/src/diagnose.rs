//! Looking for what is wrong with a region's queues, and saying how to mend it.

mod checks;
mod date;
mod seen;

use std::time::Duration;

use goqueue_core::{
    Config,
    driver::{DiagnoseFuture, Finding},
};
use tokio::time::Instant;

use crate::{
    config::Settings,
    connection,
    error::{Fault, Meaning},
};
use date::Watch;
use seen::{Listed, Place, Seen};

/// Diagnoses the queues that the configuration names, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry). It changes nothing, and receives no message,
/// which would count as a delivery.
#[must_use = "a diagnosis is made when this is awaited"]
pub fn diagnose(config: Config) -> DiagnoseFuture {
    Box::pin(async move {
        let settings = match Settings::of(&config) {
            Ok(settings) => settings,
            Err(error) => return vec![wrong_setting(&error.to_string())],
        };
        match connection::client(&settings).await {
            Ok((client, region)) => {
                let place = Place {
                    client,
                    region,
                    settings,
                };
                look(&config, &place).await
            }
            Err(error) => vec![wrong_setting(&error.to_string())],
        }
    })
}

fn wrong_setting(problem: &str) -> Finding {
    Finding::problem("configuration", problem, "correct the setting")
}

async fn look(config: &Config, place: &Place) -> Vec<Finding> {
    let watch = Watch::default();
    let asked = Instant::now();
    let listed = match place.list(&watch).await {
        Ok(listed) => listed,
        Err(fault) if fault.meaning == Meaning::Denied => Listed::default(),
        Err(fault) => return vec![unreachable(place, fault)],
    };
    let mut findings = vec![reachable(place, asked.elapsed())];
    findings.push(checks::clock(watch.ahead()));

    let seen = match place.look_at(config, &listed).await {
        Ok(seen) => seen,
        Err(fault) => {
            findings.push(unreachable(place, fault));
            return findings;
        }
    };
    findings.push(permissions(place, &seen, listed.is_allowed));
    findings.extend(checks::all(config, place, &listed, &seen));
    findings
}

fn reachable(place: &Place, took: Duration) -> Finding {
    const CHECK: &str = "reachable";
    let patience = place.settings.table.response_timeout;
    let at = place.address();
    if took < patience / 5 {
        return Finding::good(CHECK, format!("{at} answers within {took:.1?}"));
    }
    Finding::warning(
        CHECK,
        format!("{at} answers after {took:.1?}, with `sqs.response_timeout` {patience:?}"),
        "look for what is slow on the way there, or raise `sqs.response_timeout`",
    )
}

fn unreachable(place: &Place, fault: Fault) -> Finding {
    let meaning = fault.meaning;
    let text = goqueue_core::Error::from(fault).to_string();
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let fix = if has(&["ExpiredToken", "RequestExpired"]) {
        "get new temporary credentials; they have expired".into()
    } else if has(&[
        "InvalidClientTokenId",
        "UnrecognizedClient",
        "InvalidAccessKeyId",
    ]) {
        "correct the access key: the service does not know it".into()
    } else if has(&["SignatureDoesNotMatch", "InvalidSignature"]) {
        "correct the secret access key, and see that the clock of this machine is right".into()
    } else if has(&["credentials"]) {
        "give credentials: in the environment, by `sqs.profile`, or by `sqs.access_key_id` and \
         `sqs.secret_access_key`"
            .into()
    } else if meaning == Meaning::Permanent {
        "see what the service says, and correct the region, the endpoint or the credentials".into()
    } else {
        format!(
            "see that this machine can reach {}, directly or through its proxy",
            place.address()
        )
    };
    Finding::problem("reachable", text, fix)
}

/// What may be asked. The actions that touch messages are not tried: SQS has no call that tries them
/// without an effect.
fn permissions(place: &Place, seen: &Seen, may_list: bool) -> Finding {
    const CHECK: &str = "permissions";
    let mut refused = Vec::new();
    if !may_list {
        refused.push("sqs:ListQueues".to_owned());
    }
    if !seen.closed.is_empty() {
        refused.push(format!(
            "sqs:GetQueueAttributes on {}",
            seen.closed.join(", ")
        ));
    }
    if refused.is_empty() {
        let found = "queues can be listed and looked at; what touches messages was not tried";
        return Finding::good(CHECK, found);
    }
    let fix = format!(
        "allow the actions on `arn:aws:sqs:{}:ACCOUNT:{}*` (`sqs:ListQueues` on `*`); without them \
         queues cannot be listed, and a short retention and a redrive policy go unnoticed",
        place.region, place.settings.names.prefix
    );
    Finding::warning(CHECK, format!("refused: {}", refused.join(", ")), fix)
}
