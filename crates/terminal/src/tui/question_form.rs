//! The form of an open question: its values, its focus and its keys.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::widgets::field_input::Entry;
use super::widgets::text_input::Editor;
use crate::socket::control::questions::{QuestionView, Request, Secret};
use adjutant_questions::{Answer, Channel, DecidedBy, Level, OutcomeKind};

/// For so long after a question opened, keys choose and send nothing: they may have been meant for what was there
/// before. What is typed into a text counts.
pub(super) const COOLDOWN: Duration = Duration::from_millis(400);

/// Minutes of a snooze, unless others are typed.
const SNOOZE: &str = "10";

/// Bytes of one text of an answer; the hub has the last word.
const LARGEST: usize = 64 * 1024;

/// An open question.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    pub(super) question: QuestionView,
    /// One for each field.
    pub(super) entries: Vec<Entry>,
    /// The field that has the keyboard.
    pub(super) focus: usize,
    pub(super) note: Option<String>,
    pub(super) layer: Option<Overlay>,
    /// Lines of the message that are scrolled away.
    pub(super) scroll: u16,
    /// Why it cannot be sent as it is.
    pub(super) fault: Option<String>,
    /// Sent, and the hub has not answered yet.
    pub(super) sending: bool,
    /// It was decided without this terminal.
    pub(super) gone: Option<ClosedElsewhere>,
    opened: Instant,
}

/// What lies over the question and has the keyboard; Escape takes it away.
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

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Stay,
    /// Back to the list.
    Close,
    Send(Request),
}

