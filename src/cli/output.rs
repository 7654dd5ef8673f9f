//! The only place that prints: data on stdout, everything else on stderr.

mod table;

use std::fmt::{Display, Write as _};
use std::io::{self, BufRead as _, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};

use adjutant_base::config::{self, env};
use adjutant_base::text::escape_invisible::{escape, escape_json};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_host::recorder;
use adjutant_terminal::relay;
use adjutant_terminal::socket;

/// Whether only data and errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);
/// Whether results and errors are printed as JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Suppresses notes from now on.
pub(super) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Returns whether notes are suppressed.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints results and errors as JSON from now on, and suppresses notes.
pub(super) fn set_json() {
    JSON.store(true, Ordering::Relaxed);
    set_quiet();
}

/// Returns whether results and errors are printed as JSON.
pub(crate) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// The failure of a command, as the user reads it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) message: String,
    /// Remedies, one sentence each.
    pub(super) hints: Vec<String>,
    code: u8,
    /// Whether a general remedy is printed if it has none.
    has_general_hint: bool,
}

impl Failure {
    /// Makes a failure with exit code 1.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hints: Vec::new(), code: 1, has_general_hint: true }
    }

    /// Makes a failure of the command line: exit code 2.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: 2, ..Self::new(message) }
    }

    /// Gives it another exit code; 2 is a failure of the command line.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Adds a remedy, one sentence.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Adds the similar names as a hint.
    pub(crate) fn suggest(self, names: &[String]) -> Self {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        if names.is_empty() { self } else { self.hint(format!("did you mean {}?", names.join(" or "))) }
    }

    /// Prints it on stderr and returns the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let default = match self.code {
            2 => "`adjutant --help` shows every command, `adjutant COMMAND --help` the use of one",
            _ => "`adjutant doctor` checks the installation",
        };
        let default = (self.has_general_hint && self.hints.is_empty()).then(|| default.to_owned());
        let hints: Vec<&String> = self.hints.iter().chain(&default).collect();
        if is_json() {
            let error = json!({"error": self.message, "hints": hints, "exit_code": self.code});
            to_stderr(&format!("{}\n", escape_json(&error.to_string())));
            return ExitCode::from(self.code);
        }
        let (red, cyan, plain) =
            if colour(&io::stderr()) { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
        let mut text = format!("{red}error:{plain} {}\n", escape(&self.message));
        for hint in hints {
            let _ = writeln!(text, "{cyan}hint:{plain} {}", escape(hint));
        }
        to_stderr(&text);
        ExitCode::from(self.code)
    }
}

impl From<config::Error> for Failure {
    fn from(error: config::Error) -> Self {
        Self::new(&error).hint(error.hint())
    }
}

impl From<socket::Error> for Failure {
    fn from(error: socket::Error) -> Self {
        // Without a hint, the hub has rejected the request for a reason that names the remedy.
        let failure = Self { has_general_hint: false, ..Self::new(&error) };
        error.hint().into_iter().fold(failure, Self::hint)
    }
}

impl From<relay::Error> for Failure {
    fn from(error: relay::Error) -> Self {
        error.hint().into_iter().fold(Self::new(&error), Self::hint)
    }
}

impl From<socket::control::Error> for Failure {
    fn from(error: socket::control::Error) -> Self {
        match error {
            socket::control::Error::Hub(error) => error.into(),
            socket::control::Error::Rejected(rejection) => {
                let hints = rejection.hints.iter().map(|hint| escape(hint).into_owned()).collect();
                // A hub that runs and answers has no fault that the doctor finds, and its message names the remedy.
                Self { hints, has_general_hint: false, ..Self::new(escape(&rejection.message)) }
            }
        }
    }
}

impl From<recorder::reader::Error> for Failure {
    fn from(error: recorder::reader::Error) -> Self {
        use recorder::reader::Error;
        let hint = match error {
            Error::Unknown(_) | Error::Several { .. } | Error::NoHeader(_) => {
                "`adjutant log list` lists the recordings"
            }
            Error::Newer { .. } => "read it with the adjutant that wrote it, or a newer one",
            Error::Nothing => {
                "Codex sessions are recorded; [log] record in config.toml names other connections"
            }
            Error::Io { .. } => return Self::new(error),
        };
        Self::new(error).hint(hint)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(error)
    }
}

/// Writes a line of data to stdout. A closed pipe is not a failure; a full disk is.
pub(crate) fn data(line: &str) -> Result<(), Failure> {
    raw(format!("{line}\n").as_bytes()).map(drop)
}

/// Writes bytes to stdout unchanged, and flushes. Returns whether a reader is left.
pub(crate) fn raw(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("cannot write to stdout: {error}"))),
    }
}

/// Writes `value` to stdout as indented JSON, its invisible characters as escapes.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    data(&escape_json(&serde_json::to_string_pretty(value).map_err(Failure::new)?))
}

/// Reports a change: `value` as JSON on stdout, or else the note `line`.
pub(crate) fn changed(line: impl Display, value: &Value) -> Result<(), Failure> {
    if is_json() {
        return json(value);
    }
    note(line);
    Ok(())
}

/// Returns an object with its id as `id` and as the member `typed`; one of them is there.
pub(crate) fn identified(mut value: Value, typed: &str) -> Value {
    let id = value.get("id").or_else(|| value.get(typed)).cloned();
    if let (Some(members), Some(id)) = (value.as_object_mut(), id) {
        members.insert("id".to_owned(), id.clone());
        members.insert(typed.to_owned(), id);
    }
    value
}

