//! Middleware for goqueue workers.
//!
//! Each layer is a folder and a Cargo feature. Layers go around every job of a worker, in the order
//! in which `WorkerBuilder::layer` was called: the first added is the outermost. Each says where in
//! the stack it belongs. They are tower layers over
//! `Service<JobRequest, Response = (), Error: Into<JobError>>`, keep the answer that a handler gave,
//! and compose with those of the `tower` crate.
#![cfg_attr(feature = "trace", doc = "")]
#![cfg_attr(feature = "trace", doc = "| layer | feature | what it does | place |")]
#![cfg_attr(feature = "trace", doc = "| --- | --- | --- | --- |")]
#![cfg_attr(
    feature = "trace",
    doc = "| [`TraceLayer`] | `trace` | a tracing span per job | outermost |"
)]

#[cfg(feature = "trace")]
pub mod trace;

#[cfg(feature = "trace")]
#[doc(inline)]
pub use trace::TraceLayer;
