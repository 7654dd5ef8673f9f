//! The only place that starts other processes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::config::env;

/// Programs that open a link in the person's browser, first found first tried.
const OPENERS: [&str; 5] = ["xdg-open", "open", "wslview", "sensible-browser", "x-www-browser"];

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts children")]
fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Starts this program again with `arguments`, to live on without us: it works in `folder`, writes its log to
/// `log`, and its stdout is a pipe to us until it closes it. It makes a session of its own when it starts.
pub(crate) fn start_detached(arguments: &[OsString], folder: &Path, log: File) -> io::Result<Child> {
    command(own_program()?)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
}

/// Runs this program again with `arguments` to its end, without input, and returns what it wrote.
pub(crate) fn run_own(arguments: &[OsString]) -> io::Result<Output> {
    command(own_program()?).args(arguments).stdin(Stdio::null()).output()
}

/// Opens `link` in the person's browser. Fails when there is no program for that, or it says no.
pub(crate) fn open_browser(link: &str) -> io::Result<()> {
    let program = OPENERS.iter().find_map(|name| env::on_path(name)).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("none of {} is installed", OPENERS.join(", ")))
    })?;
    let status = command(&program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} ended with {status}", program.display())))
    }
}

/// Returns the file of this program. After an upgrade that is the new one at the same place.
fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let replaced = program.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.filter(|_| !program.exists()).unwrap_or(program))
}
