//! What a valid lease is worth.

use std::{collections::HashMap, time::Duration};

use goqueue_core::driver::{LeaseOutcome, Settlement, Verdict};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, dead, retry},
};

pub(crate) async fn a_held_job_is_given_to_nobody_else(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (holder, other) = (b.client(), b.another().await);
    let id = holder.put("job").await;
    holder.take_one().await;
    other.finds_nothing("the job is held").await;
    b.elapse(b.lease() * 3 / 4).await;
    other
        .finds_nothing("three quarters into its lease the job is held")
        .await;
    b.elapse(b.lease() / 4).await;
    let job = other.take_one().await;
    promise!(
        job.lease.id == id && job.attempt == 2,
        "when the lease is over the job goes to the next one, as attempt 2";
        "{job:?}"
    );
}

pub(crate) async fn an_extended_lease_holds(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (holder, other) = (b.client(), b.another().await);
    holder.put("job").await;
    let job = holder.take_one().await;
    for _ in 0..3 {
        b.elapse(b.lease() * 3 / 4).await;
        let outcome = holder.extend(&job.lease, b.lease()).await;
        promise!(outcome == LeaseOutcome::Done, "a valid lease is extended"; "{outcome:?}");
        other.finds_nothing("its lease was extended").await;
    }
    b.elapse(b.lease() * 3 / 4).await;
    other
        .finds_nothing("the last extension was a whole lease")
        .await;
    b.elapse(b.lease() / 4).await;
    let again = other.take_one().await;
    promise!(again.attempt == 2, "an extension is no delivery"; "{again:?}");
}

pub(crate) async fn an_extension_counts_from_now(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (holder, other) = (b.client(), b.another().await);
    holder.put("job").await;
    let job = holder.take_one().await;
    holder.extend(&job.lease, b.lease() * 20).await;
    holder.extend(&job.lease, b.lease()).await;
    b.elapse(b.lease()).await;
    let again = other.take_one().await;
    promise!(
        again.attempt == 2,
        "the last extension moved the end of the lease to one lease from then";
        "{again:?}"
    );
}

pub(crate) async fn an_expired_lease_that_nobody_took_is_answered_truthfully(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    client.put("job").await;
    let job = client.take_one().await;
    b.elapse(b.lease() + b.timing.tolerance).await;
    match client.settle(&job.lease, Verdict::Ack).await {
        LeaseOutcome::Done => client.is_over(0).await,
        LeaseOutcome::Lost => {
            let again = client.take_one().await;
            client.ack(&again.lease).await;
            client.is_over(0).await;
        }
    }
}

pub(crate) async fn a_batch_is_answered_lease_by_lease(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    for name in ["stale", "acked", "retried", "released", "buried"] {
        client.put(name).await;
    }
    let mut leases = HashMap::new();
    for job in client.take(5).await {
        leases.insert(String::from_utf8_lossy(&job.body).into_owned(), job.lease);
    }
    client.ack(&leases["stale"]).await;
    let settlement = |name: &str, verdict: Verdict| Settlement {
        lease: leases[name].clone(),
        verdict,
    };
    let later = b.lease() * 20;
    let outcomes = client
        .driver
        .settle(vec![
            settlement("acked", Verdict::Ack),
            settlement("stale", retry(Duration::ZERO)),
            settlement("retried", retry(later)),
            settlement("released", Verdict::Release { delay: later }),
            settlement("buried", dead()),
        ])
        .await;
    use LeaseOutcome::{Done, Lost};
    let is_right = match &outcomes {
        Ok(outcomes) if b.can().stale_settle => *outcomes == [Done, Lost, Done, Done, Done],
        Ok(outcomes) => outcomes.len() == 5 && outcomes.iter().filter(|o| **o == Done).count() >= 4,
        Err(_) => false,
    };
    promise!(
        is_right,
        "a mixed batch answers [Done, Lost, Done, Done, Done], in its order";
        "{outcomes:?}"
    );
    client
        .holds("two waiting jobs and one dead letter", [0, 2, 0, 1])
        .await;

    let no_answers = client.driver.settle(Vec::new()).await;
    promise!(
        matches!(&no_answers, Ok(answers) if answers.is_empty()),
        "an empty batch has no answers";
        "{no_answers:?}"
    );
}
