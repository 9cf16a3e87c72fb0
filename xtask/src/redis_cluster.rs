//! The servers behind the `redis-cluster` service.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::process::Group;
use crate::services::free_port;

/// A third of the 16,384 slots each.
const SLOTS: [(u16, u16); 3] = [(0, 5460), (5461, 10_922), (10_923, 16_383)];
const START_WITHIN: Duration = Duration::from_secs(20);

/// One server of the cluster, and the port on which the others reach it.
struct Node {
    server: Group,
    port: u16,
    bus: u16,
}

/// Runs three Redis servers as one cluster, the first of them on `port`, with their data below
/// `dir`, until one of them ends.
///
/// # Errors
///
/// When a server cannot be started, does not answer, refuses a command, or ends.
pub async fn serve(port: u16, dir: &Path) -> io::Result<()> {
    let mut nodes = Vec::new();
    for at in 0..SLOTS.len() {
        let port = if at == 0 { port } else { free_port()? };
        nodes.push(start(port, &dir.join(format!("node-{at}")))?);
    }
    for (at, (first, last)) in SLOTS.into_iter().enumerate() {
        let Node { port, bus, .. } = nodes[at];
        // Nodes with the same epoch would quarrel about who may speak first.
        ask(port, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1)).await?;
        ask(port, &format!("CLUSTER ADDSLOTSRANGE {first} {last}")).await?;
        let meet = format!("CLUSTER MEET 127.0.0.1 {port} {bus}");
        ask(nodes[0].port, &meet).await?;
    }
    let [first, second, third] = nodes.as_mut_slice() else {
        return Err(io::Error::other("a cluster has three nodes"));
    };
    let status = tokio::select! {
        status = first.server.wait() => status?,
        status = second.server.wait() => status?,
        status = third.server.wait() => status?,
    };
    Err(io::Error::other(format!(
        "a node of the cluster ended: {status}"
    )))
}

fn start(port: u16, dir: &Path) -> io::Result<Node> {
    std::fs::create_dir_all(dir)?;
    let bus = free_port()?;
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "yes"])
        .args(["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"])
        .args(["--cluster-port", &bus.to_string()])
        // Clients reach the nodes by the way they have come, so that a test can put a proxy in it.
        .args(["--cluster-preferred-endpoint-type", "unknown-endpoint"])
        .arg("--dir")
        .arg(dir);
    let server = Group::spawn(command)?;
    Ok(Node { server, port, bus })
}

/// Sends one command, again and again until the server is up, and wants `+OK` back.
async fn ask(port: u16, command: &str) -> io::Result<()> {
    let deadline = Instant::now() + START_WITHIN;
    let mut stream = loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
            Ok(stream) => break stream,
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => sleep(Duration::from_millis(25)).await,
        }
    };
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .await?;
    let mut reply = [0; 256];
    let read = stream.read(&mut reply).await?;
    let reply = String::from_utf8_lossy(&reply[..read]);
    if reply.starts_with("+OK") {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "`{command}` was answered {reply:?}"
    )))
}
