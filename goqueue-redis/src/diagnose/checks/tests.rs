use goqueue_core::driver::FindingStatus::{self, Good, Problem, Unknown, Warning};

use super::*;

const WELL: &str = "redis_version:7.0.15\r\nrole:master\r\nconnected_slaves:1\r\n\
                    maxmemory_policy:noeviction\r\nmaxmemory:104857600\r\nused_memory:1048576\r\n\
                    aof_enabled:1\r\naof_last_write_status:ok\r\ncluster_enabled:0\r\n";

/// How the check stands when these fields are other than well.
fn of(check: &str, changes: &[(&str, &str)]) -> FindingStatus {
    let mut text = WELL.to_owned();
    for (field, value) in changes {
        let begin = text.find(&format!("{field}:")).unwrap();
        let end = begin + text[begin..].find('\r').unwrap();
        text.replace_range(begin..end, &format!("{field}:{value}"));
    }
    let findings = all(&Info::from_texts(&[("", &text)]), false);
    let finding = findings.iter().find(|finding| finding.check == check);
    finding.unwrap().status
}

#[test]
fn a_server_that_is_well_has_nothing_to_mend() {
    let findings = all(&Info::from_texts(&[("", WELL)]), false);
    let shown: Vec<_> = findings
        .iter()
        .map(|f| (f.check, f.status, f.found.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("version", Good, "Redis 7.0.15"),
            ("role", Good, "master, with 1 replicas"),
            ("eviction policy", Good, "noeviction"),
            ("memory", Good, "1 of 100 MiB used"),
            ("persistence", Good, "append-only file"),
        ]
    );
}

#[test]
fn each_fault_is_found() {
    assert_eq!(of("version", &[("redis_version", "6.0.16")]), Problem);
    assert_eq!(of("role", &[("role", "slave")]), Problem);
    assert_eq!(
        of("eviction policy", &[("maxmemory_policy", "allkeys-lru")]),
        Problem
    );
    assert_eq!(
        of("eviction policy", &[("maxmemory_policy", "volatile-ttl")]),
        Warning
    );
    let unlimited = [("maxmemory_policy", "allkeys-lru"), ("maxmemory", "0")];
    assert_eq!(of("eviction policy", &unlimited), Warning);
    assert_eq!(of("memory", &[("used_memory", "99857600")]), Warning);
    assert_eq!(of("memory", &[("used_memory", "104857600")]), Problem);
    assert_eq!(of("persistence", &[("aof_enabled", "0")]), Warning);
    assert_eq!(
        of("persistence", &[("aof_last_write_status", "err")]),
        Problem
    );
    assert_eq!(of("cluster slots", &[("cluster_enabled", "1")]), Problem);
}

#[test]
fn what_is_not_told_is_unknown() {
    let mut info = Info::from_texts(&[]);
    info.refused = Some("NOPERM".into());
    let findings = all(&info, true);
    assert!(
        findings
            .iter()
            .all(|f| f.status == Unknown && f.found == "NOPERM" && f.fix.is_some())
    );
}

#[test]
fn the_worst_node_is_named() {
    let bad = WELL.replace("noeviction", "allkeys-lru");
    let replica = WELL.replace("role:master", "role:slave");
    let info = Info::from_texts(&[("a:1", WELL), ("b:2", &bad), ("c:3", &replica)]);
    let findings = all(&info, true);
    let policy = findings
        .iter()
        .find(|f| f.check == "eviction policy")
        .unwrap();
    assert_eq!(
        (policy.status, policy.found.as_str()),
        (Problem, "allkeys-lru at b:2")
    );
    assert!(
        findings
            .iter()
            .all(|f| f.check != "role" || f.status == Good)
    );
}

#[test]
fn slots_that_nobody_serves_are_a_problem() {
    let well = "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\n\
                cluster_known_nodes:3\r\n";
    assert_eq!(slots(well).status, Good);
    let broken = slots(
        &well
            .replace("state:ok", "state:fail")
            .replace("ok:16384", "ok:10923"),
    );
    assert_eq!(broken.status, Problem);
    assert!(broken.found.contains("10923 served"), "{broken:?}");
}

#[test]
fn refusals_say_what_to_allow() {
    assert_eq!(permissions(&[], "goqueue").status, Good);
    let noperm = "NOPERM this user has no permissions to run the command".to_owned();
    let finding = permissions(
        &[format!("ZADD: {noperm}"), format!("HSET: {noperm}")],
        "app",
    );
    assert_eq!(finding.status, Problem);
    assert!(
        finding.found.starts_with("refused: ZADD, HSET (NOPERM"),
        "{finding:?}"
    );
    assert!(finding.fix.unwrap().contains("~app:* &app:* +@read"));
    assert_eq!(
        permissions(&[format!("PUBLISH: {noperm}")], "app").status,
        Warning
    );
    let replica = permissions(&["RPUSH: READONLY You can't write".into()], "app");
    assert_eq!(replica.fix.unwrap(), "connect to the master");
}

#[test]
fn a_clock_is_judged_by_what_is_certain() {
    assert_eq!(clock(5_000, 4_000, 6_000).status, Good);
    // The answer took long: the clock may be right.
    assert_eq!(clock(9_000, 1_000, 9_500).status, Good);
    let ahead = clock(10_000, 1_000, 1_010);
    assert_eq!(ahead.status, Warning);
    assert_eq!(
        ahead.found,
        "the server's clock is 8990 ms ahead of this machine's"
    );
    assert!(
        clock(1_000, 10_000, 10_010)
            .found
            .contains("9000 ms behind")
    );
}
