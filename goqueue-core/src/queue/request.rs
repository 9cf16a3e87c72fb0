//! From what the caller asked for to what the driver is handed.

use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;

use super::{EnqueuedJob, IncomingJob, Queue};
use crate::{
    driver::{NewJob, UniqueCapability, UniqueKey},
    error::{Error, Result},
    job::{
        Envelope, Headers, Job, JobId, JobOptions, QueueName, check_header, check_job_name,
        check_key, check_whole_millis,
    },
};

/// A job before any call was made about it.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) queue: &'static str,
    pub(super) payload: Result<Box<RawValue>, serde_json::Error>,
    pub(super) options: JobOptions,
}

impl Draft {
    pub(super) fn of<J: Job>(job: J) -> Self {
        let (payload, options) = (serde_json::value::to_raw_value(&job), job.options());
        drop(job);
        Self {
            name: J::NAME.into(),
            queue: J::QUEUE,
            payload,
            options,
        }
    }
}

/// What one call says on top of the job type.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    pub(super) queue: Option<String>,
    pub(super) due: Due,
    pub(super) headers: Headers,
    pub(super) options: JobOptions,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Due {
    #[default]
    Now,
    In(Duration),
    At(SystemTime),
}

impl Due {
    /// The delay from now; a time that has passed is now.
    fn delay(self) -> Duration {
        match self {
            Due::Now => Duration::ZERO,
            Due::In(delay) => delay,
            Due::At(time) => time.duration_since(SystemTime::now()).unwrap_or_default(),
        }
    }
}

/// A job as the driver is handed it, and what the hooks are shown of it later.
pub(super) struct Prepared {
    pub(super) job: NewJob,
    pub(super) noted: Option<EnqueuedJob>,
}

/// Shows the job to the hooks, checks everything that can be checked without the backend, and
/// encodes once.
pub(super) fn prepare(queue: &Queue, draft: Draft, over: &Overrides) -> Result<Prepared> {
    check_job_name(&draft.name)?;
    let to = QueueName::new(over.queue.as_deref().unwrap_or(draft.queue))?;
    let payload = match draft.payload {
        Ok(payload) => payload,
        Err(source) => {
            return Err(Error::Encode {
                name: draft.name,
                source,
            });
        }
    };
    let mut job = IncomingJob {
        id: JobId::new(),
        driver: queue.capabilities().driver,
        name: draft.name,
        queue: to,
        delay: over.due.delay(),
        headers: over.headers.clone(),
        options: draft.options.overridden_by(over.options.clone()),
        payload,
    };
    queue.hooks().before(&mut job)?;
    for name in job.headers.keys() {
        check_header(name)?;
    }
    check_options(queue, &job.options, job.delay)?;
    encode(queue, job)
}

fn encode(queue: &Queue, job: IncomingJob) -> Result<Prepared> {
    let options = job.options;
    let unique = options.unique_key.clone().map(|key| UniqueKey {
        key,
        hold: options.unique_for.unwrap_or_default(),
    });
    let ordering_key = options.ordering_key.clone();

    let mut envelope = Envelope::new(job.id, job.name, job.queue.clone(), job.payload);
    envelope.headers = job.headers;
    envelope.max_attempts = options.max_attempts;
    envelope.retry = options.retry;
    envelope.timeout = options.timeout;
    envelope.ordering_key = options.ordering_key;
    envelope.unique_key = options.unique_key;
    envelope.unique_for = options.unique_for;

    let body = envelope.encode();
    let can = queue.capabilities();
    if body.len() > can.max_payload {
        return Err(Error::PayloadTooLarge {
            name: envelope.name,
            driver: can.driver,
            size: body.len(),
            limit: can.max_payload,
        });
    }
    let noted = queue.hooks().note(job.id, &envelope.name, &job.queue);
    let job = NewJob {
        id: job.id,
        queue: job.queue,
        body,
        delay: job.delay,
        ordering_key,
        unique,
    };
    Ok(Prepared { job, noted })
}

fn check_options(queue: &Queue, options: &JobOptions, delay: Duration) -> Result<()> {
    let can = queue.capabilities();
    if let Some(key) = &options.ordering_key {
        check_key("ordering key", key)?;
        if !can.ordering {
            return Err(queue.unsupported("ordering_key"));
        }
    }
    if let Some(key) = &options.unique_key {
        check_key("unique key", key)?;
    }
    match (can.unique, options.unique_key.is_some(), options.unique_for) {
        (_, false, None) => {}
        (_, false, Some(hold)) => {
            return Err(Error::InvalidSetting {
                setting: "unique_for",
                given: format!("{hold:?} without a unique key"),
                allowed: "a `unique_key` beside it",
            });
        }
        (UniqueCapability::None, true, _) => return Err(queue.unsupported("unique_key")),
        (UniqueCapability::Window(longest), true, Some(hold)) if hold > longest => {
            return Err(queue.unsupported("unique_for beyond its deduplication window"));
        }
        (UniqueCapability::Exact | UniqueCapability::Window(_), true, _) => {}
    }
    if options.max_attempts == Some(0) {
        return Err(Error::InvalidSetting {
            setting: "max_attempts",
            given: "0".into(),
            allowed: "1 or more (it counts the first run)",
        });
    }
    check_whole_millis("timeout", options.timeout)?;
    check_whole_millis("unique_for", options.unique_for)?;
    match can.delay.max {
        Some(limit) if delay > limit => Err(Error::DelayTooLong {
            driver: can.driver,
            delay,
            limit,
        }),
        _ => Ok(()),
    }
}
