//! The line to the server: one that reconnects, or one to every node of a cluster.

use std::{
    sync::{Arc, Once, PoisonError, RwLock},
    time::Duration,
};

use goqueue_core::{Error, Result, config::ConfigError, retry::TransientBackoff};
use redis::{
    Client, Cmd, RedisError, RedisResult, Value,
    aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig},
    cluster::ClusterClientBuilder,
    cluster_async::ClusterConnection,
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    config::Settings,
    driver::NAME,
    error::{Meaning, Operation, meaning, needs_new_connection, to_error},
    scripts::{Args, Verb},
};

/// How long a call is repeated while the server says that it cannot act just now. Short enough for
/// a worker to stop in time.
const PATIENCE: Duration = Duration::from_secs(1);
/// Calls that wait for room in the line at once.
const BUFFER: usize = 1024;

/// Sends commands and scripts, and repeats what the server refused for a moment.
pub(crate) struct Connection {
    line: Line,
    response_timeout: Duration,
}

enum Line {
    Single(Box<Single>),
    Cluster(ClusterConnection),
}

/// The line to one server.
struct Single {
    client: Client,
    config: ConnectionManagerConfig,
    manager: RwLock<Arc<Managed>>,
}

/// A reconnecting connection, told apart from the one it may be replaced by.
struct Managed(ConnectionManager);

/// A call that failed, and what is known about it.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// Whether the server certainly did nothing.
    pub(crate) is_undone: bool,
}

