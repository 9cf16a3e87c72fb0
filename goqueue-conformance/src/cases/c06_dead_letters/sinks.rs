//! A worker's own place for the dead, which may fail.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use goqueue_core::{BoxError, DeadLetter, DeadLetters, dead_letter::DeadReason};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Probe},
};

/// A sink that fails or panics so many times, and then keeps what it gets.
#[derive(Clone, Debug)]
struct Sink(Arc<Mutex<SinkState>>);

#[derive(Debug)]
struct SinkState {
    failures_left: u32,
    panics_left: u32,
    tries: u32,
    letters: Vec<DeadLetter>,
}

impl Sink {
    fn failing(times: u32) -> Self {
        Self::broken(times, 0)
    }

    fn panicking(times: u32) -> Self {
        Self::broken(0, times)
    }

    fn broken(failures_left: u32, panics_left: u32) -> Self {
        let state = SinkState {
            failures_left,
            panics_left,
            tries: 0,
            letters: Vec::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn letters(&self) -> Vec<DeadLetter> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .letters
            .clone()
    }

    fn tries(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tries
    }
}

#[async_trait]
impl DeadLetters for Sink {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.tries += 1;
        if state.panics_left > 0 {
            state.panics_left -= 1;
            panic!("the sink is rotten");
        }
        if state.failures_left > 0 {
            state.failures_left -= 1;
            return Err("the sink is full".into());
        }
        state.letters.push(letter);
        Ok(())
    }
}

pub(crate) async fn a_failing_sink_never_loses_the_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueue = b.queue().enqueue(Probe::failing("job")).max_attempts(1);
    let id = enqueue
        .await
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id();
    let sink = Sink::failing(8);
    let worker = b.worker(|w| w.dead_letters(sink.clone()));
    b.records.ended(1, b.patience()).await;
    b.client()
        .counts("the job still running while the sink fails", |s| {
            s.running == 1
        })
        .await;
    promise!(sink.letters().is_empty(), "the sink still fails"; "{sink:?}");
    let metrics = worker.reported(1, b.patience() * 3).await;
    let letters = sink.letters();
    promise!(
        letters.len() == 1 && letters[0].id == id && letters[0].reason == DeadReason::Exhausted,
        "the sink has the letter of {id} before its run is reported";
        "{letters:?} {metrics:?}"
    );
    b.client().is_over(0).await;
    promise!(
        b.records.runs().len() == 1,
        "the job is not run again";
        "the runs were:{}",
        b.records.told()
    );
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_panicking_sink_never_loses_the_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueue = b.queue().enqueue(Probe::failing("job")).max_attempts(1);
    let id = enqueue
        .await
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id();
    let sink = Sink::panicking(2);
    let worker = b.worker(|w| w.dead_letters(sink.clone()).concurrency(1));
    worker.reported(1, b.patience() * 3).await;
    let letters = sink.letters();
    promise!(
        letters.len() == 1 && letters[0].id == id,
        "a sink that panics is tried again: in the end it has the letter of {id}";
        "{letters:?}"
    );
    b.client().is_over(0).await;
    b.enqueue(Probe::succeeding("afterwards")).await;
    b.records.started("afterwards", 1, b.patience()).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_broken_sink_gives_the_job_back_at_the_stop(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueue = b.queue().enqueue(Probe::failing("job")).max_attempts(1);
    let id = enqueue
        .await
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id();
    let sink = Sink::failing(u32::MAX);
    let worker = b.worker(|w| w.dead_letters(sink.clone()).shutdown_grace(b.lease() / 2));
    b.records.ended(1, b.patience()).await;
    b.elapse(b.lease() / 2).await;
    worker.stop(b.lease() / 2 + b.patience()).await;
    promise!(sink.tries() > 1, "a failing sink is tried again"; "{sink:?}");
    let job = b.client().take_one().await;
    promise!(job.lease.id == id, "job {id} is still there"; "{job:?}");
}
