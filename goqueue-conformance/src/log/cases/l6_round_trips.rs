//! L6. Delivering a batch takes a constant number of calls, and acks are grouped.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::join_all;
use goqueue_core::log::{LogObserver, PartitionEvent, PartitionFigures, StoreCall};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, subscribe},
    },
};

#[derive(Clone, Debug, Default)]
struct Calls(Arc<[AtomicU64; 2]>);

impl LogObserver for Calls {
    fn store_call(&self, call: &StoreCall) {
        match call.operation {
            "fetch" => self.0[0].fetch_add(1, Ordering::Relaxed),
            "settle" => self.0[1].fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn happened(&self, _: &PartitionEvent<'_>) {}

    fn stands(&self, _: &PartitionFigures<'_>) {}
}

pub(crate) async fn calls_do_not_grow_with_the_messages(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 1_000).await;
    let calls = Calls::default();
    let mut config = b.config("s", "g");
    config.batch_size = 100;
    config.poll_interval = b.lease();
    let mut subscription = subscribe(&b.log.with_observer(calls.clone()), config).await;
    for _ in 0..10 {
        let taken = b.take(&mut subscription, 100).await;
        let acked = join_all(taken.into_iter().map(|delivery| delivery.ack())).await;
        promise!(acked.iter().all(Result::is_ok), "acks in time count"; "{acked:?}");
    }
    b.drained("g", "p").await;
    let count = |index: usize| calls.0[index].load(Ordering::Relaxed);
    let (fetches, settles) = (count(0), count(1));
    promise!(fetches <= 60, "1000 messages are fetched in about 20 calls"; "{fetches} calls");
    promise!(settles <= 100, "1000 acks are written down in about 10 calls"; "{settles} calls");
}
