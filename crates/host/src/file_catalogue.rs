//! Catalogues of files that are scanned, read and watched, for prompts and agents.
//!
//! [`FileCatalogue`] finds the files below its roots, keeps what a [`FileFormat`] made of them, and notices changes on
//! disk.

pub mod atomic_write;
mod cache;
pub mod import_plan;
mod scan;
mod severity;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use adjutant_base::config::folders::Root;
#[cfg(any(test, feature = "testing"))]
pub use cache::WatcherFault;
pub use cache::{FileCatalogue, replaced_watchers};
pub use scan::Scan;
pub use severity::Severity;

/// The origin of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The root's label.
    pub root: String,
    /// The path below the root, with `/`, as shown to users and clients.
    pub relative: String,
    /// The file itself; `None` for a bundled file. Never shown to an MCP client.
    pub file: Option<PathBuf>,
}

/// The problem of a file that is not served, or is served with a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub source: Source,
    /// A lower-case sentence fragment that names the fault.
    pub message: String,
}

/// The format of the files: prompts or agents.
pub trait FileFormat: Debug + Send + Sync + 'static {
    /// The item that is parsed from one file; cheap to clone.
    type Item: Clone + Debug + Send;
    /// The catalogue of all items.
    type Catalogue: Debug + Send + Sync;
    /// The plural noun for the items, for the names of threads.
    const PLURAL: &'static str;
    /// Path below the root and content of the bundled files, in the order of their names.
    const BUNDLED: &'static [(&'static str, &'static str)];

    /// Returns whether a file of this name, which need not be UTF-8, is read below the root of this number.
    fn is_meant(&self, root: usize, name: &[u8]) -> bool;

    /// Parses the text of a file. The error is the reason why the file is not served, as a sentence fragment.
    fn read(&self, root: usize, source: Source, text: &str, digest: String) -> Result<Self::Item, String>;

    /// Merges the scans of the roots, which are in the order of precedence.
    fn catalogue(&self, roots: &[Root], scans: &[&Scan<Self::Item>], generation: u64) -> Self::Catalogue;

    /// Returns the generation of a catalogue.
    fn generation(catalogue: &Self::Catalogue) -> u64;
}

/// Reads a text file of at most `limit` bytes. The error is a sentence fragment.
pub fn read_text(file: &Path, limit: usize) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = open_regular(file)?.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() > limit {
        let length = std::fs::metadata(file).map_or(0, |found| found.len()).max(bytes.len() as u64);
        return Err(format!("it has {length} bytes, over the limit of {limit}"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8: byte {} is wrong", error.utf8_error().valid_up_to()))
}

/// Opens a regular file. Anything else is not opened: a FIFO would block, and opening a device can have effects. The
/// error is a sentence fragment.
pub fn open_regular(file: &Path) -> Result<std::fs::File, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let is_regular = |found: std::fs::Metadata| {
        if found.is_file() { Ok(()) } else { Err("it is not a regular file".to_owned()) }
    };
    is_regular(std::fs::metadata(file).map_err(unreadable)?)?;
    // The flag is needed for files of the kernel such as /proc/kmsg, which are regular and block.
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits().cast_signed();
    let open = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).map_err(unreadable)?;
    // Another file may have replaced the checked one meanwhile.
    is_regular(open.metadata().map_err(unreadable)?)?;
    Ok(open)
}

/// Returns the folders below `from` that a pattern names, such as `plugins/*/agents`. `*` is any folder that is neither
/// hidden nor a link.
pub fn matching_folders(from: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut folders = match pattern.split_once('*') {
        None => vec![from.join(pattern)],
        Some((outer, inner)) => {
            let inner = inner.trim_start_matches('/');
            subfolders(&from.join(outer)).into_iter().map(|found| found.join(inner)).collect()
        }
    };
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Returns the folders in a folder, by name, without hidden ones and links.
pub fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let is_meant = |path: &PathBuf| {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !is_hidden && !path.is_symlink() && path.is_dir()
    };
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = entries.filter(is_meant).collect();
    folders.sort();
    folders
}

/// Names, up to the first dot, of files that describe their repository. Those of the second list count in capitals
/// only, because in lower case they are usual names of commands.
const DOCUMENTATION: [&str; 4] = ["README", "LICENSE", "CONTRIBUTING", "CODE_OF_CONDUCT"];
const DOCUMENTATION_IN_CAPITALS: [&str; 5] = ["CHANGELOG", "SECURITY", "AGENTS", "CLAUDE", "GEMINI"];

/// Returns whether a file describes a repository, by its name.
pub fn is_documentation(file: &Path) -> bool {
    let name = file.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let capitals = stem.to_ascii_uppercase();
    // `README_CN` and `readme-zh-tw` are translations, and `readme-generator` is not.
    let language = capitals.strip_prefix("README").and_then(|rest| rest.strip_prefix(['_', '-']));
    DOCUMENTATION_IN_CAPITALS.contains(&stem)
        || DOCUMENTATION.contains(&capitals.as_str())
        || language.is_some_and(|language| language.split(['_', '-']).next().unwrap_or_default().len() == 2)
}

/// Counts the files below a folder whose real paths are not among `read`, by the reason, down to `depth` levels of folders.
/// Links are not followed.
#[expect(clippy::implicit_hasher, reason = "both callers have the usual set")]
pub fn count_passed_over(
    folder: &Path,
    depth: usize,
    read: &HashSet<PathBuf>,
    counts: &mut BTreeMap<&'static str, usize>,
) {
    let mut count = |reason| *counts.entry(reason).or_default() += 1;
    let Ok(entries) = std::fs::read_dir(folder) else { return count("unreadable folder") };
    let mut folders = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(path),
            Ok(kind) if !kind.is_file() || path.canonicalize().is_ok_and(|real| read.contains(&real)) => {}
            Ok(_) | Err(_) => {
                count(if is_documentation(&path) { "documentation file" } else { "other file" });
            }
        }
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    for folder in folders.into_iter().filter(|folder| !folder.ends_with(".git")) {
        count_passed_over(&folder, depth, read, counts);
    }
}

/// Returns whether `file`, with its links resolved, is outside of `root`; true if it cannot be resolved.
pub fn leaves(root: &Path, file: &Path) -> bool {
    match (root.canonicalize(), file.canonicalize()) {
        (Ok(root), Ok(file)) => !file.starts_with(root),
        _ => true,
    }
}
