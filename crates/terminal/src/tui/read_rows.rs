//! The rows of a text that were on the screen, because what lets something happen is sent only after it could be read.

use std::cell::Cell;

/// The rows as they were drawn last; only drawing knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadRows(Cell<Rows>);

#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    all: usize,
    /// Rows of one screen.
    shown: usize,
    /// Rows from the first on that were on the screen without a gap.
    read: usize,
}

impl ReadRows {
    /// Notes that `shown` of `all` rows are drawn, after `above` rows.
    pub(super) fn drawn(&self, above: usize, all: usize, shown: usize) {
        let first = above.min(all.saturating_sub(shown));
        let read = self.0.get().read;
        let read = if first <= read { read.max(first + shown) } else { read };
        self.0.set(Rows { all, shown, read });
    }

    /// Returns whether all rows were on the screen.
    pub(super) fn is_read(&self) -> bool {
        let Rows { all, read, .. } = self.0.get();
        all > 0 && read >= all
    }

    /// Returns the rows of one screen.
    pub(super) fn screen(&self) -> usize {
        self.0.get().shown.max(1)
    }

    /// Returns the rows above the screen after a move from `above` by `by` rows down: no further than the end, and than one
    /// screen after what was drawn.
    pub(super) fn down(&self, above: usize, by: usize) -> usize {
        let Rows { all, shown, read } = self.0.get();
        (above + by).min(all.saturating_sub(shown)).min(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_before_a_draw_skip_no_row() {
        let rows = ReadRows::default();
        let mut above = 0;
        rows.drawn(above, 25, 10);
        for first in [10, 15] {
            assert!(!rows.is_read());
            for _ in 0..5 {
                above = rows.down(above, rows.screen());
            }
            assert_eq!(above, first);
            rows.drawn(above, 25, 10);
        }
        assert!(rows.is_read());
    }
}
