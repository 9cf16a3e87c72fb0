use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{JobId, QueueName};
use crate::retry::RetryPolicy;

/// The version this program writes. Every version up to it is read.
pub const ENVELOPE_VERSION: u32 = 1;

/// The header that links a job's trace to its enqueuer's, as W3C Trace Context names it.
pub const TRACEPARENT: &str = "traceparent";

/// Text that travels with a job beside its payload.
pub type Headers = BTreeMap<String, String>;

/// What is stored for a job: JSON, versioned, readable by any language.
///
/// Durations are whole milliseconds, times are milliseconds since the Unix epoch. The payload is
/// embedded as JSON, never as an encoded string. A reader ignores fields it does not know; a driver
/// moves the stored bytes and never re-encodes them, so such fields also survive a retry or a dead
/// letter.
///
/// ```
/// # use goqueue_core::{Envelope, JobId, QueueName};
/// let payload = serde_json::value::to_raw_value(&serde_json::json!({ "user_id": 1 }))?;
/// let envelope = Envelope::new(JobId::new(), "mail.welcome", QueueName::new("mail")?, payload);
/// assert_eq!(Envelope::decode(&envelope.encode())?.payload.get(), r#"{"user_id":1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Envelope {
    /// Format version.
    pub v: u32,
    /// The job's identity.
    pub id: JobId,
    /// The job type's name.
    pub name: String,
    /// The queue it was enqueued to.
    pub queue: QueueName,
    /// The job itself, as the enqueuer encoded it.
    pub payload: Box<RawValue>,
    /// Text beside the payload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: Headers,
    /// When it was enqueued, by the producer's clock, in milliseconds since the Unix epoch.
    pub enqueued_at: u64,
    /// How many times it may run in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Its retry schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// How long one run may take.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::retry::millis_opt"
    )]
    pub timeout: Option<Duration>,
    /// Jobs with this key run one at a time, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering_key: Option<String>,
    /// One live job per key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<String>,
    /// Holds the unique key for this long from the enqueueing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::retry::millis_opt"
    )]
    pub unique_for: Option<Duration>,
}

impl Envelope {
    /// An envelope with nothing but the required fields, enqueued now.
    #[must_use]
    pub fn new(
        id: JobId,
        name: impl Into<String>,
        queue: QueueName,
        payload: Box<RawValue>,
    ) -> Self {
        Self {
            v: ENVELOPE_VERSION,
            id,
            name: name.into(),
            queue,
            payload,
            headers: Headers::new(),
            enqueued_at: unix_millis(),
            max_attempts: None,
            retry: None,
            timeout: None,
            ordering_key: None,
            unique_key: None,
            unique_for: None,
        }
    }

    /// The bytes to store.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut bytes = Vec::with_capacity(256 + self.payload.get().len());
        #[expect(
            clippy::expect_used,
            reason = "no field can fail: text, numbers, encoded JSON"
        )]
        serde_json::to_writer(&mut bytes, self).expect("an envelope always encodes");
        // Cut to size: it stays this large for as long as the job is stored in memory.
        bytes.into_boxed_slice().into()
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// When they are no envelope, or one of a version this program does not know. The message says
    /// what is wrong and where.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let envelope = match serde_json::from_slice::<Self>(bytes) {
            Ok(envelope) => envelope,
            // A version of another shape is told apart from damage.
            Err(error) => {
                return Err(match version_in(bytes) {
                    Some(v) if v > ENVELOPE_VERSION => EnvelopeError::Version(v),
                    _ => error.into(),
                });
            }
        };
        if !(1..=ENVELOPE_VERSION).contains(&envelope.v) {
            return Err(EnvelopeError::Version(envelope.v));
        }
        Ok(envelope)
    }
}

/// Why stored bytes are no envelope.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// They are not the expected JSON.
    #[error("not a job envelope: {0}")]
    Json(#[from] serde_json::Error),
    /// A newer program wrote them.
    #[error("job envelope of version {0}, this program reads 1 to {ENVELOPE_VERSION}")]
    Version(u32),
}

fn version_in(bytes: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    serde_json::from_slice::<Versioned>(bytes)
        .ok()
        .map(|versioned| versioned.v)
}

/// A best-effort label for bytes that may be no envelope: the job's name where it can be read.
pub(crate) fn name_in(bytes: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    serde_json::from_slice::<Named<'_>>(bytes)
        .ok()
        .map(|named| named.name)
}

fn unix_millis() -> u64 {
    crate::telemetry::unix_millis(std::time::SystemTime::now())
}
