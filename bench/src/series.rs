//! How a rate changes with the payload, the backlog and the number of worker processes.

use serde::Serialize;

use crate::{
    backend::{Amount, Backend, Measure},
    child,
    measures::{self, BULK, CONCURRENCY},
    report::number,
    sample::{Failure, Sample},
};

/// Bytes of JSON in a job.
const PAYLOADS: [usize; 3] = [100, 10_000, 200_000];
/// What a measurement with a large payload may move at most.
const MOST_BYTES: usize = 200_000_000;
/// Jobs in front of which a worker runs.
const BACKLOGS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Worker processes at once.
const PROCESSES: [usize; 4] = [1, 2, 4, 8];

/// One line of a plot, in jobs per second.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(usize, f64)>,
}

/// The lines of one plot.
#[derive(Debug, Serialize)]
pub(crate) struct Plot {
    /// The name of its file.
    pub(crate) file: String,
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) series: Vec<Series>,
}

/// All plots of one backend.
pub(crate) async fn plots(
    name: &str,
    backend: &impl Backend,
    amount: Amount,
) -> Result<Vec<Plot>, Failure> {
    let plot = |file: &str, title: &str, x, series| Plot {
        file: format!("{name}-{file}"),
        title: format!("{name}: {title}"),
        x,
        series,
    };
    Ok(vec![
        plot(
            "processes",
            "drain by several worker processes",
            "worker processes",
            vec![processes(backend, amount).await?],
        ),
        plot(
            "payload",
            "drain by payload",
            "bytes of payload",
            payloads(backend, amount).await?,
        ),
        plot(
            "backlog",
            "drain by backlog",
            "jobs waiting",
            vec![backlogs(backend, amount).await?],
        ),
    ])
}

async fn processes(backend: &impl Backend, amount: Amount) -> Result<Series, Failure> {
    let mut points = Vec::new();
    for processes in PROCESSES {
        backend.empty().await?;
        measures::bulk(backend.queue(), amount.jobs, amount.payload).await?;
        let sample = child::drain(backend.url(), processes).await?;
        points.push(point("worker processes", processes, &sample));
    }
    backend.empty().await?;
    Ok(named("goqueue", points))
}

async fn payloads(backend: &impl Backend, amount: Amount) -> Result<Vec<Series>, Failure> {
    let (mut ours, mut limit) = (Vec::new(), Vec::new());
    for payload in PAYLOADS {
        let jobs = amount.jobs.min(MOST_BYTES / payload);
        let amount = Amount {
            jobs,
            payload,
            ..amount
        };
        backend.empty().await?;
        // Smaller batches of larger jobs: no server takes 200 MB in one call.
        let batch = BULK.min(MOST_BYTES / 100 / payload).max(1);
        measures::bulk_in(backend.queue(), jobs, payload, batch).await?;
        let sample = measures::drain(backend.queue(), CONCURRENCY).await?;
        ours.push(point("bytes of payload", payload, &sample));
        if payload < PAYLOADS[2] {
            backend.empty().await?;
            backend.bare(Measure::Bulk, amount).await?;
            let sample = backend.bare(Measure::Drain, amount).await?;
            limit.push((payload, sample.rate()));
        }
    }
    backend.empty().await?;
    Ok(vec![named("goqueue", ours), named("bare loop", limit)])
}

async fn backlogs(backend: &impl Backend, amount: Amount) -> Result<Series, Failure> {
    let mut points = Vec::new();
    for backlog in BACKLOGS {
        backend.empty().await?;
        let run = amount.jobs.min(20_000);
        measures::bulk(backend.queue(), backlog + run, amount.payload).await?;
        let sample = measures::run_some(backend.queue(), run).await?;
        points.push(point("jobs waiting", backlog, &sample));
    }
    backend.empty().await?;
    Ok(named("goqueue", points))
}

fn point(what: &str, x: usize, sample: &Sample) -> (usize, f64) {
    let rate = sample.rate();
    println!("{x:>9} {what}: {} jobs/s", number(rate));
    (x, rate)
}

fn named(name: &str, points: Vec<(usize, f64)>) -> Series {
    Series {
        name: name.into(),
        points,
    }
}
