//! Workspace of a task: the caller's folder or a worktree made for the task, and the changes in it.

use std::path::{Path, PathBuf};

use super::checks;
use super::context::{Baseline, ExecutorContext, TaskRun, make_private};
use super::event_writer::write_event;
use crate::run_report::{self, RunReport};
use crate::task::TaskEventKind;
use crate::worktrees::{self, WORKTREE};
use adjutant_host::git::{Git, Repository, Snapshot};

/// The names of the snapshots of the two working trees of a task, see [`Git::snapshot`].
const INNER: &str = "tree";
const CALLER: &str = "caller";

/// The folder of a task with its private git directories.
const SCRATCH: &str = "git";

/// The reason why the files of a run that another hub began are not compared.
const NO_BASELINE: &str = "the hub that began the run ended, and its record of the files is lost";

/// Prepares the working folder before the first run. The error is a sentence for the caller.
pub(super) async fn prepare(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    resumed: bool,
) -> Result<(), String> {
    run.options.workdir.path().clone_into(&mut run.workspace);
    if run.state.baseline.is_none() && run.state.report.files_unknown.is_none() {
        let baseline = if resumed { Err(NO_BASELINE.to_owned()) } else { take_baseline(context, run).await };
        match baseline {
            Ok(baseline) => run.state.baseline = Some(baseline),
            Err(reason) if run.options.worktree && !resumed => return Err(reason),
            // Outside of a repository, or in one that git cannot read; or what the last hub knew of it is lost.
            Err(reason) => run.state.report.files_unknown = Some(reason),
        }
    }
    if let Some(Baseline { inner, repository, worktree: Some(_), .. }) = &run.state.baseline {
        run.workspace = inner.top.join(&repository.below);
    } else if run.options.worktree {
        run.workspace = run.folder.join(WORKTREE);
    }
    Ok(())
}

async fn take_baseline(context: &ExecutorContext, run: &mut TaskRun<'_>) -> Result<Baseline, String> {
    let folder = run.options.workdir.path();
    // A hub that was killed may have left private git directories.
    remove_scratch(run).await;
    let git = git(context, run)?;
    if !run.options.worktree {
        let repository = git.find(folder).await?;
        let snapshot = git.snapshot(&repository, INNER).await?;
        return Ok(Baseline {
            inner: repository.clone(),
            repository,
            snapshot,
            worktree: None,
            caller: None,
        });
    }
    let repository = git.find(folder).await.map_err(|reason| {
        format!("isolation `worktree` needs a git repository around the working directory: {reason}")
    })?;
    let limit = context.settings.max_worktrees;
    if worktrees::count(&context.spool) >= limit {
        return Err(format!(
            "there are {limit} worktrees of tasks already; `adjutant tasks worktrees` shows them"
        ));
    }
    let worktree = run.folder.join(WORKTREE);
    let made = tokio::select! {
        made = git.add_worktree(&repository, &worktree, &run.row.id) => made,
        () = run.ending() => {
            git.remove_worktree(&repository, &worktree, &run.row.id).await?;
            Err("the task ends".to_owned())
        }
    };
    made.map_err(|reason| format!("the worktree of the task cannot be made: {reason}"))?;
    // A hub that was killed while it packed the task for a worker left it.
    git.forget_state(&repository, &run.row.id);
    let baseline = worktree_baseline(context, run, &git, repository.clone(), &worktree).await;
    if baseline.is_err() {
        git.remove_worktree(&repository, &worktree, &run.row.id).await?;
    }
    baseline
}

/// Sets up a new worktree, and takes its snapshot.
async fn worktree_baseline(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    git: &Git,
    repository: Repository,
    worktree: &Path,
) -> Result<Baseline, String> {
    let worktree = worktree.canonicalize().map_err(|error| error.to_string())?;
    let inner = git.find(&worktree).await?;
    // A folder that is in no commit is not in the worktree.
    let workspace = inner.top.join(&repository.below);
    if !workspace.is_dir() {
        return Err("the working directory is in no commit, so no worktree has it".to_owned());
    }
    set_up(context, run, workspace).await?;
    let snapshot = if run.options.setup.is_empty() {
        git.snapshot_of_checkout(&inner, INNER).await?
    } else {
        git.snapshot(&inner, INNER).await?
    };
    let caller =
        if run.options.without_checkout { None } else { Some(git.snapshot(&repository, CALLER).await) };
    Ok(Baseline { repository, inner, snapshot, worktree: Some(worktree), caller })
}

/// Runs the agent's `setup` commands in a new worktree.
async fn set_up(context: &ExecutorContext, run: &mut TaskRun<'_>, workspace: PathBuf) -> Result<(), String> {
    run.workspace = workspace;
    for (number, argv) in run.options.setup.iter().enumerate() {
        let text = format!("setup: {}", argv.join(" "));
        write_event(context, run.row, TaskEventKind::HubNotice { text }).await;
        let command = checks::run_command(context, run, argv, &format!("setup-{number}")).await;
        run.state.report.processes_left += command.processes_left;
        run.state.report.is_uncounted |= command.is_uncounted;
        let (passed, line) = (command.passed, command.line());
        let reason = command.reason.clone().unwrap_or_else(|| command.output_tail.trim().to_owned());
        run.state.report.setup.push(command);
        if !passed {
            return Err(format!("the setup command `{line}` did not pass: {reason}"));
        }
    }
    Ok(())
}

