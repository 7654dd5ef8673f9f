//! Hexadecimal text of bytes, of digests and of random numbers.

use std::fmt::Write as _;
use std::io;

use sha2::{Digest as _, Sha256};

/// Returns two lower-case digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the 64 digits of a SHA-256 digest.
pub fn sha256(content: impl AsRef<[u8]>) -> String {
    encode(&Sha256::digest(content))
}

/// Returns the digits of `BYTES` random bytes. Fails if the system has no randomness.
pub fn random<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(encode(&bytes))
}
