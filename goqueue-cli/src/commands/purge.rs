use crate::{
    args::Purge,
    backend::Backend,
    confirm::confirm,
    failure::{Failure, Result},
    output::{self, human::counted, json},
    progress::follow,
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

    let left = async || {
        let now = inspect.stats(queue).await.ok()?;
        Some(now.ready + now.scheduled)
    };
    let done = follow("removing", Some(waiting), inspect.purge(queue), left).await;
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
