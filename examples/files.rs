//! Counts the words of every text file in a directory: one job per file, several at a time.
//!
//! ```text
//! cargo run -p goqueue-examples --example files [DIRECTORY]
//! ```
//!
//! Without a directory it reads the texts that come with it. Not everything goes well, as in real
//! life: the storage refuses some files at first, so their jobs fail and run again on the retry
//! schedule; an empty file is skipped; a file that is no UTF-8 goes to the dead letters.

#[path = "files/board.rs"]
mod board;
#[path = "files/storage.rs"]
mod storage;
#[path = "files/summary.rs"]
mod summary;
#[path = "files/table.rs"]
mod table;
#[path = "files/text.rs"]
mod text;

use std::{
    env,
    error::Error,
    io::{self, IsTerminal, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use goqueue::{QueueName, driver::DeadLetterInfo, prelude::*};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use board::{Board, Entry};
use storage::Storage;
use summary::Summary;
use table::Paint;
use text::TextStats;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sample");
const USAGE: &str = "usage: files [DIRECTORY]";
const AT_ONCE: usize = 4;

/// What is stored: where the text is, not the text.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "files.count",
    queue = "files",
    max_attempts = 4,
    initial_delay = "100ms",
    timeout = "30s"
)]
struct CountFile {
    path: PathBuf,
}

impl Handler for CountFile {
    async fn handle(self, cx: JobContext) -> JobResult {
        // Any error that `?` passes on means: try again later.
        let bytes = cx
            .state::<Storage>()?
            .read(&self.path, cx.attempt())
            .await?;
        if bytes.is_empty() {
            return Err(JobError::discard("the file is empty"));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            JobError::permanent(format!("not UTF-8 text from byte {good} on"))
        })?;
        // Counting a big text takes a while, and would hold up the other jobs of this thread.
        let stats = tokio::task::spawn_blocking(move || TextStats::of(&text)).await?;
        cx.state::<Arc<Board>>()?.counted(cx.id(), stats);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    // Errors only, unless `RUST_LOG` asks for more: what happens to the jobs is shown below.
    // `Targets` does for that; `EnvFilter` takes longer to compile than this whole example.
    let filter = env::var("RUST_LOG").unwrap_or_default().parse();
    let log = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    tracing_subscriber::registry()
        .with(filter.unwrap_or(Targets::new().with_default(LevelFilter::ERROR)))
        .with(log)
        .init();
    let mut arguments = env::args_os().skip(1);
    let directory = match (arguments.next(), arguments.next()) {
        (Some(help), None) if help == "--help" || help == "-h" => {
            println!("{USAGE}\n\nCounts the words of every text file in a directory.");
            return ExitCode::SUCCESS;
        }
        (Some(option), _) if option.as_encoded_bytes().starts_with(b"-") => {
            eprintln!("error: unknown option `{}`\n{USAGE}", option.display());
            return ExitCode::from(2);
        }
        (_, Some(_)) => {
            eprintln!("error: more than one directory\n{USAGE}");
            return ExitCode::from(2);
        }
        (Some(directory), None) => PathBuf::from(directory),
        (None, None) => PathBuf::from(SAMPLE),
    };
    match run(&directory).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers whether the job as a whole worked: it was not stopped early, and not every file failed.
async fn run(directory: &Path) -> Result<bool, Box<dyn Error>> {
    let started = Instant::now();
    let files = files_of(directory)?;
    let queue = Queue::connect(&Config::load()?).await?;
    eprintln!(
        "{} in {}: a job each, {AT_ONCE} at a time, kept by the {} driver",
        summary::files(files.len()),
        shown(directory).display(),
        queue.capabilities().driver
    );

    let jobs = files.iter().map(|path| CountFile { path: path.clone() });
    let enqueued = queue.enqueue_all(jobs).await?;
    let names = files.iter().map(|path| name_of(path));
    let board = Arc::new(Board::new(enqueued.iter().map(Enqueued::id).zip(names)));

    let reports = Arc::clone(&board);
    let worker = Worker::builder(&queue)
        .queue("files", 1)
        .concurrency(AT_ONCE)
        .state(Storage)
        .state(Arc::clone(&board))
        .on_job_complete(move |run| reports.ended(run))
        .build()?;
    let all_ended_or_stopped = async {
        tokio::select! {
            () = board.all_ended() => {}
            () = goqueue::shutdown_signal() => {}
        }
    };
    worker.run_until(all_ended_or_stopped).await?;
    board.clear();

    let entries = board.entries();
    let summary = Summary {
        dead: dead_letters(&queue, &entries).await?,
        entries: entries.into_iter().map(|(_, entry)| entry).collect(),
        took: started.elapsed(),
        at_once: AT_ONCE,
    };
    let mut output = stdout().lock();
    let paint = Paint::for_output(&output);
    match summary.print(&mut output, paint) {
        // As when it is piped into `head`.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    let is_complete = summary.entries.iter().all(Entry::has_ended);
    Ok(is_complete && !summary.entries.iter().all(Entry::is_dead))
}

/// Every file of the directory itself, by name, without the hidden ones.
fn files_of(directory: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let unreadable = |error| {
        format!(
            "cannot read the directory `{}`: {error}",
            directory.display()
        )
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("there are no files in `{}`", directory.display()).into());
    }
    Ok(files)
}

/// The directory as seen from the current one.
fn shown(directory: &Path) -> &Path {
    let here = env::current_dir().unwrap_or_default();
    directory.strip_prefix(here).unwrap_or(directory)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

/// What the backend keeps of the jobs that died.
async fn dead_letters(
    queue: &Queue,
    entries: &[(JobId, Entry)],
) -> goqueue::Result<Vec<(String, DeadLetterInfo)>> {
    let files = QueueName::new("files")?;
    let mut letters = Vec::new();
    for (id, entry) in entries {
        if entry.is_dead()
            && let Some(letter) = queue.inspect()?.dead_letter(&files, *id).await?
        {
            letters.push((entry.name.clone(), letter));
        }
    }
    Ok(letters)
}
