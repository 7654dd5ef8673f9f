//! The state of the Codex view. [`ViewState::update`] alone changes it; [`ViewState::lay_out`] fits it to the screen.

mod commands;
mod keys;

use std::time::{Duration, Instant};

use crossterm::event::KeyEventKind;
use ratatui::text::Line;

use super::approval;
use super::input_box;
use super::messages::{Action, Effect, MAX_ITEMS, Message};
use super::transcript::{Newer, Transcript};
use crate::socket::control::codex::{Prompt, SentPrompt, ThreadSnapshot, ThreadUpdate};
use crate::tui::theme::Theme;
use crate::tui::view::field_lines;
use crate::tui::widgets::field_inputs::FieldInputs;
use crate::tui::widgets::styled_text::styled;
use crate::tui::widgets::text_input::Editor;
use adjutant_base::text::escape_invisible;
use adjutant_codex::approval::Approval;
use adjutant_codex::event::{CodexEvent, ItemKind};
use adjutant_codex::thread::Thread;
use adjutant_codex::thread_options::{ThreadOptions, TurnInput};
use adjutant_codex::{ListedThread, NumberedItem};

/// Duration of a notice.
const NOTICE_DURATION: Duration = Duration::from_secs(8);
/// Time after an approval appears in which keys do not approve, because they may have been meant for something else.
const APPROVAL_DELAY: Duration = Duration::from_millis(500);
/// Columns of the list, and the minimum width for the list next to the thread.
const LIST_WIDTH: u16 = 30;
const WIDE_LAYOUT_WIDTH: u16 = 90;

/// The element with the keyboard focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Input,
    Transcript,
    Threads,
    /// The form of the pending approval.
    Form,
}

/// The thread on the screen.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: String,
    /// After the first update of the hub.
    pub(super) row: Option<ListedThread>,
    pub(super) thread: Thread,
    pub(super) transcript: Transcript,
}

/// The pending approval on the screen.
#[derive(Debug)]
pub(super) struct Panel {
    id: String,
    since: Instant,
    pub(super) lines: Vec<Line<'static>>,
    pub(super) keys: Vec<Line<'static>>,
    /// Its rows, and the first visible line.
    pub(super) height: usize,
    pub(super) top: usize,
    /// It covers the screen.
    pub(super) expanded: bool,
    /// The whole approval was on the screen.
    seen: bool,
    /// The form, after the hub has sent its fields, which are requested once.
    form: Option<FieldInputs>,
    form_requested: bool,
}

