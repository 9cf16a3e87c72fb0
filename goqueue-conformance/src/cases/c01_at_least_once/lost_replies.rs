//! Connections that drop between a command and its reply.

use std::{sync::Arc, time::Duration};

use goqueue_core::driver::{LeaseOutcome, Settlement, Verdict};

use super::runs_with_attempts;
use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Probe, Run},
    wrap::{Faults, FaultyDriver, Op},
};

pub(crate) async fn a_lost_push_reply_is_no_success(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    let client = b.client_of(Arc::new(line));
    faults.lose(Op::Push, 1);
    let answer = client.driver.push(vec![client.job("perhaps")]).await;
    promise!(
        matches!(&answer, Err(error) if error.is_transient()),
        "a push whose reply is lost answers with a transient error";
        "{answer:?}"
    );
    let job = client.take_one().await;
    client.ack(&job.lease).await;
    client.finds_nothing("the job was stored once").await;
}

pub(crate) async fn a_lost_reservation_comes_back(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    let client = b.client_of(Arc::new(line));
    let id = client.put("job").await;
    client.upkeep().await;
    faults.lose(Op::Reserve, 1);
    let answer = client
        .driver
        .reserve(client.request(1, Duration::ZERO))
        .await;
    promise!(answer.is_err(), "a lost reply is an error"; "{answer:?}");
    client
        .finds_nothing("the job is under a lease that nobody knows of")
        .await;
    b.elapse(b.lease()).await;
    let job = client.take_one().await;
    promise!(
        job.lease.id == id && job.attempt == 2,
        "job {id} comes back as attempt 2 when the unknown lease ends";
        "{job:?}"
    );
}

pub(crate) async fn a_settlement_can_be_repeated(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    let client = b.client_of(Arc::new(line));
    client.put("job").await;
    let job = client.take_one().await;
    faults.lose(Op::Settle, 1);
    let settlement = Settlement {
        lease: job.lease.clone(),
        verdict: Verdict::Ack,
    };
    let answer = client.driver.settle(vec![settlement]).await;
    promise!(answer.is_err(), "a lost reply is an error"; "{answer:?}");
    let again = client.settle(&job.lease, Verdict::Ack).await;
    promise!(
        again == LeaseOutcome::Lost || !b.can().stale_settle,
        "what was already settled answers Lost";
        "{again:?}"
    );
    client.is_over(0).await;
}

pub(crate) async fn a_failing_settlement_is_repeated(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    faults.fail(Op::Settle, 4);
    b.enqueue(Probe::succeeding("job")).await;
    let worker = b.worker_on(Arc::new(line), |w| w);
    worker.reported(1, b.patience() * 2).await;
    b.elapse(b.lease() * 2).await;
    runs_with_attempts(&b, "job", &[1]);
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_worker_survives_lost_replies(h: &dyn Harness) {
    const JOBS: usize = 40;
    let b = Bench::new(h).await;
    for n in 0..JOBS {
        b.enqueue(Probe::working(format!("job {n}"), b.lease() / 20))
            .await;
    }
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    let worker = b.worker_on(Arc::new(line), |w| w);
    for _ in 0..3 {
        for op in [Op::Reserve, Op::Extend, Op::Settle, Op::Maintain] {
            faults.lose(op, 1);
        }
        faults.fail_next(2).await;
        b.elapse(b.lease() / 5).await;
    }
    let all_ran = |runs: &[Run]| {
        (0..JOBS).all(|n| {
            let tag = format!("job {n}");
            runs.iter()
                .any(|run| run.tag == tag && run.end.is_some_and(|end| !end.is_dropped))
        })
    };
    b.records
        .until("every job has run to its end", b.patience() * 5, all_ran)
        .await;
    b.elapse(b.lease() * 2).await;
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}
