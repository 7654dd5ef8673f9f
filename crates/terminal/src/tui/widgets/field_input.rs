//! The input of one field of a question.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::widgets::text_input::Editor;
use adjutant_questions::{Choice, Field, FieldValue, Input};

/// The current value of a field. Nothing is chosen at first, so that a quick Enter is not an answer.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Choice(Chosen),
    /// A text, a number or a date, which is parsed when it is sent.
    Typed(Editor),
    YesNo(Option<bool>),
}

/// The state of a choice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// The option with the cursor; after the last one, the free text.
    pub cursor: Option<usize>,
    pub marked: BTreeSet<usize>,
    /// The free text, if the field allows it.
    pub other: Option<Editor>,
}

impl Entry {
    /// Makes an empty input.
    pub(crate) fn new(field: &Field) -> Self {
        match &field.input {
            Input::Choice { other, .. } => {
                Self::Choice(Chosen { other: other.then(Editor::default), ..Chosen::default() })
            }
            Input::Text { .. } | Input::Number { .. } | Input::Date { .. } => Self::Typed(Editor::default()),
            Input::YesNo => Self::YesNo(None),
        }
    }

    /// Returns whether letters and digits are text.
    pub(crate) fn takes_text(&self, field: &Field) -> bool {
        match (self, &field.input) {
            (Self::Typed(_), _) => true,
            (Self::Choice(chosen), Input::Choice { options, .. }) => chosen.writes(options).is_some(),
            _ => false,
        }
    }

    /// Handles a key. Returns false if the input ignores it.
    pub(crate) fn on(&mut self, field: &Field, key: KeyEvent) -> bool {
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match (self, &field.input) {
            (Self::Choice(chosen), Input::Choice { options, max, .. }) => chosen.on(options, *max, key),
            (Self::Typed(editor), Input::Text { multiline, .. }) => {
                let new_line = key.code == KeyCode::Char('j') && !plain
                    || key.code == KeyCode::Enter && key.modifiers.contains(KeyModifiers::ALT);
                if new_line && *multiline {
                    editor.insert("\n");
                    return true;
                }
                editor.on(key)
            }
            (Self::Typed(editor), _) => editor.on(key),
            (Self::YesNo(given), _) => {
                *given = match key.code {
                    KeyCode::Char('y' | 'Y' | '1') if plain => Some(true),
                    KeyCode::Char('n' | 'N' | '2') if plain => Some(false),
                    KeyCode::Up | KeyCode::Left => Some(true),
                    KeyCode::Down | KeyCode::Right => Some(false),
                    _ => return false,
                };
                true
            }
            (Self::Choice(_), _) => false,
        }
    }

    /// Inserts pasted text.
    pub(crate) fn paste(&mut self, field: &Field, text: &str) {
        let one_line = || text.split(['\n', '\r']).next().unwrap_or_default();
        match (self, &field.input) {
            (Self::Typed(editor), Input::Text { multiline: true, .. }) => editor.insert(text),
            (Self::Typed(editor), _) => editor.insert(one_line()),
            (Self::Choice(chosen), Input::Choice { options, .. }) => {
                if let Some(editor) = chosen.writes_mut(options) {
                    editor.insert(one_line());
                }
            }
            _ => {}
        }
    }

    /// Returns the value to send; `None` if it is empty. The domain validates it.
    pub(crate) fn given(&self, field: &Field) -> Result<Option<FieldValue>, String> {
        let typed = |editor: &Editor| Some(editor.text().trim().to_owned()).filter(|text| !text.is_empty());
        Ok(match (self, &field.input) {
            (Self::Choice(chosen), Input::Choice { options, .. }) => chosen.given(options),
            (Self::Typed(editor), Input::Text { .. }) => {
                Some(editor.text().to_owned()).filter(|text| !text.is_empty()).map(FieldValue::Text)
            }
            (Self::Typed(editor), Input::Number { .. }) => match typed(editor) {
                Some(text) => {
                    let number = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
                    Some(FieldValue::Number(number))
                }
                None => None,
            },
            (Self::Typed(editor), _) => typed(editor).map(FieldValue::Date),
            (Self::YesNo(given), _) => given.map(FieldValue::YesNo),
            (Self::Choice(_), _) => None,
        })
    }
}

impl Chosen {
    fn on(&mut self, options: &[Choice], max: usize, key: KeyEvent) -> bool {
        let last = options.len() + usize::from(self.other.is_some());
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let moved = match key.code {
            KeyCode::Up => Some(self.cursor.map_or(last.saturating_sub(1), |at| at.saturating_sub(1))),
            KeyCode::Down => Some(self.cursor.map_or(0, |at| (at + 1).min(last.saturating_sub(1)))),
            _ => None,
        };
        if let Some(to) = moved.filter(|_| last > 0) {
            self.cursor = Some(to);
            if max == 1 {
                self.marked = if to < options.len() { [to].into() } else { BTreeSet::new() };
            }
            return true;
        }
        if let Some(editor) = self.writes_mut(options) {
            return editor.on(key);
        }
        let target = match key.code {
            KeyCode::Char(digit @ '1'..='9') if plain => {
                digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).map(|digit| digit - 1)
            }
            KeyCode::Char(' ') if plain => self.cursor,
            _ => return false,
        };
        let Some(target) = target.filter(|target| *target < last) else { return false };
        self.cursor = Some(target);
        if target == options.len() {
            self.marked.clear();
        } else if max == 1 {
            self.marked = [target].into();
        } else if !self.marked.remove(&target) {
            self.marked.insert(target);
        }
        true
    }

    /// Returns the free text, if the cursor is in it.
    fn writes(&self, options: &[Choice]) -> Option<&Editor> {
        self.other.as_ref().filter(|_| self.cursor == Some(options.len()))
    }

    fn writes_mut(&mut self, options: &[Choice]) -> Option<&mut Editor> {
        let has_cursor = self.cursor == Some(options.len());
        self.other.as_mut().filter(|_| has_cursor)
    }

    fn given(&self, options: &[Choice]) -> Option<FieldValue> {
        let other = self.writes(options).map(|editor| editor.text().trim()).filter(|text| !text.is_empty());
        if let Some(text) = other {
            return Some(FieldValue::Other(text.to_owned()));
        }
        let values: Vec<_> =
            self.marked.iter().filter_map(|at| options.get(*at)).map(|option| option.value.clone()).collect();
        (!values.is_empty()).then_some(FieldValue::Choices(values))
    }
}
