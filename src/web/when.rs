//! Instants as a page shows them: a span in words, and the exact moment beside it.

use std::time::{Duration, SystemTime};

use minijinja::{Value, context};

use crate::clock::{self, stamp};

/// Returns the instant for a `<time>` element: `stamp` in RFC 3339 (UTC, whole seconds) and `ago` in words.
pub(super) fn time(at: SystemTime, now: SystemTime) -> Value {
    let ago = match now.duration_since(at).unwrap_or_default() {
        young if young < Duration::from_secs(5) => "just now".to_owned(),
        _ => format!("{} ago", span(at, now)),
    };
    context! { stamp => stamp(at), ago }
}

/// Returns the time between two instants in its largest unit; a clock that went back counts as no time.
pub(super) fn span(from: SystemTime, to: SystemTime) -> String {
    clock::span(to.duration_since(from).unwrap_or_default())
}
