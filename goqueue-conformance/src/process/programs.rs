use std::{future::Future, time::Duration};

use goqueue_core::{Queue, Worker, shutdown_signal};

use super::{Arguments, say};
use crate::{
    harness::{Harness, RealTime, Store},
    tools::{Act, Probe, QUEUE, Records},
};

/// What a child can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Says `started GREETING`, and answers pings.
    Echo,
    /// Works on the store `store` with leases of `lease` milliseconds until it is killed. Says
    /// `outcome NAME` for each run.
    Worker,
    /// Works on a store of its own, on a job that never ends, with an hour of grace, until it is
    /// signalled. Says `stopped` with the numbers of its report.
    Stubborn,
}

impl Program {
    const ALL: [Self; 3] = [Self::Echo, Self::Worker, Self::Stubborn];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Worker => "worker",
            Self::Stubborn => "stubborn",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        let known = Self::ALL
            .into_iter()
            .find(|program| program.as_str() == name);
        known.unwrap_or_else(|| panic!("there is no child program `{name}`"))
    }

    pub(super) fn run(self, harness: &dyn Harness, arguments: &Arguments) {
        let runtime = RealTime(harness).runtime();
        match self {
            Self::Echo => {
                say(&format!("started {}", arguments.get("greeting")));
                runtime.block_on(std::future::pending::<()>());
            }
            Self::Worker => runtime.block_on(worker(harness, arguments)),
            Self::Stubborn => runtime.block_on(stubborn(harness)),
        }
    }
}

async fn worker(harness: &dyn Harness, arguments: &Arguments) {
    let store = Store::new(arguments.get("store"));
    let queue = Queue::from_shared(harness.connect(&store).await);
    let lease = arguments
        .get("lease")
        .parse()
        .expect("a lease is a number of milliseconds");
    work(&queue, Duration::from_millis(lease), std::future::pending()).await;
}

async fn stubborn(harness: &dyn Harness) {
    let queue = Queue::from_shared(harness.driver().await);
    let job = Probe::new("stubborn", [Act::Announce]);
    queue.enqueue(job).await.expect("a job is stored");
    work(&queue, Duration::from_secs(60), shutdown_signal()).await;
}

async fn work(queue: &Queue, lease: Duration, signal: impl Future<Output = ()> + Send) {
    let worker = Worker::builder(queue)
        .only_registered()
        .register::<Probe>()
        .state(Records::default())
        .queue(QUEUE, 1)
        .concurrency(1)
        .lease(lease)
        .shutdown_grace(Duration::from_secs(3600))
        .on_job_complete(|metrics| say(&format!("outcome {}", metrics.outcome)))
        .build()
        .expect("the settings of a child are valid");
    let report = worker
        .run_until(signal)
        .await
        .expect("nothing ends a worker");
    say(&format!(
        "stopped finished={} released={} abandoned={}",
        report.finished, report.released, report.abandoned
    ));
}
