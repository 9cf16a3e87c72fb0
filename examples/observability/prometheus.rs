//! Figures for Prometheus: what is enqueued, how runs end, how queues and worker stand.
//!
//! ```text
//! cargo run -p goqueue-examples-observability --example prometheus
//! curl http://127.0.0.1:9898/metrics
//! curl http://127.0.0.1:9898/health
//! ```
//!
//! `-- --port N` listens on another port, 0 on any that is free. The dashboard for Grafana is in
//! `examples/observability/grafana/goqueue.json`.

use std::{net::Ipv4Addr, process::ExitCode, time::Duration};

use goqueue::{
    middleware::{MetricsHook, Sampler, default_stack, metrics},
    prelude::*,
    worker::{HealthStatus, WorkerHandle},
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{interval, sleep, timeout},
};

/// Seconds, from a quick handler to a queue that is far behind.
const SECONDS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0,
];
const ATTEMPTS: [f64; 6] = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0];

/// Takes a while; now and then it fails, for good or not.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "image.resize",
    queue = "images",
    max_attempts = 3,
    initial_delay = "200ms"
)]
struct Resize {
    number: u64,
}

impl Handler for Resize {
    async fn handle(self, cx: JobContext) -> JobResult {
        sleep(Duration::from_millis(10 + self.number * 7 % 90)).await;
        match self.number % 20 {
            3 | 9 if cx.attempt() == 1 => Err("the disk is full".into()),
            13 => Err(JobError::permanent("this is no image")),
            16 => Err(JobError::discard("the album was deleted")),
            18 if cx.enqueued_at().elapsed()? < Duration::from_millis(300) => {
                Err(JobError::snooze(Duration::from_millis(300)))
            }
            _ => Ok(()),
        }
    }
}

/// At most one of these waits at a time.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "report.build", queue = "reports", unique_key = "\"daily\"")]
struct BuildReport;

impl Handler for BuildReport {
    async fn handle(self, _cx: JobContext) -> JobResult {
        sleep(Duration::from_millis(400)).await;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let given: Vec<_> = std::env::args().skip(1).collect();
    let port = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(9898),
        ["--port", port] => port.parse().map_err(|_| port),
        [first, ..] => Err(first),
    };
    let port = match port {
        Ok(port) => port,
        Err(given) => {
            eprintln!("error: invalid argument `{given}`: allowed is `--port` and 0 to 65535");
            return ExitCode::from(2);
        }
    };
    match serve(port).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(port: u16) -> Result<(), goqueue::BoxError> {
    // Before anything is measured.
    let figures = PrometheusBuilder::new()
        .set_buckets(&SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_attempts".into()), &ATTEMPTS)?
        .install_recorder()?;
    metrics::describe();

    let queue = Queue::connect(&Config::load()?).await?;
    let queue = queue.with_hook(MetricsHook::new());
    // Trace, log, metrics, deadlines and panics.
    let worker = default_stack(Worker::builder(&queue))
        .concurrency(8)
        .build()?;
    let sampler = Sampler::new(&queue)
        .worker(worker.handle())
        .every(Duration::from_millis(500));
    tokio::spawn(sampler.run());

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("Figures at http://{}/metrics", listener.local_addr()?);
    println!("Ctrl-C stops.");
    let endpoint = Endpoint {
        figures,
        queue: queue.clone(),
        worker: worker.handle(),
    };
    tokio::spawn(endpoint.listen(listener));
    tokio::spawn(enqueue_for_ever(queue));

    worker.run_until(goqueue::shutdown_signal()).await?;
    Ok(())
}

/// Twenty images a second, and a report whenever none is waiting.
async fn enqueue_for_ever(queue: Queue) {
    let mut number = 0;
    let mut ticks = interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        let images = (number..number + 20).map(|number| Resize { number });
        number += 20;
        for _ in 0..2 {
            if let Err(error) = queue.enqueue(BuildReport).await {
                eprintln!("{error}");
            }
        }
        if let Err(error) = queue.enqueue_all(images).await {
            eprintln!("{error}");
        }
    }
}

/// Just enough of HTTP for a scraper and a load balancer. A service that has a web framework adds
/// two routes to it instead.
#[derive(Clone)]
struct Endpoint {
    figures: PrometheusHandle,
    queue: Queue,
    worker: WorkerHandle,
}

impl Endpoint {
    async fn listen(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let endpoint = self.clone();
            tokio::spawn(async move {
                // Nobody is left to tell when a scraper goes away or sends nothing.
                let _ = timeout(Duration::from_secs(5), endpoint.answer(stream)).await;
            });
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < 16_384 {
            match stream.read(&mut buffer).await? {
                0 => break,
                read => request.extend_from_slice(&buffer[..read]),
            }
        }
        let (status, body) = if request.starts_with(b"GET /metrics ") {
            // The exporter keeps raw samples until then.
            self.figures.run_upkeep();
            ("200 OK", self.figures.render())
        } else if request.starts_with(b"GET /health ") {
            self.health().await
        } else {
            ("404 Not Found", "there are /metrics and /health\n".into())
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    }

    /// For readiness, not for liveness: a restart brings no backend back.
    async fn health(&self) -> (&'static str, String) {
        let backend = self.queue.health().await;
        let worker = self.worker.health();
        let stats = self.worker.stats();
        let is_ready = backend.is_healthy() && worker.status == HealthStatus::Healthy;
        let status = if is_ready {
            "200 OK"
        } else {
            "503 Service Unavailable"
        };
        let body = format!(
            "backend: {} in {:?}\nworker: {:?} for {:?}\nsaturation: {:.2}, overloaded: {}\n",
            backend.driver,
            backend.latency,
            worker.status,
            worker.since,
            stats.saturation,
            stats.is_overloaded(),
        );
        (status, body)
    }
}
