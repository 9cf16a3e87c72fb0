//! The names of the log, checked once and cheap to clone.

use std::{fmt, sync::Arc};

use crate::{
    error::{Error, Result},
    job::is_name,
};

/// Longest topic in bytes, the suffix of its dead letters included.
pub const MAX_TOPIC: usize = 128;
/// Longest name of a consumer group or a subscriber in bytes.
pub const MAX_GROUP: usize = 64;
/// Longest partition key in bytes.
pub const MAX_PARTITION_KEY: usize = 256;
/// Longest message id in bytes.
pub const MAX_MESSAGE_ID: usize = 128;
/// Longest id that is ever stored: those of dead letters and of requeued ones name the group too.
pub const MAX_STORED_ID: usize = 255;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $allowed:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Checks a ", $what, ": ", $allowed, ".")]
            ///
            /// # Errors
            /// [`Error::Invalid`] names the value and the rule.
            pub fn new(text: impl AsRef<str>) -> Result<Self> {
                let (text, check) = (text.as_ref(), $check);
                if check(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(Error::Invalid { what: $what, given: text.into(), allowed: $allowed })
                }
            }

            /// Takes a text that was checked before it was stored. For drivers.
            #[must_use]
            pub fn from_stored(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// A topic: one log, in any number of partitions.
    TopicName,
    "topic",
    "1 to 128 ASCII letters, digits, `_`, `-` or `.`",
    |text: &str| is_name(text, MAX_TOPIC, b"_-.")
);

name!(
    /// A consumer group: its subscribers share the messages of a topic out among themselves.
    GroupName,
    "consumer group",
    "1 to 64 ASCII letters, digits, `_`, `-` or `.`",
    |text: &str| is_name(text, MAX_GROUP, b"_-.")
);

name!(
    /// One subscriber of a group, as logs and listings call it.
    SubscriberName,
    "subscriber name",
    "1 to 64 ASCII letters, digits, `_`, `-` or `.`",
    |text: &str| is_name(text, MAX_GROUP, b"_-.")
);

name!(
    /// Which partition of its topic a message belongs to. Messages of one key are kept in order.
    PartitionKey,
    "partition key",
    "1 to 256 bytes without control characters",
    |text: &str| is_plain(text, MAX_PARTITION_KEY)
);

name!(
    /// A message's identity within its topic and partition key.
    MessageId,
    "message id",
    "1 to 128 bytes without control characters",
    |text: &str| is_plain(text, MAX_MESSAGE_ID)
);

fn is_plain(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && !text.chars().any(char::is_control)
}

impl TopicName {
    /// The topic that holds this one's dead letters.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the suffix is empty or the two together are no topic.
    pub fn dead_letters(&self, suffix: &str) -> Result<Self> {
        if suffix.is_empty() {
            return Err(Error::Invalid {
                what: "dead letter topic suffix",
                given: String::new(),
                allowed: "1 or more ASCII letters, digits, `_`, `-` or `.`",
            });
        }
        Self::new(format!("{self}{suffix}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_allowed() {
        assert!(TopicName::new("orders.eu-1").is_ok());
        assert_eq!(
            GroupName::new("a b").unwrap_err().to_string(),
            "invalid consumer group `a b`: 1 to 64 ASCII letters, digits, `_`, `-` or `.`"
        );
        assert!(PartitionKey::new("straße 7").is_ok());
        assert!(PartitionKey::new("").is_err() && PartitionKey::new("a\n").is_err());
        assert!(MessageId::new("x".repeat(128)).is_ok());
        assert!(MessageId::new("x".repeat(129)).is_err());
    }

    #[test]
    fn a_dead_letter_topic_must_be_a_topic() {
        let topic = TopicName::new("orders").unwrap();
        assert_eq!(topic.dead_letters("_dlq").unwrap().as_str(), "orders_dlq");
        assert!(topic.dead_letters("").is_err());
        assert!(topic.dead_letters("/x").is_err());
        let longest = TopicName::new("x".repeat(128)).unwrap();
        assert!(longest.dead_letters("_").is_err());
    }
}
