//! What the diagnosis finds on servers that are set up badly.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use goqueue_core::{
    Config,
    driver::{Finding, FindingStatus},
};
use support::{Cluster, Server, free_port};

async fn diagnose(url: &str) -> Vec<Finding> {
    goqueue_redis::diagnose(Config::default().with_driver(url)).await
}

fn of<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    let finding = findings.iter().find(|finding| finding.check == check);
    finding.unwrap_or_else(|| panic!("`{check}` was not looked at: {findings:#?}"))
}

fn fix<'a>(findings: &'a [Finding], check: &str) -> &'a str {
    of(findings, check).fix.as_deref().unwrap()
}

#[tokio::test]
async fn a_server_for_caches_is_told_apart_and_nothing_is_left_on_it() {
    let server = Server::with(&[
        "--maxmemory",
        "64mb",
        "--maxmemory-policy",
        "allkeys-lru",
        "--appendonly",
        "no",
    ])
    .await;
    let findings = diagnose(&server.url()).await;
    assert_eq!(
        of(&findings, "eviction policy").status,
        FindingStatus::Problem
    );
    assert!(
        fix(&findings, "eviction policy").starts_with("`CONFIG SET maxmemory-policy noeviction`")
    );
    assert_eq!(of(&findings, "persistence").status, FindingStatus::Warning);
    assert!(fix(&findings, "persistence").starts_with("`CONFIG SET appendonly yes`"));
    for check in [
        "reachable",
        "version",
        "role",
        "memory",
        "permissions",
        "wake-ups",
        "clock offset",
    ] {
        assert_eq!(of(&findings, check).status, FindingStatus::Good, "{check}");
    }
    assert!(server.keys().await.is_empty());

    // The fix that it names is one.
    server.ask("CONFIG SET maxmemory-policy noeviction").await;
    server.ask("CONFIG SET appendonly yes").await;
    let findings = diagnose(&server.url()).await;
    assert!(
        findings
            .iter()
            .all(|finding| finding.status == FindingStatus::Good),
        "{findings:#?}"
    );
}

#[tokio::test]
async fn a_user_without_rights_is_told_which_are_missing() {
    let server = Server::start().await;
    let url = |user: &str| format!("redis://{user}:hunter2@127.0.0.1:{}/0", server.port);
    // Those of the README are enough.
    server
        .ask(
            "ACL SETUSER whole on >hunter2 ~goqueue:* &goqueue:* +@read +@write +@scripting \
             +@connection +@pubsub +time +info",
        )
        .await;
    let findings = diagnose(&url("whole")).await;
    assert!(
        findings
            .iter()
            .all(|finding| finding.status == FindingStatus::Good),
        "{findings:#?}"
    );

    server
        .ask("ACL SETUSER reader on >hunter2 ~goqueue:* &goqueue:* +@read +@scripting +@connection +time +del")
        .await;
    let findings = diagnose(&url("reader")).await;
    let permissions = of(&findings, "permissions");
    assert_eq!(permissions.status, FindingStatus::Problem);
    assert!(
        permissions.found.starts_with("refused: RPUSH, LPUSH, "),
        "{permissions:?}"
    );
    assert!(!permissions.found.contains("ZCARD"), "{permissions:?}");
    assert!(fix(&findings, "permissions").contains("~goqueue:* &goqueue:* +@read +@write"));
    assert_eq!(
        of(&findings, "eviction policy").status,
        FindingStatus::Unknown
    );
    assert_eq!(of(&findings, "wake-ups").status, FindingStatus::Warning);

    let wrong = format!("redis://reader:wrong@127.0.0.1:{}/0", server.port);
    let findings = diagnose(&wrong).await;
    assert!(fix(&findings, "reachable").starts_with("correct the user and the password"));
    assert!(!format!("{findings:?}").contains("hunter2"));
    assert!(server.keys().await.is_empty());
}

#[tokio::test]
async fn a_replica_and_a_full_server_are_no_places_for_jobs() {
    let master = Server::start().await;
    let replica = Server::with(&["--replicaof", "127.0.0.1", &master.port.to_string()]).await;
    let findings = diagnose(&replica.url()).await;
    assert_eq!(of(&findings, "role").status, FindingStatus::Problem);
    assert_eq!(fix(&findings, "permissions"), "connect to the master");

    master.ask("CONFIG SET maxmemory 100kb").await;
    let findings = diagnose(&master.url()).await;
    assert_eq!(of(&findings, "memory").status, FindingStatus::Problem);
    assert!(fix(&findings, "memory").starts_with("raise `maxmemory`"));
}

#[tokio::test]
async fn a_cluster_is_looked_at_as_a_whole() {
    let cluster = Cluster::start().await;
    let findings = diagnose(&cluster.url()).await;
    assert!(
        findings
            .iter()
            .all(|finding| finding.status == FindingStatus::Good),
        "{findings:#?}"
    );
    assert!(
        of(&findings, "cluster slots")
            .found
            .contains("16384 served, on 3 nodes")
    );

    // One node of three has another policy.
    cluster.nodes[2]
        .ask("CONFIG SET maxmemory-policy allkeys-random")
        .await;
    cluster.nodes[2].ask("CONFIG SET maxmemory 100mb").await;
    let findings = diagnose(&cluster.url()).await;
    let policy = of(&findings, "eviction policy");
    let place = format!("allkeys-random at 127.0.0.1:{}", cluster.nodes[2].port);
    assert_eq!(
        (policy.status, policy.found.as_str()),
        (FindingStatus::Problem, place.as_str())
    );

    let single = format!("redis://127.0.0.1:{}", cluster.nodes[0].port);
    let findings = diagnose(&single).await;
    assert_eq!(
        fix(&findings, "cluster slots"),
        "write `redis-cluster://` in the URL"
    );

    for node in &cluster.nodes {
        node.ask("CONFIG SET cluster-require-full-coverage no")
            .await;
        node.ask("CLUSTER DELSLOTS 16383").await;
    }
    let findings = diagnose(&cluster.url()).await;
    let slots = of(&findings, "cluster slots");
    assert_eq!(slots.status, FindingStatus::Problem);
    assert!(
        slots.found.contains("16383 of 16384 slots assigned"),
        "{slots:?}"
    );
}

#[tokio::test]
async fn nobody_there_and_a_short_lease_are_findings() {
    let findings = diagnose(&format!("redis://127.0.0.1:{}", free_port())).await;
    assert_eq!(findings.len(), 1);
    assert_eq!(of(&findings, "reachable").status, FindingStatus::Problem);
    assert!(fix(&findings, "reachable").starts_with("see that a server runs at 127.0.0.1:"));

    let server = Server::start().await;
    let toml = format!("driver = \"{}\"\nworker.lease = \"6s\"\n", server.url());
    let findings = goqueue_redis::diagnose(Config::from_toml(&toml).unwrap()).await;
    let lease = of(&findings, "lease against timeout");
    assert_eq!(lease.status, FindingStatus::Warning);
    assert_eq!(
        lease.found,
        "`worker.lease` 6s, `redis.response_timeout` 5s"
    );
}
