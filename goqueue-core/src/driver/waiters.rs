use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::{NewJob, ReserveRequest, Reserved};
use crate::job::QueueName;

/// The reservations of a driver that wait for a job, so that a push through the same driver can wake
/// one, or store its job under a lease at once and hand it over: one trip to the backend where a push
/// and a look take two.
///
/// A job is handed over only to a reservation that has looked, found nothing and was not woken since,
/// so that it overtakes nothing that was pushed before it through the same driver.
#[derive(Debug, Default)]
pub struct Waiters(Mutex<Vec<Arc<Waiter>>>);

#[derive(Debug)]
struct Waiter {
    queues: Vec<QueueName>,
    lease: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
enum State {
    /// It looks by itself.
    Looking,
    /// It is to look again.
    Woken,
    /// It has looked and found nothing: a job may be handed over.
    Open,
    /// A push stores its job for it.
    Promised,
    Handed(Reserved),
    Gone,
}

impl Waiter {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiters {
    /// Nobody waits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts to wait: what is pushed from now on is not missed.
    pub fn wait(&self, request: &ReserveRequest) -> Waiting<'_> {
        let queues = request.queues.iter().map(|share| share.queue.clone());
        let waiter = Arc::new(Waiter {
            queues: queues.collect(),
            lease: request.lease,
            state: Mutex::new(State::Looking),
            changed: Notify::new(),
        });
        self.all().push(Arc::clone(&waiter));
        Waiting {
            waiters: self,
            waiter,
        }
    }

    /// Wakes everyone who waits for one of these queues.
    pub fn wake<'a>(&self, queues: impl IntoIterator<Item = &'a QueueName>) {
        let waiters = self.all();
        if waiters.is_empty() {
            return;
        }
        let mut last = None;
        for queue in queues {
            // Most batches are for one queue.
            if last.replace(queue) == Some(queue) {
                continue;
            }
            let concerned = |waiter: &&Arc<Waiter>| waiter.queues.contains(queue);
            for waiter in waiters.iter().filter(concerned) {
                let mut state = waiter.state();
                if matches!(*state, State::Looking | State::Open) {
                    *state = State::Woken;
                }
                waiter.changed.notify_one();
            }
        }
    }

    /// Somebody to whom this job can be handed over: it is due at once and has no key, and they wait
    /// for its queue and have found nothing.
    #[must_use]
    pub fn recipient(&self, job: &NewJob) -> Option<Recipient> {
        if !job.is_plain() {
            return None;
        }
        let waiters = self.all();
        let mut concerned = waiters
            .iter()
            .filter(|waiter| waiter.queues.contains(&job.queue));
        let waiter = concerned.find(|waiter| {
            let mut state = waiter.state();
            let is_open = matches!(*state, State::Open);
            if is_open {
                *state = State::Promised;
            }
            is_open
        })?;
        Some(Recipient(Arc::clone(waiter)))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reservation that waits, until this is dropped.
#[derive(Debug)]
pub struct Waiting<'a> {
    waiters: &'a Waiters,
    waiter: Arc<Waiter>,
}

impl Waiting<'_> {
    /// To be called when a look has found nothing, and before [`woken`](Self::woken): a job may be
    /// handed over from now on.
    ///
    /// What was pushed during the look has left its mark, and [`woken`](Self::woken) tells of it.
    pub fn open(&self) {
        let mut state = self.waiter.state();
        if matches!(*state, State::Looking) {
            *state = State::Open;
        }
    }

    /// Resolves when something was pushed since the last time it did. May be dropped and asked for
    /// again.
    pub async fn woken(&self) {
        self.waiter.changed.notified().await;
    }

    /// To be called before each look but the first: nothing is promised from now on. Answers the job
    /// that was handed over; with it, the reservation is at its end.
    #[must_use = "the job is under a lease"]
    pub fn handed(&self) -> Option<Reserved> {
        let mut state = self.waiter.state();
        if matches!(*state, State::Promised) {
            return None;
        }
        match mem::replace(&mut *state, State::Looking) {
            State::Handed(job) => Some(job),
            _ => None,
        }
    }

    /// Ends the wait that `found` came of. A job that was handed over meanwhile is added, also to an
    /// error, while there are fewer than `max`; else it comes back, for the driver to release.
    #[must_use = "the job is under a lease"]
    pub fn end<E>(
        self,
        found: Result<Vec<Reserved>, E>,
        max: usize,
    ) -> (Result<Vec<Reserved>, E>, Option<Reserved>) {
        let State::Handed(job) = mem::replace(&mut *self.waiter.state(), State::Gone) else {
            return (found, None);
        };
        match found {
            Ok(jobs) if jobs.len() >= max => (Ok(jobs), Some(job)),
            Ok(mut jobs) => {
                jobs.push(job);
                (Ok(jobs), None)
            }
            Err(_) => (Ok(vec![job]), None),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.waiter.state() = State::Gone;
        self.waiters
            .all()
            .retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
    }
}

/// A reservation that gets the job that is about to be stored. Dropped without a job, it is woken.
#[derive(Debug)]
pub struct Recipient(Arc<Waiter>);

impl Recipient {
    /// For how long the job is to be reserved.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.0.lease
    }

    /// Hands over the job.
    ///
    /// # Errors
    /// The job, when the reservation has ended meanwhile: nobody runs it until it is released.
    pub fn hand(self, job: Reserved) -> Result<(), Reserved> {
        let mut state = self.0.state();
        if !matches!(*state, State::Promised) {
            return Err(job);
        }
        *state = State::Handed(job);
        Ok(())
    }
}

