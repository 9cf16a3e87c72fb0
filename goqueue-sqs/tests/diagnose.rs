//! What the diagnosis finds on queues that somebody set up badly, and that it leaves them alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use goqueue_core::{
    Config,
    driver::{Driver, Finding, FindingStatus},
};
use goqueue_sqs::diagnose;
use support::*;

fn config(url: &str, toml: &str) -> Config {
    Config::from_toml(toml).unwrap().with_driver(url)
}

async fn found(url: &str, toml: &str) -> Vec<Finding> {
    let findings = diagnose(config(url, toml)).await;
    for finding in &findings {
        let is_good = finding.status == FindingStatus::Good;
        assert_eq!(finding.fix.is_none(), is_good, "{finding:?}");
        let text = format!("{finding:?}");
        assert!(!text.contains("test-secret") && !text.contains("test-session"));
    }
    findings
}

fn of<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    let found = findings.iter().find(|finding| finding.check == check);
    found.unwrap_or_else(|| panic!("nothing on {check}: {findings:?}"))
}

#[track_caller]
fn all_good(findings: &[Finding]) {
    let bad: Vec<_> = findings
        .iter()
        .filter(|finding| finding.status != FindingStatus::Good)
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

#[track_caller]
fn tells(findings: &[Finding], check: &str, status: FindingStatus, found: &str, fix: &str) {
    let finding = of(findings, check);
    assert_eq!(finding.status, status, "{finding:?}");
    assert!(finding.found.contains(found), "{finding:?}");
    let said = finding.fix.as_deref().unwrap_or_default();
    assert!(said.contains(fix), "{finding:?}");
}

async fn set(url: &str, name: &str, attributes: &[(Attribute, &str)]) {
    let client = raw(url);
    let queue = client
        .get_queue_url()
        .queue_name(name)
        .send()
        .await
        .unwrap();
    let attributes: HashMap<_, _> = attributes
        .iter()
        .map(|(attribute, value)| (attribute.clone(), (*value).to_owned()))
        .collect();
    client
        .set_queue_attributes()
        .queue_url(queue.queue_url.unwrap())
        .set_attributes(Some(attributes))
        .send()
        .await
        .unwrap();
}

/// The URL of a place where one job was pushed and one letter lies.
async fn used(service: Service, kind: Kind) -> String {
    let url = service.url(kind);
    let driver = connect(&url).await;
    driver
        .push(vec![job("mail", "dies"), job("mail", "waits")])
        .await
        .unwrap();
    let taken = next(&driver, "mail", LEASE).await;
    settle(&driver, &taken.lease, dead("no")).await;
    url
}

/// The same URL, with queues made by hand only.
fn by_hand(url: &str) -> String {
    url.replace("create_queues=true", "create_queues=false")
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_are_well_have_nothing_to_mend_and_are_left_as_they_were() {
    for service in [MINISTACK, LOCALSTACK] {
        for kind in [Kind::Standard, Kind::Fifo] {
            let url = used(service, kind).await;
            let findings = found(&by_hand(&url), "").await;
            all_good(&findings);
            assert_eq!(
                of(&findings, "queues").found,
                "1 for jobs, 1 for dead letters"
            );
            assert!(
                of(&findings, "reachable")
                    .found
                    .starts_with("http://127.0.0.1:")
            );
            // Nothing was received: the first delivery is still the first.
            let taken = next(&connect(&url).await, "mail", LEASE).await;
            assert_eq!((&taken.body[..], taken.attempt), (&b"waits"[..], 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_are_missing_are_told_with_the_command_that_makes_them() {
    let url = MINISTACK.url(Kind::Standard);
    let serves_mail = "[worker.queues]\nmail = 1\n";
    all_good(&found(&url, serves_mail).await);
    assert!(
        connect(&url)
            .await
            .inspect()
            .unwrap()
            .queues()
            .await
            .unwrap()
            .is_empty()
    );

    let url = by_hand(&url);
    let (mail, letters) = (on_sqs(&url, "mail"), on_sqs(&url, "mail-dead"));
    let findings = found(&url, serves_mail).await;
    let fix = format!("--queue-name {mail} --attributes MessageRetentionPeriod=1209600,");
    tells(&findings, "queues", FindingStatus::Problem, &letters, &fix);
    let findings = found(&url, "").await;
    let fix = "aws sqs create-queue --region us-east-1 --endpoint-url http://127.0.0.1:";
    tells(
        &findings,
        "queues",
        FindingStatus::Warning,
        "no queue begins with",
        fix,
    );

    // Jobs without a place for their dead letters.
    raw(&url)
        .create_queue()
        .queue_name(&mail)
        .send()
        .await
        .unwrap();
    let findings = found(&url, "").await;
    let fix = format!("--queue-name {letters} ");
    tells(&findings, "queues", FindingStatus::Problem, &letters, &fix);
    let findings = found(&url, "[dead_letter]\nmode = \"discard\"\n").await;
    assert_eq!(of(&findings, "queues").status, FindingStatus::Good);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_lose_jobs_are_told_how_not_to() {
    let url = used(MINISTACK, Kind::Standard).await;
    let (mail, letters) = (on_sqs(&url, "mail"), on_sqs(&url, "mail-dead"));
    let short = [
        (Attribute::MessageRetentionPeriod, "86400"),
        (Attribute::MaximumMessageSize, "4096"),
    ];
    set(&url, &mail, &short).await;
    set(&url, &letters, &[(Attribute::MessageRetentionPeriod, "90")]).await;
    let findings = found(&url, "").await;
    let said = format!("`{letters}` 90 s instead of 14 days");
    let fix = "--attributes MessageRetentionPeriod=1209600`";
    tells(&findings, "retention", FindingStatus::Warning, &said, fix);
    let said = format!("`{mail}` 1 day instead of 14 days");
    tells(&findings, "retention", FindingStatus::Warning, &said, fix);
    let said = format!("`{mail}` takes 4096 bytes");
    let fix = "--attributes MaximumMessageSize=1048576`";
    tells(
        &findings,
        "message size",
        FindingStatus::Warning,
        &said,
        fix,
    );

    let policy = |count: u32| {
        let target = format!("arn:aws:sqs:us-east-1:000000000000:{letters}");
        format!(r#"{{"deadLetterTargetArn":"{target}","maxReceiveCount":"{count}"}}"#)
    };
    set(&url, &mail, &[(Attribute::RedrivePolicy, &policy(5))]).await;
    let (few, many) = ("[retry]\nmax_attempts = 4\n", "[retry]\nmax_attempts = 5\n");
    let said = format!("`{mail}` after 5 receives; `retry.max_attempts` is 4");
    tells(
        &found(&url, few).await,
        "redrive policy",
        FindingStatus::Good,
        &said,
        "",
    );
    let said = format!("`{mail}` after 5 receives; `retry.max_attempts` is 5");
    let fix = r#"--attributes '{"RedrivePolicy":""}'`"#;
    let findings = found(&url, many).await;
    tells(
        &findings,
        "redrive policy",
        FindingStatus::Problem,
        &said,
        fix,
    );
    // To list letters is to receive them, so that no number of receives is safe there.
    set(
        &url,
        &letters,
        &[(Attribute::RedrivePolicy, &policy(1_000))],
    )
    .await;
    let said = format!("`{letters}` after 1000 receives");
    let findings = found(&url, few).await;
    tells(
        &findings,
        "redrive policy",
        FindingStatus::Problem,
        &said,
        fix,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fifo_queues_that_break_unique_keys_or_delay_everything_are_found() {
    let url = used(MINISTACK, Kind::Fifo).await;
    let mail = on_sqs(&url, "mail");
    let high_throughput = [
        (Attribute::DeduplicationScope, "messageGroup"),
        (Attribute::FifoThroughputLimit, "perMessageGroupId"),
        (Attribute::DelaySeconds, "60"),
    ];
    set(&url, &mail, &high_throughput).await;
    let findings = found(&url, "").await;
    let fix = "--attributes DeduplicationScope=queue`";
    tells(
        &findings,
        "deduplication",
        FindingStatus::Problem,
        &mail,
        fix,
    );
    let fix = "--attributes DelaySeconds=0`";
    tells(
        &findings,
        "delay of the queue",
        FindingStatus::Warning,
        &mail,
        fix,
    );

    // The other kind does not see them, and says so.
    let standard = url.replace("fifo=true", "fifo=false");
    let findings = found(&standard, "").await;
    let fix = "`sqs.fifo = true`";
    tells(
        &findings,
        "kind of queue",
        FindingStatus::Warning,
        &mail,
        fix,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_or_is_set_wrong_is_one_finding() {
    let nowhere =
        "sqs://us-east-1/?endpoint=http://127.0.0.1:1&access_key_id=a&secret_access_key=b";
    let findings = found(nowhere, "[sqs]\nconnect_timeout = \"300ms\"\n").await;
    assert_eq!(findings.len(), 1, "{findings:?}");
    let fix = "this machine can reach http://127.0.0.1:1";
    tells(&findings, "reachable", FindingStatus::Problem, "", fix);

    let findings = found("sqs://us-east-1/?fifo=perhaps", "").await;
    assert_eq!(findings.len(), 1, "{findings:?}");
    tells(
        &findings,
        "configuration",
        FindingStatus::Problem,
        "`perhaps`",
        "correct",
    );

    let url = MINISTACK.url(Kind::Standard);
    let findings = found(&url, "[worker]\nlease = \"6s\"\n").await;
    let found_ = "`worker.lease` 6s, `sqs.response_timeout` 5s";
    let fix = "`worker.lease` to 10s or more";
    tells(
        &findings,
        "lease against timeout",
        FindingStatus::Warning,
        found_,
        fix,
    );
    let too_long = "[worker]\nlease = \"20s\"\n[sqs]\nmax_visibility = \"15s\"\n";
    let findings = found(&url, too_long).await;
    let fix = "lower `worker.lease`";
    tells(
        &findings,
        "lease against timeout",
        FindingStatus::Problem,
        "15s at most",
        fix,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_service_refuses_is_told_apart() {
    let url = MINISTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let refuse = |action, status, code: &str| {
        proxy.answer(Instead {
            action,
            status,
            body: format!(r#"{{"__type":"com.amazonaws.sqs#{code}","message":"no"}}"#),
            times: usize::MAX,
        });
    };
    let url = proxy.through(&url);
    for (code, fix) in [
        ("ExpiredToken", "get new temporary credentials"),
        ("InvalidClientTokenId", "correct the access key"),
        ("SignatureDoesNotMatch", "correct the secret access key"),
        ("InvalidAction", "correct the region"),
    ] {
        refuse("ListQueues", "403 Forbidden", code);
        let findings = found(&url, "").await;
        tells(&findings, "reachable", FindingStatus::Problem, code, fix);
        assert_eq!(findings.len(), 1, "{findings:?}");
    }

    // A service that lives and tells this user nothing, under a clock that stands.
    let denied = "403 Forbidden\r\ndate: Sat, 01 Jan 2000 00:00:00 GMT";
    refuse("ListQueues", denied, "AccessDenied");
    refuse("GetQueueUrl", "403 Forbidden", "AccessDenied");
    let findings = found(&url, "[worker.queues]\nmail = 1\n").await;
    assert_eq!(of(&findings, "reachable").status, FindingStatus::Good);
    let mail = on_sqs(&url, "mail");
    let said = format!("refused: sqs:ListQueues, sqs:GetQueueAttributes on {mail}, {mail}-dead");
    let fix = format!(
        "`arn:aws:sqs:us-east-1:ACCOUNT:{}*`",
        mail.strip_suffix("mail").unwrap()
    );
    tells(
        &findings,
        "permissions",
        FindingStatus::Warning,
        &said,
        &fix,
    );
    tells(
        &findings,
        "clock offset",
        FindingStatus::Warning,
        "ahead of the service's",
        "NTP",
    );
}
