//! The server behind the `echo` service.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;

/// Sends back on each connection what comes in, one connection after the other, for ever.
///
/// # Errors
///
/// When the port is taken.
pub async fn serve(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("echo listens on {}", listener.local_addr()?);
    loop {
        let (mut stream, _) = listener.accept().await?;
        let (mut read, mut write) = stream.split();
        // A client that goes away in the middle is no reason to stop.
        let _ = tokio::io::copy(&mut read, &mut write).await;
    }
}
