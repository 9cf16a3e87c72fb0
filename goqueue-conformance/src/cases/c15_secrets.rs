//! No password, key or token ever appears in `Debug`, `Display`, logs or errors.

use std::fmt::{Debug, Display};

use goqueue_core::{Config, Queue, driver::DriverUrl};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Probe, logged},
};

/// A password that appears nowhere by accident, with characters that a parser may trip over.
const PASSWORD: &str = "hunter2-Zx9@/?#%";

fn shows_none(what: &str, text: &str, secrets: &[String]) {
    let shown = secrets
        .iter()
        .filter(|secret| text.contains(secret.as_str()))
        .count();
    // The text itself must not be quoted here: it would be the leak.
    promise!(shown == 0, "{what} shows no secret"; "it shows {shown} of {}", secrets.len());
}

fn both(value: &(impl Debug + Display)) -> String {
    format!("{value} {value:?} {value:#?}")
}

/// The password, and any part of it that a careless parser would leave.
fn planted() -> Vec<String> {
    vec![
        PASSWORD.to_owned(),
        "hunter2".to_owned(),
        "Zx9".to_owned(),
        "tok-44".to_owned(),
    ]
}

pub(crate) async fn urls_hide_their_secrets(_: &dyn Harness) {
    let urls = [
        format!("redis://user:{PASSWORD}@localhost:6379/0"),
        format!("rediss://:{PASSWORD}@localhost"),
        format!("mysql://root:{PASSWORD}@localhost/db?ssl-key=tok-44"),
        "sqs://eu-west-1/prefix-?secret_access_key=tok-44".to_owned(),
        format!("{PASSWORD} without a scheme"),
        format!("unheard-of://user:{PASSWORD}@host"),
    ];
    for url in urls {
        let scheme = url.split(':').next().unwrap_or_default().to_owned();
        let parsed = DriverUrl::new(&url);
        shows_none("a driver URL", &both(&parsed), &planted());
        let config = Config::default().with_driver(parsed);
        shows_none(
            "a configuration",
            &format!("{config:?} {config:#?}"),
            &planted(),
        );
        // Whether or not the driver is compiled in, there is no such host to connect to.
        if scheme.starts_with("unheard-of") || scheme.contains("without") {
            let error = Queue::connect(&config).await.err();
            let Some(error) = error else {
                panic!("expected: a URL of no known driver is an error\nhappened: it connected")
            };
            shows_none(
                "the error of a URL of no known driver",
                &both(&error),
                &planted(),
            );
        }
    }
}

pub(crate) async fn driver_tables_hide_their_secrets(_: &dyn Harness) {
    let text = "[redis]\npassword = \"hunter2\"\n[mysql]\nsecret_access_key = \"tok-44\"\n";
    let config = Config::from_toml(text);
    let config = config.unwrap_or_else(|error| panic!("driver tables are accepted: {error}"));
    shows_none(
        "a configuration",
        &format!("{config:?} {config:#?}"),
        &planted(),
    );

    let wrong = "[redis]\npassword = 990044\n";
    #[derive(Debug, Default, serde::Deserialize)]
    struct Table {
        #[allow(dead_code, reason = "only decoded")]
        password: String,
    }
    let config = Config::from_toml(wrong);
    let config = config.unwrap_or_else(|error| panic!("driver tables are accepted: {error}"));
    let table = config.driver_table::<Table>("redis");
    let Err(error) = table else {
        panic!("expected: a password that is no text is an error\nhappened: it was accepted")
    };
    shows_none(
        "the error of a wrong password",
        &both(&error),
        &["990044".to_owned()],
    );
}

pub(crate) async fn handles_show_no_secret(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let secrets = h.secrets();
    let queue = b.queue();
    let worker = b.worker(|w| w);
    shows_none(
        "a driver",
        &format!("{:?} {:#?}", b.driver, b.driver),
        &secrets,
    );
    shows_none("a queue", &format!("{queue:?} {queue:#?}"), &secrets);
    shows_none("a worker", &format!("{:?}", worker.handle), &secrets);
    worker.stop(b.patience()).await;
}

pub(crate) async fn errors_and_logs_show_no_secret(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let secrets = h.secrets();
    let (line, faults) = h.faulty(&b.store).await;
    let worker = b.worker_on(std::sync::Arc::clone(&line), |w| w);
    b.enqueue(Probe::succeeding("job")).await;
    b.records.ended(1, b.patience()).await;
    faults.cut().await;
    let queue = b.impatient(line, b.lease());
    let failed = [
        queue.enqueue(Probe::succeeding("job")).await.err(),
        queue.ping().await.err(),
    ];
    for error in failed {
        let Some(error) = error else {
            panic!("expected: a cut line is an error\nhappened: the call succeeded")
        };
        shows_none("an error of a cut line", &both(&error), &secrets);
    }
    b.elapse(b.lease()).await;
    worker.stop(b.patience()).await;
    for secret in secrets.iter().chain(&planted()) {
        let lines = logged(secret).len();
        promise!(lines == 0, "no line of the log shows a secret"; "{lines} lines do");
    }
}
