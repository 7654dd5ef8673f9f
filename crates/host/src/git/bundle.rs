//! Bundles: a commit with its history as one file, for a machine that does not have the repository.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::private_dir::{Attributes, PrivateDir};
use super::repository::Repository;
use super::{Git, MAX_LISTING_BYTES, blocking};
use adjutant_base::text::random_id::random_id;

/// The reference in a bundle, and the one that makes known commits reachable in a private directory.
pub(super) const REFERENCE: &str = "refs/adjutant/commit";
const KNOWN: &str = "refs/adjutant/known";

impl Git {
    /// Writes `commit` with its history into the bundle `file`, without the objects that the commits `known` reach.
    /// Returns the size in bytes; 0 where they reach `commit` itself, and no file is written then. A bundle of more than
    /// `limit` bytes is removed again, and is an error. The error is a sentence fragment.
    pub async fn write_bundle(
        &self,
        repository: &Repository,
        commit: &str,
        known: &[String],
        file: &Path,
        limit: u64,
    ) -> Result<u64, String> {
        let (private, env) = self.private_for_bundle(repository, "bundle-out").await?;
        let without = || known.iter().map(|known| OsString::from(format!("^{known}")));
        let mut missing: Vec<OsString> = ["rev-list", "--max-count=1", commit].map(OsString::from).to_vec();
        missing.extend(without());
        // Git writes no empty bundle.
        if self.ask(&repository.top, &missing, &env, b"", MAX_LISTING_BYTES).await?.stdout.is_empty() {
            return Ok(0);
        }
        set_reference(&private, REFERENCE, commit).await?;
        // A git that was killed leaves a lock of its file, which no later git takes over, so each one writes another file.
        let new = file.with_extension(random_id::<8>().map_err(|error| error.to_string())?);
        let mut arguments: Vec<OsString> = ["bundle", "create", "--quiet"].map(OsString::from).to_vec();
        arguments.push((&new).into());
        arguments.push(REFERENCE.into());
        arguments.extend(without());
        self.ask(&repository.top, &arguments, &env, b"", MAX_LISTING_BYTES).await?;
        let bytes = fs::metadata(&new).map_err(|error| error.to_string())?.len();
        if bytes > limit {
            let _ = fs::remove_file(new);
            return Err(format!("its bundle has {bytes} bytes, over the limit of {limit}"));
        }
        fs::rename(new, file).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Adds the objects of a bundle to `repository`, which must have the commit `known`, and creates `reference` for
    /// `commit`. `bundle` is `None` if `known` reaches the commit. Nothing else changes: no file, no branch, no index.
    pub async fn fetch_bundle(
        &self,
        repository: &Repository,
        bundle: Option<&Path>,
        known: &str,
        commit: &str,
        reference: &str,
    ) -> Result<(), String> {
        let (private, mut env) = self.private_for_bundle(repository, "bundle-in").await?;
        set_reference(&private, KNOWN, known).await?;
        env.push(("GIT_OBJECT_DIRECTORY".into(), repository.objects().into()));
        if let Some(bundle) = bundle {
            let unbundle: [OsString; 3] = ["bundle".into(), "unbundle".into(), bundle.into()];
            self.ask(&repository.top, &unbundle, &env, b"", MAX_LISTING_BYTES).await?;
        }
        let check = ["cat-file", "-e", &format!("{commit}^{{commit}}")];
        self.ask(&repository.top, &check, &env, b"", MAX_LISTING_BYTES).await?;
        let (path, line) = (repository.common_dir.join(reference), format!("{commit}\n"));
        blocking(move || write_line(&path, &line)).await
    }

    async fn private_for_bundle(
        &self,
        repository: &Repository,
        name: &str,
    ) -> Result<(PrivateDir, Vec<(OsString, OsString)>), String> {
        let private = PrivateDir::open(self.scratch.join(name), repository).await?;
        let env = private.env(&repository.top, &private.index(), Attributes::Ignored);
        Ok((private, env))
    }
}

pub(super) async fn set_reference(private: &PrivateDir, name: &str, commit: &str) -> Result<(), String> {
    let (path, line) = (private.folder.join(name), format!("{commit}\n"));
    blocking(move || write_line(&path, &line)).await
}

pub(super) fn write_line(path: &Path, line: &str) -> Result<(), String> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, line));
    written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test runs git as a user does")]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use crate::git::{Author, Git};

    fn run(folder: &Path, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.org"]).args(arguments).current_dir(folder);
        let done = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    #[tokio::test]
    async fn a_commit_travels_to_another_machine_and_its_result_comes_back_as_a_reference() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (origin, clone) = (folder.join("origin"), folder.join("clone"));
        std::fs::create_dir(&origin).unwrap();
        run(&origin, &["init", "--quiet"]);
        std::fs::write(origin.join("a.txt"), "one\n").unwrap();
        run(&origin, &["add", "."]);
        run(&origin, &["commit", "--quiet", "-m", "first"]);
        let path = std::env::var_os("PATH");
        let (here, there) = (Git::new(&folder.join("h"), path.clone()), Git::new(&folder.join("w"), path));
        let repository = here.find(&origin).await.unwrap();
        let base = repository.head.clone().unwrap();
        let bundle = folder.join("out.bundle");
        let refused = here.write_bundle(&repository, &base, &[], &bundle, 10).await.unwrap_err();
        assert!(refused.contains("over the limit of 10") && !bundle.exists(), "{refused}");
        // A git that was killed has left its lock.
        std::fs::write(bundle.with_extension("bundle.lock"), "").unwrap();
        here.write_bundle(&repository, &base, &[], &bundle, 1 << 20).await.unwrap();

        let cache = folder.join("cache.git");
        there.cache_bundle(&cache, Some(&bundle), &base).await.unwrap();
        there.clone_cache(&cache, &base, &clone).await.unwrap();
        let tree = folder.join("tree");
        there.add_worktree(&there.find(&clone).await.unwrap(), &tree, "task").await.unwrap();
        assert_eq!(run(&tree, &["status", "--porcelain"]), "");
        std::fs::write(tree.join("b.txt"), "two\n").unwrap();
        let inner = there.find(&tree).await.unwrap();
        let author = Author { name: "A".to_owned(), email: "a@example.org".to_owned() };
        let (commit, _) = there.commit(&inner, "result", &author, "second").await.unwrap();
        let result = folder.join("in.bundle");
        there.write_bundle(&inner, &commit, std::slice::from_ref(&base), &result, 1 << 20).await.unwrap();

        let before = run(&origin, &["status", "--porcelain", "--branch"]);
        here.fetch_bundle(&repository, Some(&result), &base, &commit, "refs/adjutant/task").await.unwrap();
        assert_eq!(run(&origin, &["show", "refs/adjutant/task:b.txt"]), "two");
        assert_eq!(run(&origin, &["rev-parse", "refs/adjutant/task^"]), base);
        assert_eq!(run(&origin, &["status", "--porcelain", "--branch"]), before);
        run(&origin, &["fsck", "--strict"]);

        // Whoever has a commit has its parents, so there is nothing to send.
        std::fs::remove_file(&result).unwrap();
        let empty = there.write_bundle(&inner, &base, std::slice::from_ref(&commit), &result, 1 << 20).await;
        assert!(empty == Ok(0) && !result.exists(), "{empty:?}");
        here.fetch_bundle(&repository, None, &commit, &base, "refs/adjutant/parent").await.unwrap();
        assert_eq!(run(&origin, &["rev-parse", "refs/adjutant/parent"]), base);
    }
}
