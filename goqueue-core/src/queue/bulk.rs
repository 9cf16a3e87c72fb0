use std::{
    fmt,
    future::IntoFuture,
    sync::Arc,
    time::{Duration, SystemTime},
    vec,
};

use futures_util::future::{BoxFuture, join};

use super::{
    Enqueued, EnqueuedJob, Queue,
    enqueue::{answer, setters, unanswered},
    request::{Draft, Due, Overrides, Prepared, prepare},
};
use crate::{
    driver::{BatchLimits, NewJob},
    error::{Error, Result},
    job::{Job, JobId},
    retry::RetryPolicy,
};

/// Jobs about to be stored; awaiting it stores them, in order, in as few calls as the backend's
/// limits allow. What is set on it holds for each job.
///
/// # Errors
/// [`Error::PartialBatch`] unless every job is stored or a duplicate. It answers for each job, so
/// the caller knows what is stored and what to try again; nothing is repeated on its own. After a
/// call that failed as a whole the rest is not sent.
#[must_use = "the jobs are enqueued when this is awaited"]
#[derive(Debug)]
pub struct EnqueueAll {
    queue: Queue,
    drafts: Vec<Draft>,
    over: Overrides,
}

setters!(EnqueueAll);

impl EnqueueAll {
    pub(super) fn new<J: Job>(queue: Queue, jobs: impl IntoIterator<Item = J>) -> Self {
        let drafts = jobs.into_iter().map(Draft::of).collect();
        Self {
            queue,
            drafts,
            over: Overrides::default(),
        }
    }

    async fn run(self) -> Result<Vec<Enqueued>> {
        let queue = self.queue;
        let mut line = Line::new(&queue, self.drafts, self.over);
        let mut next = line.chunk();
        let mut failed: Option<Arc<Error>> = None;
        while let Some(Chunk { places, jobs }) = next.take() {
            if let Some(error) = &failed {
                line.fail(places, error);
                next = line.chunk();
                continue;
            }
            let push = queue.driver().push(jobs);
            let push = queue.within_deadline("enqueue", push);
            // While the backend stores these, the next are made ready.
            let (pushed, following) = join(push, async { line.chunk() }).await;
            next = following;
            match pushed {
                Ok(outcomes) => {
                    for ((place, id), outcome) in places.into_iter().zip(outcomes) {
                        line.answers[place] = Some(answer(id, outcome));
                    }
                }
                Err(error) => {
                    let error = Arc::new(error);
                    line.fail(places, &error);
                    failed = Some(error);
                }
            }
        }

        let Line { answers, noted, .. } = line;
        let answers: Vec<_> = answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(|| Err(unanswered(&queue))))
            .collect();
        for (place, job) in &noted {
            queue.hooks().after(Some(job), &answers[*place]);
        }
        if answers.iter().all(Result::is_ok) {
            answers.into_iter().collect()
        } else {
            Err(Error::PartialBatch(BulkError { outcomes: answers }))
        }
    }
}

/// A job as the driver is handed it, and its place in the answer.
type Ready = (usize, NewJob);

/// Jobs of one call to the driver, with their places in the answer.
#[derive(Default)]
struct Chunk {
    places: Vec<(usize, JobId)>,
    jobs: Vec<NewJob>,
}

/// The jobs of an enqueueing, made ready a chunk at a time.
struct Line<'a> {
    queue: &'a Queue,
    limits: BatchLimits,
    over: Overrides,
    drafts: vec::IntoIter<Draft>,
    /// A job that is ready and did not fit into the chunk before.
    left_over: Option<Ready>,
    answers: Vec<Option<Result<Enqueued>>>,
    /// What the hooks are shown in the end.
    noted: Vec<(usize, EnqueuedJob)>,
}

impl<'a> Line<'a> {
    fn new(queue: &'a Queue, drafts: Vec<Draft>, over: Overrides) -> Self {
        Self {
            queue,
            limits: queue.capabilities().batch,
            over,
            answers: Vec::with_capacity(drafts.len()),
            drafts: drafts.into_iter(),
            left_over: None,
            noted: Vec::new(),
        }
    }

    fn chunk(&mut self) -> Option<Chunk> {
        let mut left_over = self.left_over.take();
        let chunk = cut(self.limits, &mut left_over, || self.prepare());
        self.left_over = left_over;
        chunk
    }

