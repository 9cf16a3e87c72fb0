//! A line over TCP does what it says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::Ipv4Addr;

use goqueue_conformance::server::{Proxy, free_port};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// Answers with what it is sent, after `mark`, and tells what it has received.
async fn echo(mark: &'static str) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let (told, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let told = told.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    let _ = told.send(text.clone());
                    let _ = stream.write_all(format!("{mark}{text}").as_bytes()).await;
                }
            });
        }
    });
    (server, received)
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// The answer, or nothing when the connection is closed instead.
async fn ask(stream: &mut TcpStream, text: &str) -> Option<String> {
    let _ = stream.write_all(text.as_bytes()).await;
    let mut buffer = [0; 1024];
    match stream.read(&mut buffer).await {
        Ok(read @ 1..) => Some(String::from_utf8_lossy(&buffer[..read]).into_owned()),
        _ => None,
    }
}

#[tokio::test]
async fn a_line_passes_on_what_is_said() {
    let (server, mut received) = echo("").await;
    let proxy = Proxy::to(server, b"CALL").await;
    let mut line = connect(proxy.port()).await;
    assert_eq!(ask(&mut line, "CALL me").await.as_deref(), Some("CALL me"));
    assert_eq!(received.recv().await.as_deref(), Some("CALL me"));
}

#[tokio::test]
async fn a_call_that_fails_does_not_reach_the_server() {
    let (server, mut received) = echo("").await;
    let proxy = Proxy::to(server, b"CALL").await;
    proxy.fail_next(1);
    let mut line = connect(proxy.port()).await;
    assert_eq!(ask(&mut line, "hello").await.as_deref(), Some("hello"));
    assert_eq!(ask(&mut line, "CALL").await, None);
    let mut line = connect(proxy.port()).await;
    assert_eq!(ask(&mut line, "CALL 2").await.as_deref(), Some("CALL 2"));
    assert_eq!(received.recv().await.as_deref(), Some("hello"));
    assert_eq!(received.recv().await.as_deref(), Some("CALL 2"));
}

#[tokio::test]
async fn a_call_whose_reply_is_lost_reaches_the_server() {
    let (server, mut received) = echo("").await;
    let proxy = Proxy::to(server, b"CALL").await;
    proxy.lose_replies(1);
    let mut line = connect(proxy.port()).await;
    // In two pieces, the second of which makes it a call.
    assert_eq!(ask(&mut line, "xCA").await.as_deref(), Some("xCA"));
    assert_eq!(ask(&mut line, "LLx").await, None);
    assert_eq!(received.recv().await.as_deref(), Some("xCA"));
    assert_eq!(received.recv().await.as_deref(), Some("LLx"));
    let mut line = connect(proxy.port()).await;
    assert_eq!(ask(&mut line, "CALL").await.as_deref(), Some("CALL"));
}

#[tokio::test]
async fn a_cut_breaks_what_there_is_and_refuses_what_comes() {
    let (server, _received) = echo("").await;
    let proxy = Proxy::to(server, b"CALL").await;
    let mut line = connect(proxy.port()).await;
    assert!(ask(&mut line, "before").await.is_some());
    proxy.cut();
    assert_eq!(ask(&mut line, "after").await, None);
    let mut refused = connect(proxy.port()).await;
    assert_eq!(ask(&mut refused, "meanwhile").await, None);
    proxy.restore();
    let mut line = connect(proxy.port()).await;
    assert!(ask(&mut line, "again").await.is_some());
}

#[tokio::test]
async fn a_line_can_lead_elsewhere_and_begin_elsewhere() {
    let ((one, _one), (two, _two)) = (echo("1").await, echo("2").await);
    let proxy = Proxy::to(one, b"CALL").await;
    let mut line = connect(proxy.port()).await;
    assert_eq!(ask(&mut line, "x").await.as_deref(), Some("1x"));
    proxy.lead_to(two);
    assert_eq!(ask(&mut line, "x").await.as_deref(), Some("1x"));
    let mut line = connect(proxy.port()).await;
    assert_eq!(ask(&mut line, "x").await.as_deref(), Some("2x"));

    let address = (Ipv4Addr::new(127, 9, 9, 9), free_port());
    let (three, _three) = echo("3").await;
    let mut proxy = Proxy::to("127.0.0.1:1", b"CALL").await;
    proxy.also_from(address, three).await;
    let mut line = TcpStream::connect(address).await.unwrap();
    assert_eq!(ask(&mut line, "x").await.as_deref(), Some("3x"));
    proxy.cut();
    assert_eq!(ask(&mut line, "x").await, None);
}
