//! Faults of imported calendars, printed and as JSON.

use serde_json::{Value, json};

use super::super::output;
use adjutant_assistant::calendar::{Effect, ParseIssue};
use adjutant_base::text::escape_invisible::escape_line;

/// Prints each fault with its file and line. Returns how many events were left out.
pub(super) fn print_faults<'a>(faults: impl Iterator<Item = (&'a str, &'a ParseIssue)>) -> usize {
    let mut left_out = 0;
    for (place, fault) in faults {
        let effect = match fault.error.effect() {
            Effect::LeftOut => {
                left_out += 1;
                "left out"
            }
            Effect::Changed => "imported, but",
            Effect::PassedOver => "ignored",
        };
        output::note(escape_line(&format!("{place}:{}: {effect}: {}", fault.line, fault.error)));
    }
    left_out
}

/// Returns a fault as JSON.
pub(super) fn fault(fault: &ParseIssue) -> Value {
    let left_out = fault.error.effect() != Effect::Changed;
    json!({"line": fault.line, "problem": fault.error.to_string(), "left_out": left_out})
}
