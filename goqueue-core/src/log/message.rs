//! What is published and what comes out again.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    marks,
    names::{MessageId, PartitionKey},
};
use crate::error::{Error, Result};

/// A message's metadata: texts by name, in the order of their names.
pub type Metadata = BTreeMap<String, String>;

/// Longest name of a metadata entry in bytes.
pub const MAX_METADATA_NAME: usize = 128;
/// The most bytes that names and values of one message's metadata may have together.
pub const MAX_METADATA: usize = 64 * 1024;

/// A message that is not published yet.
///
/// ```
/// # use goqueue_core::log::NewMessage;
/// let message = NewMessage::new("order-17/paid", r#"{"cents":1200}"#, "order-17")
///     .metadata("content-type", "application/json");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    pub(crate) id: String,
    pub(crate) payload: Bytes,
    pub(crate) partition_key: String,
    pub(crate) metadata: Metadata,
}

impl NewMessage {
    /// A message of `partition_key`'s partition. `id` makes publishing it idempotent: a second
    /// message of the same topic, partition key and id is a duplicate.
    ///
    /// Ids and keys are checked when it is published.
    pub fn new(
        id: impl Into<String>,
        payload: impl Into<Bytes>,
        partition_key: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            payload: payload.into(),
            partition_key: partition_key.into(),
            metadata: Metadata::new(),
        }
    }

    /// Adds an entry to the metadata; a repeated name keeps its last value. Names that begin with
    /// `goqueue.` are the log's own and are refused.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// The message, with everything about it checked.
    pub(crate) fn check(self) -> Result<Outgoing> {
        let mut size = 0;
        for (name, value) in &self.metadata {
            if name.starts_with(marks::PREFIX) || !(1..=MAX_METADATA_NAME).contains(&name.len()) {
                return Err(Error::Invalid {
                    what: "metadata name",
                    given: name.clone(),
                    allowed: "1 to 128 bytes that do not begin with `goqueue.`",
                });
            }
            size += name.len() + value.len();
        }
        if size > MAX_METADATA {
            return Err(Error::Invalid {
                what: "metadata of message",
                given: format!("{} ({size} bytes)", self.id),
                allowed: "65536 bytes of names and values together",
            });
        }
        Ok(Outgoing {
            id: MessageId::new(self.id)?,
            partition: PartitionKey::new(self.partition_key)?,
            payload: self.payload,
            metadata: self.metadata,
        })
    }
}

/// A checked message on its way into the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its identity.
    pub id: MessageId,
    /// The partition it goes to.
    pub partition: PartitionKey,
    /// What to store and hand back unchanged.
    pub payload: Bytes,
    /// What to store beside it.
    pub metadata: Metadata,
}

impl Outgoing {
    /// What it counts for against [`max_bytes`](super::LogCapabilities::max_bytes).
    #[must_use]
    pub fn size(&self) -> usize {
        let metadata: usize = self.metadata.iter().map(|(n, v)| n.len() + v.len()).sum();
        self.payload.len() + metadata + self.id.as_str().len() + self.partition.as_str().len()
    }
}

/// What became of one published message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is stored.
    Stored {
        /// Its place in its partition, from 1.
        offset: u64,
    },
    /// Nothing was stored: the partition holds a message of this id already.
    Duplicate {
        /// The place of the one that is there.
        offset: u64,
    },
}

impl Published {
    /// The place of the message, whoever stored it.
    #[must_use]
    pub fn offset(self) -> u64 {
        match self {
            Self::Stored { offset } | Self::Duplicate { offset } => offset,
        }
    }

    /// Whether it was there already.
    #[must_use]
    pub fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate { .. })
    }
}

/// A message as the log holds it. Cheap to clone apart from its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its identity within its topic and partition.
    pub id: MessageId,
    /// Its partition.
    pub partition: PartitionKey,
    /// Its place in the partition, from 1. There may be gaps.
    pub offset: u64,
    /// What was published.
    pub payload: Bytes,
    /// What was published beside it, and the log's own entries.
    pub metadata: Metadata,
    /// When it was published, in milliseconds since the Unix epoch by the backend's clock.
    pub published_at: u64,
}
