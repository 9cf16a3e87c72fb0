use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use goqueue_conformance::{Faults, Harness, NoServer, Store, Timing, server::Proxy};
use goqueue_core::{Config, driver::Driver};
use goqueue_redis::RedisDriver;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Mutex,
};

use super::{Cluster, Server, shared_url, url_of};

/// What a node has to be started with for its clients to reach the other nodes by the way that they
/// have come themselves: through proxies.
const BY_THE_SAME_WAY: [&str; 2] = ["--cluster-preferred-endpoint-type", "unknown-endpoint"];

/// The driver on a server that all cases share, told apart by their prefixes. A case that restarts
/// the server gets one of its own.
pub struct RedisHarness {
    name: &'static str,
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
    /// On one server: the Redis, or in the binary that is about it, the Valkey.
    pub fn single(name: &'static str) -> Self {
        Self {
            name,
            is_cluster: false,
            own: Mutex::default(),
        }
    }

    pub fn cluster() -> Self {
        Self {
            name: "redis-cluster",
            is_cluster: true,
            own: Mutex::default(),
        }
    }

    fn url(&self) -> String {
        if self.is_cluster {
            url_of("GOQUEUE_TEST_REDIS_CLUSTER_URL")
        } else {
            shared_url()
        }
    }
}

/// A line to a server, and the URL that leads over it.
async fn line_to_server(url: &str) -> (Proxy, String) {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (login, place) = rest
        .rsplit_once('@')
        .map_or(("", rest), |(login, place)| (&rest[..=login.len()], place));
    let (server, database) = place.split_once('/').unwrap_or((place, "0"));
    let proxy = Proxy::to(server, b"EVALSHA").await;
    let port = proxy.port();
    (
        proxy,
        format!("{scheme}://{login}127.0.0.1:{port}/{database}"),
    )
}

/// Lines to all nodes of a cluster, from the nodes' own ports on another address of this machine.
async fn line_to_cluster(url: &str) -> (Proxy, String) {
    static COUNT: AtomicU8 = AtomicU8::new(1);
    let first = url.split("://").nth(1).unwrap().split(',').next().unwrap();
    let mut raw = raw(&format!("redis://{first}")).await;
    let way: Vec<String> = ask(
        &mut raw,
        "CONFIG GET",
        BY_THE_SAME_WAY[0].trim_start_matches('-'),
    )
    .await;
    assert_eq!(
        way.last().map(String::as_str),
        Some(BY_THE_SAME_WAY[1]),
        "the cluster of GOQUEUE_TEST_REDIS_CLUSTER_URL has to be started with {BY_THE_SAME_WAY:?}"
    );
    let nodes: String = ask(&mut raw, "CLUSTER", "NODES").await;
    let [.., high, low] = std::process::id().to_be_bytes();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let address = Ipv4Addr::new(127, 128 | high, low, count);
    let mut proxy = Proxy::to(first, b"EVALSHA").await;
    let mut urls = Vec::new();
    for node in nodes.lines() {
        let server = node.split(' ').nth(1).unwrap().split('@').next().unwrap();
        let port = server.rsplit_once(':').unwrap().1.parse().unwrap();
        proxy.also_from((address, port), server).await;
        urls.push(format!("{address}:{port}"));
    }
    (proxy, format!("redis-cluster://{}", urls.join(",")))
}

async fn raw(url: &str) -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(url).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

async fn ask<T: redis::FromRedisValue>(
    raw: &mut redis::aio::MultiplexedConnection,
    command: &str,
    what: &str,
) -> T {
    let mut words = command.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    command.arg(what).query_async(raw).await.unwrap()
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
            let cluster = Cluster::with(&BY_THE_SAME_WAY).await;
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

    async fn faulty(&self, store: &Store) -> (Arc<dyn Driver>, Arc<dyn Faults>) {
        let (url, prefix) = store.as_str().split_once(' ').unwrap();
        let (proxy, url) = if self.is_cluster {
            line_to_cluster(url).await
        } else {
            line_to_server(url).await
        };
        let driver = self.connect(&Store::new(format!("{url} {prefix}"))).await;
        (driver, Arc::new(proxy))
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
