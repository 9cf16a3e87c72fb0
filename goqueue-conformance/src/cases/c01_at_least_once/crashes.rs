//! Workers, processes and servers that end without a word.

use std::time::Duration;

use goqueue_core::RetryPolicy;

use super::runs_with_attempts;
use crate::{
    check::promise,
    harness::{Harness, NoServer},
    process::{Arguments, Child, Program},
    tools::{Act, Bench, Client, Probe, Run},
};

/// From the backend's side, a worker without a line to it is a worker that crashed.
pub(crate) async fn a_crashed_worker_loses_nothing(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    b.enqueue(Probe::new("job", [Act::work(b.lease() * 20), Act::Succeed]))
        .await;
    let first = b.worker_on(line, |w| w);
    b.records.started("job", 1, b.patience()).await;
    faults.cut().await;
    let second = b.worker(|w| w);
    b.records.started("job", 2, b.patience()).await;
    runs_with_attempts(&b, "job", &[1, 2]);
    b.client().is_over(0).await;

    faults.restore().await;
    b.elapse(b.lease() * 2).await;
    runs_with_attempts(&b, "job", &[1, 2]);
    first.stop(b.patience()).await;
    second.stop(b.patience()).await;
}

/// The end of the future that a worker runs in is the end of the worker.
pub(crate) async fn a_worker_that_vanishes_loses_nothing(h: &dyn Harness) {
    let b = Bench::new(h).await;
    b.enqueue(Probe::new("job", [Act::Endless, Act::Succeed]))
        .await;
    let first = b.worker(|w| w);
    b.records.started("job", 1, b.patience()).await;
    first.vanish().await;
    let second = b.worker_on(h.connect(&b.store).await, |w| w);
    b.records.started("job", 2, b.patience()).await;
    runs_with_attempts(&b, "job", &[1, 2]);
    b.client().is_over(0).await;
    second.stop(b.patience()).await;
}

pub(crate) async fn a_killed_process_loses_nothing(h: &dyn Harness) {
    let b = Bench::new(h).await;
    if !b.can().durable {
        return dies_with_its_process(h).await;
    }
    b.enqueue(Probe::new("job", [Act::Announce])).await;
    let arguments = Arguments::default()
        .with("store", &b.store)
        .with("lease", &b.lease().as_millis());
    let mut child = Child::start(h.name(), Program::Worker, &arguments);
    child.hear("running job 1", Duration::from_secs(20)).await;
    child.kill();

    // This process has not seen the first run, so its own first run follows the same script.
    let client = b.client();
    let killed = tokio::time::Instant::now();
    let job = loop {
        client.upkeep().await;
        if let Some(job) = client.reserve(1).await.pop() {
            break job;
        }
        let limit = b.lease() + b.timing.tolerance + Duration::from_secs(1);
        promise!(
            killed.elapsed() < limit,
            "the job of a killed process is free again within {limit:?}";
            "it is not"
        );
        b.elapse(b.timing.tolerance / 20).await;
    };
    promise!(job.attempt == 2, "it comes back as attempt 2"; "attempt {}", job.attempt);
    client.ack(&job.lease).await;
    client.is_over(0).await;
}

