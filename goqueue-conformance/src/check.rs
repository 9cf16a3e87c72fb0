//! How a case says that a promise is broken.

/// Fails the case unless the condition holds: `promise!(kept, expected…; happened…)`, each of the
/// two as for [`format!`].
macro_rules! promise {
    ($kept:expr, $expected:literal $(, $about:expr)* ; $($happened:tt)+) => {
        if !$kept {
            panic!(
                "expected: {}\nhappened: {}",
                format_args!($expected $(, $about)*),
                format_args!($($happened)+),
            );
        }
    };
}
pub(crate) use promise;
