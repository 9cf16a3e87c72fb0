use goqueue::driver::{JobInfo, JobState, PageRequest};

use crate::{
    args::{PageArgs, Peek},
    backend::Backend,
    failure::{Failure, Result},
    output::{
        self,
        human::age,
        job::{content, job},
        json,
        table::Table,
    },
};

pub(super) async fn run(backend: &Backend, args: &Peek) -> Result {
    let (queue, state) = (&args.queue, args.state);
    let page = backend
        .inspect()?
        .peek(queue, state, request(&args.page))
        .await;
    let page = page.map_err(|error| {
        Failure::from(error).instead(&format!(
            "`goqueue stats {queue}` counts the jobs, and `goqueue dead list {queue}` lists those that \
             failed for good"
        ))
    })?;
    if args.output.json {
        return output::json(&json::Peek {
            queue: queue.to_string(),
            state: state.to_string(),
            jobs: page.items.iter().map(job).collect(),
            next: page.next,
        });
    }
    if page.items.is_empty() && args.page.after.is_none() {
        backend.note_unknown(queue).await?;
        eprintln!("note: queue `{queue}` has no {state} job");
    }
    table(&page.items, state).print()?;
    more(page.next.as_deref());
    Ok(())
}

fn table(jobs: &[JobInfo], state: JobState) -> Table {
    let due = match state {
        JobState::Ready => "DUE",
        JobState::Scheduled => "DUE IN",
        JobState::Running => "LEASE ENDS IN",
    };
    let mut table = Table::new(&["ID", "NAME", ">ATTEMPTS", due, "PAYLOAD"]);
    for info in jobs {
        let content = content(&info.body);
        let due = match state {
            JobState::Ready => "now".into(),
            _ => age(info.due_in),
        };
        table.plain_row(&[
            &info.id.to_string(),
            content.name.as_deref().unwrap_or("-"),
            &info.attempts.to_string(),
            &due,
            content
                .payload
                .as_deref()
                .map_or("(unreadable)", |payload| payload.get()),
        ]);
    }
    table
}

pub(super) fn request(page: &PageArgs) -> PageRequest {
    PageRequest {
        limit: page.limit as usize,
        after: page.after.clone(),
    }
}

/// Says how to see the rest.
pub(super) fn more(next: Option<&str>) {
    if let Some(next) = next {
        eprintln!("note: there is more: go on with `--after {next}`");
    }
}
