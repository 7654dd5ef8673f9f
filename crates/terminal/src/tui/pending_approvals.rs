//! Pending approvals together: all their texts one below the other, and one key that answers those that are shown.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::question_form::COOLDOWN;
use super::read_rows::ReadRows;
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
    pub(super) rows: ReadRows,
    shown_at: Instant,
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
        (!questions.is_empty()).then_some(Self {
            questions,
            scroll: 0,
            rows: ReadRows::default(),
            shown_at: now,
        })
    }

    /// Takes over an approval that has changed. A further request for it has to be read first.
    pub(super) fn refresh(&mut self, question: &Question, now: Instant) {
        if let Some(shown) = self.questions.iter_mut().find(|shown| shown.ticket == question.ticket) {
            shown.clone_from(question);
            self.shown_at = now;
            self.scroll = 0;
            self.rows = ReadRows::default();
        }
    }

    pub(super) fn on(&mut self, key: KeyEvent, now: Instant) -> ApprovalsKey {
        let approves = match key.code {
            KeyCode::Esc => return ApprovalsKey::Close,
            KeyCode::PageDown | KeyCode::Char(' ') => {
                self.scroll = self.rows.down(self.scroll, self.rows.screen());
                return ApprovalsKey::Stay;
            }
            KeyCode::PageUp => {
                self.scroll = self.scroll.saturating_sub(self.rows.screen());
                return ApprovalsKey::Stay;
            }
            KeyCode::Down => {
                self.scroll = self.rows.down(self.scroll, 1);
                return ApprovalsKey::Stay;
            }
            KeyCode::Up => {
                self.scroll = self.scroll.saturating_sub(1);
                return ApprovalsKey::Stay;
            }
            KeyCode::Char('y') if self.rows.is_read() => true,
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
