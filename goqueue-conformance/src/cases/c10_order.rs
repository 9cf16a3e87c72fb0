//! Without a key a queue is first-in first-out for one producer and one consumer. Jobs of one
//! ordering key run one at a time, in their order; different keys never wait for each other.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use futures_util::future::join;
use goqueue_core::{
    Error, RetryPolicy,
    driver::{NewJob, Reserved},
};
use tokio::time::sleep;

use crate::{
    check::promise,
    harness::Harness,
    tools::{Act, Bench, Client, Probe, listed},
};

pub(crate) async fn a_queue_is_first_in_first_out(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let mut pushed = Vec::new();
    for n in 0..10 {
        pushed.push(client.put(&format!("single {n}")).await);
    }
    let limit = b.can().batch.jobs.min(30);
    let batch: Vec<_> = (0..limit)
        .map(|n| client.job(format!("batch {n}")))
        .collect();
    pushed.extend(batch.iter().map(|job| job.id));
    client.push_all(batch).await;
    let mut got = Vec::new();
    while got.len() < pushed.len() {
        let jobs = client.take(3.min(pushed.len() - got.len())).await;
        got.extend(jobs.iter().map(|job| job.lease.id));
    }
    if !b.can().ordering {
        // A backend without any order still loses none.
        got.sort_unstable();
    }
    promise!(got == pushed, "jobs come in the order of their pushes: {pushed:?}"; "{got:?}");
}

pub(crate) async fn whoever_waits_gets_jobs_in_order(h: &dyn Harness) {
    const JOBS: usize = 60;
    let b = Bench::new(h).await;
    let client = b.client();
    let produce = async {
        let mut pushed = Vec::new();
        while pushed.len() < JOBS {
            // Lone jobs and batches, now and then with a pause in which the consumer waits.
            let batch: Vec<_> = (0..1 + pushed.len() % 3)
                .take(JOBS - pushed.len())
                .map(|n| client.job(format!("job {n}")))
                .collect();
            pushed.extend(batch.iter().map(|job| job.id));
            client.push_all(batch).await;
            if pushed.len() % 5 == 0 {
                sleep(b.timing.tolerance / 50).await;
            }
        }
        pushed
    };
    let consume = async {
        let mut got = Vec::new();
        while got.len() < JOBS {
            let jobs = client.reserve_for(1, b.patience()).await;
            promise!(!jobs.is_empty(), "all jobs come"; "{} of {JOBS} came", got.len());
            for job in jobs {
                got.push(job.lease.id);
                client.ack(&job.lease).await;
            }
        }
        got
    };
    let (mut pushed, mut got) = join(produce, consume).await;
    if !b.can().ordering {
        // A backend without any order still loses none.
        got.sort_unstable();
        pushed.sort_unstable();
    }
    promise!(got == pushed, "jobs come in the order of their pushes: {pushed:?}"; "{got:?}");
}

/// Where ordering is not kept, it is refused.
async fn is_refused(b: &Bench<'_>) {
    let refused = b
        .queue()
        .enqueue(Probe::succeeding("job"))
        .ordering_key("k")
        .await;
    promise!(
        matches!(&refused, Err(Error::Unsupported { driver, capability: "ordering_key" })
            if *driver == b.can().driver),
        "an ordering key is refused by name";
        "{refused:?}"
    );
    b.client().is_over(0).await;
}

/// Goes on where ordering is kept, or checks that it is refused.
macro_rules! ordered {
    ($bench:expr) => {
        if !$bench.can().ordering {
            return is_refused(&$bench).await;
        }
    };
}

pub(crate) async fn a_key_runs_one_at_a_time_in_order(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let (client, other) = (b.client(), b.another().await);
    for n in 0..5 {
        client.store(client.keyed(format!("{n}"), "key")).await;
    }
    for n in 0..5 {
        let job = client.take_one().await;
        is_job(&job, &n.to_string());
        other.finds_nothing("the job before has not ended").await;
        client.ack(&job.lease).await;
    }
    client.is_over(0).await;
}

pub(crate) async fn one_reservation_takes_one_job_of_a_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    let keys = ["a", "b", "c"];
    for key in keys {
        let jobs: Vec<_> = (0..3)
            .map(|n| client.keyed(format!("{key}{n}"), key))
            .collect();
        client.push_all(jobs).await;
    }
    for round in 0..3 {
        let jobs = client.take(3).await;
        let mut bodies: Vec<_> = jobs.iter().map(body_of).collect();
        bodies.sort_unstable();
        let expected: Vec<_> = keys.iter().map(|key| format!("{key}{round}")).collect();
        promise!(bodies == expected, "each key gives its next job: {expected:?}"; "{bodies:?}");
        client.finds_nothing("every key has a job running").await;
        for job in jobs {
            client.ack(&job.lease).await;
        }
    }
}

pub(crate) async fn a_retry_holds_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    client.store(client.keyed("first", "key")).await;
    client.store(client.keyed("second", "key")).await;
    let job = client.take_one().await;
    client.retry(&job.lease, b.lease()).await;
    client
        .finds_nothing("the first job of the key waits for its retry")
        .await;
    b.elapse(b.lease()).await;
    let job = client.take_one().await;
    is_job(&job, "first");
    client.ack(&job.lease).await;
    is_job(&client.take_one().await, "second");
}

