//! How a subscription behaves.

use std::{fmt, time::Duration};

use super::names::{GroupName, SubscriberName, TopicName};
use crate::{
    error::{Error, Result},
    retry::RetryPolicy,
};

/// What is put behind a topic's name to give that of its dead letters, unless told otherwise.
pub const DEFAULT_SUFFIX: &str = "_dlq";
/// The most messages of one batch.
pub const MAX_BATCH: usize = 10_000;
/// The longest time that any setting of a subscription may be.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// How a subscription behaves. Make one with [`new`](SubscriptionConfig::new) and change what
/// should differ; everything is checked by [`subscribe`](super::Log::subscribe).
///
/// ```
/// # use std::time::Duration;
/// # use goqueue_core::log::SubscriptionConfig;
/// let mut config = SubscriptionConfig::new("worker-1", "billing");
/// config.batch_size = 100;
/// config.retry.max_attempts = 5;
/// config.dead_letters.topic_suffix = ".dead".into();
/// assert!(config.check("orders").is_ok());
/// config.lease_renewal_interval = Duration::from_secs(40);
/// assert_eq!(
///     config.check("orders").unwrap_err().to_string(),
///     "invalid setting `lease_renewal_interval`: got 40s, allowed is 10ms to half of \
///      `lease_duration`",
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubscriptionConfig {
    /// What this subscriber is called in logs and listings. Several may share a name.
    pub subscriber: String,
    /// The consumer group: its subscribers share the partitions out among themselves.
    pub group: String,
    /// How often a partition that had nothing is looked at again. 100 ms.
    pub poll_interval: Duration,
    /// How often partitions are looked for and shared out. 1 s.
    pub partition_discovery_interval: Duration,
    /// How many messages of a partition are taken at once. 10; with 1, no message overtakes another.
    pub batch_size: usize,
    /// How long a message that was delivered and not answered stays invisible. 60 s.
    pub visibility_timeout: Duration,
    /// How often leases are renewed. 10 s.
    pub lease_renewal_interval: Duration,
    /// How long the partitions of a subscriber that vanished stay untouched. 30 s.
    pub lease_duration: Duration,
    /// When a message that failed is delivered again, and how often.
    pub retry: RetryConfig,
    /// What becomes of messages that are given up.
    pub dead_letters: DeadLetterTopicConfig,
    /// Where a group begins that subscribes to the topic for the first time. At the beginning.
    pub start_from: StartFrom,
    /// How long messages are kept whose readers do not come: older ones are removed, unread, and the
    /// log says so. `None`, the default, keeps them until every group has acked them.
    pub retention: Option<Duration>,
}

/// When a message that failed is delivered again, and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryConfig {
    /// Deliveries in all before the message is given up. 3.
    pub max_attempts: u32,
    /// How long a message stays invisible after its first failure. 1 s.
    pub initial_backoff: Duration,
    /// The longest time it does. 30 s.
    pub max_backoff: Duration,
    /// By how much each time is longer than the one before. 2.0.
    pub multiplier: f64,
}

/// What becomes of messages that are given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterTopicConfig {
    /// Whether they are kept. Where they are not, a message that is given up is done with, and the
    /// log says so.
    pub enabled: bool,
    /// What is put behind the topic's name to give the topic that they go to. `_dlq`.
    pub topic_suffix: String,
}

/// Where a group begins that subscribes to a topic for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// With what the log still holds.
    #[default]
    Beginning,
    /// With what is published from then on.
    End,
}

impl SubscriptionConfig {
    /// The defaults, for one subscriber of a consumer group.
    pub fn new(subscriber: impl Into<String>, group: impl Into<String>) -> Self {
        Self {
            subscriber: subscriber.into(),
            group: group.into(),
            poll_interval: Duration::from_millis(100),
            partition_discovery_interval: Duration::from_secs(1),
            batch_size: 10,
            visibility_timeout: Duration::from_secs(60),
            lease_renewal_interval: Duration::from_secs(10),
            lease_duration: Duration::from_secs(30),
            retry: RetryConfig::default(),
            dead_letters: DeadLetterTopicConfig::default(),
            start_from: StartFrom::default(),
            retention: None,
        }
    }

