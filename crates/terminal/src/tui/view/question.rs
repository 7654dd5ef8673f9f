//! The open question: its asker, the state of the repository, the message and the `form_lines`.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{fitted, key_lines, workspace_label};
use crate::tui::inbox::{Inbox, Timestamps, closed_text, no_passphrase};
use crate::tui::question_form::{Overlay, QuestionForm};
use crate::tui::theme::Theme;
use crate::tui::widgets::field_input::{Chosen, Entry};
use crate::tui::widgets::field_inputs::FieldInputs;
use crate::tui::widgets::markdown;
use crate::tui::widgets::styled_text::{QUOTE_WIDTH, quoted, styled, typed};
use crate::tui::widgets::text_input::Editor;
use crate::tui::widgets::wrap::wrap;
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt::span_millis;
use adjutant_host::git::{Facts, change_word};
use adjutant_questions::{Field, Input, Level};

/// All keys of an open question.
const KEYS: [&str; 8] = [
    "1-9, arrows, Space   choose        Enter   confirm, next field, send",
    "Tab, Shift-Tab       other field   Escape  one step back",
    "Ctrl-N   a note with the answer  Ctrl-S  snooze it",
    "Ctrl-F   a file with the answer  R       answer as recommended",
    "Ctrl-R   ask me differently        Ctrl-D  decline",
    "Alt-Enter or Ctrl-J  new line      Ctrl-Z  undo the last answer",
    "PgUp, PgDn           scroll the message   Ctrl-L  draw the screen again",
    "adjutant inbox --plain has lines for a screen reader",
];

/// Maximum changed files that are named.
const MAX_NAMED_FILES: usize = 6;

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    inbox: &Inbox,
    form: &QuestionForm,
    theme: Theme,
    now: Timestamps,
) {
    let columns = usize::from(area.width);
    let mut head = head(inbox, form, theme, now, columns);
    let (form_lines, focus) = form_lines(form, theme, now, columns);
    let height = usize::from(area.height);
    // A low screen shows the form first. The message keeps at least three lines and can be scrolled.
    let least = height.saturating_sub(form_lines.len()).max(3).min(height);
    head.truncate(least.saturating_sub(2).max(1));
    let mut message =
        quoted(markdown::lines(&form.question.message, columns.saturating_sub(QUOTE_WIDTH), theme), theme);
    if message.is_empty() {
        message.push(Line::default());
    }
    let free = height.saturating_sub(head.len());
    let form_rows = form_lines.len().min(free.saturating_sub(message.len().min(3)));
    let rows = free - form_rows;
    let shown = if message.len() > rows { rows.saturating_sub(1) } else { rows };
    form.rows.drawn(form.scroll, message.len(), shown);
    let (message, more) = window(message, form.scroll, rows, theme);
    let form_first = (focus + 1).saturating_sub(form_rows);
    let mut lines = head;
    lines.extend(message);
    if more {
        lines.truncate(height.saturating_sub(form_rows));
    }
    lines.extend(form_lines.into_iter().skip(form_first).take(form_rows));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Cuts the message to its rows, with a last row about the hidden lines.
pub(super) fn window(
    message: Vec<Line<'static>>,
    scroll: usize,
    rows: usize,
    theme: Theme,
) -> (Vec<Line<'static>>, bool) {
    let total = message.len();
    if total <= rows || rows == 0 {
        return (message, false);
    }
    let shown = rows - 1;
    let first = scroll.min(total - shown);
    let below = total - first - shown;
    let mut lines: Vec<_> = message.into_iter().skip(first).take(shown).collect();
    let text = match (first, below) {
        (0, below) => format!("── {} below: PgDn ──", counted(below, "line")),
        (above, 0) => format!("── {} above: PgUp ──", counted(above, "line")),
        (above, below) => format!("── {} above: PgUp, {below} below: PgDn ──", counted(above, "line")),
    };
    lines.push(Line::from(Span::styled(text, theme.quiet())));
    (lines, true)
}

fn head(
    inbox: &Inbox,
    form: &QuestionForm,
    theme: Theme,
    now: Timestamps,
    columns: usize,
) -> Vec<Line<'static>> {
    let question = &form.question;
    let style = theme.agent(&question.client, &question.workspace);
    let name = escape_invisible::escape_line(question.asker());
    let label = workspace_label(inbox, &question.workspace);
    let asks = label.map_or_else(|| " asks".to_owned(), |label| format!(" asks · {label}"));
    let left = format!("{} left", span_millis(question.deadline - now.millis));
    let (name, asks, left) = fitted(&name, &asks, &left, columns.saturating_sub(2));
    let mut lines = vec![Line::from(vec![
        Span::styled("▌ ", style),
        Span::styled(name, style),
        Span::raw(asks),
        Span::styled(left, theme.quiet()),
    ])];
    if let Some(why) = question.presence.absence_reason() {
        let text =
            format!("No client waits for this now: {why}. An answer is kept until the client asks again.");
        lines.extend(styled(&text, columns, theme.quiet()));
    }
    if question.deliveries > 1 && !question.denials.is_empty() {
        let text = format!("An answer counts for {} identical requests", question.deliveries);
        lines.extend(styled(&text, columns, theme.alarm()));
    }
    if question.level == Level::High {
        let text = no_passphrase(question, inbox.set_passphrase_with.as_deref())
            .unwrap_or_else(|| "an answer needs the approval passphrase".to_owned());
        lines.extend(styled(&format!("HIGH: {text}"), columns, theme.alarm()));
    }
    let title = escape_invisible::escape_line(&question.title);
    lines.extend(quoted(styled(&title, columns.saturating_sub(QUOTE_WIDTH), Theme::strong()), theme));
    if !question.workspace.is_empty() {
        let seen = match inbox.facts.get(&question.workspace) {
            None => escape_invisible::escape_line(&question.workspace),
            Some(Err(reason)) => format!("{}: {reason}", escape_invisible::escape_line(&question.workspace)),
            Some(Ok(facts)) => {
                format!("{}: {}", escape_invisible::escape_line(&question.workspace), describe(facts))
            }
        };
        lines.extend(styled(&format!("hub sees {seen}"), columns, theme.quiet()));
    }
    if !question.runs_in.is_empty() {
        let text = format!(
            "The client runs in another folder: {}",
            escape_invisible::escape_line(&question.runs_in)
        );
        lines.extend(styled(&text, columns, theme.alarm()));
    }
    lines.push(Line::from(Span::styled("─".repeat(columns), theme.quiet())));
    lines
}

