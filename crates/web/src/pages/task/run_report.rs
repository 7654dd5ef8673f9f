//! The run report of a task: the agent's answer, and what the hub saw.

use std::time::Duration;

use minijinja::{Value, context};

use crate::{excerpt, highlight, timefmt};
use adjutant_agents::run_report::{Attempt, Check, Outcome, Repository, RunReport, Usage, Verification};
use adjutant_agents::task::Ending;

/// Maximum commands and files of one list, because a run may have thousands.
const MAX_LISTED: usize = 200;

/// Returns the outcome for the template.
pub(super) fn outcome(outcome: &Outcome) -> Value {
    let report = &outcome.report;
    let failed = report.checks.iter().filter(|check| !check.passed).count();
    context! {
        sentence => outcome.sentence(),
        completed => outcome.status == Ending::Succeeded,
        verdict => match outcome.verdict {
            Verification::Unverified => "unverified",
            Verification::Verified => "verified",
            Verification::Refuted => "refuted",
        },
        failed_checks => failed,
        message => outcome.message.as_deref().map(excerpt::of),
        structured => outcome.structured.as_ref().map(|value| excerpt::of(&format!("{value:#}"))),
        report => run_report(report),
    }
}

fn run_report(report: &RunReport) -> Value {
    context! {
        instead => report.instead.as_deref(),
        attempts => report.attempts.iter().map(attempt).collect::<Vec<_>>(),
        permission => &report.permission,
        wall => length(report.wall_ms),
        cpu => length(report.cpu_ms),
        memory => (report.peak_rss_bytes > 0).then(|| timefmt::size(report.peak_rss_bytes)),
        processes_left => report.processes_left,
        usage => usage(report.usage),
        commands => report.commands.iter().take(MAX_LISTED).map(|command| {
            context! { line => &command.command, exit => command.exit, failed => command.exit.is_some_and(|exit| exit != 0) }
        }).collect::<Vec<_>>(),
        more_commands => report.commands.len().saturating_sub(MAX_LISTED),
        command_count => report.commands.len(),
        said_files => report.files.iter().take(MAX_LISTED).map(Value::from).collect::<Vec<_>>(),
        repository => report.repository.as_ref().map(repository),
        checks => report.checks.iter().map(check).collect::<Vec<_>>(),
        stderr => (!report.stderr_tail.is_empty()).then(|| excerpt::of(&report.stderr_tail)),
    }
}

fn attempt(attempt: &Attempt) -> Value {
    let failure = attempt.failure.as_ref();
    context! {
        runner => &attempt.runner,
        version => attempt.version.as_deref(),
        model => attempt.model.as_deref(),
        session => attempt.session.as_deref(),
        wall => length(attempt.wall_ms),
        exit => attempt.exit,
        failure => failure.map(|failure| context! { class => &failure.class, detail => &failure.detail }),
    }
}

fn repository(repository: &Repository) -> Value {
    let files = repository.files.iter().take(MAX_LISTED).map(|file| {
        context! { path => &file.path, insertions => file.insertions, deletions => file.deletions }
    });
    let short = |head: &Option<String>| head.as_deref().map(|head| head.chars().take(12).collect::<String>());
    context! {
        before => short(&repository.head_before),
        after => short(&repository.head_after),
        moved => repository.head_before != repository.head_after,
        isolation => &repository.isolation,
        kept => repository.kept.as_deref(),
        files => files.collect::<Vec<_>>(),
        file_count => repository.files.len() as u64 + repository.more_files,
        more_files => repository.files.len().saturating_sub(MAX_LISTED) as u64 + repository.more_files,
        insertions => repository.insertions,
        deletions => repository.deletions,
        patch => repository.patch.as_deref().map(|patch| {
            let part = excerpt::beginning(patch);
            context! { html => Value::from_safe_string(highlight::diff(part)), clipped => part.len() < patch.len() }
        }),
        patch_left_out => repository.patch_left_out,
    }
}

fn check(check: &Check) -> Value {
    context! {
        line => check.line(),
        passed => check.passed,
        exit => check.exit,
        reason => check.reason.as_deref(),
        wall => length(check.wall_ms),
        output => (!check.output_tail.is_empty()).then(|| excerpt::of(&check.output_tail)),
    }
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
        .filter_map(|(name, count)| Some(Value::from(format!("{} tokens {name}", count?))))
        .collect();
    if let Some(micro) = usage.cost_micro_usd {
        facts.push(Value::from(format!("{}.{:04} USD", micro / 1_000_000, micro / 100 % 10_000)));
    }
    facts
}

fn length(millis: u64) -> String {
    timefmt::length(Duration::from_millis(millis))
}
