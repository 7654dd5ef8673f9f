//! The only place that prints: data on stdout, everything else on stderr.

mod table;

use std::fmt::{Display, Write as _};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use adjutant_base::config::{self, env};
use adjutant_base::text::escape_invisible::escape;
use adjutant_host::recorder;
use adjutant_terminal::relay;
use adjutant_terminal::socket;

/// Whether the person wants to read nothing but data and errors.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves notes away from now on.
pub(super) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Tells whether notes are left away.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Why a command ends without having done its work, as a person reads it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) message: String,
    /// What to do about it, one sentence each.
    pub(super) hints: Vec<String>,
    code: u8,
}

impl Failure {
    /// Makes a failure of the work itself: exit code 1.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hints: Vec::new(), code: 1 }
    }

    /// Makes a failure of the command line: exit code 2.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: 2, ..Self::new(message) }
    }

    /// Makes it a failure of the command line, where what failed to be read stood there.
    pub(crate) fn of_usage(self) -> Self {
        Self { code: 2, ..self }
    }

    /// Adds a sentence that says what to do.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Adds the names that were meant, perhaps.
    pub(crate) fn suggest(self, names: &[String]) -> Self {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        if names.is_empty() { self } else { self.hint(format!("did you mean {}?", names.join(" or "))) }
    }

    /// Says it on stderr and returns the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let (red, cyan, plain) =
            if colour(&io::stderr()) { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
        let mut text = format!("{red}error:{plain} {}\n", self.message);
        let usual = match self.code {
            2 => "`adjutant --help` shows every command, `adjutant COMMAND --help` how one is used",
            _ => "`adjutant doctor` checks the installation",
        };
        let usual = self.hints.is_empty().then(|| usual.to_owned());
        for hint in self.hints.iter().chain(&usual) {
            let _ = writeln!(text, "{cyan}hint:{plain} {hint}");
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
        let failure = Self::new(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<relay::Error> for Failure {
    fn from(error: relay::Error) -> Self {
        let failure = Self::new(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<socket::control::Error> for Failure {
    fn from(error: socket::control::Error) -> Self {
        match error {
            socket::control::Error::Hub(error) => error.into(),
            socket::control::Error::Refused(refusal) => {
                let hints = refusal.hints.iter().map(|hint| escape(hint).into_owned()).collect();
                Self { hints, ..Self::new(escape(&refusal.message)) }
            }
        }
    }
}

impl From<recorder::reader::Error> for Failure {
    fn from(error: recorder::reader::Error) -> Self {
        let failure = Self::new(&error);
        match error {
            recorder::reader::Error::Unknown(_)
            | recorder::reader::Error::Several { .. }
            | recorder::reader::Error::NoHeader(_) => failure.hint("`adjutant log list` names them all"),
            recorder::reader::Error::Newer { .. } => {
                failure.hint("read it with the adjutant that wrote it, or a newer one")
            }
            recorder::reader::Error::Nothing => failure
                .hint("Codex sessions are recorded; [log] record in config.toml names other connections"),
            recorder::reader::Error::Io { .. } => failure,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(error)
    }
}

/// Writes a line of data to stdout. A reader that went away is no failure; a full disk is.
pub(crate) fn data(line: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to stdout: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes bytes to stdout as they are, at once; tells whether anybody reads them.
pub(crate) fn raw(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("cannot write to stdout: {error}"))),
    }
}

/// Writes `value` to stdout as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    data(&serde_json::to_string_pretty(value).map_err(Failure::new)?)
}

/// Writes a line for the person to stderr, unless they asked for quiet.
pub(crate) fn note(line: impl Display) {
    if !is_quiet() {
        to_stderr(&format!("{line}\n"));
    }
}

/// Makes a bar for what may take longer than a second, drawn on a terminal alone, and not for one who wants quiet.
pub(crate) fn bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::no_length().with_style(style);
    if is_quiet() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

/// Writes a question to stderr, for an answer on the same line.
pub(crate) fn prompt(question: &str) {
    to_stderr(question);
}

/// Writes a table to stdout; the column numbered `yields` gives way where a terminal is too narrow.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    yields: usize,
    rows: &[[String; N]],
) -> Result<(), Failure> {
    let bold = if colour(&io::stdout()) { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    table::lines(head, yields, rows, width(), bold).iter().try_for_each(|line| data(line))
}

/// Breaks a text between its words for the screen that stdout is, where it begins `indent` characters behind the margin
/// and goes on there.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    table::wrapped(text, indent, width())
}

/// Writes somebody else's text to stdout: for a person with what is hidden in it shown, for a program as it is.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { data(&escape(text)) } else { data(text) }
}

/// Returns a text of at most `most` characters, with a mark where it was cut.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Returns how many characters a line of stdout holds; `None` when nobody reads it on a screen.
fn width() -> Option<usize> {
    let screen = || io::stdout().is_terminal().then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())?;
    env::columns().or_else(|| Some(usize::from(screen()?.ws_col)).filter(|columns| *columns > 0))
}

/// Tells whether `stream` shows colours: a terminal, and nobody said `NO_COLOR`.
pub(crate) fn colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && !env::no_color()
}

fn to_stderr(text: &str) {
    // Nobody is left to tell when stderr itself is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
