use std::{env, path::PathBuf, process::Command};

use async_trait::async_trait;
use goqueue_conformance::server::PrivateServer;

use super::{Backend, until_it_serves};

/// Where the test command says that the server's program is.
const PROGRAM: &str = "GOQUEUE_TEST_SQS_SERVER";

/// An independent implementation of the service, which keeps its queues in memory.
#[derive(Debug)]
pub(super) struct Sqs {
    program: PathBuf,
    server: PrivateServer,
    is_fifo: bool,
}

impl Sqs {
    pub(super) async fn start(is_fifo: bool) -> Result<Self, String> {
        let program = env::var_os(PROGRAM).ok_or_else(|| {
            format!(
                "{PROGRAM} is not set: `cargo xtask chaos` and `cargo xtask test` install the \
                 server and set it"
            )
        })?;
        let mut sqs = Self {
            program: program.into(),
            server: PrivateServer::new("chaos-sqs"),
            is_fifo,
        };
        sqs.resume().await;
        Ok(sqs)
    }
}

#[async_trait(?Send)]
impl Backend for Sqs {
    fn name(&self) -> &'static str {
        if self.is_fifo { "sqs-fifo" } else { "sqs" }
    }

    /// The headers of a request name the action: it sends, receives, hides or deletes.
    fn call(&self) -> &'static [u8] {
        b"Message"
    }

    fn config(&self, port: u16) -> String {
        format!(
            "driver = \"sqs://us-east-1/?endpoint=http://127.0.0.1:{port}&fifo={}\
             &create_queues=true&access_key_id=chaos&secret_access_key=chaos\"\n\
             [sqs]\nresponse_timeout = \"1s\"\nconnect_timeout = \"1s\"",
            self.is_fifo
        )
    }

    fn outlives_kill(&self) -> bool {
        false
    }

    fn server(&mut self) -> &mut PrivateServer {
        &mut self.server
    }

    async fn resume(&mut self) {
        let config = self.config(self.server.port());
        let mut command = Command::new(&self.program);
        command
            .env("BIND_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", self.server.port().to_string())
            .env("SERVICES", "sqs")
            // The settings of somebody who uses it for other work.
            .env_remove("PERSIST_STATE")
            .env_remove("DEBUG");
        self.server.launch(&mut command);
        until_it_serves(&mut self.server, &config).await;
    }
}
