//! The trace that a call belongs to (W3C Trace Context and Baggage). It is passed on to every program and server that
//! works for the call. [`crate::spans`] adds spans to it where they are collected.

use crate::mutex::lock;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

/// Bytes of a `tracestate` that the recommendation requires every implementation to carry.
const MAX_STATE_BYTES: usize = 512;
/// Bytes of a `baggage` that its recommendation requires.
const MAX_BAGGAGE_BYTES: usize = 8192;

/// Traces that [`DeferredTraces`] remembers; the oldest are dropped for new ones.
const MAX_DEFERRED: usize = 1024;

tokio::task_local! {
    static CURRENT: Trace;
}

/// A trace as it is on the wire. Its members are well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub parent: String,
    pub state: Option<String>,
    /// Data of the caller. It is passed to programs on this machine and never to servers elsewhere, because it may hold
    /// anything.
    pub baggage: Option<String>,
}

impl Trace {
    /// Parses a trace; `get` returns a member by its name in the recommendations.
    pub fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let parent = get("traceparent").filter(|parent| is_parent(parent))?.to_owned();
        let member = |name, max_bytes| {
            let is_valid = |text: &&str| {
                (1..=max_bytes).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
            };
            get(name).filter(is_valid).map(ToOwned::to_owned)
        };
        let (state, baggage) = (member("tracestate", MAX_STATE_BYTES), member("baggage", MAX_BAGGAGE_BYTES));
        Some(Self { parent, state, baggage })
    }

    /// Reads a trace from environment variables.
    pub fn from_environment(variables: &BTreeMap<String, String>) -> Option<Self> {
        Self::read(|name| variables.get(&name.to_uppercase()).map(String::as_str))
    }

    /// Returns the 32 digits of the trace's id.
    pub(crate) fn trace_id(&self) -> &str {
        &self.parent[3..35]
    }

    /// Returns the 16 digits of the span above.
    pub(crate) fn span_id(&self) -> &str {
        &self.parent[36..52]
    }

    /// Returns whether the client records this trace.
    pub(crate) fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.parent[53..], 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// Returns the headers of a request to another server.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let state = self.state.as_deref().map(|state| ("tracestate", state));
        [("traceparent", self.parent.as_str())].into_iter().chain(state)
    }

    /// Returns all members by their names in the recommendations.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let baggage = self.baggage.as_deref().map(|baggage| ("baggage", baggage));
        self.headers().chain(baggage)
    }

    /// Returns the environment variables of a program that works for the call.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.members().map(|(name, value)| (name.to_uppercase(), value.to_owned())).collect()
    }
}

fn is_parent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags] = parts[..] else { return false };
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let is_set = |part: &str| part.bytes().any(|byte| byte != b'0');
    let is_complete = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
    is_complete && is_set(trace) && is_set(span)
}

/// Runs `work` as a part of `trace`.
pub async fn scope<T>(trace: Option<Trace>, work: impl Future<Output = T>) -> T {
    match trace {
        Some(trace) => CURRENT.scope(trace, work).await,
        None => work.await,
    }
}

/// Returns the trace of the running task.
pub fn current() -> Option<Trace> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Traces of work that is done later, by the name of what it is about. They last as long as the process.
#[derive(Debug, Default)]
pub struct DeferredTraces(Mutex<VecDeque<(String, Trace)>>);

impl DeferredTraces {
    /// Remembers the current trace for `name`, unless `name` has a trace.
    pub fn remember(&self, name: &str) {
        let Some(trace) = current() else { return };
        let mut all = lock(&self.0);
        if all.iter().any(|(known, _)| known == name) {
            return;
        }
        if all.len() >= MAX_DEFERRED {
            all.pop_front();
        }
        all.push_back((name.to_owned(), trace));
    }

    /// Returns the trace that is remembered for `name`.
    pub fn get(&self, name: &str) -> Option<Trace> {
        lock(&self.0).iter().find(|(known, _)| known == name).map(|(_, trace)| trace.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{DeferredTraces, MAX_DEFERRED, Trace, current, scope};

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(parent: &str, state: &str, baggage: &str) -> Option<Trace> {
        Trace::read(|name| match name {
            "traceparent" => Some(parent),
            "tracestate" => Some(state),
            "baggage" => Some(baggage),
            _ => None,
        })
    }

    #[test]
    fn only_a_valid_trace_is_passed_on() {
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nx: y",
        ] {
            assert_eq!(read(bad, "a=b", "c=d"), None, "{bad}");
        }
        let complete = read(PARENT, "a=b", "c=d").unwrap();
        let headers: Vec<_> = complete.headers().collect();
        assert_eq!(headers, [("traceparent", PARENT), ("tracestate", "a=b")], "baggage stays here");
        let environment = complete.environment();
        let names: Vec<_> = environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["BAGGAGE", "TRACEPARENT", "TRACESTATE"]);
        let long = "x".repeat(513);
        for bad in ["", "a\nb", "ä=b", long.as_str()] {
            let parent = read(PARENT, bad, "a\0b").unwrap();
            assert_eq!((parent.state, parent.baggage), (None, None), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn the_first_trace_of_a_name_stays() {
        let traces = DeferredTraces::default();
        traces.remember("nobody's");
        let one = read(PARENT, "n=1", "").unwrap();
        let two = read(PARENT, "n=2", "").unwrap();
        scope(Some(one.clone()), async { traces.remember("q1") }).await;
        scope(Some(two.clone()), async {
            traces.remember("q1");
            assert_eq!(current(), Some(two.clone()));
        })
        .await;
        assert_eq!((traces.get("q1"), traces.get("nobody's"), current()), (Some(one), None, None));
        scope(Some(two), async { (0..MAX_DEFERRED).for_each(|number| traces.remember(&number.to_string())) })
            .await;
        assert_eq!(traces.get("q1"), None);
    }
}
