//! The form of an open question: its values, its focus and its keys.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::answer_file;
use super::read_rows::ReadRows;
use super::widgets::field_input::Entry;
use super::widgets::field_inputs::FieldInputs;
use super::widgets::text_input::Editor;
use crate::socket::control::questions::{ClosedElsewhere, Request, Secret};
use adjutant_questions::{Answer, Input, Level, MAX_FILES, NewFile, Question, recommended};

/// Time after opening in which keys choose and send nothing, because they may have been meant for the previous screen. Text
/// input is accepted.
pub(super) const COOLDOWN: Duration = Duration::from_millis(400);

/// Default minutes of a snooze.
const DEFAULT_SNOOZE_MINUTES: &str = "10";

/// An open question.
#[derive(Clone, Debug)]
pub(super) struct QuestionForm {
    pub(super) question: Question,
    pub(super) inputs: FieldInputs,
    pub(super) note: Option<String>,
    /// Files that go with the answer.
    pub(super) files: Vec<NewFile>,
    pub(super) layer: Option<Overlay>,
    /// Lines of the message above the screen.
    pub(super) scroll: usize,
    pub(super) rows: ReadRows,
    /// Sent, and the hub has not answered yet.
    pub(super) sending: bool,
    /// It was decided without this terminal.
    pub(super) closed: Option<ClosedElsewhere>,
    /// Shown next to the list, without the keyboard focus.
    pub(super) is_preview: bool,
    opened: Instant,
}

/// An input over the question, with the keyboard focus. Escape closes it.
#[derive(Clone, Debug)]
pub(super) enum Overlay {
    Note(Editor),
    /// The path of a file.
    File(Editor),
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

/// The result of a key.
#[derive(Debug, PartialEq)]
pub(super) enum KeyResult {
    Stay,
    /// Returns to the list.
    Close,
    Send(Request),
}

impl QuestionForm {
    pub(super) fn open(question: Question, now: Instant) -> Self {
        Self {
            inputs: FieldInputs::new(question.fields.clone()),
            question,
            note: None,
            files: Vec::new(),
            layer: None,
            scroll: 0,
            rows: ReadRows::default(),
            sending: false,
            closed: None,
            opened: now,
            is_preview: false,
        }
    }

    /// Makes the form of a question that is shown next to the list and takes no keys.
    pub(super) fn preview(question: Question, now: Instant) -> Self {
        Self { is_preview: true, ..Self::open(question, now) }
    }

    /// Opens the form again with its values.
    pub(super) fn reopen(self, now: Instant) -> Self {
        Self { opened: now, ..self }
    }

    /// Returns whether keys that choose or send are ignored yet.
    pub(super) fn is_cooling_down(&self, now: Instant) -> bool {
        !self.is_preview && now.saturating_duration_since(self.opened) < COOLDOWN
    }

    /// Returns whether letters and digits are text for the focused element.
    pub(super) fn takes_text(&self) -> bool {
        match &self.layer {
            Some(Overlay::Help) => false,
            Some(_) => true,
            None => self.inputs.takes_text(),
        }
    }

    /// Updates the question. The values stay. A further request for it has to be seen first.
    pub(super) fn refresh(&mut self, question: &Question, now: Instant) {
        if question.fields == self.question.fields {
            if question.deliveries != self.question.deliveries {
                self.opened = now;
            }
            if question.message != self.question.message {
                (self.scroll, self.rows) = (0, ReadRows::default());
            }
            self.question.clone_from(question);
            self.closed = None;
        }
    }

