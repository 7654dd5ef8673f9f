//! Snapshots read no file of which the index knows the content.
#![expect(clippy::disallowed_methods, reason = "the test runs git as a user does")]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::git::Git;

fn run(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=T", "-c", "user.email=t@example.org"]).args(arguments).current_dir(folder);
    assert!(git.env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success(), "git {arguments:?}");
}

/// Makes a repository with a file that is older than its index, and a git that writes its commands into `git.log` and
/// refuses what git 2.39 does not know.
fn repository(folder: &Path) -> Git {
    let (origin, bin) = (folder.join("origin"), folder.join("bin"));
    fs::create_dir(&origin).unwrap();
    fs::create_dir(&bin).unwrap();
    run(&origin, &["init", "--quiet"]);
    fs::write(origin.join("a.txt"), "one\n").unwrap();
    let file = File::options().write(true).open(origin.join("a.txt")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
    run(&origin, &["add", "."]);
    run(&origin, &["commit", "--quiet", "-m", "first"]);
    let path = std::env::var("PATH").unwrap();
    let old = format!(
        "#!/bin/sh\necho \"$*\" >>'{}'\ncase \"$*\" in *ls-files*objectsize*) exit 128 ;; esac\nPATH='{path}' exec git \"$@\"\n",
        folder.join("git.log").display(),
    );
    fs::write(bin.join("git"), old).unwrap();
    fs::set_permissions(bin.join("git"), Permissions::from_mode(0o755)).unwrap();
    Git::new(&folder.join("scratch"), Some(format!("{}:{path}", bin.display()).into()))
}

/// Returns how many objects a snapshot has written: the contents of the files that git has read.
fn objects(folder: &Path) -> usize {
    let below = fs::read_dir(folder.join("scratch/look/objects")).unwrap().flatten();
    below.filter(|entry| entry.file_name().len() == 2).count()
}

#[tokio::test]
async fn the_first_snapshot_reads_changed_files_alone_with_an_old_git_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let git = repository(&folder);
    let found = git.find(&folder.join("origin")).await.unwrap();
    // An index that is left out is made anew, which writes the content of each file.
    let before = git.snapshot(&found, "look").await.unwrap();
    assert_eq!(objects(&folder), 0);
    fs::write(folder.join("origin/a.txt"), "two\n").unwrap();
    let after = git.snapshot(&found, "look").await.unwrap();
    let difference = git.difference(&found, "look", (&before, &after), Some(1_000)).await.unwrap();
    assert_eq!(difference.files.len(), 1);
    assert!(difference.patch.unwrap().contains("-one\n+two\n"));
}

#[tokio::test]
async fn a_new_worktree_is_not_read_again_and_every_later_change_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let git = repository(&folder);
    let found = git.find(&folder.join("origin")).await.unwrap();
    let tree = folder.join("tree");
    git.add_worktree(&found, &tree, "task").await.unwrap();
    let inner = git.find(&tree).await.unwrap();
    let before = git.snapshot_of_checkout(&inner, "look").await.unwrap();
    // In the second of the checkout, with the length of the file.
    fs::write(tree.join("a.txt"), "two\n").unwrap();
    let log = fs::read_to_string(folder.join("git.log")).unwrap();
    assert!(!log.contains("update-index"), "{log}");
    let after = git.snapshot(&inner, "look").await.unwrap();
    let difference = git.difference(&inner, "look", (&before, &after), Some(1_000)).await.unwrap();
    assert_eq!(difference.files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["a.txt"]);
    assert!(difference.patch.unwrap().contains("-one\n+two\n"));
}
