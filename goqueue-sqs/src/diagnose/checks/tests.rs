use super::*;
use crate::diagnose::{
    survey::{
        Pair,
        tests::{pair, survey, there},
    },
    tests::{settings, wanted},
};

fn queue(name: &str, attributes: &[(Attribute, &str)]) -> Pair {
    pair(name, there(name, false, attributes).what, What::Missing)
}

fn of<'a>(findings: &'a [Finding], check: &str) -> Vec<&'a Finding> {
    let found = findings.iter().filter(|finding| finding.check == check);
    found.collect()
}

#[test]
fn many_queues_with_the_same_fault_are_counted() {
    let settings = settings("sqs://eu-west-1/shop-", "");
    let short = [(Attribute::MessageRetentionPeriod, "345600")];
    let pairs = (0..13).map(|number| queue(&format!("q{number}"), &short));
    let findings = all(&survey(pairs.collect()), &wanted(&settings));
    let found = of(&findings, "retention");
    assert_eq!(found.len(), SHOWN + 1);
    assert_eq!(
        found[0].found,
        "after 4 days SQS deletes from `shop-q0` a job that waits longer; allowed are up to 14 days"
    );
    assert_eq!(found[SHOWN].found, "the same kind on 3 more queues");
    assert_eq!(found[SHOWN].status, FindingStatus::Warning);
}

#[test]
fn the_worst_is_shown_first() {
    let settings = settings("sqs://eu-west-1/shop-", "");
    let policy = |count: u32| format!(r#"{{"deadLetterTargetArn":"a","maxReceiveCount":{count}}}"#);
    let (high, low) = (policy(6), policy(5));
    let mut pairs: Vec<_> = (0..12)
        .map(|number| {
            let name = format!("q{number:02}");
            queue(&name, &[(Attribute::RedrivePolicy, &high)])
        })
        .collect();
    pairs.push(queue("z", &[(Attribute::RedrivePolicy, &low)]));
    let findings = all(&survey(pairs), &wanted(&settings));
    let found = of(&findings, "redrive policy");
    assert_eq!(found[0].status, FindingStatus::Problem);
    assert!(found[0].found.contains("`shop-z`"), "{found:#?}");
    assert_eq!(found[SHOWN].status, FindingStatus::Good);
}

#[test]
fn who_encrypts_is_told_with_the_rights_that_it_takes() {
    let pairs = vec![
        queue("a", &[(Attribute::KmsMasterKeyId, "alias/jobs")]),
        queue("b", &[(Attribute::SqsManagedSseEnabled, "true")]),
        queue("c", &[(Attribute::SqsManagedSseEnabled, "false")]),
    ];
    assert_eq!(
        encryption(&survey(pairs)).found,
        "1 encrypted by SQS; 1 by the key `alias/jobs`, for which programs need \
         `kms:GenerateDataKey` and `kms:Decrypt`; 1 not encrypted at rest"
    );
}

#[test]
fn a_delay_of_the_queue_matters_where_no_message_has_its_own() {
    let delayed = [(Attribute::DelaySeconds, "90")];
    for (url, count) in [("sqs://r/shop-?fifo=true", 1), ("sqs://r/shop-", 0)] {
        let settings = settings(url, "");
        let findings = all(&survey(vec![queue("a", &delayed)]), &wanted(&settings));
        let found = of(&findings, FIFO);
        assert_eq!(found.len(), count, "{url}: {found:#?}");
    }
}

#[test]
fn times_are_said_in_their_largest_unit() {
    let said = [86_400, 1_209_600, 7_200, 60, 90, 0].map(span);
    assert_eq!(
        said,
        ["1 day", "14 days", "2 hours", "1 minute", "90s", "0s"]
    );
}
