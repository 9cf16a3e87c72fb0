use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use futures_util::{FutureExt, future::BoxFuture};
use tower::{Layer, Service, ServiceExt, util::BoxService};

use super::JobRequest;
use crate::{error::BoxError, job::JobError, registry::Registry};

type Answer = Result<(), BoxError>;
type Call = BoxFuture<'static, Answer>;

/// The rest of the stack, as a layer sees it: cheap to clone, and one service behind all clones.
///
/// `call` may be used without `poll_ready`: it waits for readiness itself. `poll_ready` tells
/// whether the service could take a job at this moment, which is what a load shedder asks.
#[derive(Clone)]
pub struct JobService(Inner);

#[derive(Clone)]
enum Inner {
    Handlers(Arc<Registry>),
    Layered(Arc<Layered>),
}

/// A service that need not be `Clone`, shared by everyone who holds the handle.
struct Layered {
    service: Mutex<BoxService<JobRequest, (), BoxError>>,
    waiters: Arc<Waiters>,
    waker: Waker,
}

/// Tasks waiting for readiness. A service remembers one waker; this one wakes them all.
#[derive(Default)]
struct Waiters(Mutex<Vec<Waker>>);

impl JobService {
    /// The bottom of the stack.
    pub(crate) fn handlers(registry: Arc<Registry>) -> Self {
        Self(Inner::Handlers(registry))
    }

    /// This stack with one more layer around it.
    pub(crate) fn wrapped_in<L>(self, layer: &L) -> Self
    where
        L: Layer<JobService>,
        L::Service: Service<JobRequest, Response = ()> + Send + 'static,
        <L::Service as Service<JobRequest>>::Error: Into<JobError>,
        <L::Service as Service<JobRequest>>::Future: Send + 'static,
    {
        let service = layer.layer(self).map_err(|error| error.into().into_boxed());
        let waiters = Arc::new(Waiters::default());
        Self(Inner::Layered(Arc::new(Layered {
            service: Mutex::new(BoxService::new(service)),
            waker: Waker::from(Arc::clone(&waiters)),
            waiters,
        })))
    }
}

impl Service<JobRequest> for JobService {
    type Response = ();
    type Error = BoxError;
    type Future = Call;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        match &self.0 {
            Inner::Handlers(_) => Poll::Ready(Ok(())),
            Inner::Layered(layered) => layered.poll_ready(cx),
        }
    }

    fn call(&mut self, request: JobRequest) -> Call {
        match &self.0 {
            Inner::Handlers(registry) => registry
                .run(request.into_context())
                .map(|answer| answer.map_err(JobError::into_boxed))
                .boxed(),
            Inner::Layered(layered) => Layered::call(layered, request),
        }
    }
}

impl Layered {
    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Answer> {
        let ask = || {
            self.lock()
                .poll_ready(&mut Context::from_waker(&self.waker))
        };
        match ask() {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => {
                // Asked again once registered, so that no wake-up falls between the two.
                self.waiters.register(cx.waker());
                ask()
            }
        }
    }

    fn call(self: &Arc<Self>, request: JobRequest) -> Call {
        let mut request = Some(request);
        match self.poll_call(&mut request) {
            Poll::Ready(Ok(call)) => call,
            Poll::Ready(Err(error)) => std::future::ready(Err(error)).boxed(),
            Poll::Pending => {
                let layered = Arc::clone(self);
                async move {
                    let call = poll_fn(|cx| {
                        layered.waiters.register(cx.waker());
                        layered.poll_call(&mut request)
                    });
                    call.await?.await
                }
                .boxed()
            }
        }
    }

    /// Readiness and call under one lock, so that no other job takes the place in between.
    fn poll_call(&self, request: &mut Option<JobRequest>) -> Poll<Result<Call, BoxError>> {
        let mut service = self.lock();
        match service.poll_ready(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(Ok(())) => match request.take() {
                Some(request) => Poll::Ready(Ok(service.call(request))),
                None => Poll::Ready(Err("a request is called once".into())),
            },
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// A layer that panicked fails its own job; the others go on with the service it left.
    fn lock(&self) -> MutexGuard<'_, BoxService<JobRequest, (), BoxError>> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiters {
    fn register(&self, waker: &Waker) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        let waiting = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for JobService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobService").finish_non_exhaustive()
    }
}
