//! One function per attribute that is looked at: from what the service said of a queue to a finding.

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use goqueue_core::driver::{Finding, FindingStatus};

use super::{
    Wanted,
    queues::named,
    survey::{Known, Survey, What},
};
use crate::{
    limits::{MAX_MESSAGE, RETENTION},
    queues::RedrivePolicy,
};

const FIFO: &str = "fifo attributes";
/// Findings of one kind that are shown each with its command.
const SHOWN: usize = 10;

type Check = fn(Known<'_>, &Wanted<'_>) -> Option<Finding>;

/// What the attributes tell, of each queue for which they could be read.
pub(super) fn all(survey: &Survey, wanted: &Wanted<'_>) -> Vec<Finding> {
    let mut findings: Vec<_> = unread(survey).into_iter().collect();
    let count = survey.known().count();
    if count == 0 {
        return findings;
    }
    let checks: [(&'static str, Check); 4] = [
        (FIFO, fifo),
        ("redrive policy", redrive),
        ("retention", retention),
        ("message size", size),
    ];
    for (name, check) in checks {
        let found = survey.known().filter_map(|queue| check(queue, wanted));
        let found = shortened(found.collect());
        if found.is_empty() {
            findings.extend(good(name, count, wanted));
        }
        findings.extend(found);
    }
    findings.push(encryption(survey));
    findings
}

fn good(check: &'static str, count: usize, wanted: &Wanted<'_>) -> Option<Finding> {
    let found = match check {
        FIFO if wanted.settings.names.is_fifo => {
            "unique keys hold across each whole queue, and no queue delays its jobs".into()
        }
        FIFO => return None,
        "redrive policy" => format!("none, on {count} queues"),
        "retention" => format!(
            "jobs are kept for {}, dead letters for {} or more",
            span(RETENTION.end().as_secs()),
            span(wanted.settings.dead_retention.as_secs()),
        ),
        _ => format!("each of {count} queues takes 1 MiB"),
    };
    Some(Finding::good(check, found))
}

/// The first few, and one for the rest, which say the same of other queues.
fn shortened(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.status));
    if findings.len() <= SHOWN {
        return findings;
    }
    let rest = findings.split_off(SHOWN);
    let (check, status, count) = (rest[0].check, rest[0].status, rest.len());
    let found = format!("the same kind on {count} more queues");
    let fix = "mend those above and run it again";
    findings.push(match status {
        FindingStatus::Good => Finding::good(check, found),
        FindingStatus::Problem => Finding::problem(check, found, fix),
        _ => Finding::warning(check, found, fix),
    });
    findings
}

fn unread(survey: &Survey) -> Option<Finding> {
    let closed = survey.spots().filter_map(|spot| match &spot.what {
        What::There {
            attributes: Err(fault),
            ..
        } => Some((spot.on_sqs.as_str(), fault)),
        _ => None,
    });
    let closed: Vec<_> = closed.collect();
    let (_, fault) = closed.first()?;
    let names = named(closed.iter().map(|(name, _)| *name));
    let found = format!(
        "retention, message size and redrive policy of {names} are not known: {}",
        fault.text()
    );
    let fix = "allow `sqs:GetQueueAttributes` on them";
    Some(Finding::unknown("attributes", found, fix))
}

/// What only FIFO queues of jobs have. The driver gives each message an id and a group of its own, so
/// `ContentBasedDeduplication` changes nothing.
fn fifo(queue: Known<'_>, wanted: &Wanted<'_>) -> Option<Finding> {
    const CHECK: &str = FIFO;
    if !wanted.settings.names.is_fifo || queue.is_dead {
        return None;
    }
    let name = queue.on_sqs;
    if queue.text(&Attribute::DeduplicationScope) == Some("messageGroup") {
        let found = format!(
            "`{name}` tells duplicates within a message group only: a unique key keeps off no job of \
             another ordering key, and none without one"
        );
        let whole = "DeduplicationScope=queue,FifoThroughputLimit=perQueue";
        let fix = format!(
            "`{}`; leave it where no job has a unique key: it is what high throughput needs",
            wanted.aws.set(queue.url, whole)
        );
        return Some(Finding::warning(CHECK, found, fix));
    }
    let delay = queue.number(&Attribute::DelaySeconds)?;
    if delay > 0 {
        let found = format!("`{name}` delays every job by {}", span(delay));
        let fix = format!("`{}`", wanted.aws.set(queue.url, "DelaySeconds=0"));
        return Some(Finding::warning(CHECK, found, fix));
    }
    None
}

