//! What breaks when, made of a seed.

use std::{fmt, time::Duration};

use fastrand::Rng;

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// Processes that enqueue.
    pub producers: usize,
    /// Processes that run jobs.
    pub workers: usize,
}

impl Cast {
    /// All processes: the producers first.
    #[must_use]
    pub fn len(self) -> usize {
        self.producers + self.workers
    }

    /// Whether nobody takes part.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Whether a server can be killed and started again on what it had stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// It can: what it answered for is on the disk.
    OnDisk,
    /// It cannot: it is frozen instead.
    InMemory,
}

/// Something that breaks. Processes are told by their number, producers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL; another process takes its place when the time is over.
    Kill(usize),
    /// SIGSTOP, then SIGCONT.
    Stop(usize),
    /// The server gets SIGKILL, and is started again on its data.
    KillServer,
    /// The server gets SIGSTOP, then SIGCONT: every answer is late.
    StopServer,
    /// Every connection of the process breaks, and none can be made.
    Cut(usize),
    /// The process's next so many calls break their connections before they reach the server.
    LoseCalls(usize, usize),
    /// The process's next so many calls reach the server; their connections break before the answer.
    LoseReplies(usize, usize),
    /// The process's next so many calls break their connections after half of their bytes.
    Tear(usize, usize),
    /// What the server says takes so many milliseconds longer to reach the process.
    Slow(usize, u64),
}

/// A fault with its times, counted from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it breaks.
    pub from: Duration,
    /// When it is mended.
    pub to: Duration,
    /// What it is.
    pub fault: Fault,
}

impl Fault {
    /// The process that it concerns, or `None` for the server.
    #[must_use]
    pub fn target(self) -> Option<usize> {
        match self {
            Fault::KillServer | Fault::StopServer => None,
            Fault::Kill(who)
            | Fault::Stop(who)
            | Fault::Cut(who)
            | Fault::LoseCalls(who, _)
            | Fault::LoseReplies(who, _)
            | Fault::Tear(who, _)
            | Fault::Slow(who, _) => Some(who),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from.as_millis(), self.to.as_millis());
        write!(f, "{from:>6} to {to:>6} ms: {:?}", self.fault)
    }
}

/// The faults of a seed. No two of them concern the same process, or the server, at a time.
#[must_use]
pub fn schedule(seed: u64, length: Duration, cast: Cast, store: Store) -> Vec<Moment> {
    let mut rng = Rng::with_seed(seed);
    let mut moments: Vec<Moment> = Vec::new();
    let mut at = millis(500);
    while at < length {
        let (fault, lasts) = choose(&mut rng, cast, store);
        let to = (at + lasts).min(length);
        let moment = Moment {
            from: at,
            to,
            fault,
        };
        let is_free = |known: &Moment| known.fault.target() != fault.target() || known.to < at;
        if moments.iter().all(is_free) {
            moments.push(moment);
        }
        at += millis(rng.u64(100..600));
    }
    moments
}

fn choose(rng: &mut Rng, cast: Cast, store: Store) -> (Fault, Duration) {
    let mut lasting = |range: std::ops::Range<u64>| millis(rng.u64(range));
    let (short, long, outage) = (
        lasting(100..1_500),
        lasting(300..5_000),
        lasting(200..2_000),
    );
    let anyone = rng.usize(0..cast.len());
    let worker = cast.producers + rng.usize(0..cast.workers);
    let times = rng.usize(1..4);
    match rng.u8(0..40) {
        0..9 => (Fault::Kill(worker), short),
        9..16 => (Fault::Stop(worker), long),
        16..18 => (Fault::Kill(rng.usize(0..cast.producers)), short),
        18..20 if store == Store::OnDisk => (Fault::KillServer, outage),
        18..22 => (Fault::StopServer, outage),
        22..26 => (Fault::Cut(anyone), long),
        26..29 => (Fault::LoseCalls(anyone, times), short),
        29..34 => (Fault::LoseReplies(anyone, times), short),
        34..37 => (Fault::Tear(anyone, times), short),
        _ => (Fault::Slow(anyone, rng.u64(10..300)), long),
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAST: Cast = Cast {
        producers: 2,
        workers: 3,
    };
    const MINUTE: Duration = Duration::from_secs(60);

    fn of(seed: u64) -> Vec<Moment> {
        schedule(seed, MINUTE, CAST, Store::OnDisk)
    }

    #[test]
    fn a_server_in_memory_is_frozen_where_another_is_killed() {
        let frozen = |moment: Moment| match moment.fault {
            Fault::KillServer => Moment {
                fault: Fault::StopServer,
                ..moment
            },
            _ => moment,
        };
        let mut kills = 0;
        for seed in 0..20 {
            let killed = of(seed);
            kills += killed
                .iter()
                .filter(|moment| moment.fault == Fault::KillServer)
                .count();
            let expected: Vec<_> = killed.into_iter().map(frozen).collect();
            assert_eq!(schedule(seed, MINUTE, CAST, Store::InMemory), expected);
        }
        assert!(kills > 20, "{kills}");
    }

    #[test]
    fn a_seed_says_it_all() {
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn every_fault_comes_and_none_meets_another() {
        let moments: Vec<_> = (0..20).flat_map(of).collect();
        let kinds: std::collections::BTreeSet<_> = moments
            .iter()
            .map(|moment| {
                format!("{:?}", moment.fault)
                    .split('(')
                    .next()
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(kinds.len(), 9, "{kinds:?}");
        for seed in 0..20 {
            let moments = of(seed);
            assert!(moments.len() > 60, "{}", moments.len());
            for (at, later) in moments.iter().enumerate() {
                assert!(later.from < later.to || later.to == MINUTE);
                for earlier in &moments[..at] {
                    let meets =
                        earlier.fault.target() == later.fault.target() && earlier.to >= later.from;
                    assert!(!meets, "{earlier} and {later}");
                }
            }
        }
    }
}
