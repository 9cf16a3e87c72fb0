//! What is changed, and what is asked first.

use goqueue::log::NewMessage;

use super::{dead, read, some_read};
use crate::places::{Kind, Place};

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
