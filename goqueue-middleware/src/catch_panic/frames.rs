//! The part of a backtrace that is about the job.

/// Ends the panic machinery's own frames, which come first.
const MACHINERY: &str = "rust_begin_unwind";
/// The layer itself. What follows is the worker and the runtime, the same for every job.
const LAYER: &str = "catch_panic::Caught<";

/// The frames from the panic to the layer; all of them where there are no names to tell by.
pub(super) fn of_job(backtrace: &str) -> String {
    let frames = frames(backtrace);
    let has = |name: &'static str| move |frame: &String| frame.contains(name);
    let start = frames
        .iter()
        .position(has(MACHINERY))
        .map_or(0, |at| at + 1);
    let end = frames.iter().position(has(LAYER)).unwrap_or(frames.len());
    frames.get(start..end).unwrap_or(&frames).concat()
}

/// Each frame with the line that says where it is.
fn frames(backtrace: &str) -> Vec<String> {
    let mut frames: Vec<String> = Vec::new();
    for line in backtrace.split_inclusive('\n') {
        match frames.last_mut() {
            Some(frame) if line.trim_start().starts_with("at ") => frame.push_str(line),
            _ => frames.push(line.to_owned()),
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_the_job_is_left() {
        let whole = "   0: place::install\n             at ./src/place.rs:33\n   \
                     1: __rustc::rust_begin_unwind\n             at /std/panicking.rs:689\n   \
                     2: core::panicking::panic_fmt\n   \
                     3: <app::Mail as Handler>::handle\n             at ./src/main.rs:16\n   \
                     4: <goqueue_middleware::catch_panic::Caught<F> as Future>::poll\n   \
                     5: tokio::runtime::task::harness::poll_future\n";
        let expected = "   2: core::panicking::panic_fmt\n   \
                        3: <app::Mail as Handler>::handle\n             at ./src/main.rs:16\n";
        assert_eq!(of_job(whole), expected);
    }

    #[test]
    fn without_names_all_of_it_is_left() {
        for whole in [
            "",
            "   0: <unknown>\n   1: <unknown>\n",
            "disabled backtrace",
        ] {
            assert_eq!(of_job(whole), whole);
        }
    }
}
