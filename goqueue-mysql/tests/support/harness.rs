use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_conformance::{Faults, Harness, NoServer, Store, Timing};
use goqueue_core::{Config, driver::Driver};
use goqueue_mysql::MysqlDriver;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Mutex,
};

use super::{Database, Kind, Server, line_to, server_url};

/// The driver on a server that all cases share, each case with a database of its own. A case that
/// restarts the server gets one of its own.
#[derive(Default)]
pub struct MysqlHarness {
    own: Mutex<Vec<Server>>,
    databases: Mutex<Vec<Database>>,
}

impl MysqlHarness {
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
impl Harness for MysqlHarness {
    fn name(&self) -> &str {
        Kind::of_this_binary().name()
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

    async fn connect(&self, store: &Store) -> Arc<dyn Driver> {
        let config = Config::default().with_driver(store.as_str());
        Arc::new(MysqlDriver::connect(&config).await.unwrap())
    }

    async fn faulty(&self, store: &Store) -> (Arc<dyn Driver>, Arc<dyn Faults>) {
        let databases = self.databases.lock().await;
        let database = databases.iter().find(|its| its.url() == store.as_str());
        let database = database.expect("the store is one of this harness");
        let proxy = line_to(database.address()).await;
        let line = Store::new(database.url_through(proxy.port()));
        (self.connect(&line).await, Arc::new(proxy))
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
