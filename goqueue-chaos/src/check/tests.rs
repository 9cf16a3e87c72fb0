use std::collections::BTreeMap;

use goqueue::{Envelope, JobId, QueueName};

use super::*;
use crate::{
    ledger::{Answer, Event, Intent, Letter},
    task::Ending,
};

const CLAIMS: Claims = Claims { stale_settle: true };
const SECOND: u64 = 1_000_000;

/// A ledger that is made up, event by event.
#[derive(Default)]
struct Book {
    lines: Vec<Line>,
    intents: BTreeMap<String, (Intent, JobId)>,
}

impl Book {
    fn note(&mut self, at: u64, who: &str, event: Event) -> &mut Self {
        let who = who.into();
        self.lines.push(Line { at, who, event });
        self
    }

    /// A job that its producer asks for and is told to be stored.
    fn stored(&mut self, at: u64, label: &str, change: impl FnOnce(&mut Intent)) -> &mut Self {
        let id = self.asked(at, label, change);
        let answer = Answer::Stored(id.to_string());
        self.answered(at + 1, label, answer)
    }

    fn asked(&mut self, at: u64, label: &str, change: impl FnOnce(&mut Intent)) -> JobId {
        let mut intent = Intent {
            label: label.into(),
            queue: "one".into(),
            payload: serde_json::json!({ "label": label }).to_string(),
            headers: BTreeMap::from([("chaos".into(), label.into())]),
            max_attempts: 3,
            ending: Ending::Succeed,
            order: None,
            unique: None,
        };
        change(&mut intent);
        let id = JobId::new();
        self.intents.insert(label.into(), (intent.clone(), id));
        self.note(at, "producer", Event::Intent(intent));
        id
    }

    fn answered(&mut self, at: u64, label: &str, answer: Answer) -> &mut Self {
        let label = label.into();
        self.note(at, "producer", Event::Answer { label, answer })
    }

    fn starts(&mut self, at: u64, who: &str, label: &str, attempt: u32) -> &mut Self {
        let id = self.intents[label].1.to_string();
        let label = label.into();
        self.note(at, who, Event::Start { label, id, attempt })
    }

    fn ends(&mut self, at: u64, who: &str, label: &str, attempt: u32) -> &mut Self {
        let succeeded = self.intents[label].0.ending.error(attempt).is_none();
        let label = label.into();
        let end = Event::End {
            label,
            attempt,
            succeeded,
        };
        self.note(at, who, end)
    }

    fn settled(
        &mut self,
        at: u64,
        who: &str,
        label: &str,
        attempt: u32,
        outcome: &str,
    ) -> &mut Self {
        let id = self.intents[label].1.to_string();
        let outcome = outcome.into();
        let settled = Event::Settled {
            id,
            attempt,
            outcome,
        };
        self.note(at, who, settled)
    }

    /// A whole run, of ten microseconds.
    fn runs(&mut self, at: u64, who: &str, label: &str, attempt: u32, outcome: &str) -> &mut Self {
        self.starts(at, who, label, attempt)
            .ends(at + 10, who, label, attempt)
            .settled(at + 11, who, label, attempt, outcome)
    }

    fn letter(&mut self, label: &str, change: impl FnOnce(&mut Letter)) -> &mut Self {
        let (intent, id) = &self.intents[label];
        let payload = serde_json::value::RawValue::from_string(intent.payload.clone()).unwrap();
        let queue = QueueName::new(&*intent.queue).unwrap();
        let mut envelope = Envelope::new(*id, "chaos.task", queue, payload);
        envelope.headers = intent.headers.clone();
        let mut letter = Letter {
            id: id.to_string(),
            queue: intent.queue.clone(),
            reason: "permanent".into(),
            error: "failed in attempt 1".into(),
            attempts: 1,
            body: String::from_utf8(envelope.encode().to_vec()).unwrap(),
        };
        change(&mut letter);
        self.note(u64::MAX, "stage", Event::Dead(letter))
    }

    fn found(&mut self) -> Vec<String> {
        self.found_under(CLAIMS)
    }

