//! A text input with a cursor.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Maximum bytes of the text; the limit of the domain is the same or lower.
const MAX_BYTES: usize = 64 * 1024;

/// A text with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editor {
    text: String,
    /// A character boundary of `text`.
    cursor: usize,
}

impl Editor {
    /// Makes an editor with `text` and the cursor at its end.
    pub(crate) fn with(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before and after the cursor.
    pub(crate) fn halves(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Inserts a text, up to the maximum length.
    pub(crate) fn insert(&mut self, typed: &str) {
        let free = MAX_BYTES.saturating_sub(self.text.len());
        let end = (0..=typed.len().min(free)).rev().find(|&end| typed.is_char_boundary(end)).unwrap_or(0);
        let typed = typed[..end].replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.cursor, &typed);
        self.cursor += typed.len();
    }

    /// Handles a key. Returns false if the editor ignores it.
    pub(crate) fn on(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('u') if control => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(character) if !control && !alt => self.insert(character.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                if let Some((at, _)) = self.text[..self.cursor].char_indices().next_back() {
                    self.text.remove(at);
                    self.cursor = at;
                }
            }
            KeyCode::Delete if self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            KeyCode::Left => {
                self.cursor = self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at);
            }
            KeyCode::Right => {
                self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
            }
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use proptest::prelude::{any, prop_assert, proptest};

    use super::Editor;

    proptest! {
        #[test]
        fn the_cursor_stays_between_characters(keys in proptest::collection::vec((0_u8..11, any::<char>()), 0..60)) {
            let mut editor = Editor::default();
            for (kind, character) in keys {
                let (code, modifiers) = match kind {
                    0 => (KeyCode::Backspace, KeyModifiers::NONE),
                    1 => (KeyCode::Delete, KeyModifiers::NONE),
                    2 => (KeyCode::Left, KeyModifiers::NONE),
                    3 => (KeyCode::Right, KeyModifiers::NONE),
                    4 => (KeyCode::Home, KeyModifiers::NONE),
                    5 => (KeyCode::Char('w'), KeyModifiers::CONTROL),
                    6 => (KeyCode::Char('u'), KeyModifiers::CONTROL),
                    _ => (KeyCode::Char(character), KeyModifiers::NONE),
                };
                editor.on(KeyEvent::new(code, modifiers));
                let (before, after) = editor.halves();
                prop_assert!(before.len() + after.len() == editor.text().len());
            }
        }
    }

    #[test]
    fn control_w_deletes_a_word() {
        let mut editor = Editor::with("one two\u{3000}three  ");
        editor.on(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(editor.text(), "one two\u{3000}");
        editor.on(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(editor.text(), "one ");
    }
}
