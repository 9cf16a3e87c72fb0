use goqueue_core::WorkerBuilder;

/// Adds the layers that need no settings, as far as their features are enabled, from the outside
/// in: trace, logging, metrics, deadline, catch-panic.
///
/// What is added to the builder afterwards comes inside of them.
#[must_use = "a worker is made by `build`"]
pub fn default_stack(builder: WorkerBuilder) -> WorkerBuilder {
    #[cfg(feature = "trace")]
    let builder = builder.layer(crate::TraceLayer::new());
    #[cfg(feature = "logging")]
    let builder = builder.layer(crate::LogLayer::new());
    #[cfg(feature = "metrics")]
    let builder = crate::with_metrics(builder);
    #[cfg(feature = "deadline")]
    let builder = builder.layer(crate::DeadlineLayer::new());
    #[cfg(feature = "catch-panic")]
    let builder = builder.layer(crate::CatchPanicLayer::new());
    builder
}