pub(crate) async fn a_restarted_backend_keeps_its_jobs(h: &dyn Harness) {
    let b = Bench::to_restart(h).await;
    if !b.can().durable {
        return dies_with_its_process(h).await;
    }
    let client = b.client();
    let dead = client.put("dead").await;
    let letter = client.take_one().await;
    client.bury(&letter.lease).await;
    let held = client.put("held").await;
    let running = client.take_one().await;
    let ready = client.put("ready").await;
    let mut later = client.job("scheduled");
    later.delay = b.lease() * 2;
    let scheduled = client.store(later).await;

    if h.restart_server(&b.store).await == Err(NoServer) {
        // A service that somebody else runs: what is left is to go away and come back.
        let closed = client.driver.close().await;
        promise!(closed.is_ok(), "the only handle can be closed"; "{closed:?}");
    }
    let client = b.another().await;
    reachable_again(&client).await;
    let job = client.take_one().await;
    promise!(job.lease.id == ready, "the ready job {ready} is still there"; "{job:?}");
    client.ack(&job.lease).await;
    b.elapse(b.lease() * 2).await;
    let mut ids: Vec<_> = client
        .take(2)
        .await
        .into_iter()
        .map(|job| job.lease.id)
        .collect();
    ids.sort_unstable();
    promise!(
        ids == [held, scheduled],
        "the running and the scheduled job ({held}, {scheduled}) are still there";
        "{ids:?}"
    );
    promise!(
        running.lease.id == held,
        "the job that was running when the backend stopped is {held}";
        "{running:?}"
    );
    if let Some(letters) = client.buried(1).await {
        promise!(letters[0].id == dead, "the dead letter {dead} is still there"; "{letters:?}");
    }
}

/// A backend that has just started may refuse the first calls.
async fn reachable_again(client: &Client) {
    let mut last = None;
    for _ in 0..100 {
        match client.driver.ping().await {
            Ok(()) => return,
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("expected: a restarted backend answers within 10 s\nhappened: {last:?}");
}

/// What is left to check where nothing outlives the process: that nobody claims more.
async fn dies_with_its_process(h: &dyn Harness) {
    let (here, there) = (Bench::to_restart(h).await, Bench::new(h).await);
    let restarted = h.restart_server(&here.store).await;
    promise!(
        restarted == Err(NoServer),
        "a driver that is not durable has no server that could bring jobs back";
        "its harness restarted one"
    );
    here.client().put("here").await;
    there
        .client()
        .finds_nothing("another store shares nothing with this one")
        .await;
}

/// Three workers whose lines are cut, lose replies and fail in turn, and of whom one vanishes.
pub(crate) async fn a_rough_day_loses_nothing(h: &dyn Harness) {
    const JOBS: usize = 60;
    let b = Bench::new(h).await;
    for n in 0..JOBS {
        let work = Act::work(b.lease() / 10);
        let acts = if n % 5 == 0 {
            vec![Act::Fail("at first".into()), work]
        } else {
            vec![work]
        };
        let job = Probe::new(format!("job {n}"), acts);
        // Lost leases spend attempts.
        let enqueued = b.queue().enqueue(job).max_attempts(1_000).await;
        promise!(enqueued.is_ok(), "the job is stored"; "{enqueued:?}");
    }
    let soon = RetryPolicy::constant(b.lease() / 10);
    let mut lines = Vec::new();
    let mut workers = Vec::new();
    for _ in 0..3 {
        let (line, faults) = h.faulty(&b.store).await;
        workers.push(b.worker_on(line, |w| w.concurrency(2).retry(soon)));
        lines.push(faults);
    }
    for round in 0..9 {
        let (one, other, third) = (round % 3, (round + 1) % 3, (round + 2) % 3);
        lines[one].cut().await;
        lines[other].lose_replies(2).await;
        lines[third].fail_next(3).await;
        b.elapse(b.lease() / 3).await;
        lines[one].restore().await;
        if round == 4 {
            workers.remove(0).vanish().await;
        }
    }
    for line in &lines {
        line.lose_replies(0).await;
        line.fail_next(0).await;
    }
    let all_succeeded = |runs: &[Run]| {
        (0..JOBS).all(|n| {
            let tag = format!("job {n}");
            let ended = |run: &&Run| run.tag == tag && run.end.is_some_and(|end| !end.is_dropped);
            runs.iter().filter(ended).count() > usize::from(n % 5 == 0)
        })
    };
    b.records
        .until("every job has succeeded", b.patience() * 5, all_succeeded)
        .await;
    // Some may still be under a lease whose reservation was lost on the way.
    b.elapse(b.lease() * 2).await;
    b.client().is_over(0).await;
    for worker in workers {
        worker.stop(b.patience()).await;
    }
}
