//! What talks to the backend, on one that is not this process: headers, snoozes and counts.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::time::{Duration, SystemTime};

use common::{Act, SECOND, Seen};
use goqueue_core::{Config, JobId, Queue, QueueName, Worker};
use goqueue_middleware::{ExpireExt as _, MetricsHook, RateLimitLayer, Sampler, default_stack};
use goqueue_redis::RedisDriver;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::time::{sleep, timeout};

async fn redis() -> Queue {
    let url = std::env::var("GOQUEUE_TEST_REDIS_URL").expect(
        "GOQUEUE_TEST_REDIS_URL is not set: `cargo xtask test` starts the server and sets it",
    );
    let prefix = JobId::new();
    let config = format!("driver = \"{url}\"\n[redis]\nprefix = \"test-{prefix}\"");
    let config = Config::from_toml(&config).unwrap();
    Queue::new(RedisDriver::connect(&config).await.unwrap())
}

#[tokio::test]
async fn layers_hooks_and_sampler_work_over_redis() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let figures = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let queue = redis().await.with_hook(MetricsHook::new());
    // One attempt each: whatever spent one would leave a dead job.
    let jobs = queue.enqueue_all([(); 5].map(|()| Act::Succeed));
    jobs.max_attempts(1).await.unwrap();
    let expired = queue.enqueue(Act::Succeed);
    let expired = expired.expires_at(SystemTime::now() - SECOND);
    expired.await.unwrap();
    let dead = queue.enqueue(Act::Permanent).queue("other");
    dead.await.unwrap();
    let later = queue
        .enqueue(Act::Succeed)
        .queue("other")
        .delay(3600 * SECOND);
    later.await.unwrap();

    let seen = Seen::new();
    let builder = Worker::builder(&queue).only_registered().register::<Act>();
    let worker = default_stack(builder.queue("default", 1).queue("other", 1))
        .layer(RateLimitLayer::new(2, Duration::from_millis(300)))
        .state(seen.clone())
        .build()
        .unwrap();
    let handle = worker.handle();
    let running = tokio::spawn(worker.run());
    let all_ended = async {
        while handle.stats().succeeded + handle.stats().dead + handle.stats().discarded < 7 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = timeout(30 * SECOND, all_ended).await;
    let stats = handle.stats();
    assert!(ended.is_ok(), "{stats:?}");
    assert_eq!((stats.succeeded, stats.dead, stats.discarded), (5, 1, 1));
    assert!(stats.snoozed >= 3 && stats.retried == 0, "{stats:?}");
    assert_eq!(seen.attempts(), [1; 6]);
    assert!(stats.settle_latency.is_some());

    Sampler::new(&queue)
        .worker(handle.clone())
        .sample()
        .await
        .unwrap();
    let text = figures.render();
    for sample in [
        r#"goqueue_jobs_enqueued_total{queue="default",name="act"} 6"#,
        r#"goqueue_jobs_finished_total{queue="other",name="act",outcome="dead"} 1"#,
        r#"goqueue_queue_depth{queue="default",state="ready"} 0"#,
        r#"goqueue_queue_depth{queue="other",state="dead"} 1"#,
        r#"goqueue_queue_depth{queue="other",state="scheduled"} 1"#,
        r#"goqueue_queue_oldest_age_seconds{queue="other"} 0"#,
    ] {
        assert!(text.lines().any(|line| line == sample), "{sample}\n{text}");
    }
    let health = queue.health().await;
    assert!(
        health.is_healthy() && health.driver == "redis",
        "{health:?}"
    );

    handle.shutdown();
    running.await.unwrap().unwrap();
    for name in ["default", "other"] {
        let name = QueueName::new(name).unwrap();
        let inspect = queue.inspect().unwrap();
        inspect.purge(&name).await.unwrap();
    }
}