    /// The next job that can be stored at all. Those that cannot have their answer at once.
    fn prepare(&mut self) -> Option<Ready> {
        for draft in self.drafts.by_ref() {
            let place = self.answers.len();
            match prepare(self.queue, draft, &self.over) {
                Ok(Prepared { job, noted }) => {
                    self.noted.extend(noted.map(|note| (place, note)));
                    self.answers.push(None);
                    return Some((place, job));
                }
                Err(error) => self.answers.push(Some(Err(error))),
            }
        }
        None
    }

    fn fail(&mut self, places: Vec<(usize, JobId)>, error: &Arc<Error>) {
        for (place, _) in places {
            self.answers[place] = Some(Err(Error::Batch(Arc::clone(error))));
        }
    }
}

impl IntoFuture for EnqueueAll {
    type Output = Result<Vec<Enqueued>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The next jobs in order, no more of them and no more bytes than one call may carry, but one at
/// least; `None` when there are none left.
fn cut(
    limits: BatchLimits,
    left_over: &mut Option<Ready>,
    mut next: impl FnMut() -> Option<Ready>,
) -> Option<Chunk> {
    let (mut chunk, mut bytes) = (Chunk::default(), 0);
    while let Some((place, job)) = left_over.take().or_else(&mut next) {
        bytes += job.body.len();
        let fits = chunk.jobs.len() < limits.jobs && bytes <= limits.bytes;
        if !fits && !chunk.jobs.is_empty() {
            *left_over = Some((place, job));
            break;
        }
        chunk.places.push((place, job.id));
        chunk.jobs.push(job);
    }
    (!chunk.jobs.is_empty()).then_some(chunk)
}

/// A batch of which some jobs are not stored.
#[derive(Debug)]
pub struct BulkError {
    outcomes: Vec<Result<Enqueued>>,
}

impl BulkError {
    /// What became of each job, in the order they were given.
    pub fn outcomes(&self) -> &[Result<Enqueued>] {
        &self.outcomes
    }

    /// The same, by value.
    pub fn into_outcomes(self) -> Vec<Result<Enqueued>> {
        self.outcomes
    }

    /// The positions of the jobs that are not known to be stored.
    pub fn failed(&self) -> impl Iterator<Item = usize> + '_ {
        self.outcomes
            .iter()
            .enumerate()
            .filter(|(_, outcome)| outcome.is_err())
            .map(|(at, _)| at)
    }

    fn first_error(&self) -> Option<&Error> {
        self.outcomes
            .iter()
            .find_map(|outcome| outcome.as_ref().err())
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.outcomes
            .iter()
            .flat_map(|o| o.as_ref().err())
            .all(Error::is_transient)
    }
}

impl fmt::Display for BulkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, all) = (self.failed().count(), self.outcomes.len());
        write!(f, "{failed} of {all} jobs were not stored")?;
        match self.first_error() {
            Some(error) => write!(f, "; the first: {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for BulkError {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::job::QueueName;

    fn jobs(sizes: &[usize]) -> Vec<Ready> {
        let job = |size: usize| NewJob {
            id: JobId::new(),
            queue: QueueName::new("q").unwrap(),
            body: Bytes::from(vec![0; size]),
            delay: Duration::ZERO,
            ordering_key: None,
            unique: None,
        };
        sizes.iter().map(|size| job(*size)).enumerate().collect()
    }

    fn pieces(sizes: &[usize], limits: BatchLimits) -> Vec<Vec<usize>> {
        let (mut left_over, mut jobs) = (None, jobs(sizes).into_iter());
        let chunks = std::iter::from_fn(|| cut(limits, &mut left_over, || jobs.next()));
        chunks
            .map(|chunk| chunk.places.iter().map(|(place, _)| *place).collect())
            .collect()
    }

    #[test]
    fn splits_by_count_and_by_bytes_in_order() {
        let limits = BatchLimits {
            jobs: 3,
            bytes: 100,
            full_call: 1,
        };
        assert_eq!(pieces(&[1, 1, 1, 1], limits), [vec![0, 1, 2], vec![3]]);
        assert_eq!(pieces(&[60, 40, 1, 99], limits), [vec![0, 1], vec![2, 3]]);
        assert!(pieces(&[], limits).is_empty());
    }

    #[test]
    fn a_job_that_fills_a_call_alone_is_sent_alone() {
        let limits = BatchLimits {
            jobs: 10,
            bytes: 100,
            full_call: 1,
        };
        assert_eq!(pieces(&[100, 1, 100], limits), [vec![0], vec![1], vec![2]]);
    }
}
