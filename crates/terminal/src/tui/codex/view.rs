//! Draws the Codex view from its state.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::input_box;
use super::state::{Focus, Panel, ViewState};
use crate::tui::theme::Theme;
use crate::tui::widgets::styled_text::{fill, styled, typed};
use crate::tui::widgets::wrap::cut;
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible;
use adjutant_codex::ListedThread;
use adjutant_codex::thread::ThreadState;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &ViewState, theme: Theme) {
    let area = frame.area();
    if area.height < 8 || area.width < 20 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let list = Rect { width: state.list.min(area.width), ..area };
    let body = Rect { x: area.x + list.width, width: area.width - list.width, ..area };
    if list.width > 0 {
        threads(frame, list, state, theme);
    }
    if body.width > 0 {
        thread(frame, body, state, theme);
    }
}

fn threads(frame: &mut Frame<'_>, area: Rect, state: &ViewState, theme: Theme) {
    let columns = usize::from(area.width).saturating_sub(1);
    let focused = state.focus == Focus::Threads;
    let title = if state.query.is_empty() {
        "Threads".to_owned()
    } else {
        format!("Threads with `{}`", escape_invisible::escape_line(&state.query))
    };
    let mut lines = vec![Line::from(Span::styled(cut(&title, columns), Theme::strong()))];
    let rows = usize::from(area.height).saturating_sub(3);
    let first = state.selected.saturating_sub(rows.saturating_sub(1));
    for (at, thread) in state.threads.iter().enumerate().skip(first).take(rows) {
        let open = state.thread() == Some(&thread.row.id);
        let text = fill(
            &cut(&format!("{} {}", sign(thread), escape_invisible::escape_line(&thread.row.title)), columns),
            columns,
        );
        let style = match (focused && at == state.selected, open) {
            (true, _) => Theme::focus(),
            (false, true) => Theme::strong(),
            (false, false) => Style::new(),
        };
        lines.push(Line::from(Span::styled(text, style)));
    }
    if state.threads.is_empty() {
        lines.push(Line::from(Span::styled("none yet", theme.quiet())));
    }
    frame.render_widget(Paragraph::new(lines), area);
    if focused {
        let mut hints = match &state.search {
            Some(search) => typed(search, columns.saturating_sub(1), Theme::strong(), false),
            None => styled("Enter opens  n new  / search  Esc back", columns, theme.quiet()),
        };
        let height = u16::try_from(hints.len()).unwrap_or(1).min(3);
        hints.truncate(usize::from(height));
        frame.render_widget(Paragraph::new(hints), Rect { y: area.y + area.height - height, height, ..area });
    }
}

/// Returns the sign of a thread's state, with a word if it needs the user.
fn sign(thread: &ListedThread) -> &'static str {
    match (thread.state, thread.row.last_end.as_deref()) {
        (ThreadState::Asking, _) => "? asks:",
        (ThreadState::Running | ThreadState::Starting, _) => "▶",
        (_, Some("failed")) => "✗",
        _ => "·",
    }
}

fn thread(frame: &mut Frame<'_>, area: Rect, state: &ViewState, theme: Theme) {
    let columns = usize::from(area.width).saturating_sub(2).max(1);
    let mut lines = vec![title(state, columns + 2)];
    let foot = foot(state, columns, theme);
    let rows = usize::from(area.height).saturating_sub(1 + foot.len());
    let mut body: Vec<Line<'static>> = match &state.open {
        Some(open) => {
            let window = open.transcript.window().into_iter();
            window.map(|(line, chosen)| marked(line, chosen && state.focus == Focus::Transcript)).collect()
        }
        None if state.starting => styled("Codex starts …", columns, theme.quiet()),
        None => styled(
            "Type a prompt for Codex, and press Enter. Tab selects the threads.",
            columns,
            theme.quiet(),
        ),
    };
    body.truncate(rows);
    // A short transcript is shown above the input box, as in a conversation.
    lines.extend(body);
    lines.resize(1 + rows, Line::default());
    lines.extend(foot);
    frame.render_widget(Paragraph::new(lines), area);
}

