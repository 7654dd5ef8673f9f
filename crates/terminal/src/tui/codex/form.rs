//! A form of an MCP server or questions of the model, while the user fills them in.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use crate::tui::theme::Theme;
use crate::tui::view::{filled, label};
use crate::tui::widgets::field_input::Entry;
use crate::tui::widgets::styled_text::styled;
use adjutant_questions::{Answer, Field};

/// Maximum bytes of one text of an answer; the hub may have a lower limit.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A form with its current values.
#[derive(Debug)]
pub(super) struct Form {
    fields: Vec<Field>,
    /// One for each field.
    entries: Vec<Entry>,
    /// The field with the keyboard focus.
    focus: usize,
    /// Why the form cannot be sent.
    fault: Option<String>,
}

/// The result of a key.
#[derive(Debug, PartialEq)]
pub(super) enum KeyResult {
    Stay,
    /// Returns to the input box. The values stay.
    Leave,
    Send,
}

impl Form {
    pub(super) fn new(fields: Vec<Field>) -> Self {
        Self { entries: fields.iter().map(Entry::new).collect(), fields, focus: 0, fault: None }
    }

    /// Handles a key. Enter moves to the next field, and sends from the last one.
    pub(super) fn on(&mut self, key: KeyEvent) -> KeyResult {
        let last = self.fields.len().saturating_sub(1);
        self.fault = None;
        match key.code {
            KeyCode::Esc => return KeyResult::Leave,
            KeyCode::Enter if !key.modifiers.contains(KeyModifiers::ALT) && self.focus == last => {
                return KeyResult::Send;
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
        KeyResult::Stay
    }

    /// Inserts pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        if let (Some(entry), Some(field)) = (self.entries.get_mut(self.focus), self.fields.get(self.focus)) {
            entry.paste(field, text);
        }
    }

    /// Returns the answer if it is valid. Else focuses the first invalid field, and shows why.
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

    /// Returns the lines, and the one that must be on the screen. `focused` is whether the form has the keyboard focus.
    pub(super) fn lines(&self, has_focus: bool, columns: usize, theme: Theme) -> (Vec<Line<'static>>, usize) {
        let (mut lines, mut cursor) = (Vec::new(), 0);
        for (at, (entry, field)) in self.entries.iter().zip(&self.fields).enumerate() {
            let focused = has_focus && at == self.focus;
            lines.extend(label(field, self.fields.len() > 1, focused, theme, columns));
            let (rows, row) = filled(entry, field, focused, theme, columns);
            if focused {
                cursor = lines.len() + row;
            }
            lines.extend(rows);
        }
        if let Some(fault) = &self.fault {
            lines.extend(styled(&format!("! {fault}"), columns, theme.alarm()));
            cursor = lines.len() - 1;
        }
        (lines, cursor)
    }
}
