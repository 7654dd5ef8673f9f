//! A commit of everything in a worktree. Git writes its objects; the references are written without git, because git would
//! read the repository's configuration.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use super::private_dir::{Attributes, PrivateDir};
use super::repository::Repository;
use super::{Git, MAX_LISTING_BYTES, blocking};

/// The author of a commit.
#[derive(Clone, Debug)]
pub struct Author {
    pub name: String,
    pub email: String,
}

impl Git {
    /// Commits all files of a working tree that are not ignored, on its branch. With a detached HEAD it makes the new
    /// branch `branch`, and checks it out. Returns the commit and its branch; the error is a sentence fragment.
    pub async fn commit(
        &self,
        repository: &Repository,
        branch: &str,
        author: &Author,
        message: &str,
    ) -> Result<(String, String), String> {
        let head = repository.head.clone().ok_or_else(|| "the repository has no commit yet".to_owned())?;
        let folder = self.scratch.join("commit");
        let stale = folder.clone();
        blocking(move || match fs::remove_dir_all(stale) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        })
        .await?;
        let private = PrivateDir::open(folder, repository).await?;
        let index = private.index();
        let mut env = private.env(&repository.top, &index, Attributes::Honored);
        // The private directory keeps no objects: the commit belongs to the repository, so its objects are written
        // there.
        env.push(("GIT_OBJECT_DIRECTORY".into(), repository.objects().into()));
        for role in ["AUTHOR", "COMMITTER"] {
            env.push((format!("GIT_{role}_NAME").into(), author.name.clone().into()));
            env.push((format!("GIT_{role}_EMAIL").into(), author.email.clone().into()));
        }
        self.commit_step(repository, &["read-tree", &head], &env, b"").await?;
        self.commit_step(repository, &["add", "--all"], &env, b"").await?;
        let tree = self.commit_step(repository, &["write-tree"], &env, b"").await?;
        let old =
            self.commit_step(repository, &["rev-parse", &format!("{head}^{{tree}}")], &env, b"").await?;
        if tree == old {
            return Err("no file has changed".to_owned());
        }
        let arguments = ["commit-tree", &tree, "-p", &head, "-F", "-"];
        let commit = self.commit_step(repository, &arguments, &env, message.as_bytes()).await?;
        let branch = repository.branch.clone().unwrap_or_else(|| branch.to_owned());
        let (repository, id, name) = (repository.clone(), commit.clone(), branch.clone());
        blocking(move || check_out(&repository, &name, &id, &index).map_err(|error| error.to_string()))
            .await?;
        Ok((commit, branch))
    }

    async fn commit_step(
        &self,
        repository: &Repository,
        arguments: &[&str],
        env: &[(OsString, OsString)],
        input: &[u8],
    ) -> Result<String, String> {
        let answer = self.ask(&repository.top, arguments, env, input, MAX_LISTING_BYTES).await?;
        Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
    }
}

/// Lets the branch and HEAD name the commit, and the index have its files.
fn check_out(repository: &Repository, branch: &str, commit: &str, index: &Path) -> io::Result<()> {
    let reference = repository.common_dir.join("refs/heads").join(branch);
    if repository.branch.is_none() && reference.exists() {
        return Err(io::Error::other(format!("the branch `{branch}` is there already")));
    }
    if let Some(folder) = reference.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&reference, format!("{commit}\n"))?;
    fs::write(repository.git_dir.join("HEAD"), format!("ref: refs/heads/{branch}\n"))?;
    fs::copy(index, repository.git_dir.join("index")).map(drop)
}
