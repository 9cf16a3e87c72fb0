//! C6: the dead are kept as they were, with the story of their end.

use goqueue::Envelope;

use super::{
    Claims, Found, History,
    history::{Story, is_final},
};
use crate::{ledger::Letter, task::Ending};

pub(super) fn check(history: &History, claims: Claims, found: &mut Found) {
    for stray in &history.strays {
        let text = format!(
            "there is a letter of job {}, which nobody enqueued",
            stray.id
        );
        found.note("C6", text);
    }
    for (label, story) in &history.jobs {
        let was_buried = story
            .settled
            .iter()
            .any(|(_, _, outcome)| outcome == "dead");
        if was_buried && story.letters.is_empty() {
            found.note("C6", format!("job {label} is dead and has no letter"));
        }
        // Whoever was late is not told that the job was somebody else's, and buries it as well.
        if claims.stale_settle && story.letters.len() > 1 {
            let text = format!("job {label} has {} letters", story.letters.len());
            found.note("C6", text);
        }
        for letter in &story.letters {
            let mut wrong = faults(story, letter);
            if claims.stale_settle {
                wrong.extend(came_after_success(story));
            }
            for wrong in wrong {
                found.note("C6", format!("the letter of job {label} {wrong}"));
            }
        }
    }
}

fn faults(story: &Story, letter: &Letter) -> Vec<String> {
    let (intent, mut wrong) = (&story.intent, Vec::new());
    match Envelope::decode(letter.body.as_bytes()) {
        Err(error) => wrong.push(format!("has no envelope any more: {error}")),
        Ok(envelope) => {
            if envelope.payload.get() != intent.payload {
                wrong.push(format!("has another payload: {}", envelope.payload.get()));
            }
            if envelope.headers != intent.headers {
                wrong.push(format!("has other headers: {:?}", envelope.headers));
            }
            if envelope.id.to_string() != letter.id {
                wrong.push(format!("has the id of job {}", envelope.id));
            }
        }
    }
    if letter.queue != intent.queue {
        wrong.push(format!(
            "is in queue {}, not {}",
            letter.queue, intent.queue
        ));
    }
    wrong.extend(wrong_end(story, letter));
    wrong
}

/// The reason, the attempts and the error have to fit what the handler does.
fn wrong_end(story: &Story, letter: &Letter) -> Option<String> {
    let (intent, attempts) = (&story.intent, letter.attempts);
    let fits = match letter.reason.as_str() {
        "permanent" => intent.ending == Ending::Permanent,
        "exhausted" => {
            let fails = intent.ending.error(attempts).is_some();
            fails && attempts == intent.max_attempts && intent.ending != Ending::Permanent
        }
        "worker_lost" => attempts > intent.max_attempts,
        _ => false,
    };
    if !fits {
        return Some(format!(
            "says {} after {attempts} of {} attempts, of a job that was to {:?}",
            letter.reason, intent.max_attempts, intent.ending
        ));
    }
    let said = intent.ending.error(attempts).map(|(error, _)| error);
    if letter.reason != "worker_lost" && said.as_deref() != Some(&*letter.error) {
        return Some(format!("has the error `{}`, not `{said:?}`", letter.error));
    }
    None
}

fn came_after_success(story: &Story) -> Option<String> {
    let succeeded = story
        .settled
        .iter()
        .find(|(_, _, outcome)| outcome != "dead" && is_final(outcome));
    succeeded
        .map(|(_, attempt, outcome)| format!("is of a job that {outcome} in attempt {attempt}"))
}
