//! An outcome as text: one sentence about how a task ended, and its run report in one line.

use std::fmt::Write as _;
use std::time::Duration;

use super::definition::Permission;
use super::run_report::{Attempt, Check, CommandRun, Outcome, RunReport};
use super::sandbox::Holder;
use super::task::Ending;
use adjutant_base::text::counted::counted;

/// Maximum findings in a summary.
const MAX_FINDINGS: usize = 12;

/// Maximum names in one fact.
const MAX_NAMES: usize = 8;

impl Outcome {
    /// Returns one sentence about the end, with the reason where there is one.
    pub fn sentence(&self) -> String {
        let reason =
            |fault: &super::run_report::FailureReport| match fault.detail.trim().trim_end_matches(['.', '!'])
            {
                "" => format!("({})", fault.class),
                detail => format!("({}): {detail}", fault.class),
            };
        let why = self.failure.as_ref().map(reason).unwrap_or_default();
        match self.status {
            Ending::Succeeded => "The agent has finished.".to_owned(),
            Ending::Cancelled => match self.report.processes_left {
                _ if self.report.is_uncounted => {
                    "The task was cancelled; how many processes of it are left is unknown.".to_owned()
                }
                0 => "The task was cancelled; no process of it is left.".to_owned(),
                left => format!("The task was cancelled, but {left} processes of it could not be ended."),
            },
            Ending::Lost if self.report.worker.is_some() => format!("The task is lost {why}."),
            Ending::Lost => format!("The task is lost {why}; the hub that ran it ended."),
            Ending::Failed => format!("The agent did not finish {why}."),
        }
    }

    /// Returns what the hub saw, as one line of facts separated by semicolons.
    pub fn summary(&self) -> String {
        let report = &self.report;
        let mut facts: Vec<String> = report.read_only_changes().into_iter().collect();
        facts.extend(report.worker.as_ref().map(|worker| format!("on {worker}")));
        let reference = report.repository.as_ref().and_then(|repository| repository.reference.as_ref());
        facts.extend(reference.map(|reference| format!("its commit: {reference}")));
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
        if let Some(last) = report.attempts.last().filter(|last| !last.held_by.is_empty()) {
            facts.push(format!("held by {}", last.held_by));
            if !last.network.is_empty() {
                facts.push(format!("network: {}", last.network));
            }
            if !last.refused_hosts.is_empty() {
                facts.push(format!(
                    "hosts refused: {}",
                    quoted(&last.refused_hosts.iter().collect::<Vec<_>>())
                ));
            }
        }
        facts.push(seconds(report.wall_ms));
        facts.extend(commands(report));
        facts.extend(files(report));
        facts.extend(first(report.findings()));
        facts.push(report.checks_text());
        facts.extend(usage(report));
        facts.push(if self.status == Ending::Lost && report.worker.is_some() {
            "processes left: unknown, because the worker has not reported their end".to_owned()
        } else if report.is_uncounted {
            "processes left: unknown, because neither the supervisor of the run nor its guard could count them"
                .to_owned()
        } else {
            format!("{} left", counted(report.processes_left as usize, "process"))
        });
        facts.join("; ")
    }

    /// Returns what the hub says against or for the result, as a sentence fragment.
    pub fn verdict_text(&self) -> String {
        let changes = self.report.read_only_changes().into_iter();
        changes.chain([self.report.checks_text()]).collect::<Vec<_>>().join("; ")
    }

    /// Returns whether the result is an error although the run succeeded: a check that must pass did not pass, or a
    /// read-only run changed something.
    pub fn is_refuted(&self) -> bool {
        let fails_checks =
            !self.report.checks_may_fail && self.report.checks.iter().any(|check| !check.passed);
        fails_checks || self.report.read_only_changes().is_some()
    }
}

impl Check {
    /// Returns the command as one line.
    pub fn line(&self) -> String {
        self.command.join(" ")
    }
}

impl RunReport {
    /// Returns what the checks say about the result, as a sentence fragment.
    fn checks_text(&self) -> String {
        let failed: Vec<&Check> = self.checks.iter().filter(|check| !check.passed).collect();
        let lines = || failed.iter().map(|check| check.line()).collect::<Vec<_>>().join(", ");
        if self.checks.is_empty() {
            "unverified".to_owned()
        } else if failed.iter().any(|check| check.exit.is_some()) {
            format!("not verified, failed: {}", lines())
        } else if !failed.is_empty() {
            format!("unverified, did not run to the end: {}", lines())
        } else {
            let changed: Vec<&String> = self.checks.iter().flat_map(|check| &check.changed_by_run).collect();
            let verified = format!("verified by {}", counted(self.checks.len(), "check"));
            if changed.is_empty() {
                verified
            } else {
                format!("{verified}, but the run changed what they run: {}", quoted(&changed))
            }
        }
    }

