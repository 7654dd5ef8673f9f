//! Short path of a socket, because the name of a socket has a small maximum length.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// A path through an open folder.
pub(crate) struct ShortPath {
    path: PathBuf,
    /// The path is valid as long as this is open.
    _folder: Option<File>,
}

impl ShortPath {
    /// Opens the folder of `path`. A system without a table of open files has the path itself.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        if cfg!(not(target_os = "linux")) {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let folder = File::open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
