use std::time::Duration;

use goqueue_core::{QueueName, driver::Maintenance};

use crate::store::{BOUND, Store};

/// How soon upkeep comes back at the earliest, however many things end one by one.
const SOONEST: Duration = Duration::from_secs(1);
/// How soon it comes back when nothing is known to end.
const LATEST: Duration = Duration::from_secs(60);

impl Store {
    pub(crate) fn maintain(&mut self, queues: &[QueueName]) -> Maintenance {
        let mut done = Maintenance::default();
        let (mut more, mut next) = (false, LATEST);
        let retention = self.settings.retention;
        for name in queues {
            let Some((queue, common)) = self.find(name) else {
                continue;
            };
            let now = common.now;
            let promotion = queue.promote(common, BOUND);
            done.promoted += promotion.promoted;
            done.recovered += promotion.recovered;
            more |= promotion.more | queue.uniques.sweep(now, BOUND);

            let purged = queue.dead.purge(now, retention, BOUND);
            more |= purged == BOUND;
            let death = queue
                .dead
                .first_death()
                .map(|(died, _)| died.after(retention));
            for end in death.into_iter().chain(queue.uniques.next_end()) {
                next = next.min(end.since(now));
            }
            queue.shrink();
            common.stored -= purged;
            done.purged += purged as u64;
        }
        self.common.jobs.shrink();
        done.next = if more {
            Duration::ZERO
        } else {
            next.max(SOONEST)
        };
        done
    }
}