impl Drop for Recipient {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(*state, State::Promised) {
            *state = State::Woken;
        }
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        driver::{Lease, LeaseToken, QueueShare},
        job::JobId,
    };

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn request(queues: &[&str]) -> ReserveRequest {
        let share = |name: &&str| QueueShare {
            queue: queue(name),
            share: 1,
        };
        ReserveRequest {
            queues: queues.iter().map(share).collect(),
            max: 1,
            lease: Duration::from_secs(30),
            wait: Duration::from_secs(1),
            cancel: CancellationToken::new(),
        }
    }

    fn job(name: &str) -> NewJob {
        NewJob {
            queue: queue(name),
            id: JobId::new(),
            body: Bytes::from_static(b"{}"),
            delay: Duration::ZERO,
            ordering_key: None,
            unique: None,
        }
    }

    fn reserved(job: &NewJob) -> Reserved {
        Reserved {
            body: job.body.clone(),
            attempt: 1,
            lease: Lease {
                queue: job.queue.clone(),
                id: job.id,
                token: LeaseToken::from(1),
            },
        }
    }

    type Found = Result<Vec<Reserved>, ()>;

    fn nothing() -> Found {
        Ok(Vec::new())
    }

    /// How many jobs the reservation has in the end, and whether one came back.
    fn ended(waiting: Waiting<'_>, found: Found, max: usize) -> (Option<usize>, bool) {
        let (found, unwanted) = waiting.end(found, max);
        (found.ok().map(|jobs| jobs.len()), unwanted.is_some())
    }

    async fn is_woken(waiting: &Waiting<'_>) -> bool {
        let soon = Duration::from_millis(20);
        tokio::time::timeout(soon, waiting.woken()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_queues_waited_for_wake() {
        let waiters = Waiters::new();
        let waiting = waiters.wait(&request(&["a", "b"]));
        waiters.wake([&queue("c")]);
        assert!(!is_woken(&waiting).await);
        waiters.wake([&queue("c"), &queue("b")]);
        assert!(is_woken(&waiting).await);
        drop(waiting);
        assert!(waiters.all().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_handed_to_one_who_has_looked_and_found_nothing() {
        let waiters = Waiters::new();
        let waiting = waiters.wait(&request(&["a"]));
        let job = job("a");
        assert!(waiters.recipient(&job).is_none(), "it still looks");
        waiting.open();
        let recipient = waiters.recipient(&job).unwrap();
        assert_eq!(recipient.lease(), Duration::from_secs(30));
        assert!(waiters.recipient(&job).is_none(), "it gets one");
        assert!(waiting.handed().is_none(), "it is promised, not here");
        recipient.hand(reserved(&job)).unwrap();
        assert!(is_woken(&waiting).await);
        assert_eq!(waiting.handed().unwrap().lease.id, job.id);
        assert_eq!(ended(waiting, nothing(), 1), (Some(0), false));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_overtakes_what_was_pushed_during_the_look() {
        let waiters = Waiters::new();
        let waiting = waiters.wait(&request(&["a"]));
        waiters.wake([&queue("a")]);
        waiting.open();
        assert!(waiters.recipient(&job("a")).is_none());
        assert!(is_woken(&waiting).await);
        assert!(waiting.handed().is_none());
        waiting.open();
        waiters.wake([&queue("a")]);
        assert!(waiters.recipient(&job("a")).is_none());
    }

    #[test]
    fn only_plain_jobs_of_its_queues_are_handed_over() {
        let waiters = Waiters::new();
        let waiting = waiters.wait(&request(&["a"]));
        waiting.open();
        let delayed = NewJob {
            delay: Duration::from_millis(1),
            ..job("a")
        };
        let ordered = NewJob {
            ordering_key: Some("k".into()),
            ..job("a")
        };
        for other in [job("b"), delayed, ordered] {
            assert!(waiters.recipient(&other).is_none(), "{other:?}");
        }
        assert!(waiters.recipient(&job("a")).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_promise_wakes() {
        let waiters = Waiters::new();
        let waiting = waiters.wait(&request(&["a"]));
        waiting.open();
        drop(waiters.recipient(&job("a")).unwrap());
        assert!(is_woken(&waiting).await);
        assert!(waiting.handed().is_none());
    }

    #[test]
    fn whoever_is_gone_gets_nothing_and_whoever_goes_leaves_nothing() {
        let waiters = Waiters::new();
        let waiting = waiters.wait(&request(&["a"]));
        waiting.open();
        let late = waiters.recipient(&job("a")).unwrap();
        assert_eq!(ended(waiting, nothing(), 1), (Some(0), false));
        assert!(late.hand(reserved(&job("a"))).is_err());

        let one = || Ok(vec![reserved(&job("a"))]);
        for (found, max, expected) in [
            (nothing(), 1, (Some(1), false)),
            (one(), 2, (Some(2), false)),
            (one(), 1, (Some(1), true)),
            (Err(()), 1, (Some(1), false)),
        ] {
            let waiting = waiters.wait(&request(&["a"]));
            waiting.open();
            let recipient = waiters.recipient(&job("a")).unwrap();
            recipient.hand(reserved(&job("a"))).unwrap();
            assert_eq!(ended(waiting, found, max), expected);
        }
        let waiting = waiters.wait(&request(&["a"]));
        assert_eq!(ended(waiting, Err(()), 1), (None, false));
    }
}