/// Adds the changes since the baseline to the report, or the reason why they are not known.
pub(super) async fn record_changes(context: &ExecutorContext, run: &TaskRun<'_>, report: &mut RunReport) {
    let Some(baseline) = &run.state.baseline else { return };
    let read = match git(context, run) {
        Ok(git) => changes(context, &git, baseline, run).await,
        Err(reason) => Err(reason),
    };
    report.repository = Some(read.unwrap_or_else(|reason| {
        report.files_unknown = Some(reason);
        run_report::Repository { head_before: baseline.snapshot.head.clone(), ..Default::default() }
    }));
    if let Some(repository) = &mut report.repository {
        run.options.isolation().name().clone_into(&mut repository.isolation);
    }
}

async fn changes(
    context: &ExecutorContext,
    git: &Git,
    baseline: &Baseline,
    run: &TaskRun<'_>,
) -> Result<run_report::Repository, String> {
    if !run.workspace.is_dir() {
        return Err("the run removed the folder that it worked in".to_owned());
    }
    let is_same = match &baseline.worktree {
        Some(_) => run.workspace.canonicalize().is_ok_and(|real| real == run.workspace),
        None => run.options.workdir.is_unchanged(),
    };
    if !is_same {
        return Err("the run put another folder in the place of the one that it worked in".to_owned());
    }
    let after = git.snapshot(&baseline.inner, INNER).await?;
    let max_patch = baseline.worktree.as_ref().map(|_| context.settings.max_patch_bytes);
    let pair = (&baseline.snapshot, &after);
    let difference = git.difference(&baseline.inner, INNER, pair, max_patch).await?;
    let caller = match &baseline.caller {
        Some(Ok(before)) => changed_names(git, &baseline.repository, before).await,
        Some(Err(reason)) => Err(reason.clone()),
        None => Ok(Vec::new()),
    };
    Ok(run_report::Repository {
        head_before: baseline.snapshot.head.clone(),
        head_after: after.head,
        commits: difference.commits,
        patch_left_out: max_patch.is_some() && difference.patch.is_none() && !difference.files.is_empty(),
        patch: difference.patch,
        files: difference.files,
        insertions: difference.insertions,
        deletions: difference.deletions,
        more_files: difference.more,
        git_changes: difference.repository,
        hidden: difference.hidden,
        ignores_files: difference.ignores,
        caller_unknown: caller.as_ref().err().cloned(),
        caller_files: caller.unwrap_or_default(),
        ..run_report::Repository::default()
    })
}

/// Returns the names of files in the caller's own tree that changed since `before`.
async fn changed_names(git: &Git, repository: &Repository, before: &Snapshot) -> Result<Vec<String>, String> {
    let after = git.snapshot(repository, CALLER).await?;
    let difference = git.difference(repository, CALLER, (before, &after), None).await?;
    Ok(difference.files.into_iter().map(|file| file.path).collect())
}

/// Removes the private git directories of the task, which may hold copies of its files.
pub(super) async fn remove_scratch(run: &TaskRun<'_>) {
    let scratch = run.folder.join(SCRATCH);
    let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(scratch)).await;
}

/// Removes the worktree. A worktree with changes stays where that is configured, or where its patch is in no run
/// report.
pub(super) async fn cleanup(context: &ExecutorContext, run: &TaskRun<'_>, report: &mut RunReport) {
    if !run.options.worktree {
        return;
    }
    // Not by `git`, which makes the folder: that fails on a full disk, and is not needed here.
    let git = Git::new(&run.folder.join(SCRATCH), context.environment.path());
    let (repository, worktree) = match &run.state.baseline {
        Some(Baseline { repository, worktree: Some(worktree), .. }) => (repository.clone(), worktree.clone()),
        // An earlier hub may have made the worktree.
        _ => match git.find(run.options.workdir.path()).await {
            Ok(repository) => (repository, run.folder.join(WORKTREE)),
            Err(_) => return,
        },
    };
    let changed = report.repository.as_ref();
    let lacks_patch = report.files_unknown.is_some()
        || changed.is_some_and(|changed| changed.patch_left_out || !changed.hidden.is_empty());
    let has_changes = lacks_patch || changed.is_some_and(|changed| !changed.files.is_empty());
    // An agent may have put a link in its place.
    let is_there = || worktree.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_there() || !has_changes || !(context.settings.keep_worktrees || lacks_patch) {
        if let Err(reason) = git.remove_worktree(&repository, &worktree, &run.row.id).await {
            tracing::warn!(task = run.row.id, reason, "a worktree could not be removed");
        }
        if !is_there() {
            return;
        }
    }
    git.release_worktree(&repository, &run.row.id);
    let changed = report.repository.get_or_insert_default();
    changed.kept = Some(worktree.display().to_string());
    run.options.isolation().name().clone_into(&mut changed.isolation);
}

fn git(context: &ExecutorContext, run: &TaskRun<'_>) -> Result<Git, String> {
    let scratch = run.folder.join(SCRATCH);
    make_private(&scratch).map_err(|error| error.to_string())?;
    Ok(Git::new(&scratch, context.environment.path()))
}
