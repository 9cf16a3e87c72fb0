//! C2: one holder at a time. C3: attempts count deliveries.

use std::collections::HashMap;

use super::{
    Claims, Found, History,
    history::{Run, Story, is_final},
};
use crate::actor::LEASE;

pub(super) fn check(history: &History, claims: Claims, found: &mut Found) {
    for (label, story) in &history.jobs {
        if claims.stale_settle {
            one_end(label, story, found);
        }
        one_holder(label, story, &history.beats, claims, found);
        attempts(label, story, found);
    }
}

fn one_end(label: &str, story: &Story, found: &mut Found) {
    let ends = story
        .settled
        .iter()
        .filter(|(_, _, outcome)| is_final(outcome));
    let ends: Vec<_> = ends
        .map(|(_, attempt, outcome)| format!("{outcome} in attempt {attempt}"))
        .collect();
    if ends.len() > 1 {
        let text = format!(
            "the end of job {label} was taken down more than once: {}",
            ends.join(", ")
        );
        found.note("C2", text);
    }
}

/// A run whose answer was taken down held the job until then. One whose worker was never held up,
/// and reached the backend all the time, held it as well.
fn one_holder(
    label: &str,
    story: &Story,
    beats: &HashMap<String, Vec<u64>>,
    claims: Claims,
    found: &mut Found,
) {
    for (at, holder) in story.runs.iter().enumerate() {
        let Some((end, _)) = holder.end else { continue };
        let meanwhile = story.runs[at + 1..].iter().find(|run| run.start < end);
        let Some(other) = meanwhile else { continue };
        let held = (claims.stale_settle && holder.is_confirmed()) || was_well(holder, other, beats);
        if held {
            let text = format!(
                "{} ran attempt {} of job {label} while {} held it with attempt {}",
                other.who, other.attempt, holder.who, holder.attempt
            );
            found.note("C2", text);
        }
    }
}

/// Whether the holder's worker showed no gap, from a lease before its run until the other's start.
fn was_well(holder: &Run, other: &Run, beats: &HashMap<String, Vec<u64>>) -> bool {
    let micros = |part: u32| u64::try_from((LEASE / part).as_micros()).unwrap_or(u64::MAX);
    let (since, until) = (holder.start.saturating_sub(micros(1)), other.start);
    let beats = beats.get(&holder.who).map_or(&[][..], Vec::as_slice);
    let first = beats.partition_point(|beat| *beat < since);
    // The beat before the time in question counts, so that the time is covered from its start.
    let Some(first) = first.checked_sub(1) else {
        return false;
    };
    let last = beats.partition_point(|beat| *beat <= until);
    let covered = &beats[first..last];
    let ends_late = covered.last().is_some_and(|beat| until - beat < micros(2));
    ends_late && covered.windows(2).all(|pair| pair[1] - pair[0] < micros(2))
}

fn attempts(label: &str, story: &Story, found: &mut Found) {
    let max = story.intent.max_attempts;
    let mut seen: Vec<u32> = Vec::new();
    for run in &story.runs {
        if run.attempt == 0 || run.attempt > max {
            let text = format!("attempt {} of job {label} ran, of {max}", run.attempt);
            found.note("C3", text);
        }
        if seen.contains(&run.attempt) {
            let text = format!(
                "attempt {} of job {label} was handed out twice",
                run.attempt
            );
            found.note("C3", text);
        }
        seen.push(run.attempt);
    }
}
