use std::time::Duration;

use goqueue::{Queue, Result, RetryPolicy, Worker};
use tokio::time::{MissedTickBehavior, interval};

use super::{LEASE, told_to_stop};
use crate::{
    ledger::{Event, Ledger},
    task::{QUEUES, Task},
};

/// How often a worker shows that nothing holds it up.
pub(crate) const BEAT: Duration = Duration::from_millis(200);

/// Runs jobs until it is told to stop.
pub(super) async fn work(queue: &Queue, ledger: &Ledger) -> Result<()> {
    let settled = ledger.clone();
    let worker = Worker::builder(queue)
        .only_registered()
        .register::<Task>()
        .queue(QUEUES[0], 2)
        .queue(QUEUES[1], 1)
        .concurrency(8)
        .lease(LEASE)
        .shutdown_grace(Duration::from_secs(10))
        .retry(RetryPolicy::constant(Duration::from_millis(100)))
        .state(ledger.clone())
        .on_job_complete(move |run| {
            settled.note(Event::Settled {
                id: run.id.to_string(),
                attempt: run.attempt,
                outcome: run.outcome.as_str().into(),
            });
        })
        .build()?;
    tokio::select! {
        done = worker.run_until(told_to_stop()) => done.map(drop),
        () = beat(queue, ledger) => Ok(()),
    }
}

async fn beat(queue: &Queue, ledger: &Ledger) {
    let mut ticks = interval(BEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if queue.ping().await.is_ok() {
            ledger.note(Event::Beat);
        }
    }
}
