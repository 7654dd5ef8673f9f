//! What is on the screen, drawn from the state and nothing else.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::console::{Console, Focus, Panel};
use crate::socket::person::codex::Shown;
use crate::tui::theme::Theme;
use crate::tui::view::{fill, styled, typed};
use crate::tui::wrap::cut;
use crate::visible;

/// Lines of what is typed that are on the screen.
const INPUT: usize = 6;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, console: &Console, theme: Theme) {
    let area = frame.area();
    if area.height < 8 || area.width < 20 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let list = Rect { width: console.list.min(area.width), ..area };
    let body = Rect { x: area.x + list.width, width: area.width - list.width, ..area };
    if list.width > 0 {
        threads(frame, list, console, theme);
    }
    if body.width > 0 {
        thread(frame, body, console, theme);
    }
}

fn threads(frame: &mut Frame<'_>, area: Rect, console: &Console, theme: Theme) {
    let room = usize::from(area.width).saturating_sub(1);
    let here = console.focus == Focus::Threads;
    let title = if console.query.is_empty() {
        "Threads".to_owned()
    } else {
        format!("Threads with `{}`", visible::line(&console.query))
    };
    let mut lines = vec![Line::from(Span::styled(cut(&title, room), Theme::strong()))];
    let rows = usize::from(area.height).saturating_sub(3);
    let first = console.selected.saturating_sub(rows.saturating_sub(1));
    for (at, row) in console.threads.iter().enumerate().skip(first).take(rows) {
        let open = console.thread() == Some(&row.thread);
        let text = fill(&cut(&format!("{} {}", sign(row), visible::line(&row.title)), room), room);
        let style = match (here && at == console.selected, open) {
            (true, _) => Theme::focus(),
            (false, true) => Theme::strong(),
            (false, false) => Style::new(),
        };
        lines.push(Line::from(Span::styled(text, style)));
    }
    if console.threads.is_empty() {
        lines.push(Line::from(Span::styled("none yet", theme.quiet())));
    }
    frame.render_widget(Paragraph::new(lines), area);
    if here {
        let mut hints = match &console.search {
            Some(search) => typed(search, room.saturating_sub(1), Theme::strong(), false),
            None => styled("Enter opens  n new  / search  Esc back", room, theme.quiet()),
        };
        let height = u16::try_from(hints.len()).unwrap_or(1).min(3);
        hints.truncate(usize::from(height));
        frame.render_widget(Paragraph::new(hints), Rect { y: area.y + area.height - height, height, ..area });
    }
}

/// The state of a thread by a sign, with a word where it wants something.
fn sign(row: &Shown) -> &'static str {
    match (row.state.as_str(), row.last_end.as_deref()) {
        ("asking", _) => "? asks:",
        ("running" | "starting", _) => "▶",
        (_, Some("failed")) => "✗",
        _ => "·",
    }
}

fn thread(frame: &mut Frame<'_>, area: Rect, console: &Console, theme: Theme) {
    let room = usize::from(area.width).saturating_sub(2).max(1);
    let mut lines = vec![title(console, room + 2)];
    let foot = foot(console, room, theme);
    let rows = usize::from(area.height).saturating_sub(1 + foot.len());
    let mut body: Vec<Line<'static>> = match &console.open {
        Some(open) => {
            let window = open.transcript.window().into_iter();
            window.map(|(line, chosen)| marked(line, chosen && console.focus == Focus::Transcript)).collect()
        }
        None if console.starting => styled("Codex starts …", room, theme.quiet()),
        None => {
            styled("Type what Codex is to do, and press Enter. Tab goes to the threads.", room, theme.quiet())
        }
    };
    body.truncate(rows);
    // What is short stands above the line that is typed on, as in a conversation.
    lines.extend(body);
    lines.resize(1 + rows, Line::default());
    lines.extend(foot);
    frame.render_widget(Paragraph::new(lines), area);
}

