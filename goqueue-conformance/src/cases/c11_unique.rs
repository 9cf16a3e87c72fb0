//! While a job with a unique key is scheduled, ready, running or waiting for a retry, enqueueing it
//! again stores nothing and names the one that is there.

use std::time::Duration;

use goqueue_core::{
    Enqueued, Error, JobId,
    driver::{NewJob, PushOutcome, UniqueCapability},
};
use tokio::task::JoinSet;

use crate::{
    check::promise,
    harness::Harness,
    tools::{Act, Bench, Client, Probe},
};

const NO_HOLD: Duration = Duration::ZERO;

/// What a driver without exact unique keys still owes: a refusal, or its window.
pub(crate) async fn keeps_what_it_claims(b: &Bench<'_>) {
    let probe = || Probe::succeeding("job");
    match b.can().unique {
        UniqueCapability::Exact => {}
        UniqueCapability::None => {
            let refused = b.queue().enqueue(probe()).unique_key("k").await;
            promise!(
                matches!(&refused, Err(Error::Unsupported { driver, capability: "unique_key" })
                    if *driver == b.can().driver),
                "a unique key is refused by name";
                "{refused:?}"
            );
            b.client().is_over(0).await;
        }
        UniqueCapability::Window(longest) => {
            let first = b.queue().enqueue(probe()).unique_key("k").await;
            let again = b.queue().enqueue(probe()).unique_key("k").await;
            promise!(
                matches!((&first, &again), (Ok(first), Ok(Enqueued::Duplicate(id)))
                    if first.id() == *id),
                "within its window the same key stores nothing and names the first";
                "{first:?}, then {again:?}"
            );
            let beyond = longest + Duration::from_secs(1);
            let refused = b
                .queue()
                .enqueue(probe())
                .unique_key("l")
                .unique_for(beyond)
                .await;
            promise!(
                matches!(refused, Err(Error::Unsupported { .. })),
                "a hold beyond the window of {longest:?} is refused";
                "{refused:?}"
            );
        }
    }
}

/// Goes on where unique keys are exact, or checks what the driver claims instead.
macro_rules! exact {
    ($bench:expr) => {
        if $bench.can().unique != UniqueCapability::Exact {
            return keeps_what_it_claims(&$bench).await;
        }
    };
}

async fn is_taken_by(client: &Client, key: &str, holder: JobId, when: &str) {
    let outcome = client.push(client.unique(key, NO_HOLD)).await;
    promise!(
        matches!(outcome, PushOutcome::Duplicate(id) if id == holder),
        "{when}, its key is taken by job {holder}";
        "{outcome:?}"
    );
}

/// Stores a job with a key that has to be free.
async fn is_free(client: &Client, key: &str, when: &str) -> JobId {
    let job = client.unique(key, NO_HOLD);
    let id = job.id;
    let outcome = client.push(job).await;
    promise!(matches!(outcome, PushOutcome::Stored), "{when}, its key is free"; "{outcome:?}");
    id
}

pub(crate) async fn a_key_is_taken_in_every_state(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let (client, other) = (b.client(), b.another().await);
    let scheduled = NewJob {
        delay: b.lease(),
        ..client.unique("key", NO_HOLD)
    };
    let id = client.store(scheduled).await;
    is_taken_by(&other, "key", id, "while the job is scheduled").await;
    b.elapse(b.lease()).await;
    client.upkeep().await;
    is_taken_by(&other, "key", id, "while the job is ready").await;
    let job = client.take_one().await;
    is_taken_by(&other, "key", id, "while the job is running").await;
    client.retry(&job.lease, b.lease()).await;
    is_taken_by(&other, "key", id, "while the job waits for its retry").await;
    b.elapse(b.lease()).await;
    let job = client.take_one().await;
    client.release(&job.lease, NO_HOLD).await;
    is_taken_by(&other, "key", id, "when the job was released").await;
    client.take_one().await;
    b.elapse(b.lease()).await;
    client.upkeep().await;
    is_taken_by(&other, "key", id, "when the job's lease was lost").await;
    let job = client.take_one().await;
    client.finds_nothing("no duplicate was stored").await;
    client.ack(&job.lease).await;
    client.is_over(0).await;
}

pub(crate) async fn a_done_job_frees_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    is_free(&client, "key", "at first").await;
    let job = client.take_one().await;
    client.ack(&job.lease).await;
    let id = is_free(&client, "key", "when the job is done").await;
    is_taken_by(&client, "key", id, "while the second job is ready").await;
    client.take_one().await;
}

pub(crate) async fn a_dead_job_frees_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    is_free(&client, "key", "at first").await;
    let job = client.take_one().await;
    client.bury(&job.lease).await;
    is_free(&client, "key", "when the job is dead").await;
    client.take_one().await;
}

pub(crate) async fn a_discarded_job_frees_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let job = Probe::new("job", [Act::Discard("no longer wanted".into())]);
    let first = b.queue().enqueue(job).unique_key("key").await;
    promise!(matches!(first, Ok(Enqueued::Stored(_))), "the job is stored"; "{first:?}");
    let worker = b.worker(|w| w);
    worker.reported(1, b.patience()).await;
    worker.stop(b.patience()).await;
    is_free(&b.client(), "key", "when the job is discarded").await;
}

