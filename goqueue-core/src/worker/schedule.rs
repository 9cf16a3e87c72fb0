use crate::{driver::QueueShare, job::QueueName};

/// How the free slots of each reservation are shared out among the queues.
///
/// By weight this is smooth weighted round-robin, as nginx balances upstreams: each pick raises
/// every queue's credit by its weight and takes the queue with the most, which pays the sum of all
/// weights. Credit is spent whether or not the queue had a job, so an empty queue saves up nothing.
#[derive(Debug)]
pub(super) struct Schedule {
    queues: Vec<Entry>,
    strict: bool,
    total: i64,
}

#[derive(Debug)]
struct Entry {
    name: QueueName,
    weight: i64,
    credit: i64,
}

impl Schedule {
    /// Strictly, a queue of higher weight always goes first; of equal ones, the one named first.
    pub(super) fn new(queues: &[(QueueName, u32)], strict: bool) -> Self {
        let mut queues: Vec<_> = queues
            .iter()
            .map(|(name, weight)| Entry {
                name: name.clone(),
                weight: i64::from(*weight),
                credit: 0,
            })
            .collect();
        if strict {
            queues.sort_by_key(|queue| std::cmp::Reverse(queue.weight));
        }
        let total = queues.iter().map(|queue| queue.weight).sum();
        Self {
            queues,
            strict,
            total,
        }
    }

    /// The queues in the order to ask them, with what each may fill of `free` slots.
    pub(super) fn shares(&mut self, free: usize) -> Vec<QueueShare> {
        if self.strict || self.queues.len() == 1 {
            let all = |queue: &Entry| QueueShare {
                queue: queue.name.clone(),
                share: free,
            };
            return self.queues.iter().map(all).collect();
        }
        let mut shares: Vec<_> = self
            .queues
            .iter()
            .map(|queue| QueueShare {
                queue: queue.name.clone(),
                share: 0,
            })
            .collect();
        let mut first_picked = Vec::with_capacity(self.queues.len());
        for _ in 0..free {
            let picked = self.pick();
            shares[picked].share += 1;
            if !first_picked.contains(&picked) {
                first_picked.push(picked);
            }
        }
        // The queues that were not picked come last, for what the others leave over.
        let unpicked = (0..shares.len()).filter(|at| !first_picked.contains(at));
        let order: Vec<_> = first_picked.iter().copied().chain(unpicked).collect();
        order.into_iter().map(|at| shares[at].clone()).collect()
    }

    fn pick(&mut self) -> usize {
        let mut best = 0;
        for at in 0..self.queues.len() {
            self.queues[at].credit += self.queues[at].weight;
            if self.queues[at].credit > self.queues[best].credit {
                best = at;
            }
        }
        self.queues[best].credit -= self.total;
        best
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn schedule(queues: &[(&str, u32)], strict: bool) -> Schedule {
        let queues: Vec<_> = queues
            .iter()
            .map(|(name, weight)| (QueueName::new(name).unwrap(), *weight))
            .collect();
        Schedule::new(&queues, strict)
    }

    fn served(schedule: &mut Schedule, rounds: usize, free: usize) -> BTreeMap<String, usize> {
        let mut served = BTreeMap::new();
        for _ in 0..rounds {
            for share in schedule.shares(free) {
                *served.entry(share.queue.to_string()).or_default() += share.share;
            }
        }
        served
    }

    #[test]
    fn full_queues_are_served_by_weight_whatever_the_number_of_free_slots() {
        for free in [1, 2, 3, 7, 10, 64] {
            let mut schedule = schedule(&[("a", 6), ("b", 3), ("c", 1)], false);
            let served = served(&mut schedule, 1000, free);
            let total = 1000 * free;
            for (name, weight) in [("a", 6), ("b", 3), ("c", 1)] {
                assert!(
                    served[name].abs_diff(total * weight / 10) <= 1,
                    "{free}: {served:?}"
                );
            }
        }
    }

    #[test]
    fn every_queue_is_asked_each_time() {
        let mut schedule = schedule(&[("a", 1000), ("b", 1)], false);
        let names: Vec<_> = schedule
            .shares(1)
            .into_iter()
            .map(|share| share.queue.to_string())
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn strict_order_is_by_weight_and_takes_everything() {
        let mut schedule = schedule(&[("low", 1), ("high", 9), ("also-low", 1)], true);
        let shares: Vec<_> = schedule
            .shares(5)
            .into_iter()
            .map(|s| (s.queue.to_string(), s.share))
            .collect();
        assert_eq!(
            shares,
            [
                ("high".into(), 5),
                ("low".into(), 5),
                ("also-low".into(), 5)
            ]
        );
    }
}
