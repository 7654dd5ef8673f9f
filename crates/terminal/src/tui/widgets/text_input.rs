//! A text input with a cursor and undo: the text area of ratatui, with the keys of this program.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea};

/// Maximum bytes of the text; the limit of the domain is the same or lower.
const MAX_BYTES: usize = 64 * 1024;

/// A text with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editor {
    area: TextArea<'static>,
    /// The lines of the area as one text, kept because views read it for each frame.
    text: String,
}

impl Editor {
    /// Makes an editor with `text` and the cursor at its end.
    pub(crate) fn with(text: &str) -> Self {
        let mut area = TextArea::from(text.split('\n'));
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Self { area, text: text.to_owned() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before and after the cursor.
    pub(crate) fn halves(&self) -> (&str, &str) {
        let cursor = self.area.cursor();
        let lines = self.area.lines();
        let before: usize = lines.iter().take(cursor.0).map(|line| line.len() + 1).sum();
        let line = lines.get(cursor.0).map_or("", String::as_str);
        let within = line.char_indices().nth(cursor.1).map_or(line.len(), |(at, _)| at);
        self.text.split_at(before + within)
    }

    /// Inserts a text, up to the maximum length.
    pub(crate) fn insert(&mut self, typed: &str) {
        let free = MAX_BYTES.saturating_sub(self.text.len());
        let end = (0..=typed.len().min(free)).rev().find(|&end| typed.is_char_boundary(end)).unwrap_or(0);
        let typed = typed[..end].replace("\r\n", "\n").replace('\r', "\n");
        self.area.insert_str(typed);
        self.sync();
    }

    /// Handles a key. Returns false if the editor ignores it. Up and Down move between lines; a text of one line ignores
    /// them.
    pub(crate) fn on(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let by_word = control || alt;
        match key.code {
            KeyCode::Char('u') if control => {
                self.area.delete_line_by_head();
            }
            KeyCode::Char('k') if control => {
                self.area.delete_line_by_end();
            }
            KeyCode::Char('w') if control => {
                self.area.delete_word();
            }
            KeyCode::Char('d') if alt => {
                self.area.delete_next_word();
            }
            KeyCode::Char('_') if control => {
                self.area.undo();
            }
            // Ctrl-Y approves in the view of Codex, so that no text has it as redo.
            KeyCode::Char('_') if alt => {
                self.area.redo();
            }
            KeyCode::Char('a') if control => self.area.move_cursor(CursorMove::Head),
            KeyCode::Char('e') if control => self.area.move_cursor(CursorMove::End),
            KeyCode::Char('b') if alt => self.area.move_cursor(CursorMove::WordBack),
            KeyCode::Char('f') if alt => self.area.move_cursor(CursorMove::WordForward),
            KeyCode::Char(character) if !control && !alt => {
                self.insert(character.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Backspace if by_word => {
                self.area.delete_word();
            }
            KeyCode::Delete if by_word => {
                self.area.delete_next_word();
            }
            KeyCode::Backspace => {
                self.area.delete_char();
            }
            KeyCode::Delete => {
                self.area.delete_next_char();
            }
            KeyCode::Left if by_word => self.area.move_cursor(CursorMove::WordBack),
            KeyCode::Right if by_word => self.area.move_cursor(CursorMove::WordForward),
            KeyCode::Left => self.area.move_cursor(CursorMove::Back),
            KeyCode::Right => self.area.move_cursor(CursorMove::Forward),
            KeyCode::Up if self.area.lines().len() > 1 => self.area.move_cursor(CursorMove::Up),
            KeyCode::Down if self.area.lines().len() > 1 => self.area.move_cursor(CursorMove::Down),
            KeyCode::Home => self.area.move_cursor(CursorMove::Head),
            KeyCode::End => self.area.move_cursor(CursorMove::End),
            _ => return false,
        }
        self.sync();
        true
    }

    fn sync(&mut self) {
        self.text = self.area.lines().join("\n");
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use proptest::prelude::{any, prop_assert, proptest};

    use super::Editor;

    const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

    proptest! {
        #[test]
        fn the_cursor_stays_between_characters(keys in proptest::collection::vec((0_u8..16, any::<char>()), 0..60)) {
            let mut editor = Editor::default();
            for (kind, character) in keys {
                let (code, modifiers) = match kind {
                    0 => (KeyCode::Backspace, KeyModifiers::NONE),
                    1 => (KeyCode::Delete, KeyModifiers::NONE),
                    2 => (KeyCode::Left, KeyModifiers::NONE),
                    3 => (KeyCode::Right, KeyModifiers::NONE),
                    4 => (KeyCode::Home, KeyModifiers::NONE),
                    5 => (KeyCode::Char('w'), CONTROL),
                    6 => (KeyCode::Char('u'), CONTROL),
                    7 => (KeyCode::Up, KeyModifiers::NONE),
                    8 => (KeyCode::Left, CONTROL),
                    9 => (KeyCode::Char('_'), CONTROL),
                    10 => {
                        editor.insert("\n");
                        continue;
                    }
                    _ => (KeyCode::Char(character), KeyModifiers::NONE),
                };
                editor.on(KeyEvent::new(code, modifiers));
                let (before, after) = editor.halves();
                prop_assert!(before.len() + after.len() == editor.text().len());
            }
        }
    }

    fn press(editor: &mut Editor, keys: &[(KeyCode, KeyModifiers)]) {
        for (code, modifiers) in keys {
            editor.on(KeyEvent::new(*code, *modifiers));
        }
    }

    #[test]
    fn control_w_deletes_a_word_and_control_underscore_undoes_it() {
        let mut editor = Editor::with("one two three");
        press(&mut editor, &[(KeyCode::Char('w'), CONTROL)]);
        assert_eq!(editor.text(), "one two ");
        press(&mut editor, &[(KeyCode::Char('w'), CONTROL)]);
        assert_eq!(editor.text(), "one ");
        press(&mut editor, &[(KeyCode::Char('_'), CONTROL)]);
        assert_eq!(editor.text(), "one two ");
        press(&mut editor, &[(KeyCode::Char('_'), KeyModifiers::ALT)]);
        assert_eq!(editor.text(), "one ");
    }

    #[test]
    fn up_and_down_move_between_lines_and_control_with_an_arrow_by_words() {
        let mut editor = Editor::with("first line\nsecond line");
        press(&mut editor, &[(KeyCode::Up, KeyModifiers::NONE)]);
        assert_eq!(editor.halves(), ("first line", "\nsecond line"));
        press(&mut editor, &[(KeyCode::Left, CONTROL)]);
        assert_eq!(editor.halves(), ("first ", "line\nsecond line"));
        press(&mut editor, &[(KeyCode::Char('k'), CONTROL)]);
        assert_eq!(editor.text(), "first \nsecond line");
        let mut one_line = Editor::with("word");
        assert!(!one_line.on(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE)), "the view scrolls");
    }
}
