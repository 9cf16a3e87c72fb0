//! Other job queues. Each backend's are a program of their own (`peers/`), which is built with the
//! same settings and asked for one measurement at a time.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use tokio::{process::Command, time::timeout};

use crate::{
    sample::{Failure, Sample},
    servers,
};

/// How long a peer may take for one measurement.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program with the peers of one backend.
#[derive(Debug)]
pub(crate) struct Peers(Option<PathBuf>);

/// What is asked of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) peer: &'a str,
    pub(crate) measure: &'a str,
    pub(crate) url: &'a str,
    pub(crate) jobs: usize,
    pub(crate) callers: usize,
    pub(crate) payload: usize,
}

#[derive(Debug, Deserialize)]
struct Answer {
    seconds: f64,
    cpu_seconds: f64,
    latencies_us: Vec<f64>,
}

impl Peers {
    /// Nobody to compare with.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Builds the program of `backend`.
    pub(crate) async fn build(backend: &str) -> Result<Self, Failure> {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join(backend);
        let target = servers::target()?.join("bench-peers");
        println!("building the peers in {}", home.display());
        let status = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--locked"])
            .arg("--manifest-path")
            .arg(home.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .status()
            .await?;
        if !status.success() {
            return Err(format!("the peers in {} do not build: {status}", home.display()).into());
        }
        let program = format!("goqueue-bench-peers-{backend}");
        Ok(Self(Some(target.join("release").join(program))))
    }

    /// A rate. Nothing when there are no peers, or when this one fails, which is told.
    pub(crate) async fn sample(&self, question: Question<'_>) -> Option<Sample> {
        let answer = self.ask_or_tell(question).await?;
        let jobs = match question.measure {
            "enqueue" => question.jobs / question.callers * question.callers,
            _ => question.jobs,
        };
        let [took, cpu] = [answer.seconds, answer.cpu_seconds].map(Duration::from_secs_f64);
        Some(Sample::new(jobs, took, cpu))
    }

    /// From enqueue to handler, in milliseconds.
    pub(crate) async fn latencies(&self, question: Question<'_>) -> Option<Vec<f64>> {
        let answer = self.ask_or_tell(question).await?;
        Some(answer.latencies_us.iter().map(|us| us / 1e3).collect())
    }

    async fn ask_or_tell(&self, question: Question<'_>) -> Option<Answer> {
        match timeout(PATIENCE, self.ask(question)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                println!("{error}");
                None
            }
            Err(_) => {
                let Question { peer, measure, .. } = question;
                println!("the peer {peer} did not end `{measure}` in {PATIENCE:?}");
                None
            }
        }
    }

    async fn ask(&self, question: Question<'_>) -> Result<Option<Answer>, Failure> {
        let Some(program) = &self.0 else {
            return Ok(None);
        };
        let numbers = [question.jobs, question.callers, question.payload].map(|n| n.to_string());
        let output = Command::new(program)
            .args([question.peer, question.measure, question.url])
            .args(&numbers)
            .kill_on_drop(true)
            .output()
            .await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let (peer, measure) = (question.peer, question.measure);
            return Err(format!("the peer {peer} failed at `{measure}`: {said}").into());
        }
        Ok(Some(serde_json::from_slice(&output.stdout)?))
    }
}
