//! Opens links in the user's browser, and files in the user's editor.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use super::child;
use adjutant_base::config::env;

/// Programs that open a link in a browser; the first installed one is used.
const OPENERS: [&str; 5] = ["xdg-open", "open", "wslview", "sensible-browser", "x-www-browser"];

/// Opens `link` in the user's browser. Fails if no such program is installed, or if it fails.
pub fn open_browser(link: &str) -> io::Result<()> {
    let program = OPENERS.iter().find_map(|name| env::find_in_path(name)).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("none of {} is installed", OPENERS.join(", ")))
    })?;
    let status = child(&program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ended(&program.display().to_string(), status)
}

/// Opens `file` in the user's editor, on this terminal, and waits until the editor ends. Its output goes to `stdout`. Fails
/// if the editor fails.
pub fn open_editor(file: &Path, stdout: Stdio) -> io::Result<()> {
    let editor = env::editor();
    // A variable of an editor is a command line: `code --wait`.
    let status =
        child("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).stdout(stdout).status()?;
    ended(&editor, status)
}

fn ended(program: &str, status: ExitStatus) -> io::Result<()> {
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{program} ended with {status}"))) }
}
