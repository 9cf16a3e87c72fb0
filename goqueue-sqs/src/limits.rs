//! Every limit of the service, in one place. Source: the page "Amazon SQS message quotas" of its
//! developer guide, and the API reference of `SendMessage` and `ChangeMessageVisibility`.

use std::time::Duration;

use crate::attributes::Attributes;

/// Messages in one batch call, and messages that one receive brings at most.
pub const MAX_BATCH: usize = 10;
/// Bytes of one message, and of all messages of one batch call together: bodies and attributes.
pub const MAX_MESSAGE: usize = 1024 * 1024;
/// Attributes of one message.
pub const MAX_ATTRIBUTES: usize = 10;
/// Bytes kept free beside the largest job, for the attributes of a dead letter.
pub const RESERVED: usize = 8 * 1024;
/// The longest `DelaySeconds`.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(15 * 60);
/// The longest that a message stays hidden, counted from its receive.
pub(crate) const MAX_VISIBILITY: Duration = Duration::from_secs(12 * 3600);
/// The shortest that a setting may make of it.
pub(crate) const MIN_VISIBILITY: Duration = Duration::from_secs(2);
/// The longest `WaitTimeSeconds`.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(20);
/// How long a deduplication id is remembered.
pub(crate) const DEDUPLICATION: Duration = Duration::from_secs(5 * 60);
/// How long a queue may keep a message.
pub(crate) const RETENTION: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(14 * 24 * 3600);

/// Whole seconds, rounded up: SQS knows no shorter time, and never early is the rule.
pub(crate) fn seconds(duration: Duration) -> i32 {
    let part = u64::from(duration.subsec_nanos() > 0);
    let whole = duration.as_secs().saturating_add(part);
    i32::try_from(whole).unwrap_or(i32::MAX)
}

/// How long a message can be hidden at once, of the `most` that is allowed from its receive: a second
/// less, for the time until the service hears of it.
pub(crate) fn longest_hide(most: Duration) -> Duration {
    most.saturating_sub(Duration::from_secs(1))
}

/// Whole milliseconds, rounded up, as far as they can be counted.
pub(crate) fn millis(duration: Duration) -> u64 {
    let whole =
        duration.as_millis() + u128::from(!duration.subsec_nanos().is_multiple_of(1_000_000));
    // Far enough below the end that adding a time to it stays possible.
    u64::try_from(whole).unwrap_or(u64::MAX).min(u64::MAX / 4)
}

/// What a message counts: its body, and of each attribute the name, the type and the value.
pub(crate) fn size(body: &str, attributes: &Attributes) -> usize {
    body.len()
        + attributes
            .iter()
            .map(|(name, value)| attribute_size(name, value))
            .sum::<usize>()
}

pub(crate) fn attribute_size(
    name: &str,
    value: &aws_sdk_sqs::types::MessageAttributeValue,
) -> usize {
    let text = value.string_value().map_or(0, str::len);
    let bytes = value.binary_value().map_or(0, |blob| blob.as_ref().len());
    name.len() + value.data_type().len() + text + bytes
}

/// Whether SQS carries this character in a body or an attribute (those of XML 1.0).
pub(crate) fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
    )
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::{primitives::Blob, types::MessageAttributeValue};

    use super::*;

    #[test]
    fn times_are_rounded_up_and_never_overflow() {
        let ms = Duration::from_millis;
        assert_eq!(
            [0, 1, 999, 1_000, 1_001].map(|n| seconds(ms(n))),
            [0, 1, 1, 1, 2]
        );
        assert_eq!(seconds(Duration::MAX), i32::MAX);
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert!(
            millis(Duration::MAX)
                .checked_add(millis(Duration::MAX))
                .is_some()
        );
    }

    #[test]
    fn a_message_counts_names_types_and_values() {
        let text = MessageAttributeValue::builder()
            .data_type("String")
            .string_value("abc");
        let bytes = MessageAttributeValue::builder()
            .data_type("Binary")
            .binary_value(Blob::new([0; 4]));
        let attributes = vec![
            ("one".to_owned(), text.build().unwrap()),
            ("four".to_owned(), bytes.build().unwrap()),
        ];
        assert_eq!(size("body", &attributes), 4 + (3 + 6 + 3) + (4 + 6 + 4));
    }

    #[test]
    fn the_characters_are_those_of_the_service() {
        assert!(
            ['\t', '\n', '\r', ' ', 'é', '\u{fffd}', '🦀']
                .into_iter()
                .all(is_allowed)
        );
        assert!(
            !['\0', '\u{b}', '\u{1f}', '\u{fffe}', '\u{ffff}']
                .into_iter()
                .any(is_allowed)
        );
    }
}
