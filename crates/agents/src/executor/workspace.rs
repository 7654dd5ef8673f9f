//! Workspace of a task: the caller's folder or a worktree made for the task, and the changes in it.

use std::path::Path;

use super::context::{Baseline, ExecutorContext, TaskRun, WORKTREE, make_private};
use crate::run_report;
use adjutant_host::git::Git;

/// Prepares the working folder before the first run. The error is a sentence for the caller.
pub(super) async fn prepare(context: &ExecutorContext, run: &mut TaskRun<'_>) -> Result<(), String> {
    run.options.workdir.path().clone_into(&mut run.workspace);
    if run.state.baseline.is_none() {
        match take_baseline(context, run).await {
            Ok(baseline) => run.state.baseline = Some(baseline),
            Err(reason) if run.options.worktree => return Err(reason),
            // Outside of a repository, or in one that git cannot read, the run report names no files.
            Err(reason) => tracing::debug!(task = run.row.id, reason, "the run report has no files"),
        }
    }
    if let Some(Baseline { inner, repository, worktree: Some(_), .. }) = &run.state.baseline {
        run.workspace = inner.top.join(&repository.below);
    }
    Ok(())
}

async fn take_baseline(context: &ExecutorContext, run: &TaskRun<'_>) -> Result<Baseline, String> {
    let folder = run.options.workdir.path();
    if !run.options.worktree && !in_a_repository(folder) {
        return Err("it is in no repository".to_owned());
    }
    let git = git(context, run)?;
    let repository = git.find(folder).await.map_err(|reason| no_repository(&reason))?;
    if !run.options.worktree {
        let snapshot = git.snapshot(&repository).await?;
        return Ok(Baseline { inner: repository.clone(), repository, snapshot, worktree: None });
    }
    let worktree = run.folder.join(WORKTREE);
    let reason = format!("adjutant task {}", run.row.id);
    git.add_worktree(&repository, &worktree, &reason).await.map_err(|reason| no_repository(&reason))?;
    let worktree = worktree.canonicalize().map_err(|error| error.to_string())?;
    let inner = git.find(&worktree).await?;
    // A folder that is in no commit is not in the worktree.
    let workspace = inner.top.join(&repository.below);
    if !workspace.is_dir() {
        let _ = git.remove_worktree(&repository, &worktree).await;
        return Err("the working directory is in no commit, so no worktree has it".to_owned());
    }
    let snapshot = git.snapshot(&inner).await?;
    Ok(Baseline { repository, inner, snapshot, worktree: Some(worktree) })
}

/// Returns the changes in the repository since the baseline; `None` without a repository that git can read.
pub(super) async fn changed_files(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
) -> Option<run_report::Repository> {
    let baseline = run.state.baseline.as_ref()?;
    let read = async {
        let git = git(context, run)?;
        let after = git.snapshot(&baseline.inner).await?;
        let difference = git.difference(&baseline.inner, &baseline.snapshot.tree, &after.tree).await?;
        let mut changed = run_report::Repository {
            head_before: baseline.snapshot.head.clone(),
            head_after: after.head,
            isolation: run.options.isolation().name().to_owned(),
            files: difference.files,
            insertions: difference.insertions,
            deletions: difference.deletions,
            more_files: difference.more,
            ..run_report::Repository::default()
        };
        if baseline.worktree.is_some() && baseline.snapshot.tree != after.tree {
            let limit = context.settings.max_patch_bytes;
            changed.patch = git.patch(&baseline.inner, &baseline.snapshot.tree, &after.tree, limit).await?;
            changed.patch_left_out = changed.patch.is_none();
        }
        Ok::<_, String>(changed)
    };
    read.await
        .inspect_err(|reason| tracing::warn!(task = run.row.id, reason, "the run report lacks the files"))
        .ok()
}

/// Removes the worktree. A worktree with changes stays where that is configured, or where its patch is in no run
/// report.
pub(super) async fn cleanup(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
    changed: Option<&mut run_report::Repository>,
) {
    let Some(Baseline { repository, worktree: Some(worktree), .. }) = &run.state.baseline else { return };
    let Ok(git) = git(context, run) else { return };
    let (has_changes, lacks_patch) = changed.as_ref().map_or((true, true), |changed| {
        let lacks_patch = changed.patch_left_out || changed.more_files > 0 && changed.patch.is_none();
        (!changed.files.is_empty(), lacks_patch)
    });
    if has_changes && (context.settings.keep_worktrees || lacks_patch) {
        git.release_worktree(repository, worktree).await;
        if let Some(changed) = changed {
            changed.kept = Some(worktree.display().to_string());
        }
    } else if let Err(reason) = git.remove_worktree(repository, worktree).await {
        tracing::warn!(task = run.row.id, reason, "a worktree could not be removed");
    }
}

fn git(context: &ExecutorContext, run: &TaskRun<'_>) -> Result<Git, String> {
    let scratch = run.folder.join("git");
    make_private(&scratch.join("objects")).map_err(|error| error.to_string())?;
    Ok(Git::new(&scratch, context.environment.path()))
}

fn no_repository(reason: &str) -> String {
    format!(
        "isolation `worktree` needs a git repository with at least one commit around the working directory: {reason}"
    )
}

/// Recognizes most folders without a repository, without starting git.
fn in_a_repository(folder: &Path) -> bool {
    folder.ancestors().any(|above| above.join(".git").exists())
}
