//! Git in the repository around a folder, without the repository's own configuration.
//!
//! Git reads a private git directory instead, which has an empty configuration and names the repository's objects as
//! alternates. So no filter, hook or other program that a workspace configures can be started. The repository's
//! references are read without git, and nothing is written into it except a requested worktree or commit.

mod bundle;
mod cache;
mod commit;
mod private_dir;
mod repository;
mod snapshot;
mod state;
mod status;
mod travel;
mod worktree;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use cache::cached_commits;
pub use commit::Author;
pub use repository::Repository;
pub use snapshot::{ChangedFile, Difference, Snapshot};
pub use status::{Facts, change_word};
pub use worktree::{has_locked_entry, remove_kept_worktree};

use crate::process::{self, CommandOutput};

/// Timeout of one command. A snapshot of a huge tree that takes longer is left out of the run report.
const GIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Commands that read or write all objects or files of a repository, and their timeout. It ends a git that hangs, and is
/// far above what gigabytes take.
const BULK_COMMANDS: [&str; 5] = ["add", "bundle", "checkout-index", "read-tree", "repack"];
const BULK_TIMEOUT: Duration = Duration::from_mins(30);

/// Maximum bytes of a listing of files.
const MAX_LISTING_BYTES: u64 = 64 * 1024 * 1024;

/// The beginning of the names of the entries of worktrees that the hub makes.
const WORKTREE_PREFIX: &str = "adjutant-";

/// Settings that the private configuration does not have to repeat.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.autocrlf=false",
    "core.commitGraph=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
];

/// Runs git on one repository.
#[derive(Clone, Debug)]
pub struct Git {
    /// The whole environment of git: the given `PATH`, fixed settings, and `scratch` as the home.
    env: Vec<(OsString, OsString)>,
    /// The folder of the private git directories.
    scratch: PathBuf,
}

impl Git {
    /// Creates a `Git` with its files below `scratch`. Git is searched in the absolute folders of `path` only, because
    /// a relative one would be a folder of the workspace.
    pub fn new(scratch: &Path, path: Option<OsString>) -> Self {
        let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut env = vec![
            set("GIT_CONFIG_NOSYSTEM", "1"),
            set("GIT_CONFIG_GLOBAL", "/dev/null"),
            set("GIT_ATTR_NOSYSTEM", "1"),
            set("GIT_ALLOW_PROTOCOL", ""),
            set("GIT_NO_LAZY_FETCH", "1"),
            set("GIT_NO_REPLACE_OBJECTS", "1"),
            set("GIT_TERMINAL_PROMPT", "0"),
            set("GIT_OPTIONAL_LOCKS", "0"),
            set("LC_ALL", "C"),
            (OsString::from("HOME"), scratch.as_os_str().to_owned()),
        ];
        let absolute =
            path.map(|path| std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect());
        let path = absolute.and_then(|folders: Vec<PathBuf>| std::env::join_paths(folders).ok());
        env.extend(path.map(|path| (OsString::from("PATH"), path)));
        Self { env, scratch: scratch.to_owned() }
    }

    /// Returns the repository around `folder`; the error is a sentence fragment.
    pub async fn find(&self, folder: &Path) -> Result<Repository, String> {
        let folder = folder.to_owned();
        blocking(move || Repository::discover(&folder)).await
    }

    async fn ask(
        &self,
        folder: &Path,
        arguments: &[impl AsRef<OsStr>],
        env: &[(OsString, OsString)],
        input: &[u8],
        limit: u64,
    ) -> Result<CommandOutput, String> {
        let mut argv = vec![OsString::from("git")];
        argv.extend(SETTINGS.iter().flat_map(|setting| ["-c", setting]).map(OsString::from));
        argv.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        let is_bulk = arguments
            .first()
            .is_some_and(|command| BULK_COMMANDS.iter().any(|bulk| command.as_ref() == *bulk));
        let timeout = if is_bulk { BULK_TIMEOUT } else { GIT_TIMEOUT };
        let env = [&self.env[..], env].concat();
        let answer = process::output_with_input(&argv, folder, &env, input, limit, timeout).await?;
        if answer.code == Some(0) {
            return Ok(answer);
        }
        let complaint = String::from_utf8_lossy(&answer.stderr);
        let line = complaint.lines().next().unwrap_or("git failed without a message");
        Err(line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")).unwrap_or(line).to_owned())
    }
}

/// Reads or writes files on the blocking pool.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Returns a path as text; bytes that are not UTF-8 are escaped, so that two paths never become one.
fn name(path: &[u8]) -> String {
    std::str::from_utf8(path).map_or_else(|_| path.escape_ascii().to_string(), ToOwned::to_owned)
}
