//! L8. Finding partitions costs what the partitions cost, however many messages there are.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, group, message, topic},
    },
};

const PARTITIONS: usize = 100;
/// How many messages each of them gets in the end.
const MESSAGES: usize = 100;

async fn fill(b: &Bench<'_>, messages: std::ops::Range<usize>) {
    for n in messages {
        let all = (0..PARTITIONS).map(|p| message(&n.to_string(), &format!("p{p}")));
        b.log.publish(TOPIC, all).await.expect("they are published");
    }
}

/// The shortest of several looks.
async fn look(b: &Bench<'_>) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..20 {
        let asked = Instant::now();
        let found = b.backend.offsets().partitions(&topic(), &group("g")).await;
        shortest = shortest.min(asked.elapsed());
        let count = found.map(|found| found.len());
        promise!(matches!(count, Ok(PARTITIONS)), "{PARTITIONS} partitions are found"; "{count:?}");
    }
    shortest
}

pub(crate) async fn discovery_costs_what_the_partitions_cost(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.hand("s", "g", "p0").await;
    fill(&b, 0..1).await;
    let few = look(&b).await;
    fill(&b, 1..MESSAGES).await;
    let many = look(&b).await;
    promise!(
        many < few * 4 + Duration::from_micros(200),
        "with {MESSAGES} times the messages a look takes about as long";
        "{few:?} became {many:?}"
    );
}
