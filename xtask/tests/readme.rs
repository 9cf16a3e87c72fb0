//! The README's driver table is made from the drivers' capabilities.

use goqueue_core::driver::{Capabilities, Clock, Driver, InspectCapability, UniqueCapability};

const BEGIN: &str = "<!-- drivers: made from each driver's capabilities; a test compares -->\n";
const END: &str = "<!-- end of drivers -->";

#[test]
fn the_driver_table_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (head, rest) = readme
        .split_once(BEGIN)
        .expect("the README marks its driver table");
    let (table, tail) = rest
        .split_once(END)
        .expect("the README ends its driver table");

    let expected = driver_table();
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(path, format!("{head}{BEGIN}{expected}{END}{tail}")).unwrap();
    } else {
        assert_eq!(
            table, expected,
            "run this test with UPDATE_README=1 to write the table"
        );
    }
}

fn driver_table() -> String {
    let memory = goqueue_memory::MemoryDriver::new();
    // As large as servers have it on their own, or larger.
    let mysql = goqueue_mysql::capabilities(64 << 20);
    let drivers = [
        ("memory", memory.capabilities()),
        ("redis", &goqueue_redis::CAPABILITIES),
        ("mysql", &mysql),
        ("sqs", &goqueue_sqs::STANDARD),
        ("sqs FIFO", &goqueue_sqs::FIFO),
    ];

    let mut table = String::from("|");
    for (name, _) in &drivers {
        table += &format!(" | `{name}`");
    }
    table += " |\n| ---";
    table += &" | ---".repeat(drivers.len());
    table += " |\n";
    for (name, cell) in ROWS {
        table += &format!("| {name}");
        for (_, driver) in &drivers {
            table += &format!(" | {}", cell(driver));
        }
        table += " |\n";
    }
    table
}

type Cell = fn(&Capabilities) -> String;

const ROWS: [(&str, Cell); 12] = [
    ("jobs outlive the process", |can| yes(can.durable)),
    ("clock that decides what is due", |can| {
        match can.clock {
            Clock::Process => "the process's",
            Clock::Server => "the server's",
        }
        .into()
    }),
    ("longest delay", |can| {
        can.delay.max.map_or("any".into(), |max| format!("{max:?}"))
    }),
    ("delays rounded up to", |can| {
        format!("{:?}", can.delay.granularity)
    }),
    ("largest job", |can| bytes(can.max_payload)),
    ("jobs per push", |can| can.batch.jobs.to_string()),
    ("ordering keys", |can| yes(can.ordering)),
    ("unique keys", |can| match can.unique {
        UniqueCapability::Exact => "exact".into(),
        UniqueCapability::Window(window) => format!("within {window:?}"),
        UniqueCapability::None => "refused".into(),
    }),
    ("enqueue in your transaction", |can| {
        yes(can.transactional_enqueue)
    }),
    ("release gives the attempt back", |can| {
        yes(can.release_without_attempt)
    }),
    ("late settlements always told", |can| yes(can.stale_settle)),
    ("looking into queues", |can| {
        match can.inspect {
            InspectCapability::Full => "in full",
            InspectCapability::CountsAndDeadLetters => "counts and dead letters",
            InspectCapability::None => "no",
        }
        .into()
    }),
];

fn yes(can: bool) -> String {
    if can { "yes" } else { "no" }.into()
}

fn bytes(count: usize) -> String {
    match count {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} bytes"),
    }
}
