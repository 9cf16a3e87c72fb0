//! Several queues are served by weight, and none starves; or in strict order.

use std::collections::HashMap;

use goqueue_core::driver::{QueueShare, ReserveRequest, Reserved};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Act, Bench, Probe, queue_name},
};

const WEIGHTED: [(&str, u32); 3] = [("critical", 6), ("default", 3), ("low", 1)];

pub(crate) async fn full_queues_are_served_by_weight(h: &dyn Harness) {
    served_by_weight(h, 1).await;
}

pub(crate) async fn weights_hold_for_many_slots(h: &dyn Harness) {
    served_by_weight(h, 20).await;
}

/// The first 300 runs of three full queues are in the ratio of their weights.
async fn served_by_weight(h: &dyn Harness, concurrency: usize) {
    const RUNS: usize = 300;
    let b = Bench::new(h).await;
    fill(&b, &WEIGHTED.map(|(queue, _)| queue), RUNS).await;
    let worker = b.worker(|mut w| {
        for (queue, weight) in WEIGHTED {
            w = w.queue(queue, weight);
        }
        w.concurrency(concurrency)
    });
    b.records
        .until("the first 300 jobs run", b.patience() * 4, |runs| {
            runs.len() >= RUNS
        })
        .await;
    let served = served(&b, RUNS);
    for (queue, weight) in WEIGHTED {
        let fair = RUNS * weight as usize / 10;
        let got = served.get(queue).copied().unwrap_or(0);
        promise!(
            got.abs_diff(fair) * 10 <= fair,
            "of {RUNS} runs, queue `{queue}` of weight {weight} in 10 has {fair}, within 10 %";
            "{served:?}"
        );
    }
    worker.stop(b.patience()).await;
}

pub(crate) async fn no_queue_starves(h: &dyn Harness) {
    let b = Bench::new(h).await;
    fill(&b, &["high"], 400).await;
    fill(&b, &["low"], 1).await;
    let worker = b.worker(|w| w.queue("high", 100).queue("low", 1).concurrency(2));
    let has_run = |runs: &[crate::tools::Run]| runs.iter().any(|run| run.queue == "low");
    b.records
        .until("the job of the light queue runs", b.patience() * 4, has_run)
        .await;
    let before = b
        .records
        .tags()
        .iter()
        .position(|tag| tag.starts_with("low"));
    promise!(
        before.is_some_and(|before| before <= 110),
        "it runs among the first 101 of a weight of 1 in 101";
        "{before:?} ran before"
    );
    worker.stop(b.patience()).await;
}

pub(crate) async fn an_empty_queue_costs_the_others_nothing(h: &dyn Harness) {
    let b = Bench::new(h).await;
    fill(&b, &["low"], 20).await;
    let client = b.client().on("low");
    client.upkeep().await;
    let jobs = reserve(&b, &[("critical", 9), ("low", 1)], 10).await;
    promise!(
        jobs.len() == 10,
        "what a queue leaves of its share goes to the others: 10 jobs of `low`";
        "{:?}",
        by_queue(&jobs)
    );
}

pub(crate) async fn shares_are_kept(h: &dyn Harness) {
    let b = Bench::new(h).await;
    fill(&b, &["a", "b", "c"], 10).await;
    for queue in ["a", "b", "c"] {
        b.client().on(queue).upkeep().await;
    }
    let jobs = reserve(&b, &[("a", 3), ("b", 2), ("c", 1)], 6).await;
    let expected = HashMap::from([
        ("a".to_owned(), 3),
        ("b".to_owned(), 2),
        ("c".to_owned(), 1),
    ]);
    promise!(
        by_queue(&jobs) == expected,
        "each queue fills its share first: {expected:?}";
        "{:?}",
        by_queue(&jobs)
    );
    let jobs = reserve(&b, &[("c", 1), ("a", 0), ("b", 0)], 8).await;
    let expected = HashMap::from([("c".to_owned(), 8)]);
    promise!(
        by_queue(&jobs) == expected,
        "what is left over goes to the queues in their order: {expected:?}";
        "{:?}",
        by_queue(&jobs)
    );
}

pub(crate) async fn strict_order_serves_the_heavy_first(h: &dyn Harness) {
    let b = Bench::new(h).await;
    fill(&b, &["low", "high"], 30).await;
    let worker = b.worker(|w| w.queue("low", 1).queue("high", 2).strict().concurrency(1));
    b.records.ended(60, b.patience() * 4).await;
    let queues: Vec<_> = b.records.runs().into_iter().map(|run| run.queue).collect();
    let first_low = queues.iter().position(|queue| queue == "low");
    promise!(
        first_low == Some(30),
        "all 30 jobs of the heavier queue run before the first of the lighter";
        "the first one of `low` is number {first_low:?}"
    );
    worker.stop(b.patience()).await;
}

async fn fill(b: &Bench<'_>, queues: &[&str], count: usize) {
    for queue in queues {
        let jobs = (0..count).map(|n| Probe::new(format!("{queue} {n}"), [Act::Succeed]));
        let stored = b.queue().enqueue_all(jobs).queue(*queue).await;
        promise!(stored.is_ok(), "{count} jobs are stored in `{queue}`"; "{stored:?}");
    }
}

async fn reserve(b: &Bench<'_>, shares: &[(&str, usize)], max: usize) -> Vec<Reserved> {
    let queues = shares
        .iter()
        .map(|(queue, share)| QueueShare {
            queue: queue_name(queue),
            share: *share,
        })
        .collect();
    let request = ReserveRequest {
        queues,
        ..b.client().request(max, b.timing.tolerance)
    };
    let jobs = b.driver.reserve(request).await;
    jobs.unwrap_or_else(|error| panic!("reserve failed: {error}"))
}

fn by_queue(jobs: &[Reserved]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for job in jobs {
        *counts.entry(job.lease.queue.to_string()).or_default() += 1;
    }
    counts
}

fn served(b: &Bench<'_>, runs: usize) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for run in b.records.runs().into_iter().take(runs) {
        *counts.entry(run.queue).or_default() += 1;
    }
    counts
}
