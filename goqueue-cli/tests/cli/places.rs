//! Every backend, each with a corner of its own for every test.

use std::{path::PathBuf, process::Command};

use goqueue::{
    Config, JobId, Queue,
    mysql::sqlx::{
        self, AssertSqlSafe, ConnectOptions, Connection, MySqlConnection,
        mysql::MySqlConnectOptions,
    },
};

use super::program::{Answer, file, goqueue, run};

/// The backends that the command is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Redis,
    RedisCluster,
    Mysql,
    Sqs,
    SqsFifo,
}

impl Kind {
    pub(super) const ALL: [Self; 5] = [
        Self::Redis,
        Self::RedisCluster,
        Self::Mysql,
        Self::Sqs,
        Self::SqsFifo,
    ];
    /// Those that list waiting jobs, and keep a unique key for as long as its job lives.
    pub(super) const LISTING: [Self; 3] = [Self::Redis, Self::RedisCluster, Self::Mysql];
    pub(super) const SQS: [Self; 2] = [Self::Sqs, Self::SqsFifo];

    pub(super) fn url(self) -> String {
        let variable = match self {
            Self::Redis => "GOQUEUE_TEST_REDIS_URL",
            Self::RedisCluster => "GOQUEUE_TEST_REDIS_CLUSTER_URL",
            Self::Mysql => "GOQUEUE_TEST_MYSQL_URL",
            Self::Sqs | Self::SqsFifo => "GOQUEUE_TEST_SQS_URL",
        };
        std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: `cargo xtask test` starts the server and sets it")
        })
    }
}

/// A corner of a backend that belongs to one test: a prefix of its own, or a database.
pub(super) struct Place {
    pub(super) url: String,
    pub(super) config: PathBuf,
    database: Option<String>,
}

impl Place {
    pub(super) async fn new(kind: Kind) -> Self {
        Self::with(kind, "").await
    }

    /// With more settings, as TOML.
    pub(super) async fn with(kind: Kind, settings: &str) -> Self {
        let id = JobId::new().as_uuid().simple().to_string();
        let (mut url, mut table, mut database) = (kind.url(), String::new(), None);
        match kind {
            Kind::Mysql => {
                let name = format!("goqueue_cli_{id}");
                run_sql(&url, &format!("CREATE DATABASE {name}")).await;
                url = format!("{}/{name}", server_of(&url));
                database = Some(name);
            }
            Kind::Redis | Kind::RedisCluster => {
                table = format!("[redis]\nprefix = \"cli-{id}\"\n");
            }
            Kind::Sqs | Kind::SqsFifo => {
                let (region, options) = url.split_once("/?").unwrap();
                url = format!("{region}/cli-{id}-?{options}");
                table = format!("[sqs]\nfifo = {}\n", kind == Kind::SqsFifo);
            }
        }
        let toml = format!("driver = \"{url}\"\n{settings}\n{table}");
        Self {
            config: file("goqueue.toml", &toml),
            url,
            database,
        }
    }

    /// The command, on this backend.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = goqueue();
        command.args(args).arg("--config").arg(&self.config);
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Answer {
        run(&mut self.command(args))
    }

    pub(super) fn config(&self) -> Config {
        Config::from_file(&self.config).unwrap()
    }

    pub(super) async fn queue(&self) -> Queue {
        Queue::connect(&self.config()).await.unwrap()
    }

    /// Runs a statement in the place's database.
    pub(super) async fn sql(&self, text: &str) {
        run_sql(&self.url, text).await;
    }

    /// Leaves nothing behind.
    pub(super) async fn leave(self) {
        std::fs::remove_file(&self.config).unwrap();
        if let Some(name) = &self.database {
            run_sql(&self.url, &format!("DROP DATABASE {name}")).await;
        }
    }
}

/// A URL without its database.
pub(super) fn server_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    format!("{scheme}://{}", rest.split('/').next().unwrap())
}

pub(super) async fn run_sql(url: &str, text: &str) {
    let options: MySqlConnectOptions = url.parse().unwrap();
    let mut connection: MySqlConnection = options.connect().await.unwrap();
    let done = sqlx::raw_sql(AssertSqlSafe(text.to_owned())).execute(&mut connection);
    done.await.unwrap();
    connection.close().await.unwrap();
}
