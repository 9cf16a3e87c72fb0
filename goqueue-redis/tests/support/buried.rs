use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use goqueue_conformance::SpecDriver;
use goqueue_core::{
    BoxError, DeadLetter, DeadLetters, Handler, Job, JobContext, JobError, JobId, JobResult, Queue,
    Worker,
};
use serde::{Deserialize, Serialize};

use super::queue;

/// A job that dies when it is run.
#[derive(Serialize, Deserialize)]
pub struct Hopeless {
    pub number: u32,
}

impl Job for Hopeless {
    const NAME: &'static str = "hopeless";
    const QUEUE: &'static str = "elsewhere";
}

impl Handler for Hopeless {
    async fn handle(self, _: JobContext) -> JobResult {
        Err(JobError::permanent("no hope"))
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<DeadLetter>>>);

#[async_trait]
impl DeadLetters for Kept {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        self.0.lock().unwrap().push(letter);
        Ok(())
    }
}

/// A dead letter as a worker makes one, of another job.
pub async fn letter(queue_name: &str, body: &'static str) -> DeadLetter {
    let (kept, elsewhere) = (
        Kept::default(),
        Queue::from_shared(Arc::new(SpecDriver::new())),
    );
    elsewhere.enqueue(Hopeless { number: 0 }).await.unwrap();
    let worker = Worker::builder(&elsewhere)
        .only_registered()
        .register::<Hopeless>();
    worker
        .dead_letters(kept.clone())
        .build()
        .unwrap()
        .drain()
        .await
        .unwrap();
    let mut letter = kept.0.lock().unwrap().remove(0);
    letter.id = JobId::new();
    letter.queue = queue(queue_name);
    letter.body = body.into();
    letter
}