    /// The same subscriber for a topic of dead letters: what fails there is tried on and on instead
    /// of becoming a dead letter of its own.
    #[must_use]
    pub fn for_dead_letters(mut self) -> Self {
        self.dead_letters.enabled = false;
        self.retry.max_attempts = u32::MAX;
        self
    }

    /// Checks every setting, for a topic. [`subscribe`](super::Log::subscribe) does so too.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::InvalidSetting`] name the field, what was given and what is
    /// allowed.
    pub fn check(&self, topic: impl AsRef<str>) -> Result<()> {
        Checked::new(topic.as_ref(), self.clone()).map(|_| ())
    }

    fn check_times(&self) -> Result<()> {
        let times = [
            ("poll_interval", self.poll_interval, 1, "1ms to 365 days"),
            (
                "partition_discovery_interval",
                self.partition_discovery_interval,
                10,
                "10ms to 365 days",
            ),
            (
                "visibility_timeout",
                self.visibility_timeout,
                10,
                "10ms to 365 days",
            ),
            (
                "lease_duration",
                self.lease_duration,
                20,
                "20ms to 365 days",
            ),
        ];
        for (setting, given, least, allowed) in times {
            let is_allowed = (Duration::from_millis(least)..=LONGEST).contains(&given);
            require(is_allowed, setting, given, allowed)?;
        }
        let renewal = self.lease_renewal_interval;
        let is_allowed = (Duration::from_millis(10)..=self.lease_duration / 2).contains(&renewal);
        let allowed = "10ms to half of `lease_duration`";
        require(is_allowed, "lease_renewal_interval", renewal, allowed)?;
        let Some(retention) = self.retention else {
            return Ok(());
        };
        let is_allowed = (Duration::from_secs(1)..=LONGEST * 100).contains(&retention);
        require(
            is_allowed,
            "retention",
            retention,
            "1s to 36500 days, or none",
        )
    }
}

impl RetryConfig {
    fn check(&self) -> Result<()> {
        require(
            self.max_attempts > 0,
            "retry.max_attempts",
            self.max_attempts,
            "1 or more (it counts the first delivery)",
        )?;
        require(
            self.multiplier >= 1.0 && self.multiplier.is_finite(),
            "retry.multiplier",
            self.multiplier,
            "1.0 or more",
        )?;
        require(
            self.max_backoff <= LONGEST,
            "retry.max_backoff",
            self.max_backoff,
            "365 days or less",
        )?;
        require(
            self.initial_backoff <= self.max_backoff,
            "retry.initial_backoff",
            self.initial_backoff,
            "`retry.max_backoff` or less",
        )
    }

    /// How long a message stays invisible after the failure of delivery `attempt`, from 1.
    #[must_use]
    pub fn backoff_after(&self, attempt: u32) -> Duration {
        RetryPolicy::exponential(self.initial_backoff)
            .multiplier(self.multiplier)
            .max_delay(self.max_backoff)
            .planned_after(attempt)
    }
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(30),
            multiplier: 2.0,
        }
    }
}

impl Default for DeadLetterTopicConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            topic_suffix: DEFAULT_SUFFIX.into(),
        }
    }
}

/// A configuration for one topic, with everything checked.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) topic: TopicName,
    pub(crate) group: GroupName,
    pub(crate) subscriber: SubscriberName,
    /// Where messages go that are given up.
    pub(crate) dead_letters: Option<TopicName>,
    pub(crate) config: SubscriptionConfig,
}

impl Checked {
    pub(crate) fn new(topic: &str, config: SubscriptionConfig) -> Result<Self> {
        let topic = TopicName::new(topic)?;
        config.check_times()?;
        config.retry.check()?;
        require(
            (1..=MAX_BATCH).contains(&config.batch_size),
            "batch_size",
            config.batch_size,
            "1 to 10000",
        )?;
        let dead_letters = match &config.dead_letters {
            DeadLetterTopicConfig { enabled: false, .. } => None,
            DeadLetterTopicConfig { topic_suffix, .. } => Some(topic.dead_letters(topic_suffix)?),
        };
        Ok(Self {
            group: GroupName::new(&config.group)?,
            subscriber: SubscriberName::new(&config.subscriber)?,
            topic,
            dead_letters,
            config,
        })
    }
}

