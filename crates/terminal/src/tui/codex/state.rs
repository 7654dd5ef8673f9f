//! The state of the Codex view. [`ViewState::update`] alone changes it; [`ViewState::lay_out`] fits it to the screen.

mod keys;

use std::time::{Duration, Instant};

use ratatui::crossterm::event::KeyEventKind;
use ratatui::text::Line;

use super::approval;
use super::form::Form;
use super::input_box;
use super::messages::{Action, Effect, MAX_ITEMS, Message};
use super::transcript::{Newer, Transcript};
use crate::socket::control::codex::{
    NumberedItem, Prompt, SentPrompt, ThreadSnapshot, ThreadUpdate, ThreadView,
};
use crate::tui::theme::Theme;
use crate::tui::widgets::text_input::Editor;
use adjutant_codex::approval::Approval;
use adjutant_codex::event::CodexEvent;
use adjutant_codex::thread::Thread;
use adjutant_codex::thread_options::ThreadOptions;

/// How long a sentence about what happened stays.
const NOTICE_DURATION: Duration = Duration::from_secs(8);
/// A key that comes right after Codex asked was meant for something else.
const APPROVAL_DELAY: Duration = Duration::from_millis(500);
/// Columns of the list, and the width from which it is shown next to the thread.
const LIST_WIDTH: u16 = 30;
const WIDE_LAYOUT_WIDTH: u16 = 90;

/// What has the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Input,
    Transcript,
    Threads,
    /// The form that is asked.
    Form,
}

/// The thread on the screen.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: String,
    /// Once the hub has told it.
    pub(super) row: Option<ThreadView>,
    pub(super) thread: Thread,
    pub(super) transcript: Transcript,
}

/// What is asked, as it is on the screen.
#[derive(Debug)]
pub(super) struct Panel {
    id: String,
    since: Instant,
    pub(super) lines: Vec<Line<'static>>,
    pub(super) keys: Vec<Line<'static>>,
    /// Rows that it has, and the first line in them.
    pub(super) height: usize,
    pub(super) top: usize,
    /// It has all of the screen.
    pub(super) whole: bool,
    /// All of it was on the screen.
    seen: bool,
    /// What is filled in, where it is a form and the hub has told its fields; they are asked for once.
    form: Option<Form>,
    form_asked: bool,
}

/// Everything that is drawn.
#[derive(Debug)]
pub(super) struct ViewState {
    start: ThreadOptions,
    pub(super) threads: Vec<ThreadView>,
    pub(super) selected: usize,
    /// What the list is searched for, and the number of that search.
    pub(super) query: String,
    watch: u64,
    pub(super) open: Option<Open>,
    /// Counts openings, so that what comes late for another thread is known.
    opened: u64,
    /// A new thread is on its way.
    pub(super) starting: bool,
    pub(super) editor: Editor,
    pub(super) focus: Focus,
    /// A text to search for, while it is typed.
    pub(super) search: Option<Editor>,
    found: String,
    pub(super) said: Option<(String, Instant)>,
    pub(super) lost: Option<String>,
    /// The running turn was told to end.
    interrupting: bool,
    pub(super) panel: Option<Panel>,
    theme: Theme,
    /// Columns of the list; the thread has the rest.
    pub(super) list: u16,
}

impl ViewState {
    pub(super) fn new(start: ThreadOptions) -> Self {
        Self {
            start,
            threads: Vec::new(),
            selected: 0,
            query: String::new(),
            watch: 0,
            open: None,
            opened: 0,
            starting: false,
            editor: Editor::default(),
            focus: Focus::Input,
            search: None,
            found: String::new(),
            said: None,
            lost: None,
            interrupting: false,
            panel: None,
            theme: Theme { colour: false },
            list: 0,
        }
    }

    /// Opens what the command line names, and hands in its prompt.
    pub(super) fn open_with(&mut self, thread: Option<String>) -> Vec<Effect> {
        let prompt = std::mem::take(&mut self.start.prompt);
        let mut effects: Vec<Effect> = thread.map(|thread| self.open(thread)).into_iter().collect();
        if !prompt.is_empty() {
            effects.push(self.send(prompt));
        }
        effects
    }

