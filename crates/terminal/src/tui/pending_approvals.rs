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
pub(super) struct Batch {
    pub(super) questions: Vec<Question>,
    /// Rows above the screen.
    pub(super) scroll: usize,
    /// Whether the end of the texts was on the screen. Only drawing knows their rows, so it sets this.
    pub(super) is_read: Cell<bool>,
    shown_at: Instant,
}

/// The meaning of a key.
pub(super) enum BatchKey {
    Stay,
    Close,
    Send(Vec<Request>),
}

impl Batch {
    /// Takes the first of these approvals; `None` without any.
    pub(super) fn open<'a>(questions: impl Iterator<Item = &'a Question>, now: Instant) -> Option<Self> {
        let questions: Vec<Question> = questions.take(MAX_APPROVALS).cloned().collect();
        (!questions.is_empty()).then_some(Self {
            questions,
            scroll: 0,
            is_read: Cell::new(false),
            shown_at: now,
        })
    }

    /// Takes over an approval that has changed. A further request for it has to be read first.
    pub(super) fn refresh(&mut self, question: &Question, now: Instant) {
        if let Some(shown) = self.questions.iter_mut().find(|shown| shown.ticket == question.ticket) {
            shown.clone_from(question);
            self.shown_at = now;
            self.is_read.set(false);
        }
    }

    pub(super) fn on(&mut self, key: KeyEvent, now: Instant) -> BatchKey {
        let approves = match key.code {
            KeyCode::Esc => return BatchKey::Close,
            KeyCode::PageDown | KeyCode::Char(' ') => {
                self.scroll += 10;
                return BatchKey::Stay;
            }
            KeyCode::PageUp => {
                self.scroll = self.scroll.saturating_sub(10);
                return BatchKey::Stay;
            }
            KeyCode::Down => {
                self.scroll += 1;
                return BatchKey::Stay;
            }
            KeyCode::Up => {
                self.scroll = self.scroll.saturating_sub(1);
                return BatchKey::Stay;
            }
            KeyCode::Char('y') if self.is_read.get() => true,
            KeyCode::Char('n') => false,
            _ => return BatchKey::Stay,
        };
        if now.saturating_duration_since(self.shown_at) < COOLDOWN {
            return BatchKey::Stay;
        }
        let request = |question: &Question| {
            let (ticket, answer) = (question.ticket.clone(), question.approval_answer(approves)?);
            Some(Request::Answer { ticket, answer, note: None, passphrase: None })
        };
        BatchKey::Send(self.questions.iter().filter_map(request).collect())
    }
}
