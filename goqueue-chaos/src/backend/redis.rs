use std::process::Command;

use async_trait::async_trait;
use goqueue_conformance::server::PrivateServer;

use super::{Backend, until_it_serves};

/// A Redis that answers no change before it is on the disk.
#[derive(Debug)]
pub(super) struct Redis(PrivateServer);

impl Redis {
    pub(super) async fn start() -> Self {
        let mut redis = Self(PrivateServer::new("chaos-redis"));
        redis.resume().await;
        redis
    }
}

#[async_trait(?Send)]
impl Backend for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn call(&self) -> &'static [u8] {
        b"EVALSHA"
    }

    fn config(&self, port: u16) -> String {
        format!("driver = \"redis://127.0.0.1:{port}/0\"\n[redis]\nresponse_timeout = \"1s\"")
    }

    fn server(&mut self) -> &mut PrivateServer {
        &mut self.0
    }

    async fn resume(&mut self) {
        let config = self.config(self.0.port());
        let mut command = Command::new("redis-server");
        command
            .args(["--port", &self.0.port().to_string()])
            .args(["--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(self.0.dir());
        self.0.launch(&mut command);
        until_it_serves(&mut self.0, &config).await;
    }
}
