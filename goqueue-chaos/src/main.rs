//! `goqueue-chaos`: see the library of this crate. `cargo xtask chaos` calls it.

use std::{env, error::Error, fs, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use goqueue_chaos::{
    actor::{self, Part, Planted, Role},
    backend,
    run::{Plan, Verdict, folder, run},
    schedule::Cast,
};

/// How long the queues may take to run empty.
const PATIENCE: Duration = Duration::from_secs(120);

/// Chaos: whether the contract holds while everything around it breaks.
#[derive(Debug, Parser)]
#[command(name = "goqueue-chaos", bin_name = "cargo xtask chaos")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One process of a run
    #[command(hide = true)]
    Play(PlayArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The backends to break; all of them unless named
    #[arg(long, value_name = "NAME")]
    driver: Vec<String>,
    /// How many seeds to run, from `--seed` on
    #[arg(long, default_value_t = 1, value_name = "N")]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    /// How long faults come in each run; the queues run empty after that
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Processes that enqueue
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = at_least_one)]
    producers: usize,
    /// Processes that run jobs
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = at_least_one)]
    workers: usize,
    /// Put a faulty driver in front of the real one, to see that it is found
    #[arg(long, value_name = "FAULT")]
    planted: Option<Planted>,
    /// Where the ledgers go; those of runs that failed are kept
    #[arg(long, value_name = "FOLDER")]
    ledgers: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct PlayArgs {
    #[arg(long)]
    role: Role,
    #[arg(long)]
    name: String,
    #[arg(long)]
    config: String,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    planted: Option<Planted>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=100) => Ok(number),
        _ => Err("allowed is 1 to 100".into()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        // Without waiting for whatever still reads the standard input.
        Some(Command::Play(args)) => std::process::exit(play(args).await),
        None => match run_all(&cli.run).await {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("chaos: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

async fn play(args: PlayArgs) -> i32 {
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    let part = Part {
        role: args.role,
        name: args.name,
        config: args.config,
        folder: args.folder,
        seed: args.seed,
        planted: args.planted,
    };
    match actor::play(part).await {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

/// Answers how many runs failed.
async fn run_all(args: &RunArgs) -> Result<u64, Box<dyn Error>> {
    let all: Vec<String> = backend::NAMES.iter().map(ToString::to_string).collect();
    let drivers = if args.driver.is_empty() {
        &all
    } else {
        &args.driver
    };
    let root = match &args.ledgers {
        Some(folder) => folder.clone(),
        None => env::temp_dir().join(format!("goqueue-chaos-{}", std::process::id())),
    };
    let mut failed = 0;
    for driver in drivers {
        for seed in args.seed..args.seed.saturating_add(args.seeds) {
            let plan = Plan {
                driver: driver.clone(),
                seed,
                length: Duration::from_secs(args.seconds),
                patience: PATIENCE,
                cast: Cast {
                    producers: args.producers,
                    workers: args.workers,
                },
                planted: args.planted,
                program: env::current_exe()?,
                folder: folder(&root, driver, seed),
            };
            let verdict = run(&plan)
                .await
                .map_err(|error| replay(&plan, &error.to_string()))?;
            if report(&plan, &verdict) {
                fs::remove_dir_all(&plan.folder)?;
            } else {
                failed += 1;
            }
        }
    }
    println!(
        "{failed} of {} runs broke a promise",
        drivers.len() as u64 * args.seeds
    );
    Ok(failed)
}

/// Whether all was well.
fn report(plan: &Plan, verdict: &Verdict) -> bool {
    let well = verdict.violations.is_empty();
    let word = if well { "ok" } else { "BROKEN" };
    println!(
        "{} seed {}: {word}; {}",
        plan.driver, plan.seed, verdict.figures
    );
    if !well {
        for violation in &verdict.violations {
            println!("  {violation}");
        }
        println!("  the faults were:");
        for moment in &verdict.schedule {
            println!("    {moment}");
        }
        println!("  {}", replay(plan, "the ledgers are kept"));
    }
    well
}

fn replay(plan: &Plan, what: &str) -> String {
    let planted = plan
        .planted
        .map_or_else(String::new, |fault| format!(" --planted {fault}"));
    format!(
        "{what}: {}\n  again: cargo xtask chaos --driver {} --seed {} --seconds {} --producers {} \
         --workers {}{planted}",
        plan.folder.display(),
        plan.driver,
        plan.seed,
        plan.length.as_secs(),
        plan.cast.producers,
        plan.cast.workers,
    )
}
