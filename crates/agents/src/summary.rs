//! An outcome as text: one sentence about how a task ended, and its run report in one line.

use std::fmt::Write as _;
use std::time::Duration;

use super::run_report::{Check, Outcome, RunReport, Verification};
use super::task::Ending;

impl Outcome {
    /// Returns one sentence about the end, with the reason where there is one.
    pub fn sentence(&self) -> String {
        let reason =
            |fault: &super::run_report::FailureReport| match fault.detail.trim().trim_end_matches('.') {
                "" => format!("({})", fault.class),
                detail => format!("({}): {detail}", fault.class),
            };
        let why = self.failure.as_ref().map(reason).unwrap_or_default();
        match self.status {
            Ending::Succeeded => "The agent has finished.".to_owned(),
            Ending::Cancelled => "The task was cancelled; no process of it is left.".to_owned(),
            Ending::Lost => format!("The task is lost {why}; the hub that ran it ended."),
            Ending::Failed => format!("The agent did not finish {why}."),
        }
    }

    /// Returns what the hub saw, as one line of facts separated by semicolons.
    pub fn summary(&self) -> String {
        let mut facts = Vec::new();
        let report = &self.report;
        if let Some(last) = report.attempts.last() {
            let mut runner = last.runner.clone();
            for detail in [&last.version, &last.model].into_iter().flatten() {
                let _ = write!(runner, " {detail}");
            }
            if report.attempts.len() > 1 {
                let _ = write!(runner, " (attempt {})", report.attempts.len());
            }
            facts.push(runner);
        }
        facts.extend(report.instead.clone());
        if !report.permission.is_empty() {
            facts.push(report.permission.clone());
        }
        facts.push(seconds(report.wall_ms));
        facts.extend(commands(report));
        facts.extend(files(report));
        facts.push(match self.verdict {
            Verification::Unverified => "unverified".to_owned(),
            Verification::Verified => format!("verified by {}", counted(report.checks.len(), "check")),
            Verification::Refuted => {
                let failed: Vec<String> =
                    report.checks.iter().filter(|check| !check.passed).map(Check::line).collect();
                format!("not verified, failed: {}", failed.join(", "))
            }
        });
        facts.extend(usage(report));
        facts.push(format!("{} left", counted(report.processes_left as usize, "process")));
        facts.join("; ")
    }
}

impl Check {
    /// Returns the command as one line.
    pub fn line(&self) -> String {
        self.command.join(" ")
    }
}

fn commands(report: &RunReport) -> Option<String> {
    let failed = report.commands.iter().filter(|command| command.exit.is_some_and(|exit| exit != 0)).count();
    let ran = counted(report.commands.len(), "command");
    match (report.commands.is_empty(), failed) {
        (true, _) => None,
        (false, 0) => Some(ran),
        (false, failed) => Some(format!("{ran}, {failed} failed")),
    }
}

fn files(report: &RunReport) -> Option<String> {
    let repository = report.repository.as_ref()?;
    let count = repository.files.len() + usize::try_from(repository.more_files).unwrap_or(usize::MAX);
    if count == 0 {
        return Some("no file changed".to_owned());
    }
    let (plus, minus) = (repository.insertions, repository.deletions);
    Some(format!("{} changed +{plus} \u{2212}{minus}", counted(count, "file")))
}

fn usage(report: &RunReport) -> Option<String> {
    let usage = report.usage;
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (read, written) => {
            Some(format!("{} tokens in, {} out", read.unwrap_or_default(), written.unwrap_or_default()))
        }
    };
    let cost =
        usage.cost_micro_usd.map(|micro| format!("{}.{:04} USD", micro / 1_000_000, micro / 100 % 10_000));
    let parts: Vec<String> = [tokens, cost].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn seconds(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{}.{} s", millis / 1000, millis / 100 % 10),
        _ => adjutant_base::text::timefmt::span(Duration::from_millis(millis)),
    }
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if noun.ends_with('s') { "es" } else { "s" };
    format!("{number} {noun}{}", if number == 1 { "" } else { plural })
}

#[cfg(test)]
mod tests {
    use crate::run_report::{Attempt, Check, FailureReport, Outcome, Repository, RunReport, Verification};
    use crate::task::Ending;
    use adjutant_host::git::ChangedFile;

    #[test]
    fn an_outcome_reads_as_one_line() {
        let outcome = Outcome {
            verdict: Verification::Refuted,
            report: RunReport {
                attempts: vec![Attempt {
                    runner: "codex".to_owned(),
                    model: Some("m".to_owned()),
                    ..Attempt::default()
                }],
                permission: "read-only".to_owned(),
                wall_ms: 1_250,
                checks: vec![Check {
                    command: vec!["make".to_owned(), "test".to_owned()],
                    ..Check::default()
                }],
                repository: Some(Repository {
                    files: vec![ChangedFile::default()],
                    insertions: 3,
                    deletions: 1,
                    ..Repository::default()
                }),
                ..RunReport::default()
            },
            ..Outcome::new(Ending::Succeeded)
        };
        assert_eq!(
            outcome.summary(),
            "codex m; read-only; 1.2 s; 1 file changed +3 \u{2212}1; not verified, failed: make test; 0 processes left"
        );
        let fault = FailureReport { class: "usage_limit".to_owned(), detail: "try later.".to_owned() };
        let failed = Outcome { failure: Some(fault), ..Outcome::new(Ending::Failed) };
        assert_eq!(failed.sentence(), "The agent did not finish (usage_limit): try later.");
    }
}
