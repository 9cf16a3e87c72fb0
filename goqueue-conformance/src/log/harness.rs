//! What the suite has to know of a log's backend to test it.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{LogBackend, Published, store::PublishRequest},
};
use tokio::runtime::{Builder, Runtime};

use crate::harness::{NoServer, Store, Timing, real_time_runtime};

/// One backend of the log under test. The suite makes a harness for each case.
#[async_trait]
pub trait LogHarness: Send + Sync {
    /// Tells it apart from the other harnesses of a test binary, and names it in failures.
    fn name(&self) -> &str;

    /// What a case runs on.
    fn runtime(&self) -> Runtime;

    /// The backend's time scale.
    fn timing(&self) -> Timing;

    /// A fresh log that shares nothing with any other.
    async fn store(&self) -> Store;

    /// One more handle to a log, as another process would open it.
    async fn connect(&self, store: &Store) -> Arc<dyn LogBackend>;

    /// Publishes in a transaction that stays open until [`Held::commit`]. A backend without
    /// transactions publishes then.
    async fn hold(&self, store: &Store, request: PublishRequest) -> Box<dyn Held> {
        let backend = self.connect(store).await;
        Box::new(Later { backend, request })
    }

    /// Lets time pass.
    async fn elapse(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// A fresh log on a server that may be restarted without disturbing other cases.
    async fn store_to_restart(&self) -> Store {
        self.store().await
    }

    /// Stops the server of such a log, and starts it again on the same data.
    ///
    /// # Errors
    /// [`NoServer`] where there is none.
    async fn restart_server(&self, store: &Store) -> Result<(), NoServer>;

    /// Removes what the logs of this harness left behind. Called after the case, failed or not.
    async fn clean_up(&self) {}
}

/// Messages that are published and not committed.
#[async_trait]
pub trait Held: Send {
    /// Commits them.
    ///
    /// # Errors
    /// What the backend says.
    async fn commit(self: Box<Self>) -> Result<Vec<Published>>;
}

struct Later {
    backend: Arc<dyn LogBackend>,
    request: PublishRequest,
}

#[async_trait]
impl Held for Later {
    async fn commit(self: Box<Self>) -> Result<Vec<Published>> {
        self.backend.transactions().publish(&self.request).await
    }
}

/// The harness of logs that live in the process and know no clock but tokio's.
pub struct LogInProcess {
    name: String,
    open: Box<Open>,
    /// Kept, since a log may go with its last handle.
    stores: Mutex<HashMap<Store, Arc<dyn LogBackend>>>,
}

type Open = dyn Fn(&Store) -> Arc<dyn LogBackend> + Send + Sync;

impl LogInProcess {
    /// A harness whose handles are opened by the address of their log, a name of ASCII letters,
    /// digits and `-` that no other log of the process has.
    pub fn new(
        name: impl Into<String>,
        open: impl Fn(&Store) -> Arc<dyn LogBackend> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            open: Box::new(open),
            stores: Mutex::default(),
        }
    }
}

#[async_trait]
impl LogHarness for LogInProcess {
    fn name(&self) -> &str {
        &self.name
    }

    fn runtime(&self) -> Runtime {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        runtime.expect("a runtime starts")
    }

    fn timing(&self) -> Timing {
        Timing::VIRTUAL
    }

    async fn store(&self) -> Store {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let store = Store::new(format!("{}-log-{count}", self.name));
        let backend = (self.open)(&store);
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(store.clone(), backend);
        store
    }

    async fn connect(&self, store: &Store) -> Arc<dyn LogBackend> {
        (self.open)(store)
    }

    async fn restart_server(&self, _: &Store) -> Result<(), NoServer> {
        Err(NoServer)
    }
}

impl fmt::Debug for LogInProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogInProcess")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The same backend on several threads and the real clock, for cases that need true concurrency.
pub(super) struct RealTimeLog<'h>(pub(super) &'h dyn LogHarness);

#[async_trait]
impl LogHarness for RealTimeLog<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn runtime(&self) -> Runtime {
        real_time_runtime()
    }

    fn timing(&self) -> Timing {
        let timing = self.0.timing();
        if timing.is_virtual {
            Timing::REAL
        } else {
            timing
        }
    }

    async fn store(&self) -> Store {
        self.0.store().await
    }

    async fn connect(&self, store: &Store) -> Arc<dyn LogBackend> {
        self.0.connect(store).await
    }

    async fn hold(&self, store: &Store, request: PublishRequest) -> Box<dyn Held> {
        self.0.hold(store, request).await
    }

    async fn elapse(&self, time: Duration) {
        self.0.elapse(time).await;
    }

    async fn store_to_restart(&self) -> Store {
        self.0.store_to_restart().await
    }

    async fn restart_server(&self, store: &Store) -> Result<(), NoServer> {
        self.0.restart_server(store).await
    }

    async fn clean_up(&self) {
        self.0.clean_up().await;
    }
}
