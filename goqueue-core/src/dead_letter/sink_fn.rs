use std::{fmt, future::Future};

use async_trait::async_trait;

use super::{DeadLetter, DeadLetters};
use crate::error::BoxError;

/// A sink from an async function: opens a ticket, writes a line, calls another service.
///
/// As of any [`DeadLetters`], an error or a panic has the function called again, and the same letter
/// may come twice.
///
/// ```
/// use goqueue_core::{DeadLetter, Worker, dead_letter::sink_fn};
///
/// # fn example(queue: &goqueue_core::Queue) {
/// let builder = Worker::builder(queue).dead_letters(sink_fn(|letter: DeadLetter| async move {
///     println!("ticket {}: {}", letter.id, letter.error);
///     Ok(())
/// }));
/// # drop(builder);
/// # }
/// ```
pub fn sink_fn<F, Fut>(function: F) -> SinkFn<F>
where
    F: Fn(DeadLetter) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), BoxError>> + Send,
{
    SinkFn(function)
}

/// The sink that [`sink_fn`] makes.
#[derive(Clone)]
pub struct SinkFn<F>(F);

#[async_trait]
impl<F, Fut> DeadLetters for SinkFn<F>
where
    F: Fn(DeadLetter) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), BoxError>> + Send,
{
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        (self.0)(letter).await
    }
}

impl<F> fmt::Debug for SinkFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SinkFn")
            .field(&std::any::type_name::<F>())
            .finish()
    }
}
