//! The scan of a folder of foreign files. It stays below the folder that the user named, even where symbolic links
//! lead out of it.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::super::Limits;
use super::super::formats::Format;
use super::error::Error;
use adjutant_host::file_catalogue::is_documentation;

/// Endings, before `.md`, of files that Copilot reads: other programs have no such commands.
const OTHER_KINDS: [&str; 4] = [".prompt", ".agent", ".instructions", ".chatmode"];

/// The reason of a folder that is passed over.
const UNREADABLE: &str = "unreadable folder";

/// A file that is to be read as a foreign prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    pub file: PathBuf,
    pub format: Format,
    /// The name that its path gives it there, `/` for subfolders.
    pub name: String,
    /// The reason why the file must not be read; `None` for a file to read.
    pub fault: Option<&'static str>,
}

/// The files below a folder, by use.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The prompts, by path.
    pub files: Vec<ForeignFile>,
    /// The number of other files and folders that were passed over, by the reason.
    pub passed_over: BTreeMap<&'static str, usize>,
    /// Folders that cannot be read.
    pub(crate) unreadable: Vec<PathBuf>,
}

/// The files that were found so far below one folder.
pub(super) struct FolderScan {
    /// The folder that the user named, without links.
    top: PathBuf,
    limits: Limits,
    found: Vec<ForeignFile>,
    /// Real paths, since a folder of skills is often a link to another.
    seen: HashSet<PathBuf>,
    passed_over: BTreeMap<PathBuf, &'static str>,
}

/// One folder of a scan.
#[derive(Clone, Copy)]
struct Place<'a> {
    folder: &'a Path,
    /// Its path below the first folder of the scan, with a `/` at the end.
    prefix: &'a str,
    /// The number of levels below it that are scanned.
    depth: usize,
}

impl FolderScan {
    pub(super) fn new(top: &Path, limits: Limits) -> Result<Self, Error> {
        let top = fs::canonicalize(top)
            .map_err(|error| Error::Unreadable { path: top.to_owned(), reason: error.to_string() })?;
        Ok(Self { top, limits, found: Vec::new(), seen: HashSet::new(), passed_over: BTreeMap::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn found(mut self) -> Found {
        self.found.sort_by(|one, other| one.file.cmp(&other.file));
        let mut passed_over = BTreeMap::new();
        let is_unreadable = |(path, reason): (&PathBuf, &&str)| (*reason == UNREADABLE).then(|| path.clone());
        let unreadable = self.passed_over.iter().filter_map(is_unreadable).collect();
        for (_, reason) in self.passed_over.into_iter().filter(|(path, _)| !self.seen.contains(path)) {
            *passed_over.entry(reason).or_default() += 1;
        }
        Found { files: self.found, passed_over, unreadable }
    }

    /// Adds the files below `folder` with a path that ends in `suffix`. Their names begin with `space`.
    pub(super) fn collect(
        &mut self,
        folder: &Path,
        (format, suffix, space): (Format, &str, &str),
    ) -> Result<(), Error> {
        let depth = if suffix.starts_with('/') || format.nested() { self.limits.depth } else { 0 };
        self.folder(Place { folder, prefix: "", depth }, format, suffix, space)
    }

    fn folder(&mut self, place: Place<'_>, format: Format, suffix: &str, space: &str) -> Result<(), Error> {
        let Place { folder, prefix, depth } = place;
        let Ok(entries) = fs::read_dir(folder) else {
            self.passed_over.insert(folder.to_owned(), UNREADABLE);
            return Ok(());
        };
        let is_folder_format = suffix.starts_with('/');
        // The other files in a skill's folder belong to the skill.
        let is_item =
            |folder: &Path| is_folder_format && folder.join(&suffix[1..]).symlink_metadata().is_ok();
        let in_item = !prefix.is_empty() && is_item(folder);
        for entry in entries.filter_map(Result::ok) {
            let file = entry.path();
            let file_name = entry.file_name();
            let path = format!("{prefix}{}", file_name.to_string_lossy());
            let real = fs::canonicalize(&file).ok();
            let inside = real.as_ref().is_some_and(|real| real.starts_with(&self.top));
            if file.is_dir() {
                if in_item || !inside || file_name == ".git" || file_name == "node_modules" {
                    continue;
                }
                // A link may lead to a folder above it. So only a format with a folder for each file follows a link,
                // and one level deep.
                let depth = if file.is_symlink() { usize::from(is_folder_format) } else { depth };
                if let Some(depth) = depth.checked_sub(1) {
                    let prefix = &format!("{path}/");
                    self.folder(Place { folder: &file, prefix, depth }, format, suffix, space)?;
                } else if format.nested() && !file.is_symlink() {
                    self.passed_over.insert(file, "too deep folder");
                }
                continue;
            }
            let name = path.strip_suffix(suffix).filter(|name| !name.is_empty());
            let name =
                name.filter(|name| suffix != ".md" || !OTHER_KINDS.iter().any(|kind| name.ends_with(kind)));
            // The name of a skill is that of its folder alone.
            let name = name.map(|name| name.rsplit('/').next().filter(|_| is_folder_format).unwrap_or(name));
            match name.filter(|_| !is_documentation(&file)) {
                Some(name) => self.add(file, format, format!("{space}{name}"))?,
                None if in_item => {}
                None => self.pass_over(file),
            }
        }
        Ok(())
    }

    /// Adds one file.
    pub(super) fn add(&mut self, file: PathBuf, format: Format, name: String) -> Result<(), Error> {
        if self.found.len() >= self.limits.files {
            return Err(Error::TooMany { path: self.top.clone(), limit: self.limits.files });
        }
        let real = fs::canonicalize(&file).ok();
        let inside = real.as_ref().is_some_and(|real| real.starts_with(&self.top));
        let fault =
            (!inside).then_some("its path has a symbolic link that leads nowhere, or out of the folder");
        if real.is_none_or(|real| self.seen.insert(real)) {
            self.found.push(ForeignFile { file, format, name, fault });
        }
        Ok(())
    }

    /// Counts a file that is not a prompt.
    pub(super) fn pass_over(&mut self, file: PathBuf) {
        let reason = if is_documentation(&file) { "documentation file" } else { "other file" };
        self.passed_over.insert(fs::canonicalize(&file).unwrap_or(file), reason);
    }
}
