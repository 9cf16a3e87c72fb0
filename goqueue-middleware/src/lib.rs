//! Middleware for goqueue: layers around every job of a worker, and hooks for what is enqueued.
//!
//! Each is a module and a Cargo feature. Layers go around every job of a worker, in the order in
//! which `WorkerBuilder::layer` was called: the first added is the outermost. They are tower layers
//! over `Service<JobRequest, Response = (), Error: Into<JobError>>`, keep the answer that a handler
//! gave, and compose with those of the `tower` crate. The table has them in the order they belong,
//! from the outside in:
//!
//! | layer | feature | what it does |
//! | --- | --- | --- |
//! | `TraceLayer` | `trace` | a tracing span per run, linked to its enqueuer with `opentelemetry` |
//! | `LogLayer` | `logging` | a log line per run |
//! | `MetricsLayer` | `metrics` | counters, gauges and histograms |
//! | `DeadlineLayer` | `deadline` | jobs that nobody needs any more do not run |
//! | `SkipLayer` | `skip` | answers in a job's place under a condition |
//! | `CircuitBreakerLayer` | `circuit-breaker` | after failures in a row jobs wait |
//! | `ConcurrencyLimitLayer` | `concurrency-limit` | so many jobs of a key at once |
//! | `RateLimitLayer` | `rate-limit` | so many jobs of a key per period |
//! | `TimeoutLayer` | `timeout` | a limit to how long what is inside may take |
//! | `CatchPanicLayer` | `catch-panic` | a panic is a failure with its place and backtrace |
//!
//! What counts or limits does so for one worker: with three workers it is three times as much.
//!
//! `LogMetrics` (`metrics`) observes the message log, for `Log::with_observer`.
//!
//! Hooks, for `Queue::with_hook`: `TraceHook` (`trace`), `MetricsHook` (`metrics`) and `ExpiryHook`
//! (`deadline`).
//!
//! [`default_stack`] adds those that need no settings.

#[cfg(any(
    feature = "circuit-breaker",
    feature = "concurrency-limit",
    feature = "rate-limit"
))]
mod key;
#[cfg(any(feature = "logging", feature = "trace"))]
mod outcome;
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "each of the layers that use it is a feature"
)]
mod service;
mod stack;

#[cfg(feature = "catch-panic")]
pub mod catch_panic;
#[cfg(feature = "circuit-breaker")]
pub mod circuit_breaker;
#[cfg(feature = "concurrency-limit")]
pub mod concurrency_limit;
#[cfg(feature = "deadline")]
pub mod deadline;
#[cfg(feature = "logging")]
pub mod logging;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "rate-limit")]
pub mod rate_limit;
#[cfg(feature = "skip")]
pub mod skip;
#[cfg(feature = "timeout")]
pub mod timeout;
#[cfg(feature = "trace")]
pub mod trace;

#[cfg(feature = "catch-panic")]
#[doc(inline)]
pub use catch_panic::CatchPanicLayer;
#[cfg(feature = "circuit-breaker")]
#[doc(inline)]
pub use circuit_breaker::CircuitBreakerLayer;
#[cfg(feature = "concurrency-limit")]
#[doc(inline)]
pub use concurrency_limit::ConcurrencyLimitLayer;
#[cfg(feature = "deadline")]
#[doc(inline)]
pub use deadline::{DeadlineLayer, ExpireExt, ExpiryHook};
#[cfg(feature = "logging")]
#[doc(inline)]
pub use logging::LogLayer;
#[cfg(feature = "metrics")]
#[doc(inline)]
pub use metrics::{LogMetrics, MetricsHook, MetricsLayer, Sampler, with_metrics};
#[cfg(feature = "rate-limit")]
#[doc(inline)]
pub use rate_limit::RateLimitLayer;
#[cfg(feature = "skip")]
#[doc(inline)]
pub use skip::SkipLayer;
pub use stack::default_stack;
#[cfg(feature = "timeout")]
#[doc(inline)]
pub use timeout::TimeoutLayer;
#[cfg(feature = "trace")]
#[doc(inline)]
pub use trace::{TraceHook, TraceLayer};
