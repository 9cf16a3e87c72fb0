use goqueue_core::{Config, JobId};
use goqueue_mysql::{
    MysqlDriver,
    sqlx::{
        self, AssertSqlSafe, ConnectOptions, Connection, MySqlConnection, MySqlPool, Row,
        mysql::{MySqlConnectOptions, MySqlRow},
    },
};

use super::Kind;

/// The server that all tests of this binary share.
pub fn server_url() -> String {
    Kind::of_this_binary().url()
}

/// A database of one test's own.
pub struct Database {
    server: String,
    pub name: String,
}

impl Database {
    /// On the server that all tests share.
    pub async fn new() -> Self {
        Self::on(&server_url()).await
    }

    /// On any server; a database in the URL is not looked at.
    pub async fn on(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap();
        let server = format!("{scheme}://{}", rest.split('/').next().unwrap());
        let name = format!("goqueue_{}", JobId::new().as_uuid().simple());
        let database = Self { server, name };
        let mut connection = database.connection("mysql").await;
        let text = format!("CREATE DATABASE {}", database.name);
        sqlx::query(AssertSqlSafe(text))
            .execute(&mut connection)
            .await
            .unwrap();
        database
    }

    pub fn url(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }

    /// The same database under another port of this machine: that of a proxy, which has to understand
    /// what it passes on.
    pub fn url_through(&self, port: u16) -> String {
        let before = self.server.strip_suffix(self.address()).unwrap();
        format!("{before}127.0.0.1:{port}/{}?ssl-mode=disabled", self.name)
    }

    /// Where the server listens: a host and a port.
    pub fn address(&self) -> &str {
        self.server.rsplit(['/', '@']).next().unwrap()
    }

    pub fn config(&self) -> Config {
        Config::default().with_driver(&*self.url())
    }

    /// The configuration with more settings, as TOML.
    pub fn config_with(&self, toml: &str) -> Config {
        Config::from_toml(&format!("driver = \"{}\"\n{toml}", self.url())).unwrap()
    }

    pub async fn driver(&self) -> MysqlDriver {
        MysqlDriver::connect(&self.config()).await.unwrap()
    }

    pub fn options(&self) -> MySqlConnectOptions {
        self.url().parse().unwrap()
    }

    pub async fn pool(&self) -> MySqlPool {
        MySqlPool::connect_with(self.options()).await.unwrap()
    }

    async fn connection(&self, database: &str) -> MySqlConnection {
        let url = format!("{}/{database}", self.server);
        let options: MySqlConnectOptions = url.parse().unwrap();
        // What a test does by hand may name passwords, and other tests look for them in the log of
        // the process.
        let options = options.disable_statement_logging();
        options.connect().await.unwrap()
    }

    /// Runs one statement past the driver.
    pub async fn run(&self, text: &str) -> u64 {
        let mut connection = self.connection(&self.name).await;
        let done = sqlx::raw_sql(AssertSqlSafe(text.to_owned()))
            .execute(&mut connection)
            .await;
        done.unwrap().rows_affected()
    }

    /// The rows of one statement.
    pub async fn rows(&self, text: &str) -> Vec<MySqlRow> {
        let mut connection = self.connection(&self.name).await;
        sqlx::raw_sql(AssertSqlSafe(text.to_owned()))
            .fetch_all(&mut connection)
            .await
            .unwrap()
    }

    /// The one number that a statement answers with.
    pub async fn number(&self, text: &str) -> i64 {
        self.rows(text).await[0].try_get_unchecked(0).unwrap()
    }

    /// Every table of the driver is empty but for the queues and the migrations.
    pub async fn is_empty(&self) {
        for table in ["jobs", "lanes", "lane_jobs", "unique_keys", "dead_letters"] {
            let rows = self
                .number(&format!("SELECT COUNT(*) FROM goqueue_{table}"))
                .await;
            assert_eq!(rows, 0, "rows are left in {table}");
        }
    }

    pub async fn drop(&self) {
        let mut connection = self.connection("mysql").await;
        let text = format!("DROP DATABASE {}", self.name);
        sqlx::query(AssertSqlSafe(text))
            .execute(&mut connection)
            .await
            .unwrap();
        let _ = connection.close().await;
    }
}
