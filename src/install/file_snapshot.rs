//! Reads and atomically replaces a configuration file of another program.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Error;
use super::syntax_error::SyntaxError;

/// Maximum bytes of a file. The state of Claude Code is the largest, with a few MB.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The byte-order mark.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file as it was read.
#[derive(Debug)]
pub(super) struct FileSnapshot {
    /// The file itself, the target of all links.
    pub(super) path: PathBuf,
    /// Whether the path of the caller is a link.
    pub(super) linked: bool,
    /// Without a byte-order mark; `None` if the file does not exist.
    pub(super) text: Option<String>,
    has_mark: bool,
}

/// Reads a file that may be missing, through any links.
pub(super) fn read(path: &Path) -> Result<FileSnapshot, Error> {
    let unreadable = |reason: String| Error::Unreadable { path: path.to_owned(), reason };
    let (target, linked) = resolve(path)?;
    // Only regular files are opened, because opening a pipe would block.
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(unreadable("it is not a file".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(FileSnapshot { path: target, linked, text: None, has_mark: false });
        }
        Err(error) => return Err(unreadable(error.to_string())),
    }
    let file = File::open(&target).map_err(|error| unreadable(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(unreadable(format!("it is over {MAX_FILE_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Error::Text { path: path.to_owned(), error: SyntaxError::Encoding { line } }
    })?;
    let (has_mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (true, rest.to_owned()),
        None => (false, text),
    };
    Ok(FileSnapshot { path: target, linked, text: Some(text), has_mark })
}

impl FileSnapshot {
    /// Replaces the text of the file atomically, or removes the file for `None`. Mode bits stay. Fails if the file has changed
    /// meanwhile, or may not be written.
    pub(super) fn replace(&self, text: Option<&str>) -> Result<(), Error> {
        let failed =
            |error: std::io::Error| Error::Unwritable { path: self.path.clone(), reason: error.to_string() };
        if read(&self.path)?.text != self.text {
            return Err(Error::Changed { path: self.path.clone() });
        }
        let Some(text) = text else { return fs::remove_file(&self.path).map_err(failed) };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let fresh = folder.join(format!(".{name}.{}.new", std::process::id()));
        let written = (|| {
            // Only the owner may read a new file, because it may contain secrets.
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&fresh)?;
            if let Some(mode) = self.mode()? {
                file.set_permissions(mode)?;
            }
            if self.has_mark {
                file.write_all(BYTE_ORDER_MARK.encode_utf8(&mut [0; 3]).as_bytes())?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&fresh, &self.path)
        })();
        written.map_err(|error| {
            // The first error is reported.
            let _ = fs::remove_file(&fresh);
            failed(error)
        })
    }

    /// Fails if the file is read-only. Replacing it would need only the permission of the folder, so this is checked.
    pub(super) fn check_writable(&self) -> Result<(), Error> {
        let read_only =
            || Error::Unwritable { path: self.path.clone(), reason: "it is read-only".to_owned() };
        let mode = self.mode().map_err(|_| read_only())?;
        let denied = mode.is_some_and(|mode| {
            mode.mode() & 0o222 == 0 || rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK).is_err()
        });
        if denied { Err(read_only()) } else { Ok(()) }
    }

    fn mode(&self) -> std::io::Result<Option<Permissions>> {
        if self.text.is_none() {
            return Ok(None);
        }
        // Only the permission bits.
        let mode = fs::metadata(&self.path)?.permissions().mode() & 0o777;
        Ok(Some(Permissions::from_mode(mode)))
    }
}

/// Follows the links of a path. The file may be missing.
fn resolve(path: &Path) -> Result<(PathBuf, bool), Error> {
    match fs::canonicalize(path) {
        Ok(target) => {
            let linked = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
            Ok((target, linked))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // The file or a folder above it may be missing, but not the target of a link.
            let mut existing = path.ancestors().filter(|place| fs::symlink_metadata(place).is_ok());
            match existing.next().filter(|place| fs::metadata(place).is_err()) {
                Some(link) => {
                    let reason = "it is a broken link".to_owned();
                    Err(Error::Unreadable { path: link.to_owned(), reason })
                }
                None => Ok((path.to_owned(), false)),
            }
        }
        Err(error) => Err(Error::Unreadable { path: path.to_owned(), reason: error.to_string() }),
    }
}
