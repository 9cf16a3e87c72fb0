//! Hooks that see every job on its way in, whichever way it comes.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goqueue_core::{
    BoxError, EnqueueHook, Enqueued, Envelope, Error, Handler, Job, JobContext, JobOptions,
    JobResult, Queue, QueueName, Result, Worker,
    driver::{JobInfo, JobState, PageRequest},
    queue::{EnqueuedJob, IncomingJob, hook_fn},
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pay {
    cents: i64,
}

impl Job for Pay {
    const NAME: &'static str = "pay";
    const QUEUE: &'static str = "money";

    fn options(&self) -> JobOptions {
        let mut options = JobOptions::default();
        options.max_attempts = Some(3);
        options
    }
}

impl Handler for Pay {
    /// Pays in instalments of 100, so that it enqueues from within a worker.
    async fn handle(self, cx: JobContext) -> JobResult {
        if self.cents > 100 {
            let rest = Pay {
                cents: self.cents - 100,
            };
            cx.queue_handle().enqueue(rest).await?;
        }
        Ok(())
    }
}

fn memory() -> Queue {
    Queue::new(MemoryDriver::new())
}

async fn stored_in(queue: &Queue, name: &str) -> Vec<JobInfo> {
    let name = QueueName::new(name).unwrap();
    let inspect = queue.inspect().unwrap();
    let mut jobs = Vec::new();
    for state in [JobState::Ready, JobState::Scheduled] {
        let page = inspect.peek(&name, state, PageRequest::first(100)).await;
        jobs.extend(page.unwrap().items);
    }
    jobs
}

fn sources(jobs: &[JobInfo]) -> Vec<Option<String>> {
    let envelopes = jobs.iter().map(|job| Envelope::decode(&job.body).unwrap());
    envelopes
        .map(|envelope| envelope.headers.get("source").cloned())
        .collect()
}

fn from_web() -> impl EnqueueHook {
    hook_fn(|job| {
        job.headers_mut().insert("source".into(), "web".into());
        Ok(())
    })
}

/// Writes down everything it is shown.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn read(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl EnqueueHook for Diary {
    fn before(&self, job: &mut IncomingJob) -> Result<(), BoxError> {
        let text = format!("before {} {}", job.name(), job.payload().get());
        self.0.lock().unwrap().push(text);
        Ok(())
    }

    fn after(&self, job: &EnqueuedJob, answer: &Result<Enqueued>) {
        let answer = match answer {
            Ok(Enqueued::Stored(id)) => format!("stored, the same id: {}", *id == job.id),
            Ok(Enqueued::Duplicate(id)) => format!("duplicate, the same id: {}", *id == job.id),
            Err(error) => error.to_string(),
        };
        let text = format!("after {} in {}: {answer}", job.name, job.queue);
        self.0.lock().unwrap().push(text);
    }
}

