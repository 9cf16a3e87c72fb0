//! The Redis driver, beside bare scripts on the same server and beside other queues.

mod bare;

use std::time::Duration;

use goqueue::prelude::*;

use self::bare::Bare;
use crate::{
    backend::{Amount, Backend, Measure, Part, contest, is_in},
    child,
    measures::{self, CONCURRENCY, REST, SHORT_REST},
    peers::{Peers, Question},
    report::{self, Bar, Figure},
    sample::{Failure, Sample, Watch, percentile},
    servers,
};

/// Jobs of a promotion, and of the longer backlog's neighbour.
const DUE: usize = 100_000;

/// A Redis of its own.
pub(crate) struct Redis {
    server: xtask::services::Instance,
    url: String,
    queue: Queue,
    bare: Bare,
    peers: Peers,
}

impl Redis {
    pub(crate) async fn start(with_peers: bool) -> Result<Self, Failure> {
        let peers = if with_peers {
            Peers::build("redis").await?
        } else {
            Peers::none()
        };
        let server = servers::redis().await?;
        let url = server.url();
        Ok(Self {
            queue: Queue::connect_url(&url).await?,
            bare: Bare::connect(&url).await?,
            server,
            url,
            peers,
        })
    }

    pub(crate) async fn stop(self) -> Result<(), Failure> {
        self.queue.driver().close().await?;
        self.server.stop(false).await?;
        Ok(())
    }
}

impl Backend for Redis {
    const PEERS: &[&'static str] = &["apalis", "rsmq"];

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn peers(&self) -> &Peers {
        &self.peers
    }

    async fn empty(&self) -> Result<(), Failure> {
        self.bare.empty().await
    }

    async fn bare(&self, what: Measure, amount: Amount) -> Result<Sample, Failure> {
        let Amount { jobs, payload, .. } = amount;
        match what {
            Measure::Enqueue(callers) => self.bare.enqueue(callers, jobs, payload).await,
            Measure::Bulk => self.bare.bulk(jobs, payload).await,
            Measure::Drain => self.bare.drain().await,
        }
    }
}

/// Everything, or `only` some parts, printed as it is measured.
pub(crate) async fn run(
    amount: Amount,
    with_peers: bool,
    only: &[Part],
) -> Result<Vec<Figure>, Failure> {
    let redis = Redis::start(with_peers).await?;
    let mut figures = Vec::new();
    if is_in(Part::Rates, only) {
        figures.extend(rates(&redis, amount).await?);
    }
    if is_in(Part::Latency, only) {
        figures.extend(latency(&redis, amount).await?);
        figures.push(idle(&redis).await?);
    }
    if is_in(Part::FailOnce, only) {
        figures.push(fail_once(&redis, amount).await?);
    }
    if is_in(Part::Backlog, only) {
        figures.extend(backlog(&redis, amount).await?);
    }
    if is_in(Part::Promotion, only) {
        figures.push(promotion(&redis, amount).await?);
    }
    if is_in(Part::Memory, only) {
        figures.extend(memory(&redis, amount).await?);
    }
    report::summary(&figures);
    redis.stop().await?;
    Ok(figures)
}

/// What is measured in alternating rounds.
pub(crate) async fn rates(redis: &Redis, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let one_by_one = Amount {
        jobs: amount.jobs / 5,
        peer_jobs: amount.peer_jobs / 5,
        ..amount
    };
    Ok(vec![
        contest(
            redis,
            "redis: enqueue, one caller awaiting each",
            Measure::Enqueue(1),
            one_by_one,
            &[Bar::OfLimit(0.8)],
        )
        .await?,
        contest(
            redis,
            "redis: enqueue, 64 callers awaiting each",
            Measure::Enqueue(64),
            amount,
            &[Bar::OfLimit(0.6), Bar::TimesPeer("apalis", 2.0)],
        )
        .await?,
        contest(
            redis,
            "redis: enqueue_all in thousands",
            Measure::Bulk,
            amount,
            &[Bar::TimesPeer("apalis", 4.0)],
        )
        .await?,
        contest(
            redis,
            "redis: drain, concurrency 100",
            Measure::Drain,
            amount,
            &[Bar::TimesPeer("apalis", 1.5)],
        )
        .await?,
    ])
}

/// From enqueue to handler on an idle worker, within one driver and across two of them, which know as
/// little of each other as two processes do; each beside a bare command after the same rest: the
/// longer a processor rests, the longer it takes to get up, for every step.
pub(crate) async fn latency(redis: &Redis, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let samples = 200 * amount.rounds;
    let queue = redis.queue();
    let other = Queue::connect_url(redis.url()).await?;
    let mut figures = Vec::new();
    for rest in [REST, SHORT_REST] {
        let ours = measures::latencies(queue, queue, samples, amount.payload, rest).await?;
        let across = measures::latencies(&other, queue, samples, amount.payload, rest).await?;
        let ping = redis.bare.pings(samples, rest).await?;
        let after = format!("redis: idle latency after a rest of {rest:?}");
        let ping = Figure::plain(
            format!("{after}: a bare PING, p50"),
            "ms",
            percentile(&ping, 0.5),
        );
        report::print(&ping);
        let across = Figure::plain(
            format!("{after}, across processes, p50"),
            "ms",
            percentile(&across, 0.5),
        );
        report::print(&across);
        figures.extend([
            Figure::held(
                format!("{after}, p50"),
                "ms",
                percentile(&ours, 0.5),
                Bar::AtMost(0.3),
            ),
            Figure::held(
                format!("{after}, p99"),
                "ms",
                percentile(&ours, 0.99),
                Bar::AtMost(1.5),
            ),
            across,
            ping,
        ]);
    }
    let question = Question {
        peer: "apalis",
        measure: "latency",
        url: redis.url(),
        // Some look only every few seconds.
        jobs: 10,
        callers: CONCURRENCY,
        payload: amount.payload,
    };
    redis.empty().await?;
    if let Some(theirs) = redis.peers.latencies(question).await {
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            let name = format!("redis: idle latency of apalis, {name}");
            let figure = Figure::plain(name, "ms", percentile(&theirs, share));
            report::print(&figure);
            figures.push(figure);
        }
    }
    redis.empty().await?;
    Ok(figures)
}

