//! Connecting: the tables, the server's settings, and everything that can be wrong with them.

mod support;

use goqueue_core::{
    Config, Error,
    driver::{Capabilities, Driver, PushOutcome},
};
use goqueue_mysql::{
    MysqlDriver, migrate,
    sqlx::{self, mysql::MySqlPoolOptions},
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use support::*;
use tokio::{task::JoinSet, time::Instant};

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_programs_may_migrate_at_once() {
    let database = Database::new().await;
    let mut tasks = JoinSet::new();
    for n in 0..6 {
        let config = database.config();
        tasks.spawn(async move {
            if n % 2 == 0 {
                migrate(&config).await.map(|migrated| migrated.to)
            } else {
                MysqlDriver::connect(&config).await.map(|_| 6)
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        assert_eq!(done.unwrap().unwrap(), 6);
    }
    assert_eq!(
        database
            .number("SELECT COUNT(*) FROM goqueue_migrations")
            .await,
        6
    );
    let again = migrate(&database.config()).await.unwrap();
    assert_eq!((again.from, again.to), (6, 6));
    push(&database.driver().await, vec![job("q", "x")]).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_missing_are_named_when_they_may_not_be_made() {
    let database = Database::new().await;
    let config = database.config_with("[mysql]\nauto_migrate = false\nprefix = \"shop\"");
    let error = MysqlDriver::connect(&config).await.unwrap_err();
    assert!(matches!(error, Error::Config(_)), "{error:?}");
    let text = error.to_string();
    for part in [
        "`shop_*`",
        "version 0",
        "needs 6",
        "goqueue migrate",
        "auto_migrate",
    ] {
        assert!(text.contains(part), "{text}");
    }
    migrate(&config).await.unwrap();
    push(
        &MysqlDriver::connect(&config).await.unwrap(),
        vec![job("q", "x")],
    )
    .await;
    assert_eq!(database.number("SELECT COUNT(*) FROM shop_jobs").await, 1);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_program_may_share_its_tables_until_it_says_otherwise() {
    let database = Database::new().await;
    let driver = database.driver().await;
    database
        .run("INSERT INTO goqueue_migrations (version, understood_from) VALUES (7, 1)")
        .await;
    database
        .run("ALTER TABLE goqueue_jobs ADD COLUMN added INT NOT NULL DEFAULT 7")
        .await;
    let newer = database.driver().await;
    push(&newer, vec![job("q", "x")]).await;
    ack(&driver, &take(&driver, 1).await[0]).await;
    database
        .run("INSERT INTO goqueue_migrations (version, understood_from) VALUES (8, 8)")
        .await;
    let error = MysqlDriver::connect(&database.config()).await.unwrap_err();
    assert!(matches!(error, Error::Config(_)), "{error:?}");
    assert!(error.to_string().contains("version 8"), "{error}");
    assert!(
        error.to_string().contains("knows up to 6: update it"),
        "{error}"
    );
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_create_tables_is_told_so() {
    let database = Database::new().await;
    let user = format!("u{}", &database.name[8..28]);
    // Where there is an anonymous user of `localhost`, it would come before one of anywhere.
    for host in ["localhost", "%"] {
        let rights = "SELECT, INSERT, UPDATE, DELETE";
        database
            .run(&format!(
                "CREATE USER {user}@'{host}' IDENTIFIED BY 'hunter2'"
            ))
            .await;
        let grant = format!("GRANT {rights} ON {}.* TO {user}@'{host}'", database.name);
        database.run(&grant).await;
    }
    let url = database.url().replace("root@", &format!("{user}:hunter2@"));
    let config = Config::default().with_driver(&*url);
    let error = MysqlDriver::connect(&config).await.unwrap_err();
    assert!(
        !error.is_transient() && error.to_string().contains("denied"),
        "{error}"
    );
    assert!(!format!("{error:?} {error}").contains("hunter2"));

    // What it may do is enough for everything else.
    migrate(&database.config()).await.unwrap();
    let driver = MysqlDriver::connect(&config).await.unwrap();
    push(
        &driver,
        vec![ordered("o", "1"), unique("u", Duration::ZERO)],
    )
    .await;
    let jobs = take(&driver, 9).await;
    end(&driver, &jobs[0], dead()).await;
    ack(&driver, &jobs[1]).await;
    driver.maintain(&[queue("q")]).await.unwrap();
    assert_eq!(
        driver.inspect().unwrap().purge(&queue("q")).await.unwrap(),
        0
    );
    assert!(!format!("{driver:?}").contains("hunter2"));
    database
        .run(&format!("DROP USER {user}@localhost, {user}@'%'"))
        .await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_connected_to_is_a_clear_error() {
    let database = Database::new().await;
    let wrong = |url: String| async move {
        let since = Instant::now();
        let error = MysqlDriver::connect(&Config::default().with_driver(&*url))
            .await
            .unwrap_err();
        assert!(
            since.elapsed() < Duration::from_secs(8),
            "{url} took {:?}",
            since.elapsed()
        );
        assert!(
            !format!("{error:?} {error}").contains("hunter2"),
            "{error:?}"
        );
        error
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let error = wrong(format!("mysql://root:hunter2@127.0.0.1:{port}/shop")).await;
    assert!(
        error.is_transient() && error.to_string().contains("refused"),
        "{error}"
    );

    let error = wrong("mysql://root:hunter2@no-such-host.invalid/shop".into()).await;
    assert!(error.to_string().contains("failed to connect"), "{error}");

    // A listener that never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = wrong(format!("mysql://root:hunter2@127.0.0.1:{port}/shop")).await;
    assert!(
        error.is_transient() && error.to_string().contains("within 5s"),
        "{error}"
    );

    let user = database.url().replace("root@", "nobody:hunter2@");
    let error = wrong(user).await;
    assert!(
        !error.is_transient() && error.to_string().contains("Access denied"),
        "{error}"
    );

    let error = wrong(database.url().replace(&database.name, "no_such_database")).await;
    assert!(
        !error.is_transient() && error.to_string().contains("Unknown database"),
        "{error}"
    );

    let error = wrong(format!("{}?ssl=true", database.url())).await;
    assert!(matches!(error, Error::Config(_)), "{error:?}");

    let error = wrong(format!("{}?ssl-mode=verify_ca", database.url())).await;
    let text = error.to_string();
    assert!(
        text.contains("TLS") || text.contains("certificate"),
        "{text}"
    );
    assert!(!error.is_transient(), "{text}");
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_time_zone_changes_anything() {
    let server = Server::with(&["--default-time-zone=+05:30"]).await;
    let database = Database::on(&server.url()).await;
    let pool = |zone: &str| {
        let options = database.options().timezone(Some(zone.to_owned()));
        MySqlPoolOptions::new()
            .max_connections(2)
            .connect_with(options)
    };
    let (west, east) = (pool("-11:00").await.unwrap(), pool("+13:00").await.unwrap());
    let own = database.driver().await;
    let west = MysqlDriver::with_pool(west, &database.config())
        .await
        .unwrap();
    let east = MysqlDriver::with_pool(east, &database.config())
        .await
        .unwrap();

    let mut later = job("q", "later");
    later.delay = Duration::from_secs(2);
    let since = Instant::now();
    push(&west, vec![later, job("q", "now")]).await;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    let stored = database
        .number("SELECT MIN(visible_after) FROM goqueue_jobs")
        .await;
    assert!((stored - now).abs() < 5_000, "{stored} is not UTC ({now})");
    assert_eq!(bodies(&own, 9).await, ["now"]);
    assert_eq!(bodies(&east, 9).await, [""; 0]);
    let jobs = east
        .reserve(waiting("q", 1, Duration::from_secs(5)))
        .await
        .unwrap();
    let waited = since.elapsed();
    assert_eq!(bodies_of(&jobs), ["later"]);
    assert!(
        waited >= Duration::from_secs(2) && waited < Duration::from_secs(3),
        "{waited:?}"
    );

    // Leases, too, are seen alike.
    let lease = jobs[0].lease.clone();
    west.extend(vec![lease], Duration::from_millis(500))
        .await
        .unwrap();
    assert_eq!(bodies(&own, 9).await, [""; 0]);
    let jobs = own
        .reserve(waiting("q", 1, Duration::from_secs(5)))
        .await
        .unwrap();
    assert_eq!((jobs.len(), jobs[0].attempt), (1, 2));
    end(&west, &jobs[0], dead()).await;
    let letters = east.inspect().unwrap();
    let page = goqueue_core::driver::PageRequest::first(5);
    let died_at = letters.dead_letters(&queue("q"), page).await.unwrap().items[0].died_at as i64;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    assert!(
        (died_at - now).abs() < 5_000,
        "{died_at} is not UTC ({now})"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_used_as_they_are_set_up() {
    let database = Database::new().await;
    // One that never commits would lose jobs without a word.
    let pool = MySqlPoolOptions::new()
        .after_connect(|connection, _| {
            Box::pin(async move {
                sqlx::raw_sql("SET SESSION autocommit = 0")
                    .execute(connection)
                    .await
                    .map(drop)
            })
        })
        .connect_with(database.options())
        .await
        .unwrap();
    let error = MysqlDriver::with_pool(pool, &database.config())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("autocommit"), "{error}");

    let modes = "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY";
    let pool = MySqlPoolOptions::new()
        .after_connect(move |connection, _| {
            Box::pin(async move {
                let text = format!(
                    "SET SESSION sql_mode = '{modes}'; \
                     SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"
                );
                sqlx::raw_sql(sqlx::AssertSqlSafe(text))
                    .execute(connection)
                    .await
                    .map(drop)
            })
        })
        .connect_with(database.options().charset("latin1"))
        .await
        .unwrap();
    let driver = MysqlDriver::with_pool(pool, &database.config())
        .await
        .unwrap();
    let mut strange = ordered("ключ \\ ' \" `", "körper \\ ' \" \0 \u{1F600}");
    strange.unique = unique("ключ", Duration::ZERO).unique;
    push(&driver, vec![strange]).await;
    let jobs = take(&driver, 1).await;
    assert_eq!(bodies_of(&jobs), ["körper \\ ' \" \0 \u{1F600}"]);
    let error = "слово \\ ' \" \u{1F600}".to_owned();
    let verdict = goqueue_core::driver::Verdict::Dead {
        reason: goqueue_core::dead_letter::DeadReason::Permanent,
        error: error.clone(),
    };
    end(&driver, &jobs[0], verdict).await;
    let page = goqueue_core::driver::PageRequest::first(5);
    let letters = driver
        .inspect()
        .unwrap()
        .dead_letters(&queue("q"), page)
        .await
        .unwrap();
    let utf8 = database.driver().await;
    let page = goqueue_core::driver::PageRequest::first(5);
    let same = utf8
        .inspect()
        .unwrap()
        .dead_letters(&queue("q"), page)
        .await
        .unwrap();
    assert_eq!(same.items[0].error, error);
    assert_eq!(letters.items[0].id, same.items[0].id);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_packet_size_is_a_limit_that_is_known() {
    let server = Server::with(&["--max-allowed-packet=1M"]).await;
    let database = Database::on(&server.url()).await;
    let driver = database.driver().await;
    let Capabilities { max_payload, .. } = *driver.capabilities();
    assert!((900_000..1_048_576).contains(&max_payload), "{max_payload}");
    push(&driver, vec![job("q", vec![b'x'; max_payload])]).await;
    assert_eq!(take(&driver, 1).await[0].body.len(), max_payload);
    let outcomes = driver
        .push(vec![
            job("q", vec![b'x'; max_payload + 1]),
            job("q", "small"),
        ])
        .await;
    let outcomes = outcomes.unwrap();
    let limit = format!("{max_payload}");
    assert!(
        matches!(&outcomes[0], PushOutcome::Refused(error) if error.to_string().contains(&limit)),
        "{outcomes:?}"
    );
    assert_eq!(bodies(&driver, 9).await, ["small"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_will_do_instead_of_a_port() {
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    // Nobody listens on the port, so that only the socket can be meant.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!(
        "{}&socket={}",
        database.url_through(free),
        server.socket().display()
    );
    let driver = MysqlDriver::connect(&Config::default().with_driver(&*url))
        .await
        .unwrap();
    push(&driver, vec![job("q", "x")]).await;
    assert_eq!(bodies(&driver, 1).await, ["x"]);
}
