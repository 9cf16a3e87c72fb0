//! The command line.

pub(crate) mod dead;
pub(crate) mod log;
pub(crate) mod values;

use std::{io::IsTerminal, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use goqueue::{
    QueueName,
    driver::{DriverUrl, JobState},
};

use values::{duration, header, interval, job_state, queue_name, url};

/// See and steer the queues of goqueue, whichever backend they are on.
///
/// The backend is the one that goqueue.toml or GOQUEUE_DRIVER names, as for the programs that use
/// it. Exit codes: 0 done, 1 failed, 2 the command line cannot be carried out.
#[derive(Debug, Parser)]
#[command(
    name = "goqueue",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "Examples:
  goqueue queues                              every queue, and how many jobs it holds
  goqueue stats mail --watch                  one queue, live
  goqueue dead list mail                      what failed for good, and why
  goqueue dead retry mail --error timeout     run again what failed with that error
  goqueue doctor                              what is wrong with the backend, and how to mend it
  GOQUEUE_DRIVER=redis://127.0.0.1:6379/0 goqueue queues

Put a password into goqueue.toml or GOQUEUE_DRIVER rather than behind --driver: other users of the
machine can see the arguments of a command.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The configuration file, instead of goqueue.toml or the one that GOQUEUE_CONFIG names
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The backend, instead of the one of the configuration
    #[arg(long, global = true, value_name = "URL", value_parser = url)]
    pub(crate) driver: Option<DriverUrl>,
    /// Show what the driver does, on the standard error
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List every queue, with how many jobs it holds
    #[command(after_help = "Examples:
  goqueue queues
  goqueue queues --json | jq -r '.queues[] | select(.dead > 0).queue'")]
    Queues(Output),
    Stats(Stats),
    Peek(Peek),
    Enqueue(Enqueue),
    /// See and steer the dead letters of a queue: jobs that will not run again by themselves
    #[command(subcommand, after_help = dead::EXAMPLES)]
    Dead(dead::Dead),
    Purge(Purge),
    /// See and steer the message log: topics, messages, groups, dead letters, leases
    #[command(subcommand, after_help = log::EXAMPLES)]
    Log(log::Log),
    /// Bring the backend's tables up to date
    ///
    /// Any number of programs may do so at once; on tables that are up to date it changes nothing.
    #[command(after_help = "Examples:
  goqueue migrate
  goqueue migrate --config /etc/shop/goqueue.toml")]
    Migrate,
    /// Look at the configuration
    #[command(
        subcommand,
        after_help = "Examples:
  goqueue config check"
    )]
    Config(ConfigCommand),
    /// Look for what is wrong with the backend, and say how to mend it
    ///
    /// Exit code 1 when a problem was found; a warning alone is none. It changes nothing that lasts.
    #[command(after_help = "Examples:
  goqueue doctor
  goqueue doctor --json | jq '.findings[] | select(.status != \"good\")'")]
    Doctor(Output),
    /// Write the completions of a shell to the standard output
    #[command(after_help = "Examples:
  goqueue completions bash > /etc/bash_completion.d/goqueue
  goqueue completions zsh > ~/.zfunc/_goqueue
  goqueue completions fish > ~/.config/fish/completions/goqueue.fish")]
    Completions {
        shell: Shell,
    },
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Answer in JSON; docs/src/json-output.md says what each field means
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Confirm {
    /// Do it without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Count the jobs of queues, once or over and over
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue stats mail
  goqueue stats --watch                    every queue, live; q ends it
  goqueue stats mail images --watch --interval 500ms
  goqueue stats --watch --json             an object per line, for other programs
  goqueue stats --watch --count 10 > load.txt")]
pub(crate) struct Stats {
    /// The queues; all of them when none is named
    #[arg(value_name = "QUEUE", value_parser = queue_name)]
    pub(crate) queues: Vec<QueueName>,
    /// Look again and again; on a terminal as a view that stays in its place
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Time between two looks, at least 100ms
    #[arg(long, requires = "watch", default_value = "2s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// End after this many looks
    #[arg(long, requires = "watch", value_name = "N")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Stats {
    /// Whether it is a live view on a terminal, rather than lines for another program.
    pub(crate) fn takes_screen(&self) -> bool {
        self.watch && !self.output.json && std::io::stdout().is_terminal()
    }
}

/// List the jobs of a queue without taking them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue peek mail
  goqueue peek mail --state scheduled --limit 100
  goqueue peek mail --state running --json | jq '.jobs[].payload'")]
pub(crate) struct Peek {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    /// ready, scheduled or running
    #[arg(long, default_value = "ready", value_parser = job_state)]
    pub(crate) state: JobState,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// The most entries to list
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Where to go on: the `next` of the list before
    #[arg(long, value_name = "NEXT")]
    pub(crate) after: Option<String>,
}

/// Store a job
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue enqueue mail.welcome '{\"user_id\": 1}' --queue mail
  goqueue enqueue report.nightly null --delay 5m
  goqueue enqueue mail.welcome - --unique-key welcome-1 < job.json")]
pub(crate) struct Enqueue {
    /// The job's name, as its type has it
    pub(crate) name: String,
    /// The payload; `-` reads it from the standard input
    #[arg(value_name = "JSON")]
    pub(crate) payload: String,
    /// The queue to store it to
    #[arg(long, default_value = "default", value_parser = queue_name)]
    pub(crate) queue: QueueName,
    /// Not before this long from now, such as 30s or 5m
    #[arg(long, value_parser = duration)]
    pub(crate) delay: Option<Duration>,
    /// Store nothing while a job of the queue with this key waits or runs
    #[arg(long, value_name = "KEY")]
    pub(crate) unique_key: Option<String>,
    /// Jobs of the queue with this key run one at a time, in order
    #[arg(long, value_name = "KEY")]
    pub(crate) ordering_key: Option<String>,
    /// How many times it may run in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_attempts: Option<u32>,
    /// How long one run may take
    #[arg(long, value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Text beside the payload; may be given several times
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove every job of a queue that is not running; dead letters stay
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue purge mail
  goqueue purge mail --yes")]
pub(crate) struct Purge {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check every setting without connecting, and show which are in force and who set them
    ///
    /// No password is shown.
    #[command(after_help = "Examples:
  goqueue config check
  goqueue config check --config /etc/shop/goqueue.toml --json")]
    Check(Output),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn visit(command: &clap::Command, path: &str, seen: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        assert!(help.contains("Examples:\n"), "`{path}` has no examples");
        let too_long = help.lines().find(|line| line.len() > 100);
        assert_eq!(too_long, None, "`{path}`: longer than 100 characters");
        seen.push(path.to_owned());
        for sub in command.get_subcommands() {
            visit(sub, &format!("{path} {}", sub.get_name()), seen);
        }
    }

    #[test]
    fn every_command_has_examples_and_they_are_commands() {
        Cli::command().debug_assert();
        let mut seen = Vec::new();
        visit(&Cli::command(), "goqueue", &mut seen);
        assert!(seen.contains(&"goqueue dead retry".to_owned()), "{seen:?}");
    }
}
