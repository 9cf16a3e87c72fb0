//! Layers around every job: those of goqueue, and what it takes to write one.
//!
//! ```
//! # use goqueue::prelude::*;
//! use goqueue::middleware::{JobRequest, Next, from_fn};
//!
//! async fn deny_strangers(request: JobRequest, next: Next) -> JobResult {
//!     if !request.headers().contains_key("tenant") {
//!         return Err(JobError::permanent("no tenant"));
//!     }
//!     next.run(request).await
//! }
//!
//! # fn example(queue: &Queue) {
//! let builder = Worker::builder(queue).layer(from_fn(deny_strangers));
//! # drop(builder);
//! # }
//! ```

#[doc(inline)]
pub use goqueue_core::middleware::*;
#[cfg(feature = "middleware")]
#[doc(inline)]
pub use goqueue_middleware::*;
