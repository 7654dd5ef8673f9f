//! The clock of questions: milliseconds since 1970 that never jump.
//!
//! Deadlines are stored as instants, so a change of the wall clock could make every question due at once, or none.
//! Therefore the wall clock is read once, at the start; from then on the monotonic clock counts. It stops while the
//! machine sleeps, because the user cannot answer then.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use adjutant_store::Millis;

#[derive(Debug)]
pub(super) struct Clock {
    start: Millis,
    since: Instant,
    #[cfg(test)]
    skipped: std::sync::atomic::AtomicI64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            start: Millis::try_from(since_1970.as_millis()).unwrap_or(0),
            since: Instant::now(),
            #[cfg(test)]
            skipped: std::sync::atomic::AtomicI64::new(0),
        }
    }

    pub(super) fn now(&self) -> Millis {
        let passed = Millis::try_from(self.since.elapsed().as_millis()).unwrap_or(Millis::MAX);
        #[cfg(test)]
        let passed = passed + self.skipped.load(std::sync::atomic::Ordering::SeqCst);
        self.start.saturating_add(passed)
    }

    /// Moves the clock forward.
    #[cfg(test)]
    pub(super) fn skip(&self, millis: Millis) {
        self.skipped.fetch_add(millis, std::sync::atomic::Ordering::SeqCst);
    }
}
