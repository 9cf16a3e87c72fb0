use goqueue::log::LogAdmin;

use super::{json, note_unknown};
use crate::{
    args::{
        Output,
        log::{Purge, Stats},
    },
    confirm::confirm,
    failure::Result,
    output::{
        self,
        human::{age, count, counted},
        table::{Look, Table},
    },
    progress::follow,
};

pub(super) async fn list(admin: &LogAdmin, output: Output) -> Result {
    let topics = admin.topics().await?;
    if output.json {
        let topics = topics.into_iter().map(|info| json::Topic {
            topic: info.topic.to_string(),
            partitions: info.partitions,
            span: info.span,
            groups: info.groups,
        });
        let topics = topics.collect();
        return output::json(&json::Topics { topics });
    }
    if topics.is_empty() {
        eprintln!("note: no topic has been used here yet");
    }
    let mut table = Table::new(&["TOPIC", ">PARTITIONS", ">GROUPS", ">OFFSETS HELD"]);
    for info in &topics {
        let (partitions, groups, span) = (info.partitions, info.groups, info.span);
        table.plain_row(&[
            info.topic.as_str(),
            &count(partitions),
            &count(groups),
            &count(span),
        ]);
    }
    table.print()
}

pub(super) async fn stats(admin: &LogAdmin, args: &Stats) -> Result {
    let letters = args.topic.dead_letters(&args.suffix.suffix)?;
    let stats = admin.stats(&args.topic, &letters).await?;
    if args.output.json {
        let groups = stats.groups.iter().map(|(group, lag)| json::GroupLag {
            group: group.to_string(),
            lag: *lag,
        });
        return output::json(&json::Stats {
            topic: args.topic.to_string(),
            messages: stats.size.messages,
            bytes: stats.size.bytes,
            delayed: stats.size.delayed,
            oldest_ms: stats.size.oldest.map(crate::output::json::millis),
            partitions: stats.partitions,
            groups: groups.collect(),
            dead_letters: stats.dead_letters,
        });
    }
    if stats.partitions == 0 {
        note_unknown(admin, &args.topic).await?;
    }
    let mut table = Table::new(&["WHAT", ">COUNT"]);
    let size = &stats.size;
    let oldest = size.oldest.map_or_else(|| "-".into(), age);
    for (what, value) in [
        ("messages", count(size.messages)),
        ("not visible yet", count(size.delayed)),
        ("bytes of payload", count(size.bytes)),
        ("oldest message", oldest),
        ("partitions", count(stats.partitions)),
    ] {
        table.plain_row(&[what, &value]);
    }
    let look = if stats.dead_letters > 0 {
        Look::Bad
    } else {
        Look::Plain
    };
    let dead = count(stats.dead_letters);
    table.row(&[("dead letters", Look::Plain), (&dead, look)]);
    for (group, lag) in &stats.groups {
        table.plain_row(&[&format!("behind: {group}"), &count(*lag)]);
    }
    table.print()
}

pub(super) async fn purge(admin: &LogAdmin, args: &Purge) -> Result {
    let topic = &args.topic;
    let size = async || {
        admin
            .stats(topic, topic)
            .await
            .ok()
            .map(|stats| stats.size.messages)
    };
    let before = size().await;
    if before == Some(0) {
        note_unknown(admin, topic).await?;
    }
    let messages = counted(before.unwrap_or_default(), "message");
    let what = format!("this removes {messages} of topic `{topic}` for every group, read or not");
    confirm(&what, args.confirm.yes)?;
    let done = follow("removing", before, admin.purge_topic(topic), size).await?;
    if args.output.json {
        let topic = topic.to_string();
        let interrupted = false;
        return output::json(&json::Done {
            topic,
            done,
            interrupted,
        });
    }
    let messages = counted(done, "message");
    output::text(&format!("removed {messages} of topic `{topic}`\n"))
}