#[tokio::test]
async fn a_hook_sees_a_job_whichever_way_it_comes() {
    let plain = memory();
    let queue = plain.with_hook(from_web());
    let pay = Pay { cents: 100 };
    queue.enqueue(pay.clone()).await.unwrap();
    queue.enqueue_all([pay.clone(), pay.clone()]).await.unwrap();
    let raw = queue.enqueue_raw("pay", r#"{"cents":100}"#);
    raw.queue("money").await.unwrap();
    let new = queue.enqueue(pay.clone()).into_new_job().unwrap();
    assert_eq!(
        Envelope::decode(&new.body).unwrap().headers["source"],
        "web"
    );
    queue.driver().push(vec![new]).await.unwrap();
    // Not through the handle without it.
    plain.enqueue(pay).await.unwrap();

    let web = Some("web".to_owned());
    let mut expected = vec![web; 5];
    expected.push(None);
    assert_eq!(sources(&stored_in(&plain, "money").await), expected);
}

#[tokio::test]
async fn a_hook_sees_what_a_handler_enqueues_and_outlives_other_settings() {
    let diary = Diary::default();
    let queue = memory().with_hook(diary.clone());
    let queue = queue.with_config(queue.config().clone());
    queue.enqueue(Pay { cents: 250 }).await.unwrap();
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Pay>()
        .build()
        .unwrap();
    worker.drain().await.unwrap();
    let seen = diary.read();
    let seen: Vec<_> = seen.iter().filter(|text| text.starts_with("b")).collect();
    assert_eq!(
        seen,
        [
            r#"before pay {"cents":250}"#,
            r#"before pay {"cents":150}"#,
            r#"before pay {"cents":50}"#
        ]
    );
}

#[tokio::test]
async fn a_hook_changes_queue_delay_and_options() {
    let queue = memory().with_hook(hook_fn(|job| {
        assert_eq!((job.queue().as_str(), job.delay()), ("money", SECOND));
        assert_eq!(job.driver(), "memory");
        assert_eq!(job.options().max_attempts, Some(7));
        job.set_queue(QueueName::new("slow")?);
        job.set_delay(job.delay() * 60);
        job.options_mut().max_attempts = Some(2);
        job.options_mut().unique_key = Some("only".into());
        Ok(())
    }));
    let pay = || {
        let enqueue = queue.enqueue(Pay { cents: 1 });
        enqueue.max_attempts(7).delay(SECOND)
    };
    let first = pay().await.unwrap();
    assert_eq!(pay().await.unwrap(), Enqueued::Duplicate(first.id()));

    let [job] = stored_in(&queue, "slow").await.try_into().unwrap();
    let envelope = Envelope::decode(&job.body).unwrap();
    assert_eq!((job.id, job.state), (first.id(), JobState::Scheduled));
    assert!(job.due_in > 50 * SECOND, "{:?}", job.due_in);
    assert_eq!(envelope.queue.as_str(), "slow");
    assert_eq!(envelope.max_attempts, Some(2));
    assert!(stored_in(&queue, "money").await.is_empty());
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_hook_refuses_and_nothing_is_stored() {
    let diary = Diary::default();
    let refuse = hook_fn(|job| {
        let pay: Pay = serde_json::from_str(job.payload().get())?;
        if pay.cents < 0 {
            return Err("a negative amount".into());
        }
        Ok(())
    });
    let queue = memory().with_hook(refuse).with_hook(diary.clone());
    let bad = Pay { cents: -5 };
    let error = queue.enqueue(bad.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }) && !error.is_transient());
    assert_eq!(
        error.to_string(),
        "job `pay` was refused: a negative amount"
    );
    let error = queue.enqueue(bad.clone()).into_new_job().unwrap_err();
    assert!(matches!(error, Error::Refused { .. }));
    // The hooks behind the one that refused saw nothing.
    assert!(diary.read().is_empty());

    let jobs = [Pay { cents: 1 }, bad, Pay { cents: 2 }];
    let Err(Error::PartialBatch(batch)) = queue.enqueue_all(jobs).await else {
        panic!("one of three is refused");
    };
    assert_eq!(batch.failed().collect::<Vec<_>>(), [1]);
    assert_eq!(stored_in(&queue, "money").await.len(), 2);
    assert_eq!(
        diary.read(),
        [
            r#"before pay {"cents":1}"#,
            r#"before pay {"cents":2}"#,
            "after pay in money: stored, the same id: true",
            "after pay in money: stored, the same id: true",
        ]
    );
}

#[tokio::test]
async fn what_a_hook_sets_is_checked() {
    let with = |name: &'static str| {
        memory().with_hook(hook_fn(move |job| {
            job.headers_mut().insert(name.into(), "x".into());
            Ok(())
        }))
    };
    assert!(with("fine").enqueue(Pay { cents: 1 }).await.is_ok());
    let error = with("not fine").enqueue(Pay { cents: 1 }).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("invalid header name `not fine`"),
        "{error}"
    );
}

#[tokio::test]
async fn hooks_are_shown_the_answers() {
    let diary = Diary::default();
    let queue = memory().with_hook(diary.clone());
    let pay = || queue.enqueue(Pay { cents: 1 }).unique_key("k");
    pay().await.unwrap();
    assert!(pay().await.unwrap().is_duplicate());
    let after = |diary: &Diary| {
        let mut seen = diary.read();
        seen.retain(|text| text.starts_with("after"));
        seen
    };
    assert_eq!(
        after(&diary),
        [
            "after pay in money: stored, the same id: true",
            "after pay in money: duplicate, the same id: false",
        ]
    );
    queue.close().await.unwrap();
    pay().await.unwrap_err();
    let jobs = [Pay { cents: 1 }, Pay { cents: 2 }];
    queue.enqueue_all(jobs).await.unwrap_err();
    assert_eq!(
        after(&diary),
        ["after pay in money: driver `memory` is closed"; 3]
    );
}

#[tokio::test]
async fn hooks_run_in_the_order_they_were_added() {
    let note = |text: &'static str| {
        hook_fn(move |job| {
            let order = job.headers_mut().entry("order".into()).or_default();
            order.push_str(text);
            Ok(())
        })
    };
    let queue = memory().with_hook(note("a")).with_hook(note("b"));
    let job = queue.enqueue(Pay { cents: 1 }).into_new_job().unwrap();
    assert_eq!(Envelope::decode(&job.body).unwrap().headers["order"], "ab");
}
