//! The administrative calls.

use std::time::Duration;

use goqueue_core::{
    Error, JobId,
    driver::{
        Inspect, InspectCapability, JobInfo, JobState, NewJob, PageRequest, PushOutcome, Selection,
        UniqueCapability, Verdict,
    },
};

use super::{bury_some, inspected, inspection_is_refused};
use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Client},
};

pub(crate) async fn redriving_twice_moves_once(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    let ids = bury_some(&client, 2).await;
    let which = || Selection::Ids(vec![ids[0], ids[0]]);
    let first = inspect.requeue_dead(&client.queue, which()).await;
    promise!(matches!(first, Ok(1)), "the first redrive moves one letter"; "{first:?}");
    let second = inspect.requeue_dead(&client.queue, which()).await;
    promise!(matches!(second, Ok(0)), "the second finds nothing to move"; "{second:?}");
    let job = client.take_one().await;
    promise!(job.lease.id == ids[0], "the letter {} is ready again", ids[0]; "{job:?}");
    client.finds_nothing("it was moved once").await;
    client.ack(&job.lease).await;
    client.is_over(1).await;
    let elsewhere = inspect
        .requeue_dead(&client.on("elsewhere").queue, Selection::All)
        .await;
    promise!(matches!(elsewhere, Ok(0)), "another queue has no dead letters"; "{elsewhere:?}");
}

pub(crate) async fn a_redrive_leaves_a_taken_key_alone(h: &dyn Harness) {
    let b = Bench::new(h).await;
    if b.can().unique != UniqueCapability::Exact {
        return crate::cases::c11_unique::keeps_what_it_claims(&b).await;
    }
    let client = b.client();
    let inspect = inspected!(b, client);
    let dead = client.store(client.unique("key", Duration::ZERO)).await;
    let job = client.take_one().await;
    client.bury(&job.lease).await;
    let live = client.store(client.unique("key", Duration::ZERO)).await;
    let moved = inspect.requeue_dead(&client.queue, Selection::All).await;
    promise!(matches!(moved, Ok(0)), "its key is taken by job {live}: it stays"; "{moved:?}");
    let job = client.take_one().await;
    client.ack(&job.lease).await;
    let moved = inspect.requeue_dead(&client.queue, Selection::All).await;
    promise!(matches!(moved, Ok(1)), "with the key free it is moved"; "{moved:?}");
    let again = client.push(client.unique("key", Duration::ZERO)).await;
    promise!(
        matches!(again, PushOutcome::Duplicate(id) if id == dead),
        "the redriven job {dead} has its key again";
        "{again:?}"
    );
}

