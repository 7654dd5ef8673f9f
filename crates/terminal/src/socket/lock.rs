//! `hub.lock`: its holder is the home's hub.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::Error;
use super::holder::Holder;

/// How long a hub that holds the lock may take to say who it is.
const STARTING: Duration = Duration::from_secs(2);

/// The right to be the home's hub, for as long as the value lives. The kernel ends it with the process.
#[derive(Debug)]
pub struct Claim(File);

impl Claim {
    /// Takes the lock in `home`, which must exist, or says who has it.
    pub fn take(home: &Path) -> Result<Self, Error> {
        let path = home.join("hub.lock");
        let fault = |error: io::Error| Error::Folder { folder: home.to_owned(), reason: error.to_string() };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(fault)?;
        let end = Instant::now() + STARTING;
        let mut second_look = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    file.set_len(0).map_err(fault)?;
                    return Ok(Self(file));
                }
                Err(TryLockError::Error(error)) => return Err(fault(error)),
                Err(TryLockError::WouldBlock) => match holder(home) {
                    // The first time it may be somebody who only asks whether the lock is free.
                    Some(holder) if second_look => return Err(Error::Taken { holder }),
                    Some(_) => second_look = true,
                    None => {}
                },
            }
            if Instant::now() > end {
                return Err(Error::Starting);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Writes down who holds it.
    pub fn sign(&mut self, holder: &Holder) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(&serde_json::to_vec(holder)?)
    }

    /// Whether the lock file in `home` is still the one that is locked. It is not when the folder was deleted, moved
    /// or replaced; a second hub can start there then.
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
        // A name left behind would only mislead; the lock itself is what counts.
        let _ = self.0.set_len(0);
    }
}

/// Returns who signed the lock file last. After a crash that may be a hub that is gone.
pub fn holder(home: &Path) -> Option<Holder> {
    serde_json::from_slice(&std::fs::read(home.join("hub.lock")).ok()?).ok()
}

/// Tells whether no hub holds the lock in `home`.
pub fn vacant(home: &Path) -> bool {
    match File::open(home.join("hub.lock")) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
