//! Values of arguments: read here, so that a wrong one is a wrong command line.

use std::time::Duration;

use goqueue::{
    Error, JobId, QueueName,
    dead_letter::DeadReason,
    driver::{DriverUrl, JobState},
    log::{GroupName, MAX_STORED_ID, MessageId, PartitionKey, TopicName},
};

/// What is allowed, without what clap says anyway.
fn allowed(error: Error) -> String {
    match error {
        Error::Invalid { allowed, .. } => format!("allowed: {allowed}"),
        error => error.to_string(),
    }
}

pub(super) fn queue_name(text: &str) -> Result<QueueName, String> {
    QueueName::new(text).map_err(allowed)
}

pub(super) fn topic(text: &str) -> Result<TopicName, String> {
    TopicName::new(text).map_err(allowed)
}

pub(super) fn group(text: &str) -> Result<GroupName, String> {
    GroupName::new(text).map_err(allowed)
}

pub(super) fn partition(text: &str) -> Result<PartitionKey, String> {
    PartitionKey::new(text).map_err(allowed)
}

/// One that was stored may be longer than one that is published: that of a dead letter is.
pub(super) fn message_id(text: &str) -> Result<MessageId, String> {
    if (1..=MAX_STORED_ID).contains(&text.len()) && !text.chars().any(char::is_control) {
        return Ok(MessageId::from_stored(text));
    }
    Err(format!(
        "allowed: 1 to {MAX_STORED_ID} bytes without control characters"
    ))
}

pub(super) fn job_id(text: &str) -> Result<JobId, String> {
    text.parse().map_err(allowed)
}

pub(super) fn job_state(text: &str) -> Result<JobState, String> {
    text.parse().map_err(allowed)
}

pub(super) fn reason(text: &str) -> Result<DeadReason, String> {
    text.parse().map_err(allowed)
}

/// Never fails: a wrong URL is refused where it cannot be quoted.
pub(super) fn url(text: &str) -> Result<DriverUrl, String> {
    Ok(DriverUrl::new(text))
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "allowed: a duration with its unit, such as 500ms, 30s, 5m or 2h".into())
}

pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < Duration::from_millis(100) {
        return Err("allowed: 100ms or more".into());
    }
    Ok(interval)
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.into(), value.into())),
        None => Err("allowed: NAME=VALUE".into()),
    }
}
