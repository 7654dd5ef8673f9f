//! The transcript of a thread, the oldest item first, and the part of it on the screen.

use std::collections::HashMap;

use ratatui::text::Line;

use super::item_lines;
use super::item_lines::Part;
use crate::tui::theme::Theme;
use adjutant_codex::NumberedItem;
use adjutant_codex::event::{CodexEvent, Item, ItemKind, ItemState, repeats};

/// Maximum loaded items. The oldest are dropped first; the database has all.
const MAX_ENTRIES: usize = 4000;
/// The beginning of the ids of decisions.
const APPROVAL_PREFIX: &str = "approval-";
/// Maximum earlier items that are searched for a repeated warning.
const MAX_LOOK_BACK: usize = 100;
/// Items that are dropped at once.
const EVICTION_BATCH_SIZE: usize = 500;
/// Maximum bytes of an item before its end, which repeats all of them.
const MAX_GROWING_BYTES: usize = 1 << 20;

/// The items of one thread.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    entries: Vec<Entry>,
    at: HashMap<String, usize>,
    /// The number of the oldest loaded item, if there may be older ones.
    pub(super) older: Option<i64>,
    /// Older items are requested.
    pub(super) loading: bool,
    width: usize,
    height: usize,
    /// The first line on the screen; `None` follows the end.
    top: Option<usize>,
    /// The selected item.
    cursor: Option<String>,
    /// Counts the notes of the view, which have no id.
    notes: usize,
}

#[derive(Debug)]
struct Entry {
    item: Item,
    /// The number of times that a warning came in a row. The agent's own items do not interrupt the row.
    count: usize,
    part: Part,
    lines: Vec<Line<'static>>,
    cut: bool,
    stale: bool,
}

impl Entry {
    fn new(item: Item) -> Self {
        Self { item, count: 1, part: Part::Some, lines: Vec::new(), cut: false, stale: true }
    }

    /// Returns the number of its lines, with the blank one after them.
    fn height(&self) -> usize {
        self.lines.len() + 1
    }
}

impl Transcript {
    /// Makes a transcript of the newest items, the newest first. If there are `limit` of them, there may be older ones.
    pub(super) fn new(items: Vec<NumberedItem>, limit: u32) -> Self {
        let mut transcript = Self { older: oldest(&items, limit), ..Self::default() };
        for numbered in items.into_iter().rev() {
            transcript.put(numbered.item);
        }
        transcript
    }

    /// Adds older items. The screen does not move.
    pub(super) fn prepend(&mut self, items: Vec<NumberedItem>, limit: u32, theme: Theme) {
        self.loading = false;
        self.older = oldest(&items, limit);
        let new = items.into_iter().rev().filter(|numbered| !self.at.contains_key(&numbered.item.id));
        let mut entries = Vec::new();
        for numbered in new {
            if !repeat(&mut entries, &numbered.item) {
                entries.push(Entry::new(numbered.item));
            }
        }
        for entry in &mut entries {
            draw(entry, self.width, theme);
        }
        let before: usize = entries.iter().map(Entry::height).sum();
        self.top = self.top.map(|top| top + before);
        entries.append(&mut self.entries);
        self.entries = entries;
        self.index();
    }

    /// Applies an event.
    pub(super) fn apply(&mut self, event: &CodexEvent) {
        match event {
            CodexEvent::ItemStarted { item } | CodexEvent::ItemEnded { item } => self.put(item.clone()),
            CodexEvent::ItemGrew { id, text } => {
                if let Some(entry) = self.at.get(id).and_then(|at| self.entries.get_mut(*at))
                    && entry.item.state == ItemState::Running
                    && entry.item.kind.text().len() < MAX_GROWING_BYTES
                {
                    entry.item.kind.grow(text);
                    entry.stale = true;
                }
            }
            CodexEvent::ApprovalResolved { approval, decision, by } => {
                self.note(&adjutant_codex::approval::outcome(decision.as_ref(), *by), approval);
            }
            CodexEvent::TurnEnded { .. } => {
                // Items that have not ended have failed.
                for entry in self.entries.iter_mut().rev().take(EVICTION_BATCH_SIZE) {
                    if entry.item.state == ItemState::Running {
                        entry.item.state = ItemState::Failed;
                        entry.stale = true;
                    }
                }
            }
            CodexEvent::Closed { .. }
            | CodexEvent::Notice { .. }
            | CodexEvent::Ready(_)
            | CodexEvent::TurnStarted { .. }
            | CodexEvent::Steered { .. }
            | CodexEvent::ApprovalRequested { .. }
            | CodexEvent::Diff { .. }
            | CodexEvent::Usage(_)
            | CodexEvent::Limits(_)
            | CodexEvent::SubAgent { .. } => {}
        }
        if let Some(fault) = event.fault() {
            self.add_error(fault);
        }
    }

