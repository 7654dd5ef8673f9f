//! Spans of OpenTelemetry: how long each part of a call took. They name ids, tools and runners, and hold no argument
//! and no text of a user. Until [`collect`] was called, a span costs one atomic load.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc;

use crate::text::hex;
use crate::trace_context::Trace;

/// Spans that wait for the exporter; more are dropped and counted.
const MAX_WAITING: usize = 4096;

static COLLECTED: OnceLock<mpsc::Sender<Span>> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The role of a span; the numbers are those of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal = 1,
    /// Answers a request of another process.
    Server = 2,
    /// Waits for another process.
    Client = 3,
}

/// A span that has ended.
#[derive(Clone, Debug)]
pub struct Span {
    /// 32 hexadecimal digits.
    pub trace: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The id of the span above; `None` for the first one of a trace.
    pub parent: Option<String>,
    /// The `tracestate` of the client.
    pub state: Option<String>,
    pub name: String,
    pub kind: SpanKind,
    pub start: SystemTime,
    pub end: SystemTime,
    pub attributes: Vec<(&'static str, String)>,
    pub has_failed: bool,
}

/// A span that lasts as long as this value; it is collected when this is dropped, which also happens to a request that is
/// cancelled.
#[derive(Debug)]
pub struct ActiveSpan(Option<Box<Span>>);

/// Begins to collect spans, once in a process, and returns their receiver; `None` at a second call.
pub fn collect() -> Option<mpsc::Receiver<Span>> {
    let (send, receive) = mpsc::channel(MAX_WAITING);
    COLLECTED.set(send).ok().map(|()| receive)
}

/// Returns the number of spans that were dropped since the last call, because the exporter did not take them in time.
pub fn take_dropped() -> u64 {
    DROPPED.swap(0, Ordering::Relaxed)
}

impl ActiveSpan {
    /// Starts a span below `parent`, or a new trace. Nothing is collected for a parent that its client does not sample.
    pub fn start(parent: Option<&Trace>, kind: SpanKind, name: impl FnOnce() -> String) -> Self {
        if COLLECTED.get().is_none() || parent.is_some_and(|parent| !parent.is_sampled()) {
            return Self(None);
        }
        let trace = parent.map_or_else(hex::random::<16>, |parent| Ok(parent.trace_id().to_owned()));
        let (Ok(trace), Ok(id)) = (trace, hex::random::<8>()) else { return Self(None) };
        let start = SystemTime::now();
        Self(Some(Box::new(Span {
            trace,
            id,
            parent: parent.map(|parent| parent.span_id().to_owned()),
            state: parent.and_then(|parent| parent.state.clone()),
            name: name(),
            kind,
            start,
            end: start,
            attributes: Vec::new(),
            has_failed: false,
        })))
    }

    /// Adds an attribute. Its value is computed only for a span that is collected.
    pub fn set(&mut self, key: &'static str, value: impl FnOnce() -> String) {
        if let Some(span) = &mut self.0 {
            span.attributes.push((key, value()));
        }
    }

    /// Marks the work as failed, with the class of the failure.
    pub fn fail(&mut self, class: &str) {
        if let Some(span) = &mut self.0 {
            span.has_failed = true;
            span.attributes.push(("error.type", class.to_owned()));
        }
    }

    /// Returns the trace of work below this span, which is `trace` where no span is collected.
    pub fn below(&self, trace: Option<Trace>) -> Option<Trace> {
        let Some(span) = &self.0 else { return trace };
        let parent = format!("00-{}-{}-01", span.trace, span.id);
        let (state, baggage) = trace.map_or((None, None), |trace| (trace.state, trace.baggage));
        Some(Trace { parent, state, baggage })
    }
}

impl Drop for ActiveSpan {
    fn drop(&mut self) {
        let (Some(mut span), Some(collected)) = (self.0.take(), COLLECTED.get()) else { return };
        span.end = SystemTime::now();
        if collected.try_send(*span).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ActiveSpan, SpanKind, collect};
    use crate::trace_context::Trace;

    fn trace(parent: &str) -> Option<Trace> {
        Trace::read(|name| (name == "traceparent").then_some(parent))
    }

    #[test]
    fn a_span_continues_the_trace_of_its_client() {
        let sampled = trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let span = ActiveSpan::start(sampled.as_ref(), SpanKind::Server, || "early".to_owned());
        assert_eq!(span.below(sampled.clone()), sampled, "nobody collects");
        drop(span);
        let mut spans = collect().unwrap();
        assert!(collect().is_none());

        let mut outer = ActiveSpan::start(sampled.as_ref(), SpanKind::Server, || "outer".to_owned());
        outer.set("k", || "v".to_owned());
        let below = outer.below(sampled).unwrap();
        let inner = ActiveSpan::start(Some(&below), SpanKind::Client, || "inner".to_owned());
        drop(inner);
        outer.fail("timeout");
        drop(outer);
        let (inner, outer) = (spans.try_recv().unwrap(), spans.try_recv().unwrap());
        assert_eq!(outer.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(outer.parent.as_deref(), Some("00f067aa0ba902b7"));
        assert_eq!(outer.attributes, [("k", "v".to_owned()), ("error.type", "timeout".to_owned())]);
        assert_eq!((inner.trace, inner.parent), (outer.trace, Some(outer.id)));
        assert!(outer.has_failed && !inner.has_failed);

        let unsampled = trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
        drop(ActiveSpan::start(unsampled.as_ref(), SpanKind::Server, || "unsampled".to_owned()));
        let first = ActiveSpan::start(None, SpanKind::Internal, || "first".to_owned());
        assert!(first.below(None).is_some_and(|trace| trace.is_sampled()));
        drop(first);
        let first = spans.try_recv().unwrap();
        assert_eq!((first.name.as_str(), first.parent), ("first", None));
        assert!(spans.try_recv().is_err());
    }
}
