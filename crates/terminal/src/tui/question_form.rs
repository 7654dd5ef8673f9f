//! The form of an open question: its values, its focus and its keys.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::widgets::field_input::Entry;
use super::widgets::text_input::Editor;
use crate::socket::control::questions::{QuestionView, Request, Secret};
use adjutant_questions::{Answer, Channel, DecidedBy, Level, OutcomeKind};

/// Time after opening in which keys choose and send nothing, because they may have been meant for the previous screen. Text
/// input is accepted.
pub(super) const COOLDOWN: Duration = Duration::from_millis(400);

/// Default minutes of a snooze.
const DEFAULT_SNOOZE_MINUTES: &str = "10";

/// Maximum bytes of one text of an answer; the hub may have a lower limit.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// An open question.
#[derive(Clone, Debug)]
pub(super) struct QuestionForm {
    pub(super) question: QuestionView,
    /// One for each field.
    pub(super) entries: Vec<Entry>,
    /// The field with the keyboard focus.
    pub(super) focus: usize,
    pub(super) note: Option<String>,
    pub(super) layer: Option<Overlay>,
    /// Lines of the message above the screen.
    pub(super) scroll: u16,
    /// Why the form cannot be sent.
    pub(super) fault: Option<String>,
    /// Sent, and the hub has not answered yet.
    pub(super) sending: bool,
    /// It was decided without this terminal.
    pub(super) closed: Option<ClosedElsewhere>,
    opened: Instant,
}

/// An input over the question, with the keyboard focus. Escape closes it.
#[derive(Clone, Debug)]
pub(super) enum Overlay {
    Note(Editor),
    Snooze(Editor),
    Redirect(Editor),
    Decline(Editor),
    /// The answer waits for the approval passphrase.
    Passphrase {
        answer: Answer,
        typed: Editor,
    },
    Help,
}

/// How a question ended elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClosedElsewhere {
    pub(super) kind: OutcomeKind,
    pub(super) by: DecidedBy,
    pub(super) through: Channel,
}

/// The result of a key.
#[derive(Debug, PartialEq)]
pub(super) enum KeyResult {
    Stay,
    /// Returns to the list.
    Close,
    Send(Request),
}

impl QuestionForm {
    pub(super) fn open(question: QuestionView, now: Instant) -> Self {
        Self {
            entries: question.fields.iter().map(Entry::new).collect(),
            question,
            focus: 0,
            note: None,
            layer: None,
            scroll: 0,
            fault: None,
            sending: false,
            closed: None,
            opened: now,
        }
    }

    /// Opens the form again with its values.
    pub(super) fn reopen(self, now: Instant) -> Self {
        Self { opened: now, ..self }
    }

