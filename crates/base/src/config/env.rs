//! The only reader of the environment.
//!
//! Clients start us with a handful of variables (`HOME`, `LANG`, `PATH`, `SHELL`, `TERM`), so nothing here
//! may be needed but `HOME`.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns `$ADJUTANT_HOME`, else `$HOME/.adjutant`; `None` when neither is set to an absolute path.
pub(super) fn home() -> Option<PathBuf> {
    path("ADJUTANT_HOME").or_else(|| Some(path("HOME")?.join(".adjutant")))
}

/// Returns the folder where programs of this person keep their configuration (XDG).
pub fn configurations() -> Option<PathBuf> {
    path("XDG_CONFIG_HOME").or_else(|| Some(path("HOME")?.join(".config")))
}

/// Returns the `PATH` as it is.
pub fn search_path() -> Option<String> {
    non_empty("PATH")
}

/// Returns the socket on which systemd waits for word that this process serves.
pub fn notify_socket() -> Option<String> {
    non_empty("NOTIFY_SOCKET")
}

/// Returns the variable that [`home`] goes by.
pub(super) fn home_variable() -> Option<&'static str> {
    ["ADJUTANT_HOME", "HOME"].into_iter().find(|variable| path(variable).is_some())
}

/// Returns the person's home folder, where other programs keep their files.
pub fn user_home() -> Option<PathBuf> {
    path("HOME")
}

/// Returns a path as a person writes it: below `$HOME` with `~`; elsewhere its last name alone, for a place that
/// is shown to others should not tell where it is.
pub fn abbreviate(file: &Path) -> String {
    if let Some(below) = path("HOME").and_then(|home| file.strip_prefix(home).ok().map(Path::to_owned)) {
        return format!("~/{}", below.display());
    }
    file.file_name().map_or_else(String::new, |name| format!("…/{}", name.to_string_lossy()))
}

/// Returns the log filter of `ADJUTANT_LOG`, when it is set and not empty.
pub(crate) fn log_filter() -> Option<String> {
    non_empty("ADJUTANT_LOG")
}

/// Returns a variable that the configuration names, for it holds a secret that no file does.
pub(super) fn variable(name: &str) -> Option<String> {
    // Such a name would be a mistake of the system's call, not a variable that is not set.
    let fit = !name.is_empty() && !name.contains(['=', '\0']);
    if fit { std::env::var(name).ok() } else { None }
}

/// Returns a variable that is set, is text, and is not empty.
pub(super) fn non_empty(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Tells whether the person asked for output without colour (<https://no-color.org>).
pub fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A screen that windows may go to.
#[derive(Clone, Debug)]
pub enum Screen {
    Mac,
    /// By the socket of its compositor.
    Wayland(PathBuf),
    /// By what `DISPLAY` says.
    X(String),
}

/// Returns the screens that windows go to here, the one that programs try first at the front.
pub fn screens() -> Vec<Screen> {
    if cfg!(target_os = "macos") {
        return vec![Screen::Mac];
    }
    let wayland = non_empty("WAYLAND_DISPLAY")
        .map(|name| Screen::Wayland(path("XDG_RUNTIME_DIR").unwrap_or_default().join(name)));
    wayland.into_iter().chain(non_empty("DISPLAY").map(Screen::X)).collect()
}

/// Returns the width of the screen that `COLUMNS` claims, for output that is cut to it.
pub fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// Returns the programs of `$PATH` that could be `program`, in order.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| is_program(file))
}

/// Returns all variables as they are now. Whoever gives them on gives only what is on a list of theirs.
pub fn snapshot() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

/// Returns the absolute path that a variable holds.
pub(super) fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
