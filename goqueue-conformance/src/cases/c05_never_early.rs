//! Due times are judged by the backend's clock. Never early; after due, ready within the poll
//! interval. An idle queue costs next to nothing.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use goqueue_core::{
    Error,
    driver::{NewJob, Reserved, Verdict},
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Client, Probe, retry},
    wrap::Spy,
};

/// What the resolution of a backend's clock may make of a due time.
const RESOLUTION: Duration = Duration::from_millis(2);

pub(crate) async fn a_delayed_job_is_never_early(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let since = Instant::now();
    client
        .store(NewJob {
            delay: b.lease(),
            ..client.job("later")
        })
        .await;
    comes_due(&b, &client, since, b.lease()).await;
}

pub(crate) async fn a_retried_job_is_never_early(h: &dyn Harness) {
    settled_for_later(h, retry).await;
}

pub(crate) async fn a_released_job_is_never_early(h: &dyn Harness) {
    settled_for_later(h, |delay| Verdict::Release { delay }).await;
}

async fn settled_for_later(h: &dyn Harness, verdict: fn(Duration) -> Verdict) {
    let b = Bench::new(h).await;
    let client = b.client();
    client.put("job").await;
    let job = client.take_one().await;
    let since = Instant::now();
    client.end(&job.lease, verdict(b.lease())).await;
    comes_due(&b, &client, since, b.lease()).await;
}

/// The queue's only job comes when it is due, `delay` after `since`, and not before.
async fn comes_due(b: &Bench<'_>, client: &Client, since: Instant, delay: Duration) -> Reserved {
    client
        .finds_nothing(&format!("the job is due in {delay:?}"))
        .await;
    b.elapse(delay * 3 / 4).await;
    client
        .finds_nothing(&format!("a quarter of {delay:?} is still to go"))
        .await;
    let latest = delay + b.can().delay.granularity + b.timing.tolerance;
    loop {
        client.upkeep().await;
        let job = client.reserve(1).await.pop();
        let waited = since.elapsed();
        if let Some(job) = job {
            promise!(
                waited + RESOLUTION >= delay,
                "a job with a delay of {delay:?} is never early";
                "it could be reserved after {waited:?}"
            );
            return job;
        }
        promise!(
            waited <= latest,
            "a job with a delay of {delay:?} is ready {latest:?} later at the latest";
            "after {waited:?} it is not"
        );
        b.elapse(b.timing.tolerance / 50).await;
    }
}

pub(crate) async fn the_shortest_delay_is_rounded_up(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let delay = Duration::from_millis(3);
    let since = Instant::now();
    client
        .store(NewJob {
            delay,
            ..client.job("soon")
        })
        .await;
    loop {
        client.upkeep().await;
        let job = client.reserve(1).await.pop();
        let waited = since.elapsed();
        if job.is_some() {
            promise!(
                waited + RESOLUTION >= delay,
                "a delay of {delay:?} is rounded up, never down";
                "the job could be reserved after {waited:?}"
            );
            return;
        }
        let latest = delay + b.can().delay.granularity + b.timing.tolerance;
        promise!(waited <= latest, "the job is ready within {latest:?}"; "it is not");
        b.elapse(Duration::from_millis(1)).await;
    }
}

pub(crate) async fn a_delay_beyond_the_limit_is_refused(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let Some(limit) = b.can().delay.max else {
        let years = Duration::from_secs(10 * 365 * 86_400);
        let enqueued = b
            .queue()
            .enqueue(Probe::succeeding("far"))
            .delay(years)
            .await;
        promise!(enqueued.is_ok(), "without a limit, ten years are accepted"; "{enqueued:?}");
        client.finds_nothing("the job is due in ten years").await;
        client.holds("one scheduled job", [0, 1, 0, 0]).await;
        return;
    };
    let beyond = limit + Duration::from_secs(1);
    let enqueued = b
        .queue()
        .enqueue(Probe::succeeding("far"))
        .delay(beyond)
        .await;
    promise!(
        matches!(enqueued, Err(Error::DelayTooLong { delay, limit: told, .. })
            if delay == beyond && told == limit),
        "a delay beyond {limit:?} is refused with both numbers";
        "{enqueued:?}"
    );
    client.is_over(0).await;
}

pub(crate) async fn a_time_that_has_passed_is_now(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueued = b
        .queue()
        .enqueue(Probe::succeeding("past"))
        .at(SystemTime::UNIX_EPOCH)
        .await;
    promise!(enqueued.is_ok(), "a time that has passed is accepted"; "{enqueued:?}");
    b.client().take_one().await;
}

pub(crate) async fn a_waiting_reservation_gets_a_new_job_at_once(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (producer, consumer) = (b.client(), b.another().await);
    let _upkeep = KeepUp::of(&consumer);
    let (jobs, pushed) = tokio::join!(consumer.reserve_for(5, b.lease() * 3), async {
        b.elapse(b.lease() / 2).await;
        producer.put("job").await;
        Instant::now()
    });
    promise!(jobs.len() == 1, "the new job ends the wait"; "{jobs:?}");
    let waited = pushed.elapsed();
    promise!(
        waited <= b.timing.tolerance,
        "it is handed out within {:?}",
        b.timing.tolerance;
        "after {waited:?}"
    );
}

