//! Links inside a root: their targets, opened without leaving the root.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{OPEN_FILE, OPEN_FOLDER};

/// The reason why a link is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("it is a link that leaves its root")]
    Leaves { is_folder: bool },
    #[error("it is a link to nothing, or to itself")]
    Broken,
}

impl LinkError {
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Leaves { is_folder: true })
    }
}

/// The target of a link.
pub(super) enum Target {
    /// An open regular file.
    File(OwnedFd, Stat),
    Folder,
    /// Anything else, which is not opened because opening a device can have effects.
    Other,
}

/// Returns the target of a link below `root`, as a path below the root without links.
pub(super) fn resolve(root: &Path, link: &str) -> Result<PathBuf, LinkError> {
    let target = root.join(link).canonicalize().map_err(|_| LinkError::Broken)?;
    let root = root.canonicalize().map_err(|_| LinkError::Broken)?;
    match target.strip_prefix(&root) {
        Ok(below) => Ok(below.to_owned()),
        Err(_) => Err(LinkError::Leaves { is_folder: target.is_dir() }),
    }
}

/// Opens a folder of a project; `XDEV` if a link leads out of the project.
pub(super) fn open_folder(project: &Path, folder: &Path) -> Result<OwnedFd, Errno> {
    // Only a project that is there has a folder.
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let (project, target) = (project.canonicalize().map_err(errno)?, folder.canonicalize().map_err(errno)?);
    let below = target.strip_prefix(&project).map_err(|_| Errno::XDEV)?;
    let top = rustix::fs::open(&project, OPEN_FOLDER, Mode::empty())?;
    below.components().try_fold(top, |outer, component| {
        rustix::fs::openat(outer, component.as_os_str(), OPEN_FOLDER.union(OFlags::NOFOLLOW), Mode::empty())
    })
}

/// Opens a path below `top` component by component, following no link.
pub(super) fn open(top: BorrowedFd<'_>, below: &Path) -> Result<Target, Errno> {
    let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else { return Ok(Target::Folder) };
    let mut folder: Option<OwnedFd> = None;
    for component in parent.components() {
        let Component::Normal(name) = component else { return Err(Errno::LOOP) };
        let outer = folder.as_ref().map_or(top, AsFd::as_fd);
        folder = Some(rustix::fs::openat(outer, name, OPEN_FOLDER.union(OFlags::NOFOLLOW), Mode::empty())?);
    }
    let folder = folder.as_ref().map_or(top, AsFd::as_fd);
    match kind(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        FileType::Directory => Ok(Target::Folder),
        FileType::RegularFile => file(folder, name),
        _ => Ok(Target::Other),
    }
}

fn file(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Target, Errno> {
    let handle = rustix::fs::openat(folder, name, OPEN_FILE, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    Ok(if kind(&stat) == FileType::RegularFile { Target::File(handle, stat) } else { Target::Other })
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