    /// Adds an error.
    fn add_error(&mut self, kind: ItemKind) {
        // Codex often reports one error twice, in other words.
        let (text, last) = (kind.text(), self.entries.last().map(|entry| entry.item.kind.text()));
        if last.is_some_and(|last| last != text && repeats(&text, &last)) {
            return;
        }
        self.notes += 1;
        let id = format!("note {}", self.notes);
        self.put(Item { id, turn: None, state: ItemState::Done, kind });
    }

    /// Adds the answer to a question about the thread, and shows it.
    pub(super) fn add_report(&mut self, kind: ItemKind) {
        self.notes += 1;
        let id = format!("report {}", self.notes);
        self.put(Item { id, turn: None, state: ItemState::Done, kind });
        self.follow_end();
    }

    fn note(&mut self, text: &str, approval: &str) {
        let kind = ItemKind::Other { name: text.to_owned(), content: serde_json::Value::Null };
        self.put(Item {
            id: format!("{APPROVAL_PREFIX}{approval}"),
            turn: None,
            state: ItemState::Done,
            kind,
        });
    }

    fn put(&mut self, item: Item) {
        if let Some(entry) = self.at.get(&item.id).and_then(|at| self.entries.get_mut(*at)) {
            entry.item = item;
            entry.stale = true;
            return;
        }
        if repeat(&mut self.entries, &item) {
            return;
        }
        self.at.insert(item.id.clone(), self.entries.len());
        self.entries.push(Entry::new(item));
        if self.entries.len() > MAX_ENTRIES {
            let dropped: usize = self.entries.drain(..EVICTION_BATCH_SIZE).map(|entry| entry.height()).sum();
            self.top = self.top.map(|top| top.saturating_sub(dropped));
            // The numbers of the dropped items are unknown.
            self.older = None;
            self.index();
        }
    }

    fn index(&mut self) {
        self.at = self.entries.iter().enumerate().map(|(at, entry)| (entry.item.id.clone(), at)).collect();
    }

    /// Lays the items out for a part of the screen.
    pub(super) fn lay_out(&mut self, width: usize, height: usize, theme: Theme) {
        let all = self.width != width;
        (self.width, self.height) = (width, height);
        for entry in self.entries.iter_mut().filter(|entry| all || entry.stale) {
            draw(entry, width, theme);
        }
        if self.top.is_some_and(|top| top >= self.last_top()) {
            self.top = None;
        }
    }

    fn total(&self) -> usize {
        self.entries.iter().map(Entry::height).sum()
    }

    /// Returns the first line of the screen at the end.
    fn last_top(&self) -> usize {
        self.total().saturating_sub(self.height)
    }

    fn top(&self) -> usize {
        self.top.unwrap_or_else(|| self.last_top())
    }

    /// Returns the lines on the screen, each with whether it belongs to the selected item.
    pub(super) fn window(&self) -> Vec<(Line<'static>, bool)> {
        let mut window = Vec::with_capacity(self.height);
        let (top, mut line) = (self.top(), 0);
        for entry in &self.entries {
            let end = line + entry.height();
            if end > top && window.len() < self.height {
                let chosen = self.cursor.as_ref() == Some(&entry.item.id);
                let shown = entry.lines.iter().cloned().map(|line| (line, chosen));
                let shown = shown.chain([(Line::default(), false)]).skip(top.saturating_sub(line));
                window.extend(shown.take(self.height - window.len()));
            }
            line = end;
        }
        window
    }

    /// Returns the number of lines below the screen.
    pub(super) fn below(&self) -> usize {
        self.last_top().saturating_sub(self.top())
    }

    /// Scrolls by `lines`, down if positive.
    pub(super) fn scroll(&mut self, lines: isize) {
        let top = self.top().saturating_add_signed(lines);
        self.top = (top < self.last_top()).then_some(top);
    }

