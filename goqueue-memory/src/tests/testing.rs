use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use goqueue_core::{
    Error, Handler, Job, JobContext, JobError, JobOptions, JobResult, Queue, registry::Registration,
};
use serde::{Deserialize, Serialize};

use super::*;
use crate::testing::TestQueue;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Mail {
    to: String,
}

#[derive(Serialize, Deserialize)]
struct Broken;

/// Enqueues the mails of a list, each in a queue of its own.
#[derive(Serialize, Deserialize)]
struct Newsletter(Vec<String>);

/// Not discovered.
#[derive(Serialize, Deserialize)]
struct Note(u32);

impl Job for Mail {
    const NAME: &'static str = "mail";
    const QUEUE: &'static str = "mails";
}

impl Job for Broken {
    const NAME: &'static str = "broken";

    fn options(&self) -> JobOptions {
        let mut options = JobOptions::default();
        options.max_attempts = Some(2);
        options
    }
}

impl Job for Newsletter {
    const NAME: &'static str = "newsletter";
}

impl Job for Note {
    const NAME: &'static str = "note";
}

impl Handler for Mail {
    async fn handle(self, _: JobContext) -> JobResult {
        Ok(())
    }
}

impl Handler for Broken {
    async fn handle(self, _: JobContext) -> JobResult {
        Err(JobError::from("no use"))
    }
}

impl Handler for Newsletter {
    async fn handle(self, cx: JobContext) -> JobResult {
        for to in self.0 {
            cx.queue_handle()
                .enqueue(Mail { to: to.clone() })
                .queue(to)
                .await?;
        }
        Ok(())
    }
}

impl Handler for Note {
    async fn handle(self, cx: JobContext) -> JobResult {
        cx.state::<Arc<Mutex<Vec<u32>>>>()?
            .lock()
            .unwrap()
            .push(self.0);
        Ok(())
    }
}

inventory::submit!(Registration::of::<Mail>());
inventory::submit!(Registration::of::<Broken>());
inventory::submit!(Registration::of::<Newsletter>());

fn mail(to: &str) -> Mail {
    Mail { to: to.into() }
}

fn message_of(call: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it panics");
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(other) => (*other.downcast::<&str>().unwrap()).to_owned(),
    }
}

async fn enqueue_mails(queue: &Queue) {
    queue.enqueue(mail("a")).delay(MINUTE).await.unwrap();
    queue.enqueue(mail("b")).await.unwrap();
    queue.enqueue(mail("c")).queue("other").await.unwrap();
    queue.enqueue(Note(1)).await.unwrap();
}

#[tokio::test]
async fn enqueued_jobs_are_listed_in_order_wherever_they_are() {
    let test = TestQueue::new();
    assert!(test.enqueued::<Mail>().is_empty());
    enqueue_mails(test.queue()).await;
    assert_eq!(test.enqueued::<Mail>(), [mail("a"), mail("b"), mail("c")]);
    assert_eq!(test.enqueued_in::<Mail>("other"), [mail("c")]);
    assert!(test.enqueued_in::<Mail>("default").is_empty());
    test.assert_enqueued(|mail: &Mail| mail.to == "c");
    test.assert_enqueued::<Note>(|note| note.0 == 1);

    // Running ones have not ended, and bytes that are no envelope are nobody's.
    let request = ReserveRequest {
        queues: vec![QueueShare {
            queue: name("mails"),
            share: 1,
        }],
        ..ask(1)
    };
    assert_eq!(test.driver().reserve(request).await.unwrap().len(), 1);
    test.driver().store(vec![job("no envelope")]).await;
    assert_eq!(test.enqueued::<Mail>().len(), 3);
}

#[tokio::test]
async fn every_page_is_read() {
    let test = TestQueue::new();
    let notes = (0..2_500).map(Note);
    test.queue().enqueue_all(notes).await.unwrap();
    let numbers: Vec<_> = test
        .enqueued::<Note>()
        .into_iter()
        .map(|note| note.0)
        .collect();
    assert!(numbers.iter().copied().eq(0..2_500));
}

