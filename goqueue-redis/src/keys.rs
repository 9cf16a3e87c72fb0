//! The keys of a queue. They share the hash tag `{queue}`, and so one slot of a cluster.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use goqueue_core::QueueName;

/// Every key of one queue, and the channel on which its waiting workers are woken.
#[derive(Debug)]
pub(crate) struct QueueKeys {
    pub(crate) ready: String,
    pub(crate) scheduled: String,
    pub(crate) running: String,
    pub(crate) leases: String,
    pub(crate) waiting: String,
    pub(crate) lanes: String,
    pub(crate) parked: String,
    pub(crate) parked_due: String,
    pub(crate) unique: String,
    pub(crate) holds: String,
    pub(crate) dead: String,
    pub(crate) dead_order: String,
    pub(crate) dead_age: String,
    pub(crate) channel: String,
}

impl QueueKeys {
    fn new(prefix: &str, queue: &QueueName) -> Self {
        let key = |name: &str| format!("{prefix}:{{{queue}}}:{name}");
        Self {
            ready: key("ready"),
            scheduled: key("scheduled"),
            running: key("running"),
            leases: key("leases"),
            waiting: key("waiting"),
            lanes: key("lanes"),
            parked: key("parked"),
            parked_due: key("parked:due"),
            unique: key("unique"),
            holds: key("unique:holds"),
            dead: key("dead"),
            dead_order: key("dead:order"),
            dead_age: key("dead:age"),
            channel: key("wake"),
        }
    }

    /// The three keys of the dead letters, in the order in which the scripts want them.
    pub(crate) fn dead(&self) -> [&str; 3] {
        [&self.dead, &self.dead_order, &self.dead_age]
    }
}

/// The keys of all queues, made once each.
#[derive(Debug)]
pub(crate) struct Keys {
    prefix: String,
    queues: RwLock<HashMap<QueueName, Arc<QueueKeys>>>,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.into(),
            queues: RwLock::default(),
        }
    }

    pub(crate) fn of(&self, queue: &QueueName) -> Arc<QueueKeys> {
        let known = self
            .queues
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(queue)
            .cloned();
        known.unwrap_or_else(|| {
            let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
            let made = || Arc::new(QueueKeys::new(&self.prefix, queue));
            Arc::clone(queues.entry(queue.clone()).or_insert_with(made))
        })
    }

    /// The set of the names of all queues. It belongs to no queue, and to whatever slot it falls.
    pub(crate) fn registry(&self) -> String {
        format!("{}:queues", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_carry_the_queue_as_their_hash_tag() {
        let keys = Keys::new("goqueue");
        let mail = keys.of(&QueueName::new("mail").unwrap());
        assert_eq!(mail.ready, "goqueue:{mail}:ready");
        assert_eq!(mail.parked_due, "goqueue:{mail}:parked:due");
        assert_eq!(keys.registry(), "goqueue:queues");
        assert!(Arc::ptr_eq(
            &mail,
            &keys.of(&QueueName::new("mail").unwrap())
        ));
    }
}
