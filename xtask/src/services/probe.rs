use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What tells that a server can be used.
#[derive(Clone, Debug)]
pub enum Probe {
    /// Its port accepts a connection.
    Connect,
    /// It accepts a connection and its reply contains some text.
    Reply {
        /// What to send first; nothing for a server that speaks first.
        send: String,
        /// What the reply contains.
        expect: String,
    },
}

impl Probe {
    /// A [`Probe::Reply`].
    #[must_use]
    pub fn reply(send: &str, expect: &str) -> Self {
        Self::Reply {
            send: send.into(),
            expect: expect.into(),
        }
    }

    /// Asks once, and waits for `patience` at most.
    ///
    /// # Errors
    ///
    /// Why the server on `port` is not ready.
    pub async fn ask(&self, port: u16, patience: Duration) -> io::Result<()> {
        timeout(patience, self.converse(port))
            .await
            .unwrap_or_else(|_| {
                Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer in {patience:?}"),
                ))
            })
    }

    async fn converse(&self, port: u16) -> io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let Self::Reply { send, expect } = self else {
            return Ok(());
        };
        stream.write_all(send.as_bytes()).await?;
        let mut reply = Vec::new();
        loop {
            let read = stream.read_buf(&mut reply).await?;
            let text = String::from_utf8_lossy(&reply);
            if text.contains(expect.as_str()) {
                return Ok(());
            }
            if read == 0 || reply.len() > 64 * 1024 {
                let said: String = text.chars().take(80).collect();
                return Err(io::Error::other(format!(
                    "answered {said:?}, not {expect:?}"
                )));
            }
        }
    }
}