    /// Returns what changed although the run was read-only, or why that is unknown, as a sentence fragment. `None`
    /// where the kernel held the level, because only other programs can have changed something then.
    pub fn read_only_changes(&self) -> Option<String> {
        let repository =
            self.repository.as_ref().filter(|_| self.permission == Permission::ReadOnly.name())?;
        if self
            .attempts
            .iter()
            .all(|attempt| Holder::from_name(&attempt.held_by).is_some_and(Holder::is_kernel))
        {
            return None;
        }
        // A run must not pass because it hid its changes.
        if let Some(reason) = &self.files_unknown {
            return Some(format!("not shown to be read-only: files unknown, because {reason}"));
        }
        let more = usize::try_from(repository.more_files).unwrap_or(usize::MAX);
        let names: Vec<&String> = repository.files.iter().map(|file| &file.path).collect();
        let own: Vec<&String> = repository.caller_files.iter().collect();
        let mut changes: Vec<String> = Vec::new();
        for (names, more, place) in [(names, more, ""), (own, 0, " of your own tree")] {
            if !names.is_empty() {
                let files = counted(names.len().saturating_add(more), "file");
                changes.push(format!("{files}{place} changed ({})", quoted(&names)));
            }
        }
        changes.extend(repository.git_changes.iter().take(MAX_NAMES).cloned());
        if changes.is_empty() && repository.head_before != repository.head_after {
            changes.push("HEAD moved".to_owned());
        }
        (!changes.is_empty()).then(|| format!("not read-only: {}", changes.join(", ")))
    }

    /// Returns what the hub found apart from commands and files, one fact a text. Names in it are quoted.
    pub fn findings(&self) -> Vec<String> {
        let missing = self.output_missing.as_ref();
        let mut findings: Vec<String> =
            missing.map(|reason| format!("output incomplete: {reason}")).into_iter().collect();
        if let Some(repository) = &self.repository {
            if repository.head_before != repository.head_after && self.files_unknown.is_none() {
                let short = |head: &Option<String>| {
                    head.as_deref().unwrap_or("none").chars().take(10).collect::<String>()
                };
                let commits = repository.commits.map(|number| {
                    format!(", {}", counted(usize::try_from(number).unwrap_or(usize::MAX), "commit"))
                });
                let (before, after) = (short(&repository.head_before), short(&repository.head_after));
                findings.push(format!("HEAD {before} \u{2192} {after}{}", commits.unwrap_or_default()));
            }
            findings.extend(repository.git_changes.iter().cloned());
            if !repository.hidden.is_empty() {
                findings.push(format!("newly ignored, not compared: {}", quoted(&repository.hidden)));
            }
            if !repository.caller_files.is_empty() {
                let files = quoted(&repository.caller_files);
                findings.push(format!("changed in your own tree meanwhile: {files}"));
            }
            if let Some(reason) = &repository.caller_unknown {
                findings.push(format!("your own tree: unknown, because {reason}"));
            }
        }
        let is_by_word = |attempt: &Attempt| attempt.held_by == Holder::Word.name();
        if self.permission == Permission::Full.name() && !self.attempts.is_empty() {
            findings.push("files elsewhere: unknown, because it could write everywhere".to_owned());
        } else if self.attempts.iter().any(is_by_word) {
            findings.push(
                "files elsewhere: unknown, because only the runner itself, and no sandbox, prevented changes"
                    .to_owned(),
            );
        }
        findings
    }
}

