//! The path of the socket, and the listener on it.

use std::fs::{DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use super::connect::is_listening;
use super::error::Error;
use adjutant_base::config;
use adjutant_base::text::hex;

/// Returns the real path of a socket that is configured at `path`.
///
/// The kernel limits paths to about a hundred bytes. Hub and clients derive the replacement of a longer path in the same way.
/// It is in a folder of this user below `/tmp`, because `HOME` may be the only variable that they share.
pub fn place(path: &Path) -> PathBuf {
    if SocketAddr::from_pathname(path).is_ok() {
        return path.to_owned();
    }
    let digest = hex::sha256(path.as_os_str().as_encoded_bytes());
    PathBuf::from(format!("/tmp/adjutant-{}", rustix::process::geteuid().as_raw()))
        .join(format!("{}.sock", &digest[..24]))
}

/// Creates `folder` with mode 0700 if it is missing, and removes the rights of group and others.
pub fn private_folder(folder: &Path) -> Result<(), Error> {
    let error = |reason: String| Error::Folder { folder: folder.to_owned(), reason };
    let failed = |source: io::Error| error(source.to_string());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let found = std::fs::metadata(folder).map_err(failed)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(error("it belongs to another user".to_owned()));
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Listens at `path` with mode 0600. Replaces a socket without a listener.
///
/// Only the holder of the home's lock may call this.
pub fn listen(path: &Path) -> Result<UnixListener, Error> {
    let failed = |error: io::Error| Error::Listen { path: path.to_owned(), reason: error.to_string() };
    if place(path) == path {
        // A configured folder keeps its mode, because the mode of the socket and the check of uids suffice.
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
    }
    if path.starts_with("/tmp/adjutant-")
        && let Some(folder) = path.parent()
    {
        private_folder(folder)?;
    }
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(Error::InTheWay { path: path.to_owned(), reason: "it is not a socket" });
        }
        Ok(_) if is_listening(path) => {
            return Err(Error::InTheWay { path: path.to_owned(), reason: "another program listens there" });
        }
        Ok(_) => std::fs::remove_file(path).map_err(failed)?,
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Gives `socket` its second name, for the runs in the sandbox of `home`. Each hub has another socket.
pub fn link_for_runs(home: &Path, socket: &Path) {
    let link = config::linked_socket(home);
    let linked = link.parent().map_or(Ok(()), |folder| {
        private_folder(folder).map_err(io::Error::other)?;
        let _ = std::fs::remove_file(&link);
        std::fs::hard_link(socket, &link)
    });
    if let Err(error) = linked {
        tracing::warn!(%error, "agents in the sandbox cannot reach the hub");
    }
}