impl Failed {
    /// The server may have acted.
    pub(crate) fn undecided(error: Error) -> Self {
        Self {
            error,
            is_undone: false,
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

impl Connection {
    /// Connects, once.
    pub(crate) async fn open(settings: &Settings) -> Result<Self> {
        if settings.address.has_tls() {
            choose_crypto();
        }
        let failed = |error: &RedisError| connect_error(settings, error);
        let opened = Self::line(settings);
        let line = match timeout(settings.connect_timeout, opened).await {
            Ok(line) => line.map_err(|error| failed(&error))?,
            Err(_) => {
                let operation = Operation::Connect.as_str();
                let after = settings.connect_timeout;
                return Err(Error::Timeout {
                    driver: NAME,
                    operation,
                    after,
                });
            }
        };
        Ok(Self {
            line,
            response_timeout: settings.response_timeout,
        })
    }

    async fn line(settings: &Settings) -> RedisResult<Line> {
        if settings.address.is_cluster {
            return Ok(Line::Cluster(cluster(settings).await?));
        }
        let client = clients(settings)?.swap_remove(0);
        // It tries again at every call: pauses are for those who call.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(settings.connect_timeout))
            .set_response_timeout(Some(settings.response_timeout))
            .set_pipeline_buffer_size(BUFFER);
        let manager = ConnectionManager::new_with_config(client.clone(), config.clone()).await?;
        let manager = RwLock::new(Arc::new(Managed(manager)));
        Ok(Line::Single(Box::new(Single {
            client,
            config,
            manager,
        })))
    }

    /// Runs a script.
    pub(crate) async fn run(
        &self,
        verb: &Verb,
        keys: &[&str],
        args: &Args<'_>,
    ) -> Result<Value, Failed> {
        self.attempt(verb.operation, |with_text| {
            verb.command(with_text, keys, args)
        })
        .await
    }

    /// Sends a command.
    pub(crate) async fn send(&self, operation: Operation, cmd: &Cmd) -> Result<Value, Failed> {
        self.attempt(operation, |_| cmd.clone()).await
    }

    async fn attempt(
        &self,
        operation: Operation,
        command: impl Fn(bool) -> Cmd,
    ) -> Result<Value, Failed> {
        let mut cmd = command(false);
        let mut backoff: Option<(TransientBackoff, Instant)> = None;
        loop {
            let error = match self.once(&cmd).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let meaning = meaning(&error);
            if meaning == Meaning::UnknownScript {
                cmd = command(true);
                continue;
            }
            let (backoff, until) =
                backoff.get_or_insert_with(|| (TransientBackoff::new(), Instant::now() + PATIENCE));
            let pause = backoff.next_pause();
            if meaning == Meaning::Passing && Instant::now() + pause <= *until {
                tracing::debug!(%error, operation = operation.as_str(), "trying again");
                sleep(pause).await;
                continue;
            }
            let error = to_error(operation, &error, self.response_timeout);
            return Err(Failed {
                error,
                is_undone: meaning.is_undone(),
            });
        }
    }

    async fn once(&self, cmd: &Cmd) -> RedisResult<Value> {
        match &self.line {
            Line::Single(single) => single.send(cmd).await,
            Line::Cluster(connection) => {
                let answer = connection.clone().req_packed_command(cmd).await;
                answer.and_then(Value::extract_error)
            }
        }
    }
}

impl Single {
    async fn send(&self, cmd: &Cmd) -> RedisResult<Value> {
        let managed = Arc::clone(&self.manager.read().unwrap_or_else(PoisonError::into_inner));
        let answer = managed.0.clone().send_packed_command(cmd).await;
        let answer = answer.and_then(Value::extract_error);
        if let Err(error) = &answer
            && needs_new_connection(error)
        {
            self.replace(&managed)?;
        }
        answer
    }

    /// Makes a new connection at the next call, unless another call has already seen to it.
    fn replace(&self, broken: &Arc<Managed>) -> RedisResult<()> {
        let mut current = self.manager.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, broken) {
            let (client, config) = (self.client.clone(), self.config.clone());
            *current = Arc::new(Managed(ConnectionManager::new_lazy_with_config(
                client, config,
            )?));
        }
        Ok(())
    }
}

async fn cluster(settings: &Settings) -> RedisResult<ClusterConnection> {
    // The client would repeat a call whose reply was lost, and so push twice.
    let mut builder = ClusterClientBuilder::new(settings.address.nodes.clone())
        .retries(0)
        .connection_timeout(settings.connect_timeout)
        .response_timeout(settings.response_timeout)
        .overall_response_timeout(Some(settings.response_timeout))
        .tcp_settings(redis::io::tcp::TcpSettings::default().set_nodelay(true));
    if let Some(certificates) = &settings.certificates {
        builder = builder.certs(certificates.clone());
    }
    builder.build()?.get_async_connection().await
}

/// A client for each node that the URL names.
pub(crate) fn clients(settings: &Settings) -> RedisResult<Vec<Client>> {
    let client = |node: &redis::ConnectionInfo| match &settings.certificates {
        Some(certificates) => Client::build_with_tls(node.clone(), certificates.clone()),
        None => Client::open(node.clone()),
    };
    settings.address.nodes.iter().map(client).collect()
}

fn connect_error(settings: &Settings, error: &RedisError) -> Error {
    // The client keeps no code of an answer that it met while it made the connection.
    let text = error.to_string();
    if text.contains("cluster support disabled") {
        let problem = "got a server that is no node of a cluster, allowed is `redis://` for it";
        return ConfigError::new("driver", problem).into();
    }
    Error::Backend {
        driver: NAME,
        operation: Operation::Connect.as_str(),
        transient: meaning(error).is_transient() && !is_login_refused(&text),
        source: format!("{}: {text}", settings.address).into(),
    }
}

fn is_login_refused(text: &str) -> bool {
    [
        "WRONGPASS",
        "NOAUTH",
        "NOPERM",
        "invalid password",
        "DB index is out of range",
    ]
    .iter()
    .any(|part| text.contains(part))
}

/// Two crypto libraries in one program make rustls refuse to choose. Whoever chose first stays.
fn choose_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        if provider.install_default().is_err() {
            tracing::debug!("the program has chosen its crypto library");
        }
    });
}
