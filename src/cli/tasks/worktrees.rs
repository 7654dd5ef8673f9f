//! `adjutant tasks worktrees`.

use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::{parse_duration, short_id};
use adjutant_agents::worktrees::{Worktree, list, remove_older};
use adjutant_base::config::{self, Config};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt;

/// Arguments of `adjutant tasks worktrees`.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorktreesArgs {
    /// Remove the worktrees that are older than this and not in use
    #[arg(long, value_name = "AGE", value_parser = parse_duration)]
    remove_older_than: Option<Duration>,
}

/// Prints the worktrees, the oldest first. The caller has asked the hub whether the user may act.
pub(super) fn run(args: &WorktreesArgs, config: &Config) -> Result<(), Failure> {
    let spool = config.delegation.spool.clone().unwrap_or_else(|| config::spool(&config.home));
    if let Some(age) = args.remove_older_than {
        for removed in remove_older(&spool, age) {
            output::note(format!("removed {}", escape_line(&removed.path.display().to_string())));
        }
    }
    let worktrees: Vec<(Worktree, u64)> =
        list(&spool).into_iter().map(|worktree| (worktree.clone(), worktree.bytes())).collect();
    if output::is_json() {
        let rows = worktrees.iter().map(|(worktree, bytes)| {
            json!({"task_id": worktree.task, "path": worktree.path, "bytes": bytes, "in_use": worktree.in_use})
        });
        return output::json(&output::list(rows.collect(), "task_id"));
    }
    let rows = worktrees.iter().map(|(worktree, bytes)| {
        let age = SystemTime::now().duration_since(worktree.since).unwrap_or_default();
        [
            short_id(&worktree.task).to_owned(),
            mebibytes(*bytes),
            if worktree.in_use { "in use".to_owned() } else { timefmt::span(age) },
            escape_line(&worktree.path.display().to_string()),
        ]
    });
    output::table(["TASK", "SIZE", "AGE", "FOLDER"], 3, &rows.collect::<Vec<_>>(), "no worktrees of tasks")?;
    if worktrees.len() > 1 {
        let total = worktrees.iter().map(|(_, bytes)| bytes).sum();
        output::note(format!("{} worktrees use {}", worktrees.len(), mebibytes(total)));
    }
    Ok(())
}

fn mebibytes(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20)
}
