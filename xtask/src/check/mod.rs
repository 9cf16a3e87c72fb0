//! Everything that is checked besides the tests.

mod steps;

use std::io;
use std::path::Path;

use tokio::process::Command;
use tokio::time::Instant;

pub use steps::{Step, steps};

use crate::process::{End, Interrupts, run};
use crate::workspace::cargo;

/// Runs every step in `root`, also after one has failed, and prints a summary. Returns the exit
/// code: 0 when all passed.
///
/// # Errors
///
/// When cargo cannot be started.
pub async fn run_all(steps: &[Step], root: &Path) -> io::Result<u8> {
    let mut interrupts = Interrupts::listen()?;
    let mut failed = Vec::new();
    let started = Instant::now();
    for step in steps {
        eprintln!("xtask: {}", step.command_line());
        let mut command = Command::new(cargo());
        command.args(step.args()).envs(step.env()).current_dir(root);
        match run(command, &mut interrupts).await? {
            end @ End::Interrupted(_) => {
                eprintln!("xtask: {}: {end}", step.name());
                return Ok(end.code());
            }
            end if !end.is_success() => failed.push(format!("{} ({end})", step.name())),
            _ => {}
        }
    }
    let (count, took) = (steps.len(), started.elapsed().as_secs_f64());
    if failed.is_empty() {
        println!("xtask: all {count} checks passed in {took:.1} s");
    } else {
        println!(
            "xtask: {} of {count} checks FAILED after {took:.1} s",
            failed.len()
        );
        for step in &failed {
            println!("  failed: {step}");
        }
    }
    Ok(u8::from(!failed.is_empty()))
}
