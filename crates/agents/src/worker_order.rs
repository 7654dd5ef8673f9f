//! Task of a hub as it travels to a worker, and what the worker reports of it.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::task::TaskId;

pub use adjutant_store::tasks::Lease;

/// A queued task that a worker may claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub task: String,
    /// The attempt that a claim begins.
    pub attempt: i64,
    pub fence: i64,
    pub runner: String,
    /// The label that its worker must have.
    pub label: Option<String>,
}

/// Everything that a worker needs to run a task, besides the bundle of the repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub agent: String,
    pub runner: String,
    pub text: String,
    /// The task's options as the hub's row has them; the folder in them is the hub's.
    pub options: String,
    /// The commit that the agent works on.
    pub commit: String,
    /// A name of the repository, for the cache of the worker.
    pub repository: String,
    /// The commit of the ignored files that travel in a bundle of their own.
    pub included: Option<String>,
    /// The working folder below the top of the repository; empty for the top itself.
    pub below: PathBuf,
}

/// A claim that the hub carried out: the files are in the task's folder on the hub.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The fence that every message of the worker must carry from now on.
    pub fence: i64,
    pub order_bytes: u64,
    pub bundle_bytes: u64,
}

/// The reply of the hub to a report of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Continue,
    /// The user requested the cancellation.
    Cancel,
    /// The task has another fence or has ended: nothing of this worker counts from now on.
    Stale,
}

/// The agent of a task that a worker runs, as a client of the hub. All of it is known to the hub but `there`, which the worker
/// reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAgent {
    pub task: TaskId,
    /// The name of the worker.
    pub worker: String,
    /// The folder in which the agent works, on the worker.
    pub there: PathBuf,
    /// The folder of the task on this machine, of which `there` has a copy.
    pub here: PathBuf,
}

impl RemoteAgent {
    /// Returns the folder on this machine that a folder on the worker is a copy of; `None` for one outside of the agent's
    /// own. Reads no file.
    pub fn here(&self, path: &str) -> Option<String> {
        let below = Path::new(path).strip_prefix(&self.there).ok()?;
        let is_exact = below.components().all(|part| matches!(part, Component::Normal(_)));
        // A join with nothing would end with a slash.
        let found = if below == Path::new("") { self.here.clone() } else { self.here.join(below) };
        is_exact.then(|| found.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::RemoteAgent;
    use crate::task::TaskId;

    #[test]
    fn a_folder_of_a_worker_is_found_below_the_folder_of_the_task_alone() {
        let agent = RemoteAgent {
            task: TaskId::new().unwrap(),
            worker: "build-1".to_owned(),
            there: "/w/tree".into(),
            here: "/code/shop".into(),
        };
        for (path, found) in [
            ("/w/tree", Some("/code/shop")),
            ("/w/tree/", Some("/code/shop")),
            ("/w/tree/api/", Some("/code/shop/api")),
            ("/w/tree/../x", None),
            ("/w/trees", None),
            ("/code/shop", None),
            ("api", None),
            ("", None),
        ] {
            assert_eq!(agent.here(path).as_deref(), found, "{path}");
        }
    }
}