#[tokio::test]
async fn a_failed_assertion_lists_what_there_is() {
    let test = TestQueue::new();
    let assert = || test.assert_enqueued::<Mail>(|mail| mail.to == "nobody");
    assert_eq!(
        message_of(assert),
        "no enqueued `mail` job matches; no job is enqueued at all"
    );
    enqueue_mails(test.queue()).await;
    let message = message_of(assert);
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines[0], "no enqueued `mail` job matches; enqueued are:");
    assert!(
        lines[1].starts_with("  `mail` {\"to\":\"a\"} in `mails`, scheduled, "),
        "{message}"
    );
    assert!(
        lines[4].starts_with("  `note` 1 in `default`, ready, "),
        "{message}"
    );
    assert_eq!(lines.len(), 5);
}

#[tokio::test]
async fn wrong_payloads_and_names_are_told() {
    let test = TestQueue::new();
    test.queue()
        .enqueue_raw("mail", r#"{ "from": 1 }"#)
        .await
        .unwrap();
    let message = message_of(|| drop(test.enqueued::<Mail>()));
    assert!(
        message.contains("is no `mail`: missing field `to`"),
        "{message}"
    );
    let message = message_of(|| drop(test.enqueued_in::<Mail>("no name")));
    assert!(
        message.starts_with("invalid queue name `no name`"),
        "{message}"
    );
    test.queue().close().await.unwrap();
    let message = message_of(|| drop(test.dead_letters()));
    assert!(message.contains("driver `memory` is closed"), "{message}");
}

#[tokio::test]
async fn a_drain_runs_what_is_due_in_every_queue_also_new_ones() {
    let test = TestQueue::new();
    assert_eq!(test.drain().await.unwrap().finished, 0);
    let readers = ["x", "y"].map(str::to_owned).to_vec();
    test.queue()
        .enqueue(Newsletter(readers))
        .queue("news")
        .await
        .unwrap();
    test.queue()
        .enqueue(mail("later"))
        .delay(MINUTE)
        .await
        .unwrap();
    assert_eq!(test.drain().await.unwrap().finished, 3);
    assert_eq!(test.enqueued::<Mail>(), [mail("later")]);
    test.advance(MINUTE);
    assert_eq!(test.drain().await.unwrap().finished, 1);
    assert!(test.enqueued::<Mail>().is_empty());
}

#[tokio::test]
async fn a_failing_job_is_retried_as_time_moves_and_dies() {
    let test = TestQueue::new();
    test.queue().enqueue(Broken).await.unwrap();
    assert_eq!(test.drain().await.unwrap().finished, 1);
    assert_eq!(
        test.drain().await.unwrap().finished,
        0,
        "its retry is not due"
    );
    assert!(test.dead_letters().is_empty());
    test.advance(2 * SECOND);
    assert_eq!(test.drain().await.unwrap().finished, 1);
    let letters = test.dead_letters();
    assert_eq!((letters.len(), letters[0].attempts), (1, 2));
    assert_eq!(letters[0].error, "no use");
}

#[tokio::test]
async fn a_worker_of_ones_own_brings_state_and_job_types() {
    let test = TestQueue::new();
    let seen: Arc<Mutex<Vec<u32>>> = Arc::default();
    for n in 0..3 {
        test.queue().enqueue(Note(n)).await.unwrap();
    }
    let worker = || {
        test.worker()
            .only_registered()
            .state(Arc::clone(&seen))
            .concurrency(1)
    };
    assert!(matches!(
        test.drain_with(worker()).await,
        Err(Error::EmptyRegistry)
    ));
    let report = test.drain_with(worker().register::<Note>()).await.unwrap();
    assert_eq!(
        (report.finished, &*seen.lock().unwrap()),
        (3, &vec![0, 1, 2])
    );
}
