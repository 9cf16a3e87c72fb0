//! The examples about figures and traces, run as a reader would run them.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

#[allow(dead_code, reason = "shared with the other examples' tests")]
#[path = "../../tests/run/process.rs"]
mod process;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use goqueue::telemetry::metric;
use nix::sys::signal::Signal;
use process::{PATIENCE, example, run, signal, wait_for};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{sleep, timeout},
};

/// Every metric of the exporter that a healthy service has, with its type.
const EXPECTED: [(&str, &str); 13] = [
    (metric::ENQUEUED, "counter"),
    (metric::DUPLICATES, "counter"),
    (metric::STARTED, "counter"),
    (metric::FINISHED, "counter"),
    (metric::DURATION, "histogram"),
    (metric::WAIT, "histogram"),
    (metric::ATTEMPTS, "histogram"),
    (metric::IN_FLIGHT, "gauge"),
    (metric::DEPTH, "gauge"),
    (metric::OLDEST_AGE, "gauge"),
    (metric::SATURATION, "gauge"),
    (metric::RESERVE_LATENCY, "gauge"),
    (metric::SETTLE_LATENCY, "gauge"),
];

/// Those that are there only when something failed.
const OF_FAILURES: [&str; 2] = [metric::ENQUEUE_ERRORS, metric::SAMPLE_ERRORS];

async fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().into(), body.into())
}

/// The types of a scrape's metrics, each with its samples.
fn parse(scrape: &str) -> BTreeMap<&str, (&str, Vec<&str>)> {
    let types = scrape.lines().filter_map(|line| {
        let (name, of_type) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        let is_mine = |line: &&str| {
            let rest = line.strip_prefix(name).unwrap_or("no");
            ["{", " ", "_bucket{", "_sum{", "_count{"]
                .iter()
                .any(|next| rest.starts_with(next))
        };
        Some((name, (of_type, scrape.lines().filter(is_mine).collect())))
    });
    types.collect()
}

#[tokio::test]
async fn prometheus_shows_every_figure_by_its_name() {
    let mut child = example("prometheus").args(["--port", "0"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = wait_for(&mut lines, "Figures at").await;
    let url = line.split("http://").nth(1).unwrap();
    let address = url.strip_suffix("/metrics").unwrap();

    // A snooze and a death take their time to happen.
    let has_all = |scrape: &str| {
        let seen = parse(scrape);
        let outcomes = ["succeeded", "retried", "snoozed", "discarded", "dead"];
        EXPECTED.iter().all(|(name, _)| seen.contains_key(name))
            && outcomes
                .iter()
                .all(|o| scrape.contains(&format!("outcome=\"{o}\"")))
    };
    let mut scrape = String::new();
    let complete = async {
        while !has_all(&scrape) {
            sleep(Duration::from_millis(200)).await;
            scrape = get(address, "/metrics").await.1;
        }
    };
    let is_complete = timeout(PATIENCE, complete).await.is_ok();
    let seen = parse(&scrape);
    for (name, of_type) in EXPECTED {
        let (seen_type, samples) = seen
            .get(name)
            .unwrap_or_else(|| panic!("no {name}:\n{scrape}"));
        assert_eq!(*seen_type, of_type, "{name}");
        assert!(!samples.is_empty(), "{name} has no samples:\n{scrape}");
        assert!(scrape.contains(&format!("# HELP {name} ")), "{name}");
    }
    assert!(is_complete, "an outcome is missing:\n{scrape}");
    for name in OF_FAILURES {
        assert!(!seen.contains_key(name), "{name}:\n{scrape}");
    }
    for sample in [
        r#"goqueue_jobs_enqueued_total{queue="images",name="image.resize"} "#,
        r#"goqueue_jobs_duplicate_total{queue="reports",name="report.build"} "#,
        r#"goqueue_jobs_finished_total{queue="images",name="image.resize",outcome="dead"} "#,
        r#"goqueue_job_duration_seconds_bucket{queue="images",name="image.resize",le="0.1"} "#,
        r#"goqueue_job_attempts_bucket{queue="images",name="image.resize",le="2"} "#,
        r#"goqueue_queue_depth{queue="images",state="dead"} "#,
        r#"goqueue_queue_oldest_age_seconds{queue="reports"} "#,
    ] {
        assert!(scrape.contains(sample), "{sample}\n{scrape}");
    }

    let (status, health) = get(address, "/health").await;
    assert_eq!(status, "HTTP/1.1 200 OK", "{health}");
    assert!(health.starts_with("backend: memory in "), "{health}");
    assert!(health.contains("worker: Healthy for "), "{health}");
    assert_eq!(get(address, "/").await.0, "HTTP/1.1 404 Not Found");

    signal(&child, Signal::SIGTERM);
    let ended = timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test]
async fn prometheus_refuses_what_it_does_not_know() {
    for arguments in [["--port", "many"], ["--port", "65536"]] {
        let (code, _, error) = run(example("prometheus").args(arguments)).await;
        assert_eq!(code, Some(2));
        let given = arguments[1];
        let expected =
            format!("error: invalid argument `{given}`: allowed is `--port` and 0 to 65535\n");
        assert_eq!(error, expected);
    }
}

/// The words of a text that are names of goqueue's metrics, without what an exporter appends.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mine = words.filter(|word| word.starts_with("goqueue_"));
    let base = |word: &str| {
        let suffix = ["_bucket", "_sum", "_count"]
            .into_iter()
            .find_map(|suffix| word.strip_suffix(suffix));
        suffix.unwrap_or(word).to_owned()
    };
    mine.map(base).collect()
}

#[test]
fn the_dashboard_shows_all_metrics_and_no_others() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("grafana/goqueue.json");
    let text = std::fs::read_to_string(path).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let expressions = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{}", panel["title"]);
        targets
            .iter()
            .map(|target| target["expr"].as_str().unwrap())
    });
    let shown = metrics_in(&expressions.collect::<Vec<_>>().join("\n"));
    let named = EXPECTED.iter().map(|(name, _)| *name).chain(OF_FAILURES);
    let named: BTreeSet<_> = named.map(str::to_owned).collect();
    assert_eq!(shown, named);
}

