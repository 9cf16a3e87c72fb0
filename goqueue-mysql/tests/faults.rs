//! Servers and lines that break, and pools that run out.

mod support;

use std::time::Duration;

use goqueue_core::{
    Error,
    driver::{Driver, JobState, LeaseOutcome, PageRequest, ReserveRequest, Settlement, Verdict},
};
use goqueue_mysql::{
    MysqlDriver,
    sqlx::{ConnectOptions, mysql::MySqlPoolOptions},
};
use support::*;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_while_idle_are_replaced_unseen() {
    let database = Database::new().await;
    let driver = database.driver().await;
    push(&driver, vec![job("q", "1")]).await;
    sleep(Duration::from_millis(600)).await;
    let killed = database
        .rows(&format!(
            "SELECT id FROM information_schema.processlist WHERE db = '{}' AND command = 'Sleep'",
            database.name
        ))
        .await;
    assert!(!killed.is_empty());
    for row in &killed {
        use goqueue_mysql::sqlx::Row;
        let id: i64 = row.try_get_unchecked(0).unwrap();
        database.run(&format!("KILL {id}")).await;
    }
    push(&driver, vec![job("q", "2")]).await;
    assert_eq!(bodies(&driver, 9).await, ["1", "2"]);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_pool_is_named_as_such() {
    let database = Database::new().await;
    let settings = "[mysql]\nmax_connections = 1\nacquire_timeout = \"300ms\"";
    let driver = MysqlDriver::connect(&database.config_with(settings))
        .await
        .unwrap();
    // Its one connection waits for a row lock.
    let pool = database.pool().await;
    let mut tx = pool.begin().await.unwrap();
    goqueue_mysql::sqlx::raw_sql(
        "INSERT INTO goqueue_unique_keys VALUES ('q', 'k', REPEAT('x', 16), 0, 0)",
    )
    .execute(&mut *tx)
    .await
    .unwrap();
    let waits = driver.clone();
    let waits = tokio::spawn(async move { waits.push(vec![unique("k", Duration::ZERO)]).await });
    sleep(Duration::from_millis(300)).await;
    let error = driver.push(vec![job("q", "x")]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    for part in [
        "pool is exhausted",
        "all of its 1 connections",
        "mysql.max_connections",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    tx.rollback().await.unwrap();
    waits.await.unwrap().unwrap();
    push(&driver, vec![job("q", "x")]).await;

    let small = MySqlPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_millis(300));
    let small = small.connect_with(database.options()).await.unwrap();
    let given = MysqlDriver::with_pool(small.clone(), &database.config())
        .await
        .unwrap();
    let held = small.acquire().await.unwrap();
    let error = given.ping().await.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("pool is exhausted"),
        "{error}"
    );
    drop(held);
    given.ping().await.unwrap();
    small.close().await;
    let error = given.ping().await.unwrap_err();
    assert!(matches!(error, Error::Closed { .. }), "{error:?}");
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_server_is_not_called_an_exhausted_pool() {
    let mut server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let driver = database.driver().await;
    let pool = MySqlPoolOptions::new()
        .acquire_timeout(Duration::from_millis(500))
        .connect_with(database.options())
        .await
        .unwrap();
    let given = MysqlDriver::with_pool(pool, &database.config())
        .await
        .unwrap();
    server.kill();
    for driver in [&driver, &given] {
        let error = driver.ping().await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        let error = driver.ping().await.unwrap_err();
        assert!(
            error.is_transient() && error.to_string().contains("refused"),
            "{error}"
        );
        assert!(!error.to_string().contains("exhausted"), "{error}");
    }
    server.resume().await;
    push(&driver, vec![job("q", "x")]).await;
    assert_eq!(bodies(&given, 1).await, ["x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_connection_to_spare_is_waited_for() {
    let server = Server::with(&["--max-connections=10"]).await;
    let database = Database::on(&server.url()).await;
    let driver = database.driver().await;
    // One more than it allows, which is kept for an administrator such as this user.
    let mut held = Vec::new();
    let refused = loop {
        match database.options().connect().await {
            Ok(connection) => held.push(connection),
            Err(error) => break error,
        }
        assert!(held.len() < 20, "it takes any number");
    };
    assert!(
        refused.to_string().contains("Too many connections"),
        "{refused}"
    );
    let error = driver.push(vec![job("q", "x")]).await.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("Too many connections"),
        "{error}"
    );
    drop(held);
    let patience = Instant::now() + Duration::from_secs(20);
    while let Err(error) = driver.push(vec![job("q", "x")]).await {
        assert!(error.is_transient() && Instant::now() < patience, "{error}");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bodies(&driver, 9).await, ["x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_is_given_up_and_found_again() {
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    // What is done on a server that is well may take longer than an impatient driver waits.
    let patient = database.driver().await;
    let settings = "[mysql]\nanswer_timeout = \"400ms\"\nacquire_timeout = \"400ms\"";
    let driver = MysqlDriver::connect(&database.config_with(settings))
        .await
        .unwrap();
    push(&patient, vec![job("q", "1"), job("q", "2")]).await;
    let jobs = take(&patient, 1).await;
    server.freeze();
    let since = Instant::now();
    let settlement = Settlement {
        lease: jobs[0].lease.clone(),
        verdict: Verdict::Ack,
    };
    let error = driver.settle(vec![settlement.clone()]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    let request = waiting("q", 1, Duration::from_secs(20));
    let cancel = request.cancel.clone();
    let waiter = driver.clone();
    let waits = tokio::spawn(async move { waiter.reserve(request).await });
    sleep(Duration::from_millis(100)).await;
    cancel.cancel();
    let stopped = waits.await.unwrap();
    assert!(stopped.is_err() || stopped.unwrap().is_empty());
    assert!(
        since.elapsed() < Duration::from_secs(4),
        "{:?}",
        since.elapsed()
    );
    server.thaw();
    // Whether the first try came through is not known; another cannot do harm.
    let patience = Instant::now() + Duration::from_secs(20);
    while let Err(error) = driver.settle(vec![settlement.clone()]).await {
        assert!(error.is_transient() && Instant::now() < patience, "{error}");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        patient.settle(vec![settlement]).await.unwrap(),
        [LeaseOutcome::Lost]
    );
    let (ready, _, running, _) = counts(&patient).await;
    assert_eq!(ready + running, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_is_waited_for() {
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let driver = database.driver().await;
    database.run("CREATE USER app").await;
    database
        .run(&format!("GRANT ALL ON {}.* TO app", database.name))
        .await;
    let url = database.url().replace("root@", "app@");
    let config = goqueue_core::Config::default().with_driver(&*url);
    let app = MysqlDriver::connect(&config).await.unwrap();
    database.run("SET GLOBAL read_only = 1").await;
    let error = app.push(vec![job("q", "x")]).await.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("read-only"),
        "{error}"
    );
    database.run("SET GLOBAL read_only = 0").await;
    push(&app, vec![job("q", "x")]).await;
    assert_eq!(bodies(&driver, 1).await, ["x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_lost_is_never_a_success() {
    let database = Database::new().await;
    let direct = database.driver().await;
    let proxy = line_to(database.address()).await;
    let config = goqueue_core::Config::default().with_driver(&*database.url_through(proxy.port()));
    let driver = MysqlDriver::connect(&config).await.unwrap();
    // The end of a job with a key, too, takes a transaction.
    push(&driver, vec![unique("first", Duration::ZERO)]).await;
    let jobs = take(&driver, 1).await;

    // With a unique key it takes a transaction, whose end is what is lost.
    proxy.lose_replies(1);
    let lost = driver.push(vec![unique("k", Duration::ZERO)]).await;
    let error = lost.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(
        counts(&direct).await,
        (1, 0, 1, 0),
        "the job is stored, once"
    );

    proxy.lose_replies(1);
    let short = ReserveRequest {
        lease: Duration::from_secs(1),
        ..request("q", 1)
    };
    let error = driver.reserve(short).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(counts(&direct).await, (0, 0, 2, 0), "it is taken");
    assert_eq!(take(&direct, 1).await.len(), 0, "its lease is alive");
    let wait = Duration::from_secs(10);
    let again = direct.reserve(waiting("q", 1, wait)).await.unwrap();
    assert_eq!(
        (bodies_of(&again), again[0].attempt),
        (vec!["unique".into()], 2)
    );

    // The ack that came through is told as lost when it is repeated, and nothing happens twice.
    proxy.lose_replies(1);
    let settlement = Settlement {
        lease: jobs[0].lease.clone(),
        verdict: Verdict::Ack,
    };
    let error = driver.settle(vec![settlement.clone()]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(counts(&direct).await, (0, 0, 1, 0));
    assert_eq!(
        driver.settle(vec![settlement]).await.unwrap(),
        [LeaseOutcome::Lost]
    );

    // A call that does not come through leaves everything as it was.
    proxy.fail_next(1);
    let failed = driver.push(vec![unique("other", Duration::ZERO)]).await;
    let error = failed.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(counts(&direct).await, (0, 0, 1, 0));

    proxy.cut();
    assert!(driver.ping().await.unwrap_err().is_transient());
    proxy.restore();
    driver.ping().await.unwrap();
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_driver_ends_its_waits_and_takes_no_calls() {
    let database = Database::new().await;
    let driver = database.driver().await;
    let waiter = driver.clone();
    let waits = tokio::spawn(async move {
        waiter
            .reserve(waiting("q", 1, Duration::from_secs(20)))
            .await
    });
    sleep(Duration::from_millis(200)).await;
    let since = Instant::now();
    driver.close().await.unwrap();
    assert!(since.elapsed() < Duration::from_secs(1));
    assert!(waits.await.unwrap().unwrap().is_empty());
    let error = driver.push(vec![job("q", "x")]).await.unwrap_err();
    assert!(
        matches!(error, Error::Closed { driver: "mysql" }),
        "{error:?}"
    );
    let inspect = driver.inspect().unwrap();
    let error = inspect
        .peek(&queue("q"), JobState::Ready, PageRequest::first(1))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Closed { .. }), "{error:?}");
    database.drop().await;
}

#[test]
fn a_driver_outlives_its_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (database, driver) = runtime.block_on(async {
        let database = Database::new().await;
        let driver = database.driver().await;
        push(&driver, vec![job("q", "x")]).await;
        (database, driver)
    });
    runtime.block_on(database.drop());
    drop(runtime);
    drop(driver);
}
