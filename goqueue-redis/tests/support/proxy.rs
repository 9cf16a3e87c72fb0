use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A line to a server that can be cut, or lose replies.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// Replies of calls still to be lost, each with its connection.
    lose: AtomicUsize,
    refuses: AtomicBool,
    target: AtomicU16,
    cut: Mutex<Option<watch::Sender<()>>>,
}

impl Proxy {
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let (cut, _) = watch::channel(());
        let target = AtomicU16::new(port);
        let state = Arc::new(State {
            cut: Mutex::new(Some(cut)),
            target,
            ..State::default()
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !shared.refuses.load(Ordering::SeqCst) {
                    let port = shared.target.load(Ordering::SeqCst);
                    tokio::spawn(pass(client, port, Arc::clone(&shared)));
                }
            }
        });
        Self {
            port: own,
            state,
            task,
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// The next replies to script calls are swallowed, and their connections closed.
    pub fn lose_replies(&self, calls: usize) {
        self.state.lose.store(calls, Ordering::SeqCst);
    }

    /// New connections go to another server.
    pub fn lead_to(&self, port: u16) {
        self.state.target.store(port, Ordering::SeqCst);
    }

    /// Breaks every connection; new ones are closed until it is restored.
    pub fn cut(&self) {
        self.state.refuses.store(true, Ordering::SeqCst);
        let (fresh, _) = watch::channel(());
        *self.state.cut.lock().unwrap() = Some(fresh);
    }

    pub fn restore(&self) {
        self.state.refuses.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut client: TcpStream, port: u16, state: Arc<State>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let mut cut = state.cut.lock().unwrap().as_ref().unwrap().subscribe();
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut is_doomed = false;
    loop {
        tokio::select! {
            // The sender is dropped when the line is cut.
            _ = cut.changed() => return,
            read = client.read(&mut asked) => match read {
                Ok(length) if length > 0 => {
                    let is_call = asked[..length].windows(7).any(|part| part == b"EVALSHA");
                    let lose = |left: usize| left.checked_sub(1);
                    is_doomed |= is_call
                        && state.lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok();
                    if server.write_all(&asked[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(length) if length > 0 => {
                    if is_doomed || client.write_all(&answered[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}
