//! The MySQL driver, beside bare statements on the same server and beside other queues.

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
    sample::{Failure, Sample, percentile},
    servers::{self, Maker},
};

/// Jobs whose size is measured.
const PENDING: usize = 100_000;

/// A server of its own.
pub(crate) struct Mysql {
    server: xtask::services::Instance,
    url: String,
    queue: Queue,
    bare: Bare,
    peers: Peers,
}

impl Mysql {
    pub(crate) async fn start(maker: Maker, with_peers: bool) -> Result<Self, Failure> {
        let peers = if with_peers {
            Peers::build("mysql").await?
        } else {
            Peers::none()
        };
        let (server, url) = servers::database(maker).await?;
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

impl Backend for Mysql {
    const PEERS: &[&'static str] = &["apalis"];

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
    maker: Maker,
    with_peers: bool,
    only: &[Part],
) -> Result<Vec<Figure>, Failure> {
    let mysql = Mysql::start(maker, with_peers).await?;
    let mut figures = Vec::new();
    if is_in(Part::Rates, only) {
        figures.extend(rates(&mysql, amount).await?);
    }
    if is_in(Part::Latency, only) {
        figures.extend(latency(&mysql, amount).await?);
    }
    if is_in(Part::FailOnce, only) {
        figures.push(fail_once(&mysql, amount).await?);
    }
    if is_in(Part::Memory, only) {
        figures.extend(memory(&mysql, amount).await?);
    }
    report::summary(&figures);
    mysql.stop().await?;
    Ok(figures)
}

/// What is measured in alternating rounds.
pub(crate) async fn rates(mysql: &Mysql, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let one_by_one = Amount {
        jobs: amount.jobs / 20,
        peer_jobs: amount.peer_jobs / 10,
        ..amount
    };
    Ok(vec![
        contest(
            mysql,
            "mysql: enqueue, one caller awaiting each",
            Measure::Enqueue(1),
            one_by_one,
            &[Bar::OfLimit(0.8), Bar::TimesPeer("apalis", 2.0)],
        )
        .await?,
        contest(
            mysql,
            "mysql: enqueue, 64 callers awaiting each",
            Measure::Enqueue(64),
            one_by_one,
            &[],
        )
        .await?,
        contest(
            mysql,
            "mysql: enqueue_all in thousands",
            Measure::Bulk,
            amount,
            &[Bar::TimesPeer("apalis", 8.0)],
        )
        .await?,
        contest(
            mysql,
            "mysql: drain, concurrency 100",
            Measure::Drain,
            amount,
            &[Bar::OfLimit(0.7), Bar::TimesPeer("apalis", 8.0)],
        )
        .await?,
    ])
}

/// From enqueue to handler on an idle worker, within one driver and across two of them, which know
/// as little of each other as two processes do; and what an idle worker asks.
pub(crate) async fn latency(mysql: &Mysql, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let samples = 100 * amount.rounds;
    let queue = mysql.queue();
    mysql.empty().await?;
    let other = Queue::connect_url(mysql.url()).await?;
    let across = measures::latencies(&other, queue, samples / 2, amount.payload, REST).await?;
    let mut figures = vec![
        Figure::held(
            "mysql: idle latency across processes, p50",
            "ms",
            percentile(&across, 0.5),
            Bar::AtMost(60.0),
        ),
        Figure::plain(
            "mysql: the same across, p99",
            "ms",
            percentile(&across, 0.99),
        ),
    ];
    report::print(&figures[1]);
    for rest in [REST, SHORT_REST] {
        let within = measures::latencies(queue, queue, samples, amount.payload, rest).await?;
        let alone = measures::calls(queue, samples, amount.payload, rest).await?;
        let after = format!("mysql: idle latency after a rest of {rest:?}");
        let others = [
            Figure::plain(format!("{after}, p99"), "ms", percentile(&within, 0.99)),
            Figure::plain(
                format!("{after}: the enqueue call alone, p50"),
                "ms",
                percentile(&alone, 0.5),
            ),
        ];
        figures.push(Figure::held(
            format!("{after}, p50"),
            "ms",
            percentile(&within, 0.5),
            Bar::AtMost(2.0),
        ));
        others.iter().for_each(report::print);
        figures.extend(others);
        mysql.empty().await?;
    }
    let question = Question {
        peer: "apalis",
        measure: "latency",
        url: mysql.url(),
        // Some look only every few seconds.
        jobs: 10,
        callers: CONCURRENCY,
        payload: amount.payload,
    };
    if let Some(theirs) = mysql.peers.latencies(question).await {
        let name = "mysql: idle latency of apalis, p50";
        let figure = Figure::plain(name, "ms", percentile(&theirs, 0.5));
        report::print(&figure);
        figures.push(figure);
    }
    other.driver().close().await?;
    mysql.empty().await?;
    figures.push(idle(mysql).await?);
    Ok(figures)
}

async fn fail_once(mysql: &Mysql, amount: Amount) -> Result<Figure, Failure> {
    let mut rates = Vec::new();
    for _ in 0..amount.rounds {
        mysql.empty().await?;
        let sample = measures::fail_once(mysql.queue(), amount.jobs / 4, amount.payload).await?;
        rates.push(sample.rate());
    }
    mysql.empty().await?;
    Ok(Figure::held(
        "mysql: fail once, then succeed",
        "jobs/s",
        percentile(&rates, 0.5),
        Bar::AtLeast(5_000.0),
    ))
}

/// Bytes per pending job, and what a draining worker needs.
async fn memory(mysql: &Mysql, amount: Amount) -> Result<Vec<Figure>, Failure> {
    mysql.empty().await?;
    let before = mysql.bare.bytes_of("goqueue_jobs").await?;
    measures::bulk(mysql.queue(), PENDING, amount.payload).await?;
    let after = mysql.bare.bytes_of("goqueue_jobs").await?;
    let mut figures = vec![Figure::held(
        "mysql: table and indexes, for a pending job",
        "bytes",
        (after - before) / PENDING as f64,
        Bar::AtMost(400.0),
    )];
    let jobs = 10 * amount.jobs;
    measures::bulk(mysql.queue(), jobs - PENDING.min(jobs), amount.payload).await?;
    figures.extend(child::resident("mysql", mysql.url()).await?);
    mysql.empty().await?;
    Ok(figures)
}

/// Statements of an idle worker.
async fn idle(mysql: &Mysql) -> Result<Figure, Failure> {
    const WATCHED: Duration = Duration::from_secs(10);
    let worker = Worker::builder(mysql.queue())
        .concurrency(CONCURRENCY)
        .build()?;
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_until(std::future::pending()));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = mysql.bare.status("Questions").await?;
    tokio::time::sleep(WATCHED).await;
    let after = mysql.bare.status("Questions").await?;
    handle.shutdown();
    running.await??;
    // One of them was ours.
    Ok(Figure::held(
        "mysql: statements of an idle worker",
        "a second",
        (after - before - 1.0) / WATCHED.as_secs_f64(),
        Bar::AtMost(12.0),
    ))
}
