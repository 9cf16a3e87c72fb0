//! W3C Trace Context in a job's headers, and OpenTelemetry's view of a tracing span.

use goqueue_core::job::{Headers, TRACEPARENT};
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The header with what tracing systems add to [`TRACEPARENT`], as W3C Trace Context names it.
const TRACESTATE: &str = "tracestate";

/// Sends the span's context along, unless the headers have one already or nobody collects spans.
pub(super) fn inject(span: &Span, headers: &mut Headers) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    if !context.is_valid() {
        return;
    }
    headers.insert(TRACEPARENT.into(), written(&context));
    let state = context.trace_state().header();
    if !state.is_empty() {
        headers.insert(TRACESTATE.into(), state);
    }
}

/// Makes the context in the headers the parent or a link of the span.
pub(super) fn continue_from(headers: &Headers, span: &Span, links: bool) {
    let Some(parent) = headers.get(TRACEPARENT) else {
        return;
    };
    let state = headers.get(TRACESTATE).map_or("", String::as_str);
    let Some(context) = read(parent, state) else {
        tracing::debug!(traceparent = parent, "no W3C trace context; ignored");
        return;
    };
    if links {
        span.add_link(context);
    } else if let Err(error) = span.set_parent(Context::new().with_remote_span_context(context)) {
        // Nothing is lost when no layer of OpenTelemetry listens.
        tracing::trace!(%error, "the enqueuer's span is not this span's parent");
    }
}

pub(super) fn failed(span: &Span, message: &str) {
    span.set_status(Status::error(message.to_owned()));
}

fn written(context: &SpanContext) -> String {
    let (trace, span, flags) = (
        context.trace_id(),
        context.span_id(),
        context.trace_flags() & TraceFlags::SAMPLED,
    );
    format!("00-{trace}-{span}-{:02x}", flags.to_u8())
}

/// `None` for what is no W3C trace context. One of a later version is read as far as it is known.
fn read(parent: &str, state: &str) -> Option<SpanContext> {
    let mut parts = parent.split('-');
    let mut next = |digits: usize| parts.next().filter(|part| is_hex(part, digits));
    let (version, trace, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
    let has_more = parts.next().is_some();
    if version == "ff" || (version == "00" && has_more) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        flags,
        true,
        state.parse().unwrap_or(TraceState::NONE),
    );
    context.is_valid().then_some(context)
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn what_is_written_is_read() {
        for flags in ["00", "01"] {
            let text = format!("00-{TRACE}-{SPAN}-{flags}");
            let context = read(&text, "vendor=opaque").unwrap();
            assert!(context.is_remote());
            assert_eq!(context.is_sampled(), flags == "01");
            assert_eq!(context.trace_state().header(), "vendor=opaque");
            assert_eq!(written(&context), text);
        }
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let context = read(&format!("cc-{TRACE}-{SPAN}-ff-more"), "").unwrap();
        assert_eq!(written(&context), format!("00-{TRACE}-{SPAN}-01"));
    }

    #[test]
    fn a_bad_state_does_not_spoil_the_parent() {
        let context = read(&format!("00-{TRACE}-{SPAN}-01"), "no state").unwrap();
        assert_eq!(context.trace_state().header(), "");
    }

    #[test]
    fn what_is_no_context_is_none() {
        let zeros = "0".repeat(32);
        for text in [
            String::new(),
            "00".into(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{SPAN}-{TRACE}-01"),
        ] {
            assert!(read(&text, "").is_none(), "{text}");
        }
    }
}
