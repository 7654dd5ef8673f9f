//! `hub.lock`: its holder is the home's hub.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::Error;
use super::holder::Holder;

/// Time for a hub that holds the lock to write its entry.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The file that shows that the user stopped the hub. Relays start none while it exists.
const STOPPED: &str = "hub.stopped";

/// The right to be the home's hub, for as long as the value lives. The kernel ends it with the process.
#[derive(Debug)]
pub struct Claim(File);

impl Claim {
    /// Takes the lock in `home`, which must exist. The error names the holder.
    pub fn take(home: &Path) -> Result<Self, Error> {
        let path = home.join("hub.lock");
        let failed = |error: io::Error| Error::Folder { folder: home.to_owned(), reason: error.to_string() };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let end = Instant::now() + START_TIMEOUT;
        let mut was_held = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    file.set_len(0).map_err(failed)?;
                    // Whatever started this hub, the user's stop is over.
                    let _ = std::fs::remove_file(home.join(STOPPED));
                    return Ok(Self(file));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) => match holder(home) {
                    // At first, the holder may be a process that only checks whether the lock is free.
                    Some(holder) if was_held => return Err(Error::Taken { holder }),
                    Some(_) => was_held = true,
                    None => {}
                },
            }
            if Instant::now() > end {
                return Err(Error::Starting);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Writes the entry of the holder.
    pub fn sign(&mut self, holder: &Holder) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(&serde_json::to_vec(holder)?)
    }

    /// Returns whether the lock file in `home` is still the one that is locked. It is not when the folder was deleted,
    /// moved or replaced; a second hub can start there then.
    pub fn is_current(&self, home: &Path) -> bool {
        match (std::fs::metadata(home.join("hub.lock")), self.0.metadata()) {
            (Ok(found), Ok(locked)) => (found.dev(), found.ino()) == (locked.dev(), locked.ino()),
            (Err(error), _) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            (_, Err(_)) => true,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Removes the entry, which would mislead. Only the lock itself counts.
        let _ = self.0.set_len(0);
    }
}

/// Records that the user stops the hub of `home`, until the next hub starts.
pub(super) fn record_stop(home: &Path) -> io::Result<()> {
    File::create(home.join(STOPPED)).map(drop)
}

/// Returns whether the user stopped the hub of `home`.
pub(crate) fn is_stopped(home: &Path) -> bool {
    home.join(STOPPED).exists()
}

/// Returns the last entry of the lock file. After a crash, that hub may no longer run.
pub fn holder(home: &Path) -> Option<Holder> {
    serde_json::from_slice(&std::fs::read(home.join("hub.lock")).ok()?).ok()
}

/// Returns whether no hub holds the lock in `home`.
pub fn vacant(home: &Path) -> bool {
    match File::open(home.join("hub.lock")) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
