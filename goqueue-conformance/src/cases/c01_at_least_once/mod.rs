//! After `enqueue` returns `Ok`, the job runs to success, or reaches the dead letters, or is
//! discarded by an explicit setting. Nothing else may happen to it.

mod crashes;
mod lost_replies;
mod storing;
mod waiting;

use crate::{check::promise, harness::Harness, tools::Bench};

pub(crate) use crashes::*;
pub(crate) use lost_replies::*;
pub(crate) use storing::*;
pub(crate) use waiting::*;

pub(crate) async fn random_histories_match_the_model(h: &dyn Harness) {
    crate::model::property::check(h).await;
}

fn runs_with_attempts(b: &Bench<'_>, tag: &str, attempts: &[u32]) {
    promise!(
        b.records.attempts(tag) == attempts,
        "`{tag}` runs with attempts {attempts:?}";
        "the runs were:{}",
        b.records.told()
    );
}
