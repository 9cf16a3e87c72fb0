//! Running dead letters again, and removing them: step by step, so that an interrupt loses nothing.

use goqueue::{
    JobId, QueueName,
    driver::{Inspect, Selection},
};

use super::{STEP, page, step};
use crate::{
    args::{
        Output,
        dead::{Delete, Filter, Purge, Retry, Which},
    },
    backend::Backend,
    confirm::confirm,
    failure::{Failure, Result},
    output::{
        self,
        human::{count, counted},
        json,
    },
    progress::{Interrupt, Progress, follow},
};

/// What is done to the letters.
#[derive(Clone, Copy)]
enum Act {
    Retry,
    Delete,
}

impl Act {
    /// As in "would retry", "retried", "retrying".
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Retry => ["retry", "retried", "retrying"],
            Self::Delete => ["delete", "deleted", "deleting"],
        }
    }

    async fn on(self, inspect: &dyn Inspect, queue: &QueueName, which: Selection) -> Result<u64> {
        let done = match self {
            Self::Retry => inspect.requeue_dead(queue, which).await,
            Self::Delete => inspect.delete_dead(queue, which).await,
        };
        done.map_err(|error| {
            Failure::from(error).instead("use the backend's own tools for its dead letters")
        })
    }
}

#[derive(Default)]
struct Done {
    matched: u64,
    done: u64,
    is_interrupted: bool,
}

pub(in crate::commands) async fn retry(backend: &Backend, args: Retry) -> Result {
    let job = Job {
        backend,
        queue: &args.queue,
        act: Act::Retry,
        output: args.output,
    };
    job.run(&args.which).await
}

pub(in crate::commands) async fn delete(backend: &Backend, args: Delete) -> Result {
    let job = Job {
        backend,
        queue: &args.queue,
        act: Act::Delete,
        output: args.output,
    };
    if !args.which.dry_run && !args.confirm.yes {
        let letters = counted(job.count(&args.which).await?, "dead letter");
        let queue = &args.queue;
        confirm(
            &format!("this deletes {letters} of queue `{queue}` for good"),
            false,
        )?;
    }
    job.run(&args.which).await
}

pub(in crate::commands) async fn purge(backend: &Backend, args: Purge) -> Result {
    let which = Which {
        ids: Vec::new(),
        all: true,
        filter: Filter::default(),
        dry_run: false,
    };
    let (queue, confirm, output) = (args.queue, args.confirm, args.output);
    let args = Delete {
        queue,
        which,
        confirm,
        output,
    };
    delete(backend, args).await
}

/// One call of the command.
struct Job<'a> {
    backend: &'a Backend,
    queue: &'a QueueName,
    act: Act,
    output: Output,
}

