//! The path of the socket, and the listener on it.

use std::fs::{DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use super::connect::is_listening;
use super::error::Error;
use adjutant_base::text::hex;

/// Returns the path that a socket wanted at `path` really has.
///
/// The kernel takes about a hundred bytes. A longer path is replaced by one that hub and clients derive alike,
/// in a folder of this user's below `/tmp`: clients may have no other variable than `HOME` in common.
pub fn place(path: &Path) -> PathBuf {
    if SocketAddr::from_pathname(path).is_ok() {
        return path.to_owned();
    }
    let digest = hex::sha256(path.as_os_str().as_encoded_bytes());
    PathBuf::from(format!("/tmp/adjutant-{}", rustix::process::geteuid().as_raw()))
        .join(format!("{}.sock", &digest[..24]))
}

/// Makes `folder` with mode 0700 unless it is there, and takes it away from group and others.
pub fn private_folder(folder: &Path) -> Result<(), Error> {
    let fault = |reason: String| Error::Folder { folder: folder.to_owned(), reason };
    let failed = |error: io::Error| fault(error.to_string());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let found = std::fs::metadata(folder).map_err(failed)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(fault("it belongs to another user".to_owned()));
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Listens at `path` with mode 0600. A socket that nobody listens on any more is replaced.
///
/// Only the holder of the home's lock may call this.
pub fn listen(path: &Path) -> Result<UnixListener, Error> {
    let fault = |error: io::Error| Error::Listen { path: path.to_owned(), reason: error.to_string() };
    if place(path) == path {
        // A folder that the person named keeps its mode; the socket's own is enough with the check of uids.
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fault)?;
        }
    }
    if path.starts_with("/tmp/adjutant-")
        && let Some(folder) = path.parent()
    {
        private_folder(folder)?;
    }
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(Error::InTheWay { path: path.to_owned(), reason: "it is not a socket" });
        }
        Ok(_) if is_listening(path) => {
            return Err(Error::InTheWay { path: path.to_owned(), reason: "another program listens there" });
        }
        Ok(_) => std::fs::remove_file(path).map_err(fault)?,
    }
    let listener = UnixListener::bind(path).map_err(fault)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(fault)?;
    Ok(listener)
}
