use std::{sync::Arc, time::Duration};

use futures_util::future::{join, join_all};
use goqueue_core::{
    Error, JobId, QueueName, Result,
    driver::{NewJob, PushOutcome},
};

use crate::{
    connection::Failed,
    driver::{BATCH, Inner},
    error::Operation,
    record::{array, id_from, tail},
    reply::Reply,
    scripts::{Args, PUSH, PUSH_KEYED, Verb},
};

/// Times and delays are kept in six bytes; this many milliseconds are four thousand years.
const LONGEST: u64 = 1 << 47;

/// Whole milliseconds, never less than the duration.
pub(crate) fn millis(duration: Duration) -> u64 {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).unwrap_or(LONGEST).min(LONGEST)
}

/// The places of a batch that belong to one queue, in order and in portions of what one call takes.
pub(crate) fn by_queue<'a, T>(
    items: &'a [T],
    queue_of: impl Fn(&'a T) -> &'a QueueName,
    size_of: impl Fn(&'a T) -> usize,
) -> Vec<(&'a QueueName, Vec<usize>)> {
    let mut portions: Vec<(&QueueName, Vec<usize>, usize)> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let (queue, size) = (queue_of(item), size_of(item));
        // The last portion of a queue is the one to go on with: the order within it is kept.
        let open = portions.iter_mut().rev().find(|(name, ..)| *name == queue);
        match open {
            Some((_, places, bytes))
                if places.len() < BATCH.jobs && *bytes + size <= BATCH.bytes =>
            {
                places.push(place);
                *bytes += size;
            }
            _ => portions.push((queue, vec![place], size)),
        }
    }
    portions
        .into_iter()
        .map(|(queue, places, _)| (queue, places))
        .collect()
}

impl Inner {
    pub(crate) async fn push(self: &Arc<Self>, mut jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        if jobs.len() == 1 {
            let Some(job) = jobs.pop() else {
                return Ok(Vec::new());
            };
            return match self.push_one(job).await {
                Ok(outcome) => Ok(vec![outcome]),
                Err(failed) if failed.is_undone => Ok(vec![PushOutcome::Refused(failed.error)]),
                Err(failed) => Err(failed.error),
            };
        }
        let jobs = jobs.as_slice();
        let portions = by_queue(jobs, |job| &job.queue, |job| job.body.len());
        let calls = portions.iter().map(|(queue, places)| {
            let jobs: Vec<&NewJob> = places.iter().map(|place| &jobs[*place]).collect();
            async move { self.push_to(queue, &jobs).await }
        });
        let results = join_all(calls).await;

        // One answer for all, unless something is known of some.
        let is_single = results.len() == 1;
        let mut outcomes: Vec<Option<PushOutcome>> = jobs.iter().map(|_| None).collect();
        for ((_, places), result) in portions.into_iter().zip(results) {
            match result {
                Ok(answers) => {
                    for (place, answer) in places.into_iter().zip(answers) {
                        outcomes[place] = Some(answer);
                    }
                }
                Err(failed) if is_single && !failed.is_undone => return Err(failed.error),
                Err(failed) => {
                    let error = Arc::new(failed.error);
                    for place in places {
                        let error = Error::Batch(Arc::clone(&error));
                        outcomes[place] = Some(PushOutcome::Refused(error));
                    }
                }
            }
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// Stores jobs of one queue with one call.
    pub(crate) async fn push_to(
        &self,
        queue: &QueueName,
        jobs: &[&NewJob],
    ) -> Result<Vec<PushOutcome>, Failed> {
        let keys = self.keys.of(queue);
        let all_plain = jobs.iter().all(|job| job.is_plain());
        let mut args = Args::with_capacity(1 + jobs.len() * if all_plain { 1 } else { 5 });
        args.bytes(&keys.channel);
        for job in jobs {
            if !all_plain {
                args.number(millis(job.delay))
                    .bytes(job.ordering_key.as_deref().unwrap_or(""));
                match &job.unique {
                    Some(unique) => args.bytes(&unique.key).number(millis(unique.hold)),
                    None => args.bytes("").number(0),
                };
            }
            args.owned(tail(job));
        }
        let all_keys = [
            keys.ready.as_str(),
            &keys.waiting,
            &keys.scheduled,
            &keys.lanes,
            &keys.parked,
            &keys.parked_due,
            &keys.unique,
            &keys.holds,
        ];
        let (verb, used) = if all_plain {
            (&PUSH, &all_keys[..2])
        } else {
            (&PUSH_KEYED, &all_keys[..])
        };
        let reply = self.send_push(queue, verb, used, &args).await?;
        if reply.is_nothing() {
            return Ok(jobs.iter().map(|_| PushOutcome::Stored).collect());
        }
        let mut list = reply.list().map_err(Failed::undecided)?;
        let outcome = |_: &&NewJob| Ok(outcome(holder(&list.bytes()?)));
        jobs.iter()
            .map(outcome)
            .collect::<Result<_>>()
            .map_err(Failed::undecided)
    }

    /// Sends the call that stores jobs of a queue, and writes the queue's name down.
    pub(crate) async fn send_push(
        &self,
        queue: &QueueName,
        verb: &Verb,
        keys: &[&str],
        args: &Args<'_>,
    ) -> Result<Reply, Failed> {
        let (registered, pushed) = join(
            self.registry.add(&self.connection, queue, Operation::Push),
            self.connection.run(verb, keys, args),
        )
        .await;
        if let Err(failed) = registered {
            // The jobs may be stored: only listing the queues is worse off, until the next push.
            tracing::debug!(error = %failed.error, %queue, "the queue's name is not written down");
        }
        Ok(Reply::of(pushed?, Operation::Push))
    }
}

fn holder(bytes: &[u8]) -> Option<JobId> {
    array(bytes, 0).map(id_from)
}

fn outcome(holder: Option<JobId>) -> PushOutcome {
    holder.map_or(PushOutcome::Stored, PushOutcome::Duplicate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_and_bounded() {
        assert_eq!(millis(Duration::ZERO), 0);
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_micros(1_001)), 2);
        assert_eq!(millis(Duration::MAX), LONGEST);
    }

    #[test]
    fn a_batch_is_cut_by_queue_by_number_and_by_bytes_in_order() {
        let (a, b) = (QueueName::new("a").unwrap(), QueueName::new("b").unwrap());
        let items = [(&a, 1), (&b, 1), (&a, 1), (&a, BATCH.bytes), (&a, 1)];
        let cut = by_queue(&items, |(queue, _)| queue, |(_, size)| *size);
        let expected = [
            (&a, vec![0, 2]),
            (&b, vec![1]),
            (&a, vec![3]),
            (&a, vec![4]),
        ];
        assert_eq!(cut, expected);
        let many = vec![(&a, 0); BATCH.jobs + 1];
        let cut = by_queue(&many, |(queue, _)| queue, |(_, size)| *size);
        assert_eq!(
            cut.iter()
                .map(|(_, places)| places.len())
                .collect::<Vec<_>>(),
            [BATCH.jobs, 1]
        );
    }
}
