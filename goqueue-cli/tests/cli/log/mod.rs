//! `goqueue log …`, on MySQL.

mod listing;
mod steering;

use std::time::Duration;

use goqueue::log::{
    GroupName, Log, NewMessage, PartitionKey, StartFrom, SubscriberName, TopicName,
    store::{
        Dead, Fetch, FetchRequest, GroupPartition, LeaseRequest, Receipt, Settled, Settlement,
        SubscriberId, Verdict,
    },
};

use super::places::Place;

fn topic() -> TopicName {
    TopicName::new("orders").unwrap()
}

fn at(partition: &str) -> GroupPartition {
    GroupPartition {
        topic: topic(),
        group: GroupName::new("billing").unwrap(),
        partition: PartitionKey::new(partition).unwrap(),
    }
}

fn worker() -> SubscriberId {
    SubscriberId {
        name: SubscriberName::new("worker-1").unwrap(),
        instance: 0x17,
    }
}

async fn lease(log: &Log, partition: &str, duration: Duration) {
    let at = at(partition);
    let request = LeaseRequest {
        topic: at.topic,
        group: at.group,
        subscriber: worker(),
        partitions: vec![at.partition],
        duration,
    };
    // One that has run out by the time of the answer is no longer counted.
    log.backend().leases().acquire(&request).await.unwrap();
}

/// Takes what is there of a partition, and ends each delivery as it is told.
async fn read(log: &Log, partition: &str, verdicts: Vec<Option<Verdict>>) {
    let request = FetchRequest {
        at: at(partition),
        subscriber: worker(),
        max: 10,
        visibility: Duration::from_secs(3600),
        is_serial: false,
        receipt: Receipt(1),
    };
    let fetched = log.backend().transactions().fetch(&request).await.unwrap();
    let Fetch::Taken(taken) = fetched else {
        panic!("the lease is lost");
    };
    assert_eq!(taken.len(), verdicts.len());
    let ends = taken
        .into_iter()
        .zip(verdicts)
        .filter_map(|(taken, verdict)| {
            Some(Settlement {
                partition: taken.message.partition,
                offset: taken.message.offset,
                receipt: Receipt(1),
                verdict: verdict?,
            })
        });
    let ends: Vec<_> = ends.collect();
    let at = at(partition);
    let settled = log
        .backend()
        .transactions()
        .settle(&at.topic, &at.group, &ends)
        .await
        .unwrap();
    assert!(settled.iter().all(|settled| *settled == Settled::Done));
}

fn dead(suffix: &str) -> Option<Verdict> {
    Some(Verdict::Dead(Dead {
        topic: topic().dead_letters(suffix).unwrap(),
        attempts: 3,
        error: "no such customer".into(),
    }))
}

/// Four messages of two partitions and a group: one is acked, one dead, one failed, one not read.
async fn some_read(place: &Place) -> Log {
    let log = Log::connect(&place.config()).await.unwrap();
    let message = |id: &str, payload: &[u8], key: &str| NewMessage::new(id, payload.to_vec(), key);
    let messages = [
        message("order-1", br#"{"cents": 1200}"#, "customer-3").metadata("trace", "t-1"),
        message("order-2", br#"{"cents": 900}"#, "customer-3"),
        message("order-3", b"plain text", "customer-3"),
        message("order-4", &[0xff, 0x00], "customer-9"),
    ];
    log.publish("orders", messages).await.unwrap();
    let group = at("customer-3").group;
    let offsets = log.backend().offsets();
    offsets
        .register(&topic(), &group, StartFrom::Beginning)
        .await
        .unwrap();
    lease(&log, "customer-3", Duration::from_secs(3600)).await;
    lease(&log, "customer-9", Duration::from_millis(1)).await;
    let retry = Some(Verdict::Retry {
        delay: Duration::from_secs(3600),
        error: Some("timed out".into()),
    });
    read(
        &log,
        "customer-3",
        vec![Some(Verdict::Ack), dead("_dlq"), retry],
    )
    .await;
    log
}