    /// Returns whether keys that choose or send are ignored yet.
    pub(super) fn cooling(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.opened) < COOLDOWN
    }

    /// Returns whether letters and digits are text for the focused element.
    pub(super) fn takes_text(&self) -> bool {
        match &self.layer {
            Some(Overlay::Help) => false,
            Some(_) => true,
            None => self.focused(Entry::takes_text).unwrap_or(false),
        }
    }

    /// Updates the question. The values stay.
    pub(super) fn refresh(&mut self, question: &QuestionView) {
        if question.fields == self.question.fields {
            self.question.clone_from(question);
            self.closed = None;
        }
    }

    /// Handles a key.
    pub(super) fn on(&mut self, key: KeyEvent, now: Instant) -> KeyResult {
        if self.closed.is_some() {
            // A closed question cannot be answered, but the typed text stays readable until the user leaves.
            return match key.code {
                KeyCode::Esc | KeyCode::Enter if !self.cooling(now) => KeyResult::Close,
                _ => self.scroll_by(key),
            };
        }
        if self.layer.is_some() {
            return self.on_layer(key);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return KeyResult::Close,
            KeyCode::Char('n') if control => {
                self.layer = Some(Overlay::Note(Editor::with(self.note.as_deref().unwrap_or_default())));
            }
            KeyCode::Char('s') if control => self.layer = Some(Overlay::Snooze(Editor::default())),
            KeyCode::Char('r') if control => self.layer = Some(Overlay::Redirect(Editor::default())),
            KeyCode::Char('d') if control => self.layer = Some(Overlay::Decline(Editor::default())),
            KeyCode::F(1) => self.layer = Some(Overlay::Help),
            KeyCode::Char('?') if !self.takes_text() => self.layer = Some(Overlay::Help),
            KeyCode::Tab => self.move_focus(1),
            KeyCode::BackTab => self.move_focus(self.entries.len().saturating_sub(1)),
            KeyCode::PageUp | KeyCode::PageDown => return self.scroll_by(key),
            KeyCode::Enter if !key.modifiers.contains(KeyModifiers::ALT) => {
                return if self.cooling(now) { KeyResult::Stay } else { self.confirm() };
            }
            _ => {
                if self.cooling(now) && !self.takes_text() {
                    return KeyResult::Stay;
                }
                self.fault = None;
                if !self.fill(key) && !self.takes_text() {
                    return self.scroll_by(key);
                }
            }
        }
        KeyResult::Stay
    }

    /// Inserts pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.layer {
            Some(Overlay::Help) => {}
            Some(
                Overlay::Note(editor)
                | Overlay::Snooze(editor)
                | Overlay::Redirect(editor)
                | Overlay::Decline(editor)
                | Overlay::Passphrase { typed: editor, .. },
            ) => editor.insert(text.lines().next().unwrap_or_default()),
            None => {
                if let (Some(entry), Some(field)) =
                    (self.entries.get_mut(self.focus), self.question.fields.get(self.focus))
                {
                    entry.paste(field, text);
                }
            }
        }
    }

    /// Shows why the hub rejected the answer.
    pub(super) fn on_rejection(&mut self, reason: String) {
        self.sending = false;
        if !matches!(self.layer, Some(Overlay::Passphrase { .. })) {
            self.layer = None;
        }
        self.fault = Some(reason);
    }

    /// Asks for the passphrase, or for the right one.
    pub(super) fn wants_passphrase(&mut self, reason: String) {
        self.sending = false;
        if let Some(Overlay::Passphrase { typed, .. }) = &mut self.layer {
            *typed = Editor::default();
        } else if let Ok(answer) = self.answer() {
            self.layer = Some(Overlay::Passphrase { answer, typed: Editor::default() });
        }
        self.fault = Some(reason);
    }

    fn on_layer(&mut self, key: KeyEvent) -> KeyResult {
        let ticket = self.question.ticket.clone();
        let Some(layer) = &mut self.layer else { return KeyResult::Stay };
        if key.code == KeyCode::Esc || matches!(layer, Overlay::Help) {
            self.layer = None;
            self.fault = None;
            return KeyResult::Stay;
        }
        let (Overlay::Note(editor)
        | Overlay::Snooze(editor)
        | Overlay::Redirect(editor)
        | Overlay::Decline(editor)
        | Overlay::Passphrase { typed: editor, .. }) = layer
        else {
            return KeyResult::Stay;
        };
        if key.code != KeyCode::Enter {
            self.fault = None;
            editor.on(key);
            return KeyResult::Stay;
        }
        if self.sending {
            return KeyResult::Stay;
        }
        let text = editor.text().trim().to_owned();
        let words = Some(text.clone()).filter(|text| !text.is_empty());
        let request = match layer {
            Overlay::Note(_) => {
                self.note = words;
                self.layer = None;
                return KeyResult::Stay;
            }
            Overlay::Snooze(_) => {
                let minutes = words.as_deref().unwrap_or(DEFAULT_SNOOZE_MINUTES).parse();
                let Some(minutes) = minutes.ok().filter(|minutes| (1..=60).contains(minutes)) else {
                    self.fault = Some("a question can be snoozed for 1 to 60 minutes".to_owned());
                    return KeyResult::Stay;
                };
                Request::Snooze { ticket, minutes }
            }
            Overlay::Redirect(_) => {
                let Some(note) = words else {
                    self.fault = Some("describe in a sentence how it should be asked".to_owned());
                    return KeyResult::Stay;
                };
                Request::Redirect { ticket, note }
            }
            Overlay::Decline(_) => Request::Decline { ticket, note: words.or_else(|| self.note.clone()) },
            Overlay::Passphrase { answer, typed } => Request::Answer {
                ticket,
                answer: answer.clone(),
                note: self.note.clone(),
                passphrase: Some(Secret(typed.text().to_owned())),
            },
            Overlay::Help => return KeyResult::Stay,
        };
        self.sending = true;
        self.fault = None;
        KeyResult::Send(request)
    }

    /// Handles Enter: moves to the next field, or sends the answer.
    fn confirm(&mut self) -> KeyResult {
        if self.sending {
            return KeyResult::Stay;
        }
        if let Err(reason) = self.validate(self.focus) {
            self.fault = Some(reason);
            return KeyResult::Stay;
        }
        if self.focus + 1 < self.entries.len() {
            self.move_focus(1);
            return KeyResult::Stay;
        }
        let first_fault =
            (0..self.entries.len()).find_map(|at| self.validate(at).err().map(|reason| (at, reason)));
        if let Some((at, reason)) = first_fault {
            self.focus = at;
            self.fault = Some(reason);
            return KeyResult::Stay;
        }
        match self.answer() {
            Err(reason) => {
                self.fault = Some(reason);
                KeyResult::Stay
            }
            Ok(answer) if self.question.level == Level::High => {
                self.layer = Some(Overlay::Passphrase { answer, typed: Editor::default() });
                KeyResult::Stay
            }
            Ok(answer) => {
                self.sending = true;
                let (ticket, note) = (self.question.ticket.clone(), self.note.clone());
                KeyResult::Send(Request::Answer { ticket, answer, note, passphrase: None })
            }
        }
    }

    fn answer(&self) -> Result<Answer, String> {
        let mut given = Vec::new();
        for (entry, field) in self.entries.iter().zip(&self.question.fields) {
            if let Some(value) = entry.given(field)? {
                given.push((field.name.clone(), value));
            }
        }
        Answer(given).fit(&self.question.fields, MAX_ANSWER_BYTES).map_err(|error| error.to_string())
    }

    /// Checks the value of one field.
    fn validate(&self, at: usize) -> Result<(), String> {
        let (Some(entry), Some(field)) = (self.entries.get(at), self.question.fields.get(at)) else {
            return Ok(());
        };
        let answer =
            Answer(entry.given(field)?.map(|given| (field.name.clone(), given)).into_iter().collect());
        match answer.fit(std::slice::from_ref(field), MAX_ANSWER_BYTES) {
            Ok(_) => Ok(()),
            Err(adjutant_questions::Error::Answer { reason, .. }) => Err(reason),
            Err(other) => Err(other.to_string()),
        }
    }

    fn fill(&mut self, key: KeyEvent) -> bool {
        match (self.entries.get_mut(self.focus), self.question.fields.get(self.focus)) {
            (Some(entry), Some(field)) => entry.on(field, key),
            _ => false,
        }
    }

    fn focused<T>(&self, ask: impl FnOnce(&Entry, &adjutant_questions::Field) -> T) -> Option<T> {
        Some(ask(self.entries.get(self.focus)?, self.question.fields.get(self.focus)?))
    }

    fn move_focus(&mut self, by: usize) {
        self.fault = None;
        if !self.entries.is_empty() {
            self.focus = (self.focus + by) % self.entries.len();
        }
    }

    fn scroll_by(&mut self, key: KeyEvent) -> KeyResult {
        self.scroll = match key.code {
            KeyCode::PageDown => self.scroll.saturating_add(8),
            KeyCode::PageUp => self.scroll.saturating_sub(8),
            KeyCode::Down => self.scroll.saturating_add(1),
            KeyCode::Up => self.scroll.saturating_sub(1),
            _ => self.scroll,
        };
        KeyResult::Stay
    }
}