/// A printed span.
#[derive(Debug)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    kind: String,
    name: String,
}

fn spans(said: &str) -> Vec<Span> {
    let rows = said.lines().skip(1);
    rows.map(|row| {
        let mut words = row.split_whitespace();
        let mut next = || words.next().unwrap().to_owned();
        let (trace, id, parent, kind) = (next(), next(), next(), next());
        let name = words.collect::<Vec<_>>().join(" ");
        Span {
            trace,
            id,
            parent,
            kind,
            name,
        }
    })
    .collect()
}

fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let mut found = spans.iter().filter(|span| span.name.starts_with(name));
    match (found.next(), found.next()) {
        (Some(span), None) => span,
        _ => panic!("not exactly one `{name}`: {spans:#?}"),
    }
}

#[tokio::test]
async fn opentelemetry_exports_one_trace_from_the_request_to_both_runs() {
    let (code, said, error) = run(&mut example("opentelemetry")).await;
    assert_eq!(code, Some(0), "{error}");
    let spans = spans(&said);
    let request = only(&spans, "POST /users");
    let sent = only(&spans, "enqueue mail");
    assert_eq!(
        (request.parent.as_str(), sent.kind.as_str()),
        ("-", "producer")
    );
    assert_eq!(sent.parent, request.id);
    let runs: Vec<_> = spans
        .iter()
        .filter(|span| span.name.starts_with("process mail"))
        .collect();
    assert_eq!(runs.len(), 2, "{said}");
    for run in &runs {
        assert_eq!(
            (run.parent.as_str(), run.kind.as_str()),
            (sent.id.as_str(), "consumer")
        );
        let inner = spans.iter().filter(|span| span.parent == run.id);
        let names: Vec<_> = inner.map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["smtp.send"]);
    }
    assert!(runs[0].name.ends_with("error: connection reset"), "{said}");
    assert_eq!(runs[1].name, "process mail");
    assert!(
        spans.iter().all(|span| span.trace == request.trace),
        "{said}"
    );
}

#[tokio::test]
async fn opentelemetry_links_the_runs_when_told_to() {
    let (code, said, error) = run(example("opentelemetry").arg("--linked")).await;
    assert_eq!(code, Some(0), "{error}");
    let spans = spans(&said);
    let sent = only(&spans, "enqueue mail");
    let link = format!("process mail link to {} of {}", sent.id, sent.trace);
    let runs: Vec<_> = spans
        .iter()
        .filter(|span| span.name.starts_with("process mail"))
        .collect();
    assert_eq!(runs.len(), 2, "{said}");
    for run in runs {
        assert!(run.name.starts_with(&link), "{said}");
        assert!(run.parent == "-" && run.trace != sent.trace, "{said}");
    }
    let (code, _, error) = run(example("opentelemetry").arg("--both")).await;
    let expected = "error: unknown argument `--both`: allowed is `--linked`\n";
    assert_eq!((code, error.as_str()), (Some(2), expected));
}
