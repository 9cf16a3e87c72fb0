//! The `goqueue` command: see and steer every queue, on every driver.

mod args;
mod backend;
mod commands;
mod confirm;
mod failure;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::{EnvFilter, fmt};

use args::Cli;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    // The drivers' warnings; an answer stands on the standard output alone.
    let level = match &cli.command {
        // The screen is the live view's alone.
        args::Command::Stats(stats) if stats.takes_screen() => "off",
        _ if cli.global.verbose => "debug",
        _ => "warn",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(output::style::has_colour(&std::io::stderr()))
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(commands::run(cli)),
        Err(error) => Err(failure::Failure::new(format!(
            "no threads can be had: {error}"
        ))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