fn redrive(queue: Known<'_>, wanted: &Wanted<'_>) -> Option<Finding> {
    const CHECK: &str = "redrive policy";
    let policy = RedrivePolicy::read(queue.text(&Attribute::RedrivePolicy)?)?;
    let (name, count, attempts) = (queue.on_sqs, policy.max_receive_count, wanted.attempts);
    let target = &policy.target;
    let remove = wanted.aws.set(queue.url, r#"{"RedrivePolicy":""}"#);
    if queue.is_dead {
        let found = format!(
            "SQS moves a dead letter of `{name}` to `{target}` after {count} looks at it: each listing \
             receives"
        );
        return Some(Finding::warning(CHECK, found, format!("`{remove}`")));
    }
    let found = format!(
        "SQS moves a job of `{name}` to `{target}` after {count} receives, without a reason; \
         `retry.max_attempts` is {attempts}"
    );
    if count <= attempts {
        let fix = format!(
            "`{remove}`, or raise `maxReceiveCount` well above {attempts} and above what any job sets \
             for itself"
        );
        return Some(Finding::problem(CHECK, found, fix));
    }
    let note =
        format!("{found}, and jobs that set {count} or more for themselves are moved too early");
    Some(Finding::good(CHECK, note))
}

fn retention(queue: Known<'_>, wanted: &Wanted<'_>) -> Option<Finding> {
    const CHECK: &str = "retention";
    let kept = queue.number(&Attribute::MessageRetentionPeriod)?;
    let name = queue.on_sqs;
    let (least, what) = if queue.is_dead {
        let least = wanted.settings.dead_retention;
        (least, "dead letter, and `dead_letter.retention` is")
    } else {
        (*RETENTION.end(), "job that waits longer; allowed are up to")
    };
    let least = least.as_secs();
    if kept >= least {
        return None;
    }
    let found = format!(
        "after {} SQS deletes from `{name}` a {what} {}",
        span(kept),
        span(least)
    );
    let set = format!("MessageRetentionPeriod={least}");
    let fix = format!("`{}`", wanted.aws.set(queue.url, &set));
    Some(Finding::warning(CHECK, found, fix))
}

fn size(queue: Known<'_>, wanted: &Wanted<'_>) -> Option<Finding> {
    const CHECK: &str = "message size";
    let most = queue.number(&Attribute::MaximumMessageSize)?;
    if most >= MAX_MESSAGE as u64 {
        return None;
    }
    let what = if queue.is_dead {
        "a larger job has no room among its dead letters, and runs again and again"
    } else {
        "a larger job is refused"
    };
    let found = format!(
        "`{}` takes {most} bytes, allowed are up to {MAX_MESSAGE}: {what}",
        queue.on_sqs
    );
    let set = format!("MaximumMessageSize={MAX_MESSAGE}");
    let fix = format!("`{}`", wanted.aws.set(queue.url, &set));
    Some(Finding::warning(CHECK, found, fix))
}

/// What is told, and nothing to mend: who needs a key of their own knows it.
fn encryption(survey: &Survey) -> Finding {
    let (mut by_key, mut by_sqs, mut not) = (Vec::new(), 0_usize, 0_usize);
    for queue in survey.known() {
        match queue.text(&Attribute::KmsMasterKeyId) {
            Some(key) if !key.is_empty() => by_key.push(key),
            _ if queue.text(&Attribute::SqsManagedSseEnabled) == Some("true") => by_sqs += 1,
            _ => not += 1,
        }
    }
    let mut parts = Vec::new();
    if by_sqs > 0 {
        parts.push(format!("{by_sqs} encrypted by SQS"));
    }
    if !by_key.is_empty() {
        let count = by_key.len();
        by_key.sort_unstable();
        by_key.dedup();
        parts.push(format!(
            "{count} by the key {}, for which programs need `kms:GenerateDataKey` and `kms:Decrypt`",
            named(by_key.into_iter())
        ));
    }
    if not > 0 {
        parts.push(format!("{not} not encrypted at rest"));
    }
    Finding::good("encryption", parts.join("; "))
}

/// A time as a person says it.
pub(super) fn span(seconds: u64) -> String {
    for (unit, name) in [(86_400, "days"), (3_600, "hours"), (60, "minutes")] {
        if seconds >= unit && seconds.is_multiple_of(unit) {
            let count = seconds / unit;
            let name = if count == 1 {
                name.trim_end_matches('s')
            } else {
                name
            };
            return format!("{count} {name}");
        }
    }
    format!("{seconds}s")
}

#[cfg(test)]
mod tests;
