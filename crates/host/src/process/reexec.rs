//! Starts of this program by itself: the hub in the background, and short commands.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use super::child;

/// Starts this program again with `arguments`, to live on without us: it works in `folder`, writes its log to
/// `log`, and its stdout is a pipe to us until it closes it. It makes a session of its own when it starts.
pub fn spawn_detached_self(arguments: &[OsString], folder: &Path, log: File) -> io::Result<Child> {
    child(own_program()?)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
}

/// Runs this program again with `arguments` to its end, without input, and returns what it wrote.
pub fn run_self(arguments: &[OsString]) -> io::Result<Output> {
    child(own_program()?).args(arguments).stdin(Stdio::null()).output()
}

/// Returns a file that is exactly the program that runs now, also when another version was put in its place.
pub(super) fn current_image() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let image = PathBuf::from("/proc/self/exe");
    let identity = |file: &Path| file.metadata().map(|found| (found.dev(), found.ino()));
    // The path is the better one of two that are the same: it is what a person sees in the list of processes.
    match (identity(&image), identity(&program)) {
        (Ok(own), there) if there.as_ref().ok() != Some(&own) => Ok(image),
        _ => Ok(program),
    }
}

/// Returns the file of this program. After an upgrade that is the new one at the same place.
fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let replaced = program.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.filter(|_| !program.exists()).unwrap_or(program))
}
