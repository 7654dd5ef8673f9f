//! Pending approvals together: all their texts one below the other, and one key that answers those that are shown.

use std::cell::Cell;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::question_form::COOLDOWN;
use crate::socket::control::questions::Request;
use adjutant_questions::Question;

/// Approvals that are shown together.
const MAX_APPROVALS: usize = 20;

/// The approvals as they are shown.
#[derive(Debug)]
pub(super) struct PendingApprovals {
    pub(super) questions: Vec<Question>,
    /// Rows above the screen.
    pub(super) scroll: usize,
    /// The rows as they were drawn last; only drawing knows them.
    rows: Cell<Rows>,
    shown_at: Instant,
}

/// Rows of the texts.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    all: usize,
    /// Rows of one screen.
    shown: usize,
    /// Rows from the first on that were on the screen without a gap.
    read: usize,
}

/// The meaning of a key.
pub(super) enum ApprovalsKey {
    Stay,
    Close,
    Send(Vec<Request>),
}

impl PendingApprovals {
    /// Takes the first of these approvals; `None` without any.
    pub(super) fn open<'a>(questions: impl Iterator<Item = &'a Question>, now: Instant) -> Option<Self> {
        let questions: Vec<Question> = questions.take(MAX_APPROVALS).cloned().collect();
        (!questions.is_empty()).then_some(Self { questions, scroll: 0, rows: Cell::default(), shown_at: now })
    }

    /// Takes over an approval that has changed. A further request for it has to be read first.
    pub(super) fn refresh(&mut self, question: &Question, now: Instant) {
        if let Some(shown) = self.questions.iter_mut().find(|shown| shown.ticket == question.ticket) {
            shown.clone_from(question);
            self.shown_at = now;
            self.scroll = 0;
            self.rows.take();
        }
    }

    /// Notes that `shown` of `all` rows are drawn.
    pub(super) fn drawn(&self, all: usize, shown: usize) {
        let first = self.scroll.min(all.saturating_sub(shown));
        let read = self.rows.get().read;
        let read = if first <= read { read.max(first + shown) } else { read };
        self.rows.set(Rows { all, shown, read });
    }

    /// Returns whether all rows were on the screen.
    pub(super) fn is_read(&self) -> bool {
        let Rows { all, read, .. } = self.rows.get();
        all > 0 && read >= all
    }

    /// Moves down by so many rows, no further than the end and than one screen after what was drawn.
    fn scroll_down(&mut self, by: usize) {
        let Rows { all, shown, read } = self.rows.get();
        self.scroll = (self.scroll + by).min(all.saturating_sub(shown)).min(read);
    }

    pub(super) fn on(&mut self, key: KeyEvent, now: Instant) -> ApprovalsKey {
        let approves = match key.code {
            KeyCode::Esc => return ApprovalsKey::Close,
            KeyCode::PageDown | KeyCode::Char(' ') => {
                self.scroll_down(self.rows.get().shown);
                return ApprovalsKey::Stay;
            }
            KeyCode::PageUp => {
                self.scroll = self.scroll.saturating_sub(self.rows.get().shown);
                return ApprovalsKey::Stay;
            }
            KeyCode::Down => {
                self.scroll_down(1);
                return ApprovalsKey::Stay;
            }
            KeyCode::Up => {
                self.scroll = self.scroll.saturating_sub(1);
                return ApprovalsKey::Stay;
            }
            KeyCode::Char('y') if self.is_read() => true,
            KeyCode::Char('n') => false,
            _ => return ApprovalsKey::Stay,
        };
        if now.saturating_duration_since(self.shown_at) < COOLDOWN {
            return ApprovalsKey::Stay;
        }
        let request = |question: &Question| {
            let (ticket, answer) = (question.ticket.clone(), question.approval_answer(approves)?);
            Some(Request::Answer {
                ticket,
                shown: question.deliveries,
                answer,
                note: None,
                passphrase: None,
                files: Vec::new(),
            })
        };
        ApprovalsKey::Send(self.questions.iter().filter_map(request).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_before_a_draw_skip_no_row() {
        let now = Instant::now();
        let mut approvals =
            PendingApprovals { questions: Vec::new(), scroll: 0, rows: Cell::default(), shown_at: now };
        let page_down = KeyEvent::from(KeyCode::PageDown);
        approvals.drawn(25, 10);
        for first in [10, 15] {
            assert!(!approvals.is_read());
            for _ in 0..5 {
                approvals.on(page_down, now);
            }
            assert_eq!(approvals.scroll, first);
            approvals.drawn(25, 10);
        }
        assert!(approvals.is_read());
    }
}