pub(crate) async fn a_purged_job_frees_its_key(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    let Some(inspect) = client.inspect() else {
        return crate::cases::c06_dead_letters::inspection_is_refused(&b);
    };
    client.store(client.unique("key", b.lease() * 9)).await;
    let purged = inspect.purge(&client.queue).await;
    promise!(matches!(purged, Ok(1)), "one job is purged"; "{purged:?}");
    is_free(&client, "key", "when the job is purged").await;
    client.take_one().await;
}

pub(crate) async fn a_held_key_outlives_its_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    for (ending, key) in [("done", "one"), ("dead", "two")] {
        let hold = b.lease() * 2;
        let id = client.store(client.unique(key, hold)).await;
        let job = client.take_one().await;
        if ending == "done" {
            client.ack(&job.lease).await;
        } else {
            client.bury(&job.lease).await;
        }
        is_taken_by(
            &client,
            key,
            id,
            &format!("when the job is {ending}, but held"),
        )
        .await;
        b.elapse(hold * 3 / 4).await;
        is_taken_by(&client, key, id, "three quarters into its hold").await;
        b.elapse(hold / 4 + b.timing.tolerance).await;
        client.upkeep().await;
        is_free(&client, key, "when the hold is over").await;
        let job = client.take_one().await;
        client.ack(&job.lease).await;
    }
}

pub(crate) async fn a_short_hold_does_not_free_a_live_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    let hold = b.lease() / 2;
    let id = client.store(client.unique("key", hold)).await;
    b.elapse(b.lease()).await;
    client.upkeep().await;
    is_taken_by(&client, "key", id, "while the job is ready, past its hold").await;
    let job = client.take_one().await;
    client.ack(&job.lease).await;
    is_free(&client, "key", "when the job is done and the hold over").await;
}

pub(crate) async fn keys_are_compared_within_a_queue(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    let other = client.on("other");
    is_free(&client, "key", "at first").await;
    is_free(&other, "key", "in another queue").await;
    is_free(&client, "Key", "in another case").await;
    is_free(&client, "key ", "with a space behind it").await;
    is_free(&client, "kéy", "with an accent").await;
    client.take(4).await;
}

pub(crate) async fn duplicates_within_a_batch_are_found(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let client = b.client();
    let first = client.unique("key", NO_HOLD);
    let id = first.id;
    let outcomes = client
        .push_all(vec![
            first,
            client.unique("key", NO_HOLD),
            client.job("plain"),
            client.unique("other", NO_HOLD),
        ])
        .await;
    use PushOutcome::{Duplicate, Stored};
    promise!(
        matches!(outcomes.as_slice(), [Stored, Duplicate(of), Stored, Stored] if *of == id),
        "the second of four is a duplicate of the first, {id}";
        "{outcomes:?}"
    );
    client.take(3).await;
    client.finds_nothing("the duplicate was not stored").await;
}

pub(crate) async fn one_of_many_at_once_is_stored(h: &dyn Harness) {
    const PRODUCERS: usize = 16;
    let b = Bench::new(h).await;
    exact!(b);
    let (first, second) = (b.client(), b.another().await);
    for round in 0..5 {
        let mut tasks = JoinSet::new();
        for n in 0..PRODUCERS {
            let client = if n % 2 == 0 {
                first.clone()
            } else {
                second.clone()
            };
            let job = client.unique(&format!("key {round}"), NO_HOLD);
            tasks.spawn(async move { (job.id, client.push(job).await) });
        }
        let outcomes = tasks.join_all().await;
        let stored: Vec<_> = outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, PushOutcome::Stored))
            .map(|(id, _)| *id)
            .collect();
        promise!(stored.len() == 1, "one of {PRODUCERS} at once is stored"; "{outcomes:?}");
        let agree = outcomes.iter().all(|(_, outcome)| match outcome {
            PushOutcome::Duplicate(of) => *of == stored[0],
            other => matches!(other, PushOutcome::Stored),
        });
        promise!(agree, "the others name it, {}", stored[0]; "{outcomes:?}");
        first.take_one().await;
        first.finds_nothing("one was stored").await;
    }
}

pub(crate) async fn the_enqueuer_is_told_the_job_that_is_there(h: &dyn Harness) {
    let b = Bench::new(h).await;
    exact!(b);
    let enqueue = || {
        b.queue()
            .enqueue(Probe::succeeding("job"))
            .unique_key("key")
    };
    let first = enqueue().await;
    let again = enqueue().await;
    promise!(
        matches!((&first, &again), (Ok(Enqueued::Stored(id)), Ok(Enqueued::Duplicate(of)))
            if id == of),
        "the second call stores nothing and answers with the first one's id";
        "{first:?}, then {again:?}"
    );
    let worker = b.worker(|w| w);
    worker.reported(1, b.patience()).await;
    let third = enqueue().await;
    promise!(matches!(third, Ok(Enqueued::Stored(_))), "when it is done, it is stored"; "{third:?}");
    worker.reported(2, b.patience()).await;
    worker.stop(b.patience()).await;
}
