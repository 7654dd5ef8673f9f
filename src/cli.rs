//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let _ = arguments.into_iter().count();
    ExitCode::SUCCESS
}
