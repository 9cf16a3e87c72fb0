//! What the diagnosis finds on queues that are set up badly, and that its commands mend them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use goqueue_core::{
    Config,
    driver::{Driver, Finding, FindingStatus, Inspect},
};
use support::*;

const PLACES: [(Service, Kind); 4] = [
    (MINISTACK, Kind::Standard),
    (MINISTACK, Kind::Fifo),
    (LOCALSTACK, Kind::Standard),
    (LOCALSTACK, Kind::Fifo),
];

async fn diagnose(url: &str, text: &str) -> Vec<Finding> {
    let config = Config::from_toml(text).unwrap().with_driver(url);
    let findings = goqueue_sqs::diagnose(config).await;
    let shown = format!("{findings:?}");
    for secret in ["test-secret", "test-session", "hunter2"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    findings
}

fn all<'a>(findings: &'a [Finding], check: &str) -> Vec<&'a Finding> {
    let found = findings.iter().filter(|finding| finding.check == check);
    found.collect()
}

fn of<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    match all(findings, check)[..] {
        [one] => one,
        _ => panic!("`{check}` is not there once: {findings:#?}"),
    }
}

/// The finding about a queue, and its first command.
fn about<'a>(findings: &'a [Finding], check: &str, part: &str) -> &'a Finding {
    let found = all(findings, check);
    let mut found = found.into_iter();
    let found = found.find(|finding| finding.found.contains(part));
    found.unwrap_or_else(|| panic!("nothing of `{check}` says `{part}`: {findings:#?}"))
}

fn is_well(findings: &[Finding]) {
    let bad = findings
        .iter()
        .any(|finding| finding.status != FindingStatus::Good);
    assert!(!bad, "{findings:#?}");
}

/// A URL whose queues are not made by goqueue.
fn strict(url: &str) -> String {
    url.replace("create_queues=true", "create_queues=false")
}

/// A queue with a job in it, and its dead letters with one.
async fn fill(url: &str, name: &str) {
    let driver = connect(url).await;
    driver.push(vec![job(name, "dies")]).await.unwrap();
    let taken = next(&driver, name, LEASE).await;
    settle(&driver, &taken.lease, dead("for good")).await;
    driver.push(vec![job(name, "stays")]).await.unwrap();
}

/// Every queue with the prefix, and all that the service says of it.
async fn everything(url: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let client = raw(url);
    let listed = client.list_queues().queue_name_prefix(prefix(url)).send();
    let mut all = BTreeMap::new();
    for queue in listed.await.unwrap().queue_urls.unwrap_or_default() {
        let call = client.get_queue_attributes().queue_url(&queue);
        let answer = call.attribute_names(Attribute::All).send().await.unwrap();
        let attributes = answer.attributes.unwrap_or_default().into_iter();
        let attributes = attributes.map(|(name, value)| (name.to_string(), value));
        all.insert(queue, attributes.collect());
    }
    all
}

fn prefix(url: &str) -> String {
    on_sqs(url, "").trim_end_matches(".fifo").to_owned()
}

async fn set(url: &str, name: &str, attributes: &[(Attribute, &str)]) {
    let mut call = raw(url)
        .set_queue_attributes()
        .queue_url(url_of(url, name).await);
    for (attribute, value) in attributes {
        call = call.attributes(attribute.clone(), *value);
    }
    call.send().await.unwrap();
}

/// Does what the first command of a fix says.
async fn mend(url: &str, finding: &Finding) {
    let fix = finding.fix.as_deref().unwrap();
    let command = fix.split('`').nth(1).unwrap();
    let words: Vec<_> = command.split(' ').collect();
    let value = |option: &str| {
        let at = words.iter().position(|word| *word == option);
        at.map(|at| words[at + 1].trim_matches('\''))
    };
    let endpoint = url.split("endpoint=").nth(1).unwrap();
    assert!(
        endpoint.starts_with(value("--endpoint-url").unwrap()),
        "{command}"
    );
    assert_eq!(value("--region"), Some("us-east-1"), "{command}");
    let text = value("--attributes").unwrap();
    let attributes: BTreeMap<String, String> = if text.starts_with('{') {
        serde_json::from_str(text).unwrap()
    } else {
        let pairs = text.split(',').map(|pair| pair.split_once('=').unwrap());
        pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    };
    let attributes = attributes
        .into_iter()
        .map(|(name, value)| (Attribute::from(name.as_str()), value));
    let (client, attributes) = (raw(url), Some(attributes.collect()));
    match (words[2], value("--queue-url"), value("--queue-name")) {
        ("set-queue-attributes", Some(queue), None) => {
            let call = client.set_queue_attributes().queue_url(queue);
            call.set_attributes(attributes).send().await.unwrap();
        }
        ("create-queue", None, Some(name)) => {
            let call = client.create_queue().queue_name(name);
            call.set_attributes(attributes).send().await.unwrap();
        }
        _ => panic!("{command}"),
    }
}

