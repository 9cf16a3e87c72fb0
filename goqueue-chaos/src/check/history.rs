use std::collections::{BTreeMap, HashMap};

use goqueue::Envelope;

use crate::ledger::{Answer, Event, Intent, Letter, Line};

/// What the ledgers tell, job by job.
#[derive(Debug, Default)]
pub struct History {
    /// The jobs by their labels.
    pub jobs: BTreeMap<String, Story>,
    /// The labels of the jobs by their ids.
    pub labels: HashMap<String, String>,
    /// Letters of jobs that nobody enqueued.
    pub strays: Vec<Letter>,
    /// What the queues held in the end.
    pub left: Vec<(String, u64)>,
    /// When each worker showed that it was not held up.
    pub beats: HashMap<String, Vec<u64>>,
}

/// One job.
#[derive(Debug)]
pub struct Story {
    /// What it was to be.
    pub intent: Intent,
    /// When its producer began to enqueue it.
    pub asked: u64,
    /// What the producer was answered, and when.
    pub answer: Option<(u64, Answer)>,
    /// Its runs, in the order in which they started.
    pub runs: Vec<Run>,
    /// Ends of deliveries that the backend took down or refused: when, which, and the outcome.
    pub settled: Vec<(u64, u32, String)>,
    /// Its dead letters; more than one are one too many.
    pub letters: Vec<Letter>,
}

/// One run of a handler.
#[derive(Debug)]
pub struct Run {
    /// The worker.
    pub who: String,
    /// Which delivery it was.
    pub attempt: u32,
    /// When it started.
    pub start: u64,
    /// When it was about to answer, and whether with success.
    pub end: Option<(u64, bool)>,
    /// When its worker learnt what became of its answer, and what.
    pub settled: Option<(u64, String)>,
}

impl History {
    /// Of lines that are sorted by time.
    #[must_use]
    pub fn of(lines: &[Line]) -> Self {
        let mut history = Self::default();
        for line in lines {
            history.add(line);
        }
        history
    }

    fn add(&mut self, Line { at, who, event }: &Line) {
        match event {
            Event::Intent(intent) => {
                let story = Story::new(*at, intent.clone());
                self.jobs.insert(intent.label.clone(), story);
            }
            Event::Answer { label, answer } => {
                if let Answer::Stored(id) = answer {
                    self.labels.insert(id.clone(), label.clone());
                }
                if let Some(story) = self.jobs.get_mut(label) {
                    story.answer = Some((*at, answer.clone()));
                }
            }
            Event::Start { label, id, attempt } => {
                self.labels.insert(id.clone(), label.clone());
                if let Some(story) = self.jobs.get_mut(label) {
                    story.runs.push(Run {
                        who: who.clone(),
                        attempt: *attempt,
                        start: *at,
                        end: None,
                        settled: None,
                    });
                }
            }
            Event::End {
                label,
                attempt,
                succeeded,
            } => {
                let story = self.jobs.get_mut(label);
                if let Some(run) = story.and_then(|story| story.run(who, *attempt)) {
                    run.end = Some((*at, *succeeded));
                }
            }
            Event::Settled {
                id,
                attempt,
                outcome,
            } => {
                let story = self
                    .labels
                    .get(id)
                    .and_then(|label| self.jobs.get_mut(label));
                if let Some(story) = story {
                    story.settled.push((*at, *attempt, outcome.clone()));
                    if let Some(run) = story.run(who, *attempt) {
                        run.settled = Some((*at, outcome.clone()));
                    }
                }
            }
            Event::Beat => self.beats.entry(who.clone()).or_default().push(*at),
            Event::Dead(letter) => self.add_letter(letter),
            Event::Left { queue, live } => self.left.push((queue.clone(), *live)),
            Event::Broken { .. } | Event::Mended { .. } => {}
        }
    }

    /// A letter tells by its id whose it is, and by its body where no answer had the id.
    fn add_letter(&mut self, letter: &Letter) {
        let by_body = || {
            let envelope = Envelope::decode(letter.body.as_bytes()).ok()?;
            let payload: serde_json::Value = serde_json::from_str(envelope.payload.get()).ok()?;
            payload["label"].as_str().map(str::to_owned)
        };
        let label = self.labels.get(&letter.id).cloned().or_else(by_body);
        match label.and_then(|label| self.jobs.get_mut(&label)) {
            Some(story) => story.letters.push(letter.clone()),
            None => self.strays.push(letter.clone()),
        }
    }
}

impl Story {
    fn new(asked: u64, intent: Intent) -> Self {
        Self {
            intent,
            asked,
            answer: None,
            runs: Vec::new(),
            settled: Vec::new(),
            letters: Vec::new(),
        }
    }

    /// The last such run that has not been settled: a worker may be given a job twice.
    fn run(&mut self, who: &str, attempt: u32) -> Option<&mut Run> {
        let is_it = |run: &&mut Run| run.who == who && run.attempt == attempt;
        self.runs
            .iter_mut()
            .filter(is_it)
            .find(|run| run.settled.is_none())
    }

    /// Whether its producer was told that it is stored.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        matches!(self.answer, Some((_, Answer::Stored(_))))
    }

    /// Whether a handler answered with success.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.runs
            .iter()
            .any(|run| matches!(run.end, Some((_, true))))
    }

    /// The run of its last delivery, which no other can have followed. `None` when that delivery ran
    /// no handler.
    #[must_use]
    pub fn last_run(&self) -> Option<&Run> {
        let last = self.last_attempt();
        self.runs.iter().rev().find(|run| run.attempt == last)
    }

    fn last_attempt(&self) -> u32 {
        let runs = self.runs.iter().map(|run| run.attempt);
        let settled = self.settled.iter().map(|(_, attempt, _)| *attempt);
        let letters = self.letters.iter().map(|letter| letter.attempts);
        runs.chain(settled).chain(letters).max().unwrap_or(0)
    }
}

impl Run {
    /// Whether the backend took its answer down, which it does for the holder of the lease only.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        let refused = ["lease_lost", "released"];
        let outcome = self.settled.as_ref().map(|(_, outcome)| outcome.as_str());
        outcome.is_some_and(|outcome| !refused.contains(&outcome))
    }
}

/// Whether an outcome ends a job.
pub(super) fn is_final(outcome: &str) -> bool {
    ["succeeded", "dead", "discarded"].contains(&outcome)
}