impl Job<'_> {
    async fn run(&self, which: &Which) -> Result {
        if which.dry_run {
            let matched = self.count(which).await?;
            return self.report(
                &Done {
                    matched,
                    ..Done::default()
                },
                true,
            );
        }
        let mut done = Done::default();
        // Afterwards, those that were steered are not there either.
        let there = self.there(&which.ids).await?;
        let interrupt = Interrupt::listen();
        let result = self.carry_out(which, &interrupt, &mut done).await;
        if let Err(failure) = result {
            let [_, past, _] = self.act.words();
            if done.done == 0 {
                return Err(failure);
            }
            let so_far = counted(done.done, "dead letter");
            return Err(failure.help(format!(
                "{so_far} had been {past} by then, and the rest is where it was: say it again"
            )));
        }
        if done.matched == 0 && which.ids.is_empty() {
            self.backend.note_unknown(self.queue).await?;
        }
        if done.done < done.matched && !done.is_interrupted {
            self.explain(which, &there);
        }
        self.report(&done, false)
    }

    async fn carry_out(&self, which: &Which, interrupt: &Interrupt, done: &mut Done) -> Result {
        let (inspect, queue) = (self.backend.inspect()?, self.queue);
        if !self.backend.can_page() {
            return self.in_one_go(which, interrupt, done).await;
        }
        let mut progress = Progress::new(self.act.words()[2]);
        if !which.ids.is_empty() {
            let ids = distinct(&which.ids);
            let all = ids.len() as u64;
            for some in ids.chunks(STEP) {
                if interrupt.is_on() {
                    done.is_interrupted = true;
                    break;
                }
                done.matched += some.len() as u64;
                done.done += self
                    .act
                    .on(inspect, queue, Selection::Ids(some.into()))
                    .await?;
                progress.at(done.done, Some(all));
            }
            return Ok(());
        }
        let all = inspect.stats(queue).await?.dead;
        let (mut seen, mut after) = (0, None);
        loop {
            if interrupt.is_on() {
                done.is_interrupted = true;
                return Ok(());
            }
            let letters = page(inspect, queue, after, STEP).await?;
            let ids = which.filter.matching(&letters.items);
            seen += letters.items.len() as u64;
            done.matched += ids.len() as u64;
            if !ids.is_empty() {
                done.done += self.act.on(inspect, queue, Selection::Ids(ids)).await?;
            }
            progress.at(seen, Some(all));
            match letters.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Where each call goes through all letters, one call does it. Its driver goes step by step, and an
    /// interrupt gives the call up between two of them; the counts then tell how far it came.
    async fn in_one_go(&self, which: &Which, interrupt: &Interrupt, done: &mut Done) -> Result {
        let (inspect, queue) = (self.backend.inspect()?, self.queue);
        let left = async || Some(inspect.stats(queue).await.ok()?.dead);
        let before = inspect.stats(queue).await?.dead;
        let selection = if !which.ids.is_empty() {
            Selection::Ids(distinct(&which.ids))
        } else if which.filter.is_empty() {
            Selection::All
        } else {
            let letters = tokio::select! {
                letters = page(inspect, queue, None, step(self.backend)) => letters?,
                () = interrupt.pressed() => {
                    done.is_interrupted = true;
                    return Ok(());
                }
            };
            Selection::Ids(which.filter.matching(&letters.items))
        };
        done.matched = match &selection {
            Selection::Ids(ids) if ids.is_empty() => return Ok(()),
            Selection::Ids(ids) => ids.len() as u64,
            Selection::All => before,
        };
        let is_all = matches!(selection, Selection::All);
        let matched = done.matched;
        let still = async || {
            let gone = before.saturating_sub(left().await?);
            Some(matched.saturating_sub(gone))
        };
        let doing = self.act.words()[2];
        let work = self.act.on(inspect, queue, selection);
        tokio::select! {
            answer = follow(doing, Some(matched), work, &still) => {
                done.done = answer?;
                if is_all {
                    // The count before was the backend's guess.
                    done.matched = done.done;
                }
            }
            () = interrupt.pressed() => {
                done.is_interrupted = true;
                done.done = matched.saturating_sub(still().await.unwrap_or(matched));
            }
        }
        Ok(())
    }

    /// How many letters it would be.
    async fn count(&self, which: &Which) -> Result<u64> {
        let (inspect, queue) = (self.backend.inspect()?, self.queue);
        if !which.ids.is_empty() {
            return Ok(self.there(&which.ids).await?.len() as u64);
        }
        let all = inspect.stats(queue).await?.dead;
        if which.filter.is_empty() {
            return Ok(all);
        }
        let mut progress = Progress::new("looking");
        let (mut seen, mut matched, mut after) = (0, 0, None);
        loop {
            let letters = page(inspect, queue, after, step(self.backend)).await?;
            seen += letters.items.len() as u64;
            matched += which.filter.matching(&letters.items).len() as u64;
            progress.at(seen, Some(all));
            match letters.next {
                Some(next) => after = Some(next),
                None => return Ok(matched),
            }
        }
    }

    /// Those of the ids that are dead letters.
    async fn there(&self, ids: &[JobId]) -> Result<Vec<JobId>> {
        let (inspect, queue) = (self.backend.inspect()?, self.queue);
        let mut there = distinct(ids);
        if there.is_empty() {
            return Ok(there);
        }
        if !self.backend.can_page() {
            let letters = page(inspect, queue, None, step(self.backend)).await?;
            there.retain(|id| letters.items.iter().any(|letter| letter.id == *id));
            return Ok(there);
        }
        let mut found = Vec::new();
        for id in there {
            if inspect.dead_letter(queue, id).await?.is_some() {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Says why fewer letters than were named have been steered.
    fn explain(&self, which: &Which, there: &[JobId]) {
        let queue = self.queue;
        let named = distinct(&which.ids);
        let gone: Vec<_> = named.iter().filter(|id| !there.contains(id)).collect();
        for id in &gone {
            eprintln!("note: queue `{queue}` has no dead letter `{id}`");
        }
        if let Act::Retry = self.act
            && gone.is_empty()
        {
            eprintln!(
                "note: a letter stays where it is while a live job has its unique key, or when \
                 somebody else was quicker"
            );
        }
    }

    fn report(&self, done: &Done, dry_run: bool) -> Result {
        let [verb, past, _] = self.act.words();
        let queue = self.queue;
        if self.output.json {
            output::json(&json::Steered {
                queue: queue.to_string(),
                matched: done.matched,
                done: done.done,
                dry_run,
                interrupted: done.is_interrupted,
            })?;
        } else if dry_run {
            let letters = counted(done.matched, "dead letter");
            output::text(&format!("would {verb} {letters} of queue `{queue}`\n"))?;
        } else {
            let letters = counted(done.done, "dead letter");
            output::text(&format!("{past} {letters} of queue `{queue}`\n"))?;
            if done.done < done.matched {
                eprintln!("note: {} matched", count(done.matched));
            }
        }
        if done.is_interrupted {
            return Err(
                Failure::new("interrupted").help("the rest is where it was: say it again to go on")
            );
        }
        Ok(())
    }
}

/// Ids, each once.
fn distinct(ids: &[JobId]) -> Vec<JobId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
