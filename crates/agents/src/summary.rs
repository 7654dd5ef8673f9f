//! An outcome in words, for who reads no JSON: one sentence for how a task ended, one line for its receipt.

use std::fmt::Write as _;
use std::time::Duration;

use super::receipt::{Check, Outcome, Receipt, Verdict};

impl Outcome {
    /// Says how it ended, in one sentence with the reason where there is one.
    pub(crate) fn sentence(&self) -> String {
        let reason = |fault: &super::receipt::Fault| match fault.detail.trim().trim_end_matches('.') {
            "" => format!("({})", fault.class),
            detail => format!("({}): {detail}", fault.class),
        };
        let why = self.failure.as_ref().map(reason).unwrap_or_default();
        match self.status.as_str() {
            "succeeded" => "The agent has finished.".to_owned(),
            "cancelled" => "The task was cancelled; no process of it is left.".to_owned(),
            "lost" => format!("The task is lost {why}; the hub that ran it went away."),
            _ => format!("The agent did not finish {why}."),
        }
    }

    /// Returns what the hub saw, as one line of facts separated by semicolons.
    pub(crate) fn summary(&self) -> String {
        let mut facts = Vec::new();
        let receipt = &self.receipt;
        if let Some(last) = receipt.attempts.last() {
            let mut runner = last.runner.clone();
            for detail in [&last.version, &last.model].into_iter().flatten() {
                let _ = write!(runner, " {detail}");
            }
            if receipt.attempts.len() > 1 {
                let _ = write!(runner, " (attempt {})", receipt.attempts.len());
            }
            facts.push(runner);
        }
        facts.extend(receipt.instead.clone());
        if !receipt.permission.is_empty() {
            facts.push(receipt.permission.clone());
        }
        facts.push(seconds(receipt.wall_ms));
        facts.extend(commands(receipt));
        facts.extend(files(receipt));
        facts.push(match self.verdict {
            Verdict::Unverified => "unverified".to_owned(),
            Verdict::Verified => format!("verified by {}", counted(receipt.checks.len(), "check")),
            Verdict::Refuted => {
                let failed: Vec<String> =
                    receipt.checks.iter().filter(|check| !check.passed).map(Check::line).collect();
                format!("not verified, failed: {}", failed.join(", "))
            }
        });
        facts.extend(usage(receipt));
        facts.push(format!("{} left", counted(receipt.processes_left as usize, "process")));
        facts.join("; ")
    }
}

impl Check {
    /// Returns the command as one line.
    pub(crate) fn line(&self) -> String {
        self.command.join(" ")
    }
}

fn commands(receipt: &Receipt) -> Option<String> {
    let failed = receipt.commands.iter().filter(|command| command.exit.is_some_and(|exit| exit != 0)).count();
    let ran = counted(receipt.commands.len(), "command");
    match (receipt.commands.is_empty(), failed) {
        (true, _) => None,
        (false, 0) => Some(ran),
        (false, failed) => Some(format!("{ran}, {failed} failed")),
    }
}

fn files(receipt: &Receipt) -> Option<String> {
    let repository = receipt.repository.as_ref()?;
    let count = repository.files.len() + usize::try_from(repository.more_files).unwrap_or(usize::MAX);
    if count == 0 {
        return Some("no file changed".to_owned());
    }
    let (plus, minus) = (repository.insertions, repository.deletions);
    Some(format!("{} changed +{plus} \u{2212}{minus}", counted(count, "file")))
}

fn usage(receipt: &Receipt) -> Option<String> {
    let usage = receipt.usage;
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (read, written) => {
            Some(format!("{} tokens in, {} out", read.unwrap_or_default(), written.unwrap_or_default()))
        }
    };
    let cost =
        usage.cost_micro_usd.map(|micro| format!("{}.{:04} USD", micro / 1_000_000, micro / 100 % 10_000));
    let told: Vec<String> = [tokens, cost].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn seconds(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{}.{} s", millis / 1000, millis / 100 % 10),
        _ => crate::clock::span(Duration::from_millis(millis)),
    }
}

fn counted(number: usize, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    format!("{number} {what}{}", if number == 1 { "" } else { plural })
}

#[cfg(test)]
mod tests {
    use super::super::receipt::{Attempt, Check, Fault, Outcome, Receipt, Repository, Touched, Verdict};

    #[test]
    fn an_outcome_reads_as_one_line() {
        let outcome = Outcome {
            status: "succeeded".to_owned(),
            verdict: Verdict::Refuted,
            receipt: Receipt {
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
                    files: vec![Touched::default()],
                    insertions: 3,
                    deletions: 1,
                    ..Repository::default()
                }),
                ..Receipt::default()
            },
            ..Outcome::default()
        };
        assert_eq!(
            outcome.summary(),
            "codex m; read-only; 1.2 s; 1 file changed +3 \u{2212}1; not verified, failed: make test; 0 processes left"
        );
        let fault = Fault { class: "usage_limit".to_owned(), detail: "try later.".to_owned() };
        let failed = Outcome { status: "failed".to_owned(), failure: Some(fault), ..Outcome::default() };
        assert_eq!(failed.sentence(), "The agent did not finish (usage_limit): try later.");
    }
}
