use std::{fmt, future::IntoFuture, sync::Arc, time::Duration, time::SystemTime};

use futures_util::future::BoxFuture;

use super::{
    Enqueued, EnqueuedJob, Queue,
    enqueue::{answer, setters, unanswered},
    request::{Draft, Due, Overrides, Prepared, prepare},
};
use crate::{
    driver::{BatchLimits, NewJob},
    error::{Error, Result},
    job::Job,
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
        let mut answers: Vec<Option<Result<Enqueued>>> = Vec::with_capacity(self.drafts.len());
        let mut jobs = Vec::with_capacity(self.drafts.len());
        let mut noted: Vec<(usize, EnqueuedJob)> = Vec::new();
        for draft in self.drafts {
            match prepare(&self.queue, draft, &self.over) {
                Ok(prepared) => {
                    let Prepared { job, noted: note } = prepared;
                    noted.extend(note.map(|note| (answers.len(), note)));
                    jobs.push((answers.len(), job));
                    answers.push(None);
                }
                Err(error) => answers.push(Some(Err(error))),
            }
        }

        let mut failed: Option<Arc<Error>> = None;
        for chunk in split(jobs, self.queue.capabilities().batch) {
            let (places, batch): (Vec<_>, Vec<_>) = chunk
                .into_iter()
                .map(|(place, job)| ((place, job.id), job))
                .unzip();
            if failed.is_none() {
                let push = self.queue.driver().push(batch);
                match self.queue.within_deadline("enqueue", push).await {
                    Ok(outcomes) => {
                        for ((place, id), outcome) in places.iter().zip(outcomes) {
                            answers[*place] = Some(answer(*id, outcome));
                        }
                        continue;
                    }
                    Err(error) => failed = Some(Arc::new(error)),
                }
            }
            if let Some(error) = &failed {
                for (place, _) in places {
                    answers[place] = Some(Err(Error::Batch(Arc::clone(error))));
                }
            }
        }

        let answers: Vec<_> = answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(|| Err(unanswered(&self.queue))))
            .collect();
        for (place, job) in &noted {
            self.queue.hooks().after(Some(job), &answers[*place]);
        }
        if answers.iter().all(Result::is_ok) {
            answers.into_iter().collect()
        } else {
            Err(Error::PartialBatch(BulkError { outcomes: answers }))
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

/// Cuts in order, so that no chunk has more jobs or bytes than one call may carry.
fn split(jobs: Vec<(usize, NewJob)>, limits: BatchLimits) -> Vec<Vec<(usize, NewJob)>> {
    let mut chunks: Vec<Vec<_>> = Vec::new();
    let mut bytes = 0;
    for (place, job) in jobs {
        let size = job.body.len();
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < limits.jobs && bytes + size <= limits.bytes => {
                bytes += size;
                chunk.push((place, job));
            }
            _ => {
                bytes = size;
                chunks.push(vec![(place, job)]);
            }
        }
    }
    chunks
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
    use crate::job::{JobId, QueueName};

    fn jobs(sizes: &[usize]) -> Vec<(usize, NewJob)> {
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

    fn cut(sizes: &[usize], limits: BatchLimits) -> Vec<Vec<usize>> {
        split(jobs(sizes), limits)
            .into_iter()
            .map(|chunk| chunk.into_iter().map(|(place, _)| place).collect())
            .collect()
    }

    #[test]
    fn splits_by_count_and_by_bytes_in_order() {
        let limits = BatchLimits {
            jobs: 3,
            bytes: 100,
            full_call: 1,
        };
        assert_eq!(cut(&[1, 1, 1, 1], limits), [vec![0, 1, 2], vec![3]]);
        assert_eq!(cut(&[60, 40, 1, 99], limits), [vec![0, 1], vec![2, 3]]);
        assert!(cut(&[], limits).is_empty());
    }

    #[test]
    fn a_job_that_fills_a_call_alone_is_sent_alone() {
        let limits = BatchLimits {
            jobs: 10,
            bytes: 100,
            full_call: 1,
        };
        assert_eq!(cut(&[100, 1, 100], limits), [vec![0], vec![1], vec![2]]);
    }
}
