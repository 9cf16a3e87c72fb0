use std::time::Duration;

use goqueue::driver::DeadLetterInfo;

use super::{page, step};
use crate::{
    args::dead::List,
    backend::Backend,
    commands::peek::more,
    failure::Result,
    output::{
        self,
        human::{age, count, now},
        job::{content, dead_letter},
        json,
        table::Table,
    },
};

pub(in crate::commands) async fn run(backend: &Backend, args: &List) -> Result {
    let queue = &args.queue;
    let (letters, next) = find(backend, args).await?;
    if args.output.json {
        return output::json(&json::DeadLetters {
            queue: queue.to_string(),
            dead_letters: letters.iter().map(dead_letter).collect(),
            next,
        });
    }
    let all = backend.inspect()?.stats(queue).await?.dead;
    if all == 0 {
        backend.note_unknown(queue).await?;
    }
    table(&letters).print()?;
    let shown = count(letters.len() as u64);
    eprintln!(
        "note: {shown} of the {} dead letters of queue `{queue}`",
        count(all)
    );
    more(next.as_deref());
    Ok(())
}

/// The letters that match, up to the limit, and where to go on.
async fn find(backend: &Backend, args: &List) -> Result<(Vec<DeadLetterInfo>, Option<String>)> {
    let (inspect, queue) = (backend.inspect()?, &args.queue);
    let limit = args.page.limit as usize;
    let mut after = args.page.after.clone();
    if args.filter.is_empty() {
        let page = page(inspect, queue, after, limit).await?;
        return Ok((page.items, page.next));
    }
    let (mut found, step) = (Vec::new(), step(backend));
    loop {
        let from = after.clone();
        let some = page(inspect, queue, from.clone(), step).await?;
        let wanted = limit - found.len();
        let matching = some.items.iter().enumerate();
        let matching: Vec<usize> = matching
            .filter(|(_, letter)| args.filter.matches(letter))
            .map(|(at, _)| at)
            .collect();
        let is_full = matching.len() >= wanted;
        let last = matching.get(wanted - 1).copied();
        let kept = matching.into_iter().take(wanted);
        found.extend(kept.map(|at| some.items[at].clone()));
        if is_full {
            // Asked again for just as many, the backend says where to go on.
            let again = last.map_or(step, |at| at + 1);
            return Ok((found, page(inspect, queue, from, again).await?.next));
        }
        match some.next {
            Some(next) => after = Some(next),
            None => return Ok((found, None)),
        }
    }
}

fn table(letters: &[DeadLetterInfo]) -> Table {
    let now = now();
    let mut table = Table::new(&["ID", "NAME", "REASON", ">TRIES", ">AGE", "ERROR"]);
    for letter in letters {
        let content = content(&letter.body);
        table.plain_row(&[
            &letter.id.to_string(),
            content.name.as_deref().unwrap_or("-"),
            letter.reason.as_str(),
            &letter.attempts.to_string(),
            &age(Duration::from_millis(now.saturating_sub(letter.died_at))),
            &letter.error,
        ]);
    }
    table
}
