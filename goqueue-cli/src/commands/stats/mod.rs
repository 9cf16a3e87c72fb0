//! Counting jobs, once or over and over.

mod history;
mod screen;
mod view;
mod watch;

use crate::{args::Stats, backend::Backend, commands::queues, failure::Result};

pub(super) async fn run(backend: &Backend, args: &Stats) -> Result {
    if args.watch {
        return watch::run(backend, args).await;
    }
    if args.queues.is_empty() {
        return queues::run(backend, args.output).await;
    }
    let lines = queues::counts(backend, &args.queues).await?;
    for (name, line) in args.queues.iter().zip(&lines) {
        if line.ready + line.scheduled + line.running + line.dead == 0 {
            backend.note_unknown(name).await?;
        }
    }
    queues::print(lines, args.output)
}
