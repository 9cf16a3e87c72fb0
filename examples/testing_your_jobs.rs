//! A small application, and how its jobs are tested without a backend and without waiting.
//!
//! ```text
//! cargo run -p goqueue-examples --example testing_your_jobs
//! cargo test --example testing_your_jobs
//! ```

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goqueue::{prelude::*, testing::TestQueue};
use serde::{Deserialize, Serialize};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// What the application does when someone signs up. It takes any queue, so a test brings its own.
async fn sign_up(queue: &Queue, user: &str) -> goqueue::Result<()> {
    queue.enqueue(Welcome { user: user.into() }).await?;
    queue
        .enqueue(Remind { user: user.into() })
        .delay(DAY)
        .await?;
    Ok(())
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Job)]
#[job(
    name = "mail.welcome",
    queue = "mail",
    unique_key = "self.user",
    max_attempts = 3,
    initial_delay = "1m"
)]
struct Welcome {
    user: String,
}

impl Handler for Welcome {
    async fn handle(self, cx: JobContext) -> JobResult {
        let letter = format!("welcome, {}", self.user);
        Ok(cx.state::<Arc<PostOffice>>()?.send(letter)?)
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Job)]
#[job(name = "mail.remind", queue = "mail")]
struct Remind {
    user: String,
}

impl Handler for Remind {
    async fn handle(self, cx: JobContext) -> JobResult {
        let letter = format!("{}, please confirm your address", self.user);
        Ok(cx.state::<Arc<PostOffice>>()?.send(letter)?)
    }
}

/// Stands for a mail server: keeps what it is given, and can be shut.
#[derive(Debug, Default)]
struct PostOffice(Mutex<Letters>);

#[derive(Debug, Default)]
struct Letters {
    sent: Vec<String>,
    is_shut: bool,
}

impl PostOffice {
    fn send(&self, letter: String) -> io::Result<()> {
        let mut letters = self.lock();
        if letters.is_shut {
            return Err(io::Error::other("the post office is shut"));
        }
        letters.sent.push(letter);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    let (test, post) = (TestQueue::new(), Arc::new(PostOffice::default()));
    sign_up(test.queue(), "ada").await?;
    test.drain_with(test.worker().state(Arc::clone(&post)))
        .await?;
    println!("today: {:?}", post.lock().sent);

    test.advance(DAY);
    test.drain_with(test.worker().state(Arc::clone(&post)))
        .await?;
    println!("a day later: {:?}", post.lock().sent);
    Ok(())
}

#[cfg(test)]
mod tests {
    use goqueue::dead_letter::DeadReason;

    use super::*;

    /// A queue of its own for each test, so that tests run side by side.
    struct App {
        test: TestQueue,
        post: Arc<PostOffice>,
    }

    impl App {
        fn new() -> Self {
            let (test, post) = (TestQueue::new(), Arc::default());
            Self { test, post }
        }

        /// Runs what is due, and answers how many runs that were.
        async fn run(&self) -> u64 {
            let worker = self.test.worker().state(Arc::clone(&self.post));
            self.test.drain_with(worker).await.unwrap().finished
        }

        fn sent(&self) -> Vec<String> {
            self.post.lock().sent.clone()
        }
    }

    #[tokio::test]
    async fn signing_up_enqueues_both_letters() {
        let app = App::new();
        sign_up(app.test.queue(), "ada").await.unwrap();
        app.test.assert_enqueued(|job: &Welcome| job.user == "ada");
        assert_eq!(
            app.test.enqueued_in::<Remind>("mail"),
            [Remind { user: "ada".into() }]
        );
    }

    #[tokio::test]
    async fn the_reminder_is_sent_a_day_later_and_not_before() {
        let app = App::new();
        sign_up(app.test.queue(), "ada").await.unwrap();
        assert_eq!(app.run().await, 1);
        assert_eq!(app.sent(), ["welcome, ada"]);

        app.test.advance(DAY - Duration::from_secs(60));
        assert_eq!(app.run().await, 0);
        app.test.advance(Duration::from_secs(60));
        assert_eq!(app.run().await, 1);
        assert_eq!(app.sent()[1], "ada, please confirm your address");
        assert!(app.test.enqueued::<Remind>().is_empty());
    }

    #[tokio::test]
    async fn nobody_is_welcomed_twice_at_once() {
        let app = App::new();
        sign_up(app.test.queue(), "ada").await.unwrap();
        sign_up(app.test.queue(), "ada").await.unwrap();
        assert_eq!(app.test.enqueued::<Welcome>().len(), 1);
    }

    #[tokio::test]
    async fn a_letter_waits_until_the_post_office_opens() {
        let app = App::new();
        app.post.lock().is_shut = true;
        app.test
            .queue()
            .enqueue(Welcome { user: "ada".into() })
            .await
            .unwrap();
        assert_eq!(app.run().await, 1); // fails, and is due again after a minute
        assert_eq!(app.run().await, 0);

        app.post.lock().is_shut = false;
        app.test.advance(Duration::from_secs(60));
        assert_eq!(app.run().await, 1);
        assert_eq!(app.sent(), ["welcome, ada"]);
    }

    #[tokio::test]
    async fn a_letter_that_never_gets_through_is_dead_after_three_attempts() {
        let app = App::new();
        app.post.lock().is_shut = true;
        app.test
            .queue()
            .enqueue(Welcome { user: "ada".into() })
            .await
            .unwrap();
        for minutes in [0, 1, 2] {
            app.test.advance(Duration::from_secs(minutes * 60));
            assert_eq!(app.run().await, 1);
        }
        let letters = app.test.dead_letters();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].reason, DeadReason::Exhausted);
        assert_eq!(letters[0].error, "the post office is shut");
    }

    /// With tokio's clock paused a running worker lives through days in no time.
    #[tokio::test(start_paused = true)]
    async fn a_running_worker_sends_both_letters_within_two_days() {
        let app = App::new();
        sign_up(app.test.queue(), "ada").await.unwrap();
        let worker = app
            .test
            .worker()
            .state(Arc::clone(&app.post))
            .build()
            .unwrap();
        let report = worker.run_until(tokio::time::sleep(2 * DAY)).await.unwrap();
        assert_eq!(report.finished, 2);
        assert_eq!(app.sent().len(), 2);
    }

    #[test]
    fn the_program_runs() {
        main().unwrap();
    }
}
