use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_conformance::{
    NoServer, Store, Timing,
    log::{Held, LogHarness},
};
use goqueue_core::{
    Config, Error, Result,
    log::{Log, LogBackend, NewMessage, Published, store::PublishRequest},
};
use goqueue_mysql::{
    log::{MysqlLog, PublishIn},
    sqlx::{MySql, MySqlPool, Transaction},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Mutex,
};

use super::{Database, Server, server_url};

/// The log on a server that all cases share, each case with a database of its own. A case that
/// restarts the server gets one of its own.
#[derive(Default)]
pub struct MysqlLogHarness {
    own: Mutex<Vec<Server>>,
    databases: Mutex<Vec<Database>>,
}

impl MysqlLogHarness {
    pub fn new() -> Self {
        Self::default()
    }

    async fn store_on(&self, url: &str) -> Store {
        let database = Database::on(url).await;
        let store = Store::new(database.url());
        // The tables are there before a case counts on how long things take.
        self.connect(&store).await;
        self.databases.lock().await.push(database);
        store
    }
}

#[async_trait]
impl LogHarness for MysqlLogHarness {
    fn name(&self) -> &str {
        "mysql"
    }

    fn runtime(&self) -> Runtime {
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    }

    fn timing(&self) -> Timing {
        Timing::REAL
    }

    async fn store(&self) -> Store {
        self.store_on(&server_url()).await
    }

    async fn store_to_restart(&self) -> Store {
        let server = Server::start().await;
        let store = self.store_on(&server.url()).await;
        self.own.lock().await.push(server);
        store
    }

    async fn connect(&self, store: &Store) -> Arc<dyn LogBackend> {
        let config = Config::default().with_driver(store.as_str());
        Arc::new(MysqlLog::connect(&config).await.unwrap())
    }

    async fn hold(&self, store: &Store, request: PublishRequest) -> Box<dyn Held> {
        let pool = MySqlPool::connect(store.as_str()).await.unwrap();
        let log = Log::from_shared(self.connect(store).await);
        let mut transaction = pool.begin().await.unwrap();
        let messages = request.messages.iter().map(|message| {
            let (id, partition) = (message.id.as_str(), message.partition.as_str());
            let plain = NewMessage::new(id, message.payload.clone(), partition);
            let entries = message.metadata.iter();
            entries.fold(plain, |plain, (name, value)| plain.metadata(name, value))
        });
        let published = log
            .publish_after_in(
                &mut transaction,
                request.topic.as_str(),
                messages.collect::<Vec<_>>(),
                request.delay,
            )
            .await;
        Box::new(Open {
            transaction,
            published,
        })
    }

    async fn restart_server(&self, _: &Store) -> Result<(), NoServer> {
        let mut own = self.own.lock().await;
        if own.is_empty() {
            return Err(NoServer);
        }
        for server in own.iter_mut() {
            server.kill();
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        for server in own.iter_mut() {
            server.resume().await;
        }
        Ok(())
    }

    async fn clean_up(&self) {
        for database in self.databases.lock().await.drain(..) {
            database.drop().await;
        }
    }
}

/// A transaction in which messages are published.
struct Open {
    transaction: Transaction<'static, MySql>,
    published: Result<Vec<Published>>,
}

#[async_trait]
impl Held for Open {
    async fn commit(self: Box<Self>) -> Result<Vec<Published>> {
        let committed = self.transaction.commit().await;
        committed.map_err(|error| Error::Backend {
            driver: "mysql",
            operation: "commit",
            transient: true,
            source: error.into(),
        })?;
        self.published
    }
}
