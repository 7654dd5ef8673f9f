//! Repair of a model's answer that breaks the schema of proposals.

use super::proposal::{Proposal, SchemaViolation, read};

/// How often a model may correct its answer.
const MAX_REPAIRS: usize = 2;
/// Maximum characters of a faulty answer that the model gets back.
const MAX_QUOTED_CHARS: usize = 8_000;

/// Reads a model's answer. An answer that breaks the schema gives `None` and is appended to `turns` together with a
/// request for a corrected one.
///
/// # Errors
/// Fails after the last repair, with a sentence fragment that repeats nothing of the answer.
pub fn read_or_repair(turns: &mut Vec<String>, answer: &str) -> Result<Option<Proposal>, String> {
    let violations = match read(answer) {
        Ok(proposal) => return Ok(Some(proposal)),
        Err(violations) => violations,
    };
    // Each repair added two turns; the question may come before them.
    let repairs = turns.len() / 2;
    if repairs == MAX_REPAIRS {
        let places = violation_places(&violations);
        return Err(format!("its answer does not follow the schema after {repairs} repairs: {places}"));
    }
    turns.push(answer.chars().take(MAX_QUOTED_CHARS).collect());
    turns.push(repair_request(&violations));
    Ok(None)
}

/// Asks for an answer that keeps the schema. Lists the violations, not the text of the model.
pub(super) fn repair_request(violations: &[SchemaViolation]) -> String {
    let list = violations
        .iter()
        .map(|violation| {
            format!("- at `{}`: {} ({})\n", violation.path, violation.message, violation.validator)
        })
        .collect::<Vec<_>>()
        .concat();
    format!(
        "The answer does not follow the schema:\n{list}Answer again with the corrected JSON object alone."
    )
}

/// Lists the places where an answer breaks the schema, without its text.
pub fn violation_places(violations: &[SchemaViolation]) -> String {
    let place = |violation: &SchemaViolation| {
        if violation.path.is_empty() {
            violation.validator.clone()
        } else {
            format!("{} at {}", violation.validator, violation.path)
        }
    };
    violations.iter().map(place).collect::<Vec<_>>().join(", ")
}
