//! One function per thing that is looked at: from what the server said to a finding.

use goqueue_core::driver::Finding;

use super::{
    RIGHTS,
    info::{Info, Node},
};
use crate::server::{OLDEST, SAFE_POLICY, is_too_old};

/// A clock that is further off than this is said.
const TOLERATED_MS: u64 = 1_000;
/// The share of its memory from which on a server counts as nearly full, in percent.
const NEARLY_FULL: u64 = 90;

/// What `INFO` tells. Of several nodes the worst is reported.
pub(super) fn all(info: &Info, is_cluster: bool) -> Vec<Finding> {
    type Check = fn(&Node) -> Option<Finding>;
    let checks: [(&'static str, Check); 5] = [
        ("version", version),
        ("role", role),
        ("eviction policy", eviction),
        ("memory", memory),
        ("persistence", persistence),
    ];
    let mut findings: Vec<Finding> = checks
        .iter()
        .map(|(name, check)| worst(info, name, *check))
        .collect();
    if !is_cluster {
        findings.extend(info.masters().filter_map(mode).next());
    }
    findings
}

fn worst(info: &Info, name: &'static str, check: fn(&Node) -> Option<Finding>) -> Finding {
    let findings = info.masters().filter_map(check);
    findings
        .max_by_key(|finding| finding.status)
        .unwrap_or_else(|| {
            let why = info.refused.clone();
            let why = why.unwrap_or_else(|| "the server does not tell".into());
            Finding::unknown(name, why, "let the user ask: `ACL SETUSER … +info`")
        })
}

fn version(node: &Node) -> Option<Finding> {
    let version = node.field("redis_version")?;
    let name = match node.field("valkey_version") {
        Some(valkey) => format!("Valkey {valkey}"),
        None => format!("Redis {version}"),
    };
    let found = format!("{name}{}", node.place());
    if is_too_old(version) {
        let (major, minor) = OLDEST;
        let fix = format!("update it to {major}.{minor} or later, or to Valkey");
        return Some(Finding::problem("version", found, fix));
    }
    Some(Finding::good("version", found))
}

fn role(node: &Node) -> Option<Finding> {
    const CHECK: &str = "role";
    let role = node.field("role")?;
    if role == "slave" {
        let found = format!("a replica{}, which takes no writes", node.place());
        let fix = "connect to the master, or to an address that follows it";
        return Some(Finding::problem(CHECK, found, fix));
    }
    let replicas = node.field("connected_slaves").unwrap_or("0");
    Some(Finding::good(
        CHECK,
        format!("master, with {replicas} replicas"),
    ))
}

/// A node of a cluster behind the URL of a single server.
fn mode(node: &Node) -> Option<Finding> {
    let is_wrong = node.field("cluster_enabled") == Some("1");
    is_wrong.then(|| {
        let found = "the URL says a single server, and it is a node of a cluster";
        Finding::problem(
            "cluster slots",
            found,
            "write `redis-cluster://` in the URL",
        )
    })
}

fn eviction(node: &Node) -> Option<Finding> {
    const CHECK: &str = "eviction policy";
    let policy = node.field("maxmemory_policy")?;
    let found = format!("{policy}{}", node.place());
    if policy == SAFE_POLICY {
        return Some(Finding::good(CHECK, found));
    }
    let fix = format!(
        "`CONFIG SET maxmemory-policy {SAFE_POLICY}`, and the same in redis.conf: any other throws away \
         jobs once the server is full"
    );
    // Without a limit there is nothing to throw away for; a limit may come.
    if node.number("maxmemory") == Some(0) || policy.starts_with("volatile") {
        return Some(Finding::warning(CHECK, found, fix));
    }
    Some(Finding::problem(CHECK, found, fix))
}

fn memory(node: &Node) -> Option<Finding> {
    const CHECK: &str = "memory";
    let (used, most) = (node.number("used_memory")?, node.number("maxmemory")?);
    let mib = |bytes: u64| bytes >> 20;
    if most == 0 {
        return Some(Finding::good(
            CHECK,
            format!("{} MiB used, without a limit", mib(used)),
        ));
    }
    let found = format!("{} of {} MiB used{}", mib(used), mib(most), node.place());
    if used >= most {
        let fix =
            "raise `maxmemory`, or let workers empty the queues: the server takes no jobs now";
        return Some(Finding::problem(CHECK, found, fix));
    }
    if used.saturating_mul(100) >= most.saturating_mul(NEARLY_FULL) {
        let fix = "raise `maxmemory`, or let workers empty the queues: a full server takes no jobs";
        return Some(Finding::warning(CHECK, found, fix));
    }
    Some(Finding::good(CHECK, found))
}

fn persistence(node: &Node) -> Option<Finding> {
    const CHECK: &str = "persistence";
    let is_on = node.field("aof_enabled")? == "1";
    let place = node.place();
    let failed = |name: &str| node.field(name).is_some_and(|status| status != "ok");
    if is_on && failed("aof_last_write_status") {
        let found = format!("the append-only file cannot be written{place}");
        let fix = "see to its disk; the server's log says why";
        return Some(Finding::problem(CHECK, found, fix));
    }
    if is_on {
        return Some(Finding::good(CHECK, format!("append-only file{place}")));
    }
    let snapshots = match node.number("rdb_last_save_time") {
        _ if failed("rdb_last_bgsave_status") => "the last snapshot failed",
        _ => "snapshots at most",
    };
    let found = format!("no append-only file{place}, {snapshots}");
    let fix = "`CONFIG SET appendonly yes`, and the same in redis.conf: without it a restart loses every \
               job since the last snapshot";
    Some(Finding::warning(CHECK, found, fix))
}

/// What `CLUSTER INFO` tells.
pub(super) fn slots(text: &str) -> Finding {
    const CHECK: &str = "cluster slots";
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| *key == name);
        found.map_or("?", |(_, value)| value.trim())
    };
    let found = format!(
        "state {}, {} of 16384 slots assigned, {} served, on {} nodes",
        field("cluster_state"),
        field("cluster_slots_assigned"),
        field("cluster_slots_ok"),
        field("cluster_known_nodes"),
    );
    if field("cluster_state") == "ok" && field("cluster_slots_ok") == "16384" {
        return Finding::good(CHECK, found);
    }
    Finding::problem(
        CHECK,
        found,
        "`redis-cli --cluster check HOST:PORT` names what is missing, `--cluster fix` assigns it: queues \
         whose slot is not served cannot be used",
    )
}

