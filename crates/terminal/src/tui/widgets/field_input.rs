//! The input of one field of a question.

use std::collections::BTreeSet;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::widgets::text_input::Editor;
use adjutant_questions::{Choice, Field, FieldValue, Input};

/// What is filled in so far. Nothing is chosen from the start: silence and a quick Enter are no answers.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Choice(Chosen),
    /// A text, a number or a date: what is typed, read when it is sent.
    Typed(Editor),
    YesNo(Option<bool>),
}

/// A choice in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// Where the cursor is: an option, or behind the last one the person's own words.
    pub cursor: Option<usize>,
    pub marked: BTreeSet<usize>,
    /// The person's own words, where the field allows them.
    pub other: Option<Editor>,
}

impl Entry {
    /// Nothing filled in yet.
    pub(crate) fn new(field: &Field) -> Self {
        match &field.input {
            Input::Choice { other, .. } => {
                Self::Choice(Chosen { other: other.then(Editor::default), ..Chosen::default() })
            }
            Input::Text { .. } | Input::Number { .. } | Input::Date { .. } => Self::Typed(Editor::default()),
            Input::YesNo => Self::YesNo(None),
        }
    }

    /// Whether letters and digits are text here.
    pub(crate) fn takes_text(&self, field: &Field) -> bool {
        match (self, &field.input) {
            (Self::Typed(_), _) => true,
            (Self::Choice(chosen), Input::Choice { options, .. }) => chosen.writes(options).is_some(),
            _ => false,
        }
    }

    /// Does what the key says; false when it means nothing here.
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

    /// Puts in what was pasted.
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

    /// Returns the value as it would be sent, `None` when nothing is filled in. Whether it fits is the room's word.
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

    /// The person's own words, while the cursor is there.
    fn writes(&self, options: &[Choice]) -> Option<&Editor> {
        self.other.as_ref().filter(|_| self.cursor == Some(options.len()))
    }

    fn writes_mut(&mut self, options: &[Choice]) -> Option<&mut Editor> {
        let there = self.cursor == Some(options.len());
        self.other.as_mut().filter(|_| there)
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