/// Describes the state of the repository in one sentence fragment.
fn describe(facts: &Facts) -> String {
    let branch = match (&facts.branch, &facts.commit) {
        (Some(branch), Some(commit)) => {
            format!("branch {} at {commit}", escape_invisible::escape_line(branch))
        }
        (Some(branch), None) => format!("branch {}, no commit yet", escape_invisible::escape_line(branch)),
        (None, Some(commit)) => format!("no branch, at {commit}"),
        (None, None) => "no commit yet".to_owned(),
    };
    let more = if facts.more { "more than " } else { "" };
    let changed = match facts.dirty {
        0 => return format!("{branch}, nothing changed"),
        1 => "1 file changed".to_owned(),
        dirty => format!("{more}{dirty} files changed"),
    };
    let lines = if facts.insertions + facts.deletions > 0 {
        format!(", +{} −{} lines", facts.insertions, facts.deletions)
    } else {
        String::new()
    };
    let names =
        facts.files.iter().take(MAX_NAMED_FILES).map(|(letters, name)| {
            format!("{} {}", change_word(letters), escape_invisible::escape_line(name))
        });
    let names = names.collect::<Vec<_>>().join(", ");
    let others = if facts.dirty > MAX_NAMED_FILES { ", …" } else { "" };
    format!("{branch}, {changed}{lines} ({names}{others})")
}

