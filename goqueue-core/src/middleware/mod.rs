//! The tower stack that every job runs through.
//!
//! A middleware is a [`tower::Layer`] whose service takes a [`JobRequest`] and answers `()` or
//! anything that turns into a [`JobError`](crate::JobError). The layer added first is the outermost.
//! Layers of the `tower` crate fit unchanged, those whose services cannot be cloned included: the
//! worker keeps one service per layer and shares it, so a rate limit counts all jobs of the worker.
//! For the simple case there is [`from_fn`].

mod from_fn;
mod request;
mod service;

pub use from_fn::{FromFn, FromFnLayer, Next, from_fn};
pub use request::JobRequest;
pub use service::JobService;
