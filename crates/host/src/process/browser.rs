//! Opens links in the user's browser.

use std::io;
use std::process::Stdio;

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
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} ended with {status}", program.display())))
    }
}
