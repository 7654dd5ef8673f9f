//! Starts this program again: the hub in the background, and short commands.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use super::child;

/// Starts this program again with `arguments` in `folder`, to outlive this process. Its stderr is `log`, and its stdout
/// a pipe to this process until it closes it. It makes a new session when it starts.
pub fn spawn_detached_self(arguments: &[OsString], folder: &Path, log: File) -> io::Result<Child> {
    child(program_path()?)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
}

/// Runs this program again with `arguments`, without input, and returns its output.
pub fn run_self(arguments: &[OsString]) -> io::Result<Output> {
    child(program_path()?).args(arguments).stdin(Stdio::null()).output()
}

/// Returns a path of the program that runs now, also after an upgrade replaced its file.
pub(super) fn current_image() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let image = PathBuf::from("/proc/self/exe");
    let identity = |file: &Path| file.metadata().map(|found| (found.dev(), found.ino()));
    // If both are the same file, the path is better, because users see it in the list of processes.
    match (identity(&image), identity(&program)) {
        (Ok(running), installed) if installed.as_ref().ok() != Some(&running) => Ok(image),
        _ => Ok(program),
    }
}

/// Returns the path of this program. After an upgrade the new program is there.
pub(super) fn program_path() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let replaced = program.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.filter(|_| !program.exists()).unwrap_or(program))
}
