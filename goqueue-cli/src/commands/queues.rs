use goqueue::QueueName;

use crate::{
    args::Output,
    backend::Backend,
    failure::Result,
    output::{
        self,
        human::{age, count},
        json::{QueueLine, Queues},
        table::{Look, Table},
    },
};

pub(super) async fn run(backend: &Backend, output: Output) -> Result {
    let names = backend.inspect()?.queues().await?;
    let queues = counts(backend, &names).await?;
    if names.is_empty() && !output.json {
        eprintln!("note: no queue has been used here yet");
    }
    print(queues, output)
}

/// Asks for one queue after the other.
pub(super) async fn counts(backend: &Backend, names: &[QueueName]) -> Result<Vec<QueueLine>> {
    let inspect = backend.inspect()?;
    let mut lines = Vec::with_capacity(names.len());
    for name in names {
        lines.push(QueueLine::new(name.as_str(), &inspect.stats(name).await?));
    }
    Ok(lines)
}

pub(super) fn print(queues: Vec<QueueLine>, output: Output) -> Result {
    if output.json {
        return output::json(&Queues { queues });
    }
    let mut table = Table::new(&[
        "QUEUE",
        ">READY",
        ">SCHEDULED",
        ">RUNNING",
        ">DEAD",
        ">OLDEST READY",
    ]);
    for line in &queues {
        let dead = if line.dead > 0 {
            Look::Bad
        } else {
            Look::Plain
        };
        table.row(&[
            (&line.queue, Look::Plain),
            (&count(line.ready), Look::Plain),
            (&count(line.scheduled), Look::Plain),
            (&count(line.running), Look::Plain),
            (&count(line.dead), dead),
            (&oldest(line), Look::Plain),
        ]);
    }
    table.print()
}

/// How long the longest-waiting ready job has been due.
pub(super) fn oldest(line: &QueueLine) -> String {
    let since = line.oldest_ready_ms.map(std::time::Duration::from_millis);
    since.map_or_else(|| "-".into(), age)
}
