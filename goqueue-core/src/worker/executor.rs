use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout};
use tower::Service;

use super::{
    CANCEL_GRACE,
    burial::{Burial, bury},
    running::{RunningJob, StopReason},
    settler::{Settled, finish},
    shared::Shared,
    slots::Slot,
    verdict::{Decision, decide},
};
use crate::{
    context::JobContext,
    dead_letter::DeadReason,
    driver::{Reserved, Verdict},
    job::{Envelope, JobError, JobErrorKind, JobResult},
    middleware::JobRequest,
    telemetry::{JobMetrics, JobOutcome},
};

/// Runs one job and hands its end over. `_slot` is free again once that is done.
pub(super) async fn run(
    shared: Arc<Shared>,
    running: Arc<RunningJob>,
    reserved: Reserved,
    _slot: Slot,
) {
    let _forget = ForgetOnPanic {
        shared: &shared,
        running: Arc::clone(&running),
    };
    let started = Instant::now();
    let (decision, context) = match Envelope::decode(&reserved.body) {
        Ok(envelope) => {
            let (decision, context) = run_decoded(&shared, &running, envelope).await;
            (decision, Some(context))
        }
        Err(error) => (
            Some(Decision::dead(DeadReason::Undecodable, error.to_string())),
            None,
        ),
    };
    // An aborted worker answers for nothing: the lease has to run out.
    let Some(mut decision) = decision else { return };
    let metrics = (!shared.on_complete.is_empty())
        .then(|| metrics(&running, context.as_ref(), &decision, started.elapsed()));
    if decision.outcome == JobOutcome::LeaseLost {
        finish(
            &shared,
            Settled {
                running,
                decision,
                metrics,
            },
        );
        return;
    }
    if let Verdict::Dead { reason, error } = &decision.verdict {
        match bury(&shared, &running, &reserved, *reason, error).await {
            Burial::ByDriver => {}
            Burial::Done => decision.verdict = Verdict::Ack,
            Burial::Interrupted => decision = Decision::released(),
        }
    }
    shared
        .settlements
        .send(Settled {
            running,
            decision,
            metrics,
        })
        .await;
}

/// A handler is caught when it panics, but not when dropping it does. Then nobody settles the job
/// any more, and it must not be kept: its lease runs out, and it runs again.
struct ForgetOnPanic<'a> {
    shared: &'a Shared,
    running: Arc<RunningJob>,
}

impl Drop for ForgetOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.running.remove(&self.running);
        }
    }
}

/// No decision when the worker was aborted.
async fn run_decoded(
    shared: &Shared,
    running: &Arc<RunningJob>,
    envelope: Envelope,
) -> (Option<Decision>, JobContext) {
    let (policy, max_attempts) = shared
        .settings
        .retry_of(envelope.retry, envelope.max_attempts);
    let limit = envelope.timeout.or(shared.settings.timeout);
    let has_handler = shared.has_handler(&envelope.name);
    let context = JobContext::new(
        envelope,
        max_attempts,
        has_handler,
        Arc::clone(running),
        Arc::clone(&shared.state),
        shared.queue.clone(),
    );
    let attempt = running.attempt();
    if attempt > max_attempts {
        let error = format!(
            "the worker was lost: {} of {max_attempts} attempts were started and never answered",
            attempt - 1
        );
        return (Some(Decision::dead(DeadReason::WorkerLost, error)), context);
    }
    let decision = match call(shared, &context, running, limit).await {
        Ending::Aborted => None,
        Ending::Cancelled => Some(stopped(running, None)),
        Ending::Answered(answer) => Some(match running.stop_reason() {
            Some(StopReason::LeaseLost) => stopped(running, answer.err()),
            Some(StopReason::Shutdown) if is_failure(&answer) => stopped(running, answer.err()),
            Some(StopReason::Shutdown) | None => {
                note(&context, &answer);
                decide(&answer, context.id(), attempt, max_attempts, &policy)
            }
        }),
    };
    (decision, context)
}

/// How one call of the handler ended.
enum Ending {
    Answered(JobResult),
    /// It was told to stop and did not in time.
    Cancelled,
    Aborted,
}

/// Runs the stack with everything around it that must not reach the worker.
async fn call(
    shared: &Shared,
    context: &JobContext,
    running: &RunningJob,
    limit: Option<Duration>,
) -> Ending {
    let mut service = shared.service.clone();
    let request = JobRequest::new(context.clone());
    // Inside the block, so that a handler that panics before its first await is caught as well.
    let handler = async move { service.call(request).await };
    let guarded = AssertUnwindSafe(handler).catch_unwind();
    let limited = async move {
        match limit {
            None => answer_of(guarded.await),
            Some(limit) => match timeout(limit, guarded).await {
                Ok(ended) => answer_of(ended),
                Err(_) => Err(JobError::from(format!("timed out after {limit:?}"))),
            },
        }
    };
    let overdue = async {
        running.token().cancelled().await;
        sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        answer = limited => Ending::Answered(answer),
        () = overdue => Ending::Cancelled,
        () = shared.abort.cancelled() => Ending::Aborted,
    }
}

fn answer_of(ended: Result<Result<(), crate::error::BoxError>, Box<dyn Any + Send>>) -> JobResult {
    match ended {
        Ok(answer) => answer.map_err(JobError::from),
        Err(panic) => Err(JobError::from(format!(
            "panicked: {}",
            panic_message(&*panic)
        ))),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "(the panic carried no text)"
    }
}

/// An ordinary failure. Of a job that was told to stop it most likely reports just that.
fn is_failure(answer: &JobResult) -> bool {
    answer
        .as_ref()
        .is_err_and(|error| matches!(error.kind(), JobErrorKind::Retry | JobErrorKind::RetryIn(_)))
}

/// What becomes of a job that was told to stop and did not finish.
fn stopped(running: &RunningJob, error: Option<JobError>) -> Decision {
    let mut decision = Decision::released();
    decision.error = error.map(|error| error.message().into());
    if running.stop_reason() == Some(StopReason::LeaseLost) {
        decision.outcome = JobOutcome::LeaseLost;
    }
    decision
}

/// The answers that a person may look for later.
fn note(context: &JobContext, answer: &JobResult) {
    let Err(error) = answer else { return };
    let (job, name, attempt) = (context.id(), context.name(), context.attempt());
    match error.kind() {
        JobErrorKind::Discard => {
            tracing::info!(%job, name, attempt, reason = %error, "job discarded by its handler");
        }
        JobErrorKind::Snooze(delay) => tracing::debug!(%job, name, ?delay, "job snoozed"),
        _ => tracing::debug!(%job, name, attempt, %error, "job failed"),
    }
}

fn metrics(
    running: &RunningJob,
    context: Option<&JobContext>,
    decision: &Decision,
    duration: Duration,
) -> JobMetrics {
    let waited = context
        .and_then(|context| SystemTime::now().duration_since(context.enqueued_at()).ok())
        .unwrap_or_default();
    JobMetrics {
        id: running.lease().id,
        name: context.map(|context| context.name().to_owned()),
        has_handler: context.is_some_and(JobContext::has_handler),
        queue: running.lease().queue.clone(),
        attempt: running.attempt(),
        outcome: decision.outcome,
        duration,
        wait: waited.saturating_sub(duration),
        error: decision.error.clone(),
    }
}
