//! What came of a task, as a page shows it: the agent's word, and beside it what the hub saw.

use std::time::Duration;

use minijinja::{Value, context};

use crate::agents::receipt::{Attempt, Check, Outcome, Receipt, Repository, Usage, Verdict};
use crate::web::{excerpt, marked, when};

/// Commands and files that are listed; a run may have thousands.
const LISTED: usize = 200;

/// Returns the outcome for the template.
pub(super) fn outcome(outcome: &Outcome) -> Value {
    let receipt = &outcome.receipt;
    let failed = receipt.checks.iter().filter(|check| !check.passed).count();
    context! {
        sentence => outcome.sentence(),
        completed => outcome.status == "succeeded",
        verdict => match outcome.verdict {
            Verdict::Unverified => "unverified",
            Verdict::Verified => "verified",
            Verdict::Refuted => "refuted",
        },
        failed_checks => failed,
        message => outcome.message.as_deref().map(excerpt::of),
        structured => outcome.structured.as_ref().map(|value| excerpt::of(&format!("{value:#}"))),
        receipt => shown(receipt),
    }
}

fn shown(receipt: &Receipt) -> Value {
    context! {
        instead => receipt.instead.as_deref(),
        attempts => receipt.attempts.iter().map(attempt).collect::<Vec<_>>(),
        permission => &receipt.permission,
        wall => length(receipt.wall_ms),
        cpu => length(receipt.cpu_ms),
        memory => (receipt.peak_rss_bytes > 0).then(|| when::size(receipt.peak_rss_bytes)),
        processes_left => receipt.processes_left,
        usage => usage(receipt.usage),
        commands => receipt.commands.iter().take(LISTED).map(|ran| {
            context! { line => &ran.command, exit => ran.exit, failed => ran.exit.is_some_and(|exit| exit != 0) }
        }).collect::<Vec<_>>(),
        more_commands => receipt.commands.len().saturating_sub(LISTED),
        command_count => receipt.commands.len(),
        said_files => receipt.files.iter().take(LISTED).map(Value::from).collect::<Vec<_>>(),
        repository => receipt.repository.as_ref().map(repository),
        checks => receipt.checks.iter().map(check).collect::<Vec<_>>(),
        stderr => (!receipt.stderr_tail.is_empty()).then(|| excerpt::of(&receipt.stderr_tail)),
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
        failure => failure.map(|fault| context! { class => &fault.class, detail => &fault.detail }),
    }
}

fn repository(repository: &Repository) -> Value {
    let files = repository.files.iter().take(LISTED).map(|file| {
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
        more_files => repository.files.len().saturating_sub(LISTED) as u64 + repository.more_files,
        insertions => repository.insertions,
        deletions => repository.deletions,
        patch => repository.patch.as_deref().map(|patch| {
            let part = excerpt::beginning(patch);
            context! { html => Value::from_safe_string(marked::diff(part)), clipped => part.len() < patch.len() }
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

/// Returns what was used, as facts with a name each; empty where no runner told.
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
    when::length(Duration::from_millis(millis))
}
