use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use goqueue_core::driver::Driver;
use tokio::runtime::{Builder, Runtime};

use super::{Harness, NoServer, Store, Timing};

/// The harness of drivers that live in the process and know no clock but tokio's.
///
/// ```
/// # use std::sync::Arc;
/// use goqueue_conformance::{InProcess, SpecDriver};
///
/// fn harness() -> InProcess {
///     InProcess::new("spec", || Arc::new(SpecDriver::new()))
/// }
/// ```
pub struct InProcess {
    name: String,
    open: Box<Open>,
    /// Whether every handle is opened by address, or is a clone of the first.
    is_addressed: bool,
    stores: Mutex<HashMap<Store, Arc<dyn Driver>>>,
}

type Open = dyn Fn(&Store) -> Arc<dyn Driver> + Send + Sync;

impl InProcess {
    /// A harness whose stores are the drivers that `make` makes, each with one handle for all.
    pub fn new(
        name: impl Into<String>,
        make: impl Fn() -> Arc<dyn Driver> + Send + Sync + 'static,
    ) -> Self {
        let open = Box::new(move |_: &Store| make());
        Self {
            name: name.into(),
            open,
            is_addressed: false,
            stores: Mutex::default(),
        }
    }

    /// A harness whose handles are opened by the address of their store, a name of ASCII letters,
    /// digits and `-` that no other store of the process has.
    pub fn addressed(
        name: impl Into<String>,
        open: impl Fn(&Store) -> Arc<dyn Driver> + Send + Sync + 'static,
    ) -> Self {
        let open = Box::new(open);
        Self {
            name: name.into(),
            open,
            is_addressed: true,
            stores: Mutex::default(),
        }
    }
}

#[async_trait]
impl Harness for InProcess {
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
        let store = Store::new(format!("{}-{count}", self.name));
        // Kept, since the store may go with its last handle.
        let driver = (self.open)(&store);
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(store.clone(), driver);
        store
    }

    async fn connect(&self, store: &Store) -> Arc<dyn Driver> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        match stores.get(store) {
            Some(_) if self.is_addressed => (self.open)(store),
            Some(driver) => Arc::clone(driver),
            None => panic!("store `{store}` is not of this process"),
        }
    }

    async fn restart_server(&self, _: &Store) -> Result<(), NoServer> {
        Err(NoServer)
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
