use std::{pin::pin, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    args::Purge,
    backend::Backend,
    confirm::confirm,
    failure::{Failure, Result},
    output::{self, human::counted, json},
    progress::Progress,
};

pub(super) async fn run(backend: &Backend, args: &Purge) -> Result {
    let (queue, inspect) = (&args.queue, backend.inspect()?);
    let before = inspect.stats(queue).await?;
    let waiting = before.ready + before.scheduled;
    if waiting == 0 {
        backend.note_unknown(queue).await?;
    }
    let jobs = counted(waiting, "job");
    confirm(
        &format!("this removes {jobs} of queue `{queue}` for good"),
        args.confirm.yes,
    )?;

    let mut progress = Progress::new("removing");
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut purge = pin!(inspect.purge(queue));
    // The backend removes them in bounded steps; what is left tells how far it is.
    let done = loop {
        tokio::select! {
            done = &mut purge => break done,
            _ = ticks.tick() => {
                if let Ok(now) = inspect.stats(queue).await {
                    let left = now.ready + now.scheduled;
                    progress.at(waiting.saturating_sub(left), Some(waiting));
                }
            }
        }
    };
    drop(progress);
    let done = done.map_err(|error| {
        Failure::from(error)
            .instead("let a worker run the queue empty, or remove it in the backend")
    })?;
    if args.output.json {
        let queue = queue.to_string();
        return output::json(&json::Purged { queue, done });
    }
    let done = counted(done, "job");
    output::text(&format!("removed {done} of queue `{queue}`\n"))
}
