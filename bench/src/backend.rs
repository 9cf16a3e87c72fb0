//! What a backend's benchmark is made of: a queue, its limit, its peers.

use goqueue::Queue;

use crate::{
    contest::{Contest, Turn},
    measures::{self, CONCURRENCY},
    peers::{Peers, Question},
    report::{Bar, Figure},
    sample::{Failure, Sample},
};

/// What can be measured of a limit and of peers too.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    /// So many callers, each awaiting each of its calls.
    Enqueue(usize),
    /// `enqueue_all` in thousands.
    Bulk,
    /// A worker at concurrency 100.
    Drain,
}

/// A part of a backend's benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Enqueueing and draining, beside the limit and peers
    Rates,
    /// From enqueue to handler, and what an idle worker asks
    Latency,
    /// Jobs that fail once, then succeed
    FailOnce,
    /// The same work in front of a short and of a long queue (Redis)
    Backlog,
    /// Many jobs that are due at once (Redis)
    Promotion,
    /// Of a pending job, and of a draining worker
    Memory,
}

/// Whether a part is to be measured, when `only` these are, or all if it names none.
pub(crate) fn is_in<P: Copy + PartialEq>(part: P, only: &[P]) -> bool {
    only.is_empty() || only.contains(&part)
}

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    /// Jobs per measurement.
    pub(crate) jobs: usize,
    /// The same for a peer, which may be much slower.
    pub(crate) peer_jobs: usize,
    /// Bytes of JSON.
    pub(crate) payload: usize,
    pub(crate) rounds: usize,
}

/// A private server with a queue on it.
pub(crate) trait Backend: Sync {
    const PEERS: &[&'static str];

    fn queue(&self) -> &Queue;
    fn url(&self) -> &str;
    fn peers(&self) -> &Peers;
    /// Forgets every job of everybody.
    async fn empty(&self) -> Result<(), Failure>;
    /// The least that the server has to do for it. A drain is of what a bulk has left.
    async fn bare(&self, what: Measure, amount: Amount) -> Result<Sample, Failure>;
}

/// One measurement in alternating rounds.
pub(crate) async fn contest(
    backend: &impl Backend,
    name: &str,
    what: Measure,
    amount: Amount,
    bars: &[Bar],
) -> Result<Figure, Failure> {
    let peers = backend_peers(backend);
    let contest = Contest::new(name, peers, bars);
    let turns = |turn| take_turn(backend, what, amount, turn);
    let figure = contest.run(amount.rounds, turns).await?.figure();
    backend.empty().await?;
    Ok(figure)
}

fn backend_peers<B: Backend>(_: &B) -> &'static [&'static str] {
    B::PEERS
}

async fn take_turn(
    backend: &impl Backend,
    what: Measure,
    amount: Amount,
    turn: Turn,
) -> Result<Option<Sample>, Failure> {
    let Amount { jobs, payload, .. } = amount;
    backend.empty().await?;
    let queue = backend.queue();
    match (turn, what) {
        (Turn::Limit, Measure::Drain) => {
            backend.bare(Measure::Bulk, amount).await?;
            backend.bare(what, amount).await.map(Some)
        }
        (Turn::Limit, _) => backend.bare(what, amount).await.map(Some),
        (Turn::Ours, Measure::Enqueue(callers)) => measures::enqueue(queue, callers, jobs, payload)
            .await
            .map(Some),
        (Turn::Ours, Measure::Bulk) => measures::bulk(queue, jobs, payload).await.map(Some),
        (Turn::Ours, Measure::Drain) => {
            measures::bulk(queue, jobs, payload).await?;
            measures::drain(queue, CONCURRENCY).await.map(Some)
        }
        (Turn::Peer(peer), _) => {
            let (measure, callers) = match what {
                Measure::Enqueue(callers) => ("enqueue", callers),
                Measure::Bulk => ("bulk", 1),
                Measure::Drain => ("drain", CONCURRENCY),
            };
            let question = Question {
                peer,
                measure,
                url: backend.url(),
                jobs: amount.peer_jobs,
                callers,
                payload,
            };
            Ok(backend.peers().sample(question).await)
        }
    }
}
