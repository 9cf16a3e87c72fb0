use std::{collections::BTreeMap, time::Duration};

use fastrand::Rng;
use goqueue::{Enqueued, Error, Queue, driver::UniqueCapability};
use tokio::time::sleep;

use super::told_to_stop;
use crate::{
    ledger::{Answer, Event, Intent, Ledger},
    task::{Ending, QUEUES, Task},
};

/// So many unique keys there are, for all producers together.
const UNIQUE_KEYS: usize = 6;
/// So many ordering keys there are of each producer.
const ORDERING_KEYS: usize = 3;
/// Enough that crashes alone kill few jobs.
const MANY: u32 = 12;

/// Enqueues jobs, one by one and in bulk, until it is told to stop.
pub(super) async fn produce(queue: &Queue, ledger: &Ledger, name: &str, seed: u64) {
    let mut producer = Producer {
        queue,
        ledger,
        name,
        rng: Rng::with_seed(seed),
        count: 0,
    };
    // Stopping waits for the call under way: its answer is written down.
    let mut stop = std::pin::pin!(told_to_stop());
    loop {
        if producer.rng.u8(..) < 20 {
            producer.enqueue_many().await;
        } else {
            producer.enqueue_one().await;
        }
        let pause = Duration::from_millis(producer.rng.u64(0..12));
        tokio::select! {
            () = &mut stop => return,
            () = sleep(pause) => {}
        }
    }
}

struct Producer<'a> {
    queue: &'a Queue,
    ledger: &'a Ledger,
    name: &'a str,
    rng: Rng,
    count: u32,
}

impl Producer<'_> {
    async fn enqueue_one(&mut self) {
        let (order, unique) = self.keys();
        let intent = self.intent(order, unique);
        self.ledger.note(Event::Intent(intent.clone()));
        let mut enqueue = self
            .queue
            .enqueue(task_of(&intent))
            .queue(&intent.queue)
            .max_attempts(intent.max_attempts);
        for (name, value) in &intent.headers {
            enqueue = enqueue.header(name, value);
        }
        if let Some(key) = &intent.order {
            enqueue = enqueue.ordering_key(key);
        }
        if let Some(key) = &intent.unique {
            enqueue = enqueue.unique_key(key);
        }
        let answer = answer_of(enqueue.await.as_ref());
        self.answered(intent.label, answer);
    }

    /// Jobs that differ in their payload only, as a bulk call has it.
    async fn enqueue_many(&mut self) {
        let mut first = self.intent(None, None);
        first.ending = Ending::Succeed;
        let intents: Vec<_> = (0..self.rng.usize(2..30))
            .map(|_| Intent {
                queue: first.queue.clone(),
                headers: first.headers.clone(),
                max_attempts: first.max_attempts,
                ..self.intent(None, None)
            })
            .collect();
        for intent in &intents {
            self.ledger.note(Event::Intent(intent.clone()));
        }
        let mut enqueue = self
            .queue
            .enqueue_all(intents.iter().map(task_of))
            .queue(&first.queue)
            .max_attempts(first.max_attempts);
        for (name, value) in &first.headers {
            enqueue = enqueue.header(name, value);
        }
        let answers: Vec<_> = match enqueue.await {
            Ok(all) => all.iter().map(|one| answer_of(Ok(one))).collect(),
            Err(Error::PartialBatch(partial)) => partial
                .outcomes()
                .iter()
                .map(|one| answer_of(one.as_ref()))
                .collect(),
            Err(error) => vec![answer_of(Err(&error)); intents.len()],
        };
        for (intent, answer) in intents.into_iter().zip(answers) {
            self.answered(intent.label, answer);
        }
    }

    fn answered(&self, label: String, answer: Answer) {
        self.ledger.note(Event::Answer { label, answer });
    }

    fn keys(&mut self) -> (Option<String>, Option<String>) {
        let can = self.queue.capabilities();
        match self.rng.u8(0..10) {
            0..3 if can.ordering => {
                let key = self.rng.usize(0..ORDERING_KEYS);
                (Some(format!("{}-{key}", self.name)), None)
            }
            3..5 if can.unique == UniqueCapability::Exact => {
                let key = self.rng.usize(0..UNIQUE_KEYS);
                (None, Some(format!("only-{key}")))
            }
            _ => (None, None),
        }
    }

    fn intent(&mut self, order: Option<String>, unique: Option<String>) -> Intent {
        self.count += 1;
        let label = format!("{}-{}", self.name, self.count);
        let (ending, max_attempts) = match self.rng.u8(0..20) {
            0 => (Ending::Permanent, MANY),
            1 => (Ending::Fail, self.rng.u32(1..4)),
            2..5 => (Ending::FailFirst(self.rng.u32(1..3)), MANY),
            _ => (Ending::Succeed, MANY),
        };
        // A few are longer than a lease.
        let millis = match self.rng.u8(..) {
            0..3 if order.is_none() => self.rng.u64(1_000..3_500),
            3..60 => 0,
            _ => self.rng.u64(0..40),
        };
        let padding = "x".repeat(self.rng.usize(0..400));
        // A key means something within its queue only, so each key stays in one.
        let key = order.as_ref().or(unique.as_ref());
        let queue = match key {
            Some(key) => key.len() + usize::from(*key.as_bytes().last().unwrap_or(&0)),
            None => self.rng.usize(..),
        };
        let task = Task {
            label: label.clone(),
            ending,
            millis,
            padding,
        };
        Intent {
            queue: QUEUES[queue % QUEUES.len()].into(),
            payload: serde_json::to_string(&task).expect("a task encodes"),
            headers: BTreeMap::from([("chaos".into(), label.clone())]),
            label,
            max_attempts,
            ending,
            order,
            unique,
        }
    }
}

fn task_of(intent: &Intent) -> Task {
    serde_json::from_str(&intent.payload).expect("a task decodes")
}

fn answer_of(answer: Result<&Enqueued, &Error>) -> Answer {
    match answer {
        Ok(Enqueued::Stored(id)) => Answer::Stored(id.to_string()),
        Ok(Enqueued::Duplicate(id)) => Answer::Duplicate(id.to_string()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
