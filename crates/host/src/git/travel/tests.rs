//! A working tree travels: its changes, its ignored files, and what is refused.
#![expect(clippy::disallowed_methods, reason = "the test runs git as a user does")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::git::{Author, Git, Repository, cached_commits};

fn run(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]);
    let done =
        git.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

struct Machines {
    folder: PathBuf,
    here: Git,
    there: Git,
    _temporary: tempfile::TempDir,
}

impl Machines {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        let path = std::env::var_os("PATH");
        let (here, there) = (Git::new(&folder.join("h"), path.clone()), Git::new(&folder.join("w"), path));
        fs::create_dir(folder.join("origin")).unwrap();
        let machines = Self { folder, here, there, _temporary: temporary };
        run(&machines.origin(), &["init", "--quiet"]);
        machines.write("a.txt", "one\n");
        machines.commit();
        machines
    }

    fn origin(&self) -> PathBuf {
        self.folder.join("origin")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.origin().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self) {
        run(&self.origin(), &["add", "."]);
        run(&self.origin(), &["commit", "--quiet", "-m", "more"]);
    }

    async fn repository(&self) -> Repository {
        self.here.find(&self.origin()).await.unwrap()
    }

    async fn state(&self) -> String {
        let author = Author { name: "A".to_owned(), email: "a@example.org".to_owned() };
        self.here.commit_state(&self.repository().await, "task", &author, 1 << 20).await.unwrap()
    }
}