/// A line with its margin.
fn marked(line: Line<'static>, chosen: bool) -> Line<'static> {
    let mut spans = vec![Span::raw(if chosen { "▌ " } else { "  " })];
    spans.extend(line.spans);
    Line::from(spans)
}

fn title(console: &Console, room: usize) -> Line<'static> {
    let text = match &console.open {
        None => " Codex · a new thread".to_owned(),
        Some(open) => match &open.row {
            None => format!(" Codex · {}", visible::line(&open.id)),
            Some(row) => {
                let tokens = open.thread.usage.total.max(u64::try_from(row.tokens).unwrap_or(0));
                format!(
                    " Codex · {} · {} · {} · {} over {} · {tokens} tokens",
                    open.thread.state().as_str(),
                    visible::line(&row.title),
                    visible::line(&row.model),
                    visible::line(&row.version),
                    row.backend,
                )
            }
        },
    };
    Line::from(Span::styled(fill(&cut(&text, room), room), Theme::focus()))
}

/// What Codex waits for, what happened, the line that is typed on, and which keys do what.
fn foot(console: &Console, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(panel) = &console.panel {
        lines.extend(asked(panel, room, theme));
    }
    if let Some(reason) = &console.lost {
        lines.push(Line::from(Span::styled(
            cut(&format!("! {}", visible::line(reason)), room),
            theme.alarm(),
        )));
    }
    if let Some((said, _)) = &console.said {
        lines.push(Line::from(Span::styled(cut(&visible::line(said), room), theme.good())));
    }
    lines.push(Line::from(Span::styled("─".repeat(room), theme.quiet())));
    lines.extend(input(console, room));
    lines.push(Line::from(Span::styled(cut(&hints(console), room), theme.quiet())));
    lines
}

fn asked(panel: &Panel, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let below = panel.lines.len() - panel.top - panel.height;
    let more = match (below, panel.whole) {
        (0, _) => String::new(),
        (below, true) => format!(" {below} more lines: PgDn "),
        (below, false) => format!(" {below} more lines: Ctrl-O shows all "),
    };
    let bar = format!("━━{more}{}", "━".repeat(room.saturating_sub(2 + more.chars().count())));
    lines.push(Line::from(Span::styled(cut(&bar, room), theme.alarm())));
    lines.extend(panel.lines.iter().skip(panel.top).take(panel.height).cloned());
    lines.extend(panel.keys.iter().cloned());
    lines
}

/// Returns the lines of what is typed, of which the cursor's is one.
pub(super) fn input(console: &Console, room: usize) -> Vec<Line<'static>> {
    let here = console.focus == Focus::Input;
    let style = if here { Style::new() } else { Style::new().add_modifier(ratatui::style::Modifier::DIM) };
    if let Some(search) = console.search.as_ref().filter(|_| console.focus == Focus::Transcript) {
        return typed(search, room.saturating_sub(1), Theme::strong(), false)
            .into_iter()
            .map(|line| lead("/", line))
            .take(INPUT)
            .collect();
    }
    let mut lines = typed(&console.editor, room.saturating_sub(2), style, false);
    let cursor = lines.iter().position(|line| line.to_string().contains('▏')).unwrap_or(0);
    let first = (cursor + 1).saturating_sub(INPUT);
    lines = lines.into_iter().skip(first).take(INPUT).collect();
    lines.into_iter().enumerate().map(|(at, line)| lead(if at == 0 { "> " } else { "  " }, line)).collect()
}

fn lead(sign: &'static str, line: Line<'static>) -> Line<'static> {
    let mut spans = vec![Span::raw(sign)];
    spans.extend(line.spans);
    Line::from(spans)
}

fn hints(console: &Console) -> String {
    let busy = console.is_busy();
    match console.focus {
        Focus::Input if console.starting => "Codex starts; Ctrl-C leaves".to_owned(),
        Focus::Input if busy => {
            "Enter into the turn  Alt-Enter after it  Ctrl-C stops it  Tab transcript".to_owned()
        }
        Focus::Input => "Enter sends  Ctrl-J new line  Tab transcript, threads  Ctrl-C leaves".to_owned(),
        Focus::Transcript => {
            let transcript = console.open.as_ref().map(|open| &open.transcript);
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
        Focus::Form => "it is sent with Ctrl-Y".to_owned(),
    }
}
