use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_conformance::{Harness, NoServer, Store, Timing};
use goqueue_core::{
    Config, JobId,
    driver::{Driver, DriverUrl},
};
use goqueue_sqs::SqsDriver;
use tokio::runtime::{Builder, Runtime};

/// An implementation of the service, and where the test command says it is.
#[derive(Clone, Copy)]
pub struct Service {
    pub name: &'static str,
    pub variable: &'static str,
}

/// A kind of queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Standard,
    Fifo,
}

impl Service {
    /// The URL of queues that nothing else uses.
    pub fn url(self, kind: Kind) -> String {
        let url = std::env::var(self.variable).unwrap_or_else(|_| {
            let variable = self.variable;
            panic!("{variable} is not set: `cargo xtask test` starts the service and sets it")
        });
        let (region, options) = url.split_once("/?").unwrap();
        // A prefix has up to 40 characters.
        let unique = &JobId::new().to_string().replace('-', "")[8..];
        format!("{region}/t{unique}-?fifo={}&{options}", kind == Kind::Fifo)
    }
}

/// The driver on a service that all cases share, told apart by the prefixes of their queues.
pub struct SqsHarness {
    name: String,
    service: Service,
    kind: Kind,
}

impl SqsHarness {
    pub fn new(service: Service, kind: Kind) -> Self {
        let suffix = if kind == Kind::Fifo { "-fifo" } else { "" };
        Self {
            name: format!("{}{suffix}", service.name),
            service,
            kind,
        }
    }
}

#[async_trait]
impl Harness for SqsHarness {
    fn name(&self) -> &str {
        &self.name
    }

    fn runtime(&self) -> Runtime {
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    }

    /// SQS counts in whole seconds and rounds up, so that a lease or a delay may take one more. The
    /// lease outlasts a hundred acks, one by one, and two thousand pushes, on two busy cores.
    fn timing(&self) -> Timing {
        Timing {
            tolerance: Duration::from_secs(3),
            histories: 3,
            lease: Duration::from_secs(10),
            ..Timing::REAL
        }
    }

    async fn store(&self) -> Store {
        Store::new(self.service.url(self.kind))
    }

    async fn connect(&self, store: &Store) -> Arc<dyn Driver> {
        let text = "[sqs]\nresponse_timeout = \"30s\"";
        let config = Config::from_toml(text).unwrap().with_driver(store.as_str());
        Arc::new(SqsDriver::connect(&config).await.unwrap())
    }

    async fn restart_server(&self, _: &Store) -> Result<(), NoServer> {
        Err(NoServer)
    }

    fn secrets(&self) -> Vec<String> {
        let url = self.service.url(self.kind);
        let secret = |(key, value): (&str, &str)| {
            let is_secret = ["secret_access_key", "session_token"].contains(&key);
            is_secret.then(|| value.to_owned())
        };
        let secrets: Vec<_> = DriverUrl::new(url)
            .options()
            .into_iter()
            .filter_map(secret)
            .collect();
        assert_eq!(secrets.len(), 2, "the URL of the tests has both");
        secrets
    }
}
