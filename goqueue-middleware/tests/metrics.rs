//! The figures, as a Prometheus exporter shows them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::time::Duration;

use common::{Act, SECOND, Seen, memory, serve};
use goqueue_core::{JobId, Queue, QueueName, Worker, driver::NewJob};
use goqueue_middleware::{MetricsHook, Sampler, metrics::describe, with_metrics};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

fn recorder() -> (&'static PrometheusRecorder, PrometheusHandle) {
    let builder = PrometheusBuilder::new();
    let recorder = builder.set_buckets(&[0.5, 2.0, 10.0]).unwrap();
    // It has to outlive its guard, and a test is short.
    let recorder = Box::leak(Box::new(recorder.build_recorder()));
    (recorder, recorder.handle())
}

/// The samples of a metric, `labels value` each, sorted.
fn samples(handle: &PrometheusHandle, name: &str) -> Vec<String> {
    let text = handle.render();
    let mine = text.lines().filter_map(|line| line.strip_prefix(name));
    let mut samples: Vec<_> = mine
        .filter(|rest| rest.starts_with(['{', ' ']))
        .map(|rest| rest.trim().to_owned())
        .collect();
    samples.sort();
    samples
}

const LABELS: &str = r#"queue="default",name="act""#;

#[tokio::test(start_paused = true)]
async fn runs_are_counted_by_their_outcome_and_timed() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let queue = memory();
    let jobs = [
        Act::Sleep(1),
        Act::Succeed,
        Act::Fail,
        Act::Permanent,
        Act::Discard,
        Act::Snooze,
        Act::PanicLater,
    ];
    queue.enqueue_all(jobs).max_attempts(2).await.unwrap();
    // What is no job at all reaches no layer, and counts all the same.
    let body = "garbage";
    let name = QueueName::new("default").unwrap();
    queue
        .driver()
        .push(vec![new_job(name, body)])
        .await
        .unwrap();
    serve(&queue, 600, with_metrics).await;

    let finished = samples(&handle, "goqueue_jobs_finished_total");
    let by = |outcome: &str, count: u32| format!(r#"{{{LABELS},outcome="{outcome}"}} {count}"#);
    assert_eq!(
        finished,
        [
            by("dead", 3),
            by("discarded", 1),
            by("retried", 2),
            by("snoozed", 1),
            by("succeeded", 3),
            r#"{queue="default",name="unknown",outcome="dead"} 1"#.into(),
        ]
    );
    let runs = format!("{{{LABELS}}} 10");
    assert_eq!(
        samples(&handle, "goqueue_jobs_started_total"),
        std::slice::from_ref(&runs)
    );
    let in_flight = samples(&handle, "goqueue_jobs_in_flight");
    assert_eq!(in_flight, [format!("{{{LABELS}}} 0")]);
    let timed = samples(&handle, "goqueue_job_duration_seconds_count");
    assert_eq!(timed[0], runs);
    // One slept for a second, and two runs for a second before they panicked.
    let quick = samples(&handle, "goqueue_job_duration_seconds_bucket");
    assert!(
        quick.contains(&format!(r#"{{{LABELS},le="0.5"}} 7"#)),
        "{quick:?}"
    );
    assert!(
        quick.contains(&format!(r#"{{{LABELS},le="2"}} 10"#)),
        "{quick:?}"
    );
    let attempts = samples(&handle, "goqueue_job_attempts_sum");
    // Five ended after one delivery and two after two.
    assert_eq!(attempts[0], format!("{{{LABELS}}} 9"));
    let waits = samples(&handle, "goqueue_job_wait_seconds_count");
    assert_eq!(waits[0], runs);
}

#[tokio::test(start_paused = true)]
async fn names_that_nobody_knows_are_one() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let queue = memory();
    for number in 0..50 {
        let stray = queue.enqueue_raw(format!("report-{number}"), "null");
        stray.max_attempts(1).await.unwrap();
    }
    let seen = serve(&queue, 60, with_metrics).await;
    assert_eq!(seen.count("dead"), 50);
    let unknown = r#"queue="default",name="unknown""#;
    assert_eq!(
        samples(&handle, "goqueue_jobs_started_total"),
        [format!("{{{unknown}}} 50")]
    );
    assert_eq!(
        samples(&handle, "goqueue_jobs_finished_total"),
        [format!(r#"{{{unknown},outcome="dead"}} 50"#)]
    );
    assert_eq!(samples(&handle, "goqueue_jobs_in_flight").len(), 1);
}

fn new_job(queue: QueueName, body: &'static str) -> NewJob {
    NewJob {
        id: JobId::new(),
        queue,
        body: body.as_bytes().into(),
        delay: Duration::ZERO,
        ordering_key: None,
        unique: None,
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_under_way_are_counted_while_they_are() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let queue = memory();
    let jobs = [Act::Hang, Act::Hang, Act::Sleep(5)];
    queue.enqueue_all(jobs).timeout(20 * SECOND).await.unwrap();
    let serving = {
        let queue = queue.clone();
        tokio::spawn(async move { serve(&queue, 25, with_metrics).await })
    };
    let count = |running: u32| vec![format!("{{{LABELS}}} {running}")];
    for (seconds, running) in [(1, 3), (5, 2)] {
        tokio::time::sleep(seconds * SECOND).await;
        assert_eq!(samples(&handle, "goqueue_jobs_in_flight"), count(running));
    }
    serving.await.unwrap();
    assert_eq!(samples(&handle, "goqueue_jobs_in_flight"), count(0));
}

#[tokio::test(start_paused = true)]
async fn what_is_enqueued_is_counted_by_its_answer() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let queue = memory().with_hook(MetricsHook::new());
    queue.enqueue_all([Act::Succeed, Act::Fail]).await.unwrap();
    for _ in 0..3 {
        let only = queue.enqueue(Act::Succeed).unique_key("only").queue("mail");
        only.await.unwrap();
    }
    queue.close().await.unwrap();
    queue.enqueue(Act::Succeed).await.unwrap_err();

    let mail = r#"queue="mail",name="act""#;
    assert_eq!(
        samples(&handle, "goqueue_jobs_enqueued_total"),
        [format!("{{{LABELS}}} 2"), format!("{{{mail}}} 1")]
    );
    let duplicates = samples(&handle, "goqueue_jobs_duplicate_total");
    assert_eq!(duplicates, [format!("{{{mail}}} 2")]);
    let errors = samples(&handle, "goqueue_enqueue_errors_total");
    assert_eq!(errors, [format!("{{{LABELS}}} 1")]);
}

#[tokio::test(start_paused = true)]
async fn queues_are_sampled() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let queue = memory();
    fill(&queue).await;
    tokio::time::advance(30 * SECOND).await;
    Sampler::new(&queue).sample().await.unwrap();
    let in_state = |queue: &str, state: &str, jobs: u32| {
        format!(r#"{{queue="{queue}",state="{state}"}} {jobs}"#)
    };
    assert_eq!(
        samples(&handle, "goqueue_queue_depth"),
        [
            in_state("default", "dead", 1),
            in_state("default", "ready", 2),
            in_state("default", "running", 0),
            in_state("default", "scheduled", 0),
            in_state("mail", "dead", 0),
            in_state("mail", "ready", 0),
            in_state("mail", "running", 0),
            in_state("mail", "scheduled", 3),
        ]
    );
    let [waiting, none] = samples(&handle, "goqueue_queue_oldest_age_seconds")
        .try_into()
        .unwrap();
    assert!(waiting.starts_with(r#"{queue="default"} 3"#), "{waiting}");
    assert_eq!(none, r#"{queue="mail"} 0"#);
}

/// Leaves one job dead, two ready and three scheduled.
async fn fill(queue: &Queue) {
    queue.enqueue(Act::Permanent).await.unwrap();
    serve(queue, 1, |worker| worker).await;
    let ready = queue.enqueue_all([Act::Succeed, Act::Succeed]);
    ready.await.unwrap();
    let later = queue.enqueue_all([Act::Succeed, Act::Succeed, Act::Succeed]);
    later.queue("mail").delay(3600 * SECOND).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_sampler_runs_on_when_the_backend_fails() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    describe();
    let queue = memory();
    let mail = QueueName::new("mail").unwrap();
    let sampler = Sampler::new(&queue).queues([mail]).every(10 * SECOND);
    let sampling = tokio::spawn(sampler.run());
    tokio::time::sleep(15 * SECOND).await;
    assert_eq!(samples(&handle, "goqueue_queue_depth").len(), 4);
    assert!(samples(&handle, "goqueue_queue_sample_errors_total").is_empty());
    queue.close().await.unwrap();
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!(samples(&handle, "goqueue_queue_sample_errors_total"), ["2"]);
    let help = "# HELP goqueue_queue_depth Jobs that a queue holds, by state";
    assert!(handle.render().contains(help));
    sampling.abort();
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_sampled() {
    let (recorder, handle) = recorder();
    let _guard = metrics::set_default_local_recorder(recorder);
    let queue = memory();
    queue.enqueue_all(vec![Act::Hang; 4]).await.unwrap();
    let builder = Worker::builder(&queue).only_registered().register::<Act>();
    let worker = builder.state(Seen::new()).concurrency(2).build().unwrap();
    let sampler = Sampler::new(&queue).worker(worker.handle());
    let working = tokio::spawn(worker.run());
    tokio::time::sleep(60 * SECOND).await;
    sampler.sample().await.unwrap();
    let [saturation] = samples(&handle, "goqueue_worker_saturation")
        .try_into()
        .unwrap();
    assert!(saturation.starts_with("0.99"), "{saturation}");
    // Both slots were filled from a backlog, and nothing was settled yet.
    assert_eq!(samples(&handle, "goqueue_worker_reserve_seconds").len(), 1);
    assert!(samples(&handle, "goqueue_worker_settle_seconds").is_empty());
    working.abort();
}
