//! Which queues are there and which are missing: from what the service said to findings.

use goqueue_core::driver::Finding;

use super::{
    Wanted,
    survey::{MOST, Pair, Survey, What},
};
use crate::error::Meaning;

const QUEUES: &str = "queues";
const FIFO: &str = "fifo";
const AGAIN: &str = "see to what the service says, and run it again";
/// Names that a sentence has at most.
const NAMED: usize = 5;

pub(super) fn all(survey: &Survey, wanted: &Wanted<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(fault) = &survey.unlisted {
        let names = survey.pairs.iter().map(|pair| pair.name.as_str());
        let found = format!("only {} was looked at: {}", named(names), fault.text());
        let fix = match fault.meaning {
            Meaning::Denied => {
                "allow `sqs:ListQueues` on `*`, or name the queues in `worker.queues`"
            }
            _ => AGAIN,
        };
        findings.push(Finding::unknown(QUEUES, found, fix));
    }
    findings.extend(survey.plan.unusable.iter().map(|problem| {
        let fix = "give the queue of `worker.queues` another name";
        Finding::problem(QUEUES, problem.clone(), fix)
    }));
    let missing = missing(survey, wanted);
    // Where nothing is known of anything, neither is there something to say.
    let is_blind = survey.pairs.is_empty() && survey.plan.strangers > 0;
    if missing.is_empty() && !is_blind {
        findings.push(Finding::good(QUEUES, there(survey, wanted)));
    }
    findings.extend(missing);
    findings.extend(left_out(survey));
    findings.push(other_kind(survey, wanted));
    findings
}

fn missing(survey: &Survey, wanted: &Wanted<'_>) -> Vec<Finding> {
    let settings = wanted.settings;
    let unknown = survey
        .pairs
        .iter()
        .filter_map(|pair| match &pair.jobs.what {
            What::Unknown(fault) => {
                let found = format!("`{}`: {}", pair.jobs.on_sqs, fault.text());
                Some(Finding::unknown(QUEUES, found, AGAIN))
            }
            _ => None,
        });
    let mut findings: Vec<_> = unknown.collect();
    if settings.table.create_queues {
        return findings;
    }
    let is_there = |pair: &Pair| !pair.jobs.is_missing() || !pair.dead.is_missing();
    if survey.pairs.is_empty() && survey.plan.strangers == 0 {
        let found = format!("there is none {}", place(wanted));
        let make = make(wanted, "default").unwrap_or_default();
        findings.push(Finding::problem(
            QUEUES,
            found,
            format!("{make}, and the same for each other queue; or `sqs.create_queues = true`"),
        ));
    }
    for pair in &survey.pairs {
        if pair.jobs.is_missing() && (pair.is_wanted || !is_there(pair)) {
            let found = format!("`{}` is missing in {}", pair.jobs.on_sqs, wanted.region);
            let make = wanted.aws.create(settings, &pair.jobs.on_sqs, false);
            let fix = format!("`{make}`, or `sqs.create_queues = true`");
            findings.push(Finding::problem(QUEUES, found, fix));
        }
        let needs_dead = wanted.has_dead_letters
            && (!pair.jobs.is_missing() || pair.is_wanted || !is_there(pair));
        if pair.dead.is_missing() && needs_dead {
            let found = format!(
                "`{}` is missing in {}: jobs of `{}` that fail for good run again and again",
                pair.dead.on_sqs, wanted.region, pair.name
            );
            let make = wanted.aws.create(settings, &pair.dead.on_sqs, true);
            let fix = format!("`{make}`, or `sqs.create_queues = true`");
            findings.push(Finding::problem(QUEUES, found, fix));
        }
    }
    findings
}

/// The commands that make both queues of a queue of goqueue.
fn make(wanted: &Wanted<'_>, queue: &str) -> Option<String> {
    let (settings, names) = (wanted.settings, &wanted.settings.names);
    let queue = goqueue_core::QueueName::new(queue).ok()?;
    let jobs = wanted
        .aws
        .create(settings, &names.jobs(&queue).ok()?, false);
    let dead = wanted.aws.create(settings, &names.dead(&queue).ok()?, true);
    Some(format!("`{jobs}`, `{dead}`"))
}