/// Everything that is drawn.
#[derive(Debug)]
pub(super) struct ViewState {
    start: ThreadOptions,
    pub(super) threads: Vec<ListedThread>,
    pub(super) selected: usize,
    /// The search in the list, and its number.
    pub(super) query: String,
    watch: u64,
    pub(super) open: Option<Open>,
    /// Counts openings, so that late updates of another thread are recognized.
    opened: u64,
    /// A new thread is starting.
    pub(super) starting: bool,
    pub(super) editor: Editor,
    /// Files, images and settings of the next prompt, in addition to its text.
    attached: TurnInput,
    pub(super) focus: Focus,
    /// A text to search for, while it is typed.
    pub(super) search: Option<Editor>,
    last_search: String,
    pub(super) notice: Option<(String, Instant)>,
    pub(super) disconnected: Option<String>,
    /// The running turn was interrupted.
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
            attached: TurnInput::default(),
            focus: Focus::Input,
            search: None,
            last_search: String::new(),
            notice: None,
            disconnected: None,
            interrupting: false,
            panel: None,
            theme: Theme { colour: false },
            list: 0,
        }
    }

    /// Opens the thread of the command line, and sends its prompt.
    pub(super) fn open_with(&mut self, thread: Option<String>) -> Vec<Effect> {
        let prompt = std::mem::take(&mut self.start.turn.text);
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

    /// Returns whether a turn runs in the thread on the screen.
    pub(super) fn is_busy(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.thread.turn.is_some())
    }

    /// Returns the first pending approval of the thread on the screen.
    pub(super) fn pending_approval(&self) -> Option<&Approval> {
        self.open.as_ref()?.thread.asked.first()
    }

    /// Applies a message, and returns the effects.
    pub(super) fn update(&mut self, message: Message, now: Instant) -> Vec<Effect> {
        if self.notice.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.notice = None;
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
            Message::Reached(reached) => self.disconnected = reached.err(),
            Message::Sent { prompt, sent } => effects.extend(self.on_sent(prompt, sent, now)),
            Message::Older { thread, items } => self.on_older(&thread, items, now),
            Message::Done { typed, done } => {
                if done.is_err() {
                    self.restore_input(typed);
                }
                self.notify(done.map_or_else(|error| error, str::to_owned), now);
            }
            Message::Steered { done: Ok(()), .. } => {
                self.notify("the prompt was added to the turn".to_owned(), now);
            }
            Message::Steered { mut input, done: Err(error) } => {
                self.restore_input(Some(std::mem::take(&mut input.text)));
                self.attached = input;
                self.notify(error, now);
            }
            Message::Operated(Ok(Some(thread))) => {
                self.notify("done".to_owned(), now);
                effects.push(self.open(thread));
            }
            Message::Operated(Ok(None)) => {
                self.notify("done".to_owned(), now);
                self.close_thread();
            }
            Message::Reported { thread, kind: Ok(kind) } => {
                if let Some(open) = self.open.as_mut().filter(|open| open.id == thread) {
                    open.transcript.add_report(kind);
                }
            }
            Message::Operated(Err(reason)) | Message::Reported { kind: Err(reason), .. } => {
                self.notify(reason, now);
            }
            Message::Form { approval, fields } => match (fields, self.panel.as_mut()) {
                (Ok(fields), Some(panel)) if panel.id == approval => {
                    panel.form = Some(FieldInputs::new(fields));
                }
                (Err(reason), Some(panel)) if panel.id == approval => self.notify(reason, now),
                (Ok(_) | Err(_), _) => {}
            },
        }
        effects.extend(self.older());
        effects.extend(self.request_form());
        effects
    }

    fn list(&mut self, threads: Vec<ListedThread>) {
        let chosen = self.threads.get(self.selected).map(|thread| thread.row.id.clone());
        self.threads = threads;
        let at = self.threads.iter().position(|thread| Some(&thread.row.id) == chosen.as_ref());
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
        self.show_approval(now);
    }

    fn on_sent(&mut self, prompt: String, sent: Result<SentPrompt, String>, now: Instant) -> Option<Effect> {
        self.starting = false;
        if sent.is_ok() {
            self.attached = TurnInput::default();
        }
        match sent {
            Ok(SentPrompt { thread, .. }) if self.thread() != Some(&thread) => Some(self.open(thread)),
            Ok(SentPrompt { ahead: 0, .. }) => None,
            Ok(SentPrompt { ahead, .. }) => {
                let turns = if ahead == 1 { "the running turn".to_owned() } else { format!("{ahead} turns") };
                self.notify(format!("the prompt waits for the end of {turns}"), now);
                None
            }
            Err(reason) => {
                self.restore_input(Some(prompt));
                self.notify(reason, now);
                None
            }
        }
    }

    fn on_older(&mut self, thread: &str, items: Result<Vec<NumberedItem>, String>, now: Instant) {
        let theme = self.theme;
        match (self.open.as_mut().filter(|open| open.id == thread), items) {
            (Some(open), Ok(items)) => open.transcript.prepend(items, MAX_ITEMS, theme),
            (Some(_), Err(reason)) => self.notify(reason, now),
            (None, _) => {}
        }
    }

    /// Returns a rejected text to the input box, unless the box has another text.
    fn restore_input(&mut self, typed: Option<String>) {
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

    /// Shows no thread, so that the next prompt begins one.
    fn close_thread(&mut self) {
        self.opened += 1;
        self.open = None;
        self.panel = None;
    }

    /// Returns the sentence about commands that continue without a turn.
    pub(super) fn left_commands(&self) -> Option<String> {
        let left = &self.open.as_ref().filter(|open| open.thread.turn.is_none())?.thread.left;
        let commands: Vec<&str> = left
            .values()
            .filter_map(|item| match &item.kind {
                ItemKind::Command { command, .. } => Some(command.as_str()),
                _ => None,
            })
            .collect();
        let names = escape_invisible::escape_line(&commands.join(", "));
        (!commands.is_empty()).then(|| format!("▸ /end-commands ends what continues without a turn: {names}"))
    }

    /// Returns the lines of the notice.
    pub(super) fn notice_lines(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let notice = self
            .notice
            .iter()
            .flat_map(|(notice, _)| styled(&escape_invisible::escape_line(notice), columns, theme.good()));
        notice.collect()
    }

    /// Sends a prompt: the next of the thread on the screen, or the first of a new one.
    fn send(&mut self, prompt: String) -> Effect {
        let thread = self.thread().map(ToOwned::to_owned);
        self.starting |= thread.is_none();
        if let Some(open) = &mut self.open {
            open.transcript.follow_end();
        }
        Effect::Run(Action::Send(Box::new(Prompt {
            thread,
            start: ThreadOptions {
                turn: TurnInput { text: prompt, ..self.attached.clone() },
                ..self.start.clone()
            },
        })))
    }

    /// Lists the threads that contain a text.
    fn watch(&mut self, text: String) -> Effect {
        self.watch += 1;
        self.query.clone_from(&text);
        Effect::Watch { text, number: self.watch }
    }

    /// Requests older items when the oldest loaded one is on the screen.
    fn older(&mut self) -> Option<Effect> {
        let focus = self.focus;
        let open = self.open.as_mut().filter(|_| focus == Focus::Transcript)?;
        let before = open.transcript.wants_older()?;
        open.transcript.loading = true;
        Some(Effect::Run(Action::Older { thread: open.id.clone(), before, limit: MAX_ITEMS }))
    }

    /// Searches the loaded items of the thread.
    fn find(&mut self, text: String, newer: Newer, now: Instant) {
        let Some(open) = &mut self.open else { return };
        if text.is_empty() {
            return;
        }
        if !open.transcript.find(&text, newer) {
            let more = if open.transcript.older.is_some() { "; Home loads older items" } else { "" };
            self.notify(format!("`{text}` is not in the loaded items{more}"), now);
        }
        self.last_search = text;
    }

    fn notify(&mut self, sentence: String, now: Instant) {
        self.notice = Some((sentence, now + NOTICE_DURATION));
    }

    /// Returns the editor that receives text.
    fn typed_mut(&mut self) -> &mut Editor {
        self.search.as_mut().unwrap_or(&mut self.editor)
    }

    /// Shows the first pending approval.
    fn show_approval(&mut self, now: Instant) {
        let pending = self.pending_approval().map(|approval| approval.id.clone());
        if self.panel.as_ref().map(|panel| &panel.id) == pending.as_ref() {
            return;
        }
        if self.focus == Focus::Form {
            self.focus = Focus::Input;
        }
        self.panel = pending.map(|id| Panel {
            id,
            since: now,
            lines: Vec::new(),
            keys: Vec::new(),
            height: 0,
            top: 0,
            expanded: false,
            seen: false,
            form: None,
            form_requested: false,
        });
    }

    /// Requests the fields of a new form.
    fn request_form(&mut self) -> Option<Effect> {
        let is_form = self.pending_approval().is_some_and(|approval| approval.kind.is_form());
        let panel = self.panel.as_mut().filter(|panel| is_form && !panel.form_requested)?;
        panel.form_requested = true;
        Some(Effect::Run(Action::Form { approval: panel.id.clone() }))
    }

    /// Returns the form if it has the keyboard focus.
    fn form_mut(&mut self) -> Option<&mut FieldInputs> {
        let focused = self.focus == Focus::Form;
        self.panel.as_mut().filter(|_| focused)?.form.as_mut()
    }

    /// Returns why the approval on the screen cannot be approved yet.
    fn why_not_yet(&self, now: Instant) -> Option<&'static str> {
        let panel = self.panel.as_ref()?;
        if now < panel.since + APPROVAL_DELAY {
            return Some("the request has just appeared; read it, then press the key again");
        }
        (!panel.seen).then_some("a part is not visible; Ctrl-O shows all, PgDn the rest")
    }

    /// Returns the text to search for in the transcript, while it is typed.
    pub(super) fn search(&self) -> Option<&Editor> {
        self.search.as_ref().filter(|_| self.focus == Focus::Transcript)
    }

    /// Fits everything to the size of the screen.
    pub(super) fn lay_out(&mut self, width: u16, height: u16, theme: Theme) {
        self.theme = theme;
        // A list of one thread says nothing.
        let has_list = self.threads.len() > 1 || !self.query.is_empty() || self.focus == Focus::Threads;
        let is_wide = width >= WIDE_LAYOUT_WIDTH && has_list;
        self.list = match (is_wide, self.focus) {
            (true, _) => LIST_WIDTH,
            (false, Focus::Threads) => width,
            (false, _) => 0,
        };
        // The layout of the thread does not depend on a list that covers it.
        let columns = usize::from(if is_wide { width - LIST_WIDTH } else { width }).saturating_sub(2).max(1);
        let others = self.open.as_ref().map_or(0, |open| open.thread.asked.len().saturating_sub(1));
        let mut pending = self
            .pending_approval()
            .map(|pending| (approval::lines(pending, others, columns, theme), approval::keys(pending)));
        let filling = self.focus == Focus::Form;
        let mut cursor = None;
        if let (Some((lines, keys)), Some(form)) =
            (&mut pending, self.panel.as_ref().and_then(|panel| panel.form.as_ref()))
        {
            let (rows, row) = field_lines(form, filling, theme, columns);
            cursor = filling.then_some(lines.len() + row);
            lines.extend(rows);
            if let Some(fault) = &form.fault {
                lines.extend(styled(&format!("! {fault}"), columns, theme.alarm()));
                cursor = filling.then_some(lines.len() - 1);
            }
            if filling {
                "Enter or Tab next field  Ctrl-Y send  Esc back  Ctrl-D deny  Ctrl-X deny and stop"
                    .clone_into(keys);
            }
        }
        let rows = usize::from(height);
        let input = input_box::lines(&self.editor, self.search(), self.focus == Focus::Input, columns).len();
        let notice = self.notice_lines(columns, theme).len();
        let lines = usize::from(self.disconnected.is_some()) + usize::from(self.left_commands().is_some());
        let mut taken = 3 + input + notice + lines;
        if let (Some(panel), Some((lines, keys))) = (&mut self.panel, pending) {
            panel.keys = super::item_lines::text("", &keys, columns, theme.good());
            let free = rows.saturating_sub(taken + panel.keys.len() + 1);
            let limit = if panel.expanded { free } else { free * 3 / 5 };
            panel.height = lines.len().min(limit);
            panel.top = panel.top.min(lines.len() - panel.height);
            if let Some(cursor) = cursor {
                panel.top = panel.top.clamp((cursor + 1).saturating_sub(panel.height), cursor);
            }
            panel.seen |= panel.top + panel.height == lines.len() && (panel.top == 0 || panel.expanded);
            panel.lines = lines;
            taken += panel.height + panel.keys.len() + 1;
        }
        if let Some(open) = &mut self.open {
            open.transcript.lay_out(columns, rows.saturating_sub(taken), theme);
        }
    }
}
