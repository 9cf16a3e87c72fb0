//! `goqueue log …`, on MySQL.

use std::time::Duration;

use goqueue::log::{
    GroupName, Log, NewMessage, PartitionKey, StartFrom, SubscriberName, TopicName,
    store::{
        Dead, Fetch, FetchRequest, GroupPartition, LeaseRequest, Receipt, Settled, Settlement,
        SubscriberId, Verdict,
    },
};

use super::{
    golden,
    places::{Kind, Place},
    schema::compare,
};

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

#[tokio::test]
async fn everything_is_listed_and_shown() {
    let place = Place::new(Kind::Mysql).await;
    let log = some_read(&place).await;
    // Until the short lease has run out.
    while log
        .admin()
        .stale_leases(Duration::ZERO)
        .await
        .unwrap()
        .is_empty()
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for (name, args) in [
        ("topics", &["log", "topics"][..]),
        ("stats", &["log", "stats", "orders"]),
        ("messages", &["log", "messages", "orders"]),
        ("show", &["log", "show", "orders", "order-3"]),
        ("show-json", &["log", "show", "orders", "order-1"]),
        ("lag", &["log", "lag", "orders"]),
        ("dead", &["log", "dead", "list", "orders"]),
        (
            "offsets",
            &["log", "offsets", "list", "orders", "--group", "billing"],
        ),
        ("leases", &["log", "leases", "list", "--topic", "orders"]),
        ("stale", &["log", "leases", "stale", "--threshold", "0ms"]),
    ] {
        golden::check(&format!("log-{name}.txt"), &place.run(args).out());
    }
    let one = place
        .run(&[
            "log",
            "messages",
            "orders",
            "--partition",
            "customer-9",
            "--json",
        ])
        .json();
    assert_eq!(one["messages"][0]["hex"], "ff00");
    assert_eq!(one["messages"].as_array().unwrap().len(), 1);
    let none = place.run(&["log", "show", "orders", "order-17"]).refused(1);
    assert!(
        none.contains("topic `orders` has no message `order-17`"),
        "{none}"
    );
    let note = place.run(&["log", "lag", "oders"]).stderr;
    assert!(note.contains("did you mean `orders`?"), "{note}");

    let json = |args: &[&str]| place.run(&[&["log"], args, &["--json"]].concat()).json();
    compare("goqueue log topics --json", &[json(&["topics"])]);
    let quiet = json(&["stats", "nothing"]);
    compare(
        "goqueue log stats --json",
        &[json(&["stats", "orders"]), quiet],
    );
    let cut = json(&["messages", "orders", "--limit", "1"]);
    compare(
        "goqueue log messages --json",
        &[json(&["messages", "orders"]), cut],
    );
    let shown = ["order-1", "order-3", "order-4"].map(|id| json(&["show", "orders", id]));
    log.publish("orders", [NewMessage::new("order-5", "1", "customer-9")])
        .await
        .unwrap();
    lease(&log, "customer-9", Duration::from_secs(3600)).await;
    read(&log, "customer-9", vec![None, None]).await;
    let open = json(&["show", "orders", "order-4"]);
    compare("goqueue log show --json", &[&shown[..], &[open]].concat());
    compare("goqueue log lag --json", &[json(&["lag", "orders"])]);
    compare(
        "goqueue log leases list --json",
        &[json(&["leases", "list"])],
    );
    // A letter as it is, and a message that somebody published to the dead letters' topic.
    for (id, payload) in [("stray", &b"no letter"[..]), ("binary", &[0xff])] {
        log.publish("orders_dlq", [NewMessage::new(id, payload.to_vec(), "x")])
            .await
            .unwrap();
    }
    let cut = json(&["dead", "list", "orders", "--limit", "1"]);
    compare(
        "goqueue log dead list --json",
        &[json(&["dead", "list", "orders"]), cut],
    );
    compare(
        "goqueue log purge --json",
        &[json(&["purge", "orders", "--yes"])],
    );
    place.leave().await;
}

