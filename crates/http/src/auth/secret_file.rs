//! Secrets in files of the home: readable by their owner alone, and read again when they are replaced.

use std::fmt;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use adjutant_base::mutex::lock;
use adjutant_base::text::hex;

/// Maximum size of a file with secrets.
const MAX_BYTES: u64 = 256 * 1024;

/// A secret text that does not print itself.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// The inode, the time of the last change in seconds and nanoseconds, and the size of a file.
type Stamp = (u64, i64, i64, u64);

/// A file that is read again when it was replaced, so that a new secret is valid at once.
#[derive(Debug)]
pub(super) struct WatchedFile<T> {
    path: PathBuf,
    read: fn(&Path) -> io::Result<T>,
    current: Mutex<Option<(Option<Stamp>, T)>>,
}

impl<T: Clone> WatchedFile<T> {
    pub(super) fn new(path: PathBuf, read: fn(&Path) -> io::Result<T>) -> Self {
        Self { path, read, current: Mutex::new(None) }
    }

    /// Returns the file's present content.
    pub(super) fn get(&self) -> io::Result<T> {
        let found = self.path.symlink_metadata().ok();
        let stamp = found.map(|found| (found.ino(), found.ctime(), found.ctime_nsec(), found.size()));
        let mut current = lock(&self.current);
        if let Some((read_at, value)) = &*current
            && *read_at == stamp
        {
            return Ok(value.clone());
        }
        let value = (self.read)(&self.path)?;
        *current = Some((stamp, value.clone()));
        Ok(value)
    }
}

/// Returns a secret, or logs why it could not be read; without it every request is rejected.
pub(super) fn logged<T>(read: io::Result<T>) -> Option<T> {
    read.inspect_err(|error| tracing::error!(%error, "a file with secrets cannot be read")).ok()
}

/// Returns a fresh secret of 256 bits.
pub(super) fn random() -> io::Result<Secret> {
    hex::random::<32>().map(Secret)
}

/// Reads a secret, or makes a missing file. A file that others could read gets the mode 0600 again. A file of another
/// user, or without a secret, is an error with advice.
pub(super) fn read_or_make(path: &Path) -> io::Result<Secret> {
    let made = if path.symlink_metadata().is_ok() {
        Err(io::ErrorKind::AlreadyExists.into())
    } else {
        // Linked into place: of two that make the file at once, the first one wins.
        random().and_then(|secret| {
            write(path, secret.as_str(), |new, path| fs::hard_link(new, path)).map(|()| secret)
        })
    };
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let secret = read_private(path)?.trim().to_owned();
            if secret.len() < 32 || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
                return refuse(path, "holds no secret of at least 32 characters; remove it and start again");
            }
            Ok(Secret(secret))
        }
        made => made,
    }
}

/// Writes a file of mode 0600 in the place of the one at `path`; a reader never sees half of it.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    write(path, text, |new, path| fs::rename(new, path))
}

fn write(path: &Path, text: &str, publish: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&new);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut file| {
            writeln!(file, "{text}")?;
            file.sync_all()
        });
    let published = written.and_then(|()| publish(&new, path));
    let _ = fs::remove_file(&new);
    published
}

/// Reads a file that its owner alone may read.
pub(super) fn read_private(path: &Path) -> io::Result<String> {
    let meta = path.symlink_metadata()?;
    if !meta.is_file() {
        return refuse(path, "is not a plain file; remove it and start again");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refuse(path, "belongs to another user; remove it and start again");
    }
    if meta.mode() & 0o077 != 0 {
        tracing::warn!(file = ?path.file_name(), "others could read a file with secrets; its mode is 0600 again");
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn refuse<T>(path: &Path, reason: &str) -> io::Result<T> {
    Err(io::Error::other(format!("{} {reason}", path.display())))
}
