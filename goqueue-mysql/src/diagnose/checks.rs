//! What a server's variables mean for jobs, one function each.

use std::collections::BTreeMap;

use goqueue_core::driver::Finding;

use crate::{config::MysqlConfig, driver, migrate::check_version};

/// A clock that is further off than this is said.
const TOLERATED_MS: u64 = 1_000;

pub(super) type Variables = BTreeMap<String, String>;

pub(super) fn all(variables: &Variables, settings: &MysqlConfig) -> Vec<Finding> {
    let mut findings = vec![
        version(variables),
        role(variables),
        isolation(variables),
        time_zone(variables),
        durability(variables),
    ];
    findings.extend(packet(variables));
    findings.extend(connections(variables, settings));
    findings
}

fn of<'a>(variables: &'a Variables, name: &str) -> &'a str {
    variables.get(name).map_or("?", String::as_str)
}

fn number(variables: &Variables, name: &str) -> Option<u64> {
    variables.get(name)?.parse().ok()
}

fn version(variables: &Variables) -> Finding {
    let version = of(variables, "version");
    match check_version(version) {
        Ok(()) => Finding::good("version", version),
        Err(fault) => Finding::problem("version", fault.to_string(), "update the server"),
    }
}

fn role(variables: &Variables) -> Finding {
    const CHECK: &str = "role";
    match of(variables, "read_only") {
        "ON" | "1" => Finding::problem(
            CHECK,
            "`read_only` is on: a replica, or a primary that takes no writes",
            "connect to the primary, or to an address that follows it",
        ),
        _ => Finding::good(CHECK, "takes writes"),
    }
}

/// Every transaction of the driver says READ COMMITTED. With a statement-based log InnoDB refuses to
/// write under it.
fn isolation(variables: &Variables) -> Finding {
    const CHECK: &str = "isolation level";
    let is_logged = matches!(of(variables, "log_bin"), "ON" | "1");
    if is_logged && of(variables, "binlog_format") == "STATEMENT" {
        return Finding::problem(
            CHECK,
            "`binlog_format` is STATEMENT, under which no READ COMMITTED transaction can write",
            "`SET GLOBAL binlog_format = 'ROW'` (or MIXED), and the same in the server's file",
        );
    }
    let default = variables
        .get("transaction_isolation")
        .or_else(|| variables.get("tx_isolation"));
    let default = default.map_or("?", String::as_str);
    Finding::good(
        CHECK,
        format!("READ-COMMITTED in the driver's transactions and the log's ({default} elsewhere)"),
    )
}

fn time_zone(variables: &Variables) -> Finding {
    let zone = match of(variables, "time_zone") {
        "SYSTEM" => format!("SYSTEM ({})", of(variables, "system_time_zone")),
        zone => zone.to_owned(),
    };
    Finding::good(
        "time zone",
        format!("{zone}; the driver counts in UTC, whatever it is"),
    )
}

fn durability(variables: &Variables) -> Finding {
    const CHECK: &str = "persistence";
    let fix = "`SET GLOBAL innodb_flush_log_at_trx_commit = 1`, and the same in the server's file";
    match of(variables, "innodb_flush_log_at_trx_commit") {
        "1" => Finding::good(CHECK, "every commit is flushed"),
        "0" => Finding::warning(
            CHECK,
            "a crash of the server may lose the last second: `innodb_flush_log_at_trx_commit` is 0",
            fix,
        ),
        "2" => Finding::warning(
            CHECK,
            "a crash of the machine may lose the last second: `innodb_flush_log_at_trx_commit` is 2",
            fix,
        ),
        other => Finding::unknown(
            CHECK,
            format!("`innodb_flush_log_at_trx_commit` is {other}"),
            fix,
        ),
    }
}

fn packet(variables: &Variables) -> Option<Finding> {
    const CHECK: &str = "largest job";
    let packet = number(variables, "max_allowed_packet")?;
    let most = driver::capabilities(usize::try_from(packet).unwrap_or(usize::MAX)).max_payload;
    if most >= driver::MAX_PAYLOAD {
        return Some(Finding::good(CHECK, format!("{} MiB", most >> 20)));
    }
    Some(Finding::warning(
        CHECK,
        format!(
            "{} KiB, for `max_allowed_packet` is {packet} bytes",
            most >> 10
        ),
        "`SET GLOBAL max_allowed_packet = 16777216`, and the same in the server's file",
    ))
}

fn connections(variables: &Variables, settings: &MysqlConfig) -> Option<Finding> {
    const CHECK: &str = "connections";
    let most = number(variables, "max_connections")?;
    let ours = u64::from(settings.max_connections);
    let found =
        format!("`mysql.max_connections` {ours} per process, of {most} that the server takes");
    if ours * 2 <= most {
        return Some(Finding::good(CHECK, found));
    }
    let fix = "lower `mysql.max_connections`, or raise the server's `max_connections`: two processes \
               would use them up";
    Some(Finding::warning(CHECK, found, fix))
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
mod tests {
    use goqueue_core::driver::FindingStatus::{self, Good, Problem, Unknown, Warning};

    use super::*;

    const WELL: [(&str, &str); 9] = [
        ("version", "10.11.6-MariaDB"),
        ("read_only", "OFF"),
        ("log_bin", "ON"),
        ("binlog_format", "MIXED"),
        ("tx_isolation", "REPEATABLE-READ"),
        ("time_zone", "SYSTEM"),
        ("max_allowed_packet", "16777216"),
        ("max_connections", "151"),
        ("innodb_flush_log_at_trx_commit", "1"),
    ];

    fn of(check: &str, change: (&str, &str)) -> FindingStatus {
        let mut variables: Variables = WELL
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        variables.insert(change.0.into(), change.1.into());
        let findings = all(&variables, &MysqlConfig::default());
        findings
            .iter()
            .find(|finding| finding.check == check)
            .unwrap()
            .status
    }

    #[test]
    fn a_server_that_is_well_has_nothing_to_mend() {
        for check in [
            "version",
            "role",
            "isolation level",
            "time zone",
            "persistence",
            "largest job",
            "connections",
        ] {
            assert_eq!(of(check, ("system_time_zone", "CET")), Good, "{check}");
        }
    }

    #[test]
    fn each_fault_is_found() {
        assert_eq!(of("version", ("version", "5.7.44-log")), Problem);
        assert_eq!(of("role", ("read_only", "ON")), Problem);
        assert_eq!(
            of("isolation level", ("binlog_format", "STATEMENT")),
            Problem
        );
        assert_eq!(
            of("persistence", ("innodb_flush_log_at_trx_commit", "0")),
            Warning
        );
        assert_eq!(
            of("persistence", ("innodb_flush_log_at_trx_commit", "2")),
            Warning
        );
        assert_eq!(
            of("persistence", ("innodb_flush_log_at_trx_commit", "x")),
            Unknown
        );
        assert_eq!(
            of("largest job", ("max_allowed_packet", "1048576")),
            Warning
        );
        assert_eq!(of("connections", ("max_connections", "15")), Warning);
    }

    #[test]
    fn a_clock_is_judged_by_what_is_certain() {
        assert_eq!(clock(9_000, 1_000, 9_500).status, Good);
        assert!(
            clock(10_000, 1_000, 1_010)
                .found
                .contains("8990 ms ahead of")
        );
        assert!(
            clock(1_000, 10_000, 10_010)
                .found
                .contains("9000 ms behind")
        );
    }
}