#[tokio::test]
async fn dead_letters_go_back_once_and_are_removed_for_good() {
    let place = Place::new(Kind::Mysql).await;
    let log = some_read(&place).await;
    let run = |args: &[&str]| place.run(&[&["log"], args].concat());
    let letters = run(&["dead", "list", "orders", "--json"]).json();
    let id = letters["dead_letters"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();

    let none = run(&["dead", "requeue", "orders", "order-17"]);
    assert!(
        none.stderr
            .contains("topic `orders_dlq` has no dead letter `order-17`"),
        "{none:?}"
    );
    assert_eq!(
        run(&["dead", "requeue", "orders", &id]).out(),
        "requeued 1 dead letter of topic `orders`\n"
    );
    assert_eq!(
        run(&["dead", "requeue", "orders", &id]).out(),
        "requeued 0 dead letters of topic `orders`\n"
    );
    assert_eq!(
        run(&["dead", "requeue", "orders", "--all"]).out(),
        "requeued 0 dead letters of topic `orders`\n"
    );
    // It is back for the group, behind the last message of its partition.
    read(&log, "customer-3", vec![dead(".failed")]).await;

    let listed = run(&["dead", "list", "orders", "--suffix", ".failed", "--json"]).json();
    assert_eq!(listed["dead_letters"][0]["original_id"], "order-2");
    assert_eq!(listed["dead_letters"][0]["requeues"], 1);
    assert_eq!(
        run(&["dead", "purge", "orders", "--suffix", ".failed"]).code,
        Some(2)
    );
    let purged = run(&["dead", "purge", "orders", "--suffix", ".failed", "--yes"]).out();
    assert_eq!(purged, "deleted 1 dead letter of topic `orders`\n");
    place.leave().await;
}

#[tokio::test]
async fn messages_offsets_and_leases_are_steered() {
    let place = Place::new(Kind::Mysql).await;
    let log = some_read(&place).await;
    let run = |args: &[&str]| place.run(&[&["log"], args].concat());

    // Nothing without a yes.
    let steps: [&[&str]; 4] = [
        &["delete", "orders", "order-4"],
        &["purge", "orders"],
        &[
            "offsets",
            "reset",
            "orders",
            "--group",
            "billing",
            "--all-partitions",
            "--to",
            "0",
        ],
        &[
            "leases",
            "release",
            "orders",
            "--group",
            "billing",
            "--partition",
            "customer-3",
        ],
    ];
    for args in steps {
        let refused = run(args).refused(2);
        assert!(refused.contains("say `--yes`"), "{refused}");
    }
    let lag = |place: &Place| {
        let answer = place.run(&["log", "lag", "orders", "--json"]).json();
        let rows = answer["offsets"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| row["lag"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(lag(&place), [1, 1]);
    let reset = run(&[steps[2], &["--yes"]].concat()).out();
    assert_eq!(
        reset,
        "customer-3: goes on behind offset 0\ncustomer-9: goes on behind offset 0\n"
    );
    assert_eq!(lag(&place), [3, 1]);
    let one = [
        "offsets",
        "reset",
        "orders",
        "--group",
        "billing",
        "--partition",
        "customer-3",
        "--to",
        "99",
        "--yes",
    ];
    assert_eq!(run(&one).out(), "customer-3: goes on behind offset 3\n");
    let nobody = [
        "offsets",
        "reset",
        "orders",
        "--group",
        "nobody",
        "--partition",
        "customer-3",
        "--to",
        "0",
        "--yes",
    ];
    assert!(
        run(&nobody)
            .refused(1)
            .contains("group `nobody` does not read partition `customer-3`")
    );

    let release = [steps[3], &["--yes"]].concat();
    assert_eq!(
        run(&release).out(),
        "released the lease on orders/customer-3 for billing\n"
    );
    assert_eq!(
        run(&release).out(),
        "nobody had the lease on orders/customer-3 for billing\n"
    );

    log.publish(
        "orders",
        [NewMessage::new("order-4", "again", "customer-3")],
    )
    .await
    .unwrap();
    let both = run(&["delete", "orders", "order-4", "--yes"]).refused(2);
    assert!(
        both.contains("2 partitions of topic `orders` have a message `order-4`"),
        "{both}"
    );
    let delete = [
        "delete",
        "orders",
        "order-4",
        "--partition",
        "customer-9",
        "--yes",
    ];
    assert_eq!(
        run(&delete).out(),
        "removed message `order-4` of topic `orders`\n"
    );
    assert!(
        run(&delete)
            .refused(1)
            .contains("topic `orders` has no message")
    );
    assert_eq!(
        run(&["purge", "orders", "--yes"]).out(),
        "removed 4 messages of topic `orders`\n"
    );
    assert_eq!(
        run(&["purge", "orders", "--yes"]).out(),
        "removed 0 messages of topic `orders`\n"
    );
    place.leave().await;
}

#[tokio::test]
async fn a_backend_without_a_log_says_what_to_use() {
    let place = Place::new(Kind::Redis).await;
    let refused = place.run(&["log", "topics"]).refused(1);
    assert!(
        refused.contains("driver `redis` does not support the message log"),
        "{refused}"
    );
    assert!(refused.contains("the log is on MySQL"), "{refused}");
    place.leave().await;
}
