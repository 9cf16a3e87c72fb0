use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::wrap::Faults;

const BUFFER: usize = 64 * 1024;
/// How long a server has said nothing once its answer is over.
const SILENCE: Duration = Duration::from_millis(200);

/// A real TCP line to a server, which can be cut and which loses calls or their replies on demand.
///
/// What is a call is known by some bytes in it: `EVALSHA` on Redis, `COMMIT` on MySQL. Those that
/// come together are lost together, as are the replies that are under way on the same connection.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    listeners: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    call: &'static [u8],
    /// Where the line leads, instead of where it was made to.
    detour: Mutex<Option<String>>,
    refuses: AtomicBool,
    cut: watch::Sender<()>,
    /// Calls still to be lost before they reach the server, each with its connection.
    fail: AtomicUsize,
    /// Replies still to be lost, each with its connection.
    lose: AtomicUsize,
    /// Calls of which still only a half is to reach the server, each with its connection.
    tear: AtomicUsize,
    /// How long each answer is held up, in milliseconds.
    delay: AtomicU64,
}

impl Proxy {
    /// A line to `server`, a host and a port, from a port of 127.0.0.1. A request with the bytes
    /// `call` in it is a call.
    ///
    /// # Panics
    /// When the system has no port left.
    pub async fn to(server: impl Into<String>, call: &'static [u8]) -> Self {
        let mut proxy = Self {
            port: 0,
            state: Arc::new(State {
                call,
                detour: Mutex::default(),
                refuses: AtomicBool::new(false),
                cut: watch::Sender::new(()),
                fail: AtomicUsize::new(0),
                lose: AtomicUsize::new(0),
                tear: AtomicUsize::new(0),
                delay: AtomicU64::new(0),
            }),
            listeners: Vec::new(),
        };
        proxy.port = proxy.listen((Ipv4Addr::LOCALHOST, 0), server.into()).await;
        proxy
    }

    /// One more line to another server, from an address of this machine such as 127.0.0.2. What is
    /// asked of one line is asked of both: the nodes of a cluster are lost together.
    ///
    /// # Panics
    /// When the port is taken there.
    pub async fn also_from(&mut self, address: (Ipv4Addr, u16), server: impl Into<String>) {
        self.listen(address, server.into()).await;
    }

    async fn listen(&mut self, address: (Ipv4Addr, u16), server: String) -> u16 {
        let bound = TcpListener::bind(address).await;
        let listener = bound.unwrap_or_else(|error| panic!("no line from {address:?}: {error}"));
        let own = listener.local_addr().expect("a listener has an address");
        let state = Arc::clone(&self.state);
        self.listeners.push(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // Before the look whether it refuses, so that no cut is missed.
                let cut = state.cut.subscribe();
                if !state.refuses.load(Ordering::SeqCst) {
                    let server = state.detour().clone().unwrap_or_else(|| server.clone());
                    tokio::spawn(pass(client, server, Arc::clone(&state), cut));
                }
            }
        }));
        own.port()
    }

    /// The port to connect to, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// New connections go to another server. Those that there are stay.
    pub fn lead_to(&self, server: impl Into<String>) {
        *self.state.detour() = Some(server.into());
    }

    /// Breaks every connection; new ones are closed at once until [`restore`](Proxy::restore).
    pub fn cut(&self) {
        self.state.refuses.store(true, Ordering::SeqCst);
        self.state.cut.send_replace(());
    }

    /// Ends a cut.
    pub fn restore(&self) {
        self.state.refuses.store(false, Ordering::SeqCst);
    }

    /// The next `calls` calls do not reach the server, and break their connections.
    pub fn fail_next(&self, calls: usize) {
        self.state.fail.store(calls, Ordering::SeqCst);
    }

    /// The next `calls` calls reach the server; their connections break instead of their replies.
    pub fn lose_replies(&self, calls: usize) {
        self.state.lose.store(calls, Ordering::SeqCst);
    }

    /// Half of each of the next `calls` calls reaches the server, and then their connections break.
    pub fn tear_next(&self, calls: usize) {
        self.state.tear.store(calls, Ordering::SeqCst);
    }

    /// From now on, whatever the server says comes this much later, in whole milliseconds.
    pub fn slow_down(&self, by: Duration) {
        let millis = by.as_millis().try_into().unwrap_or(u64::MAX);
        self.state.delay.store(millis, Ordering::SeqCst);
    }
}

#[async_trait]
impl Faults for Proxy {
    async fn cut(&self) {
        self.cut();
    }

    async fn restore(&self) {
        self.restore();
    }

    async fn fail_next(&self, calls: usize) {
        self.fail_next(calls);
    }

    async fn lose_replies(&self, calls: usize) {
        self.lose_replies(calls);
    }
}

impl State {
    fn detour(&self) -> MutexGuard<'_, Option<String>> {
        self.detour.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        for listener in &self.listeners {
            listener.abort();
        }
    }
}

async fn pass(
    mut client: TcpStream,
    server: String,
    state: Arc<State>,
    mut cut: watch::Receiver<()>,
) {
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let is_doomed = AtomicBool::new(false);
    tokio::select! {
        _ = cut.changed() => {}
        () = ask(from_client, to_server, &state, &is_doomed) => {}
        () = answer(from_server, to_client, &state, &is_doomed) => {}
    }
}

async fn ask(
    mut client: ReadHalf<'_>,
    mut server: WriteHalf<'_>,
    state: &State,
    is_doomed: &AtomicBool,
) {
    // The end of what was passed on is kept, for a call may come in two pieces.
    let (mut buffer, mut kept) = (vec![0; BUFFER], 0);
    while let Ok(read @ 1..) = client.read(&mut buffer[kept..]).await {
        let end = kept + read;
        let has_call = |window: &[u8]| window == state.call;
        if buffer[..end].windows(state.call.len()).any(has_call) {
            if used(&state.fail) {
                return;
            }
            if used(&state.tear) {
                let _ = server.write_all(&buffer[kept..kept + read / 2]).await;
                return;
            }
            if used(&state.lose) {
                is_doomed.store(true, Ordering::SeqCst);
            }
        }
        if server.write_all(&buffer[kept..end]).await.is_err() {
            return;
        }
        let keep = end.min(state.call.len() - 1);
        buffer.copy_within(end - keep..end, 0);
        kept = keep;
    }
}

async fn answer(
    mut server: ReadHalf<'_>,
    mut client: WriteHalf<'_>,
    state: &State,
    is_doomed: &AtomicBool,
) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(read @ 1..) = server.read(&mut buffer).await {
        match state.delay.load(Ordering::SeqCst) {
            0 => {}
            delay => sleep(Duration::from_millis(delay)).await,
        }
        if is_doomed.load(Ordering::SeqCst) {
            // A server may give up what it is doing when it notices that nobody listens, as MySQL
            // does between two statements of one message.
            while let Ok(Ok(1..)) = timeout(SILENCE, server.read(&mut buffer)).await {}
            return;
        }
        if client.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

fn used(left: &AtomicUsize) -> bool {
    let less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}
