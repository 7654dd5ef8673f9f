//! The trace that a call belongs to (W3C Trace Context and Baggage): what is done for it says so to whoever does a part
//! of it. Adjutant makes no spans of its own; it passes on what it got.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a `tracestate`, as the recommendation asks every implementation to carry.
const MAX_STATE_BYTES: usize = 512;
/// Bytes of a `baggage`, as its recommendation asks.
const MAX_BAGGAGE_BYTES: usize = 8192;

/// Traces that [`DeferredTraces`] remembers; of more, the oldest are forgotten.
const MAX_DEFERRED: usize = 1024;

tokio::task_local! {
    static CURRENT: Trace;
}

/// A trace, as it stands on the wire. Only what is well-formed gets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub parent: String,
    pub state: Option<String>,
    /// What the caller says about itself. It goes to what works for the caller on this machine, never to other people's
    /// servers: nobody knows what stands in it.
    pub baggage: Option<String>,
}

impl Trace {
    /// Reads a trace whose members `get` returns by their names in the recommendations.
    pub fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let parent = get("traceparent").filter(|parent| is_parent(parent))?.to_owned();
        let within = |name, most| {
            let plain = |text: &&str| {
                (1..=most).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
            };
            get(name).filter(plain).map(ToOwned::to_owned)
        };
        let (state, baggage) = (within("tracestate", MAX_STATE_BYTES), within("baggage", MAX_BAGGAGE_BYTES));
        Some(Self { parent, state, baggage })
    }

    /// The headers of a request to somebody else's server.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let state = self.state.as_deref().map(|state| ("tracestate", state));
        [("traceparent", self.parent.as_str())].into_iter().chain(state)
    }

    /// All members, by their names in the recommendations.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let baggage = self.baggage.as_deref().map(|baggage| ("baggage", baggage));
        self.headers().chain(baggage)
    }

    /// The environment of a program that works for the call.
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
    let known = |part: &str| part.bytes().any(|byte| byte != b'0');
    let whole = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
    whole && known(trace) && known(span)
}

/// Does `work` as a part of `trace`.
pub async fn within<T>(trace: Option<Trace>, work: impl Future<Output = T>) -> T {
    match trace {
        Some(trace) => CURRENT.scope(trace, work).await,
        None => work.await,
    }
}

/// The trace that what runs now is a part of.
pub fn current() -> Option<Trace> {
    CURRENT.try_with(Clone::clone).ok()
}

/// The traces of what is done later: by the name of the thing. They last as long as the process.
#[derive(Debug, Default)]
pub struct DeferredTraces(Mutex<VecDeque<(String, Trace)>>);

impl DeferredTraces {
    /// Remembers that `name` comes of what runs now; what is known of it already stays.
    pub fn keep(&self, name: &str) {
        let Some(trace) = current() else { return };
        let mut all = self.all();
        if all.iter().any(|(known, _)| known == name) {
            return;
        }
        if all.len() >= MAX_DEFERRED {
            all.pop_front();
        }
        all.push_back((name.to_owned(), trace));
    }

    /// Returns the trace that was kept under a name.
    pub fn of(&self, name: &str) -> Option<Trace> {
        self.all().iter().find(|(known, _)| known == name).map(|(_, trace)| trace.clone())
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<(String, Trace)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{DeferredTraces, MAX_DEFERRED, Trace, current, within};

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
    fn only_a_whole_trace_is_passed_on() {
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
        let whole = read(PARENT, "a=b", "c=d").unwrap();
        let headers: Vec<_> = whole.headers().collect();
        assert_eq!(headers, [("traceparent", PARENT), ("tracestate", "a=b")], "baggage stays here");
        let environment = whole.environment();
        let names: Vec<_> = environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["BAGGAGE", "TRACEPARENT", "TRACESTATE"]);
        let long = "x".repeat(513);
        for bad in ["", "a\nb", "ä=b", long.as_str()] {
            let parent = read(PARENT, bad, "a\0b").unwrap();
            assert_eq!((parent.state, parent.baggage), (None, None), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn a_thing_belongs_to_the_first_call_that_was_about_it() {
        let traces = DeferredTraces::default();
        traces.keep("nobody's");
        let one = read(PARENT, "n=1", "").unwrap();
        let two = read(PARENT, "n=2", "").unwrap();
        within(Some(one.clone()), async { traces.keep("q1") }).await;
        within(Some(two.clone()), async {
            traces.keep("q1");
            assert_eq!(current(), Some(two.clone()));
        })
        .await;
        assert_eq!((traces.of("q1"), traces.of("nobody's"), current()), (Some(one), None, None));
        within(Some(two), async { (0..MAX_DEFERRED).for_each(|number| traces.keep(&number.to_string())) })
            .await;
        assert_eq!(traces.of("q1"), None);
    }
}
