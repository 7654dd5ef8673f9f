//! The approval passphrase, which an answer to a question of level `high` must prove.
//!
//! The home keeps an argon2id verifier, never the passphrase. Wrong passphrases cost time, so that guessing is
//! expensive. SECURITY.md lists the attacks that this resists; a process of the same user that rewrites the files of
//! the hub is not among them.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

use super::error::Error;
use super::outcome::Channel;
use adjutant_store::Millis;

/// Wrong passphrases without a pause; each further one doubles the pause, up to the maximum.
const FREE_TRIES: u32 = 3;
const MAX_PAUSE: Millis = 15 * 60 * 1000;

/// Maximum bytes of a verifier file.
const MAX_FILE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(super) struct Passphrase {
    file: Option<PathBuf>,
    /// By the name of the channel: an agent that guesses in terminals must not keep the user out of the console.
    wrong: Mutex<HashMap<&'static str, Wrong>>,
}

#[derive(Debug, Default)]
struct Wrong {
    count: u32,
    locked_until: Millis,
}

impl Passphrase {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, wrong: Mutex::default() }
    }

    pub(super) fn is_set(&self) -> bool {
        self.file.as_deref().is_some_and(Path::exists)
    }

    /// Checks a passphrase; blocks one core for as long as argon2 takes.
    pub(super) fn check(&self, given: &str, channel: Channel, now: Millis) -> Result<(), Error> {
        let verifier = self.read()?.ok_or(Error::NoPassphrase)?;
        let hash = PasswordHash::new(&verifier)
            .map_err(|error| Error::Passphrase(format!("the verifier is damaged ({error})")))?;
        // Concurrent guesses take turns here, or each would see a count of zero.
        let mut by_channel = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = by_channel.entry(channel.name()).or_default();
        if now < wrong.locked_until {
            let seconds = u64::try_from((wrong.locked_until - now).saturating_add(999) / 1000).unwrap_or(0);
            return Err(Error::Locked { seconds });
        }
        if Argon2::default().verify_password(given.as_bytes(), &hash).is_ok() {
            *wrong = Wrong::default();
            return Ok(());
        }
        wrong.count += 1;
        if wrong.count >= FREE_TRIES {
            let pause = 5000_i64.saturating_mul(1 << (wrong.count - FREE_TRIES).min(20));
            wrong.locked_until = now.saturating_add(pause.min(MAX_PAUSE));
        }
        Err(Error::WrongPassphrase)
    }

    /// Sets a new passphrase; `current` must be the old one, if there is one.
    pub(super) fn set(&self, current: Option<&str>, new: &str, now: Millis) -> Result<(), Error> {
        check_passphrase_length(new)?;
        match (self.is_set(), current) {
            (true, Some(current)) => self.check(current, Channel::Terminal, now)?,
            (true, None) => return Err(Error::NeedsPassphrase),
            (false, _) => {}
        }
        let file = self.file.as_deref().ok_or(Error::NoPassphrase)?;
        let hash = Argon2::default()
            .hash_password(new.as_bytes())
            .map_err(|error| Error::Passphrase(error.to_string()))?;
        write(file, &hash.to_string()).map_err(|error| Error::Passphrase(error.to_string()))
    }

    fn read(&self) -> Result<Option<String>, Error> {
        let Some(file) = self.file.as_deref() else { return Ok(None) };
        match fs::metadata(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(found) if found.is_file() && found.len() <= MAX_FILE_BYTES => {}
            _ => return Err(Error::Passphrase("the verifier is not a small file".to_owned())),
        }
        let text = fs::read_to_string(file).map_err(|error| Error::Passphrase(error.to_string()))?;
        Ok(Some(text.trim().to_owned()))
    }
}

/// Minimum characters of a passphrase.
pub const MIN_PASSPHRASE_LENGTH: usize = 8;

/// Checks that a new passphrase is neither too short nor too long.
pub fn check_passphrase_length(new: &str) -> Result<(), Error> {
    if (MIN_PASSPHRASE_LENGTH..=1024).contains(&new.chars().count()) {
        Ok(())
    } else {
        Err(Error::WeakPassphrase)
    }
}

/// Writes a new file and renames it, so that a reader never sees half a verifier.
fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension("new");
    let _ = fs::remove_file(&beside);
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    writeln!(out, "{text}")?;
    out.sync_all()?;
    fs::rename(&beside, file)
}
