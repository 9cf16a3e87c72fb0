//! What a stale token is worth: nothing.

use std::time::Duration;

use goqueue_core::{
    JobId,
    driver::{Lease, LeaseOutcome, Reserved, Settlement, Verdict},
};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Client, dead, retry},
};

pub(crate) async fn a_stale_ack_changes_nothing(h: &dyn Harness) {
    stale(h, Verdict::Ack).await;
}

pub(crate) async fn a_stale_retry_changes_nothing(h: &dyn Harness) {
    stale(h, retry(Duration::ZERO)).await;
}

pub(crate) async fn a_stale_release_changes_nothing(h: &dyn Harness) {
    stale(
        h,
        Verdict::Release {
            delay: Duration::ZERO,
        },
    )
    .await;
}

pub(crate) async fn a_stale_burial_changes_nothing(h: &dyn Harness) {
    stale(h, dead()).await;
}

pub(crate) async fn a_stale_extension_changes_nothing(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (old, new) = (b.client(), b.another().await);
    let (stale, held) = overtaken(&b, &old, &new).await;
    let outcome = old.extend(&stale.lease, b.lease() * 10).await;
    is_lost(&b, outcome, "an extension");
    b.elapse(b.lease()).await;
    let third = old.take_one().await;
    promise!(
        third.attempt == 3,
        "the holder's lease ends when it would have ended anyway";
        "{third:?}"
    );
    is_lost(&b, new.settle(&held.lease, Verdict::Ack).await, "an ack");
    old.ack(&third.lease).await;
    old.is_over(0).await;
}

pub(crate) async fn a_stale_lease_beside_the_present_one_is_lost(h: &dyn Harness) {
    use LeaseOutcome::{Done, Lost};

    let b = Bench::new(h).await;
    let client = b.client();
    let (stale, held) = overtaken(&b, &client, &client).await;
    let leases = vec![stale.lease.clone(), held.lease.clone()];
    let extended = client.driver.extend(leases, b.lease()).await;
    promise!(
        matches!(extended.as_deref(), Ok([Lost, Done])) || !b.can().stale_settle,
        "an old and the present lease of a job, extended in one call, are [Lost, Done]";
        "{extended:?}"
    );
    let ends = [stale.lease, held.lease].map(|lease| Settlement {
        lease,
        verdict: Verdict::Ack,
    });
    let settled = client.driver.settle(ends.into()).await;
    promise!(
        matches!(settled.as_deref(), Ok([Lost, Done])) || !b.can().stale_settle,
        "an old and the present lease of a job, acked in one call, are [Lost, Done]";
        "{settled:?}"
    );
    client.is_over(0).await;
}

async fn stale(h: &dyn Harness, verdict: Verdict) {
    let b = Bench::new(h).await;
    let (old, new) = (b.client(), b.another().await);
    let (stale, held) = overtaken(&b, &old, &new).await;
    let what = format!("{verdict:?}");
    let outcome = old.settle(&stale.lease, verdict).await;
    is_lost(&b, outcome, &what);

    old.finds_nothing(&format!(
        "after a stale {what} the job is still held by the other"
    ))
    .await;
    new.counts("one running job and nothing else", |stats| {
        (stats.ready, stats.scheduled, stats.running, stats.dead) == (0, 0, 1, 0)
    })
    .await;
    let outcome = new.extend(&held.lease, b.lease()).await;
    promise!(
        outcome == LeaseOutcome::Done,
        "after a stale {what} the holder can extend its lease";
        "{outcome:?}"
    );
    new.ack(&held.lease).await;
    new.is_over(0).await;
}

/// A job that `old` held until its lease was over, and that `new` holds now.
async fn overtaken(b: &Bench<'_>, old: &Client, new: &Client) -> (Reserved, Reserved) {
    old.put("job").await;
    let stale = old.take_one().await;
    b.elapse(b.lease()).await;
    let held = new.take_one().await;
    (stale, held)
}

fn is_lost(b: &Bench<'_>, outcome: LeaseOutcome, what: &str) {
    promise!(
        outcome == LeaseOutcome::Lost || !b.can().stale_settle,
        "{what} under a lease that another holds now answers Lost";
        "{outcome:?}"
    );
}

pub(crate) async fn a_settled_lease_is_lost(h: &dyn Harness) {
    let b = Bench::new(h).await;
    if !b.can().stale_settle {
        return stale_settlements_may_pass(&b).await;
    }
    let client = b.client();
    let later = b.lease() * 20;
    let endings = [
        Verdict::Ack,
        retry(later),
        Verdict::Release { delay: later },
        dead(),
    ];
    for ending in endings {
        client.put("job").await;
        let job = client.take_one().await;
        client.end(&job.lease, ending.clone()).await;
        for again in [Verdict::Ack, retry(Duration::ZERO), dead()] {
            let told = format!("{again:?} after {ending:?}");
            is_lost(&b, client.settle(&job.lease, again).await, &told);
        }
        is_lost(
            &b,
            client.extend(&job.lease, b.lease()).await,
            "an extension",
        );
        client
            .finds_nothing(&format!("{ending:?} was the end of the delivery"))
            .await;
    }
    client
        .holds("two waiting jobs and one dead letter", [0, 2, 0, 1])
        .await;
}

pub(crate) async fn a_made_up_lease_is_lost(h: &dyn Harness) {
    let b = Bench::new(h).await;
    if !b.can().stale_settle {
        return stale_settlements_may_pass(&b).await;
    }
    let client = b.client();
    client.put("one").await;
    client.put("two").await;
    let jobs = client.take(2).await;
    let swapped = Lease {
        token: jobs[1].lease.token.clone(),
        ..jobs[0].lease.clone()
    };
    let unknown = Lease {
        id: JobId::new(),
        ..jobs[0].lease.clone()
    };
    for lease in [&swapped, &unknown] {
        for verdict in [Verdict::Ack, retry(Duration::ZERO), dead()] {
            let told = format!("{verdict:?} under {lease:?}, which nobody was given,");
            is_lost(&b, client.settle(lease, verdict).await, &told);
        }
        is_lost(&b, client.extend(lease, b.lease()).await, "an extension");
    }
    client.finds_nothing("both jobs are still held").await;
    client.ack(&jobs[0].lease).await;
    client.ack(&jobs[1].lease).await;
    client.is_over(0).await;
}

/// Where an old handle may be taken, it still must not bring a job back.
async fn stale_settlements_may_pass(b: &Bench<'_>) {
    let client = b.client();
    client.put("job").await;
    let job = client.take_one().await;
    client.ack(&job.lease).await;
    let _ = client.settle(&job.lease, retry(Duration::ZERO)).await;
    client.finds_nothing("the job is done").await;
}
