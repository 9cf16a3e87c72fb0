//! Looking for what is wrong with the queues of an account and region, and saying how to mend it.

mod checks;
mod command;
mod queues;
mod reach;
mod rights;
mod survey;

use goqueue_core::{
    Config,
    dead_letter::DeadLetterMode,
    driver::{DiagnoseFuture, Finding},
    retry::DEFAULT_MAX_ATTEMPTS,
};

use crate::{config::Settings, connection};
use command::Aws;
use survey::Survey;

/// Diagnoses the service that the configuration names, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry). It makes and changes nothing, and neither
/// sends nor receives a message.
#[must_use = "a diagnosis is made when this is awaited"]
pub fn diagnose(config: Config) -> DiagnoseFuture {
    Box::pin(async move {
        match Settings::of(&config) {
            Ok(settings) => look(&config, &settings).await,
            Err(error) => vec![Finding::problem(
                "configuration",
                error.to_string(),
                "correct the setting",
            )],
        }
    })
}

/// What the queues are held against.
struct Wanted<'a> {
    settings: &'a Settings,
    region: &'a str,
    aws: Aws,
    /// How often a job runs that says nothing of its own.
    attempts: u32,
    has_dead_letters: bool,
}

async fn look(config: &Config, settings: &Settings) -> Vec<Finding> {
    let (client, region) = match connection::client(settings).await {
        Ok(made) => made,
        Err(error) => return vec![reach::no_region(&error)],
    };
    let place = reach::Place::new(settings, &region);
    let mut findings = match reach::ask(&client, &place).await {
        Ok(findings) => findings,
        Err(finding) => return vec![finding],
    };
    let wanted = Wanted {
        settings,
        region: &region,
        aws: Aws::new(settings, &region),
        attempts: config.retry.attempts().unwrap_or(DEFAULT_MAX_ATTEMPTS),
        has_dead_letters: config.dead_letter.mode == DeadLetterMode::Store,
    };
    let served = config.worker.queues.keys().cloned().collect();
    let survey = Survey::make(&client, &settings.names, served).await;
    let rights = rights::tried(&client, &survey).await;
    findings.push(rights::permissions(&rights, &wanted));
    findings.extend(queues::all(&survey, &wanted));
    findings.extend(checks::all(&survey, &wanted));
    findings.push(visibility(config, settings));
    findings.push(lease(config, settings));
    findings
}

/// The queue's own default is not looked at: each receive says how long it hides.
fn visibility(config: &Config, settings: &Settings) -> Finding {
    const CHECK: &str = "visibility timeout";
    let (lease, most) = (config.worker.lease, settings.table.max_visibility);
    if lease > most {
        let found = format!(
            "`worker.lease` {lease:?}, allowed is `sqs.max_visibility` {most:?}: no job can be received"
        );
        let fix = format!("lower `worker.lease` to {most:?} or less");
        return Finding::problem(CHECK, found, fix);
    }
    if let Some(run) = config.worker.timeout.filter(|run| *run > most) {
        let found = format!(
            "`worker.timeout` {run:?}, and a job can be held for `sqs.max_visibility` {most:?} at most"
        );
        let fix = format!(
            "lower `worker.timeout` below {most:?}, or split such jobs: one that takes longer loses its \
             lease and runs again"
        );
        return Finding::warning(CHECK, found, fix);
    }
    Finding::good(
        CHECK,
        format!(
            "each receive sets `worker.lease` {lease:?}, whatever the queue's default; {} at most in all",
            checks::span(most.as_secs())
        ),
    )
}

/// A lease is extended from a quarter of it on: an answer that is late must not cost the lease.
fn lease(config: &Config, settings: &Settings) -> Finding {
    const CHECK: &str = "lease against timeout";
    let (lease, timeout) = (config.worker.lease, settings.table.response_timeout);
    let found = format!("`worker.lease` {lease:?}, `sqs.response_timeout` {timeout:?}");
    if lease / 2 >= timeout {
        return Finding::good(CHECK, found);
    }
    let least = timeout.saturating_mul(2);
    let fix = format!(
        "raise `worker.lease` to {least:?} or more, or lower `sqs.response_timeout`: one answer that \
         does not come would cost every lease"
    );
    Finding::warning(CHECK, found, fix)
}

#[cfg(test)]
mod tests {
    use goqueue_core::driver::FindingStatus;

    use super::*;

    /// Settings as in a file, with this URL.
    pub(super) fn settings(url: &str, table: &str) -> Settings {
        let text = format!("driver = \"{url}\"\n[sqs]\n{table}");
        Settings::of(&Config::from_toml(&text).unwrap()).unwrap()
    }

    pub(super) fn wanted(settings: &Settings) -> Wanted<'_> {
        Wanted {
            settings,
            region: "eu-west-1",
            aws: Aws::new(settings, "eu-west-1"),
            attempts: 5,
            has_dead_letters: true,
        }
    }

    fn of(text: &str, check: fn(&Config, &Settings) -> Finding) -> Finding {
        let text = format!("driver = \"sqs://eu-west-1/\"\n{text}");
        let config = Config::from_toml(&text).unwrap();
        check(&config, &Settings::of(&config).unwrap())
    }

    #[test]
    fn a_lease_that_the_service_does_not_give_is_a_problem() {
        assert_eq!(of("", visibility).status, FindingStatus::Good);
        let less = "worker.lease = \"90s\"\n[sqs]\nmax_visibility = \"60s\"";
        let long = of(less, visibility);
        assert_eq!(long.status, FindingStatus::Problem);
        assert!(
            long.found
                .starts_with("`worker.lease` 90s, allowed is `sqs.max_visibility` 60s"),
            "{long:?}"
        );
        let run = of("worker.timeout = \"13h\"", visibility);
        assert_eq!(run.status, FindingStatus::Warning);
    }

    #[test]
    fn a_lease_that_a_late_answer_costs_is_told() {
        assert_eq!(of("", lease).status, FindingStatus::Good);
        let short = of("worker.lease = \"6s\"", lease);
        assert_eq!(short.status, FindingStatus::Warning);
        assert_eq!(short.found, "`worker.lease` 6s, `sqs.response_timeout` 5s");
    }
}
