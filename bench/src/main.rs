//! Benchmarks of goqueue, each beside the limit it is held against and beside other queues.
//! `cargo run --release -p goqueue-bench -- memory` prints the figures of the in-process driver;
//! `redis` and `mysql` those of the durable ones, `log` those of the log, on private servers.

mod backend;
mod child;
mod compare;
mod contest;
mod log;
mod measures;
mod memory;
mod mysql;
mod peers;
mod process;
mod redis;
mod report;
mod sample;
mod series;
mod servers;
mod work;

use clap::{Args, Parser, Subcommand};

use backend::{Amount, Part};
use sample::Failure;
use servers::Maker;

#[derive(Debug, Parser)]
#[command(about = "Benchmarks of goqueue")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The in-process driver: enqueueing, draining, the cost of middleware, idling, memory
    Memory {
        /// Jobs per measurement
        #[arg(long, default_value_t = 300_000)]
        jobs: usize,
        /// Rounds, of which the median is reported
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// The Redis driver, on a private server, beside bare scripts and other queues
    Redis {
        /// Jobs per measurement
        #[arg(long, default_value_t = 100_000)]
        jobs: usize,
        /// Parts to measure; all, if none is named
        #[arg(long, value_delimiter = ',')]
        only: Vec<Part>,
        #[command(flatten)]
        how: How,
    },
    /// The MySQL driver, on a private server, beside bare statements and another queue
    Mysql {
        /// Jobs per measurement
        #[arg(long, default_value_t = 40_000)]
        jobs: usize,
        /// Whose server; apalis-mysql needs MySQL
        #[arg(long, value_enum, default_value = "mysql")]
        server: Maker,
        /// Parts to measure; all, if none is named
        #[arg(long, value_delimiter = ',')]
        only: Vec<Part>,
        #[command(flatten)]
        how: How,
    },
    /// Every durable driver in one run, written down with plots for the docs
    Compare {
        /// Jobs per measurement on Redis
        #[arg(long, default_value_t = 100_000)]
        redis_jobs: usize,
        /// Jobs per measurement on MySQL
        #[arg(long, default_value_t = 40_000)]
        mysql_jobs: usize,
        /// Whose server MySQL is; apalis-mysql needs MySQL
        #[arg(long, value_enum, default_value = "mysql")]
        server: Maker,
        #[command(flatten)]
        how: How,
    },
    /// The log, on a private server, beside bare statements
    Log {
        /// Messages per measurement
        #[arg(long, default_value_t = 40_000)]
        messages: usize,
        /// Whose server
        #[arg(long, value_enum, default_value = "mariadb")]
        server: Maker,
        /// Parts to measure; all, if none is named
        #[arg(long, value_delimiter = ',')]
        only: Vec<log::Part>,
        /// Rounds, of which the median is reported
        #[arg(long, default_value_t = 3)]
        rounds: usize,
    },
    /// A worker process of another measurement
    #[command(hide = true)]
    Work { url: String, concurrency: usize },
}

#[derive(Debug, Args)]
struct How {
    /// The same for other queues, which may be much slower
    #[arg(long, default_value_t = 5_000)]
    peer_jobs: usize,
    /// Bytes of JSON in a job
    #[arg(long, default_value_t = 100)]
    payload: usize,
    /// Rounds, of which the median is reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Leave the other queues out
    #[arg(long)]
    no_peers: bool,
}

impl How {
    fn amount(&self, jobs: usize) -> Amount {
        Amount {
            jobs,
            peer_jobs: self.peer_jobs,
            payload: self.payload,
            rounds: self.rounds,
        }
    }
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    // Spawned, so that it runs where its connections are.
    runtime.block_on(async { tokio::spawn(run(Arguments::parse().what)).await? })
}

async fn run(what: What) -> Result<(), Failure> {
    match what {
        What::Memory { jobs, rounds } => memory::run(jobs, rounds).await?,
        What::Redis { jobs, only, how } => {
            println!("{}\n", process::machine());
            redis::run(how.amount(jobs), !how.no_peers, &only).await?;
        }
        What::Mysql {
            jobs,
            server,
            only,
            how,
        } => {
            println!("{}\n", process::machine());
            mysql::run(how.amount(jobs), server, !how.no_peers, &only).await?;
        }
        What::Compare {
            redis_jobs,
            mysql_jobs,
            server,
            how,
        } => {
            let (redis, mysql) = (how.amount(redis_jobs), how.amount(mysql_jobs));
            compare::run(redis, mysql, server, !how.no_peers).await?;
        }
        What::Log {
            messages,
            server,
            only,
            rounds,
        } => {
            println!("{}\n", process::machine());
            let (server, url) = servers::database(server).await?;
            log::run(&url, messages, rounds, &only).await?;
            server.stop(false).await?;
        }
        What::Work { url, concurrency } => child::work(&url, concurrency).await?,
    }
    Ok(())
}