async fn fail_once(redis: &Redis, amount: Amount) -> Result<Figure, Failure> {
    let mut rates = Vec::new();
    for _ in 0..amount.rounds {
        redis.empty().await?;
        let sample = measures::fail_once(redis.queue(), amount.jobs, amount.payload).await?;
        rates.push(sample.rate());
    }
    let name = "redis: fail once, then succeed";
    Ok(Figure::held(
        name,
        "jobs/s",
        percentile(&rates, 0.5),
        Bar::AtLeast(30_000.0),
    ))
}

/// The same work in front of a short and of a long queue, in turns.
async fn backlog(redis: &Redis, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let run = amount.jobs.min(50_000);
    let (short, long) = (10_000, 20 * amount.jobs);
    let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
    for _ in 0..amount.rounds {
        for (backlog, rates) in [(short, &mut of_short), (long, &mut of_long)] {
            redis.empty().await?;
            measures::bulk(redis.queue(), backlog + run, amount.payload).await?;
            rates.push(measures::run_some(redis.queue(), run).await?.rate());
        }
    }
    redis.empty().await?;
    let ratios: Vec<f64> = of_long.iter().zip(&of_short).map(|(l, s)| l / s).collect();
    Ok(vec![Figure::held(
        format!("redis: drain before {} jobs", report::number(long as f64)),
        "x that before 10,000",
        percentile(&ratios, 0.5),
        Bar::AtLeast(0.9),
    )])
}

/// Retries that are all due at once, promoted by maintenance alone.
async fn promotion(redis: &Redis, amount: Amount) -> Result<Figure, Failure> {
    let mut rates = Vec::new();
    for _ in 0..amount.rounds {
        redis.empty().await?;
        rates.push(
            measures::promote(redis.queue(), DUE, amount.payload)
                .await?
                .rate(),
        );
    }
    redis.empty().await?;
    Ok(Figure::held(
        "redis: promotion of 100,000 due jobs",
        "jobs/s",
        percentile(&rates, 0.5),
        Bar::AtLeast(50_000.0),
    ))
}

/// Bytes per pending job, what a draining worker needs, and what an idle one costs.
async fn memory(redis: &Redis, amount: Amount) -> Result<Vec<Figure>, Failure> {
    redis.empty().await?;
    let before = redis.bare.info("memory", "used_memory").await?;
    measures::bulk(redis.queue(), DUE, amount.payload).await?;
    let after = redis.bare.info("memory", "used_memory").await?;
    let mut figures = vec![Figure::held(
        "redis: used_memory of a pending job",
        "bytes",
        (after - before) / DUE as f64,
        Bar::AtMost(320.0),
    )];
    let jobs = 10 * amount.jobs;
    measures::bulk(redis.queue(), jobs - DUE.min(jobs), amount.payload).await?;
    figures.extend(child::resident("redis", redis.url()).await?);
    redis.empty().await?;
    Ok(figures)
}

/// Commands of an idle worker.
async fn idle(redis: &Redis) -> Result<Figure, Failure> {
    const WATCHED: Duration = Duration::from_secs(15);
    let worker = Worker::builder(redis.queue())
        .concurrency(CONCURRENCY)
        .build()?;
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_until(std::future::pending()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = redis.bare.calls().await?;
    let server = redis.server.id().map(Watch::on);
    tokio::time::sleep(WATCHED).await;
    let after = redis.bare.calls().await?;
    let cpu = server.map(|server| server.so_far()).unwrap_or_default();
    handle.shutdown();
    running.await??;
    println!("the server used {cpu:?} of processor time meanwhile");
    // One of them was ours.
    Ok(Figure::held(
        "redis: commands of an idle worker",
        "a second",
        (after - before - 1.0) / WATCHED.as_secs_f64(),
        Bar::AtMost(2.0),
    ))
}
