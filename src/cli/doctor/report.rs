//! Prints the checks as text, one line each with its remedy below.

use std::fmt::Write as _;
use std::io;

use super::check_result::{Check, Status};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;

/// Prints the checks and a summary.
pub(super) fn print(checks: &[Check], fixing: bool) -> Result<(), Failure> {
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let colour = output::colour(&io::stdout());
    let mut text = String::new();
    for check in checks {
        let (begin, end) = match (colour, check.found.status) {
            (false, _) | (true, Status::Skipped) => ("", ""),
            (true, Status::Ok) => ("\x1b[32m", "\x1b[0m"),
            (true, Status::Warn) => ("\x1b[33m", "\x1b[0m"),
            (true, Status::Fail) => ("\x1b[1;31m", "\x1b[0m"),
        };
        let status = check.found.status.name();
        let below = format!("{:7}  {:width$}  ", "", "");
        let fitted = |text: &str| output::wrapped(&escape_line(text), below.len());
        let _ =
            writeln!(text, "{begin}{status:<7}{end}  {:<width$}  {}", check.id, fitted(&check.found.detail));
        if let Some(fixed) = &check.fixed {
            let _ = writeln!(text, "{below}{}", fitted(&format!("--fix: {fixed}")));
        }
        if let Some(remedy) = &check.found.remedy {
            let _ = writeln!(text, "{below}{}", fitted(remedy));
        }
    }
    output::data(text.trim_end())?;
    let count = |status: Status| checks.iter().filter(|check| check.found.status == status).count();
    let summary =
        format!("{} failed, {} warnings, {} ok", count(Status::Fail), count(Status::Warn), count(Status::Ok));
    output::note(summary);
    if !fixing && checks.iter().any(|check| !check.found.fixes.is_empty()) {
        output::note("hint: `adjutant doctor --fix` repairs what can be repaired without loss");
    }
    Ok(())
}