    /// Handles a key. `no_passphrase` says that the answer takes a passphrase and that none is set.
    pub(super) fn on(&mut self, key: KeyEvent, no_passphrase: Option<String>, now: Instant) -> KeyResult {
        if self.closed.is_some() {
            // A closed question cannot be answered, but the typed text stays readable until the user leaves.
            return match key.code {
                KeyCode::Esc | KeyCode::Enter if !self.is_cooling_down(now) => KeyResult::Close,
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
            KeyCode::Char('f') if control => self.open_file(),
            KeyCode::Char('s') if control => self.layer = Some(Overlay::Snooze(Editor::default())),
            KeyCode::Char('r') if control => self.layer = Some(Overlay::Redirect(Editor::default())),
            KeyCode::Char('d') if control => self.layer = Some(Overlay::Decline(Editor::default())),
            KeyCode::F(1) => self.layer = Some(Overlay::Help),
            KeyCode::Char('?') if !self.takes_text() => self.layer = Some(Overlay::Help),
            KeyCode::Tab => self.inputs.move_focus(false),
            KeyCode::BackTab => self.inputs.move_focus(true),
            KeyCode::PageUp | KeyCode::PageDown => return self.scroll_by(key),
            KeyCode::Enter if !key.modifiers.contains(KeyModifiers::ALT) => {
                return if self.is_cooling_down(now) { KeyResult::Stay } else { self.confirm(no_passphrase) };
            }
            KeyCode::Char('r') if self.recommended().is_some() => {
                return if self.is_cooling_down(now) {
                    KeyResult::Stay
                } else {
                    self.answer_as_recommended(no_passphrase)
                };
            }
            _ => {
                if self.is_cooling_down(now) && !self.takes_text() {
                    return KeyResult::Stay;
                }
                if !self.inputs.on(key) && !self.takes_text() {
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
                | Overlay::File(editor)
                | Overlay::Snooze(editor)
                | Overlay::Redirect(editor)
                | Overlay::Decline(editor)
                | Overlay::Passphrase { typed: editor, .. },
            ) => editor.insert(text.lines().next().unwrap_or_default()),
            None => self.inputs.paste(text),
        }
    }

    /// Shows why the hub rejected the answer.
    pub(super) fn on_rejection(&mut self, reason: String) {
        self.sending = false;
        if !matches!(self.layer, Some(Overlay::Passphrase { .. })) {
            self.layer = None;
        }
        self.inputs.fault = Some(reason);
    }

    /// Asks for the passphrase, or for the right one.
    pub(super) fn wants_passphrase(&mut self, reason: String) {
        self.sending = false;
        if let Some(Overlay::Passphrase { typed, .. }) = &mut self.layer {
            *typed = Editor::default();
        } else if let Some(answer) = self.inputs.answer() {
            self.layer = Some(Overlay::Passphrase { answer, typed: Editor::default() });
        }
        self.inputs.fault = Some(reason);
    }

    fn on_layer(&mut self, key: KeyEvent) -> KeyResult {
        let ticket = self.question.ticket.clone();
        let Some(layer) = &mut self.layer else { return KeyResult::Stay };
        if key.code == KeyCode::Esc || matches!(layer, Overlay::Help) {
            self.layer = None;
            self.inputs.fault = None;
            return KeyResult::Stay;
        }
        let (Overlay::Note(editor)
        | Overlay::File(editor)
        | Overlay::Snooze(editor)
        | Overlay::Redirect(editor)
        | Overlay::Decline(editor)
        | Overlay::Passphrase { typed: editor, .. }) = layer
        else {
            return KeyResult::Stay;
        };
        if key.code != KeyCode::Enter {
            self.inputs.fault = None;
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
            Overlay::File(_) => {
                match words.as_deref().map(answer_file::read) {
                    Some(Ok(file)) => self.files.push(file),
                    Some(Err(reason)) => {
                        self.inputs.fault = Some(reason);
                        return KeyResult::Stay;
                    }
                    // Without a path the last file goes.
                    None => drop(self.files.pop()),
                }
                self.layer = None;
                return KeyResult::Stay;
            }
            Overlay::Snooze(_) => {
                let minutes = words.as_deref().unwrap_or(DEFAULT_SNOOZE_MINUTES).parse();
                let Some(minutes) = minutes.ok().filter(|minutes| (1..=60).contains(minutes)) else {
                    self.inputs.fault = Some("a question can be snoozed for 1 to 60 minutes".to_owned());
                    return KeyResult::Stay;
                };
                Request::Snooze { ticket, minutes }
            }
            Overlay::Redirect(_) => {
                let Some(note) = words else {
                    self.inputs.fault = Some("describe in a sentence how it should be asked".to_owned());
                    return KeyResult::Stay;
                };
                Request::Redirect { ticket, note }
            }
            Overlay::Decline(_) => Request::Decline { ticket, note: words.or_else(|| self.note.clone()) },
            Overlay::Passphrase { answer, typed } => Request::Answer {
                ticket,
                shown: self.question.deliveries,
                answer: answer.clone(),
                note: self.note.clone(),
                passphrase: Some(Secret(typed.text().to_owned())),
                files: self.files.clone(),
            },
            Overlay::Help => return KeyResult::Stay,
        };
        self.sending = true;
        self.inputs.fault = None;
        KeyResult::Send(request)
    }

    /// Handles Enter: moves to the next field, or sends the answer.
    fn confirm(&mut self, no_passphrase: Option<String>) -> KeyResult {
        if self.sending {
            return KeyResult::Stay;
        }
        if !self.inputs.validate_focused() {
            return KeyResult::Stay;
        }
        if !self.inputs.is_at_end() {
            self.inputs.move_focus(false);
            return KeyResult::Stay;
        }
        let Some(answer) = self.inputs.answer() else { return KeyResult::Stay };
        if !self.question.denials.is_empty() && !self.question.is_denied_by(&answer) && !self.rows.is_read() {
            self.inputs.fault = Some("read the request to its end before you allow it: PgDn".to_owned());
            return KeyResult::Stay;
        }
        if no_passphrase.is_some() {
            self.inputs.fault = no_passphrase;
            return KeyResult::Stay;
        }
        if self.question.level == Level::High {
            self.layer = Some(Overlay::Passphrase { answer, typed: Editor::default() });
            return KeyResult::Stay;
        }
        self.sending = true;
        let (ticket, note) = (self.question.ticket.clone(), self.note.clone());
        let (shown, files) = (self.question.deliveries, self.files.clone());
        KeyResult::Send(Request::Answer { ticket, shown, answer, note, passphrase: None, files })
    }

    /// Returns the digit of the option that the agent recommends, if the question is a choice of one option and letters are
    /// not text now.
    pub(super) fn recommended(&self) -> Option<char> {
        let ([_], Some((Entry::Choice(_), field))) = (&self.question.fields[..], self.inputs.focused())
        else {
            return None;
        };
        let Input::Choice { options, max: 1, .. } = &field.input else { return None };
        let at = options.iter().position(|option| recommended(&option.label).is_some())?;
        char::from_digit(u32::try_from(at + 1).ok()?, 10).filter(|_| !self.takes_text())
    }

    /// Chooses the recommended option, and sends the answer.
    fn answer_as_recommended(&mut self, no_passphrase: Option<String>) -> KeyResult {
        if let Some(digit) = self.recommended() {
            self.inputs.on(KeyEvent::new(KeyCode::Char(digit), KeyModifiers::NONE));
        }
        self.confirm(no_passphrase)
    }

    /// Asks for the path of a file, unless the answer takes none more.
    fn open_file(&mut self) {
        self.inputs.fault = match self.files.len() {
            _ if !self.question.denials.is_empty() => Some("an approval takes no files".to_owned()),
            MAX_FILES.. => Some(format!("an answer takes at most {MAX_FILES} files")),
            _ => {
                self.layer = Some(Overlay::File(Editor::default()));
                None
            }
        };
    }

    fn scroll_by(&mut self, key: KeyEvent) -> KeyResult {
        self.scroll = match key.code {
            KeyCode::PageDown => self.rows.down(self.scroll, self.rows.screen()),
            KeyCode::PageUp => self.scroll.saturating_sub(self.rows.screen()),
            KeyCode::Down => self.rows.down(self.scroll, 1),
            KeyCode::Up => self.scroll.saturating_sub(1),
            _ => self.scroll,
        };
        KeyResult::Stay
    }
}
