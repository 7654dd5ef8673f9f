//! The scan of a folder of foreign files. It stays below the folder that the user named, even where symbolic links
//! lead out of it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::Limits;
use super::super::formats::Format;
use super::error::Error;

/// A file that is to be read as a foreign prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    pub file: PathBuf,
    pub format: Format,
    /// The name that its path gives it there, `/` for subfolders.
    pub name: String,
    /// Why it must not be read, if it must not.
    pub fault: Option<&'static str>,
}

/// The files that were found so far below one folder.
pub(super) struct FolderScan {
    /// The folder that the person named, without links.
    top: PathBuf,
    limits: Limits,
    found: Vec<ForeignFile>,
    /// Real paths, since a folder of skills is often a link to another.
    seen: HashSet<PathBuf>,
}

impl FolderScan {
    pub(super) fn new(top: &Path, limits: Limits) -> Result<Self, Error> {
        let top = fs::canonicalize(top).map_err(|error| unreadable(top, &error))?;
        Ok(Self { top, limits, found: Vec::new(), seen: HashSet::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns everything, by path.
    pub(super) fn found(mut self) -> Vec<ForeignFile> {
        self.found.sort_by(|one, other| one.file.cmp(&other.file));
        self.found
    }

    /// Adds the files below `folder` with a path that ends in `suffix`.
    pub(super) fn collect(&mut self, folder: &Path, format: Format, suffix: &str) -> Result<(), Error> {
        let depth = match (suffix.starts_with('/'), format.nested()) {
            (true, _) => 1,
            (false, true) => self.limits.depth,
            (false, false) => 0,
        };
        self.folder(folder, "", format, suffix, depth)
    }

    /// Scans one folder, at `prefix` below the first one, and `depth` further levels.
    fn folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        format: Format,
        suffix: &str,
        depth: usize,
    ) -> Result<(), Error> {
        for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let file = entry.path();
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let real = fs::canonicalize(&file).ok();
            let inside = real.as_ref().is_some_and(|real| real.starts_with(&self.top));
            if file.is_dir() {
                // A link could lead to a folder above it; one level of skills cannot turn that into a loop.
                if depth > 0 && inside && (suffix.starts_with('/') || !file.is_symlink()) {
                    self.folder(&file, &format!("{path}/"), format, suffix, depth - 1)?;
                }
                continue;
            }
            let Some(name) = path.strip_suffix(suffix).filter(|name| !name.is_empty()) else { continue };
            if self.found.len() >= self.limits.files {
                return Err(Error::TooMany { path: self.top.clone(), limit: self.limits.files });
            }
            let fault = (!inside).then_some("it is a symbolic link that leads nowhere, or out of the folder");
            if real.is_none_or(|real| self.seen.insert(real)) {
                self.found.push(ForeignFile { name: name.to_owned(), file, format, fault });
            }
        }
        Ok(())
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Unreadable { path: path.to_owned(), reason: error.to_string() }
}
