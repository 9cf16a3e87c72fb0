//! `goqueue dead …`

use clap::{Args, Subcommand};
use goqueue::{JobId, QueueName, dead_letter::DeadReason};

use crate::failure::{Failure, Result};

use super::{
    Confirm, Output, PageArgs,
    values::{job_id, queue_name, reason},
};

pub(super) const EXAMPLES: &str = "Examples:
  goqueue dead list mail
  goqueue dead show mail 0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e
  goqueue dead retry mail --error 'connection refused'
  goqueue dead delete mail --reason undecodable";

#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    List(List),
    Show(Show),
    Retry(Retry),
    Delete(Delete),
    Purge(Purge),
}

/// List dead letters, the oldest job first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue dead list mail
  goqueue dead list mail --name mail.welcome --error timeout --limit 100
  goqueue dead list mail --json | jq -r '.dead_letters[].error' | sort | uniq -c")]
pub(crate) struct List {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Show one dead letter in full: payload, error, history, headers
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue dead show mail 0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e
  goqueue dead show mail 0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e --json | jq .payload")]
pub(crate) struct Show {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    #[arg(value_parser = job_id)]
    pub(crate) id: JobId,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Make dead letters ready again, with no attempt spent
///
/// Saying it again changes nothing more, and when it was interrupted the rest is still there: say it
/// again. A letter whose unique key belongs to a job that lives stays where it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue dead retry mail 0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e
  goqueue dead retry mail --name mail.welcome
  goqueue dead retry mail --error 'connection refused' --dry-run
  goqueue dead retry mail --all")]
pub(crate) struct Retry {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove dead letters for good
///
/// Saying it again changes nothing more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue dead delete mail 0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e
  goqueue dead delete mail --reason undecodable --dry-run
  goqueue dead delete mail --name mail.welcome --yes")]
pub(crate) struct Delete {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove every dead letter of a queue for good
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue dead purge mail
  goqueue dead purge mail --yes")]
pub(crate) struct Purge {
    #[arg(value_parser = queue_name)]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Conditions that a dead letter has to meet, all of those that are given.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Filter {
    /// Those of jobs with this name
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Those whose error has this text in it, in capitals or not
    #[arg(long, value_name = "TEXT")]
    pub(crate) error: Option<String>,
    /// Those that ended so: exhausted, permanent, worker_lost or undecodable
    #[arg(long, value_parser = reason)]
    pub(crate) reason: Option<DeadReason>,
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The letters with these ids
    #[arg(value_name = "ID", value_parser = job_id, conflicts_with_all = ["all", "name", "error", "reason"])]
    pub(crate) ids: Vec<JobId>,
    /// Every letter of the queue, as far as it meets the conditions
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Say how many it would be, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Dead {
    /// Whether it is said which letters are meant, which is not left to a default.
    pub(crate) fn check(&self) -> Result {
        let which = match self {
            Self::Retry(args) => &args.which,
            Self::Delete(args) => &args.which,
            Self::List(_) | Self::Show(_) | Self::Purge(_) => return Ok(()),
        };
        if which.all || !which.ids.is_empty() || !which.filter.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(
            "which dead letters? name their ids, or say `--all`, `--name`, `--error` or `--reason`",
        ))
    }
}

impl Filter {
    /// Whether every letter meets it.
    pub(crate) fn is_empty(&self) -> bool {
        self.name.is_none() && self.error.is_none() && self.reason.is_none()
    }
}