/// A line with its margin.
fn marked(mut line: Line<'static>, chosen: bool) -> Line<'static> {
    line.spans.insert(0, Span::raw(if chosen { "▌ " } else { "  " }));
    line
}

fn title(state: &ViewState, columns: usize) -> Line<'static> {
    let text = match &state.open {
        None => " Codex · a new thread".to_owned(),
        Some(open) => match &open.row {
            None => format!(" Codex · {}", escape_invisible::escape_line(&open.id)),
            Some(ListedThread { row, .. }) => {
                let (used, window) = (open.thread.usage.context, open.thread.usage.window);
                let free = (window > 0).then(|| 100 - (used.saturating_mul(100) / window).min(100));
                let context = free.map(|free| format!(" · {free}% context left"));
                let limits = open.thread.limits.windows.iter().map(|limit| format!(" · {}", limit.words()));
                let left: String = context.into_iter().chain(limits).collect();
                let tokens = open.thread.usage.total.max(u64::try_from(row.tokens).unwrap_or(0));
                format!(
                    " Codex · {} · {} · {}{} · Codex {} · {tokens} tokens",
                    open.thread.state().name(),
                    escape_invisible::escape_line(&row.title),
                    escape_invisible::escape_line(&row.model),
                    escape_invisible::escape(&left),
                    escape_invisible::escape_line(&row.version),
                )
            }
        },
    };
    Line::from(Span::styled(fill(&cut(&text, columns), columns), Theme::focus()))
}

/// Returns the lines at the bottom: the pending approval, the notice, the input box and the keys.
fn foot(state: &ViewState, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(panel) = &state.panel {
        lines.extend(approval(panel, columns, theme));
    }
    if let Some(reason) = &state.disconnected {
        lines.push(Line::from(Span::styled(
            cut(&format!("! {}", escape_invisible::escape_line(reason)), columns),
            theme.alarm(),
        )));
    }
    if let Some(left) = state.left_commands() {
        lines.push(Line::from(Span::styled(cut(&left, columns), theme.alarm())));
    }
    lines.extend(state.notice_lines(columns, theme));
    let attached = match escape_invisible::escape_line(&state.attachments()) {
        attached if attached.is_empty() => attached,
        attached => format!("── {attached} "),
    };
    let rule = format!("{attached}{}", "─".repeat(columns));
    lines.push(Line::from(Span::styled(rule.chars().take(columns).collect::<String>(), theme.quiet())));
    lines.extend(input_box::lines(&state.editor, state.search(), state.focus == Focus::Input, columns));
    lines.push(Line::from(Span::styled(cut(&hints(state), columns), theme.quiet())));
    lines
}

fn approval(panel: &Panel, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let below = panel.lines.len() - panel.top - panel.height;
    let more = match (below, panel.expanded) {
        (0, _) => String::new(),
        (below, true) => format!(" {} below: PgDn ", counted(below, "line")),
        (below, false) => format!(" {} below: Ctrl-O shows all ", counted(below, "line")),
    };
    let bar = format!("━━{more}{}", "━".repeat(columns.saturating_sub(2 + more.chars().count())));
    lines.push(Line::from(Span::styled(cut(&bar, columns), theme.alarm())));
    lines.extend(panel.lines.iter().skip(panel.top).take(panel.height).cloned());
    lines.extend(panel.keys.iter().cloned());
    lines
}

fn hints(state: &ViewState) -> String {
    let busy = state.is_busy();
    match state.focus {
        Focus::Input if state.starting => "Codex starts; Ctrl-C leaves".to_owned(),
        Focus::Input if busy => {
            "Enter add to the turn  Alt-Enter after it  Ctrl-C interrupt  Tab transcript".to_owned()
        }
        Focus::Input => "Enter sends  Ctrl-J new line  Tab transcript, threads  Ctrl-C leaves".to_owned(),
        Focus::Transcript => {
            let transcript = state.open.as_ref().map(|open| &open.transcript);
            let toggle = match transcript.and_then(super::transcript::Transcript::chosen_is_cut) {
                Some(true) => "Enter shows all  ",
                Some(false) => "Enter shows less  ",
                None => "",
            };
            let below = transcript.map_or(0, super::transcript::Transcript::below);
            let below = if below > 0 { format!("  End ({below} lines below)") } else { String::new() };
            format!("{toggle}↑↓ choose  c copy  / search  n older match  Esc type{below}")
        }
        Focus::Threads => "Tab back".to_owned(),
        Focus::Form => "Ctrl-Y sends it".to_owned(),
    }
}