pub(crate) async fn dead_letters_are_listed_by_pages(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    let ids = bury_some(&client, 25).await;
    client.buried(25).await;
    let mut listed = Vec::new();
    let mut after = None;
    for _ in 0..10 {
        let page = inspect
            .dead_letters(&client.queue, PageRequest { limit: 10, after })
            .await;
        let page = page.unwrap_or_else(|error| panic!("a page failed: {error}"));
        promise!(page.items.len() <= 10, "a page has its limit"; "{} items", page.items.len());
        listed.extend(page.items.iter().map(|letter| letter.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    promise!(
        listed == ids,
        "the pages hold every letter once, the oldest first: {ids:?}";
        "{listed:?}"
    );
}

/// More than any backend hands out at a time.
const OF_ONE_KEY: usize = 12;

/// Where there are no ordering keys, the jobs have none.
pub(crate) async fn letters_of_one_key_are_all_listed(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    let has_key = b.can().ordering;
    let mut ids = Vec::new();
    for n in 0..OF_ONE_KEY {
        let body = format!("dead {n}");
        let job = if has_key {
            client.keyed(body, "key")
        } else {
            client.job(body)
        };
        ids.push(client.store(job).await);
        client.bury(&client.take_one().await.lease).await;
    }
    let listed = client.buried(OF_ONE_KEY).await.unwrap_or_default();
    let listed: Vec<_> = listed.iter().map(|letter| letter.id).collect();
    promise!(listed == ids, "every letter is listed: {ids:?}"; "{listed:?}");

    let which = Selection::Ids(ids[..2].to_vec());
    let moved = inspect.requeue_dead(&client.queue, which).await;
    promise!(matches!(moved, Ok(2)), "two of them are jobs again"; "{moved:?}");
    let first = client.take_one().await;
    if has_key {
        client
            .finds_nothing("the second waits, for they have their key again")
            .await;
    }
    client.ack(&first.lease).await;
    client.ack(&client.take_one().await.lease).await;
    client.is_over(OF_ONE_KEY as u64 - 2).await;
}

pub(crate) async fn deleted_dead_letters_are_gone(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    let ids = bury_some(&client, 3).await;
    let which = || Selection::Ids(vec![ids[1], JobId::new()]);
    for expected in [1, 0] {
        let deleted = inspect.delete_dead(&client.queue, which()).await;
        let is_right = matches!(deleted, Ok(count) if count == expected);
        promise!(is_right, "this delete removes {expected}"; "{deleted:?}");
    }
    let left: Vec<_> = client
        .buried(2)
        .await
        .unwrap_or_default()
        .iter()
        .map(|letter| letter.id)
        .collect();
    promise!(left == [ids[0], ids[2]], "the other two are left"; "{left:?}");
    let deleted = inspect.delete_dead(&client.queue, Selection::All).await;
    promise!(matches!(deleted, Ok(2)), "all of the rest is removed"; "{deleted:?}");
    client
        .finds_nothing("deleted letters do not come back")
        .await;
    client.is_over(0).await;
}

pub(crate) async fn a_purge_leaves_dead_and_running_jobs(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    bury_some(&client, 1).await;
    client.put("running").await;
    let running = client.take_one().await;
    client.put("ready").await;
    client
        .store(NewJob {
            delay: b.lease() * 9,
            ..client.job("scheduled")
        })
        .await;
    client.on("other").put("elsewhere").await;
    let purged = inspect.purge(&client.queue).await;
    if b.can().inspect != InspectCapability::Full && purged.is_err() {
        return a_refused_purge_leaves_everything(&b, &client, &purged).await;
    }
    promise!(matches!(purged, Ok(2)), "the two waiting jobs are removed"; "{purged:?}");
    client
        .counts("one running job and one dead letter", |stats| {
            (stats.ready, stats.scheduled, stats.running, stats.dead) == (0, 0, 1, 1)
        })
        .await;
    client.ack(&running.lease).await;
    client
        .finds_nothing("what was purged does not come back")
        .await;
    client.on("other").take_one().await;
}

/// Where jobs that are not due cannot be reached, a purge says so instead of leaving them there.
async fn a_refused_purge_leaves_everything(
    b: &Bench<'_>,
    client: &Client,
    purged: &Result<u64, Error>,
) {
    promise!(
        matches!(purged, Err(Error::Unsupported { .. })),
        "the two waiting jobs are removed, or the purge is refused by name";
        "{purged:?}"
    );
    client.holds("that nothing was removed", [1, 1, 1, 1]).await;
    let other = client.on("other");
    let purged = match other.inspect() {
        Some(inspect) => inspect.purge(&other.queue).await,
        None => Ok(0),
    };
    promise!(matches!(purged, Ok(1)), "without scheduled jobs it removes those that wait"; "{purged:?}");
    other
        .finds_nothing("what was purged does not come back")
        .await;
    b.client().on("other").is_over(0).await;
}

pub(crate) async fn every_state_can_be_looked_at(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let inspect = inspected!(b, client);
    let is_full = b.can().inspect == InspectCapability::Full;
    client.put("first").await;
    let job = client.take_one().await;
    client
        .end(
            &job.lease,
            Verdict::Retry {
                delay: b.lease() * 9,
                error: "busy".into(),
            },
        )
        .await;
    let running = client.put("running").await;
    client.take_one().await;
    let ready = [client.put("ready 1").await, client.put("ready 2").await];
    client
        .holds("2 ready, 1 scheduled, 1 running", [2, 1, 1, 0])
        .await;
    client
        .counts("how long the oldest ready job waits", |stats| {
            stats.oldest_ready.is_some() || !is_full
        })
        .await;
    let queues = inspect.queues().await;
    promise!(
        matches!(&queues, Ok(queues) if *queues == [client.queue.clone()]),
        "the one queue that has held a job is listed";
        "{queues:?}"
    );
    if !is_full {
        let refused = inspect
            .peek(&client.queue, JobState::Ready, PageRequest::first(9))
            .await;
        promise!(
            matches!(refused, Err(Error::Unsupported { .. })),
            "waiting jobs cannot be listed, says the capability";
            "{refused:?}"
        );
        return;
    }
    let states = [
        (JobState::Ready, ready.to_vec(), 0),
        (JobState::Scheduled, vec![job.lease.id], 1),
        (JobState::Running, vec![running], 1),
    ];
    for (state, ids, attempts) in states {
        let infos = peeked(inspect, &client, state).await;
        promise!(
            infos.iter().map(|info| info.id).collect::<Vec<_>>() == ids
                && infos.iter().all(|info| info.state == state && info.attempts == attempts),
            "the {state} jobs are {ids:?}, each with {attempts} attempts";
            "{infos:?}"
        );
    }
    let retried = peeked(inspect, &client, JobState::Scheduled)
        .await
        .remove(0);
    promise!(
        retried.last_error.as_deref() == Some("busy")
            && retried.due_in <= b.lease() * 9
            && retried.due_in >= b.lease() * 8,
        "the retried job tells its last error, and that it is due in about {:?}",
        b.lease() * 9;
        "{retried:?}"
    );
}

async fn peeked(inspect: &dyn Inspect, client: &Client, state: JobState) -> Vec<JobInfo> {
    let page = inspect
        .peek(&client.queue, state, PageRequest::first(9))
        .await;
    page.unwrap_or_else(|error| panic!("peek failed: {error}"))
        .items
}
