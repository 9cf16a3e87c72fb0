//! The configuration, and the connection that it leads to.

use goqueue::{
    Config, Queue, QueueName,
    driver::{Inspect, InspectCapability},
};

use crate::{
    args::Global,
    failure::{Failure, Result},
};

/// Reads the settings: the file that is named, or else `goqueue.toml`, then the variables, then the
/// command line.
pub(crate) fn config(global: &Global) -> Result<Config> {
    let config = match &global.config {
        Some(path) => Config::load_file(path)?,
        None => Config::load()?,
    };
    Ok(match &global.driver {
        Some(url) => config.with_driver(url.clone()),
        None => config,
    })
}

/// A backend that outlives this process, and its administrative calls.
pub(crate) struct Backend(Queue);

impl Backend {
    pub(crate) async fn connect(global: &Global) -> Result<Self> {
        let queue = Queue::connect(&config(global)?).await?;
        let capabilities = queue.capabilities();
        if !capabilities.durable {
            return Err(inside_one_process(capabilities.driver));
        }
        Ok(Self(queue))
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.0
    }

    pub(crate) fn inspect(&self) -> Result<&dyn Inspect> {
        let inspect = self.0.inspect().map_err(Failure::from);
        inspect.map_err(|failure| failure.instead("look into the backend with its own tools"))
    }

    /// Whether a page of dead letters costs as much as the page is long, rather than as much as all of
    /// them.
    pub(crate) fn can_page(&self) -> bool {
        self.0.capabilities().inspect == InspectCapability::Full
    }

    /// Notes on the standard error that a queue has never been used, and names the one that was
    /// perhaps meant.
    pub(crate) async fn note_unknown(&self, queue: &QueueName) -> Result {
        let known = self.inspect()?.queues().await?;
        let known: Vec<&str> = known.iter().map(QueueName::as_str).collect();
        note_unknown("queue", queue.as_str(), &known, "goqueue queues");
        Ok(())
    }

    /// Ends the connection. What it answers changes nothing any more.
    pub(crate) async fn close(self) {
        let _ = self.0.close().await;
    }
}

/// Why a driver whose jobs do not outlive their process cannot be looked into from another.
pub(crate) fn inside_one_process(driver: &str) -> Failure {
    let message =
        format!("driver `{driver}` keeps its jobs inside one process, where no other can see them");
    Failure::new(message).help(
        "name a server: `driver` in goqueue.toml, GOQUEUE_DRIVER, or `--driver \
         redis://127.0.0.1:6379/0`; inside the process itself, use `Queue::inspect`",
    )
}

/// Notes on the standard error that a name is none of the known ones, and names the one that was
/// perhaps meant.
pub(crate) fn note_unknown(what: &str, name: &str, known: &[&str], listed_by: &str) {
    if known.contains(&name) {
        return;
    }
    let likeness = |known: &&&str| strsim::jaro_winkler(known, name);
    let similar = known.iter().filter(|known| likeness(known) > 0.8);
    let nearest = similar.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(nearest) => {
            eprintln!("note: {what} `{name}` has never been used here; did you mean `{nearest}`?");
        }
        None => eprintln!(
            "note: {what} `{name}` has never been used here; `{listed_by}` lists those that have"
        ),
    }
}
