//! A form of an MCP server or questions of the model, while the user fills them in.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use crate::tui::theme::Theme;
use crate::tui::view::{filled, label};
use crate::tui::widgets::field_input::Entry;
use crate::tui::widgets::styled_text::styled;
use adjutant_questions::{Answer, Field};

/// Bytes of one text of an answer; the hub has the last word.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// What is filled in so far.
#[derive(Debug)]
pub(super) struct Form {
    fields: Vec<Field>,
    /// One for each field.
    entries: Vec<Entry>,
    /// The field that has the keyboard.
    focus: usize,
    /// Why it cannot be sent as it is.
    fault: Option<String>,
}

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Stay,
    /// Back to the line that is typed on; what is filled in stays.
    Leave,
    Send,
}

impl Form {
    pub(super) fn new(fields: Vec<Field>) -> Self {
        Self { entries: fields.iter().map(Entry::new).collect(), fields, focus: 0, fault: None }
    }

    /// Does what a key says. Enter goes on to the next field, and behind the last one it sends.
    pub(super) fn on(&mut self, key: KeyEvent) -> Step {
        let last = self.fields.len().saturating_sub(1);
        self.fault = None;
        match key.code {
            KeyCode::Esc => return Step::Leave,
            KeyCode::Enter if !key.modifiers.contains(KeyModifiers::ALT) && self.focus == last => {
                return Step::Send;
            }
            KeyCode::Tab | KeyCode::Enter => self.focus = if self.focus == last { 0 } else { self.focus + 1 },
            KeyCode::BackTab => self.focus = self.focus.checked_sub(1).unwrap_or(last),
            _ => {
                if let (Some(entry), Some(field)) =
                    (self.entries.get_mut(self.focus), self.fields.get(self.focus))
                {
                    entry.on(field, key);
                }
            }
        }
        Step::Stay
    }

    /// Puts in what was pasted.
    pub(super) fn paste(&mut self, text: &str) {
        if let (Some(entry), Some(field)) = (self.entries.get_mut(self.focus), self.fields.get(self.focus)) {
            entry.paste(field, text);
        }
    }

    /// Returns what is filled in if it fits; else the field that does not gets the keyboard, and a word on why.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        let mut answer = Answer::default();
        for (at, (entry, field)) in self.entries.iter().zip(&self.fields).enumerate() {
            match entry.given(field) {
                Ok(given) => answer.0.extend(given.map(|given| (field.name.clone(), given))),
                Err(reason) => {
                    self.focus = at;
                    self.fault = Some(reason);
                    return None;
                }
            }
        }
        match answer.fit(&self.fields, MAX_ANSWER_BYTES) {
            Ok(answer) => Some(answer),
            Err(adjutant_questions::Error::Answer { field, reason }) => {
                let at = self.fields.iter().position(|one| one.name == field);
                self.focus = at.unwrap_or(self.focus);
                self.fault = Some(reason);
                None
            }
            Err(other) => {
                self.fault = Some(other.to_string());
                None
            }
        }
    }

    /// Returns its lines, and the one that must be on the screen. `here` is whether it has the keyboard.
    pub(super) fn lines(&self, here: bool, room: usize, theme: Theme) -> (Vec<Line<'static>>, usize) {
        let (mut lines, mut cursor) = (Vec::new(), 0);
        for (at, (entry, field)) in self.entries.iter().zip(&self.fields).enumerate() {
            let focused = here && at == self.focus;
            lines.extend(label(field, self.fields.len() > 1, focused, theme, room));
            let (rows, row) = filled(entry, field, focused, theme, room);
            if focused {
                cursor = lines.len() + row;
            }
            lines.extend(rows);
        }
        if let Some(fault) = &self.fault {
            lines.extend(styled(&format!("! {fault}"), room, theme.alarm()));
            cursor = lines.len() - 1;
        }
        (lines, cursor)
    }
}
