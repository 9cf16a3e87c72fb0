//! What a dead letter keeps.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use goqueue_core::{
    DeadLetterMode, Envelope, JobId, RetryPolicy, dead_letter::DeadReason, driver::Verdict,
};

use super::{inspected, inspection_is_refused};
use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Probe, logged},
    wrap::{FaultyDriver, Op},
};

pub(crate) async fn a_dead_letter_keeps_everything(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    let before = unix_millis();
    let body: Vec<u8> = (0..=255).rev().collect();
    let id = client.store(client.job(body.clone())).await;
    let job = client.take_one().await;
    client.retry(&job.lease, Duration::ZERO).await;
    let job = client.take_one().await;
    let (reason, error) = (
        DeadReason::Permanent,
        "no such user: “ü”\n\tand no other".to_owned(),
    );
    client
        .end(
            &job.lease,
            Verdict::Dead {
                reason,
                error: error.clone(),
            },
        )
        .await;

    client.finds_nothing("the only job is dead").await;
    client.is_over(1).await;
    let letters = client.buried(1).await.unwrap_or_default();
    let letter = &letters[0];
    promise!(letter.body == body, "the stored bytes are untouched"; "{letter:?}");
    promise!(
        (letter.id, &letter.queue, letter.attempts) == (id, &client.queue, 2),
        "the letter tells job {id}, its queue and its 2 attempts";
        "{letter:?}"
    );
    promise!(
        letter.reason == reason && letter.error == error,
        "the letter tells why: {reason}, {error:?}";
        "{letter:?}"
    );
    let (earliest, latest) = (before - 60_000, unix_millis() + 60_000);
    promise!(
        (earliest..=latest).contains(&letter.died_at),
        "the time of death is a Unix time in milliseconds, about now ({latest})";
        "{}",
        letter.died_at
    );

    let one = inspect.dead_letter(&client.queue, id).await;
    promise!(
        matches!(&one, Ok(Some(one)) if one.id == id && one.body == body),
        "the letter can be looked up by the job's id";
        "{one:?}"
    );
    for (queue, id) in [
        (&client.queue, JobId::new()),
        (&client.on("elsewhere").queue, id),
    ] {
        let none = inspect.dead_letter(queue, id).await;
        promise!(matches!(none, Ok(None)), "there is no letter {id} in `{queue}`"; "{none:?}");
    }
}

pub(crate) async fn an_exhausted_job_dies_with_its_story(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueued = b
        .queue()
        .enqueue(Probe::failing("job"))
        .header("tenant", "acme")
        .max_attempts(3)
        .retry(RetryPolicy::constant(Duration::ZERO))
        .await;
    let id = enqueued
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id();
    let worker = b.worker(|w| w);
    worker.reported(3, b.patience()).await;
    worker.stop(b.patience()).await;
    b.client().is_over(1).await;
    let tenants: Vec<_> = b
        .records
        .runs()
        .into_iter()
        .map(|mut run| run.headers.remove("tenant"))
        .collect();
    promise!(
        tenants.len() == 3 && tenants.iter().all(|tenant| tenant.as_deref() == Some("acme")),
        "each of the three runs sees its headers";
        "{tenants:?}"
    );
    let Some(letters) = b.client().buried(1).await else {
        return;
    };
    let letter = &letters[0];
    promise!(
        letter.id == id
            && letter.reason == DeadReason::Exhausted
            && letter.attempts == 3
            && letter.error == "it never works",
        "job {id} is dead: exhausted after 3 attempts, `it never works`";
        "{letter:?}"
    );
    let envelope = Envelope::decode(&letter.body);
    promise!(
        matches!(&envelope, Ok(envelope)
            if envelope.id == id
                && envelope.headers.get("tenant").is_some_and(|tenant| tenant == "acme")
                && envelope.payload.get().contains("it never works")),
        "payload and headers are those that were enqueued";
        "{envelope:?}"
    );
}

pub(crate) async fn discarded_dead_jobs_are_named_in_the_log(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueue = b.queue().enqueue(Probe::failing("job")).max_attempts(1);
    let id = enqueue
        .await
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id();
    let worker = b.worker(|w| w.dead_letter_mode(DeadLetterMode::Discard));
    worker.reported(1, b.patience()).await;
    worker.stop(b.patience()).await;
    b.client().is_over(0).await;
    let lines = logged(&id.to_string());
    promise!(
        lines.iter().any(|line| line.contains("WARN") && line.contains("discard")),
        "a warning names job {id} and says that it is discarded";
        "the log has {lines:?}"
    );
}

pub(crate) async fn a_failing_burial_is_repeated(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    faults.fail(Op::Settle, 3);
    faults.lose(Op::Settle, 1);
    let enqueue = b.queue().enqueue(Probe::failing("job")).max_attempts(1);
    enqueue
        .await
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"));
    let worker = b.worker_on(Arc::new(line), |w| w);
    worker.reported(1, b.patience() * 2).await;
    worker.stop(b.patience()).await;
    b.client().is_over(1).await;
    b.client().buried(1).await;
    promise!(
        b.records.runs().len() == 1,
        "the job is not run again";
        "the runs were:{}",
        b.records.told()
    );
}

fn unix_millis() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}
