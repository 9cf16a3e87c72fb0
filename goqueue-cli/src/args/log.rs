//! `goqueue log …`

use std::time::Duration;

use clap::{Args, Subcommand};
use goqueue::log::{GroupName, MessageId, PartitionKey, TopicName};

use super::{
    Confirm, Output, PageArgs,
    values::{duration, group, message_id, partition, topic},
};

pub(super) const EXAMPLES: &str = "Examples:
  goqueue log topics
  goqueue log lag orders
  goqueue log messages orders --partition customer-3
  goqueue log dead requeue orders --all";

#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    /// List every topic
    #[command(after_help = "Examples:
  goqueue log topics
  goqueue log topics --json | jq -r '.topics[].topic'")]
    Topics(Output),
    Stats(Stats),
    Messages(Messages),
    Show(Show),
    Delete(Delete),
    Purge(Purge),
    Lag(OfGroup),
    /// See and steer the dead letters of a topic
    #[command(
        subcommand,
        after_help = "Examples:
  goqueue log dead list orders
  goqueue log dead requeue orders --all
  goqueue log dead purge orders --suffix .failed --yes"
    )]
    Dead(Dead),
    /// See and set where the groups of a topic read on
    #[command(
        subcommand,
        after_help = "Examples:
  goqueue log offsets list orders
  goqueue log offsets reset orders --group billing --all-partitions --to 0"
    )]
    Offsets(Offsets),
    /// See who reads which partition, and take one away
    #[command(
        subcommand,
        after_help = "Examples:
  goqueue log leases list --topic orders
  goqueue log leases stale --threshold 5m
  goqueue log leases release orders --group billing --partition customer-3"
    )]
    Leases(Leases),
}

/// Count what a topic holds, how far its groups are behind, and its dead letters
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log stats orders
  goqueue log stats orders --json")]
pub(crate) struct Stats {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[command(flatten)]
    pub(crate) suffix: Suffix,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// List the messages of a topic, by partition and offset
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log messages orders
  goqueue log messages orders --partition customer-3 --limit 100
  goqueue log messages orders --json | jq '.messages[].payload'")]
pub(crate) struct Messages {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    /// Those of one partition
    #[arg(long, value_name = "KEY", value_parser = partition)]
    pub(crate) partition: Option<PartitionKey>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Show a message in full: payload, metadata, and how it stands with each group
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log show orders order-17/paid
  goqueue log show orders order-17/paid --json | jq '.messages[0].open'")]
pub(crate) struct Show {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[arg(value_parser = message_id)]
    pub(crate) id: MessageId,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove a message for every group, read or not
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log delete orders order-17/paid
  goqueue log delete orders order-17/paid --partition customer-3 --yes")]
pub(crate) struct Delete {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[arg(value_parser = message_id)]
    pub(crate) id: MessageId,
    /// The one of this partition, where several have one of that id
    #[arg(long, value_name = "KEY", value_parser = partition)]
    pub(crate) partition: Option<PartitionKey>,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove every message of a topic for every group; groups and offsets stay
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log purge orders
  goqueue log purge orders --yes")]
pub(crate) struct Purge {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Show how far each group is behind on each partition
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log lag orders
  goqueue log lag orders --group billing --json")]
pub(crate) struct OfGroup {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    /// One group
    #[arg(long, value_parser = group)]
    pub(crate) group: Option<GroupName>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Suffix {
    /// What the topic of the dead letters has behind the topic's name
    #[arg(long, default_value = "_dlq")]
    pub(crate) suffix: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    List(DeadList),
    Requeue(Requeue),
    Purge(DeadPurge),
}

/// List the dead letters of a topic
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log dead list orders
  goqueue log dead list orders --suffix .failed --json")]
pub(crate) struct DeadList {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[command(flatten)]
    pub(crate) suffix: Suffix,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Publish dead letters back to their topic, for the group that had given them up
///
/// Saying it again changes nothing more, and when it was interrupted the rest is still there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log dead requeue orders 'order-17/paid@billing'
  goqueue log dead requeue orders --all")]
pub(crate) struct Requeue {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    /// The letters with these ids, as `dead list` shows them
    #[arg(value_name = "ID", value_parser = message_id, conflicts_with = "all", required_unless_present = "all")]
    pub(crate) ids: Vec<MessageId>,
    /// Every letter
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) suffix: Suffix,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove every dead letter of a topic for good
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log dead purge orders
  goqueue log dead purge orders --suffix .failed --yes")]
pub(crate) struct DeadPurge {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[command(flatten)]
    pub(crate) suffix: Suffix,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Offsets {
    /// List where each group stands on each partition
    #[command(after_help = "Examples:
  goqueue log offsets list orders
  goqueue log offsets list orders --group billing --json")]
    List(OfGroup),
    Reset(Reset),
}

/// Set where a group reads on: it goes on with the offset after it
///
/// Deliveries that are under way are lost, and what lies behind the new offset is delivered again. It
/// is set as near to what is asked for as the log's messages allow.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log offsets reset orders --group billing --partition customer-3 --to 0
  goqueue log offsets reset orders --group billing --all-partitions --to 0 --yes")]
pub(crate) struct Reset {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[arg(long, value_parser = group)]
    pub(crate) group: GroupName,
    /// On this partition
    #[arg(long, value_name = "KEY", value_parser = partition, conflicts_with = "all_partitions")]
    #[arg(required_unless_present = "all_partitions")]
    pub(crate) partition: Option<PartitionKey>,
    /// On every partition of the topic
    #[arg(long)]
    pub(crate) all_partitions: bool,
    /// The offset that counts as acked; 0 is the beginning
    #[arg(long, value_name = "OFFSET")]
    pub(crate) to: u64,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Leases {
    List(LeaseList),
    Stale(Stale),
    Release(Release),
}

/// List the leases: who reads which partition
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log leases list
  goqueue log leases list --topic orders --group billing --json")]
pub(crate) struct LeaseList {
    /// Those of one topic
    #[arg(long, value_parser = topic)]
    pub(crate) topic: Option<TopicName>,
    /// Those of one group
    #[arg(long, value_parser = group)]
    pub(crate) group: Option<GroupName>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// List leases that ran out, and that nobody took over
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log leases stale
  goqueue log leases stale --threshold 5m --json")]
pub(crate) struct Stale {
    /// Those that ran out at least this long ago
    #[arg(long, default_value = "1m", value_parser = duration)]
    pub(crate) threshold: Duration,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Take a partition away from whoever reads it; another subscriber of the group takes it over
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  goqueue log leases release orders --group billing --partition customer-3
  goqueue log leases release orders --group billing --partition customer-3 --yes")]
pub(crate) struct Release {
    #[arg(value_parser = topic)]
    pub(crate) topic: TopicName,
    #[arg(long, value_parser = group)]
    pub(crate) group: GroupName,
    #[arg(long, value_name = "KEY", value_parser = partition)]
    pub(crate) partition: PartitionKey,
    #[command(flatten)]
    pub(crate) confirm: Confirm,
    #[command(flatten)]
    pub(crate) output: Output,
}
