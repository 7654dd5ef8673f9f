//! A repository, found and read without git.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Maximum bytes of a file that names a folder, a reference or a commit.
pub(super) const MAX_LINE_BYTES: u64 = 4096;

/// Maximum bytes of a configuration, and of the packed references.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum references that name each other.
const MAX_LINKS: usize = 5;

/// The repository around a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The top folder of its working tree.
    pub top: PathBuf,
    /// The folder below `top`, empty for `top` itself.
    pub below: PathBuf,
    /// The git directory of this working tree.
    pub(super) git_dir: PathBuf,
    /// The git directory that all its working trees share.
    pub(super) common_dir: PathBuf,
    /// Whether its ids are SHA-256.
    pub(super) sha256: bool,
    /// Whether the file system has executable bits.
    pub(super) file_mode: bool,
    /// `None` if HEAD is detached.
    pub(super) branch: Option<String>,
    /// `None` before the first commit.
    pub head: Option<String>,
}

impl Repository {
    /// Finds the repository around `folder`. The error is a sentence fragment.
    pub(super) fn discover(folder: &Path) -> Result<Self, String> {
        for top in folder.ancestors() {
            if let Some(git_dir) = git_dir(top)? {
                let below = folder.strip_prefix(top).unwrap_or(Path::new("")).to_owned();
                return Self::open(top, below, git_dir);
            }
        }
        Err("the folder is not in a git repository".to_owned())
    }

    /// Returns the repository whose working tree has its top at `top`; `None` without one.
    pub(super) fn at(top: &Path) -> Option<Self> {
        Self::open(top, PathBuf::new(), git_dir(top).ok()??).ok()
    }

    fn open(top: &Path, below: PathBuf, git_dir: PathBuf) -> Result<Self, String> {
        let common_dir = common_dir(&git_dir);
        let config = read(&common_dir.join("config"), MAX_FILE_BYTES).unwrap_or_default();
        let mut sha256 = false;
        let mut file_mode = true;
        for (section, key, value) in settings(&config) {
            match (key.as_str(), value.as_str()) {
                ("filemode", "false") if section == "core" => file_mode = false,
                _ if section != "extensions" => {}
                ("objectformat", "sha256") => sha256 = true,
                ("objectformat", "sha1")
                | ("refstorage", "files")
                | (
                    "noop" | "noop-v1" | "partialclone" | "preciousobjects" | "relativeworktrees"
                    | "worktreeconfig",
                    _,
                ) => {}
                _ => return Err(format!("its extension `{key} = {value}` is not supported")),
            }
        }
        let (branch, head) = head(&git_dir, &common_dir);
        Ok(Self { top: top.to_owned(), below, git_dir, common_dir, sha256, file_mode, branch, head })
    }

    /// Returns the commit that is checked out now.
    pub(super) fn head_now(&self) -> Option<String> {
        head(&self.git_dir, &self.common_dir).1
    }

    /// Returns the folder of the objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }
}

/// Returns the git directory of a working tree at `top`; `None` if there is none, so that the next folder is tried.
fn git_dir(top: &Path) -> Result<Option<PathBuf>, String> {
    let link = top.join(".git");
    let Ok(found) = link.metadata() else { return Ok(None) };
    if found.is_dir() {
        return Ok(Some(link).filter(|folder| is_git_dir(folder)));
    }
    let target = read(&link, MAX_LINE_BYTES)
        .and_then(|text| Some(top.join(text.strip_prefix("gitdir: ")?.trim_end_matches(['\r', '\n']))));
    match target.filter(|folder| is_git_dir(folder)) {
        Some(folder) => Ok(Some(folder.canonicalize().unwrap_or(folder))),
        None => Err(format!("`{}` does not name a repository", link.display())),
    }
}

fn is_git_dir(folder: &Path) -> bool {
    let common = common_dir(folder);
    folder.join("HEAD").symlink_metadata().is_ok()
        && common.join("objects").is_dir()
        && common.join("refs").is_dir()
}

fn common_dir(git_dir: &Path) -> PathBuf {
    let named = read(&git_dir.join("commondir"), MAX_LINE_BYTES);
    let folder = named.map(|text| git_dir.join(text.trim_end()));
    folder.map_or_else(|| git_dir.to_owned(), |folder| folder.canonicalize().unwrap_or(folder))
}

/// Returns the branch and the commit of HEAD.
fn head(git_dir: &Path, common_dir: &Path) -> (Option<String>, Option<String>) {
    let mut name = "HEAD".to_owned();
    let mut branch = None;
    for _ in 0..MAX_LINKS {
        let loose = [git_dir, common_dir].iter().find_map(|folder| read(&folder.join(&name), MAX_LINE_BYTES));
        let value = loose.or_else(|| packed_references(common_dir)?.remove(&name)).unwrap_or_default();
        match value.trim().strip_prefix("ref:").map(str::trim) {
            Some(next) if next.starts_with("refs/") && !next.contains("..") => {
                branch = branch.or_else(|| next.strip_prefix("refs/heads/").map(ToOwned::to_owned));
                next.clone_into(&mut name);
            }
            Some(_) => break,
            None => return (branch, Some(value.trim().to_owned()).filter(|id| is_id(id))),
        }
    }
    (branch, None)
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the packed references with their ids; `None` if the file cannot be read.
pub(super) fn packed_references(common_dir: &Path) -> Option<BTreeMap<String, String>> {
    let text = read(&common_dir.join("packed-refs"), MAX_FILE_BYTES)?;
    let lines = text.lines().filter_map(|line| line.split_once(' ')).filter(|(id, _)| is_id(id));
    Some(lines.map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
}

/// Returns the sections, keys and values of a configuration. Git never reads this file here, so a value that git would
/// read in another way has no effect on it.
fn settings(config: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in config.lines().map(str::trim) {
        let mut rest = line;
        if let Some((header, after)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            section = header.trim().to_lowercase();
            rest = after.trim();
        }
        if !rest.is_empty() && !rest.starts_with(['#', ';']) {
            let (key, value) = rest.split_once('=').unwrap_or((rest, "true"));
            let value = value.split(['#', ';']).next().unwrap_or_default().trim().trim_matches('"');
            found.push((section.clone(), key.trim().to_lowercase(), value.to_lowercase()));
        }
    }
    found
}

/// Reads a regular file of at most `limit` bytes; `None` for everything else, so that no pipe is waited for.
pub(super) fn read_bytes(file: &Path, limit: u64) -> Option<Vec<u8>> {
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > limit {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads a file like [`read_bytes`], as text.
pub(super) fn read(file: &Path, limit: u64) -> Option<String> {
    Some(String::from_utf8_lossy(&read_bytes(file, limit)?).into_owned())
}
