//! Links inside a root: where they lead, and how the target is opened without leaving the root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{OPEN_FILE, OPEN_FOLDER};

/// Why a link is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("it is a link that leaves its root")]
    Leaves { is_folder: bool },
    #[error("it is a link to nothing, or to itself")]
    Broken,
}

impl Fault {
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Leaves { is_folder: true })
    }
}

/// Returns the target of a link below `root`, as a path below the root without links.
pub(super) fn resolve(root: &Path, link: &str) -> Result<PathBuf, Fault> {
    let target = root.join(link).canonicalize().map_err(|_| Fault::Broken)?;
    let root = root.canonicalize().map_err(|_| Fault::Broken)?;
    match target.strip_prefix(&root) {
        Ok(below) => Ok(below.to_owned()),
        Err(_) => Err(Fault::Leaves { is_folder: target.is_dir() }),
    }
}

/// Opens a path below `top` component by component, following no link, and tells what it is.
pub(super) fn open(top: BorrowedFd<'_>, below: &Path) -> Result<(OwnedFd, Stat), Errno> {
    let mut folder: Option<OwnedFd> = None;
    let parent = below.parent().unwrap_or(Path::new(""));
    for component in parent.components() {
        let Component::Normal(name) = component else { return Err(Errno::LOOP) };
        let flags = OPEN_FOLDER.union(OFlags::NOFOLLOW);
        let inner =
            rustix::fs::openat(folder.as_ref().map_or(top, |f| f.as_fd()), name, flags, Mode::empty())?;
        folder = Some(inner);
    }
    let folder = folder.as_ref().map_or(top, |folder| folder.as_fd());
    let name = below.file_name().unwrap_or(std::ffi::OsStr::new("."));
    let handle = rustix::fs::openat(folder, name, flags_for(folder, name), Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    Ok((handle, stat))
}

/// A device is not even opened, since opening can have effects: only its path is.
fn flags_for(folder: BorrowedFd<'_>, name: &std::ffi::OsStr) -> OFlags {
    let kind = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::RegularFile | FileType::Directory) => OPEN_FILE,
        _ => OPEN_FILE.union(OFlags::PATH),
    }
}
