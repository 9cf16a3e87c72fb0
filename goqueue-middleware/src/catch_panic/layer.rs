use super::place;

/// Turns a panic of what is inside into a failure with the error [`Panicked`](super::Panicked), which
/// says where it happened, and logs it with its backtrace at level `ERROR`.
///
/// It belongs innermost: the layers around it see a failure like any other. Only unwinding panics
/// can be caught: with `panic = "abort"` the process ends.
///
/// The first one that is made puts a panic hook in front of the program's own, which still runs. A
/// program that sets a hook does so before.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CatchPanicLayer {}

impl CatchPanicLayer {
    /// The layer.
    #[must_use]
    pub fn new() -> Self {
        place::install();
        Self {}
    }
}

impl Default for CatchPanicLayer {
    fn default() -> Self {
        Self::new()
    }
}