fn require(
    is_allowed: bool,
    setting: &'static str,
    given: impl fmt::Debug,
    allowed: &'static str,
) -> Result<()> {
    if is_allowed {
        return Ok(());
    }
    Err(Error::InvalidSetting {
        setting,
        given: format!("{given:?}"),
        allowed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut SubscriptionConfig)) -> String {
        let mut config = SubscriptionConfig::new("worker-1", "billing");
        change(&mut config);
        config.check("orders").unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_those_that_are_documented() {
        let config = SubscriptionConfig::new("worker-1", "billing");
        config.check("orders").unwrap();
        let seconds = Duration::from_secs;
        assert_eq!(config.poll_interval, Duration::from_millis(100));
        assert_eq!(config.partition_discovery_interval, seconds(1));
        assert_eq!(config.batch_size, 10);
        assert_eq!(config.visibility_timeout, seconds(60));
        assert_eq!(config.lease_renewal_interval, seconds(10));
        assert_eq!(config.lease_duration, seconds(30));
        assert_eq!(config.dead_letters.topic_suffix, "_dlq");
        assert!(config.dead_letters.enabled);
        assert_eq!(config.start_from, StartFrom::Beginning);
        assert_eq!(config.retention, None);
        let retry = config.retry;
        let delays: Vec<_> = (1..=7).map(|n| retry.backoff_after(n).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(retry.max_attempts, 3);
    }

    #[test]
    fn every_field_is_checked_by_its_name() {
        let zero = Duration::ZERO;
        for (field, message) in [
            ("poll_interval", refused(|c| c.poll_interval = zero)),
            (
                "partition_discovery_interval",
                refused(|c| c.partition_discovery_interval = zero),
            ),
            ("batch_size", refused(|c| c.batch_size = 0)),
            ("batch_size", refused(|c| c.batch_size = 10_001)),
            (
                "visibility_timeout",
                refused(|c| c.visibility_timeout = zero),
            ),
            ("lease_duration", refused(|c| c.lease_duration = zero)),
            (
                "lease_renewal_interval",
                refused(|c| c.lease_duration = c.lease_renewal_interval),
            ),
            ("retention", refused(|c| c.retention = Some(zero))),
            ("retry.max_attempts", refused(|c| c.retry.max_attempts = 0)),
            ("retry.multiplier", refused(|c| c.retry.multiplier = 0.5)),
            (
                "retry.multiplier",
                refused(|c| c.retry.multiplier = f64::NAN),
            ),
            (
                "retry.max_backoff",
                refused(|c| c.retry.max_backoff = LONGEST * 2),
            ),
            (
                "retry.initial_backoff",
                refused(|c| c.retry.max_backoff = zero),
            ),
        ] {
            assert!(
                message.contains(&format!("`{field}`")),
                "{field}: {message}"
            );
            assert!(
                message.contains("got ") && message.contains("allowed"),
                "{message}"
            );
        }
        assert!(refused(|c| c.group = "a b".into()).contains("consumer group `a b`"));
        assert!(refused(|c| c.subscriber = String::new()).contains("subscriber name"));
        assert!(refused(|c| c.dead_letters.topic_suffix = "/".into()).contains("topic `orders/`"));
        let config = SubscriptionConfig::new("worker-1", "billing");
        assert!(config.check("no topic").is_err());
    }

    #[test]
    fn dead_letters_have_no_dead_letters() {
        let config = SubscriptionConfig::new("worker-1", "billing").for_dead_letters();
        let checked = Checked::new("orders_dlq", config).unwrap();
        assert_eq!(checked.dead_letters, None);
        assert_eq!(checked.config.retry.max_attempts, u32::MAX);
    }
}
