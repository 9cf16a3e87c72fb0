use goqueue_core::{
    log::{LogObserver, PartitionEvent, PartitionFigures, StoreCall},
    telemetry::metric::{
        EVENT_LABEL, GROUP_LABEL, LOG_AGE, LOG_LAG, LOG_MESSAGES, LOG_STORE_DURATION,
        OPERATION_LABEL, OUTCOME_LABEL, PARTITION_LABEL, STORE_LABEL, TOPIC_LABEL,
    },
};
use metrics::{counter, gauge, histogram};

/// Counts what a log does, for [`Log::with_observer`](goqueue_core::log::Log::with_observer).
///
/// Partition keys are labels, so a topic of very many keys makes very many series:
/// [`without_partitions`](LogMetrics::without_partitions) leaves them out.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LogMetrics {
    without_partitions: bool,
}

impl LogMetrics {
    /// The observer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves the partition out: messages are counted by topic and group, and neither lag nor age is
    /// told, as they mean nothing without it.
    #[must_use]
    pub fn without_partitions(mut self) -> Self {
        self.without_partitions = true;
        self
    }
}

impl LogObserver for LogMetrics {
    fn store_call(&self, call: &StoreCall) {
        let labels = [
            (STORE_LABEL, call.store.as_str()),
            (OPERATION_LABEL, call.operation),
            (OUTCOME_LABEL, if call.is_ok { "ok" } else { "error" }),
        ];
        histogram!(LOG_STORE_DURATION, &labels).record(call.elapsed);
    }

    fn happened(&self, event: &PartitionEvent<'_>) {
        let group = event.group.map(|group| group.as_str()).unwrap_or_default();
        let mut labels = vec![
            (TOPIC_LABEL, event.topic.as_str().to_owned()),
            (GROUP_LABEL, group.to_owned()),
            (EVENT_LABEL, event.kind.as_str().to_owned()),
        ];
        if !self.without_partitions {
            labels.push((PARTITION_LABEL, event.partition.as_str().to_owned()));
        }
        counter!(LOG_MESSAGES, &labels).increment(event.count);
    }

    fn stands(&self, figures: &PartitionFigures<'_>) {
        if self.without_partitions {
            return;
        }
        let labels = [
            (TOPIC_LABEL, figures.topic.as_str().to_owned()),
            (GROUP_LABEL, figures.group.as_str().to_owned()),
            (PARTITION_LABEL, figures.partition.as_str().to_owned()),
        ];
        gauge!(LOG_LAG, &labels).set(figures.lag as f64);
        gauge!(LOG_AGE, &labels).set(figures.age);
    }
}
