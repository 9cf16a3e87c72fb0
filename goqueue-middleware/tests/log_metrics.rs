//! What a log does, as a Prometheus exporter shows it.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::time::Duration;

use futures_util::StreamExt;
use goqueue_core::log::{Log, NewMessage, SubscriptionConfig};
use goqueue_memory::MemoryLog;
use goqueue_middleware::{LogMetrics, metrics::describe};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

fn recorder() -> (&'static PrometheusRecorder, PrometheusHandle) {
    // It has to outlive its guard, and a test is short.
    let recorder = Box::leak(Box::new(PrometheusBuilder::new().build_recorder()));
    (recorder, recorder.handle())
}

/// The value of a sample: a metric with its labels.
fn value(handle: &PrometheusHandle, sample: &str) -> f64 {
    let text = handle.render();
    let line = text.lines().find_map(|line| line.strip_prefix(sample));
    let line = line.unwrap_or_else(|| panic!("no `{sample}` in\n{text}"));
    line.trim().parse().unwrap()
}

/// Publishes three messages and one twice; then one is acked, one fails and one is left.
async fn work(log: &Log) {
    let message = |id: &str| NewMessage::new(id, "{}", "p");
    let ids = ["a", "b", "c", "a"];
    log.publish("t", ids.map(message)).await.unwrap();
    let mut subscription = log
        .subscribe("t", SubscriptionConfig::new("s", "g"))
        .await
        .unwrap();
    subscription.next().await.unwrap().ack().await.unwrap();
    let failing = subscription.next().await.unwrap();
    failing.nack(Duration::from_secs(600)).await.unwrap();
    let kept = subscription.next().await.unwrap();
    // Partitions are measured now and then.
    tokio::time::sleep(Duration::from_secs(30)).await;
    drop(kept);
    subscription.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_log_is_measured_by_partition_and_store() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    describe();
    work(&Log::new(MemoryLog::new()).with_observer(LogMetrics::new())).await;
    let counted = |group: &str, event: &str| {
        let labels = format!(r#"topic="t",group="{group}",event="{event}",partition="p""#);
        value(&handle, &format!("goqueue_log_messages_total{{{labels}}}"))
    };
    assert_eq!(counted("", "published"), 3.0);
    assert_eq!(counted("", "duplicate"), 1.0);
    assert_eq!(counted("g", "delivered"), 3.0);
    assert_eq!(counted("g", "acked"), 1.0);
    assert_eq!(counted("g", "nacked"), 1.0);
    let here = r#"{topic="t",group="g",partition="p"}"#;
    assert_eq!(value(&handle, &format!("goqueue_log_lag{here}")), 2.0);
    let age = value(&handle, &format!("goqueue_log_age_seconds{here}"));
    assert!((9.0..40.0).contains(&age), "{age}");
    for (store, operation) in [
        ("transaction", "publish"),
        ("transaction", "fetch"),
        ("transaction", "settle"),
        ("offset", "register"),
        ("offset", "partitions"),
        ("partition_lease", "acquire"),
        ("partition_lease", "renew"),
        ("partition_lease", "release"),
        ("subscriber_heartbeat", "beat"),
        ("message", "ages"),
    ] {
        let labels = format!(r#"store="{store}",operation="{operation}",outcome="ok""#);
        let calls = value(
            &handle,
            &format!("goqueue_log_store_seconds_count{{{labels}}}"),
        );
        assert!(calls >= 1.0, "{store} {operation}: {calls}");
    }
    assert!(
        handle.render().contains("# HELP goqueue_log_lag "),
        "{}",
        handle.render()
    );
}

#[tokio::test(start_paused = true)]
async fn partitions_can_be_left_out() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let observer = LogMetrics::new().without_partitions();
    work(&Log::new(MemoryLog::new()).with_observer(observer)).await;
    let delivered = r#"goqueue_log_messages_total{topic="t",group="g",event="delivered"}"#;
    assert_eq!(value(&handle, delivered), 3.0);
    assert!(
        !handle.render().contains("partition=\""),
        "{}",
        handle.render()
    );
}
