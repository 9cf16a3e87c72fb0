use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};

/// A server that answers every request alike, and hands over the heads and bodies it was sent.
pub async fn answering(
    answer: &'static str,
    body: String,
) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 64 * 1024];
            let read = stream.read(&mut request).await.unwrap_or_default();
            let _ = sender.send(String::from_utf8_lossy(&request[..read]).into_owned());
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            let _ = stream.write_all(reply.as_bytes()).await;
        }
    });
    (endpoint, requests)
}
