//! One measurement: how much was done, and what it took.

use std::time::Duration;

use tokio::time::Instant;

use crate::process::{self, cpu_time_of};

/// What went wrong, in words.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Jobs, and what they took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    jobs: usize,
    took: Duration,
    /// Processor time of the client, and of the server where it was watched.
    cpu: Duration,
}

impl Sample {
    pub(crate) fn new(jobs: usize, took: Duration, cpu: Duration) -> Self {
        Self { jobs, took, cpu }
    }

    pub(crate) fn jobs(&self) -> usize {
        self.jobs
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.cpu
    }

    /// The same, with the processor time that others used for it.
    pub(crate) fn with_cpu(self, cpu: Duration) -> Self {
        Self { cpu, ..self }
    }

    /// Jobs per second.
    pub(crate) fn rate(&self) -> f64 {
        self.jobs as f64 / self.took.as_secs_f64()
    }

    /// Processor seconds for 100,000 jobs.
    pub(crate) fn cpu_per_100k(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e5 / self.jobs as f64
    }
}

/// Measures from its making on.
#[derive(Debug)]
pub(crate) struct Meter {
    start: Instant,
    cpu: Duration,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            cpu: process::cpu_time().unwrap_or_default(),
        }
    }

    pub(crate) fn stop(&self, jobs: usize) -> Sample {
        let took = self.start.elapsed();
        let cpu = process::cpu_time().unwrap_or_default();
        Sample::new(jobs, took, cpu.saturating_sub(self.cpu))
    }
}

/// Processor time of another process while something ran.
#[derive(Debug)]
pub(crate) struct Watch {
    pid: u32,
    cpu: Duration,
}

impl Watch {
    pub(crate) fn on(pid: u32) -> Self {
        Self {
            pid,
            cpu: cpu_time_of(pid).unwrap_or_default(),
        }
    }

    pub(crate) fn so_far(&self) -> Duration {
        cpu_time_of(self.pid)
            .unwrap_or_default()
            .saturating_sub(self.cpu)
    }
}

/// The value below which this share of `values` lies.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
