//! The inputs of a form: one for each field of a question or of an approval.

use crossterm::event::KeyEvent;

use super::field_input::Entry;
use adjutant_questions::{Answer, Error, Field};

/// Maximum bytes of one text of an answer; the hub may have a lower limit.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The fields of a form with their current values.
#[derive(Clone, Debug)]
pub(crate) struct FieldInputs {
    pub fields: Vec<Field>,
    /// One for each field.
    pub entries: Vec<Entry>,
    /// The field with the keyboard focus.
    pub focus: usize,
    /// Why the form cannot be sent.
    pub fault: Option<String>,
}

impl FieldInputs {
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        Self { entries: fields.iter().map(Entry::new).collect(), fields, focus: 0, fault: None }
    }

    /// Returns the focused entry and its field.
    pub(crate) fn focused(&self) -> Option<(&Entry, &Field)> {
        self.entries.get(self.focus).zip(self.fields.get(self.focus))
    }

    /// Returns whether letters and digits are text for the focused field.
    pub(crate) fn takes_text(&self) -> bool {
        self.focused().is_some_and(|(entry, field)| entry.takes_text(field))
    }

    /// Returns whether the last field has the focus.
    pub(crate) fn is_at_end(&self) -> bool {
        self.focus + 1 >= self.entries.len()
    }

    /// Passes a key to the focused field. Returns false if the field ignores it.
    pub(crate) fn on(&mut self, key: KeyEvent) -> bool {
        self.fault = None;
        let focused = self.entries.get_mut(self.focus).zip(self.fields.get(self.focus));
        focused.is_some_and(|(entry, field)| entry.on(field, key))
    }

    /// Inserts pasted text into the focused field.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some((entry, field)) = self.entries.get_mut(self.focus).zip(self.fields.get(self.focus)) {
            entry.paste(field, text);
        }
    }

    /// Focuses the next field, or the previous one with `back`. The first field follows the last.
    pub(crate) fn move_focus(&mut self, back: bool) {
        self.fault = None;
        let count = self.entries.len().max(1);
        self.focus = (self.focus + if back { count - 1 } else { 1 }) % count;
    }

    /// Checks the value of the focused field. Returns whether it is valid, and shows why it is not.
    pub(crate) fn validate_focused(&mut self) -> bool {
        self.fault = self.validate(self.focus).err();
        self.fault.is_none()
    }

    /// Returns the answer if it is valid. Else focuses the first invalid field, and shows why.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let mut answer = Answer::default();
        for at in 0..self.fields.len() {
            match self.validate(at) {
                Ok(valid) => answer.0.extend(valid.0),
                Err(reason) => {
                    self.focus = at;
                    self.fault = Some(reason);
                    return None;
                }
            }
        }
        Some(answer)
    }

    /// Returns the answer to one field, or why it is invalid.
    fn validate(&self, at: usize) -> Result<Answer, String> {
        let (Some(entry), Some(field)) = (self.entries.get(at), self.fields.get(at)) else {
            return Ok(Answer::default());
        };
        let given = entry.given(field)?.map(|given| (field.name.clone(), given));
        let answer = Answer(given.into_iter().collect());
        answer.fit(std::slice::from_ref(field), MAX_ANSWER_BYTES).map_err(|error| match error {
            Error::Answer { reason, .. } => reason,
            other => other.to_string(),
        })
    }
}