#[tokio::test]
async fn queues_that_are_well_have_nothing_to_mend_and_stay_as_they_are() {
    for (service, kind) in PLACES {
        let url = service.url(kind);
        fill(&url, "mail").await;
        let before = everything(&url).await;
        assert_eq!(before.len(), 2, "{before:?}");
        for url in [url.clone(), strict(&url)] {
            let findings = diagnose(&url, "worker.queues = { mail = 1 }").await;
            is_well(&findings);
            let reachable = of(&findings, "reachable");
            assert!(
                reachable
                    .found
                    .starts_with("us-east-1 at http://127.0.0.1:"),
                "{reachable:?}"
            );
            for check in [
                "clock offset",
                "queues",
                "redrive policy",
                "visibility timeout",
                "retention",
                "message size",
                "encryption",
                "lease against timeout",
            ] {
                of(&findings, check);
            }
            let permissions = of(&findings, "permissions");
            assert!(
                permissions
                    .found
                    .contains("`sqs:SendMessage`, `sqs:DeleteMessage`")
                    && permissions.found.contains("`sqs:ReceiveMessage`"),
                "{permissions:?}"
            );
        }
        assert_eq!(before, everything(&url).await, "{}", service.name);
        let driver = connect(&url).await;
        let job = next(&driver, "mail", LEASE).await;
        assert_eq!((job.attempt, &job.body[..]), (1, &b"stays"[..]));
        let stats = driver.stats(&queue("mail")).await.unwrap();
        assert_eq!(stats.dead, 1);
    }
}

#[tokio::test]
async fn what_loses_jobs_is_found_and_its_command_mends_it() {
    for (service, kind) in PLACES {
        let url = strict(&service.url(kind));
        fill(&service_url(&url), "mail").await;
        is_well(&diagnose(&url, "").await);
        let arn = format!(
            "arn:aws:sqs:us-east-1:000000000000:{}",
            on_sqs(&url, "mail-dead")
        );
        let policy = |count: u32| {
            format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"{count}"}}"#)
        };
        let faults = [
            (Attribute::MessageRetentionPeriod, "86400"),
            (Attribute::MaximumMessageSize, "262144"),
            (Attribute::RedrivePolicy, &policy(5)),
        ];
        set(&url, "mail", &faults).await;
        set(&url, "mail-dead", &faults[..2]).await;
        if kind == Kind::Fifo {
            let delayed = [(Attribute::DelaySeconds, "7")];
            set(&url, "mail", &delayed).await;
        }
        let (jobs, letters) = (
            format!("`{}`", on_sqs(&url, "mail")),
            format!("`{}`", on_sqs(&url, "mail-dead")),
        );
        let findings = diagnose(&url, "").await;
        for (check, name, part, status) in [
            (
                "retention",
                &jobs,
                "after 1 day SQS deletes",
                FindingStatus::Warning,
            ),
            (
                "retention",
                &letters,
                "after 1 day SQS deletes",
                FindingStatus::Warning,
            ),
            (
                "message size",
                &jobs,
                "262144 bytes",
                FindingStatus::Warning,
            ),
            (
                "message size",
                &letters,
                "262144 bytes",
                FindingStatus::Warning,
            ),
            (
                "redrive policy",
                &jobs,
                "after 5 receives",
                FindingStatus::Problem,
            ),
        ] {
            let finding = about(&findings, check, name);
            assert_eq!(finding.status, status, "{finding:?}");
            assert!(finding.found.contains(part), "{finding:?}");
            mend(&url, finding).await;
        }
        if kind == Kind::Fifo {
            let delay = about(&findings, "fifo attributes", "delays every job by 7s");
            assert_eq!(delay.status, FindingStatus::Warning);
            mend(&url, delay).await;
        }
        is_well(&diagnose(&url, "").await);

        // Above the attempts it is told, and nothing to mend; on dead letters it is.
        set(&url, "mail", &[(Attribute::RedrivePolicy, &policy(6))]).await;
        let findings = diagnose(&url, "").await;
        is_well(&findings);
        about(&findings, "redrive policy", "after 6 receives");
        let findings = diagnose(&url, "retry.max_attempts = 6").await;
        assert_eq!(
            of(&findings, "redrive policy").status,
            FindingStatus::Problem
        );
        set(&url, "mail", &[(Attribute::RedrivePolicy, "")]).await;
        set(
            &url,
            "mail-dead",
            &[(Attribute::RedrivePolicy, &policy(20).replace("-dead", ""))],
        )
        .await;
        let findings = diagnose(&url, "").await;
        let looks = of(&findings, "redrive policy");
        assert_eq!(looks.status, FindingStatus::Warning);
        mend(&url, looks).await;
        is_well(&diagnose(&url, "").await);
    }
}