/// Returns a list as JSON, its objects identified by `typed`. `total` counts also the objects of other pages, and `next` is
/// where the next page begins.
pub(crate) fn page(items: Vec<Value>, typed: &str, total: Option<u64>, next: Option<i64>) -> Value {
    let items: Vec<Value> = items.into_iter().map(|item| identified(item, typed)).collect();
    json!({"items": items, "total": total, "next": next})
}

/// Returns a whole list as JSON, its objects identified by `typed`.
pub(crate) fn list(items: Vec<Value>, typed: &str) -> Value {
    let total = items.len() as u64;
    page(items, typed, Some(total), None)
}

/// Returns an object with the members of a second object.
pub(crate) fn with(mut value: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (value.as_object_mut(), more) {
        members.extend(more);
    }
    value
}

/// Replaces milliseconds since 1970 in the members at these paths by RFC 3339.
pub(crate) fn with_instants(mut value: Value, paths: &[&str]) -> Value {
    for path in paths {
        if let Some(member) = value.pointer_mut(path)
            && let Some(millis) = member.as_i64()
        {
            *member = stamp(instant(millis)).into();
        }
    }
    value
}

/// Writes a line for the user to stderr, unless notes are suppressed.
pub(crate) fn note(line: impl Display) {
    if !is_quiet() {
        to_stderr(&format!("{}\n", escape(&line.to_string())));
    }
}

/// Writes an error of the command line as clap renders it.
pub(super) fn usage_error(text: &str) {
    to_stderr(text);
}

/// Makes a progress bar. It is drawn on a terminal only, and not if notes are suppressed.
pub(crate) fn bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::no_length().with_style(style);
    if is_quiet() || env::is_dumb_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

/// Returns whether a command can ask for consent. Without a terminal, the command itself is the consent.
pub(crate) fn can_confirm() -> bool {
    !is_json() && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for consent on the terminal; an empty line means `default`.
pub(crate) fn confirmed(question: &str, default: bool) -> Result<bool, Failure> {
    prompt(question);
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(match line.trim().to_lowercase().as_str() {
        "" => default && !line.is_empty(),
        word => matches!(word, "y" | "yes"),
    })
}

/// Writes a question to stderr, for an answer on the same line.
pub(crate) fn prompt(question: &str) {
    to_stderr(question);
}

/// Writes a table to stdout, or the note `empty` if it has no rows. The column `flexible`, counted from 0, is clipped on a
/// narrow terminal.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    flexible: usize,
    rows: &[[String; N]],
    empty: &str,
) -> Result<(), Failure> {
    if rows.is_empty() {
        note(empty);
        return Ok(());
    }
    let bold = if colour(&io::stdout()) { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    table::lines(head, flexible, rows, width(), bold).iter().try_for_each(|line| data(line))
}

/// Wraps a text for the terminal at stdout. All lines begin in the column `indent`.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    table::wrapped(text, indent, width())
}

/// Writes untrusted text to stdout: escaped on a terminal, unchanged for a program.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { data(&escape(text)) } else { data(text) }
}

/// Returns a text of at most `limit` characters, with a mark if it was cut.
pub(crate) fn clipped(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Puts `mark` before each line of an untrusted text, and on a terminal before each row that a long line takes there:
/// nothing in the text can look like a line with another mark. Invisible characters are escaped.
pub(crate) fn marked(mark: &str, text: &str) -> String {
    /// Columns of a row at least, also on the narrowest terminal.
    const MIN_COLUMNS: usize = 20;
    let columns = width().or_else(|| columns(io::stderr())).unwrap_or(usize::MAX);
    let available = columns.saturating_sub(mark.len()).max(MIN_COLUMNS);
    let mut lines = String::new();
    for line in escape(text).split('\n') {
        let begin = if lines.is_empty() { "" } else { "\n" };
        lines.extend([begin, mark]);
        let mut used = 0;
        for character in line.chars() {
            let wide = match character {
                ' '..='~' => 1,
                '\t' => 8,
                // Two columns at most; terminals differ.
                _ => 2,
            };
            if used + wide > available {
                lines.extend(["\n", mark]);
                used = 0;
            }
            lines.push(character);
            used += wide;
        }
    }
    lines
}

/// Returns whether stdout and stderr are the same terminal, pipe or file, so that a reader sees the lines of both there.
pub(crate) fn is_one_stream() -> bool {
    fn identity(stream: impl AsFd) -> Option<(u64, u64)> {
        rustix::fs::fstat(stream).ok().map(|found| (found.st_dev, found.st_ino))
    }
    identity(io::stdout()) == identity(io::stderr())
}

/// Returns the columns of the terminal at stdout; `None` for a pipe or a file.
fn width() -> Option<usize> {
    env::columns().or_else(|| columns(io::stdout()))
}

/// Returns the columns of the terminal at `stream`; `None` for a pipe or a file.
fn columns(stream: impl AsFd + IsTerminal) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok())??;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns whether `stream` shows colours: the environment says so, or it is a terminal.
pub(crate) fn colour(stream: &impl IsTerminal) -> bool {
    env::colour().unwrap_or_else(|| stream.is_terminal())
}

fn to_stderr(text: &str) {
    // A failure of stderr itself cannot be reported anywhere.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
