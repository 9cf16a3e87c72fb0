use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_conformance::{Harness, NoServer, Store, Timing};
use goqueue_core::{Config, driver::Driver};
use goqueue_redis::RedisDriver;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Mutex,
};

use super::{Cluster, Server};

/// The driver on a server that all cases share, told apart by their prefixes. A case that restarts
/// the server gets one of its own.
pub struct RedisHarness {
    name: &'static str,
    variable: &'static str,
    is_cluster: bool,
    own: Mutex<Option<Own>>,
}

enum Own {
    Single(Server),
    Cluster(Cluster),
}

impl Own {
    fn nodes(&mut self) -> &mut [Server] {
        match self {
            Self::Single(server) => std::slice::from_mut(server),
            Self::Cluster(cluster) => &mut cluster.nodes,
        }
    }
}

impl RedisHarness {
    pub fn single() -> Self {
        Self::on("redis", "GOQUEUE_TEST_REDIS_URL", false)
    }

    pub fn cluster() -> Self {
        Self::on("redis-cluster", "GOQUEUE_TEST_REDIS_CLUSTER_URL", true)
    }

    fn on(name: &'static str, variable: &'static str, is_cluster: bool) -> Self {
        Self {
            name,
            variable,
            is_cluster,
            own: Mutex::default(),
        }
    }

    fn url(&self) -> String {
        std::env::var(self.variable).unwrap_or_else(|_| {
            let variable = self.variable;
            panic!("{variable} is not set: `cargo xtask test` starts the server and sets it")
        })
    }
}

fn fresh(url: &str) -> Store {
    Store::new(format!("{url} test-{}", goqueue_core::JobId::new()))
}

#[async_trait]
impl Harness for RedisHarness {
    fn name(&self) -> &str {
        self.name
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
        fresh(&self.url())
    }

    async fn store_to_restart(&self) -> Store {
        let (url, own) = if self.is_cluster {
            let cluster = Cluster::start().await;
            (cluster.url(), Own::Cluster(cluster))
        } else {
            let server = Server::start().await;
            (server.url(), Own::Single(server))
        };
        *self.own.lock().await = Some(own);
        fresh(&url)
    }

    async fn connect(&self, store: &Store) -> Arc<dyn Driver> {
        let (url, prefix) = store.as_str().split_once(' ').unwrap();
        let config = Config::from_toml(&format!(
            "driver = \"{url}\"\n[redis]\nprefix = \"{prefix}\"\nresponse_timeout = \"3s\""
        ));
        Arc::new(RedisDriver::connect(&config.unwrap()).await.unwrap())
    }

    async fn restart_server(&self, _: &Store) -> Result<(), NoServer> {
        let mut own = self.own.lock().await;
        let own = own.as_mut().ok_or(NoServer)?;
        own.nodes().iter_mut().for_each(Server::kill);
        tokio::time::sleep(Duration::from_millis(500)).await;
        for server in own.nodes() {
            server.resume().await;
        }
        if let Own::Cluster(cluster) = own {
            cluster.is_well().await;
        }
        Ok(())
    }
}
