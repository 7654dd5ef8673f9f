//! The keys of the Codex view.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Focus, Newer, ViewState};
use crate::tui::codex::messages::{Action, Effect};
use crate::tui::widgets::text_input::Editor;
use adjutant_codex::approval::Decision;
use adjutant_codex::thread_options::TurnInput;

impl ViewState {
    pub(super) fn on_key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if let (true, KeyCode::Char(letter)) = (control, key.code)
            && let Some(effects) = self.on_control(letter, now)
        {
            return effects;
        }
        if self.focus == Focus::Form {
            return self.on_form(key).into_iter().collect();
        }
        if self.search.is_some() {
            return self.on_search(key, now).into_iter().collect();
        }
        match key.code {
            KeyCode::Tab => self.turn_focus(false),
            KeyCode::BackTab => self.turn_focus(true),
            KeyCode::PageUp => self.page(-1),
            KeyCode::PageDown => self.page(1),
            _ => {
                return match self.focus {
                    Focus::Input | Focus::Form => self.on_input(key, now).into_iter().collect(),
                    Focus::Transcript => self.on_transcript(key, now).into_iter().collect(),
                    Focus::Threads => self.on_threads(key).into_iter().collect(),
                };
            }
        }
        Vec::new()
    }

    /// Handles keys that are the same everywhere; `None` for keys of the focused element.
    fn on_control(&mut self, letter: char, now: Instant) -> Option<Vec<Effect>> {
        match letter {
            'c' => Some(vec![self.interrupt(now)]),
            'l' => Some(vec![Effect::Redraw]),
            'y' | 't' | 'p' | 'd' | 'x' if self.panel.is_some() => {
                Some(self.decide(letter, now).into_iter().collect())
            }
            'o' => {
                if let Some(panel) = &mut self.panel {
                    panel.expanded = !panel.expanded;
                    panel.top = 0;
                }
                Some(Vec::new())
            }
            _ => None,
        }
    }

    /// The first Ctrl-C ends the turn, the second only the view.
    fn interrupt(&mut self, now: Instant) -> Effect {
        match self.open.as_ref().map(|open| open.id.clone()) {
            Some(thread) if self.is_busy() && !self.interrupting => {
                self.interrupting = true;
                self.notify("interrupting the turn; another Ctrl-C leaves".to_owned(), now);
                Effect::Run(Action::Interrupt { thread })
            }
            _ => Effect::Quit,
        }
    }

    fn decide(&mut self, letter: char, now: Instant) -> Option<Effect> {
        let pending = self.pending_approval()?;
        let approval = pending.id.clone();
        let decision = match letter {
            'y' => Decision::Approve,
            't' => Decision::ApproveForSession,
            'p' => Decision::ApproveAlways,
            'd' => Decision::Deny { note: None },
            _ => Decision::Abort,
        };
        let is_approving = !matches!(decision, Decision::Deny { .. } | Decision::Abort);
        let offered = pending.choices.contains(&decision);
        if let Some(reason) = self.why_not_yet(now).filter(|_| is_approving) {
            self.notify(reason.to_owned(), now);
            return None;
        }
        if letter == 'y' && pending.kind.is_form() {
            return self.fill();
        }
        if is_approving && !offered {
            self.notify("Codex does not offer this answer".to_owned(), now);
            return None;
        }
        let typed = Some(self.editor.text().trim().to_owned()).filter(|note| !note.is_empty());
        let decision = match decision {
            Decision::Deny { .. } => {
                self.editor = Editor::default();
                Decision::Deny { note: typed }
            }
            other => other,
        };
        Some(Effect::Run(Action::Decide { approval, decision }))
    }

    /// Focuses the form; sends it if it is focused already.
    fn fill(&mut self) -> Option<Effect> {
        if self.focus == Focus::Form {
            return self.send_form();
        }
        let panel = self.panel.as_mut().filter(|panel| panel.form.is_some())?;
        panel.expanded = true;
        self.focus = Focus::Form;
        None
    }

    fn send_form(&mut self) -> Option<Effect> {
        let approval = self.panel.as_ref()?.id.clone();
        let answer = self.form_mut()?.answer()?;
        Some(Effect::Run(Action::Fill { approval, answer }))
    }

    /// Enter moves to the next field, and sends from the last one. Escape returns to the input box; the values stay.
    fn on_form(&mut self, key: KeyEvent) -> Option<Effect> {
        let form = self.form_mut()?;
        match key.code {
            KeyCode::Esc => self.focus = Focus::Input,
            KeyCode::Enter if !key.modifiers.contains(KeyModifiers::ALT) && form.is_at_end() => {
                return self.send_form();
            }
            KeyCode::Tab | KeyCode::Enter => form.move_focus(false),
            KeyCode::BackTab => form.move_focus(true),
            _ => {
                form.on(key);
            }
        }
        None
    }

    fn on_search(&mut self, key: KeyEvent, now: Instant) -> Option<Effect> {
        match key.code {
            KeyCode::Esc => self.search = None,
            KeyCode::Enter => {
                let text =
                    self.search.take().map(|search| search.text().trim().to_owned()).unwrap_or_default();
                if self.focus == Focus::Threads {
                    return Some(self.watch(text));
                }
                self.find(text, Newer::No, now);
            }
            _ => {
                if let Some(search) = &mut self.search {
                    search.on(key);
                }
            }
        }
        None
    }

    fn on_input(&mut self, key: KeyEvent, now: Instant) -> Option<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('j') if control => self.editor.insert("\n"),
            KeyCode::Enter => {
                let text = self.editor.text().trim().to_owned();
                // The next prompt waits until the new thread has started.
                if text.is_empty() || self.starting {
                    return None;
                }
                let text = match text.strip_prefix('/') {
                    Some(command) if !command.starts_with('/') => return self.command(command, now),
                    Some(prompt) => prompt.to_owned(),
                    None => text,
                };
                self.editor = Editor::default();
                let thread = self.thread().map(ToOwned::to_owned);
                return Some(match thread.filter(|_| self.is_busy() && !alt) {
                    Some(thread) => {
                        let input = TurnInput { text, ..std::mem::take(&mut self.attached) };
                        Effect::Run(Action::Steer { thread, input })
                    }
                    None => self.send(text),
                });
            }
            KeyCode::Up if self.editor.text().is_empty() => self.focus_on(Focus::Transcript),
            _ => {
                self.editor.on(key);
            }
        }
        None
    }

    fn on_transcript(&mut self, key: KeyEvent, now: Instant) -> Option<Effect> {
        let theme = self.theme;
        match key.code {
            KeyCode::Esc | KeyCode::Char('i') => self.focus_on(Focus::Input),
            KeyCode::Char('/') => self.search = Some(Editor::default()),
            KeyCode::Char('n') => self.find(self.last_search.clone(), Newer::No, now),
            KeyCode::Char('N') => self.find(self.last_search.clone(), Newer::Yes, now),
            code => {
                let transcript = &mut self.open.as_mut()?.transcript;
                match code {
                    KeyCode::Up | KeyCode::Char('k') => transcript.choose(-1),
                    KeyCode::Down | KeyCode::Char('j') => transcript.choose(1),
                    KeyCode::Home | KeyCode::Char('g') => transcript.go_to_top(),
                    KeyCode::End | KeyCode::Char('G') => transcript.go_to_end(),
                    KeyCode::Enter | KeyCode::Char(' ') => transcript.toggle(theme),
                    KeyCode::Char('c' | 'y') => {
                        let text = transcript.chosen_text()?;
                        self.notify("copied".to_owned(), now);
                        return Some(Effect::Copy(text));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    fn on_threads(&mut self, key: KeyEvent) -> Option<Effect> {
        let last = self.threads.len().saturating_sub(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Esc => self.focus_on(Focus::Input),
            KeyCode::Char('/') => self.search = Some(Editor::with(&self.query)),
            KeyCode::Char('n') => {
                self.close_thread();
                self.focus_on(Focus::Input);
            }
            KeyCode::Enter => {
                let thread = self.threads.get(self.selected)?.row.id.clone();
                self.focus_on(Focus::Input);
                return (self.thread() != Some(&thread)).then(|| self.open(thread));
            }
            _ => {}
        }
        None
    }

    fn turn_focus(&mut self, back: bool) {
        let order = [Focus::Input, Focus::Transcript, Focus::Threads];
        let at = order.iter().position(|focus| *focus == self.focus).unwrap_or(0);
        self.focus_on(order[(at + if back { 2 } else { 1 }) % 3]);
    }

    fn focus_on(&mut self, focus: Focus) {
        self.focus = focus;
        if let Some(open) = self.open.as_mut().filter(|_| focus == Focus::Transcript) {
            open.transcript.choose_any();
        }
    }

    fn page(&mut self, pages: isize) {
        if let Some(panel) = self.panel.as_mut().filter(|panel| panel.expanded) {
            let step = panel.height.saturating_sub(1).max(1);
            let max_top = panel.lines.len().saturating_sub(panel.height);
            panel.top =
                panel.top.saturating_add_signed(pages * isize::try_from(step).unwrap_or(1)).min(max_top);
        } else if self.focus == Focus::Threads {
            let step = isize::try_from(self.threads.len().min(10)).unwrap_or(1);
            let last = self.threads.len().saturating_sub(1);
            self.selected = self.selected.saturating_add_signed(pages * step).min(last);
        } else if let Some(open) = &mut self.open {
            open.transcript.page(pages);
        }
    }
}
