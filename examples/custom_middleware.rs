//! Three ways to put something around every job: a function, a layer of your own, a layer of tower.
//!
//! ```text
//! cargo run -p goqueue-examples --example custom_middleware
//! ```

use std::{
    future::{Future, Ready, ready},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use goqueue::{
    BoxError,
    middleware::{JobRequest, Next, from_fn},
    prelude::*,
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, limit::RateLimitLayer};

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "report.build")]
struct BuildReport {
    number: u32,
}

impl Handler for BuildReport {
    async fn handle(self, cx: JobContext) -> JobResult {
        let at = cx.state::<Instant>()?.elapsed().as_millis();
        let tenant = cx.headers().get("tenant").map_or("nobody", String::as_str);
        println!("{at:>4} ms: building report {} for {tenant}", self.number);
        sleep(Duration::from_millis(20)).await;
        Ok(())
    }
}

/// 1. A function: everything before `next.run` happens before the job, the rest after it.
async fn log_answer(request: JobRequest, next: Next) -> JobResult {
    let (name, started) = (request.name().to_owned(), Instant::now());
    let answer = next.run(request).await;
    let took = started.elapsed().as_millis();
    match &answer {
        Ok(()) => println!("         {name} took {took} ms"),
        Err(error) => println!("         {name} failed: {error}"),
    }
    answer
}

/// 2. A layer: lets only jobs through that carry a header.
#[derive(Clone, Debug)]
struct RequireHeaderLayer(&'static str);

impl<S> Layer<S> for RequireHeaderLayer {
    type Service = RequireHeader<S>;

    fn layer(&self, inner: S) -> RequireHeader<S> {
        RequireHeader {
            name: self.0,
            inner,
        }
    }
}

/// The service of [`RequireHeaderLayer`].
#[derive(Clone, Debug)]
struct RequireHeader<S> {
    name: &'static str,
    inner: S,
}

impl<S> Service<JobRequest> for RequireHeader<S>
where
    S: Service<JobRequest, Response = ()>,
    S::Error: Into<JobError>,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // An answer passes as a boxed error, and is the same answer at the other end.
        self.inner
            .poll_ready(cx)
            .map_err(|error| error.into().into_boxed())
    }

    fn call(&mut self, request: JobRequest) -> Self::Future {
        if !request.headers().contains_key(self.name) {
            let refusal = JobError::permanent(format!("the header `{}` is missing", self.name));
            let refused: Ready<_> = ready(Err(refusal.into_boxed()));
            return Box::pin(refused);
        }
        let answer = self.inner.call(request);
        Box::pin(async move { answer.await.map_err(|error| error.into().into_boxed()) })
    }
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    let queue = Queue::connect_url("memory://").await?;
    let reports = (1..=4).map(|number| BuildReport { number });
    queue.enqueue_all(reports).header("tenant", "acme").await?;
    queue.enqueue(BuildReport { number: 5 }).await?; // without the header

    let worker = Worker::builder(&queue)
        .state(Instant::now())
        .layer(from_fn(log_answer)) // the first is the outermost
        .layer(RequireHeaderLayer("tenant"))
        // 3. A layer of the tower crate: two jobs per 300 ms, counted over the whole worker.
        .layer(RateLimitLayer::new(2, Duration::from_millis(300)))
        .build()?;
    worker.drain().await?;
    Ok(())
}
