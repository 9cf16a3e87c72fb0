//! What is asked of a peer, and its answer. Shared by the programs in this directory.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One measurement.
pub struct Task {
    pub peer: String,
    pub measure: String,
    pub url: String,
    pub jobs: usize,
    pub callers: usize,
    payload: usize,
}

impl Task {
    pub fn from_args() -> Result<Self, Failure> {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let [peer, measure, url, jobs, callers, payload] = args.as_slice() else {
            return Err("needs PEER MEASURE URL JOBS CALLERS PAYLOAD".into());
        };
        Ok(Self {
            peer: peer.clone(),
            measure: measure.clone(),
            url: url.clone(),
            jobs: jobs.parse()?,
            callers: callers.parse()?,
            payload: payload.parse()?,
        })
    }

    /// A job whose JSON has the size that was asked for.
    pub fn job(&self) -> Job {
        Job {
            text: "x".repeat(self.payload.saturating_sub(11)),
        }
    }

    pub fn unknown(&self) -> Failure {
        format!("{} has no measure `{}`", self.peer, self.measure).into()
    }
}

/// The payload: `{"text":"…"}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub text: String,
}

/// How long it took, and what it cost.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    seconds: f64,
    cpu_seconds: f64,
    latencies_us: Vec<f64>,
}

impl Answer {
    pub fn print(&self) -> Result<(), Failure> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }

    pub fn of_latencies(latencies: &[Duration]) -> Self {
        Self {
            latencies_us: latencies.iter().map(|l| l.as_secs_f64() * 1e6).collect(),
            ..Self::default()
        }
    }
}

/// Counts time and processor time from its making on.
pub struct Clock {
    start: Instant,
    cpu: f64,
}

impl Clock {
    #[expect(clippy::new_without_default, reason = "it starts a measurement")]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            cpu: cpu_seconds(),
        }
    }

    pub fn stop(&self) -> Answer {
        Answer {
            seconds: self.start.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds() - self.cpu,
            latencies_us: Vec::new(),
        }
    }
}

/// User and system time of this process, in hundredths: proc(5), fields 14 and 15.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Tells when the last of some jobs ran.
#[derive(Clone)]
pub struct Countdown(Arc<(AtomicUsize, Notify)>);

impl Countdown {
    pub fn new(jobs: usize) -> Self {
        Self(Arc::new((AtomicUsize::new(jobs), Notify::new())))
    }

    pub fn one_ran(&self) {
        if self.0.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.1.notify_one();
        }
    }

    pub async fn done(&self) {
        self.0.1.notified().await;
    }
}

/// Enqueues through `enqueue` one job at a time while a worker runs, and measures until the handler
/// says so through the channel. The pause between two lets the worker fall idle.
pub async fn latencies<F: Future<Output = Result<(), Failure>>>(
    jobs: usize,
    mut ran: mpsc::UnboundedReceiver<Instant>,
    mut enqueue: impl FnMut() -> F,
) -> Result<Answer, Failure> {
    let mut all = Vec::with_capacity(jobs);
    for _ in 0..jobs {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let start = Instant::now();
        enqueue().await?;
        let end = ran.recv().await.ok_or("the worker ended")?;
        all.push(end.saturating_duration_since(start));
    }
    Ok(Answer::of_latencies(&all))
}
