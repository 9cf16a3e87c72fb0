//! A panic is a failure with its place and backtrace.
//!
//! A worker survives panics without this layer: each is a failure whose error is the panic's text.
//! This layer adds where it happened, and logs the backtrace.

mod error;
mod frames;
mod layer;
mod place;

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use goqueue_core::{JobError, JobId, JobResult, middleware::JobRequest};

pub use error::Panicked;
pub use layer::CatchPanicLayer;

use crate::service::{Answer, answer, service};
use place::Place;

service!(CatchPanicLayer makes CatchPanic);

impl CatchPanicLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let (id, name) = (request.id(), request.name().to_owned());
        let started = catch(AssertUnwindSafe(|| run(request)));
        answer(async move {
            match started {
                Ok(work) => match (Caught {
                    work: Box::pin(work),
                })
                .await
                {
                    Ok(answer) => answer,
                    Err(panicked) => Err(report(id, &name, panicked)),
                },
                Err(panicked) => Err(report(id, &name, panicked)),
            }
        })
    }
}

/// Polls a future and takes its panic as an answer.
struct Caught<F> {
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch(AssertUnwindSafe(|| self.work.as_mut().poll(cx))) {
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

fn catch<T>(work: AssertUnwindSafe<impl FnOnce() -> T>) -> Result<T, Panicked> {
    let watching = place::watch();
    let ended = catch_unwind(work);
    let place = watching.end();
    ended.map_err(|panic| panicked(&*panic, place))
}

fn panicked(panic: &(dyn Any + Send), place: Option<Place>) -> Panicked {
    let text = match panic.downcast_ref::<&'static str>() {
        Some(text) => Some(*text),
        None => panic.downcast_ref::<String>().map(String::as_str),
    };
    Panicked::new(text.unwrap_or("(the panic carried no text)").into(), place)
}

fn report(id: JobId, name: &str, panicked: Panicked) -> JobError {
    match panicked.backtrace() {
        Some(backtrace) => {
            let backtrace = frames::of_job(&backtrace.to_string());
            tracing::error!(job = %id, name, error = %panicked, %backtrace, "job panicked");
        }
        None => tracing::error!(job = %id, name, error = %panicked, "job panicked"),
    }
    panicked.into()
}
