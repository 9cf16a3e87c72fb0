//! C10: the jobs of an ordering key run one at a time, in their order. C11: one live job per unique
//! key.

use std::collections::BTreeMap;

use super::{
    Found, History,
    history::{Story, is_final},
};
use crate::ledger::Answer;

pub(super) fn check_order(history: &History, found: &mut Found) {
    let mut lanes: BTreeMap<(&str, &str), Vec<(&str, &Story)>> = BTreeMap::new();
    for (label, story) in &history.jobs {
        if let Some(key) = &story.intent.order {
            let lane = lanes.entry((&story.intent.queue, key)).or_default();
            lane.push((label, story));
        }
    }
    for ((_, key), mut lane) in lanes {
        // A key has one producer, which waits for each answer.
        lane.sort_by_key(|(_, story)| story.asked);
        one_at_a_time(key, &lane, found);
        in_order(key, &lane, found);
    }
}

/// No delivery of another job between the first and the last of one: it holds the key throughout.
/// When the last started is certain, also when a process was held up before it wrote that down.
fn one_at_a_time(key: &str, lane: &[(&str, &Story)], found: &mut Found) {
    let spans = lane.iter().filter_map(|(label, story)| {
        let first = story.runs.first()?.start;
        let last = story.last_run()?;
        let until = last
            .end
            .filter(|_| last.is_confirmed())
            .map(|(end, _)| end)?;
        Some((first, until, *label))
    });
    let mut spans: Vec<_> = spans.collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        let ((_, until, earlier), (first, _, later)) = (pair[0], pair[1]);
        if first < until {
            let text = format!("key {key}: job {later} ran before job {earlier} had ended");
            found.note("C10", text);
        }
    }
}

/// Jobs that are stored for certain run in the order in which they were stored.
fn in_order(key: &str, lane: &[(&str, &Story)], found: &mut Found) {
    let stored = lane.iter().filter(|(_, story)| story.is_stored());
    let started: Vec<_> = stored
        .filter_map(|(label, story)| {
            Some((*label, story.last_run()?.start, story.runs.first()?.start))
        })
        .collect();
    for pair in started.windows(2) {
        let ((earlier, last, _), (later, _, first)) = (pair[0], pair[1]);
        if first < last {
            let text = format!("key {key}: job {later} ran before job {earlier}, which was first");
            found.note("C10", text);
        }
    }
}

pub(super) fn check_unique(history: &History, found: &mut Found) {
    let mut holders: BTreeMap<(&str, &str), Vec<(&str, &Story)>> = BTreeMap::new();
    for (label, story) in &history.jobs {
        let Some(key) = &story.intent.unique else {
            continue;
        };
        let key = (story.intent.queue.as_str(), key.as_str());
        if let Some((at, Answer::Duplicate(id))) = &story.answer {
            duplicate(history, label, story, *at, id, found);
            if !story.runs.is_empty() || !story.letters.is_empty() {
                let text = format!("job {label} is a duplicate, they said, and was stored");
                found.note("C11", text);
            }
        }
        if story.is_stored() {
            holders.entry(key).or_default().push((label, story));
        }
    }
    for ((_, key), mut jobs) in holders {
        jobs.sort_by_key(|(_, story)| story.asked);
        for (at, (label, story)) in jobs.iter().enumerate() {
            one_alive(key, label, story, &jobs[at + 1..], found);
        }
    }
}

/// A job is alive from the answer to its producer, at the latest, until its last handler answers, at
/// the earliest. No other can be stored within that time.
fn one_alive(key: &str, label: &str, story: &Story, later: &[(&str, &Story)], found: &mut Found) {
    let until = story.last_run().and_then(|run| run.end);
    let (Some((since, _)), Some((until, _))) = (&story.answer, until) else {
        return;
    };
    for (other, second) in later {
        let answered = second.answer.as_ref().map_or(u64::MAX, |(at, _)| *at);
        if second.asked > *since && answered < until {
            let text = format!("key {key}: job {other} was stored while job {label} was alive");
            found.note("C11", text);
        }
    }
}

/// Whoever is named as the holder of a key has to hold it.
fn duplicate(
    history: &History,
    label: &str,
    story: &Story,
    at: u64,
    holder: &str,
    found: &mut Found,
) {
    // A holder that nobody knows may have died with its answer before it was run.
    let Some(name) = history.labels.get(holder) else {
        return;
    };
    let Some(known) = history.jobs.get(name) else {
        return;
    };
    if name == label {
        found.note(
            "C11",
            format!("job {label} is a duplicate of itself, they said"),
        );
    } else if known.intent.unique != story.intent.unique {
        found.note(
            "C11",
            format!("job {label} is no duplicate of {name}: the keys differ"),
        );
    } else if known.asked > at {
        found.note(
            "C11",
            format!("job {label} is no duplicate of {name}, which came later"),
        );
    } else {
        let ends = known
            .settled
            .iter()
            .filter(|(_, _, outcome)| is_final(outcome));
        if ends.into_iter().any(|(end, _, _)| *end < story.asked) {
            let text = format!("job {label} is no duplicate of {name}, which had ended");
            found.note("C11", text);
        }
    }
}
