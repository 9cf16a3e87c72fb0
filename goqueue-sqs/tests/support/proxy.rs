use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// An HTTP proxy in front of a service. It counts the calls, and can break some of them.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    calls: Mutex<BTreeMap<String, usize>>,
    seen: AtomicUsize,
    /// One in so many answers goes wrong; zero for none.
    break_one_in: AtomicUsize,
    /// What is answered instead of passing a call on.
    instead: Mutex<Option<Instead>>,
    /// Whether connections are closed without an answer.
    is_cut: AtomicBool,
}

/// An answer of the proxy's own to calls of one action.
#[derive(Clone)]
pub struct Instead {
    pub action: &'static str,
    pub status: &'static str,
    pub body: String,
    /// How many more times.
    pub times: usize,
}

impl Proxy {
    /// A proxy for the service that a driver URL names.
    pub async fn before(url: &str) -> Self {
        let target = url.split("endpoint=http://").nth(1).unwrap();
        let target = target.split('&').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (state, target) = (Arc::clone(&shared), target.clone());
                tokio::spawn(async move {
                    // An error is the end of the connection, on either side.
                    let _ = pass(client, &target, &state).await;
                });
            }
        });
        Self { port, state, task }
    }

    /// The same driver URL, through this proxy.
    pub fn through(&self, url: &str) -> String {
        let (head, rest) = url.split_once("endpoint=http://").unwrap();
        let options = rest.split_once('&').map_or("", |(_, options)| options);
        format!("{head}endpoint=http://127.0.0.1:{}&{options}", self.port)
    }

    /// Calls passed so far, by action.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.state.calls.lock().unwrap().clone()
    }

    pub fn reset(&self) {
        self.state.calls.lock().unwrap().clear();
    }

    /// One in `count` answers is lost: by turns the connection is closed, or a 500 takes its place.
    pub fn break_one_in(&self, count: usize) {
        self.state.break_one_in.store(count, Ordering::SeqCst);
    }

    pub fn answer(&self, instead: Instead) {
        *self.state.instead.lock().unwrap() = Some(instead);
    }

    pub fn cut(&self, is_cut: bool) {
        self.state.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut client: TcpStream, target: &str, state: &State) -> std::io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    loop {
        let Some(request) = read_message(&mut client).await? else {
            return Ok(());
        };
        if state.is_cut.load(Ordering::SeqCst) {
            return Ok(());
        }
        let action = action(&request);
        if let Some(instead) = own_answer(state, &action) {
            let (status, body) = (instead.status, instead.body);
            client.write_all(answer(status, &body).as_bytes()).await?;
            continue;
        }
        server.write_all(&request).await?;
        let Some(reply) = read_message(&mut server).await? else {
            return Ok(());
        };
        *state.calls.lock().unwrap().entry(action).or_default() += 1;
        let one_in = state.break_one_in.load(Ordering::SeqCst);
        let nth = state.seen.fetch_add(1, Ordering::SeqCst);
        if one_in > 0 && nth % one_in == one_in - 1 {
            if (nth / one_in).is_multiple_of(2) {
                return Ok(());
            }
            let body = r#"{"__type":"com.amazonaws.sqs#InternalError","message":"broken"}"#;
            client
                .write_all(answer("500 Internal Server Error", body).as_bytes())
                .await?;
            continue;
        }
        client.write_all(&reply).await?;
    }
}

fn own_answer(state: &State, action: &str) -> Option<Instead> {
    let mut instead = state.instead.lock().unwrap();
    let wanted = instead.as_mut()?;
    if wanted.action != action || wanted.times == 0 {
        return None;
    }
    wanted.times -= 1;
    Some(wanted.clone())
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn action(request: &[u8]) -> String {
    let head = String::from_utf8_lossy(request);
    let line = head
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("x-amz-target:"));
    line.and_then(|line| line.rsplit('.').next())
        .unwrap_or("other")
        .trim()
        .to_owned()
}

/// One message of HTTP/1.1, head and body; `None` at the end of the connection.
async fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut message = Vec::new();
    let head = loop {
        if let Some(at) = find(&message, b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut message).await? == 0 {
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(&message[..head]).to_ascii_lowercase();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line[name.len()..].trim().to_owned())
    };
    if field("transfer-encoding:").is_some_and(|coding| coding.contains("chunked")) {
        while !message.ends_with(b"0\r\n\r\n") {
            if stream.read_buf(&mut message).await? == 0 {
                return Ok(None);
            }
        }
        return Ok(Some(message));
    }
    let length: usize = field("content-length:")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    while message.len() < head + length {
        if stream.read_buf(&mut message).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(message))
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
