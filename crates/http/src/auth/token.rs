//! The token file: 32 random bytes in hexadecimal, readable by its owner alone.

use std::fmt;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

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

/// Returns a fresh secret of 256 bits.
pub(super) fn random() -> io::Result<Secret> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(Secret(hex(&bytes)))
}

/// Writes bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Reads the token, or makes the file where there is none. A file that others could read is taken from them; one
/// that belongs to somebody else, or holds no token, is an error that says what to do.
pub(crate) fn read_or_make(path: &Path) -> io::Result<Secret> {
    match make(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path),
        made => made,
    }
}

/// Writes beside and links into place: a reader never sees half a token, and the first of two makers wins.
fn make(path: &Path) -> io::Result<Secret> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let secret = random()?;
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&beside);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut file| {
            writeln!(file, "{}", secret.0)?;
            file.sync_all()
        });
    let linked = written.and_then(|()| fs::hard_link(&beside, path));
    let _ = fs::remove_file(&beside);
    linked.map(|()| secret)
}

fn read(path: &Path) -> io::Result<Secret> {
    let refuse = |reason: &str| Err(io::Error::other(format!("token file {}: {reason}", path.display())));
    let meta = path.symlink_metadata()?;
    if !meta.is_file() {
        return refuse("is not a plain file; remove it and start again");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user; remove it and start again");
    }
    if meta.mode() & 0o077 != 0 {
        tracing::warn!(file = "token", "others could read the token file; its mode is 0600 again");
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    let mut text = String::new();
    fs::File::open(path)?.take(4096).read_to_string(&mut text)?;
    let token = text.trim();
    if token.len() < 32 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return refuse("holds no token of at least 32 characters; remove it and start again");
    }
    Ok(Secret(token.to_owned()))
}
