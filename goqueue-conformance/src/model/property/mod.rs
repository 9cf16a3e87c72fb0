//! Random histories, on a driver and on the model: what can be seen must be the same.

mod admin;
mod history;
mod ops;
mod replay;

use futures_util::future::join_all;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::{check::promise, harness::Harness, tools::Bench};

use history::{Allowed, histories};
use ops::Op;
use replay::{Broken, Replay};

/// Fixes the random histories, to see a failure again.
const SEED: &str = "GOQUEUE_TEST_SEED";
/// How many simpler histories are tried to explain a failure.
const SIMPLER: u32 = 400;

/// Compares a driver with the model on as many histories as its time scale allows.
pub(crate) async fn check(harness: &dyn Harness) {
    let seed = seed();
    let allowed = Allowed::by(Bench::new(harness).await.can());
    let mut runner = runner(seed);
    let mut trees: Vec<_> = (0..harness.timing().histories)
        .map(|_| {
            histories(allowed)
                .new_tree(&mut runner)
                .expect("a history can be made up")
        })
        .collect();
    let mut slow = 0;
    if harness.timing().is_virtual {
        for tree in &mut trees {
            match replayed(harness, &tree.current()).await {
                Ok(()) => {}
                Err(Broken::TooSlow) => slow += 1,
                Err(Broken::Promise(broken)) => {
                    let (history, broken) = simplified(harness, tree, broken).await;
                    show(seed, &history, &broken);
                }
            }
        }
    } else {
        // Real time is mostly waiting, so the histories wait together. A failure is shown as it
        // came: it would take too long to look for a simpler one.
        let histories: Vec<_> = trees.iter().map(ValueTree::current).collect();
        let replays = histories.iter().map(|history| replayed(harness, history));
        for (history, outcome) in histories.iter().zip(join_all(replays).await) {
            let outcome = match outcome {
                // Beside the others a busy machine was too slow for it, and may not be for one.
                Err(Broken::TooSlow) => replayed(harness, history).await,
                told => told,
            };
            match outcome {
                Ok(()) => {}
                Err(Broken::TooSlow) => slow += 1,
                Err(Broken::Promise(broken)) => show(seed, history, &broken),
            }
        }
    }
    promise!(
        slow * 2 <= trees.len(),
        "the machine keeps up with at least half of the histories";
        "{slow} of {} took too long between two steps of time",
        trees.len()
    );
}

fn show(seed: u64, history: &[Op], broken: &str) -> ! {
    let ops: String = history.iter().map(|op| format!("\n  {op:?}")).collect();
    panic!("{broken}\nin the history, of those with {SEED}={seed}:{ops}");
}

async fn replayed(harness: &dyn Harness, history: &[Op]) -> Result<(), Broken> {
    let bench = Bench::new(harness).await;
    let another = bench.another().await;
    Replay::new(&bench, another).run(history).await
}

/// Looks for the simplest history that still fails.
async fn simplified(
    harness: &dyn Harness,
    tree: &mut impl ValueTree<Value = Vec<Op>>,
    broken: String,
) -> (Vec<Op>, String) {
    let mut simplest = (tree.current(), broken);
    let mut moved = tree.simplify();
    for _ in 0..SIMPLER {
        if !moved {
            break;
        }
        let history = tree.current();
        moved = match replayed(harness, &history).await {
            Err(Broken::Promise(broken)) => {
                simplest = (history, broken);
                tree.simplify()
            }
            _ => tree.complicate(),
        };
    }
    simplest
}

fn seed() -> u64 {
    match std::env::var(SEED) {
        Ok(seed) => seed
            .parse()
            .unwrap_or_else(|_| panic!("{SEED} is no number: `{seed}`")),
        // The random part of a new id.
        Err(_) => goqueue_core::JobId::new().as_uuid().as_u64_pair().1 >> 16,
    }
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(
        Config {
            failure_persistence: None,
            ..Config::default()
        },
        rng,
    )
}
