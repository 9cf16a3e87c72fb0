//! What is concluded from how the queues are set up.

use std::time::Duration;

use goqueue_core::{Config, driver::Finding};

use super::seen::{Listed, MOST, Place, Queue, Seen};
use crate::{
    limits::{MAX_MESSAGE, RETENTION},
    queues::attributes_of_new,
};

/// Clocks further apart than this are worth a word, in seconds. SQS refuses calls that are signed
/// five minutes off, and the SDK corrects itself then.
const APART: f64 = 30.0;

pub(super) fn all(config: &Config, place: &Place, listed: &Listed, seen: &Seen) -> Vec<Finding> {
    let mut findings = vec![queues(place, listed, seen)];
    findings.extend(kind(place, listed));
    if !seen.queues.is_empty() {
        let attempts = config.retry.attempts();
        findings.push(redrive(place, &seen.queues, attempts));
        findings.push(retention(place, &seen.queues));
        findings.push(message_size(place, &seen.queues));
        findings.extend(fifo(place, &seen.queues));
    }
    findings.push(lease(config, place));
    findings
}

pub(super) fn clock(ahead: Option<f64>) -> Finding {
    const CHECK: &str = "clock offset";
    let Some(ahead) = ahead else {
        let why = "the service's answer has no date";
        return Finding::unknown(CHECK, why, "compare `date -u` with a clock you trust");
    };
    let apart = ahead.abs();
    let found = if apart < 2.0 {
        "within two seconds of the service's".to_owned()
    } else {
        let side = if ahead < 0.0 { "ahead of" } else { "behind" };
        format!("{apart:.0} s {side} the service's")
    };
    if apart < APART {
        return Finding::good(CHECK, found);
    }
    let fix = "set this machine's clock, with an NTP service: calls are signed with it, and the \
               service refuses those that are five minutes off";
    Finding::warning(CHECK, found, fix)
}

fn queues(place: &Place, listed: &Listed, seen: &Seen) -> Finding {
    const CHECK: &str = "queues";
    let dead = seen.queues.iter().filter(|queue| queue.is_dead).count();
    let mut found = format!(
        "{} for jobs, {dead} for dead letters",
        seen.queues.len() - dead
    );
    if seen.left_out > 0 {
        found += &format!("; {} more than {MOST} were not looked at", seen.left_out);
    }
    if place.settings.table.create_queues {
        found += "; those that are missing are made when they are first used";
        return Finding::good(CHECK, found);
    }
    if !seen.missing.is_empty() {
        let missing = seen.missing.join("`, `");
        let commands = seen.missing.iter().map(|name| create(place, name));
        let fix = format!(
            "create them: {}; or set `sqs.create_queues = true`, for development",
            commands.collect::<Vec<_>>().join(", ")
        );
        return Finding::problem(CHECK, format!("missing: `{missing}`; {found}"), fix);
    }
    if seen.queues.is_empty() && seen.closed.is_empty() && listed.is_allowed {
        let prefix = &place.settings.names.prefix;
        let fix = format!(
            "create them, such as {}; or set `sqs.create_queues = true`, for development",
            create(place, &place.example())
        );
        return Finding::warning(CHECK, format!("no queue begins with `{prefix}`"), fix);
    }
    Finding::good(CHECK, found)
}

/// Queues under the prefix that are of the kind which is not configured.
fn kind(place: &Place, listed: &Listed) -> Option<Finding> {
    let is_fifo = place.settings.names.is_fifo;
    let (ours, theirs) = if is_fifo {
        ("FIFO", "standard")
    } else {
        ("standard", "FIFO")
    };
    if listed.others.is_empty() {
        return None;
    }
    let found = format!(
        "`sqs.fifo` is {is_fifo}, and these are {theirs} queues, which nobody serves: `{}`",
        listed.others.join("`, `")
    );
    let fix = format!(
        "set `sqs.fifo = {}` where they are meant, or keep {ours} and {theirs} queues under \
         prefixes of their own",
        !is_fifo
    );
    Some(Finding::warning("kind of queue", found, fix))
}

