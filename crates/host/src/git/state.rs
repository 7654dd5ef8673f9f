//! State of a git directory without its objects: references, hooks, configuration, and every other file in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::WORKTREE_PREFIX;
use super::repository::{Repository, packed_references, read_bytes};
use adjutant_base::text::hex;

/// Maximum files of a git directory that are compared.
const MAX_FILES: usize = 10_000;

/// Maximum bytes of a file that is read. Of a longer one the length and the time are compared.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Files of a git directory that change with every use of git, or that belong to other working trees.
const LEFT_OUT: &[&str] = &[
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "gc.log",
    "index",
    "lfs",
    "logs",
    "objects",
    "packed-refs",
    "rr-cache",
    "worktrees",
];

/// Parts of the names of files by which git starts programs.
const STARTS_PROGRAMS: &[&str] = &["/hooks/", "/config", "/info/"];

/// The name of the log of HEAD in a state.
const HEAD_LOG: &str = "the log of HEAD";

/// The files of git directories by their paths below the working tree, each with its content or a digest.
pub(super) type State = BTreeMap<String, String>;

/// Reads the state of a repository's git directories. The error is a sentence fragment.
pub(super) fn read_state(repository: &Repository) -> Result<State, String> {
    let mut state = State::new();
    for (name, id) in packed_references(&repository.common_dir).unwrap_or_default() {
        state.insert(format!(".git/{name}"), id);
    }
    collect(&repository.common_dir, ".git", &mut state)?;
    // Tasks make and remove worktrees at any time.
    for entry in fs::read_dir(repository.common_dir.join("worktrees")).into_iter().flatten().flatten() {
        let name = super::name(entry.file_name().as_encoded_bytes());
        if !name.starts_with(WORKTREE_PREFIX) {
            state.insert(format!(".git/worktrees/{name}"), "a worktree".to_owned());
        }
    }
    if repository.git_dir != repository.common_dir {
        collect(&repository.git_dir, "this worktree's .git", &mut state)?;
    }
    for (name, file) in [
        (".git", repository.top.join(".git")),
        (".git/objects/info/alternates", repository.objects().join("info/alternates")),
        (HEAD_LOG, repository.git_dir.join("logs/HEAD")),
    ] {
        if file.is_file() {
            state.insert(name.to_owned(), value(&file));
        }
    }
    Ok(state)
}

/// Adds the git directory of a nested repository: its link, or the files of its folder.
pub(super) fn add_nested(top: &Path, folder: &str, state: &mut State) -> Result<(), String> {
    let link = top.join(folder).join(".git");
    let label = format!("{folder}/.git");
    if link.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        state.insert(label.clone(), "a folder".to_owned());
        collect(&link, &label, state)
    } else {
        state.insert(label, value(&link));
        Ok(())
    }
}

fn collect(folder: &Path, label: &str, state: &mut State) -> Result<(), String> {
    let is_git_dir = folder.join("objects").is_dir() && folder.join("refs").is_dir();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = super::name(entry.file_name().as_encoded_bytes());
        if is_git_dir && LEFT_OUT.contains(&&*name)
            || entry.path().extension().is_some_and(|extension| extension == "lock")
        {
            continue;
        }
        if state.len() >= MAX_FILES {
            return Err(format!("its `.git` has more than {MAX_FILES} files"));
        }
        let label = format!("{label}/{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), &label, state)?;
        } else {
            state.insert(label, value(&entry.path()));
        }
    }
    Ok(())
}

/// Returns a short text that changes with the file: its content, or the digest of it.
fn value(file: &Path) -> String {
    let Ok(found) = file.symlink_metadata() else { return "absent".to_owned() };
    if found.is_symlink() {
        return format!("-> {}", fs::read_link(file).unwrap_or_default().display());
    }
    let mode = found.permissions().mode() & 0o111;
    match read_bytes(file, MAX_FILE_BYTES) {
        Some(bytes) => match String::from_utf8(bytes) {
            Ok(text) if text.len() <= 100 && mode == 0 => text.trim_end().to_owned(),
            Ok(text) => format!("{mode:o} {}", hex::sha256(text)),
            Err(error) => format!("{mode:o} {}", hex::sha256(error.as_bytes())),
        },
        None => format!("{mode:o} {} {:?}", found.len(), found.modified().ok()),
    }
}

/// Returns the differences between two states as sentence fragments. Files that are there and by which git starts
/// programs come first. `moved` says that HEAD names another commit.
pub(super) fn changes(before: &State, after: &State, moved: bool) -> Vec<String> {
    let head = ".git/HEAD";
    if before.contains_key(head) && !after.contains_key(head) {
        return vec!["the repository's `.git` was removed".to_owned()];
    }
    // Of a folder that came or went the name is enough.
    let is_part = |name: &&String| {
        Path::new(name)
            .ancestors()
            .skip(1)
            .filter_map(Path::to_str)
            .any(|folder| before.contains_key(folder) != after.contains_key(folder))
    };
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let mut names: Vec<&String> = names.filter(|name| !is_part(name)).collect();
    // A list may be cut off, and nobody may hide these behind others.
    names.sort_by_key(|name| {
        (!after.contains_key(*name), !STARTS_PROGRAMS.iter().any(|part| name.contains(part)))
    });
    let mut changes = Vec::new();
    for name in names {
        let verb = match (before.get(name), after.get(name)) {
            (Some(old), Some(new)) if old == new => continue,
            (None, _) => "created",
            (_, None) => "removed",
            (Some(_), Some(_)) => "changed",
        };
        let reference = name.strip_prefix(".git/refs/").and_then(|name| name.split_once('/'));
        changes.push(match reference {
            Some(("heads", branch)) => format!("branch {branch:?} {verb}"),
            Some(("tags", tag)) => format!("tag {tag:?} {verb}"),
            _ if name == HEAD_LOG && moved => continue,
            _ if name == HEAD_LOG => "HEAD moved and moved back".to_owned(),
            _ => format!("{name:?} {verb}"),
        });
    }
    changes
}
