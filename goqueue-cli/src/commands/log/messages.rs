use std::fmt::Write;

use goqueue::log::{LogAdmin, Message, MessageDetails, PartitionKey};

use super::{json, note_unknown};
use crate::{
    args::log::{Delete, Messages, Show},
    commands::peek::{more, request},
    confirm::confirm,
    failure::{Failure, Result},
    output::{
        self,
        human::{age, counted, plain, plain_lines, time},
        job::pretty,
        table::Table,
    },
};

pub(super) async fn list(admin: &LogAdmin, args: &Messages) -> Result {
    let (topic, partition) = (&args.topic, args.partition.as_ref());
    let page = admin
        .messages(topic, partition, request(&args.page))
        .await?;
    if args.output.json {
        return output::json(&json::Messages {
            topic: topic.to_string(),
            messages: page.items.iter().map(json::MessageLine::new).collect(),
            next: page.next,
        });
    }
    if page.items.is_empty() && args.page.after.is_none() {
        note_unknown(admin, topic).await?;
    }
    let mut table = Table::new(&["PARTITION", ">OFFSET", "ID", "PUBLISHED", "PAYLOAD"]);
    for message in &page.items {
        table.plain_row(&[
            message.partition.as_str(),
            &message.offset.to_string(),
            message.id.as_str(),
            &time(message.published_at),
            &payload(message),
        ]);
    }
    table.print()?;
    more(page.next.as_deref());
    Ok(())
}

pub(super) async fn show(admin: &LogAdmin, args: &Show) -> Result {
    let found = admin.message(&args.topic, &args.id).await?;
    if found.is_empty() {
        return Err(none(&args.topic, &args.id));
    }
    if args.output.json {
        let shown = |details: &MessageDetails| json::ShownMessage {
            message: json::MessageLine::new(&details.message),
            open: details.open.iter().map(open).collect(),
        };
        return output::json(&json::Shown {
            topic: args.topic.to_string(),
            messages: found.iter().map(shown).collect(),
        });
    }
    let pages: Vec<String> = found.iter().map(page).collect();
    output::text(&pages.join("\n"))
}

pub(super) async fn delete(admin: &LogAdmin, args: &Delete) -> Result {
    let (topic, id) = (&args.topic, &args.id);
    let mut found = admin.message(topic, id).await?;
    found.retain(|details| {
        let is_meant = |partition: &PartitionKey| details.message.partition == *partition;
        args.partition.as_ref().is_none_or(is_meant)
    });
    let message = match &found[..] {
        [] => return Err(none(topic, id)),
        [details] => &details.message,
        several => {
            let partitions = several
                .iter()
                .map(|details| details.message.partition.as_str());
            let partitions: Vec<_> = partitions.map(plain).collect();
            let message = format!(
                "{} partitions of topic `{topic}` have a message `{id}`",
                several.len()
            );
            let help = format!("say which: `--partition` {}", partitions.join(", "));
            return Err(Failure::usage(message).help(help));
        }
    };
    let (partition, offset) = (&message.partition, message.offset);
    let what = format!(
        "this removes message `{id}` of topic `{topic}`, partition `{partition}`, offset {offset}, for \
         every group, read or not"
    );
    confirm(&what, args.confirm.yes)?;
    let is_done = admin.delete_message(topic, partition, offset).await?;
    let done = u64::from(is_done);
    if args.output.json {
        let (topic, interrupted) = (topic.to_string(), false);
        return output::json(&json::Done {
            topic,
            done,
            interrupted,
        });
    }
    let said = if is_done {
        "removed"
    } else {
        "somebody else has removed"
    };
    output::text(&format!("{said} message `{id}` of topic `{topic}`\n"))
}

fn none(topic: &goqueue::log::TopicName, id: &goqueue::log::MessageId) -> Failure {
    Failure::new(format!("topic `{topic}` has no message `{id}`"))
        .help(format!("`goqueue log messages {topic}` lists those it has"))
}

fn open(
    (group, state): &(goqueue::log::GroupName, goqueue::log::store::DeliveryState),
) -> json::Open {
    json::Open {
        group: group.to_string(),
        attempts: state.attempt,
        invisible_for_ms: crate::output::json::millis(state.invisible_for),
        holds_partition: state.is_holding,
        last_error: state.last_error.clone(),
    }
}

/// A payload on one line.
pub(super) fn payload(message: &Message) -> String {
    match std::str::from_utf8(&message.payload) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("({} bytes that are no text)", message.payload.len()),
    }
}

/// A message on a page of text.
fn page(details: &MessageDetails) -> String {
    let message = &details.message;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<12}  {}", plain(value));
    };
    line("id", message.id.as_str());
    line("partition", message.partition.as_str());
    line("offset", &message.offset.to_string());
    line("published", &time(message.published_at));
    for (group, state) in &details.open {
        let mut stands = format!("handed out {}", counted(state.attempt.into(), "time"));
        if state.is_holding {
            stands += ", holds its partition";
        }
        if let Some(error) = &state.last_error {
            stands += &format!(", failed: {error}");
        }
        if !state.invisible_for.is_zero() {
            stands += &format!(", invisible for {}", age(state.invisible_for));
        }
        line(&format!("for {group}"), &stands);
    }
    if !message.metadata.is_empty() {
        text += "\nmetadata\n";
        for (name, value) in &message.metadata {
            let _ = writeln!(text, "  {}: {}", plain(name), plain(value));
        }
    }
    let json = serde_json::from_slice::<Box<serde_json::value::RawValue>>(&message.payload);
    let body = json.map_or_else(|_| payload(message), |json| pretty(&json));
    text += "\npayload\n";
    for line in plain_lines(&body).lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}
