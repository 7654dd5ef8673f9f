//! The working folder of a task as it travels to a worker, and the commit that comes back.

use std::fs;
use std::path::Path;

use super::executor::context::{ExecutorContext, make_private};
use super::executor::rows;
use super::lane;
use super::worker_order::Order;
use adjutant_host::git::{Author, Git, Repository};
use adjutant_store::tasks;

/// The order in a task's folder on the hub while a worker has the task.
pub const ORDER_FILE: &str = "order.json";
/// The bundle of the commit that the order names, in the same folder; absent where the worker has the commit.
pub const BUNDLE_FILE: &str = "workspace.bundle";
/// The bundle of the ignored files that travel, in the same folder.
pub const INCLUDED_FILE: &str = "included.bundle";

/// The folder of private git directories in a task's folder.
const SCRATCH: &str = "worker-git";

/// Makes the order of a task, and the bundles of its working folder as it is now, without what the worker has in `commits`. Returns
/// the order and the bytes of the bundles.
pub(crate) async fn pack(
    context: &ExecutorContext,
    row: &tasks::Task,
    folder: &Path,
    max_bundle: u64,
    commits: &[String],
) -> Result<(Order, u64), String> {
    let options = rows::options(row)?;
    let (git, repository) = repository_of(context, row, options.workdir.path()).await?;
    let Some(head) = repository.head.clone() else {
        return Err("the repository has no commit yet".to_owned());
    };
    git.check_travel(&repository, &head).await?;
    let author = Author { name: "adjutant".to_owned(), email: "adjutant@adjutant.invalid".to_owned() };
    let commit = git.commit_state(&repository, &row.id, &author, max_bundle).await?;
    let packed = async {
        let (file, included) = (folder.join(BUNDLE_FILE), folder.join(INCLUDED_FILE));
        let _ = fs::remove_file(&file);
        let _ = fs::remove_file(&included);
        let known = git.known(&repository, commits).await?;
        let mut bytes = git.write_bundle(&repository, &commit, &known, &file, max_bundle).await?;
        let files = git.bundle_included(&repository, &included, max_bundle).await?;
        bytes += included.metadata().map_or(0, |found| found.len());
        Ok::<_, String>((bytes, files))
    };
    let (bytes, included) = match packed.await {
        Ok(packed) => packed,
        Err(reason) => {
            git.forget_state(&repository, &row.id);
            return Err(reason);
        }
    };
    let order = Order {
        agent: row.agent.clone(),
        runner: lane::parts(&row.runner).0.to_owned(),
        text: row.text.clone(),
        options: row.options.clone(),
        commit,
        repository: key(&repository.top),
        included,
        below: repository.below,
    };
    Ok((order, bytes))
}

/// Takes the commit of a bundle into the repository of the task; there is no file `bundle` if the repository has the commit.
/// Returns its reference.
pub(crate) async fn unpack(
    context: &ExecutorContext,
    row: &tasks::Task,
    commit: &str,
    bundle: &Path,
) -> Result<String, String> {
    let options = rows::options(row)?;
    let order = fs::read(context.folder(&row.id).join(ORDER_FILE)).map_err(|error| error.to_string())?;
    let order: Order = serde_json::from_slice(&order).map_err(|error| error.to_string())?;
    let (git, repository) = repository_of(context, row, options.workdir.path()).await?;
    let reference = format!("refs/adjutant/{}", row.id);
    git.fetch_bundle(
        &repository,
        Some(bundle).filter(|bundle| bundle.exists()),
        &order.commit,
        commit,
        &reference,
    )
    .await?;
    Ok(reference)
}

/// Removes the reference that keeps the commit that an ended task worked on.
pub(crate) async fn forget(context: &ExecutorContext, row: &tasks::Task) {
    let Ok(options) = rows::options(row) else { return };
    if let Ok((git, repository)) = repository_of(context, row, options.workdir.path()).await {
        git.forget_state(&repository, &row.id);
    }
}

async fn repository_of(
    context: &ExecutorContext,
    row: &tasks::Task,
    workdir: &Path,
) -> Result<(Git, Repository), String> {
    let scratch = context.folder(&row.id).join(SCRATCH);
    let _ = fs::remove_dir_all(&scratch);
    make_private(&scratch).map_err(|error| error.to_string())?;
    let git = Git::new(&scratch, context.environment.path());
    let repository = git.find(workdir).await?;
    Ok((git, repository))
}

/// Returns a name of a repository for the cache of a worker: FNV-1a of its folder. Two repositories with the same name would
/// share a cache, and no more.
fn key(top: &Path) -> String {
    let bytes = top.as_os_str().as_encoded_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
