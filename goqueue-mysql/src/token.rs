//! What a lease says.

use goqueue_core::{
    JobId, QueueName,
    driver::{Lease, LeaseToken},
};

use crate::hash;

/// What a lease token of this driver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token {
    /// The row.
    pub(crate) seq: u64,
    /// Which delivery of it.
    pub(crate) number: u32,
    /// Whether the job has an ordering key or a unique key, so that ending it is more than deleting
    /// a row.
    pub(crate) is_keyed: bool,
}

impl Token {
    /// The token of a lease on this job. It ends with a sum over queue and id, so that it is worth
    /// nothing beside another job's.
    pub(crate) fn on(self, queue: &QueueName, id: JobId) -> LeaseToken {
        let kind = if self.is_keyed { 'k' } else { 'p' };
        format!("{}.{}.{kind}.{:x}", self.seq, self.number, sum(queue, id)).into()
    }

    /// Reads a lease; one of another driver says nothing.
    pub(crate) fn of(lease: &Lease) -> Option<Self> {
        let mut parts = lease.token.as_text()?.split('.');
        let seq = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        let is_keyed = match parts.next()? {
            "k" => true,
            "p" => false,
            _ => return None,
        };
        let found = u64::from_str_radix(parts.next()?, 16).ok()?;
        let is_whole = parts.next().is_none() && found == sum(&lease.queue, lease.id);
        is_whole.then_some(Self {
            seq,
            number,
            is_keyed,
        })
    }
}

fn sum(queue: &QueueName, id: JobId) -> u64 {
    hash::fnv1a(queue.as_str().bytes().chain(*id.as_uuid().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_beside_its_own_job_alone() {
        let (queue, id) = (QueueName::new("q").unwrap(), JobId::new());
        let lease = |token| Lease {
            queue: queue.clone(),
            id,
            token,
        };
        let token = Token {
            seq: u64::MAX,
            number: 7,
            is_keyed: true,
        };
        let mut whole = lease(token.on(&queue, id));
        assert_eq!(Token::of(&whole), Some(token));
        for other in [
            "",
            "12",
            "12.1",
            "12.1.p",
            "12.1.x.0",
            "-1.1.p.0",
            "1; DROP.1.p.0",
        ] {
            assert_eq!(Token::of(&lease(other.into())), None, "{other}");
        }
        assert_eq!(Token::of(&lease(LeaseToken::from(12))), None);
        whole.id = JobId::new();
        assert_eq!(Token::of(&whole), None);
    }
}
