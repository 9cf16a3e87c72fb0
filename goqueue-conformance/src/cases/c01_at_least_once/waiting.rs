//! What is pushed while a reservation waits belongs to somebody, or to everybody.

use std::{sync::Arc, time::Duration};

use futures_util::future::join;
use goqueue_core::{
    Result,
    driver::{InspectCapability, Reserved},
};
use tokio::{
    task::{JoinHandle, yield_now},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Client},
};

const ROUNDS: usize = 20;

/// Steps of a push after which something happens to it, from round to round.
const STEPS: usize = 8;

pub(crate) async fn a_job_pushed_as_a_wait_ends_is_free(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    is_known(&client).await;
    for round in 0..ROUNDS {
        let (waiting, cancel) = waits(&b, &client).await;
        // Either may come first.
        let (ahead, later) = if round % 2 == 0 {
            (0, round * STEPS)
        } else {
            (round, 0)
        };
        let push = async {
            steps(ahead).await;
            client.put("job").await
        };
        let end = async {
            steps(later).await;
            cancel.cancel();
        };
        let (id, ()) = join(push, end).await;
        let job = match got(waiting).await.pop() {
            Some(job) => job,
            None => client.take_one().await,
        };
        promise!(job.lease.id == id, "the job that was pushed comes, {id}"; "{job:?}");
        if b.can().release_without_attempt {
            promise!(
                job.attempt == 1,
                "nobody has run it before";
                "attempt {} in round {round}",
                job.attempt
            );
        }
        client.ack(&job.lease).await;
    }
    client.is_over(0).await;
}

pub(crate) async fn a_push_that_is_given_up_holds_no_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    is_known(&client).await;
    for round in 0..ROUNDS {
        let (waiting, cancel) = waits(&b, &client).await;
        tokio::select! {
            biased;
            _ = client.push(client.job("job")) => {}
            () = steps(round) => {}
        }
        sleep(moment(&b)).await;
        cancel.cancel();
        for job in got(waiting).await {
            client.ack(&job.lease).await;
        }
        // A backend that only estimates its counts cannot tell.
        if b.can().inspect == InspectCapability::Full {
            let free = |stats: &goqueue_core::driver::QueueStats| stats.running == 0;
            client.counts("that nobody holds a job", free).await;
        }
    }
    // Those that were stored all the same.
    client.upkeep().await;
    loop {
        let jobs = client.reserve(10).await;
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            client.ack(&job.lease).await;
        }
    }
    client.is_over(0).await;
}

/// The backend has seen the queue before.
async fn is_known(client: &Client) {
    client.put("first").await;
    let job = client.take_one().await;
    client.ack(&job.lease).await;
}

/// A reservation that has looked, found nothing and waits.
async fn waits(
    b: &Bench<'_>,
    client: &Client,
) -> (JoinHandle<Result<Vec<Reserved>>>, CancellationToken) {
    let request = client.request(1, b.patience());
    let cancel = request.cancel.clone();
    let driver = Arc::clone(&client.driver);
    let waiting = tokio::spawn(async move { driver.reserve(request).await });
    sleep(moment(b)).await;
    (waiting, cancel)
}

async fn got(waiting: JoinHandle<Result<Vec<Reserved>>>) -> Vec<Reserved> {
    let jobs = waiting.await.expect("a reservation does not panic");
    jobs.unwrap_or_else(|error| panic!("reserve failed: {error}"))
}

fn moment(b: &Bench<'_>) -> Duration {
    b.timing.tolerance / 30
}

async fn steps(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}
