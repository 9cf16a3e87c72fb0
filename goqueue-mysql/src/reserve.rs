//! Handing jobs out.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use goqueue_core::driver::{ReserveRequest, Reserved, Waiting};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    claim::{Claim, Claiming},
    clock,
    error::Fault,
    row,
    shared::Shared,
    sql::{Message, Name},
};

/// The pause after which a reservation that found nothing looks for the first time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// How long a reservation that is cancelled may take to end a transaction that is under way.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Shared {
    pub(crate) async fn reserve(&self, request: &ReserveRequest) -> Result<Vec<Reserved>, Fault> {
        if request.max == 0 || request.queues.is_empty() {
            return Ok(Vec::new());
        }
        let waiting = self.waiters.wait(request);
        let found = self.look_and_wait(request, &waiting).await;
        let (found, unwanted) = waiting.end(found, request.max);
        if let Some(job) = unwanted {
            self.give_back(job.lease).await;
        }
        found
    }

    async fn look_and_wait(
        &self,
        request: &ReserveRequest,
        waiting: &Waiting<'_>,
    ) -> Result<Vec<Reserved>, Fault> {
        let deadline = Instant::now() + request.wait;
        let mut pause = SHORTEST_PAUSE;
        loop {
            if let Some(job) = waiting.handed() {
                return Ok(vec![job]);
            }
            let claim = pin!(self.claim(request));
            let claim = match self.unless_cancelled(request, claim).await {
                Some(claim) => claim?,
                None => return Ok(Vec::new()),
            };
            if !claim.jobs.is_empty() {
                return Ok(claim.jobs);
            }
            if claim.is_cut_short {
                continue;
            }
            // Nothing was there. Look now and then, which costs less than a transaction.
            let mut due_in = Duration::ZERO;
            loop {
                let until_end = deadline.saturating_duration_since(Instant::now());
                if until_end.is_zero() {
                    return Ok(Vec::new());
                }
                let nap = if due_in.is_zero() {
                    pause
                } else {
                    pause.min(due_in)
                };
                waiting.open();
                tokio::select! {
                    biased;
                    () = request.cancel.cancelled() => return Ok(Vec::new()),
                    () = self.closing.cancelled() => return Ok(Vec::new()),
                    () = waiting.woken() => {
                        pause = SHORTEST_PAUSE;
                        break;
                    }
                    () = sleep(nap.min(until_end)) => {}
                }
                if deadline <= Instant::now() {
                    return Ok(Vec::new());
                }
                pause = (pause * 2).min(self.settings.poll_interval);
                let look = pin!(self.settled(|| self.look(request)));
                due_in = match self.unless_cancelled(request, look).await {
                    Some(due_in) => due_in?,
                    None => return Ok(Vec::new()),
                };
                if due_in.is_zero() {
                    break;
                }
            }
        }
    }

    /// The answer, or nothing when the request is cancelled and the answer does not come soon
    /// after. A transaction that is given up so is undone by the server, or its leases run out.
    async fn unless_cancelled<T>(
        &self,
        request: &ReserveRequest,
        mut call: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        tokio::select! {
            biased;
            answer = &mut call => return Some(answer),
            () = request.cancel.cancelled() => {}
            () = self.closing.cancelled() => {}
        }
        timeout(LAST_WORDS, call).await.ok()
    }

    async fn claim(&self, request: &ReserveRequest) -> Result<Claim, Fault> {
        self.settled(|| async {
            let mut session = self.connections.session(Duration::ZERO).await?;
            let claim = Claiming::new(self, request).run(&mut session).await;
            if claim.is_err() {
                // What was found is not taken after all.
                self.floors
                    .forget(request.queues.iter().map(|share| &share.queue));
            }
            claim
        })
        .await
    }

    /// How long until a job of these queues becomes visible; zero when one is.
    async fn look(&self, request: &ReserveRequest) -> Result<Duration, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let mut looks = Vec::new();
        for share in &request.queues {
            looks.push(self.sql.look.with(&[("queue", &Name(&share.queue))]));
        }
        let answers = session
            .finish(Message::of(&looks.join(" UNION ALL ")))
            .await?;
        let mut first = Duration::MAX;
        for row in answers.iter().flat_map(|answer| &answer.rows) {
            first = first.min(clock::duration(row::get(row, "due_in")?));
        }
        Ok(first)
    }
}
