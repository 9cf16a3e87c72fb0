use std::{
    fmt,
    future::Future,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tower::{Layer, Service};

use super::{JobRequest, JobService};
use crate::{
    error::BoxError,
    job::{JobError, JobResult},
};

/// A layer from an async function of the request and what comes after it.
///
/// ```
/// use goqueue_core::{JobResult, middleware::{JobRequest, Next, from_fn}};
///
/// async fn log_slow(request: JobRequest, next: Next) -> JobResult {
///     let (name, start) = (request.name().to_owned(), tokio::time::Instant::now());
///     let answer = next.run(request).await;
///     if start.elapsed().as_secs() > 5 {
///         println!("{name} was slow");
///     }
///     answer
/// }
///
/// let layer = from_fn(log_slow);
/// ```
pub fn from_fn<F, Fut>(function: F) -> FromFnLayer<F>
where
    F: Fn(JobRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = JobResult> + Send + 'static,
{
    FromFnLayer(Arc::new(function))
}

/// The layer that [`from_fn`] makes.
pub struct FromFnLayer<F>(Arc<F>);

impl<F> Clone for FromFnLayer<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F> Layer<JobService> for FromFnLayer<F> {
    type Service = FromFn<F>;

    fn layer(&self, next: JobService) -> FromFn<F> {
        FromFn {
            function: Arc::clone(&self.0),
            next,
        }
    }
}

impl<F> fmt::Debug for FromFnLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FromFnLayer")
            .field(&std::any::type_name::<F>())
            .finish()
    }
}

/// The service that [`from_fn`] makes.
pub struct FromFn<F> {
    function: Arc<F>,
    next: JobService,
}

impl<F, Fut> Service<JobRequest> for FromFn<F>
where
    F: Fn(JobRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = JobResult> + Send + 'static,
{
    type Response = ();
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<(), BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.next.poll_ready(cx)
    }

    fn call(&mut self, request: JobRequest) -> Self::Future {
        let answer = (self.function)(request, Next(self.next.clone()));
        Box::pin(async move { answer.await.map_err(JobError::into_boxed) })
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FromFn")
            .field(&std::any::type_name::<F>())
            .finish()
    }
}

/// What comes after a [`from_fn`] layer. Consumed by running it: a job runs once per delivery.
#[derive(Debug)]
pub struct Next(JobService);

impl Next {
    /// Runs the rest of the stack.
    ///
    /// # Errors
    /// The handler's or an inner layer's answer.
    pub async fn run(mut self, request: JobRequest) -> JobResult {
        self.0.call(request).await.map_err(JobError::from)
    }
}
