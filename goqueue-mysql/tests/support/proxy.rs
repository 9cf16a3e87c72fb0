use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A line to a server that can be cut, or swallow what the server says.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    refuses: AtomicBool,
    is_mute: AtomicBool,
    cut: Mutex<watch::Sender<()>>,
}

impl Proxy {
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            refuses: AtomicBool::new(false),
            is_mute: AtomicBool::new(false),
            cut: Mutex::new(watch::channel(()).0),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !shared.refuses.load(Ordering::SeqCst) {
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

    /// Breaks every connection; new ones are closed at once until it is restored.
    pub fn cut(&self) {
        self.state.refuses.store(true, Ordering::SeqCst);
        *self
            .state
            .cut
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = watch::channel(()).0;
    }

    /// What the server says is swallowed, and the connection broken, from now on.
    pub fn lose_replies(&self) {
        self.state.is_mute.store(true, Ordering::SeqCst);
    }

    pub fn restore(&self) {
        self.state.refuses.store(false, Ordering::SeqCst);
        self.state.is_mute.store(false, Ordering::SeqCst);
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
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut cut = state
        .cut
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .subscribe();
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            _ = cut.changed() => return,
            read = client.read(&mut from_client) => match read {
                Ok(1..) if server.write_all(&from_client[..read.unwrap()]).await.is_ok() => {}
                _ => return,
            },
            read = server.read(&mut from_server) => match read {
                Ok(1..) if state.is_mute.load(Ordering::SeqCst) => return,
                Ok(1..) if client.write_all(&from_server[..read.unwrap()]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}