    /// Returns the name of the thread on the screen.
    pub(super) fn thread(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.id.as_str())
    }

    /// Whether a turn runs in the thread on the screen.
    pub(super) fn is_busy(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.thread.turn.is_some())
    }

    /// What is waited for first in the thread on the screen.
    pub(super) fn asked(&self) -> Option<&Approval> {
        self.open.as_ref()?.thread.asked.first()
    }

    /// Takes in what happened and returns what is to be done.
    pub(super) fn update(&mut self, message: Message, now: Instant) -> Vec<Effect> {
        if self.said.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.said = None;
        }
        let mut effects = Vec::new();
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => {}
            Message::Key(key) => effects.extend(self.on_key(key, now)),
            Message::Paste(text) => match self.form_mut() {
                Some(form) => form.paste(&text),
                None => self.typed_mut().insert(&text),
            },
            Message::InputClosed => effects.push(Effect::Quit),
            Message::Threads { number, threads } if number == self.watch => self.list(threads),
            Message::Updated { number, update } if number == self.opened => {
                self.on_thread_update(update, now);
            }
            Message::Tick | Message::Threads { .. } | Message::Updated { .. } => {}
            Message::Reached(reached) => self.lost = reached.err(),
            Message::Sent { prompt, sent } => effects.extend(self.on_sent(prompt, sent, now)),
            Message::Older { thread, items } => self.on_older(&thread, items, now),
            Message::Done { typed, done } => {
                if done.is_err() {
                    self.give_back(typed);
                }
                self.say(done.map_or_else(|error| error, str::to_owned), now);
            }
            Message::Form { approval, fields } => match (fields, self.panel.as_mut()) {
                (Ok(fields), Some(panel)) if panel.id == approval => panel.form = Some(Form::new(fields)),
                (Err(reason), Some(panel)) if panel.id == approval => self.say(reason, now),
                (Ok(_) | Err(_), _) => {}
            },
        }
        effects.extend(self.older());
        effects.extend(self.wanted_form());
        effects
    }

    fn list(&mut self, threads: Vec<ThreadView>) {
        let chosen = self.threads.get(self.selected).map(|thread| thread.thread.clone());
        self.threads = threads;
        let at = self.threads.iter().position(|thread| Some(&thread.thread) == chosen.as_ref());
        self.selected = at.unwrap_or(self.selected).min(self.threads.len().saturating_sub(1));
    }

    fn on_thread_update(&mut self, update: ThreadUpdate, now: Instant) {
        let Some(open) = &mut self.open else { return };
        match update {
            ThreadUpdate::Snapshot(snapshot) => {
                let ThreadSnapshot { row, state, items } = *snapshot;
                open.thread = Thread::default();
                open.transcript = Transcript::new(items, MAX_ITEMS);
                for event in &state {
                    open.thread.apply(event);
                    open.transcript.apply(event);
                }
                open.row = Some(row);
            }
            ThreadUpdate::Events { events } => {
                for event in &events {
                    open.thread.apply(event);
                    open.transcript.apply(event);
                }
                if events.iter().any(|event| matches!(event, CodexEvent::TurnEnded { .. })) {
                    self.interrupting = false;
                }
            }
        }
        self.present(now);
    }

    fn on_sent(&mut self, prompt: String, sent: Result<SentPrompt, String>, now: Instant) -> Option<Effect> {
        self.starting = false;
        match sent {
            Ok(SentPrompt { thread, .. }) if self.thread() != Some(&thread) => Some(self.open(thread)),
            Ok(SentPrompt { ahead: 0, .. }) => None,
            Ok(SentPrompt { ahead, .. }) => {
                let turns = if ahead == 1 { "the running turn".to_owned() } else { format!("{ahead} turns") };
                self.say(format!("it waits for the end of {turns}"), now);
                None
            }
            Err(reason) => {
                self.give_back(Some(prompt));
                self.say(reason, now);
                None
            }
        }
    }

    fn on_older(&mut self, thread: &str, items: Result<Vec<NumberedItem>, String>, now: Instant) {
        let theme = self.theme;
        match (self.open.as_mut().filter(|open| open.id == thread), items) {
            (Some(open), Ok(items)) => open.transcript.prepend(items, MAX_ITEMS, theme),
            (Some(_), Err(reason)) => self.say(reason, now),
            (None, _) => {}
        }
    }

    /// Puts a refused text into the input box again, unless it has another text.
    fn give_back(&mut self, typed: Option<String>) {
        if let Some(typed) = typed.filter(|_| self.editor.text().is_empty()) {
            self.editor = Editor::with(&typed);
        }
    }

    /// Shows another thread.
    fn open(&mut self, thread: String) -> Effect {
        self.opened += 1;
        self.interrupting = false;
        self.open = Some(Open {
            id: thread.clone(),
            row: None,
            thread: Thread::default(),
            transcript: Transcript::default(),
        });
        self.panel = None;
        Effect::Open { thread, number: self.opened }
    }

    /// Hands in a prompt: the next of the thread on the screen, or the first of a new one.
    fn send(&mut self, prompt: String) -> Effect {
        let thread = self.thread().map(ToOwned::to_owned);
        self.starting |= thread.is_none();
        if let Some(open) = &mut self.open {
            open.transcript.let_go();
        }
        Effect::Run(Action::Send(Box::new(Prompt {
            thread,
            start: ThreadOptions { prompt, ..self.start.clone() },
        })))
    }

    /// Asks for older items when the person looks at the oldest one here.
    fn older(&mut self) -> Option<Effect> {
        let focus = self.focus;
        let open = self.open.as_mut().filter(|_| focus == Focus::Transcript)?;
        let before = open.transcript.wants_older()?;
        open.transcript.loading = true;
        Some(Effect::Run(Action::Older { thread: open.id.clone(), before, limit: MAX_ITEMS }))
    }

    /// Searches what is here of the thread.
    fn find(&mut self, text: String, newer: Newer, now: Instant) {
        let Some(open) = &mut self.open else { return };
        if text.is_empty() {
            return;
        }
        if !open.transcript.find(&text, newer) {
            let more = if open.transcript.older.is_some() { "; Home loads older items" } else { "" };
            self.say(format!("`{text}` is not in what is here{more}"), now);
        }
        self.found = text;
    }

    fn say(&mut self, sentence: String, now: Instant) {
        self.said = Some((sentence, now + NOTICE_DURATION));
    }

    /// What takes letters now.
    fn typed_mut(&mut self) -> &mut Editor {
        self.search.as_mut().unwrap_or(&mut self.editor)
    }

    /// Puts what Codex waits for now on the screen.
    fn present(&mut self, now: Instant) {
        let asked = self.asked().map(|asked| asked.id.clone());
        if self.panel.as_ref().map(|panel| &panel.id) == asked.as_ref() {
            return;
        }
        if self.focus == Focus::Form {
            self.focus = Focus::Input;
        }
        self.panel = asked.map(|id| Panel {
            id,
            since: now,
            lines: Vec::new(),
            keys: Vec::new(),
            height: 0,
            top: 0,
            whole: false,
            seen: false,
            form: None,
            form_asked: false,
        });
    }

    /// Asks for the fields of a form that is new on the screen.
    fn wanted_form(&mut self) -> Option<Effect> {
        let is_form = self.asked().is_some_and(|approval| approval.kind.is_form());
        let panel = self.panel.as_mut().filter(|panel| is_form && !panel.form_asked)?;
        panel.form_asked = true;
        Some(Effect::Run(Action::Form { approval: panel.id.clone() }))
    }

    /// The form, while it has the keyboard.
    fn form_mut(&mut self) -> Option<&mut Form> {
        let here = self.focus == Focus::Form;
        self.panel.as_mut().filter(|_| here)?.form.as_mut()
    }

    /// Why the question on the screen cannot be answered with a yes in this moment.
    fn not_yet(&self, now: Instant) -> Option<&'static str> {
        let panel = self.panel.as_ref()?;
        if now < panel.since + APPROVAL_DELAY {
            return Some("it was asked in this moment; look at it, then press the key again");
        }
        (!panel.seen).then_some("not all of it is on the screen; Ctrl-O shows all, PgDn the rest")
    }

    /// Returns the text to search for in the transcript, while it is typed.
    pub(super) fn search(&self) -> Option<&Editor> {
        self.search.as_ref().filter(|_| self.focus == Focus::Transcript)
    }

    /// Fits everything to the size of the screen.
    pub(super) fn lay_out(&mut self, width: u16, height: u16, theme: Theme) {
        self.theme = theme;
        let beside = width >= WIDE_LAYOUT_WIDTH;
        let shown = beside || self.focus == Focus::Threads;
        self.list = if shown && !beside {
            width
        } else if shown {
            LIST_WIDTH
        } else {
            0
        };
        // The thread is laid out as wide as it is when the list does not cover it.
        let room = usize::from(if beside { width - LIST_WIDTH } else { width }).saturating_sub(2).max(1);
        let others = self.open.as_ref().map_or(0, |open| open.thread.asked.len().saturating_sub(1));
        let mut asked =
            self.asked().map(|asked| (approval::lines(asked, others, room, theme), approval::keys(asked)));
        let filling = self.focus == Focus::Form;
        let mut cursor = None;
        if let (Some((lines, keys)), Some(form)) =
            (&mut asked, self.panel.as_ref().and_then(|panel| panel.form.as_ref()))
        {
            let (form, row) = form.lines(filling, room, theme);
            cursor = filling.then_some(lines.len() + row);
            lines.extend(form);
            if filling {
                "Enter or Tab goes on  Ctrl-Y sends it  Esc back  Ctrl-D denies it  Ctrl-X denies it and stops"
                    .clone_into(keys);
            }
        }
        let rows = usize::from(height);
        let input = input_box::lines(&self.editor, self.search(), self.focus == Focus::Input, room).len();
        let mut taken = 3 + input + usize::from(self.said.is_some()) + usize::from(self.lost.is_some());
        if let (Some(panel), Some((lines, keys))) = (&mut self.panel, asked) {
            panel.keys = super::item_lines::text(&keys, room, theme.good());
            let free = rows.saturating_sub(taken + panel.keys.len() + 1);
            let most = if panel.whole { free } else { free * 3 / 5 };
            panel.height = lines.len().min(most);
            panel.top = panel.top.min(lines.len() - panel.height);
            if let Some(cursor) = cursor {
                panel.top = panel.top.clamp((cursor + 1).saturating_sub(panel.height), cursor);
            }
            panel.seen |= panel.top + panel.height == lines.len() && (panel.top == 0 || panel.whole);
            panel.lines = lines;
            taken += panel.height + panel.keys.len() + 1;
        }
        if let Some(open) = &mut self.open {
            open.transcript.lay_out(room, rows.saturating_sub(taken), theme);
        }
    }
}
