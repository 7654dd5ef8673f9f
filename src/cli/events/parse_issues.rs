//! Issues of imported calendars, printed and as JSON.

use serde_json::{Value, json};

use super::super::output;
use adjutant_assistant::calendar::{Effect, ParseIssue};
use adjutant_base::text::clip;
use adjutant_base::text::escape_invisible::escape_line;

/// Maximum characters of a problem on a terminal: it may name a value of the file. JSON has the whole.
const MAX_PROBLEM_CHARS: usize = 400;

/// Prints each issue with its file and line. Returns how many events were left out.
pub(super) fn print_issues<'a>(issues: impl Iterator<Item = (&'a str, &'a ParseIssue)>) -> usize {
    let mut left_out = 0;
    for (place, issue) in issues {
        let effect = match issue.error.effect() {
            Effect::LeftOut => {
                left_out += 1;
                "left out"
            }
            Effect::Changed => "imported, but",
            Effect::PassedOver => "ignored",
        };
        let problem = issue.error.to_string();
        let problem = clip::chars(&problem, MAX_PROBLEM_CHARS);
        output::note(escape_line(&format!("{place}:{}: {effect}: {problem}", issue.line)));
    }
    left_out
}

/// Returns an issue as JSON.
pub(super) fn issue_json(issue: &ParseIssue) -> Value {
    let left_out = issue.error.effect() != Effect::Changed;
    json!({"line": issue.line, "problem": issue.error.to_string(), "left_out": left_out})
}