pub(crate) async fn a_waiting_reservation_gets_a_job_when_it_is_due(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let _upkeep = KeepUp::of(&client);
    let since = Instant::now();
    client
        .store(NewJob {
            delay: b.lease(),
            ..client.job("later")
        })
        .await;
    let jobs = client.reserve_for(5, b.lease() * 3).await;
    let waited = since.elapsed();
    let latest = b.lease() + b.can().delay.granularity + b.timing.tolerance;
    promise!(
        jobs.len() == 1 && waited + RESOLUTION >= b.lease() && waited <= latest,
        "the wait ends with the job, between {:?} and {latest:?}",
        b.lease();
        "{} jobs after {waited:?}",
        jobs.len()
    );
}

pub(crate) async fn a_waiting_reservation_gets_a_job_whose_lease_ends(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    client.put("job").await;
    client.take_one().await;
    let _upkeep = KeepUp::of(&client);
    let since = Instant::now();
    let jobs = client.reserve_for(5, b.lease() * 3).await;
    let (waited, latest) = (since.elapsed(), b.lease() + b.timing.tolerance);
    promise!(
        jobs.len() == 1 && waited <= latest,
        "the wait ends when the lease of the lost job does, within {latest:?}";
        "{} jobs after {waited:?}",
        jobs.len()
    );
}

pub(crate) async fn a_wait_ends_on_time(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let wait = b.lease();
    let since = Instant::now();
    let jobs = client.reserve_for(5, wait).await;
    let (waited, latest) = (since.elapsed(), wait + b.timing.tolerance);
    promise!(
        jobs.is_empty() && waited + RESOLUTION >= wait && waited <= latest,
        "with nothing ready, a wait of {wait:?} ends empty by {latest:?}";
        "{} jobs after {waited:?}",
        jobs.len()
    );
}

pub(crate) async fn a_wait_can_be_cancelled(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let request = client.request(5, b.lease() * 5);
    let cancel = request.cancel.clone();
    let (jobs, cancelled) = tokio::join!(client.driver.reserve(request), async {
        b.elapse(b.lease() / 4).await;
        cancel.cancel();
        Instant::now()
    });
    let waited = cancelled.elapsed();
    promise!(
        matches!(&jobs, Ok(jobs) if jobs.is_empty()) && waited <= b.timing.tolerance,
        "a cancelled wait ends empty, within {:?}",
        b.timing.tolerance;
        "{jobs:?} after {waited:?}"
    );
    client.put("job").await;
    let job = client.take_one().await;
    promise!(job.attempt == 1, "the cancelled wait takes nothing any more"; "{job:?}");
}

pub(crate) async fn many_due_jobs_do_not_hold_up_a_claim(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let limit = b.can().batch.jobs.min(100);
    // Where a call stores a hundred, storing thousands would outlast the delay.
    let count = match b.can().batch.jobs {
        _ if b.timing.is_virtual => 5_000,
        ..=100 => 500,
        _ => 2_000,
    };
    for _ in 0..count / limit.min(count) {
        let job = || NewJob {
            delay: b.lease() * 2,
            ..client.job("later")
        };
        client.push_all((0..limit).map(|_| job()).collect()).await;
    }
    let stored = count / limit * limit;
    let first = client.put("now").await;
    let job = client.take_one().await;
    promise!(
        job.lease.id == first,
        "{stored} scheduled jobs do not hide the one that is due";
        "{job:?}"
    );
    client.ack(&job.lease).await;
    b.elapse(b.lease() * 2 + b.timing.tolerance).await;

    let since = Instant::now();
    // One pass only: a claim must not wait until everything is promoted.
    let passed = client
        .driver
        .maintain(std::slice::from_ref(&client.queue))
        .await;
    let jobs = client.reserve(10).await;
    let took = since.elapsed();
    promise!(
        passed.is_ok() && !jobs.is_empty() && took <= b.timing.tolerance,
        "with {stored} jobs due at once, a claim is answered within {:?}",
        b.timing.tolerance;
        "{} jobs after {took:?}; upkeep said {passed:?}",
        jobs.len()
    );
    client
        .counts("every job either ready or running", |stats| {
            stats.ready + stats.running == stored as u64 && stats.scheduled == 0
        })
        .await;
}

pub(crate) async fn an_idle_worker_does_not_spin(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let far = NewJob {
        delay: Duration::from_secs(7 * 86_400),
        ..b.client().job("far")
    };
    b.client().store(far).await;
    let spy = Spy::on(Arc::clone(&b.driver));
    let worker = b.worker_on(spy.clone(), |w| w);
    b.elapse(b.lease() / 2).await;
    let before = spy.0.calls().len();
    let idle = if b.timing.is_virtual {
        Duration::from_secs(600)
    } else {
        Duration::from_secs(8)
    };
    b.elapse(idle).await;
    let calls = spy.0.calls().len() - before;
    let allowed = 2 * idle.as_secs() as usize + 4;
    promise!(
        calls <= allowed,
        "an idle worker makes at most {allowed} calls in {idle:?}";
        "it made {calls}"
    );
    b.enqueue(Probe::succeeding("job")).await;
    b.records.ended(1, b.timing.tolerance).await;
    worker.stop(b.patience()).await;
}

/// Upkeep as a worker does it, for as long as this lives.
struct KeepUp(CancellationToken);

impl KeepUp {
    fn of(client: &Client) -> Self {
        let token = CancellationToken::new();
        let (client, stop) = (client.clone(), token.clone());
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            loop {
                let done = client
                    .driver
                    .maintain(std::slice::from_ref(&client.queue))
                    .await;
                let next = done.map_or(Duration::from_secs(1), |done| done.next);
                sleep(next.max(Duration::from_millis(1))).await;
            }
        }));
        Self(token)
    }
}

impl Drop for KeepUp {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