/// What the tried commands answered.
pub(super) fn permissions(refused: &[String], prefix: &str) -> Finding {
    const CHECK: &str = "permissions";
    let Some(first) = refused.first() else {
        return Finding::good(CHECK, "every command that the driver uses is allowed");
    };
    let names: Vec<&str> = refused
        .iter()
        .map(|line| line.split(':').next().unwrap_or(line))
        .collect();
    let why = first.split_once(": ").map_or("", |(_, why)| why);
    let found = format!("refused: {} ({why})", names.join(", "));
    if names == ["PUBLISH"] {
        let fix = format!("let the user wake workers: `ACL SETUSER … +publish &{prefix}:*`");
        return Finding::warning(CHECK, found, fix);
    }
    let fix = match why {
        why if why.contains("READONLY") => "connect to the master".into(),
        why if why.contains("MISCONF") => "see to the server's disk: it cannot save".into(),
        _ => format!("give the user its rights: `ACL SETUSER … ~{prefix}:* &{prefix}:* {RIGHTS}`"),
    };
    Finding::problem(CHECK, found, fix)
}

/// How far the server's clock is from this machine's, whose time is that between asking and answer.
pub(super) fn clock(server: u64, asked: u64, answered: u64) -> Finding {
    const CHECK: &str = "clock offset";
    let offset = if server < asked {
        asked - server
    } else {
        server.saturating_sub(answered)
    };
    if offset <= TOLERATED_MS {
        return Finding::good(CHECK, "none that matters");
    }
    let side = if server < asked { "behind" } else { "ahead of" };
    Finding::warning(
        CHECK,
        format!("the server's clock is {offset} ms {side} this machine's"),
        "let both follow a time server; the server's decides what is due, so `at(time)` and the age of \
         jobs are off by as much",
    )
}

#[cfg(test)]
mod tests;
