//! Workers that are processes of their own: this program, started again.

use std::{process::Stdio, time::Duration};

use futures_util::future::try_join_all;
use goqueue::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::sleep,
};

use crate::{
    measures::{self, CONCURRENCY},
    process::{peak_resident_mb, resident_mb},
    report::{Bar, Figure},
    sample::{Failure, Meter, Sample, percentile},
};

/// How often a draining worker's memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a worker process says at its end.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    jobs: usize,
    cpu_seconds: f64,
    peak_mb: f64,
    /// Resident memory over time.
    resident_mb: Vec<f64>,
}

/// The worker process: connects, says so, waits for a line, drains, tells.
pub(crate) async fn work(url: &str, concurrency: usize) -> Result<(), Failure> {
    let queue = Queue::connect_url(url).await?;
    println!("ready");
    let mut line = String::new();
    let mut input = BufReader::new(tokio::io::stdin());
    input.read_line(&mut line).await?;
    let mut resident = Vec::new();
    let watching = async {
        loop {
            sleep(LOOK).await;
            resident.extend(resident_mb());
        }
    };
    let sample = tokio::select! {
        sample = measures::drain(&queue, concurrency) => sample?,
        never = watching => never,
    };
    let told = Told {
        jobs: sample.jobs(),
        cpu_seconds: sample.cpu().as_secs_f64(),
        peak_mb: peak_resident_mb().unwrap_or(f64::NAN),
        resident_mb: resident,
    };
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

/// A worker process that is connected and waits for its start.
struct Waiting {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Waiting {
    async fn start(url: &str) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["work", url, &CONCURRENCY.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("a worker without input")?;
        let output = child.stdout.take().ok_or("a worker without output")?;
        let mut output = BufReader::new(output).lines();
        output.next_line().await?.ok_or("a worker did not start")?;
        Ok(Self {
            child,
            input,
            output,
        })
    }

    async fn finish(mut self) -> Result<Told, Failure> {
        self.input.write_all(b"go\n").await?;
        let line = self.output.next_line().await?;
        let told = serde_json::from_str(&line.ok_or("a worker ended early")?)?;
        self.child.wait().await?;
        Ok(told)
    }
}

/// What is there, drained by so many worker processes.
pub(crate) async fn drain(url: &str, processes: usize) -> Result<Sample, Failure> {
    let waiting = try_join_all((0..processes).map(|_| Waiting::start(url))).await?;
    let meter = Meter::start();
    let told = try_join_all(waiting.into_iter().map(Waiting::finish)).await?;
    let jobs = told.iter().map(|told| told.jobs).sum();
    let cpu = told.iter().map(|told| told.cpu_seconds).sum();
    Ok(meter.stop(jobs).with_cpu(Duration::from_secs_f64(cpu)))
}

/// The memory of one worker process that drains what is there.
pub(crate) async fn resident(backend: &str, url: &str) -> Result<Vec<Figure>, Failure> {
    let told = Waiting::start(url).await?.finish().await?;
    let third = told.resident_mb.len() / 3;
    let (first, last) = (
        &told.resident_mb[..third],
        &told.resident_mb[told.resident_mb.len() - third..],
    );
    let growth = percentile(last, 0.5) / percentile(first, 0.5);
    println!("a worker process drained {} jobs", told.jobs);
    Ok(vec![
        Figure::held(
            format!("{backend}: peak memory of a draining worker"),
            "MB",
            told.peak_mb,
            Bar::AtMost(30.0),
        ),
        Figure::held(
            format!("{backend}: its memory, last third"),
            "x the first",
            growth,
            Bar::AtMost(1.1),
        ),
    ])
}
