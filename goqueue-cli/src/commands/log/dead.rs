//! Dead letters of the log: messages of a topic of their own.

use goqueue::{
    driver::PageRequest,
    log::{Letters, LogAdmin, Message, MessageId, TopicName},
};

use super::{json, messages::payload, note_unknown};
use crate::{
    args::log::{DeadList, DeadPurge, Requeue},
    commands::peek::{more, request},
    confirm::confirm,
    failure::{Failure, Result},
    output::{
        self,
        human::{counted, time},
        table::Table,
    },
    progress::{Interrupt, Progress, follow},
};

/// How many letters are requeued at a time.
const STEP: usize = 100;

pub(super) async fn list(admin: &LogAdmin, args: &DeadList) -> Result {
    let letters = args.topic.dead_letters(&args.suffix.suffix)?;
    let page = admin.messages(&letters, None, request(&args.page)).await?;
    if args.output.json {
        return output::json(&json::DeadLetters {
            topic: letters.to_string(),
            dead_letters: page.items.iter().map(json::DeadLetter::new).collect(),
            next: page.next,
        });
    }
    if page.items.is_empty() && args.page.after.is_none() {
        note_unknown(admin, &args.topic).await?;
        eprintln!("note: topic `{letters}` holds no dead letter");
    }
    let mut table = Table::new(&["ID", "PARTITION", "GROUP", ">TRIES", "FAILED", "ERROR"]);
    for message in &page.items {
        table.plain_row(&row(message).each_ref().map(String::as_str));
    }
    table.print()?;
    more(page.next.as_deref());
    Ok(())
}

fn row(message: &Message) -> [String; 6] {
    let id = message.id.to_string();
    let partition = message.partition.to_string();
    match message.dead_letter() {
        Some(facts) => [
            id,
            partition,
            facts.group.to_string(),
            facts.failure_count.to_string(),
            time(facts.failed_at),
            facts.last_error,
        ],
        None => {
            let none = || "-".to_owned();
            let what = format!("(no dead letter: {})", payload(message));
            [id, partition, none(), none(), none(), what]
        }
    }
}

pub(super) async fn requeue(admin: &LogAdmin, args: Requeue) -> Result {
    let letters = args.topic.dead_letters(&args.suffix.suffix)?;
    let interrupt = Interrupt::listen();
    let mut done = 0;
    let ended = if args.all {
        requeue_all(admin, &letters, &interrupt, &mut done).await
    } else {
        requeue_these(admin, &letters, &args.ids, &interrupt, &mut done).await
    };
    let is_interrupted = match ended {
        Ok(is_interrupted) => is_interrupted,
        Err(failure) if done == 0 => return Err(failure),
        Err(failure) => {
            let so_far = counted(done, "dead letter");
            return Err(failure.help(format!(
                "{so_far} had been requeued by then, and the rest is where it was: say it again"
            )));
        }
    };
    if args.output.json {
        output::json(&json::Done {
            topic: letters.to_string(),
            done,
            interrupted: is_interrupted,
        })?;
    } else {
        let moved = counted(done, "dead letter");
        let topic = &args.topic;
        output::text(&format!("requeued {moved} of topic `{topic}`\n"))?;
    }
    if is_interrupted {
        let failure = Failure::new("interrupted");
        return Err(failure.help("the rest is where it was: say it again to go on"));
    }
    Ok(())
}

async fn requeue_all(
    admin: &LogAdmin,
    letters: &TopicName,
    interrupt: &Interrupt,
    done: &mut u64,
) -> Result<bool> {
    let mut progress = Progress::new("requeueing");
    let mut after = None;
    loop {
        let page = PageRequest { limit: STEP, after };
        let page = admin.messages(letters, None, page).await?;
        let ids: Vec<MessageId> = page
            .items
            .iter()
            .map(|message| message.id.clone())
            .collect();
        for some in ids.chunks(STEP) {
            if interrupt.is_on() {
                return Ok(true);
            }
            *done += admin.requeue(letters, &Letters::Ids(some.into())).await?;
            progress.at(*done, None);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(false),
        }
    }
}

async fn requeue_these(
    admin: &LogAdmin,
    letters: &TopicName,
    ids: &[MessageId],
    interrupt: &Interrupt,
    done: &mut u64,
) -> Result<bool> {
    for id in ids {
        if interrupt.is_on() {
            return Ok(true);
        }
        let moved = admin
            .requeue(letters, &Letters::Ids(vec![id.clone()]))
            .await?;
        if moved == 0 {
            eprintln!("note: topic `{letters}` has no dead letter `{id}`");
        }
        *done += moved;
    }
    Ok(false)
}

pub(super) async fn purge(admin: &LogAdmin, args: &DeadPurge) -> Result {
    let letters = args.topic.dead_letters(&args.suffix.suffix)?;
    let left = async || {
        admin
            .stats(&letters, &letters)
            .await
            .ok()
            .map(|stats| stats.size.messages)
    };
    let before = left().await;
    if before == Some(0) {
        note_unknown(admin, &args.topic).await?;
    }
    let count = counted(before.unwrap_or_default(), "dead letter");
    let what = format!("this deletes {count} of topic `{}` for good", args.topic);
    confirm(&what, args.confirm.yes)?;
    let done = follow("deleting", before, admin.purge_topic(&letters), left).await?;
    if args.output.json {
        let (topic, interrupted) = (letters.to_string(), false);
        return output::json(&json::Done {
            topic,
            done,
            interrupted,
        });
    }
    let deleted = counted(done, "dead letter");
    output::text(&format!("deleted {deleted} of topic `{}`\n", args.topic))
}