fn redrive(place: &Place, queues: &[Queue], attempts: Option<u32>) -> Finding {
    const CHECK: &str = "redrive policy";
    let (mut bad, mut harmless) = (Vec::new(), Vec::new());
    for queue in queues {
        let Some(policy) = queue.redrive_policy() else {
            continue;
        };
        let count = policy.max_receive_count;
        let said = format!("`{}` after {count} receives", queue.on_sqs);
        // Each look at a letter is a receive, and a job without a limit is received any number of
        // times.
        if queue.is_dead || attempts.is_none_or(|attempts| count <= attempts) {
            bad.push((queue, said));
        } else {
            harmless.push(said);
        }
    }
    let limit = match attempts {
        Some(attempts) => format!("`retry.max_attempts` is {attempts}"),
        None => "`retry.max_attempts` is unlimited".into(),
    };
    if bad.is_empty() && harmless.is_empty() {
        return Finding::good(CHECK, "none: goqueue alone decides what is a dead letter");
    }
    if bad.is_empty() {
        let found = format!("{}; {limit}", harmless.join(", "));
        return Finding::good(CHECK, found);
    }
    let (queues, said): (Vec<_>, Vec<_>) = bad.into_iter().unzip();
    let found = format!("{}; {limit}", said.join(", "));
    let fix = format!(
        "take it off, or raise its maxReceiveCount well above that: SQS moves the message before \
         goqueue is done with it, without a reason on it. {}",
        set(place, &queues, r#"'{"RedrivePolicy":""}'"#)
    );
    Finding::problem(CHECK, found, fix)
}

fn retention(place: &Place, queues: &[Queue]) -> Finding {
    const CHECK: &str = "retention";
    let letters = place.settings.dead_retention;
    let wanted = |queue: &Queue| {
        if queue.is_dead {
            letters
        } else {
            *RETENTION.end()
        }
    };
    let short: Vec<_> = queues
        .iter()
        .filter(|queue| queue.retention().is_some_and(|kept| kept < wanted(queue)))
        .collect();
    if short.is_empty() {
        return Finding::good(
            CHECK,
            format!("jobs 14 days, dead letters {} or more", days(letters)),
        );
    }
    let said = short.iter().map(|queue| {
        let kept = days(queue.retention().unwrap_or_default());
        format!(
            "`{}` {kept} instead of {}",
            queue.on_sqs,
            days(wanted(queue))
        )
    });
    let found = format!(
        "SQS deletes what waits longer: {}",
        said.collect::<Vec<_>>().join(", ")
    );
    let fixes = short.iter().map(|queue| {
        let value = wanted(queue).as_secs().to_string();
        set(place, &[queue], &format!("MessageRetentionPeriod={value}"))
    });
    let fix = format!("raise it: {}", fixes.collect::<Vec<_>>().join(", "));
    Finding::warning(CHECK, found, fix)
}

fn message_size(place: &Place, queues: &[Queue]) -> Finding {
    const CHECK: &str = "message size";
    let small: Vec<_> = queues
        .iter()
        .filter(|queue| {
            queue
                .max_message()
                .is_some_and(|most| most < MAX_MESSAGE as u64)
        })
        .collect();
    if small.is_empty() {
        return Finding::good(CHECK, "up to 1 MiB, the most that SQS takes");
    }
    let said = small.iter().map(|queue| {
        let most = queue.max_message().unwrap_or_default();
        format!("`{}` takes {most} bytes", queue.on_sqs)
    });
    let fix = format!(
        "raise it, or larger jobs and dead letters are refused: {}",
        set(place, &small, &format!("MaximumMessageSize={MAX_MESSAGE}"))
    );
    Finding::warning(CHECK, said.collect::<Vec<_>>().join(", "), fix)
}

/// What only FIFO queues have.
fn fifo(place: &Place, queues: &[Queue]) -> Vec<Finding> {
    const SCOPE: &str = "deduplication";
    const DELAY: &str = "delay of the queue";
    if !place.settings.names.is_fifo {
        return Vec::new();
    }
    let jobs = || queues.iter().filter(|queue| !queue.is_dead);
    let names = |queues: &[&Queue]| {
        let names: Vec<_> = queues.iter().map(|queue| queue.on_sqs.as_str()).collect();
        format!("`{}`", names.join("`, `"))
    };
    let by_group: Vec<_> = jobs().filter(|q| q.deduplicates_by_group()).collect();
    let scope = if by_group.is_empty() {
        Finding::good(SCOPE, "across the whole queue, as unique keys need it")
    } else {
        let fix = format!(
            "make it the queue's: {}",
            set(place, &by_group, "DeduplicationScope=queue")
        );
        let found = format!(
            "within a message group only, so that a unique key holds among jobs of one ordering \
             key and among no others: {}",
            names(&by_group)
        );
        Finding::problem(SCOPE, found, fix)
    };
    let delayed: Vec<_> = jobs().filter(|queue| !queue.delay().is_zero()).collect();
    let delay = if delayed.is_empty() {
        Finding::good(DELAY, "none")
    } else {
        let fix = format!("take it off: {}", set(place, &delayed, "DelaySeconds=0"));
        let found = format!("every job waits for it: {}", names(&delayed));
        Finding::warning(DELAY, found, fix)
    };
    vec![scope, delay]
}

/// A lease is extended from a quarter of it on: an answer that is late must not cost the lease.
fn lease(config: &Config, place: &Place) -> Finding {
    const CHECK: &str = "lease against timeout";
    let table = &place.settings.table;
    let (lease, timeout) = (config.worker.lease, table.response_timeout);
    if lease > table.max_visibility {
        let found = format!(
            "`worker.lease` {lease:?}, and SQS holds a message for {:?} at most",
            table.max_visibility
        );
        return Finding::problem(CHECK, found, "lower `worker.lease`");
    }
    let found = format!("`worker.lease` {lease:?}, `sqs.response_timeout` {timeout:?}");
    if lease / 2 >= timeout {
        return Finding::good(CHECK, found);
    }
    let least = timeout * 2;
    let fix = format!(
        "raise `worker.lease` to {least:?} or more, or lower `sqs.response_timeout`: one answer that \
         does not come would cost every lease"
    );
    Finding::warning(CHECK, found, fix)
}

/// The command that makes a queue.
fn create(place: &Place, on_sqs: &str) -> String {
    let attributes: Vec<_> = attributes_of_new(&place.settings, on_sqs)
        .into_iter()
        .map(|(attribute, value)| format!("{}={value}", attribute.as_str()))
        .collect();
    let rest = format!(
        "--queue-name {on_sqs} --attributes {}",
        attributes.join(",")
    );
    aws(place, "create-queue", &rest)
}

/// The commands that change attributes of queues.
fn set(place: &Place, queues: &[&Queue], attributes: &str) -> String {
    let commands = queues.iter().map(|queue| {
        let rest = format!("--queue-url {} --attributes {attributes}", queue.url);
        aws(place, "set-queue-attributes", &rest)
    });
    commands.collect::<Vec<_>>().join(", ")
}

fn aws(place: &Place, verb: &str, rest: &str) -> String {
    let endpoint = place.settings.table.endpoint.as_ref();
    let endpoint = endpoint.map_or(String::new(), |endpoint| {
        format!(" --endpoint-url {endpoint}")
    });
    format!(
        "`aws sqs {verb} --region {}{endpoint} {rest}`",
        place.region
    )
}

fn days(time: Duration) -> String {
    const DAY: u64 = 24 * 3600;
    let seconds = time.as_secs();
    match (seconds / DAY, seconds % DAY) {
        (1, 0) => "1 day".into(),
        (days, 0) => format!("{days} days"),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use goqueue_core::driver::FindingStatus::{Good, Unknown, Warning};

    use super::*;

    #[test]
    fn clocks_are_compared_to_within_a_second() {
        for (ahead, status, part) in [
            (Some(0.4), Good, "within two seconds"),
            (Some(-10.0), Good, "10 s ahead of the service's"),
            (Some(400.0), Warning, "400 s behind the service's"),
            (None, Unknown, "no date"),
        ] {
            let finding = clock(ahead);
            assert_eq!(finding.status, status, "{finding:?}");
            assert!(finding.found.contains(part), "{finding:?}");
        }
    }

    #[test]
    fn times_are_told_in_days_where_they_are_days() {
        for (seconds, text) in [(86_400, "1 day"), (1_209_600, "14 days"), (90, "90 s")] {
            assert_eq!(days(Duration::from_secs(seconds)), text);
        }
    }
}