fn commands(report: &RunReport) -> Option<String> {
    let count =
        |test: fn(&CommandRun) -> bool| report.commands.iter().filter(|command| test(command)).count();
    let failed = count(|command| command.exit.is_some_and(|exit| exit != 0));
    let parts: Vec<String> = [
        (report.commands.len(), counted(report.commands.len(), "command")),
        (failed, format!("{failed} failed")),
        (
            count(|command| command.unfinished),
            format!("{} without an end", count(|command| command.unfinished)),
        ),
        (report.denied.len(), format!("{} denied", report.denied.len())),
    ]
    .into_iter()
    .filter_map(|(number, text)| (number > 0).then_some(text))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the first findings, and how many more there are.
fn first(mut findings: Vec<String>) -> Vec<String> {
    let more = findings.len().saturating_sub(MAX_FINDINGS);
    findings.truncate(MAX_FINDINGS);
    findings.extend((more > 0).then(|| format!("and {more} more findings")));
    findings
}

/// Returns names in quotation marks, so that no name can look like a fact.
fn quoted(names: &[impl AsRef<str>]) -> String {
    let shown = names.iter().take(MAX_NAMES).map(|name| format!("{:?}", name.as_ref()));
    let more = names.len().saturating_sub(MAX_NAMES);
    shown.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(", ")
}

fn files(report: &RunReport) -> Option<String> {
    if let Some(reason) = &report.files_unknown {
        return Some(format!("files: unknown, because {reason}"));
    }
    let repository = report.repository.as_ref()?;
    let count = repository.files.len() + usize::try_from(repository.more_files).unwrap_or(usize::MAX);
    if count == 0 {
        let aside = if repository.ignores_files { " (ignored files are not compared)" } else { "" };
        return Some(format!("no file changed{aside}"));
    }
    let uncounted = repository.files.iter().filter(|file| file.insertions.is_none()).count();
    let mut text = format!("{} changed", counted(count, "file"));
    if uncounted < repository.files.len() {
        let _ = write!(text, " +{} \u{2212}{}", repository.insertions, repository.deletions);
    }
    if uncounted > 0 {
        let _ = write!(text, " ({uncounted} without a count of lines)");
    }
    Some(text)
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
                permission: "workspace-write".to_owned(),
                wall_ms: 1_250,
                checks: vec![Check {
                    command: vec!["make".to_owned(), "test".to_owned()],
                    exit: Some(2),
                    ..Check::default()
                }],
                repository: Some(Repository {
                    files: vec![ChangedFile { insertions: Some(3), ..ChangedFile::default() }],
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
            "codex m; workspace-write; 1.2 s; 1 file changed +3 \u{2212}1; not verified, failed: make test; 0 processes left"
        );
        let report = RunReport {
            output_missing: Some("8 bytes could not be written: disk".to_owned()),
            ..RunReport::default()
        };
        let incomplete = Outcome { report, ..Outcome::new(Ending::Succeeded) };
        let line =
            "0.0 s; output incomplete: 8 bytes could not be written: disk; unverified; 0 processes left";
        assert_eq!(incomplete.summary(), line);
        let report = RunReport {
            worker: Some("worker3".to_owned()),
            repository: Some(Repository {
                reference: Some("refs/adjutant/t".to_owned()),
                ..Repository::default()
            }),
            ..RunReport::default()
        };
        let elsewhere = Outcome { report, ..Outcome::new(Ending::Succeeded) }.summary();
        assert!(elsewhere.starts_with("on worker3; its commit: refs/adjutant/t; 0.0 s"), "{elsewhere}");
        let report = RunReport { worker: Some("worker3".to_owned()), ..RunReport::default() };
        let detail = "worker3 has not reported for 60 s; how far the agent came is unknown".to_owned();
        let failure = Some(FailureReport { class: "lost".to_owned(), detail });
        let lost = Outcome { failure, report, ..Outcome::new(Ending::Lost) };
        let sentence =
            "The task is lost (lost): worker3 has not reported for 60 s; how far the agent came is unknown.";
        assert_eq!(lost.sentence(), sentence);
        assert!(!lost.summary().contains("0 processes left"), "{}", lost.summary());
        let fault = FailureReport { class: "usage_limit".to_owned(), detail: "try later.".to_owned() };
        let failed = Outcome { failure: Some(fault), ..Outcome::new(Ending::Failed) };
        assert_eq!(failed.sentence(), "The agent did not finish (usage_limit): try later.");
        for (processes_left, is_uncounted, end) in [
            (0, false, "; no process of it is left."),
            (2, false, ", but 2 processes of it could not be ended."),
            (0, true, "; how many processes of it are left is unknown."),
        ] {
            let report = RunReport { processes_left, is_uncounted, ..RunReport::default() };
            let cancelled = Outcome { report, ..Outcome::new(Ending::Cancelled) };
            assert_eq!(cancelled.sentence(), format!("The task was cancelled{end}"));
        }
    }
}
