use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Server, free_port};

const SLOTS: [(u16, u16); 3] = [(0, 5460), (5461, 10_922), (10_923, 16_383)];

/// Three nodes of a cluster of this test alone.
pub struct Cluster {
    pub nodes: Vec<Server>,
}

impl Cluster {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With more arguments of every `redis-server`.
    pub async fn with(more: &[&str]) -> Self {
        let mut nodes = Vec::new();
        for _ in SLOTS {
            let bus = free_port().to_string();
            let args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
            let args = [&args[..], &["--cluster-port", &bus], more].concat();
            nodes.push(Server::with(&args).await);
        }
        for (at, (from, to)) in SLOTS.iter().enumerate() {
            nodes[at]
                .ask(&format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1))
                .await;
            nodes[at]
                .ask(&format!("CLUSTER ADDSLOTSRANGE {from} {to}"))
                .await;
            let (port, bus) = (nodes[at].port, nodes[at].args[5].clone());
            nodes[0]
                .ask(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"))
                .await;
        }
        let cluster = Self { nodes };
        cluster.is_well().await;
        cluster
    }

    /// Waits until every node sees every slot served.
    pub async fn is_well(&self) {
        let patience = Instant::now() + Duration::from_secs(30);
        for node in &self.nodes {
            loop {
                let info = node.text("CLUSTER INFO").await;
                if info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3") {
                    break;
                }
                assert!(Instant::now() < patience, "no cluster after 30 s:\n{info}");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }

    pub fn url(&self) -> String {
        let nodes: Vec<_> = self
            .nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect();
        format!("redis-cluster://{}", nodes.join(","))
    }
}
