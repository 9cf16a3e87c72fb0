//! What the services of all layers have in common.

use std::{future::Future, pin::Pin};

use goqueue_core::{BoxError, JobError, JobResult};

/// The answer to a job, on its way out.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// An answer that takes work.
pub(crate) fn answer(work: impl Future<Output = JobResult> + Send + 'static) -> Answer {
    Box::pin(async move { work.await.map_err(JobError::into_boxed) })
}

/// An answer in the handler's place.
pub(crate) fn refuse(error: JobError) -> Answer {
    Box::pin(std::future::ready(Err(error.into_boxed())))
}

/// Makes `$layer` a tower layer whose service hands each job to `$layer::around`, with a function
/// that runs what is inside.
macro_rules! service {
    ($layer:ident makes $service:ident) => {
        #[doc = concat!("The service that [`", stringify!($layer), "`] makes.")]
        #[derive(Clone, Debug)]
        pub struct $service<S> {
            layer: $layer,
            inner: S,
        }

        impl<S> tower::Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&self, inner: S) -> $service<S> {
                $service {
                    layer: self.clone(),
                    inner,
                }
            }
        }

        impl<S> tower::Service<goqueue_core::middleware::JobRequest> for $service<S>
        where
            S: tower::Service<goqueue_core::middleware::JobRequest, Response = ()>,
            S::Error: Into<goqueue_core::JobError>,
            S::Future: Send + 'static,
        {
            type Response = ();
            type Error = goqueue_core::BoxError;
            type Future = $crate::service::Answer;

            fn poll_ready(
                &mut self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Result<(), goqueue_core::BoxError>> {
                self.inner
                    .poll_ready(cx)
                    .map_err(|error| error.into().into_boxed())
            }

            fn call(
                &mut self,
                request: goqueue_core::middleware::JobRequest,
            ) -> $crate::service::Answer {
                let inner = &mut self.inner;
                self.layer.around(request, |request| {
                    let answer = inner.call(request);
                    async move { answer.await.map_err(Into::into) }
                })
            }
        }
    };
}
pub(crate) use service;
