use goqueue_core::telemetry::metric;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Tells the recorder what each metric means and its unit, for exporters that pass that on. Called
/// once, after the recorder is installed.
pub fn describe() {
    describe_counter!(metric::ENQUEUED, "Jobs stored");
    describe_counter!(
        metric::DUPLICATES,
        "Jobs not stored because their unique key was taken"
    );
    describe_counter!(metric::ENQUEUE_ERRORS, "Jobs that the backend did not take");
    describe_counter!(metric::STARTED, "Runs started");
    describe_counter!(metric::FINISHED, "Runs ended, by outcome");
    describe_histogram!(metric::DURATION, Unit::Seconds, "How long a run took");
    describe_histogram!(
        metric::WAIT,
        Unit::Seconds,
        "From the enqueueing of a job to the start of its run"
    );
    describe_histogram!(
        metric::ATTEMPTS,
        "How many deliveries a job took to its end"
    );
    describe_gauge!(metric::IN_FLIGHT, "Jobs running");
    describe_gauge!(metric::DEPTH, "Jobs that a queue holds, by state");
    describe_gauge!(
        metric::OLDEST_AGE,
        Unit::Seconds,
        "How long the longest-waiting ready job has been due"
    );
    describe_counter!(metric::SAMPLE_ERRORS, "Samplings of the queues that failed");
    describe_gauge!(
        metric::SATURATION,
        "Share of the time in which the worker could not have done more, 0 to 1"
    );
    describe_gauge!(
        metric::RESERVE_LATENCY,
        Unit::Seconds,
        "How long the backend takes to hand out jobs, a moving average"
    );
    describe_gauge!(
        metric::SETTLE_LATENCY,
        Unit::Seconds,
        "How long the backend takes to write down how runs ended, a moving average"
    );
    describe_log();
}

fn describe_log() {
    describe_counter!(metric::LOG_MESSAGES, "What became of messages of the log");
    describe_gauge!(
        metric::LOG_LAG,
        "Offsets between what a group has acked and the head of a partition"
    );
    describe_gauge!(
        metric::LOG_AGE,
        Unit::Seconds,
        "How long ago the first message that a group has not acked was published"
    );
    describe_histogram!(
        metric::LOG_STORE_DURATION,
        Unit::Seconds,
        "How long a call of a store of the log took"
    );
}
