//! The outcome of a task with its run report: the agent's answer, and what the hub saw.

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::number_format::grouped;
use adjutant_agents::run_report::{Outcome, Usage, Verification};

/// Returns the outcome for the template.
pub(in crate::pages) fn outcome(outcome: &Outcome) -> Value {
    context! {
        sentence => outcome.sentence(),
        as_json => outcome.structured.as_ref().map(|value| format!("{value:#}")),
        findings => outcome.report.findings(),
        checked => checked(outcome),
        read_only_changes => outcome.report.read_only_changes(),
        usage => usage(outcome.report.usage),
        ..Value::from(Serde(outcome))
    }
}

/// Returns what the hub's own checks say about the result; `None` if they say nothing.
pub(in crate::pages) fn checked(outcome: &Outcome) -> Option<String> {
    let checks = &outcome.report.checks;
    let failed = checks.iter().filter(|check| !check.passed).count();
    Some(match (outcome.report.read_only_changes(), outcome.verdict, checks.len()) {
        (Some(text), ..) if text.starts_with("not read-only") => "not read-only".to_owned(),
        (Some(_), ..) => "not shown to be read-only".to_owned(),
        (None, Verification::Refuted, 1) => "1 check failed".to_owned(),
        (None, Verification::Refuted, all) => format!("{failed} of {all} checks failed"),
        (None, Verification::Verified, 1) => "1 check passed".to_owned(),
        (None, Verification::Verified, all) => format!("{all} checks passed"),
        (None, Verification::Unverified, _) => return None,
    })
}

/// Returns the usage as text; empty if no runner reported any.
fn usage(usage: Usage) -> Vec<Value> {
    let tokens = [
        ("read", usage.input_tokens),
        ("from the cache", usage.cached_tokens),
        ("written", usage.output_tokens),
    ];
    let mut facts: Vec<Value> = tokens
        .into_iter()
        .filter_map(|(name, count)| Some(Value::from(format!("{} tokens {name}", grouped(count?)))))
        .collect();
    if let Some(micro) = usage.cost_micro_usd {
        facts.push(Value::from(format!("{}.{:04} USD", micro / 1_000_000, micro / 100 % 10_000)));
    }
    facts
}
