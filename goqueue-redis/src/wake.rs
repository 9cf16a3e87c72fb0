//! Waking waiting workers: one subscription per driver, one channel per queue.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use goqueue_core::retry::TransientBackoff;
use redis::{
    Client, RedisResult,
    aio::{PubSubSink, PubSubStream},
};
use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

/// How often a silent subscription is checked for being alive.
const CHECK: Duration = Duration::from_secs(15);

/// Rings when there may be a job.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    pub(crate) rings: Notify,
    is_heard: AtomicBool,
}

impl Bell {
    /// Whether the server's word reaches it now. When not, a worker has to look by itself.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard.load(Ordering::Acquire)
    }

    fn set_heard(&self, is_heard: bool) {
        self.is_heard.store(is_heard, Ordering::Release);
        // A word may have been missed, or none will come: look once more either way.
        self.rings.notify_waiters();
    }
}

/// The bells of all queues that somebody has waited for.
#[derive(Debug)]
pub(crate) struct Wakeups {
    bells: Arc<Mutex<HashMap<String, Arc<Bell>>>>,
    new: mpsc::UnboundedSender<String>,
    task: JoinHandle<()>,
}

impl Wakeups {
    /// Connects when the first bell is asked for.
    pub(crate) fn start(clients: Vec<Client>, patience: Duration) -> Self {
        let bells = Arc::new(Mutex::new(HashMap::new()));
        let (new, asked) = mpsc::unbounded_channel();
        let next = AtomicUsize::new(0);
        let listener = Listener {
            bells: Arc::clone(&bells),
            clients,
            next,
            patience,
        };
        Self {
            bells,
            new,
            task: tokio::spawn(listener.run(asked)),
        }
    }

    /// The bell of a channel.
    pub(crate) fn bell(&self, channel: &str) -> Arc<Bell> {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(channel) {
            return Arc::clone(bell);
        }
        let bell = Arc::new(Bell::default());
        bells.insert(channel.to_owned(), Arc::clone(&bell));
        // The listener only goes with this very struct.
        let _ = self.new.send(channel.to_owned());
        bell
    }

    /// Hears nothing more.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Listener {
    bells: Arc<Mutex<HashMap<String, Arc<Bell>>>>,
    clients: Vec<Client>,
    next: AtomicUsize,
    patience: Duration,
}

impl Listener {
    async fn run(self, mut asked: mpsc::UnboundedReceiver<String>) {
        // Whoever only enqueues needs no subscription.
        let Some(_) = asked.recv().await else { return };
        let mut backoff = TransientBackoff::new();
        let mut is_told = false;
        loop {
            let lost = match self.subscribe().await {
                Ok((sink, stream)) => {
                    if is_told {
                        tracing::info!("waiting workers are woken again");
                    }
                    is_told = false;
                    backoff.reset();
                    match self.listen(sink, stream, &mut asked).await {
                        None => return,
                        Some(lost) => lost,
                    }
                }
                Err(error) => error,
            };
            self.each_bell(|bell| bell.set_heard(false));
            if !is_told {
                tracing::warn!(error = %lost, "waiting workers are not woken, and poll meanwhile");
                is_told = true;
            }
            sleep(backoff.next_pause()).await;
        }
    }

    /// Connects to the next node and subscribes to everything asked for so far.
    async fn subscribe(&self) -> Result<(PubSubSink, PubSubStream), String> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let client = &self.clients[next % self.clients.len()];
        let connect = async {
            let (mut sink, stream) = client.get_async_pubsub().await?.split();
            let channels = self.channels();
            sink.subscribe(&channels).await?;
            RedisResult::Ok((sink, stream, channels))
        };
        let (sink, stream, channels) = self.in_time(connect).await?;
        for channel in channels {
            self.with_bell(&channel, |bell| bell.set_heard(true));
        }
        Ok((sink, stream))
    }

    /// Listens until the line is lost, and says why; or until nobody waits any more.
    async fn listen(
        &self,
        mut sink: PubSubSink,
        mut stream: PubSubStream,
        asked: &mut mpsc::UnboundedReceiver<String>,
    ) -> Option<String> {
        let mut check = interval(CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        check.reset();
        loop {
            tokio::select! {
                channel = asked.recv() => {
                    let channel = channel?;
                    if let Err(error) = self.in_time(sink.subscribe(&channel)).await {
                        return Some(error);
                    }
                    self.with_bell(&channel, |bell| bell.set_heard(true));
                }
                message = stream.next() => match message {
                    Some(message) => {
                        self.with_bell(message.get_channel_name(), |b| b.rings.notify_waiters());
                    }
                    None => return Some("the connection was closed".into()),
                },
                _ = check.tick() => {
                    if let Err(error) = self.in_time(sink.ping::<redis::Value>()).await {
                        return Some(error);
                    }
                }
            }
        }
    }

    async fn in_time<T>(&self, call: impl Future<Output = RedisResult<T>>) -> Result<T, String> {
        match timeout(self.patience, call).await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer within {:?}", self.patience)),
        }
    }

    fn channels(&self) -> Vec<String> {
        self.bells
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .cloned()
            .collect()
    }

    fn with_bell(&self, channel: &str, act: impl FnOnce(&Bell)) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(channel) {
            act(bell);
        }
    }

    fn each_bell(&self, act: impl Fn(&Bell)) {
        self.bells
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .for_each(|b| act(b));
    }
}