pub(crate) async fn a_delayed_head_holds_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    client
        .store(NewJob {
            delay: b.lease(),
            ..client.keyed("first", "key")
        })
        .await;
    client.store(client.keyed("second", "key")).await;
    client
        .finds_nothing("the first job of the key is not due")
        .await;
    b.elapse(b.lease()).await;
    let job = client.take_one().await;
    is_job(&job, "first");
    client.ack(&job.lease).await;
    is_job(&client.take_one().await, "second");
}

pub(crate) async fn a_released_job_keeps_its_place(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    client.store(client.keyed("first", "key")).await;
    client.store(client.keyed("second", "key")).await;
    let job = client.take_one().await;
    client.release(&job.lease, Duration::ZERO).await;
    let job = client.take_one().await;
    is_job(&job, "first");
    client.release(&job.lease, b.lease()).await;
    client
        .finds_nothing("the first job of the key is not due")
        .await;
    b.elapse(b.lease()).await;
    is_job(&client.take_one().await, "first");
}

pub(crate) async fn a_lost_lease_keeps_its_place(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let (client, other) = (b.client(), b.another().await);
    client.store(client.keyed("first", "key")).await;
    client.store(client.keyed("second", "key")).await;
    client.take_one().await;
    b.elapse(b.lease()).await;
    let job = other.take_one().await;
    is_job(&job, "first");
    other
        .finds_nothing("the first job of the key runs again")
        .await;
    other.ack(&job.lease).await;
    is_job(&other.take_one().await, "second");
}

pub(crate) async fn a_dead_job_frees_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    client.store(client.keyed("first", "key")).await;
    client.store(client.keyed("second", "key")).await;
    let job = client.take_one().await;
    client.bury(&job.lease).await;
    is_job(&client.take_one().await, "second");
}

pub(crate) async fn keys_do_not_wait_for_each_other(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    client
        .store(NewJob {
            delay: b.lease() * 9,
            ..client.keyed("a1", "a")
        })
        .await;
    for n in 0..30 {
        client.store(client.keyed(format!("a{}", n + 2), "a")).await;
    }
    client.store(client.keyed("b1", "b")).await;
    client.put("keyless").await;
    client
        .on("other")
        .store(client.on("other").keyed("elsewhere", "a"))
        .await;
    let bodies: HashSet<_> = client.take(2).await.iter().map(body_of).collect();
    promise!(
        bodies.contains("b1") && bodies.contains("keyless"),
        "a held key holds neither other keys nor jobs without one";
        "{bodies:?}"
    );
    is_job(&client.on("other").take_one().await, "elsewhere");
}

pub(crate) async fn a_released_job_goes_in_front(h: &dyn Harness) {
    let b = Bench::new(h).await;
    ordered!(b);
    let client = b.client();
    for name in ["first", "second", "third"] {
        client.put(name).await;
    }
    let job = client.take_one().await;
    client.release(&job.lease, Duration::ZERO).await;
    in_order(&client, &["first", "second", "third"]).await;
}

async fn in_order(client: &Client, names: &[&str]) {
    for name in names {
        is_job(&client.take_one().await, name);
    }
}

/// Eight at a time, each key's first job failing at its first run.
pub(crate) async fn workers_keep_the_order_of_each_key(h: &dyn Harness) {
    const KEYS: usize = 5;
    const JOBS: usize = 8;
    let b = Bench::new(h).await;
    ordered!(b);
    for n in 0..JOBS {
        for key in 0..KEYS {
            let work = Act::work(b.timing.tolerance / 20);
            let acts = if n % 3 == 0 {
                vec![Act::Fail("once".into()), work]
            } else {
                vec![work]
            };
            let job = Probe::new(format!("{key}/{n}"), acts);
            let enqueued = b
                .queue()
                .enqueue(job)
                .ordering_key(format!("key {key}"))
                .await;
            promise!(enqueued.is_ok(), "the job is stored"; "{enqueued:?}");
        }
    }
    let soon = RetryPolicy::constant(b.timing.tolerance / 10);
    let first = b.worker(|w| w.concurrency(4).retry(soon));
    let second = b.worker_on(h.connect(&b.store).await, |w| w.concurrency(4).retry(soon));
    let retried = JOBS.div_ceil(3) * KEYS;
    b.records
        .ended(KEYS * JOBS + retried, b.patience() * 10)
        .await;
    b.client().is_over(0).await;

    let mut last: HashMap<String, (usize, tokio::time::Instant)> = HashMap::new();
    for run in b.records.runs() {
        let (key, n) = run.tag.split_once('/').expect("tags have two parts");
        let n: usize = n.parse().expect("the second part is a number");
        let ended = run.end.map_or(run.started, |end| end.at);
        if let Some((before, until)) = last.insert(key.to_owned(), (n, ended)) {
            promise!(
                before <= n && until <= run.started,
                "of key {key}, job {n} starts when job {before} has ended for good";
                "the runs were:{}",
                b.records.told()
            );
        }
    }
    first.stop(b.patience()).await;
    second.stop(b.patience()).await;
}

fn body_of(job: &Reserved) -> String {
    String::from_utf8_lossy(&job.body).into_owned()
}

fn is_job(job: &Reserved, body: &str) {
    promise!(
        job.body == body,
        "the next job is `{body}`";
        "it is {}",
        listed(std::slice::from_ref(job))
    );
}
