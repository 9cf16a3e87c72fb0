//! What the server says about itself.

use goqueue_core::{Result, config::ConfigError};
use redis::Cmd;

use crate::{address::Address, connection::Connection, diagnose::text_of, error::Operation};

/// The policy under which a full server refuses to store, instead of forgetting jobs.
pub(crate) const SAFE_POLICY: &str = "noeviction";

/// The oldest version with every command that the scripts use.
pub(crate) const OLDEST: (u32, u32) = (6, 2);

/// Looks at the server's settings, and reports those that endanger jobs.
///
/// Answers the eviction policy where the server tells it.
pub(crate) async fn examine(connection: &Connection, address: &Address) -> Result<Option<String>> {
    let mut info = String::new();
    for section in ["server", "memory", "cluster"] {
        let mut cmd = Cmd::new();
        cmd.arg("INFO").arg(section);
        match connection.send(Operation::Connect, &cmd).await {
            Ok(value) => info.push_str(&text_of(&value)),
            // A user may be forbidden to ask; everything else goes on as well.
            Err(failed) => tracing::debug!(error = %failed.error, section, "INFO is not answered"),
        }
    }
    let field = |name: &str| {
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.trim())
            .next()
    };
    if !address.is_cluster && field("cluster_enabled") == Some("1") {
        let problem = "got a node of a cluster, allowed is `redis-cluster://` for it";
        return Err(ConfigError::new("driver", problem).into());
    }
    // Valkey calls itself Redis 7.2 in this field, to be compatible.
    if let Some(version) = field("redis_version").filter(|version| is_too_old(version)) {
        let problem = format!("got a server of version {version}, allowed is 6.2 or later");
        return Err(ConfigError::new("driver", problem).into());
    }
    let policy = field("maxmemory_policy");
    if let Some(policy) = policy.filter(|policy| *policy != SAFE_POLICY) {
        tracing::warn!(
            policy,
            "maxmemory-policy is not `{SAFE_POLICY}`: a server that is full will throw away jobs"
        );
    }
    Ok(policy.map(str::to_owned))
}

pub(crate) fn is_too_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < OLDEST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_the_oldest_are_known() {
        assert!(is_too_old("6.0.16") && is_too_old("5.0.14"));
        assert!(!is_too_old("6.2.0") && !is_too_old("7.0.15") && !is_too_old("unstable"));
    }
}