/// Returns the lines of the form, and the line that must be on the screen.
fn form_lines(
    form: &QuestionForm,
    theme: Theme,
    now: Timestamps,
    columns: usize,
) -> (Vec<Line<'static>>, usize) {
    let mut lines = vec![Line::from(Span::styled("─".repeat(columns), theme.quiet()))];
    if let Some(closed) = form.closed {
        lines.extend(styled(
            &format!("This question {}.", closed_text(closed, now.millis)),
            columns,
            theme.alarm(),
        ));
        lines.extend(typed_texts(form).into_iter().flat_map(|text| styled(&text, columns, Style::new())));
        return (lines, 0);
    }
    let (rows, cursor) = field_lines(&form.inputs, form.layer.is_none() && !form.is_preview, theme, columns);
    let mut focus = lines.len() + cursor;
    lines.extend(rows);
    if let Some(text) = form.question.default_sentence() {
        lines.extend(styled(&escape_invisible::escape_line(&text), columns, theme.quiet()));
    }
    if let Some(note) = &form.note {
        lines.extend(styled(&format!("note: {note}"), columns, Style::new()));
    }
    if !form.files.is_empty() {
        let names = form.files.iter().map(|file| escape_invisible::escape_line(&file.name));
        let names = names.collect::<Vec<_>>().join(", ");
        lines.extend(styled(&format!("files: {names}"), columns, Style::new()));
    }
    if let Some(layer) = &form.layer {
        let (rows, cursor) = overlay(layer, columns);
        focus = lines.len() + cursor;
        lines.extend(rows);
    }
    if let Some(fault) = &form.inputs.fault {
        lines.extend(styled(&format!("! {fault}"), columns, theme.alarm()));
        focus = lines.len() - 1;
    }
    if form.sending {
        lines.extend(styled("sending", columns, theme.quiet()));
    } else if form.is_cooling_down(now.at) {
        lines.extend(styled("keys are accepted in a moment", columns, theme.quiet()));
    }
    (lines, focus)
}

/// Returns the typed text of a closed question.
fn typed_texts(form: &QuestionForm) -> Vec<String> {
    let entries = form.inputs.entries.iter().zip(&form.inputs.fields);
    let typed = entries.filter(|(_, field)| !field.secret).filter_map(|(entry, _)| match entry {
        Entry::Typed(editor) | Entry::Choice(Chosen { other: Some(editor), .. }) => Some(editor.text()),
        Entry::Choice(_) | Entry::YesNo(_) => None,
    });
    let texts: Vec<_> = typed.chain(form.note.as_deref()).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { Vec::new() } else { vec![format!("What you typed: {}", texts.join(" / "))] }
}

/// Returns the lines of the inputs of a form, and the one with the cursor. `has_focus` is whether the form has the
/// keyboard focus.
pub(in crate::tui) fn field_lines(
    inputs: &FieldInputs,
    has_focus: bool,
    theme: Theme,
    columns: usize,
) -> (Vec<Line<'static>>, usize) {
    let (mut lines, mut cursor) = (Vec::new(), 0);
    for (at, (entry, field)) in inputs.entries.iter().zip(&inputs.fields).enumerate() {
        let focused = has_focus && at == inputs.focus;
        lines.extend(label(field, inputs.fields.len() > 1, focused, theme, columns));
        let (rows, row) = filled(entry, field, focused, theme, columns);
        if at == inputs.focus {
            cursor = lines.len() + row;
        }
        lines.extend(rows);
    }
    (lines, cursor)
}

