//! One run from its seed to its verdict.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use goqueue::{
    BoxError, Config, Queue, QueueName,
    driver::{Inspect, PageRequest},
};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    actor::{Planted, Role},
    backend,
    check::{Claims, Violation, check},
    ledger::{self, Event, Ledger, Letter, Line},
    schedule::{Cast, Fault, Moment, Store, schedule},
    stage::{Script, Stage},
    task::QUEUES,
};

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The backend, one of [`backend::NAMES`].
    pub driver: String,
    /// What the faults and the jobs are made of.
    pub seed: u64,
    /// How long faults come.
    pub length: Duration,
    /// How long the queues may take to run empty once everything is mended.
    pub patience: Duration,
    /// Who takes part.
    pub cast: Cast,
    /// A fault of the driver that is to be found.
    pub planted: Option<Planted>,
    /// The program `goqueue-chaos`, which the actors are.
    pub program: PathBuf,
    /// The folder for this run's ledgers; emptied first.
    pub folder: PathBuf,
}

/// What came of a run.
#[derive(Debug)]
pub struct Verdict {
    /// The promises that were broken.
    pub violations: Vec<Violation>,
    /// What broke when.
    pub schedule: Vec<Moment>,
    /// How much there was to check.
    pub figures: Figures,
}

/// How much there was to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Jobs whose producer was told that they are stored.
    pub stored: usize,
    /// Jobs whose producer was told that there is one already.
    pub duplicates: usize,
    /// Jobs of which the producer does not know.
    pub unknown: usize,
    /// Runs of handlers.
    pub runs: usize,
    /// Runs that ended too late to count.
    pub late: usize,
    /// Dead letters.
    pub dead: usize,
    /// Faults.
    pub faults: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} faults; {} stored, {} duplicates, {} unknown; {} runs, {} too late; {} dead",
            self.faults,
            self.stored,
            self.duplicates,
            self.unknown,
            self.runs,
            self.late,
            self.dead
        )
    }
}

/// Runs the plan.
///
/// # Errors
/// When the run could not be made: a server or a process did not start, or a process failed.
pub async fn run(plan: &Plan) -> Result<Verdict, BoxError> {
    let _ = fs::remove_dir_all(&plan.folder);
    fs::create_dir_all(&plan.folder)?;
    let ledger = Ledger::open(&plan.folder, "stage")?;
    let backend = backend::start(&plan.driver).await?;
    let script = Script {
        program: plan.program.clone(),
        folder: plan.folder.clone(),
        seed: plan.seed,
        planted: plan.planted,
    };
    let store = if backend.outlives_kill() {
        Store::OnDisk
    } else {
        Store::InMemory
    };
    let schedule = schedule(plan.seed, plan.length, plan.cast, store);
    let mut stage = Stage::open(script, backend, ledger.clone(), plan.cast).await?;
    act(&mut stage, &schedule).await?;

    stage.dismiss(Role::Producer).await?;
    let config = Config::from_toml(&stage.config())?;
    let queue = patiently(|| Queue::connect(&config)).await?;
    let inspect = queue.inspect()?;
    let left = run_empty(inspect, plan.patience).await?;
    stage.dismiss(Role::Worker).await?;
    for (queue, live) in left {
        let queue = queue.to_string();
        ledger.note(Event::Left { queue, live });
    }
    for letter in letters(inspect).await? {
        ledger.note(Event::Dead(letter));
    }

    let lines = ledger::read(&plan.folder)?;
    let claims = Claims {
        stale_settle: queue.capabilities().stale_settle,
    };
    Ok(Verdict {
        violations: check(&lines, claims),
        figures: figures(&lines),
        schedule,
    })
}

/// What happens to a fault.
#[derive(Clone, Copy, Debug)]
enum Step {
    Break(Fault),
    Mend(Fault),
}

async fn act(stage: &mut Stage, schedule: &[Moment]) -> io::Result<()> {
    let mut steps: Vec<_> = schedule
        .iter()
        .flat_map(|moment| {
            let (broken, mended) = (Step::Break(moment.fault), Step::Mend(moment.fault));
            [(moment.from, broken), (moment.to, mended)]
        })
        .collect();
    steps.sort_by_key(|(at, _)| *at);
    let start = Instant::now();
    for (at, step) in steps {
        sleep_until(start + at).await;
        match step {
            Step::Break(fault) => stage.breaks(fault).await?,
            Step::Mend(fault) => stage.mends(fault).await?,
        }
    }
    Ok(())
}

/// Asks again when a call fails for a moment: everything is mended, but the machine may be busy.
async fn patiently<T, F>(ask: impl Fn() -> F) -> goqueue::Result<T>
where
    F: Future<Output = goqueue::Result<T>>,
{
    const TRIES: u32 = 30;
    for _ in 1..TRIES {
        match ask().await {
            Err(error) if error.is_transient() => sleep(Duration::from_millis(500)).await,
            answer => return answer,
        }
    }
    ask().await
}

/// Waits until no queue has a live job, and answers what is left when that takes too long.
async fn run_empty(
    inspect: &dyn Inspect,
    patience: Duration,
) -> goqueue::Result<Vec<(QueueName, u64)>> {
    let since = Instant::now();
    loop {
        let mut left = Vec::new();
        for name in QUEUES {
            let name = QueueName::new(name)?;
            let stats = patiently(|| inspect.stats(&name)).await?;
            left.push((name, stats.ready + stats.scheduled + stats.running));
        }
        let is_empty = left.iter().all(|(_, live)| *live == 0);
        if is_empty || since.elapsed() > patience {
            return Ok(left);
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn letters(inspect: &dyn Inspect) -> goqueue::Result<Vec<Letter>> {
    let mut letters = Vec::new();
    for name in QUEUES {
        let name = QueueName::new(name)?;
        let mut page = PageRequest::first(100);
        loop {
            let found = patiently(|| inspect.dead_letters(&name, page.clone())).await?;
            letters.extend(found.items.into_iter().map(|letter| Letter {
                id: letter.id.to_string(),
                queue: letter.queue.to_string(),
                reason: letter.reason.to_string(),
                error: letter.error,
                attempts: letter.attempts,
                body: String::from_utf8_lossy(&letter.body).into_owned(),
            }));
            let Some(next) = found.next else { break };
            page = PageRequest {
                after: Some(next),
                ..PageRequest::first(100)
            };
        }
    }
    Ok(letters)
}

fn figures(lines: &[Line]) -> Figures {
    use ledger::Answer;

    let mut figures = Figures::default();
    for line in lines {
        match &line.event {
            Event::Answer { answer, .. } => match answer {
                Answer::Stored(_) => figures.stored += 1,
                Answer::Duplicate(_) => figures.duplicates += 1,
                Answer::Failed(_) => figures.unknown += 1,
            },
            Event::Start { .. } => figures.runs += 1,
            Event::Settled { outcome, .. } if outcome == "lease_lost" => figures.late += 1,
            Event::Dead(_) => figures.dead += 1,
            Event::Broken { .. } => figures.faults += 1,
            _ => {}
        }
    }
    figures
}

/// A folder for the ledgers of one run, below `root`.
#[must_use]
pub fn folder(root: &Path, driver: &str, seed: u64) -> PathBuf {
    root.join(format!("{driver}-{seed}"))
}
