//! A worker's own place for the dead, made of a function.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};

use goqueue_core::{
    DeadLetter, Handler, Job, JobContext, JobError, JobResult, Queue, QueueName, Worker,
    dead_letter::{DeadReason, sink_fn},
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Hopeless {
    row: u32,
}

impl Job for Hopeless {
    const NAME: &'static str = "hopeless";
}

impl Handler for Hopeless {
    async fn handle(self, _cx: JobContext) -> JobResult {
        Err(JobError::permanent(format!("row {} is bad", self.row)))
    }
}

/// What the function was called with.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<DeadLetter>>>);

impl Calls {
    fn note(&self, letter: DeadLetter) -> usize {
        let mut calls = self.0.lock().unwrap();
        calls.push(letter);
        calls.len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_keeps_letters_and_is_called_again_until_it_does() {
    let queue = Queue::new(MemoryDriver::new());
    let id = queue.enqueue(Hopeless { row: 7 }).await.unwrap().id();
    let name = QueueName::new("default").unwrap();
    let calls = Calls::default();
    let seen = calls.clone();
    let running = queue.clone();
    let sink = sink_fn(move |letter: DeadLetter| {
        let (calls, queue) = (calls.clone(), running.clone());
        async move {
            let stats = queue.inspect()?.stats(&letter.queue).await?;
            assert_eq!(
                (stats.running, stats.dead),
                (1, 0),
                "kept until it is taken"
            );
            match calls.note(letter) {
                1 => Err("the bell is broken".into()),
                2 => panic!("the bell falls down"),
                _ => Ok(()),
            }
        }
    });
    assert!(format!("{sink:?}").starts_with("SinkFn("));
    let builder = Worker::builder(&queue).only_registered();
    let worker = builder.register::<Hopeless>().dead_letters(sink);
    let report = worker.build().unwrap().drain().await.unwrap();
    assert_eq!(report.finished, 1);

    let calls = seen.0.lock().unwrap().clone();
    assert_eq!(calls.len(), 3);
    let letter = &calls[2];
    assert_eq!((letter.id, letter.reason), (id, DeadReason::Permanent));
    assert_eq!(letter.error, "row 7 is bad");
    assert_eq!(letter.name.as_deref(), Some("hopeless"));
    let stats = queue.inspect().unwrap().stats(&name).await.unwrap();
    assert_eq!((stats.running, stats.dead), (0, 0));
}