    fn found_under(&mut self, claims: Claims) -> Vec<String> {
        self.lines.sort_by_key(|line| line.at);
        let found = check(&self.lines, claims);
        found.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn breaks(&mut self, clause: &str) {
        let found = self.found();
        let is_it = |text: &String| text.starts_with(&format!("{clause}: "));
        assert!(!found.is_empty() && found.iter().all(is_it), "{found:#?}");
    }
}

#[test]
fn what_may_happen_is_no_violation() {
    let mut book = Book::default();
    book.stored(0, "plain", |_| {})
        .runs(10, "w1", "plain", 1, "succeeded");
    // Its worker was killed, and another had it later.
    book.stored(0, "twice", |_| {})
        .starts(10, "w1", "twice", 1)
        .runs(100, "w2", "twice", 2, "succeeded");
    // Its worker was frozen, and came back too late.
    book.stored(0, "frozen", |_| {})
        .starts(10, "w1", "frozen", 1)
        .runs(100, "w2", "frozen", 2, "succeeded")
        .ends(200, "w1", "frozen", 1)
        .settled(201, "w1", "frozen", 1, "lease_lost");
    let failed = Answer::Failed("the line is cut".into());
    book.asked(0, "lost", |_| {});
    book.answered(5, "lost", failed.clone());
    book.asked(0, "kept", |_| {});
    book.answered(5, "kept", failed)
        .runs(20, "w1", "kept", 1, "succeeded");
    book.stored(0, "bad", |job| job.ending = Ending::Permanent)
        .runs(10, "w1", "bad", 1, "dead")
        .letter("bad", |_| {});
    book.stored(0, "killed", |job| job.max_attempts = 1)
        .starts(10, "w1", "killed", 1)
        .letter("killed", |letter| {
            letter.reason = "worker_lost".into();
            letter.attempts = 2;
        });
    let key = |job: &mut Intent| job.order = Some("key".into());
    book.stored(0, "first", key)
        .stored(5, "second", key)
        .runs(10, "w1", "first", 1, "succeeded")
        .runs(30, "w2", "second", 1, "succeeded");
    let only = |job: &mut Intent| job.unique = Some("only".into());
    let holder = book.stored(0, "holder", only).intents["holder"].1;
    book.asked(5, "again", only);
    book.answered(6, "again", Answer::Duplicate(holder.to_string()))
        .runs(10, "w1", "holder", 1, "succeeded")
        .stored(40, "next", only)
        .runs(50, "w1", "next", 1, "succeeded");
    assert_eq!(book.found(), [""; 0]);
}

#[test]
fn a_job_that_is_gone_breaks_c1() {
    Book::default().stored(0, "gone", |_| {}).breaks("C1");
    let mut book = Book::default();
    book.stored(0, "failed", |job| job.ending = Ending::FailFirst(1))
        .runs(10, "w1", "failed", 1, "retried")
        .breaks("C1");
    let mut book = Book::default();
    let left = Event::Left {
        queue: "one".into(),
        live: 1,
    };
    book.note(0, "stage", left).breaks("C1");
    // Nobody knew of it, but it was there.
    let mut book = Book::default();
    book.asked(0, "half", |_| {});
    book.starts(10, "w1", "half", 1).breaks("C1");
}

#[test]
fn two_holders_break_c2() {
    // Both answers were taken.
    let mut book = Book::default();
    book.stored(0, "two", |_| {})
        .runs(10, "w1", "two", 1, "succeeded")
        .runs(100, "w2", "two", 2, "succeeded")
        .breaks("C2");
    // The first's answer was taken, though another had the job before it came.
    let mut book = Book::default();
    book.stored(0, "two", |_| {})
        .starts(10, "w1", "two", 1)
        .starts(15, "w2", "two", 2)
        .ends(20, "w1", "two", 1)
        .settled(21, "w1", "two", 1, "succeeded")
        .breaks("C2");
    // The first was well all the time, and lost its lease all the same.
    let overlap = |beats: &[u64]| {
        let mut book = Book::default();
        for beat in beats {
            book.note(beat * SECOND / 10, "w1", Event::Beat);
        }
        book.stored(0, "two", |_| {})
            .starts(40 * SECOND / 10, "w1", "two", 1)
            .starts(50 * SECOND / 10, "w2", "two", 2)
            .ends(51 * SECOND / 10, "w2", "two", 2)
            .ends(60 * SECOND / 10, "w1", "two", 1)
            .settled(61 * SECOND / 10, "w1", "two", 1, "lease_lost");
        book
    };
    overlap(&[18, 22, 28, 34, 40, 46, 49]).breaks("C2");
    // It was held up before, or at the end, or nobody knows.
    assert_eq!(overlap(&[18, 22, 34, 40, 46, 49]).found(), [""; 0]);
    assert_eq!(overlap(&[18, 22, 28, 34, 39]).found(), [""; 0]);
    assert_eq!(overlap(&[22, 28, 34, 40, 46, 49]).found(), [""; 0]);
}

#[test]
fn who_cannot_tell_a_late_settlement_is_not_blamed_for_it() {
    let cannot = Claims {
        stale_settle: false,
    };
    // Frozen, overtaken, and settled all the same.
    let mut late = Book::default();
    late.stored(0, "late", |_| {})
        .starts(10, "w1", "late", 1)
        .runs(100, "w2", "late", 2, "succeeded")
        .ends(200, "w1", "late", 1)
        .settled(201, "w1", "late", 1, "succeeded");
    // Buried by both.
    let mut buried = Book::default();
    buried
        .stored(0, "bad", |job| job.ending = Ending::Permanent)
        .starts(10, "w1", "bad", 1)
        .runs(100, "w2", "bad", 2, "dead")
        .ends(200, "w1", "bad", 1)
        .settled(201, "w1", "bad", 1, "dead")
        .letter("bad", |_| {})
        .letter("bad", |letter| {
            letter.attempts = 2;
            letter.error = "failed in attempt 2".into();
        });
    // Done by one, and lost by a worker that was slow, to the other.
    let mut done = Book::default();
    done.stored(0, "last", |job| job.max_attempts = 1)
        .starts(10, "w1", "last", 1)
        .letter("last", |letter| {
            letter.reason = "worker_lost".into();
            letter.attempts = 2;
        })
        .ends(200, "w1", "last", 1)
        .settled(201, "w1", "last", 1, "succeeded");
    for book in [&mut late, &mut buried, &mut done] {
        assert_eq!(book.found_under(cannot), [""; 0]);
        assert!(!book.found().is_empty(), "who can tell is");
    }
    // What was stored must not be gone under any claim.
    let mut gone = Book::default();
    gone.stored(0, "gone", |_| {})
        .starts(10, "w1", "gone", 1)
        .settled(20, "w1", "gone", 1, "succeeded");
    let found = gone.found_under(cannot);
    assert!(
        found.len() == 1 && found[0].starts_with("C1: "),
        "{found:?}"
    );
}

#[test]
fn attempts_that_are_not_counted_break_c3() {
    let mut book = Book::default();
    book.stored(0, "again", |_| {})
        .starts(10, "w1", "again", 1)
        .runs(100, "w2", "again", 1, "succeeded")
        .breaks("C3");
    let mut book = Book::default();
    book.stored(0, "many", |_| {})
        .runs(10, "w1", "many", 4, "succeeded")
        .breaks("C3");
}

#[test]
fn a_letter_that_is_not_as_it_was_breaks_c6() {
    type Change = fn(&mut Letter);
    let changes: [Change; 6] = [
        |letter| letter.error.clear(),
        |letter| letter.reason = "exhausted".into(),
        |letter| letter.queue = "two".into(),
        |letter| letter.attempts = 2,
        |letter| letter.body = letter.body.replace("\"bad\"", "\"worse\""),
        |letter| letter.body.clear(),
    ];
    for change in changes {
        let mut book = Book::default();
        book.stored(0, "bad", |job| job.ending = Ending::Permanent)
            .runs(10, "w1", "bad", 1, "dead")
            .letter("bad", change)
            .breaks("C6");
    }
    let mut book = Book::default();
    book.stored(0, "bad", |job| job.ending = Ending::Permanent)
        .runs(10, "w1", "bad", 1, "dead")
        .letter("bad", |_| {})
        .letter("bad", |_| {})
        .breaks("C6");
    let mut book = Book::default();
    let stray = Letter {
        id: "nobody's".into(),
        queue: "one".into(),
        reason: "permanent".into(),
        error: String::new(),
        attempts: 1,
        body: String::new(),
    };
    book.note(0, "stage", Event::Dead(stray)).breaks("C6");
}

#[test]
fn jobs_of_a_key_beside_each_other_break_c10() {
    let key = |job: &mut Intent| job.order = Some("key".into());
    let mut book = Book::default();
    book.stored(0, "first", key)
        .stored(5, "second", key)
        .runs(10, "w1", "second", 1, "succeeded")
        .runs(30, "w2", "first", 1, "succeeded")
        .breaks("C10");
    let mut book = Book::default();
    book.stored(0, "first", key)
        .stored(5, "second", key)
        .runs(10, "w1", "first", 1, "succeeded")
        .runs(15, "w2", "second", 1, "succeeded")
        .breaks("C10");
    // One that waits for its retry holds the key.
    let mut book = Book::default();
    book.stored(0, "first", |job| {
        key(job);
        job.ending = Ending::FailFirst(1);
    })
    .stored(5, "second", key)
    .runs(10, "w1", "first", 1, "retried")
    .runs(30, "w1", "second", 1, "succeeded")
    .runs(50, "w1", "first", 2, "succeeded")
    .breaks("C10");
}

#[test]
fn two_live_jobs_of_a_unique_key_break_c11() {
    let only = |job: &mut Intent| job.unique = Some("only".into());
    let mut book = Book::default();
    book.stored(0, "one", only)
        .stored(5, "two", only)
        .runs(10, "w1", "one", 1, "succeeded")
        .runs(30, "w1", "two", 1, "succeeded")
        .breaks("C11");
    // The holder that is named had ended, has another key, or is the job itself.
    let duplicate = |of: &str| {
        let mut book = Book::default();
        book.stored(0, "one", only)
            .runs(10, "w1", "one", 1, "succeeded");
        book.stored(0, "other", |_| {})
            .runs(10, "w1", "other", 1, "succeeded");
        book.asked(50, "again", only);
        let id = book.intents[of].1.to_string();
        book.answered(51, "again", Answer::Duplicate(id));
        book
    };
    duplicate("one").breaks("C11");
    duplicate("other").breaks("C11");
    let mut itself = duplicate("again");
    itself.runs(60, "w1", "again", 1, "succeeded").breaks("C11");
}