fn there(survey: &Survey, wanted: &Wanted<'_>) -> String {
    let with = |check: fn(&Pair) -> bool| {
        let pairs = survey.pairs.iter().filter(move |pair| check(pair));
        pairs.map(|pair| pair.name.as_str()).collect::<Vec<_>>()
    };
    let both = with(|pair| pair.jobs.url().is_some() && pair.dead.url().is_some());
    let jobs = with(|pair| pair.jobs.url().is_some() && pair.dead.url().is_none());
    let dead = with(|pair| pair.jobs.url().is_none() && pair.dead.url().is_some());
    let neither = with(|pair| pair.jobs.is_missing() && pair.dead.is_missing());
    if both.is_empty() && jobs.is_empty() && dead.is_empty() {
        return format!(
            "there is none {}; each is made when it is first used",
            place(wanted)
        );
    }
    let later = if wanted.settings.table.create_queues {
        "made when it is first used"
    } else {
        "not needed, as `dead_letter.mode` says"
    };
    let parts = [
        (both, "with dead letters"),
        (jobs, "without a queue for dead letters"),
        (dead, "with nothing but dead letters"),
        (neither, "not there yet"),
    ];
    let is_whole = parts[1].0.is_empty() && parts[3].0.is_empty();
    let texts = parts.iter().filter(|(names, _)| !names.is_empty());
    let texts: Vec<_> = texts
        .map(|(names, what)| format!("{} {what}", named(names.iter().copied())))
        .collect();
    let later = if is_whole {
        String::new()
    } else {
        format!("; what is missing is {later}")
    };
    format!("{}: {}{later}", place(wanted), texts.join("; "))
}

/// What was not looked at.
fn left_out(survey: &Survey) -> Option<Finding> {
    let plan = &survey.plan;
    let mut parts = Vec::new();
    if plan.beyond > 0 {
        parts.push(format!(
            "{} more queues, since no more than {MOST} are looked at",
            plan.beyond
        ));
    }
    if plan.is_cut {
        parts.push("those beyond the first 1000 names".to_owned());
    }
    if plan.strangers > 0 {
        parts.push(format!(
            "{} queues that nothing tells from those of other programs, since there is no prefix",
            plan.strangers
        ));
    }
    if parts.is_empty() {
        return None;
    }
    let found = format!("not looked at: {}", parts.join("; "));
    let fix = "name the queues that matter in `worker.queues`, which are looked at first; a prefix in the \
               URL tells yours from others";
    Some(Finding::unknown(QUEUES, found, fix))
}

fn other_kind(survey: &Survey, wanted: &Wanted<'_>) -> Finding {
    let is_fifo = wanted.settings.names.is_fifo;
    let (own, other) = if is_fifo {
        ("FIFO", "standard")
    } else {
        ("standard", "FIFO")
    };
    let others = &survey.plan.other_kind;
    if others.is_empty() {
        let found = format!("`sqs.fifo` is {is_fifo}: {own} queues");
        return Finding::good(FIFO, found);
    }
    let names = named(others.iter().map(String::as_str));
    let found = format!("`sqs.fifo` is {is_fifo}, so {other} queues are not used: {names}");
    let fix = format!(
        "set `sqs.fifo = {}` if they are meant; otherwise give them another prefix",
        !is_fifo
    );
    Finding::warning(FIFO, found, fix)
}

fn place(wanted: &Wanted<'_>) -> String {
    let prefix = &wanted.settings.names.prefix;
    if prefix.is_empty() {
        return format!("in {}", wanted.region);
    }
    format!("in {} with the prefix `{prefix}`", wanted.region)
}

/// Some names, and how many more.
pub(super) fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if all.len() <= NAMED {
        return all.join(", ");
    }
    format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED)
}

#[cfg(test)]
mod tests;
