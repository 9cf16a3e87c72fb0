use std::io::{Read, stdin};

use goqueue::Enqueued;

use crate::{
    args::Enqueue,
    backend::Backend,
    failure::{Failure, Result},
    output::{self, json},
};

pub(super) async fn run(backend: &Backend, args: Enqueue) -> Result {
    let payload = if args.payload == "-" {
        let mut text = String::new();
        let read = stdin().lock().read_to_string(&mut text);
        read.map_err(|error| Failure::new(format!("the standard input cannot be read: {error}")))?;
        text.trim().to_owned()
    } else {
        args.payload
    };
    let mut enqueue = backend
        .queue()
        .enqueue_raw(args.name, payload)
        .queue(args.queue.as_str());
    if let Some(delay) = args.delay {
        enqueue = enqueue.delay(delay);
    }
    if let Some(key) = args.unique_key {
        enqueue = enqueue.unique_key(key);
    }
    if let Some(key) = args.ordering_key {
        enqueue = enqueue.ordering_key(key);
    }
    if let Some(attempts) = args.max_attempts {
        enqueue = enqueue.max_attempts(attempts);
    }
    if let Some(timeout) = args.timeout {
        enqueue = enqueue.timeout(timeout);
    }
    for (name, value) in args.headers {
        enqueue = enqueue.header(name, value);
    }
    let enqueued = enqueue.await.map_err(|error| {
        Failure::from(error).instead(
            "leave that option out, or name a backend that has it: Redis and MySQL do, and FIFO queues \
             of SQS have keys",
        )
    })?;
    if args.output.json {
        return output::json(&json::Enqueued {
            id: enqueued.id().to_string(),
            queue: args.queue.to_string(),
            duplicate: enqueued.is_duplicate(),
        });
    }
    if let Enqueued::Duplicate(_) = enqueued {
        eprintln!("note: nothing was stored: this job has the unique key already");
    }
    output::text(&format!("{}\n", enqueued.id()))
}
