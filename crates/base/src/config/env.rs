//! The only reader of the environment.
//!
//! Clients start the relay with a few variables (`HOME`, `LANG`, `PATH`, `SHELL`, `TERM`), so only `HOME` may be
//! required.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns `$ADJUTANT_HOME`, else `$HOME/.adjutant`; `None` when neither is set to an absolute path.
pub(super) fn home() -> Option<PathBuf> {
    path("ADJUTANT_HOME").or_else(|| Some(path("HOME")?.join(".adjutant")))
}

/// Returns the folder of the configurations of the user (XDG).
pub fn configurations() -> Option<PathBuf> {
    path("XDG_CONFIG_HOME").or_else(|| Some(path("HOME")?.join(".config")))
}

/// Returns the `PATH` as it is.
pub fn search_path() -> Option<String> {
    non_empty("PATH")
}

/// Returns the socket on which systemd waits until this process is ready.
pub fn notify_socket() -> Option<String> {
    non_empty("NOTIFY_SOCKET")
}

/// Returns the variable that [`home`] reads.
pub(super) fn home_variable() -> Option<&'static str> {
    ["ADJUTANT_HOME", "HOME"].into_iter().find(|variable| path(variable).is_some())
}

/// Returns the home folder of the user, where other programs keep their files.
pub fn user_home() -> Option<PathBuf> {
    path("HOME")
}

/// Returns a short path: below `$HOME` with `~`; elsewhere only its last name, because the text may be shown to others.
pub fn abbreviate(file: &Path) -> String {
    below_home(file).unwrap_or_else(|| {
        file.file_name().map_or_else(String::new, |name| format!("…/{}", name.to_string_lossy()))
    })
}

/// Returns the path for the user alone: below `$HOME` with `~`, elsewhere whole.
pub fn with_tilde(file: &Path) -> String {
    below_home(file).unwrap_or_else(|| file.display().to_string())
}

fn below_home(file: &Path) -> Option<String> {
    let below = file.strip_prefix(path("HOME")?).ok()?.to_owned();
    Some(format!("~/{}", below.display()))
}

/// Returns the log filter of `ADJUTANT_LOG`, when it is set and not empty.
pub(crate) fn log_filter() -> Option<String> {
    non_empty("ADJUTANT_LOG")
}

/// Returns a variable that the configuration or an option names because it holds a secret.
pub fn variable(name: &str) -> Option<String> {
    // The system call panics for an invalid name.
    let is_valid = !name.is_empty() && !name.contains(['=', '\0']);
    if is_valid { std::env::var(name).ok() } else { None }
}

/// Returns a variable that is set, is text, and is not empty.
pub(super) fn non_empty(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the command line of the user's editor.
pub fn editor() -> String {
    non_empty("VISUAL").or_else(|| non_empty("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// Returns whether the user asked for output with colours, or without (<https://no-color.org>, which goes first,
/// <https://force-color.org> and <https://bixense.com/clicolors>); `None` leaves it to the terminal.
pub fn colour() -> Option<bool> {
    let is_forced = |name| non_empty(name).map(|value| !matches!(value.as_str(), "0" | "false"));
    if non_empty("NO_COLOR").is_some() {
        return Some(false);
    }
    let forced = is_forced("FORCE_COLOR").or_else(|| is_forced("CLICOLOR_FORCE").filter(|forced| *forced));
    let is_off = is_forced("CLICOLOR") == Some(false) || is_dumb_terminal();
    forced.or_else(|| is_off.then_some(false))
}

/// Returns whether the terminal, which may have no name, can neither colour text nor move its cursor.
pub fn is_dumb_terminal() -> bool {
    non_empty("TERM").is_none_or(|name| name == "dumb")
}

/// A screen for windows.
#[derive(Clone, Debug)]
pub enum Screen {
    Mac,
    /// The socket of the compositor.
    Wayland(PathBuf),
    /// The value of `DISPLAY`.
    X(String),
}

/// Returns the screens of this machine, in the order in which programs try them.
pub fn screens() -> Vec<Screen> {
    if cfg!(target_os = "macos") {
        return vec![Screen::Mac];
    }
    let wayland = non_empty("WAYLAND_DISPLAY")
        .map(|name| Screen::Wayland(path("XDG_RUNTIME_DIR").unwrap_or_default().join(name)));
    wayland.into_iter().chain(non_empty("DISPLAY").map(Screen::X)).collect()
}

/// Returns the width of the screen in `COLUMNS`.
pub fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// Returns the first executable file of this name in the folders of `$PATH`.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| is_executable(file))
}

/// Returns all variables. Callers must pass on only the variables on their own allow-list.
pub fn snapshot() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn is_executable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

/// Returns the absolute path in a variable.
pub(super) fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