impl Sheet {
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
            gone: None,
            opened: now,
        }
    }

    /// Opens it again as it was filled in.
    pub(super) fn again(self, now: Instant) -> Self {
        Self { opened: now, ..self }
    }

    /// Whether keys that choose or send do not count yet.
    pub(super) fn cooling(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.opened) < COOLDOWN
    }

    /// Whether letters and digits are text for what has the keyboard.
    pub(super) fn takes_text(&self) -> bool {
        match &self.layer {
            Some(Overlay::Help) => false,
            Some(_) => true,
            None => self.focused(Entry::takes_text).unwrap_or(false),
        }
    }

    /// Takes the question over as the hub tells it now; what is filled in stays.
    pub(super) fn refresh(&mut self, question: &QuestionView) {
        if question.fields == self.question.fields {
            self.question.clone_from(question);
            self.gone = None;
        }
    }

    /// Does what a key says.
    pub(super) fn on(&mut self, key: KeyEvent, now: Instant) -> Step {
        if self.gone.is_some() {
            // Nothing of it can be sent any more; what was typed stays readable until the person leaves.
            return match key.code {
                KeyCode::Esc | KeyCode::Enter if !self.cooling(now) => Step::Close,
                _ => self.scrolled(key),
            };
        }
        if self.layer.is_some() {
            return self.on_layer(key);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Step::Close,
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
            KeyCode::PageUp | KeyCode::PageDown => return self.scrolled(key),
            KeyCode::Enter if !key.modifiers.contains(KeyModifiers::ALT) => {
                return if self.cooling(now) { Step::Stay } else { self.confirm() };
            }
            _ => {
                if self.cooling(now) && !self.takes_text() {
                    return Step::Stay;
                }
                self.fault = None;
                if !self.fill(key) && !self.takes_text() {
                    return self.scrolled(key);
                }
            }
        }
        Step::Stay
    }

    /// Takes in what was pasted.
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

    /// The hub refused the answer: back to what the person can change.
    pub(super) fn refused(&mut self, reason: String) {
        self.sending = false;
        if !matches!(self.layer, Some(Overlay::Passphrase { .. })) {
            self.layer = None;
        }
        self.fault = Some(reason);
    }

    /// The hub wants the passphrase, or another one.
    pub(super) fn wants_passphrase(&mut self, reason: String) {
        self.sending = false;
        if let Some(Overlay::Passphrase { typed, .. }) = &mut self.layer {
            *typed = Editor::default();
        } else if let Ok(answer) = self.answer() {
            self.layer = Some(Overlay::Passphrase { answer, typed: Editor::default() });
        }
        self.fault = Some(reason);
    }

    fn on_layer(&mut self, key: KeyEvent) -> Step {
        let ticket = self.question.ticket.clone();
        let Some(layer) = &mut self.layer else { return Step::Stay };
        if key.code == KeyCode::Esc || matches!(layer, Overlay::Help) {
            self.layer = None;
            self.fault = None;
            return Step::Stay;
        }
        let (Overlay::Note(editor)
        | Overlay::Snooze(editor)
        | Overlay::Redirect(editor)
        | Overlay::Decline(editor)
        | Overlay::Passphrase { typed: editor, .. }) = layer
        else {
            return Step::Stay;
        };
        if key.code != KeyCode::Enter {
            self.fault = None;
            editor.on(key);
            return Step::Stay;
        }
        if self.sending {
            return Step::Stay;
        }
        let text = editor.text().trim().to_owned();
        let words = Some(text.clone()).filter(|text| !text.is_empty());
        let act = match layer {
            Overlay::Note(_) => {
                self.note = words;
                self.layer = None;
                return Step::Stay;
            }
            Overlay::Snooze(_) => {
                let minutes = words.as_deref().unwrap_or(SNOOZE).parse();
                let Some(minutes) = minutes.ok().filter(|minutes| (1..=60).contains(minutes)) else {
                    self.fault = Some("a question can be snoozed for 1 to 60 minutes".to_owned());
                    return Step::Stay;
                };
                Request::Snooze { ticket, minutes }
            }
            Overlay::Redirect(_) => {
                let Some(note) = words else {
                    self.fault = Some("say in a sentence how it should be asked".to_owned());
                    return Step::Stay;
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
            Overlay::Help => return Step::Stay,
        };
        self.sending = true;
        self.fault = None;
        Step::Send(act)
    }

    /// Enter: on to the next field, or off with the answer.
    fn confirm(&mut self) -> Step {
        if self.sending {
            return Step::Stay;
        }
        if let Err(reason) = self.entry_fits(self.focus) {
            self.fault = Some(reason);
            return Step::Stay;
        }
        if self.focus + 1 < self.entries.len() {
            self.move_focus(1);
            return Step::Stay;
        }
        let first_fault =
            (0..self.entries.len()).find_map(|at| self.entry_fits(at).err().map(|reason| (at, reason)));
        if let Some((at, reason)) = first_fault {
            self.focus = at;
            self.fault = Some(reason);
            return Step::Stay;
        }
        match self.answer() {
            Err(reason) => {
                self.fault = Some(reason);
                Step::Stay
            }
            Ok(answer) if self.question.level == Level::High => {
                self.layer = Some(Overlay::Passphrase { answer, typed: Editor::default() });
                Step::Stay
            }
            Ok(answer) => {
                self.sending = true;
                let (ticket, note) = (self.question.ticket.clone(), self.note.clone());
                Step::Send(Request::Answer { ticket, answer, note, passphrase: None })
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
        Answer(given).fit(&self.question.fields, LARGEST).map_err(|error| error.to_string())
    }

    /// Says why one field cannot stay as it is.
    fn entry_fits(&self, at: usize) -> Result<(), String> {
        let (Some(entry), Some(field)) = (self.entries.get(at), self.question.fields.get(at)) else {
            return Ok(());
        };
        let answer =
            Answer(entry.given(field)?.map(|given| (field.name.clone(), given)).into_iter().collect());
        match answer.fit(std::slice::from_ref(field), LARGEST) {
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

    fn scrolled(&mut self, key: KeyEvent) -> Step {
        self.scroll = match key.code {
            KeyCode::PageDown => self.scroll.saturating_add(8),
            KeyCode::PageUp => self.scroll.saturating_sub(8),
            KeyCode::Down => self.scroll.saturating_add(1),
            KeyCode::Up => self.scroll.saturating_sub(1),
            _ => self.scroll,
        };
        Step::Stay
    }
}
