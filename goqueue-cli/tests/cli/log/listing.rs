//! What is listed and shown, in tables and in JSON.

use std::time::Duration;

use goqueue::log::NewMessage;

use super::{lease, read, some_read};
use crate::{
    golden,
    places::{Kind, Place},
    schema::compare,
};

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
