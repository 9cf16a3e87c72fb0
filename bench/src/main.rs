//! Benchmarks of goqueue. `cargo run --release -p goqueue-bench -- memory` prints the figures that
//! the README reports.

mod memory;
mod process;
mod report;

use clap::{Parser, Subcommand};

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
}

fn main() -> goqueue::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    #[expect(
        clippy::expect_used,
        reason = "a benchmark without a runtime has nothing to say"
    )]
    let runtime = runtime.expect("a runtime starts");
    match Arguments::parse().what {
        What::Memory { jobs, rounds } => runtime.block_on(memory::run(jobs, rounds)),
    }
}
