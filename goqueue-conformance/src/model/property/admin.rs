use std::time::Duration;

use goqueue_core::driver::{DeadLetterInfo, Selection};

use super::{
    history::QUEUES,
    replay::{Broken, Replay, same},
};
use crate::tools::is_counted_as;

/// The administrative part of a history, and the comparison of what can be looked at.
impl Replay<'_> {
    pub(super) async fn requeue(&mut self, queue: usize, job: Option<usize>) -> Result<(), Broken> {
        let (client, which) = (self.at(queue), self.selection(job));
        let Some(inspect) = client.inspect() else {
            return Ok(());
        };
        let expected = self.model.requeue_dead(&client.queue, &which);
        let moved = inspect.requeue_dead(&client.queue, which).await;
        same!(
            matches!(moved, Ok(moved) if moved == expected),
            "expected: a redrive moves {expected}\nhappened: {moved:?}"
        );
        Ok(())
    }

    pub(super) async fn delete(&mut self, queue: usize, job: Option<usize>) -> Result<(), Broken> {
        let (client, which) = (self.at(queue), self.selection(job));
        let Some(inspect) = client.inspect() else {
            return Ok(());
        };
        let expected = self.model.delete_dead(&client.queue, &which);
        let deleted = inspect.delete_dead(&client.queue, which).await;
        same!(
            matches!(deleted, Ok(deleted) if deleted == expected),
            "expected: a deletion removes {expected}\nhappened: {deleted:?}"
        );
        Ok(())
    }

    pub(super) async fn purge(&mut self, queue: usize) -> Result<(), Broken> {
        let client = self.at(queue);
        let Some(inspect) = client.inspect() else {
            return Ok(());
        };
        client.upkeep().await;
        let expected = self.model.purge(&client.queue);
        let purged = inspect.purge(&client.queue).await;
        same!(
            matches!(purged, Ok(purged) if purged == expected),
            "expected: a purge removes {expected}\nhappened: {purged:?}"
        );
        Ok(())
    }

    /// Compares the counts and the dead letters of both queues.
    pub(super) async fn compare(&self) -> Result<(), Broken> {
        for queue in 0..QUEUES.len() {
            let client = self.at(queue);
            let Some(inspect) = client.inspect() else {
                return Ok(());
            };
            client.upkeep().await;
            let expected = self.model.stats(&client.queue);
            let stats = inspect.stats(&client.queue).await;
            let jobs = [
                expected.ready,
                expected.scheduled,
                expected.running,
                expected.dead,
            ];
            let can = client.driver.capabilities().inspect;
            same!(
                matches!(&stats, Ok(stats) if is_counted_as(can, stats, jobs)),
                "expected: `{}` holds {expected:?} at {:?}\nhappened: {stats:?}",
                client.queue,
                self.model.now()
            );
            let tell = |letters: Vec<DeadLetterInfo>| {
                letters
                    .into_iter()
                    .map(|l| (l.id, l.attempts, l.error, l.body))
                    .collect::<Vec<_>>()
            };
            let expected = tell(self.model.dead_letters(&client.queue, Duration::ZERO));
            let letters = tell(client.dead_letters().await.unwrap_or_default());
            same!(
                letters == expected,
                "expected: `{}` has the dead letters {expected:?}\nhappened: {letters:?}",
                client.queue
            );
        }
        Ok(())
    }

    fn selection(&self, job: Option<usize>) -> Selection {
        match job {
            Some(nth) if !self.jobs.is_empty() => {
                Selection::Ids(vec![self.jobs[nth % self.jobs.len()]])
            }
            _ => Selection::All,
        }
    }
}