    pub(super) fn page(&mut self, pages: isize) {
        self.scroll(pages * isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1));
    }

    /// Goes to the first loaded item.
    pub(super) fn go_to_top(&mut self) {
        self.top = (self.last_top() > 0).then_some(0);
        self.cursor = self.entries.first().map(|entry| entry.item.id.clone());
    }

    /// Goes to the end and follows it.
    pub(super) fn go_to_end(&mut self) {
        self.top = None;
        self.cursor = self.entries.last().map(|entry| entry.item.id.clone());
    }

    /// Returns the number before which to load, if the oldest item is on the screen and there may be older ones.
    pub(super) fn wants_older(&self) -> Option<i64> {
        self.older.filter(|_| !self.loading && self.top() == 0)
    }

    /// Selects the next or the previous item, and shows it.
    pub(super) fn choose(&mut self, step: isize) {
        let last = self.entries.len().checked_sub(1);
        let Some(last) = last else { return };
        let at = self.chosen().map_or(last, |at| at.saturating_add_signed(step).min(last));
        self.go_to(at);
    }

    /// Selects the last item if none is selected.
    pub(super) fn choose_any(&mut self) {
        if self.chosen().is_none() {
            self.choose(0);
        }
    }

    fn chosen(&self) -> Option<usize> {
        self.at.get(self.cursor.as_ref()?).copied()
    }

    fn go_to(&mut self, at: usize) {
        self.cursor = self.entries.get(at).map(|entry| entry.item.id.clone());
        let start: usize = self.entries[..at].iter().map(Entry::height).sum();
        let end = start + self.entries.get(at).map_or(0, |entry| entry.lines.len());
        let top = self.top();
        if start < top || end - start > self.height {
            self.top = (start < self.last_top()).then_some(start);
        } else if end > top + self.height {
            let top = end.saturating_sub(self.height);
            self.top = (top < self.last_top()).then_some(top);
        }
    }

    /// Expands or collapses the selected item.
    pub(super) fn toggle(&mut self, theme: Theme) {
        let Some(at) = self.chosen() else { return };
        let (top, width) = (self.top(), self.width);
        let entry = &mut self.entries[at];
        entry.part = if entry.part == Part::All { Part::Some } else { Part::All };
        draw(entry, width, theme);
        self.top = (top < self.last_top()).then_some(top);
        self.go_to(at);
    }

    /// Returns the original text of the selected item.
    pub(super) fn chosen_text(&self) -> Option<String> {
        Some(self.entries.get(self.chosen()?)?.item.kind.text())
    }

    /// Returns whether the selected item is cut; `None` if it has no hidden lines.
    pub(super) fn chosen_is_cut(&self) -> Option<bool> {
        let entry = self.entries.get(self.chosen()?)?;
        (entry.cut || entry.part == Part::All).then_some(entry.cut)
    }

    /// Selects the next older or newer item that contains a text, ignoring case. The search wraps around. Returns whether there
    /// is such an item.
    pub(super) fn find(&mut self, text: &str, newer: Newer) -> bool {
        let text = text.to_lowercase();
        let matches = |at: &usize| self.entries[*at].item.kind.text().to_lowercase().contains(&text);
        let (from, end) = (self.chosen(), self.entries.len());
        let found = match newer {
            Newer::Yes => {
                let next = from.map_or(0, |at| at + 1);
                (next..end).chain(0..next).find(matches)
            }
            Newer::No => {
                let from = from.unwrap_or(end);
                (0..from).rev().chain((from..end).rev()).find(matches)
            }
        };
        if let Some(at) = found {
            self.go_to(at);
        }
        found.is_some()
    }

    /// Clears the selection, and follows the end.
    pub(super) fn follow_end(&mut self) {
        self.cursor = None;
        self.top = None;
    }
}

/// The direction of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newer {
    Yes,
    No,
}

/// Counts a warning or an error that came before in the same turn. Returns false if it is new.
fn repeat(entries: &mut [Entry], item: &Item) -> bool {
    let is_warning = match &item.kind {
        ItemKind::Error { .. } => true,
        ItemKind::Other { content, .. } => content.is_null() && !item.id.starts_with(APPROVAL_PREFIX),
        _ => false,
    };
    if !is_warning {
        return false;
    }
    let turn = entries.iter_mut().rev().take_while(|entry| !matches!(entry.item.kind, ItemKind::User { .. }));
    let Some(first) = turn.take(MAX_LOOK_BACK).find(|entry| entry.item.kind == item.kind) else {
        return false;
    };
    first.count += 1;
    first.stale = true;
    true
}

fn draw(entry: &mut Entry, width: usize, theme: Theme) {
    (entry.lines, entry.cut) = item_lines::of(&entry.item, entry.count, entry.part, width, theme);
    entry.stale = false;
}

fn oldest(items: &[NumberedItem], limit: u32) -> Option<i64> {
    let full = items.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    items.last().map(|last| last.seq).filter(|_| full)
}
