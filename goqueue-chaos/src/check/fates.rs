//! C1: whatever was stored succeeds or is dead.

use super::{Found, History};

pub(super) fn check(history: &History, found: &mut Found) {
    for (queue, live) in &history.left {
        if *live > 0 {
            let text = format!("queue {queue} still holds {live} jobs that nobody runs");
            found.note("C1", text);
        }
    }
    for (label, story) in &history.jobs {
        if story.succeeded() || !story.letters.is_empty() {
            continue;
        }
        if story.is_stored() {
            let runs = story.runs.len();
            let text = format!("job {label} was stored and is gone, after {runs} runs");
            found.note("C1", text);
        } else if !story.runs.is_empty() {
            let text = format!(
                "job {label}, of which nobody knew whether it was stored, was run and is gone"
            );
            found.note("C1", text);
        }
    }
}