/// The same URL, with the queues made by goqueue.
fn service_url(url: &str) -> String {
    url.replace("create_queues=false", "create_queues=true")
}

#[tokio::test]
async fn duplicates_that_are_told_only_within_a_group_are_found() {
    for service in [MINISTACK, LOCALSTACK] {
        let url = service.url(Kind::Fifo);
        fill(&url, "mail").await;
        let fast = [
            (Attribute::DeduplicationScope, "messageGroup"),
            (Attribute::FifoThroughputLimit, "perMessageGroupId"),
        ];
        set(&url, "mail", &fast).await;
        // Letters have no unique keys.
        set(&url, "mail-dead", &fast).await;
        let findings = diagnose(&url, "").await;
        let scope = about(&findings, "fifo attributes", "within a message group only");
        assert_eq!(scope.status, FindingStatus::Warning);
        mend(&url, scope).await;
        is_well(&diagnose(&url, "").await);
    }
}

#[tokio::test]
async fn queues_that_are_missing_are_made_by_the_command() {
    for (service, kind) in PLACES {
        let url = service.url(kind);
        let made_later = diagnose(&url, "").await;
        is_well(&made_later);
        assert!(
            of(&made_later, "queues")
                .found
                .ends_with("each is made when it is first used")
        );
        let url = strict(&url);
        let none = diagnose(&url, "").await;
        assert_eq!(of(&none, "queues").status, FindingStatus::Problem);
        assert!(
            everything(&url).await.is_empty(),
            "nothing is made by a look"
        );

        let text = "worker.queues = { mail = 1 }";
        let both = diagnose(&url, text).await;
        let dead_name = on_sqs(&url, "mail-dead");
        mend(
            &url,
            about(
                &both,
                "queues",
                &format!("`{}` is missing", on_sqs(&url, "mail")),
            ),
        )
        .await;
        let dead = diagnose(&url, "").await;
        let finding = of(&dead, "queues");
        assert_eq!(finding.status, FindingStatus::Problem);
        assert!(
            finding.found.contains(&format!("`{dead_name}` is missing")),
            "{finding:?}"
        );
        is_well(&diagnose(&url, "dead_letter.mode = \"discard\"").await);
        mend(&url, finding).await;
        is_well(&diagnose(&url, text).await);
        fill(&url, "mail").await;
        let names: Vec<_> = everything(&url).await.into_keys().collect();
        assert!(
            names
                .iter()
                .all(|name| name.ends_with(".fifo") == (kind == Kind::Fifo)),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn queues_of_the_other_kind_are_told() {
    for service in [MINISTACK, LOCALSTACK] {
        let standard = service.url(Kind::Standard);
        let fifo = standard.replace("fifo=false", "fifo=true");
        fill(&standard, "mail").await;
        fill(&fifo, "post").await;
        for (url, part) in [
            (
                &standard,
                "`sqs.fifo` is false, so FIFO queues are not used: ",
            ),
            (
                &fifo,
                "`sqs.fifo` is true, so standard queues are not used: ",
            ),
        ] {
            let findings = diagnose(url, "").await;
            let other = about(&findings, "fifo", part);
            assert_eq!(other.status, FindingStatus::Warning, "{other:?}");
            let mine = if url.contains("fifo=true") {
                "`post`"
            } else {
                "`mail`"
            };
            assert!(
                of(&findings, "queues").found.contains(mine),
                "{findings:#?}"
            );
        }
    }
}