#[tokio::test]
async fn uncommitted_changes_travel_as_a_commit_and_change_nothing_here() {
    let machines = Machines::new();
    let origin = machines.origin();
    machines.write(".gitignore", "*.log\n");
    machines.write("b.txt", "b\n");
    machines.commit();
    assert_eq!(machines.state().await, run(&origin, &["rev-parse", "HEAD"]), "nothing has changed");
    machines.write("a.txt", "two\n");
    machines.write("new/c.txt", "c\n");
    machines.write("x.log", "ignored\n");
    fs::remove_file(origin.join("b.txt")).unwrap();
    machines.write("staged.txt", "s\n");
    run(&origin, &["add", "staged.txt"]);
    let before = (
        run(&origin, &["status", "--porcelain=v2", "--branch"]),
        fs::read(origin.join(".git/index")).unwrap(),
    );
    let state = machines.state().await;
    let after = (
        run(&origin, &["status", "--porcelain=v2", "--branch"]),
        fs::read(origin.join(".git/index")).unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(
        run(&origin, &["ls-tree", "-r", "--name-only", &state]),
        ".gitignore\na.txt\nnew/c.txt\nstaged.txt"
    );
    assert_eq!(run(&origin, &["show", &format!("{state}:a.txt")]), "two");
    assert_eq!(run(&origin, &["rev-parse", "refs/adjutant/base/task"]), state);
    let repository = machines.repository().await;
    machines.here.forget_state(&repository, "task");
    assert_eq!(run(&origin, &["for-each-ref", "refs/adjutant"]), "");
    let author = Author { name: "A".to_owned(), email: "a@example.org".to_owned() };
    let refused = machines.here.commit_state(&repository, "task", &author, 5).await.unwrap_err();
    assert!(refused.contains("over the limit of 5"), "{refused}");
}

#[tokio::test]
async fn the_second_bundle_has_only_what_is_new() {
    let machines = Machines::new();
    let noise: Vec<_> = (0..40_000_u32).map(|n| format!("{:x}\n", n.wrapping_mul(2_654_435_761))).collect();
    machines.write("big.txt", &noise.concat());
    machines.commit();
    let (caches, bundle) = (machines.folder.join("caches"), machines.folder.join("b"));
    let cache = caches.join("hub-1.git");
    let first = machines.state().await;
    let repository = machines.repository().await;
    let whole = machines.here.write_bundle(&repository, &first, &[], &bundle, 1 << 30).await.unwrap();
    machines.there.cache_bundle(&cache, Some(&bundle), &first).await.unwrap();
    assert_eq!(cached_commits(&caches, "hub-"), std::slice::from_ref(&first));
    assert_eq!(cached_commits(&caches, "other-"), Vec::<String>::new());

    machines.write("a.txt", "two\n");
    let second = machines.state().await;
    let repository = machines.repository().await;
    let offered = [first.clone(), "0".repeat(40), "not an id".to_owned()];
    let known = machines.here.known(&repository, &offered).await.unwrap();
    assert_eq!(known, [first]);
    fs::remove_file(&bundle).unwrap();
    let thin = machines.here.write_bundle(&repository, &second, &known, &bundle, 1 << 30).await.unwrap();
    assert!(thin * 20 < whole, "{thin} of {whole}");
    machines.there.cache_bundle(&cache, Some(&bundle), &second).await.unwrap();
    machines.there.cache_bundle(&cache, None, &second).await.unwrap();
    let (clone, place) = (machines.folder.join("clone"), machines.folder.join("tree"));
    machines.there.clone_cache(&cache, &second, &clone).await.unwrap();
    assert_eq!(fs::read_dir(&clone).unwrap().count(), 1, "no file is checked out");
    let repository_there = machines.there.find(&clone).await.unwrap();
    machines.there.add_worktree(&repository_there, &place, "task").await.unwrap();
    assert_eq!(fs::read_to_string(place.join("a.txt")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(place.join("big.txt")).unwrap(), noise.concat());
    run(&place, &["fsck", "--strict"]);

    let other = caches.join("hub-2.git");
    fs::remove_file(&bundle).unwrap();
    machines.here.write_bundle(&repository, &second, &[], &bundle, 1 << 30).await.unwrap();
    machines.there.cache_bundle(&other, Some(&bundle), &second).await.unwrap();
    machines.there.tidy_caches(&caches, &other, 1 << 30).await.unwrap();
    assert!(cache.exists());
    machines.there.tidy_caches(&caches, &other, 1).await.unwrap();
    assert!(!cache.exists() && other.exists());
}

#[tokio::test]
async fn ignored_files_of_the_list_travel_and_replace_nothing() {
    let machines = Machines::new();
    machines.write(".gitignore", "*.env\n.worktreeinclude\nkeep/\n");
    machines.commit();
    machines.write(".worktreeinclude", "*.env\n!other.env\nkeep/**\n");
    machines.write("a.env", "secret\n");
    machines.write("other.env", "not named\n");
    machines.write("keep/odd [name]*.txt", "odd\n");
    let (bundle, place) = (machines.folder.join("i"), machines.folder.join("tree"));
    let repository = machines.repository().await;
    let commit = machines.here.bundle_included(&repository, &bundle, 1 << 20).await.unwrap().unwrap();
    run(&machines.folder, &["clone", "--quiet", "origin", "tree"]);
    fs::write(place.join("a.env"), "mine\n").unwrap();
    machines.there.unpack_included(&bundle, &commit, &place).await.unwrap();
    assert_eq!(fs::read_to_string(place.join("a.env")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(place.join("keep/odd [name]*.txt")).unwrap(), "odd\n");
    assert!(place.join(".worktreeinclude").exists() && !place.join("other.env").exists());
    assert_eq!(run(&place, &["status", "--porcelain"]), "");
    // Nothing of it is in the repository.
    assert!(
        !run(&machines.origin(), &["cat-file", "--batch-all-objects", "--batch-check"]).contains(&commit)
    );
    let refused =
        machines.here.bundle_included(&repository, &machines.folder.join("j"), 3).await.unwrap_err();
    assert!(refused.contains(".worktreeinclude") && refused.contains("over the limit of 3"), "{refused}");
}

#[tokio::test]
async fn submodules_lfs_and_shallow_clones_are_refused_by_name() {
    let machines = Machines::new();
    // A `Git` has the scratch folder of one task, so of one repository.
    let refusal = async |git: &Git, folder: &Path| {
        let repository = git.find(folder).await.unwrap();
        let head = repository.head.clone().unwrap();
        git.check_travel(&repository, &head).await
    };
    assert_eq!(refusal(&machines.here, &machines.origin()).await, Ok(()));
    machines.write("docs/.gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n");
    machines.commit();
    let reason = refusal(&machines.here, &machines.origin()).await.unwrap_err();
    assert!(reason.contains("Git LFS (`docs/.gitattributes`)"), "{reason}");

    let sub = Machines::new();
    run(&sub.origin(), &["submodule", "--quiet", "add", machines.origin().to_str().unwrap(), "libs/sub"]);
    sub.commit();
    let reason = refusal(&sub.here, &sub.origin()).await.unwrap_err();
    assert!(reason.contains("the submodule `libs/sub`"), "{reason}");

    let url = format!("file://{}", machines.origin().display());
    run(&machines.folder, &["clone", "--quiet", "--depth", "1", &url, "shallow"]);
    let reason = refusal(&sub.here, &machines.folder.join("shallow")).await.unwrap_err();
    assert!(reason.contains("shallow"), "{reason}");
}
