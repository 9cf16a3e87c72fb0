use std::{fmt::Write, time::Duration};

use goqueue::{Envelope, driver::DeadLetterInfo};

use crate::{
    args::dead::Show,
    backend::Backend,
    failure::{Failure, Result},
    output::{
        self,
        human::{age, counted, now, plain, plain_lines, time},
        job::{content, dead_letter, pretty},
        json::Content,
        style::{self, BOLD, RESET},
    },
};

pub(in crate::commands) async fn run(backend: &Backend, args: &Show) -> Result {
    let (queue, id) = (&args.queue, args.id);
    let letter = backend.inspect()?.dead_letter(queue, id).await;
    let letter = letter.map_err(|error| {
        let advice = format!("`goqueue dead list {queue} --json` shows each letter in full");
        Failure::from(error).instead(&advice)
    })?;
    let Some(letter) = letter else {
        let message = format!("queue `{queue}` has no dead letter `{id}`");
        let advice = format!("`goqueue dead list {queue}` lists those it has");
        return Err(Failure::new(message).help(advice));
    };
    if args.output.json {
        return output::json(&dead_letter(&letter));
    }
    output::text(&page(&letter, now()))
}

/// The letter on a page of text; `now` in milliseconds since the Unix epoch.
fn page(letter: &DeadLetterInfo, now: u64) -> String {
    let content = content(&letter.body);
    let mut page = Page {
        text: String::new(),
        has_colour: style::has_colour(&std::io::stdout()),
    };
    page.line("id", &letter.id.to_string());
    page.line("queue", letter.queue.as_str());
    page.line(
        "name",
        content.name.as_deref().unwrap_or("(cannot be read)"),
    );
    page.line("reason", letter.reason.as_str());
    for (name, key) in [
        ("unique key", &content.unique_key),
        ("ordering key", &content.ordering_key),
    ] {
        if let Some(key) = key {
            page.line(name, key);
        }
    }
    page.block("error", &plain_lines(&letter.error));
    page.block("history", &history(letter, &content, now));
    if !content.headers.is_empty() {
        let headers = content.headers.iter();
        let headers: Vec<String> = headers
            .map(|(name, value)| format!("{}: {}", plain(name), plain(value)))
            .collect();
        page.block("headers", &headers.join("\n"));
    }
    match (&content.payload, &content.body) {
        (Some(payload), _) => page.block("payload", &plain_lines(&pretty(payload))),
        (None, body) => {
            page.block(
                "stored bytes",
                &plain_lines(body.as_deref().unwrap_or_default()),
            );
        }
    }
    page.text
}

/// What is known of the job's life.
fn history(letter: &DeadLetterInfo, content: &Content, now: u64) -> String {
    let mut lines = Vec::new();
    let ago = |at: u64| age(Duration::from_millis(now.saturating_sub(at)));
    if let Some(at) = content.enqueued_at {
        lines.push(format!("{}  enqueued ({} ago)", time(at), ago(at)));
    }
    let of = content
        .max_attempts
        .map_or_else(String::new, |most| format!(" of at most {most}"));
    let handed_out = counted(letter.attempts.into(), "time");
    lines.push(format!("{:20}  handed out {handed_out}{of}", ""));
    if let Ok(Envelope {
        retry: Some(policy),
        id,
        ..
    }) = Envelope::decode(&letter.body)
    {
        let pauses = 1..letter.attempts.min(10);
        let pauses: Vec<String> = pauses.map(|n| age(policy.delay_after(n, id))).collect();
        if !pauses.is_empty() {
            lines.push(format!("{:20}  pauses between: {}", "", pauses.join(", ")));
        }
    }
    lines.push(format!(
        "{}  died: {} ({} ago)",
        time(letter.died_at),
        letter.reason,
        ago(letter.died_at)
    ));
    lines.join("\n")
}

struct Page {
    text: String,
    has_colour: bool,
}

impl Page {
    fn name(&self, name: &str) -> String {
        if self.has_colour {
            format!("{BOLD}{name}{RESET}")
        } else {
            name.to_owned()
        }
    }

    fn line(&mut self, name: &str, value: &str) {
        let space = " ".repeat(14usize.saturating_sub(name.len()));
        let (name, value) = (self.name(name), plain(value));
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{name}{space}{value}");
    }

    fn block(&mut self, name: &str, lines: &str) {
        let name = self.name(name);
        let _ = writeln!(self.text, "\n{name}");
        for line in lines.lines() {
            let _ = writeln!(self.text, "  {line}");
        }
    }
}
