//! Many claimers at the same time.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use goqueue_core::{
    JobId,
    driver::{LeaseOutcome, ReserveRequest, Settlement, Verdict},
};
use tokio::task::JoinSet;

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Client, Probe},
};

pub(crate) async fn two_reservers_never_hold_one_job(h: &dyn Harness) {
    exclusive(h, 300, 2).await;
}

pub(crate) async fn an_exclusive_claim_holds_under_load(h: &dyn Harness) {
    exclusive(h, 2000, 32).await;
}

/// `claimers` drain `count` jobs at the same time.
async fn exclusive(h: &dyn Harness, count: usize, claimers: usize) {
    let b = Bench::new(h).await;
    let (first, second) = (b.client(), b.another().await);
    let mut stored = BTreeSet::new();
    let limit = b.can().batch.jobs.min(100);
    while stored.len() < count {
        let size = limit.min(count - stored.len());
        let jobs: Vec<_> = (0..size).map(|_| first.job("job")).collect();
        stored.extend(jobs.iter().map(|job| job.id));
        first.push_all(jobs).await;
    }

    let mut tasks = JoinSet::new();
    for n in 0..claimers {
        let client = if n % 2 == 0 {
            first.clone()
        } else {
            second.clone()
        };
        tasks.spawn(claim_all(client, n % 7 + 1));
    }
    let mut claims: HashMap<JobId, usize> = HashMap::new();
    while let Some(claimed) = tasks.join_next().await {
        let claimed = claimed.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        for id in claimed {
            *claims.entry(id).or_default() += 1;
        }
    }
    let doubles: Vec<_> = claims.iter().filter(|(_, times)| **times > 1).collect();
    promise!(doubles.is_empty(), "no job is held by two of {claimers}"; "doubles: {doubles:?}");
    let missing = stored.iter().filter(|id| !claims.contains_key(id)).count();
    promise!(
        missing == 0 && claims.len() == count,
        "all {count} jobs are claimed";
        "{missing} were not, {} were",
        claims.len()
    );
    first.is_over(0).await;
}

/// Reserves and acks until there has been nothing for a while.
async fn claim_all(client: Client, max: usize) -> Vec<JobId> {
    let mut claimed = Vec::new();
    loop {
        client.upkeep().await;
        let request = ReserveRequest {
            lease: Duration::from_secs(60),
            ..client.request(max, client.timing.tolerance / 2)
        };
        let jobs = client.driver.reserve(request).await;
        let jobs = jobs.unwrap_or_else(|error| panic!("a reserve under load failed: {error}"));
        if jobs.is_empty() {
            return claimed;
        }
        claimed.extend(jobs.iter().map(|job| job.lease.id));
        let settlements: Vec<_> = jobs
            .into_iter()
            .map(|job| Settlement {
                lease: job.lease,
                verdict: Verdict::Ack,
            })
            .collect();
        let outcomes = client.driver.settle(settlements).await;
        let outcomes = outcomes.unwrap_or_else(|error| panic!("a settle failed: {error}"));
        promise!(
            outcomes.iter().all(|outcome| *outcome == LeaseOutcome::Done),
            "who holds a job can ack it";
            "{outcomes:?}"
        );
    }
}

pub(crate) async fn two_workers_run_each_job_once(h: &dyn Harness) {
    const JOBS: usize = 200;
    let b = Bench::new(h).await;
    let probes = (0..JOBS).map(|n| Probe::succeeding(format!("job {n}")));
    let stored = b.queue().enqueue_all(probes).await;
    promise!(stored.is_ok(), "all jobs are stored"; "{stored:?}");
    let first = b.worker(|w| w.concurrency(8));
    let second = b.worker_on(h.connect(&b.store).await, |w| w.concurrency(8));
    b.records.ended(JOBS, b.patience() * 4).await;
    let (one, two) = (
        first.stop(b.patience()).await,
        second.stop(b.patience()).await,
    );
    let runs = b.records.runs().len();
    promise!(
        runs == JOBS && one.finished + two.finished == JOBS as u64,
        "{JOBS} jobs have {JOBS} runs";
        "{runs} runs, reported {} and {}",
        one.finished,
        two.finished
    );
    b.client().is_over(0).await;
}
