//! Counters and histograms of this process. They hold numbers and fixed names, and nothing of a user.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets of a [`Histogram`], in seconds; the last bucket has none.
pub const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 300.0, 3600.0];

/// The number of events of each kind since this process started.
#[derive(Debug)]
pub struct Counts(Vec<(&'static str, AtomicU64)>);

impl Counts {
    /// Creates counters of these kinds, all 0.
    pub fn new(kinds: &[&'static str]) -> Self {
        Self(kinds.iter().map(|kind| (*kind, AtomicU64::new(0))).collect())
    }

    /// Counts an event; an unknown kind counts nowhere.
    pub fn add(&self, kind: &str) {
        if let Some((_, count)) = self.0.iter().find(|(known, _)| *known == kind) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns each kind with its number, in the order of [`Self::new`].
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(kind, count)| (*kind, count.load(Ordering::Relaxed)))
    }
}

/// Durations since this process started, counted in [`BUCKETS`].
#[derive(Debug, Default)]
pub struct Histogram {
    counts: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub fn observe(&self, duration: Duration) {
        let bucket = BUCKETS.partition_point(|bound| *bound < duration.as_secs_f64());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the number of durations in each bucket, without those of the buckets before it.
    pub fn counts(&self) -> [u64; BUCKETS.len() + 1] {
        self.counts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Returns the sum of the durations.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for millis in [0, 1, 2, 7_200_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        assert_eq!(histogram.counts(), [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(histogram.sum(), Duration::from_millis(7_200_003));
    }
}
