//! The list of pending questions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{fitted, workspace_label};
use crate::tui::inbox::{Inbox, ListLayer, Timestamps, availability_text, closed_text};
use crate::tui::theme::Theme;
use crate::tui::widgets::styled_text::{fill, styled};
use crate::tui::widgets::wrap::{cut, width};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt::span_millis;
use adjutant_questions::{Availability, Level, Question};

/// All keys of the list.
pub(super) const KEYS: [&str; 6] = [
    "arrows, j, k  choose a question        Home, End   the first, the last",
    "PgUp, PgDn    eight questions further  Enter, 1-9  open",
    "b             all approvals together   u, Ctrl-Z   undo the last answer",
    "a             here or away             Ctrl-L      draw the screen again",
    "F1, ?         these keys               q, Ctrl-C   quit",
    "adjutant inbox --plain has lines for a screen reader",
];

/// Lines of one question.
const ROWS: usize = 2;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, inbox: &Inbox, theme: Theme, now: Timestamps) {
    let columns = usize::from(area.width);
    let mut lines = vec![head(inbox, now, columns), Line::default()];
    if inbox.questions.is_empty() {
        let text = match (&inbox.disconnected, inbox.current) {
            (Some(_), _) => "Looking for the hub.",
            (None, false) => "Asking the hub.",
            (None, true) => "There are no pending questions. Questions of your agents appear here.",
        };
        lines.extend(styled(text, columns, theme.quiet()));
    }
    let fits = usize::from(area.height).saturating_sub(lines.len()) / ROWS;
    let fits = fits.max(1);
    let first = (inbox.selected + 1).saturating_sub(fits);
    for (at, question) in inbox.questions.iter().enumerate().skip(first).take(fits) {
        lines.extend(rows(inbox, question, at, theme, now, columns));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn head(inbox: &Inbox, now: Timestamps, columns: usize) -> Line<'static> {
    let visible = inbox.questions.len();
    let count = match inbox.total.max(visible as u64) {
        0 => String::new(),
        1 => " · 1 question".to_owned(),
        total if total > visible as u64 => format!(" · {total} questions, the first {visible} here"),
        total => format!(" · {total} questions"),
    };
    let availability = match inbox.availability {
        Availability::Here => String::new(),
        other => format!(" · {}", availability_text(other, now.millis)),
    };
    let head = format!("Adjutant Inbox{availability}{count}");
    Line::from(Span::styled(fill(&cut(&head, columns), columns), Theme::strong()))
}

fn rows(
    inbox: &Inbox,
    question: &Question,
    at: usize,
    theme: Theme,
    now: Timestamps,
    columns: usize,
) -> [Line<'static>; ROWS] {
    let open = inbox.form.as_ref().map(|form| &form.question.ticket);
    let chosen = open.map_or(at == inbox.selected, |open| *open == question.ticket);
    let mark = if chosen { "›" } else { " " };
    let number = if at < 9 { (at + 1).to_string() } else { " ".to_owned() };
    let high = if question.level == Level::High { " HIGH" } else { "" };
    let lead = format!("{mark}{number} ");
    let title = escape_invisible::escape_line(&question.title);
    let title = cut(&title, columns.saturating_sub(width(&lead) + high.len()));
    // The keyboard focus is in the question that is open.
    let title_style = if chosen && open.is_none() { Theme::focus() } else { Theme::strong() };
    let mut first = vec![Span::raw(lead), Span::styled(title, title_style)];
    if !high.is_empty() {
        first.push(Span::styled(high, theme.alarm()));
    }
    let mut facts = Vec::new();
    facts.extend(workspace_label(inbox, &question.workspace));
    facts.extend(workspace_label(inbox, &question.runs_in).map(|folder| format!("runs in {folder}")));
    let snoozed = question.snoozed_until.filter(|until| *until > now.millis);
    facts.push(match snoozed {
        Some(until) => format!("snoozed for {}", span_millis(until - now.millis)),
        None => format!("{} ago", span_millis(now.millis - question.asked_at)),
    });
    facts.extend(question.presence.absence_reason().map(str::to_owned));
    if question.deliveries > 1 {
        facts.push(format!("{} requests wait for it", question.deliveries));
    }
    let last = match inbox.held.get(&question.ticket) {
        Some(how) => closed_text(*how, now.millis),
        None => format!("{} left", span_millis(question.deadline - now.millis)),
    };
    let name = escape_invisible::escape_line(question.asker());
    let (name, facts, last) =
        fitted(&name, &format!(" · {}", facts.join(" · ")), &last, columns.saturating_sub(5));
    let style = theme.agent(&question.client, &question.workspace);
    let second = vec![
        Span::raw("   "),
        Span::styled("▌ ", style),
        Span::styled(name, style),
        Span::styled(facts + &last, theme.quiet()),
    ];
    [Line::from(first), Line::from(second)]
}

pub(super) fn hints(inbox: &Inbox) -> Vec<String> {
    match inbox.layer {
        Some(ListLayer::Availability) => {
            let hints = [
                "1 here",
                "2 do not disturb for 1 h",
                "3 away for 1 h",
                "4 away until you are back",
                "Esc back",
            ];
            return hints.map(ToOwned::to_owned).into();
        }
        Some(ListLayer::Help) => return vec!["any key closes".to_owned()],
        None => {}
    }
    let mut hints = Vec::new();
    if !inbox.questions.is_empty() {
        hints.extend(["↑↓ choose".to_owned(), "Enter opens".to_owned()]);
    }
    if inbox.pending_approvals().next().is_some() {
        hints.push("b approvals together".to_owned());
    }
    if inbox.held_here().is_some() {
        hints.push("u undoes the answer".to_owned());
    }
    hints.extend(["a here or away".to_owned(), "q quits".to_owned(), "F1 keys".to_owned()]);
    hints
}