/// Returns the label of a field and its valid values; `several` is whether the question has other fields.
fn label(field: &Field, several: bool, focused: bool, theme: Theme, columns: usize) -> Vec<Line<'static>> {
    let name = if field.label.is_empty() && several { &field.name } else { &field.label };
    let mut text = escape_invisible::escape_line(name);
    let wanted = match &field.input {
        Input::Text { format: Some(format), .. } => format.wanted().to_owned(),
        Input::Text { .. } if field.secret => "not shown and not kept".to_owned(),
        Input::Choice { max: 1, .. } | Input::YesNo | Input::Text { .. } => String::new(),
        Input::Choice { min, max, options, .. } if *max >= options.len() && *min <= 1 => {
            "any number of them".to_owned()
        }
        Input::Choice { min, max, .. } => {
            format!("{} to {max} of them", if field.required { (*min).max(1) } else { *min })
        }
        Input::Number { whole, min, max } => {
            let kind = if *whole { "a whole number" } else { "a number" };
            match (min, max) {
                (Some(min), Some(max)) => format!("{kind} from {min} to {max}"),
                (Some(min), None) => format!("{kind} from {min}"),
                (None, Some(max)) => format!("{kind} up to {max}"),
                (None, None) => kind.to_owned(),
            }
        }
        Input::Date { time: false } => "a date like 2026-11-21".to_owned(),
        Input::Date { time: true } => "an instant like 2026-11-21T09:30:00+01:00".to_owned(),
    };
    let wanted = [wanted, if field.required { String::new() } else { "may stay empty".to_owned() }];
    let wanted: Vec<_> = wanted.into_iter().filter(|text| !text.is_empty()).collect();
    if !wanted.is_empty() {
        let wanted = wanted.join(", ");
        text = if text.is_empty() { format!("({wanted})") } else { format!("{text} ({wanted})") };
    }
    let mut lines = Vec::new();
    if !text.is_empty() {
        let mark = if focused && several { "› " } else { "" };
        let free = columns.saturating_sub(QUOTE_WIDTH + mark.len());
        lines = quoted(styled(&text, free, Theme::strong()), theme);
        lines[0].spans.insert(0, Span::styled(mark, Theme::strong()));
    }
    if !field.description.is_empty() {
        let description = escape_invisible::escape_line(&field.description);
        lines.extend(quoted(styled(&description, columns.saturating_sub(QUOTE_WIDTH), theme.quiet()), theme));
    }
    lines
}

/// Returns the lines of a field, and the one with the cursor.
fn filled(
    entry: &Entry,
    field: &Field,
    focused: bool,
    theme: Theme,
    columns: usize,
) -> (Vec<Line<'static>>, usize) {
    match (entry, &field.input) {
        (Entry::Choice(chosen), Input::Choice { options, max, .. }) => {
            let labels = options.iter().map(|option| {
                let label = escape_invisible::escape_line(&option.label);
                let value = escape_invisible::escape_line(&option.value);
                if label == value || label.is_empty() { value } else { label }
            });
            let mut lines = Vec::new();
            let mut cursor = 0;
            for (at, label) in labels.enumerate() {
                let marked = chosen.marked.contains(&at);
                let focused = focused && chosen.cursor == Some(at);
                if focused {
                    cursor = lines.len();
                }
                lines.extend(option(at, &label, marked, *max == 1, focused, columns));
            }
            if let Some(editor) = &chosen.other {
                let focused = focused && chosen.cursor == Some(options.len());
                if focused {
                    cursor = lines.len();
                }
                let marked = chosen.cursor == Some(options.len()) || !editor.text().is_empty();
                lines.extend(option(options.len(), "Something else:", marked, *max == 1, focused, columns));
                if focused {
                    lines.extend(typed(editor, columns, Style::new(), field.secret));
                } else if !editor.text().is_empty() {
                    lines.extend(styled(&readable(editor, field), columns, Style::new()));
                }
            }
            (lines, cursor)
        }
        (Entry::YesNo(given), _) => {
            let option = |at, text, value| {
                option(at, text, *given == Some(value), true, focused && *given == Some(value), columns)
            };
            let mut lines = option(0, "Yes", true);
            lines.extend(option(1, "No", false));
            (lines, usize::from(*given == Some(false)))
        }
        (Entry::Typed(editor), _) if focused => {
            let lines = typed(editor, columns, Style::new(), field.secret);
            let cursor = lines.len().saturating_sub(1);
            (lines, cursor)
        }
        (Entry::Typed(editor), _) => {
            let text = if editor.text().is_empty() { "…".to_owned() } else { readable(editor, field) };
            (text.split('\n').flat_map(|line| styled(line, columns, theme.quiet())).collect(), 0)
        }
        (Entry::Choice(_), _) => (Vec::new(), 0),
    }
}

/// Returns the text of an editor without the focus; of a secret, only its length.
fn readable(editor: &Editor, field: &Field) -> String {
    let text = editor.text();
    if field.secret { "•".repeat(text.chars().count()) } else { text.to_owned() }
}

fn option(
    at: usize,
    label: &str,
    marked: bool,
    single: bool,
    focused: bool,
    columns: usize,
) -> Vec<Line<'static>> {
    let number = if at < 9 { (at + 1).to_string() } else { " ".to_owned() };
    let mark = match (single, marked) {
        (true, true) => "(•)",
        (true, false) => "( )",
        (false, true) => "[x]",
        (false, false) => "[ ]",
    };
    let pointer = if focused { "›" } else { " " };
    let lead = format!("{pointer}{number} {mark} ");
    let style = if focused {
        Theme::focus()
    } else if marked {
        Theme::strong()
    } else {
        Style::new()
    };
    let rows = wrap(label, columns.saturating_sub(7), 0);
    rows.into_iter()
        .enumerate()
        .map(|(row, text)| {
            let lead = if row == 0 { lead.clone() } else { " ".repeat(7) };
            Line::from(vec![Span::raw(lead), Span::styled(text, style)])
        })
        .collect()
}

/// Returns the lines of an overlay, and the line with the cursor.
fn overlay(layer: &Overlay, columns: usize) -> (Vec<Line<'static>>, usize) {
    let (head, editor, hidden) = match layer {
        Overlay::Note(editor) => ("A note for the agent, sent with your answer:", editor, false),
        Overlay::File(editor) => {
            ("The path of a file to send with the answer; an empty one removes the last:", editor, false)
        }
        Overlay::Snooze(editor) => {
            ("Snooze for how many minutes? (1 to 60; 10 if you type nothing)", editor, false)
        }
        Overlay::Redirect(editor) => ("How should it be asked? The agent reads this:", editor, false),
        Overlay::Decline(editor) => ("Decline this question? You may say why:", editor, false),
        Overlay::Passphrase { typed, .. } => ("The approval passphrase, to send this answer:", typed, true),
        Overlay::Help => return (key_lines(&KEYS, columns), 0),
    };
    let mut lines = styled(head, columns, Theme::strong());
    lines.extend(typed(editor, columns, Style::new(), hidden));
    let last = lines.len() - 1;
    (lines, last)
}

/// Returns the active keys.
pub(super) fn hints(inbox: &Inbox, form: &QuestionForm, now: Timestamps) -> Vec<String> {
    let is_locked = no_passphrase(&form.question, inbox.set_passphrase_with.as_deref()).is_some();
    let words: &[&str] = match &form.layer {
        _ if form.closed.is_some_and(|how| how.until.is_some_and(|until| until > now.millis)) => {
            &["Ctrl-Z undoes the answer", "Enter or Esc: back to the list"]
        }
        _ if form.closed.is_some() => &["Enter or Esc: back to the list"],
        Some(Overlay::Help) => &["any key closes"],
        Some(Overlay::Note(_)) => &["Enter keeps the note", "Esc back"],
        Some(Overlay::File(_)) => &["Enter adds the file", "Esc back"],
        Some(Overlay::Snooze(_)) => &["Enter snoozes", "Esc back"],
        Some(Overlay::Redirect(_)) => &["Enter sends it", "Esc back"],
        Some(Overlay::Decline(_)) => &["Enter declines", "Esc back"],
        Some(Overlay::Passphrase { .. }) => &["Enter sends the answer", "Esc back"],
        None => {
            let choose = match form.inputs.focused() {
                Some((Entry::YesNo(_), _)) => "y/n choose",
                Some((Entry::Choice(_), Field { input: Input::Choice { max: 1, .. }, .. }))
                    if !form.takes_text() =>
                {
                    "1-9 choose"
                }
                Some((Entry::Choice(_), _)) if !form.takes_text() => "1-9 mark",
                _ => "",
            };
            let enter = match (form.is_cooling_down(now.at), form.inputs.is_at_end()) {
                (true, _) => "",
                (false, true) if is_locked => "",
                (false, true) => "Enter sends",
                (false, false) => "Enter next",
            };
            let words = [
                choose,
                if form.recommended().is_some() && !form.is_cooling_down(now.at) && !is_locked {
                    "r recommended"
                } else {
                    ""
                },
                enter,
                "Esc back",
                "^N note",
                if form.question.denials.is_empty() { "^F file" } else { "" },
                "^S snooze",
                "^R ask differently",
                "^D decline",
                "F1 keys",
            ];
            return words.iter().filter(|word| !word.is_empty()).map(|word| (*word).to_owned()).collect();
        }
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}
