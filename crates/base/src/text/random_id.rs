//! Random ids that are unguessable and short enough to be typed.

use std::io;

/// Letters and digits that are not mistaken for each other: five bits each.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns a random id of `LENGTH` characters. Fails if the system has no randomness.
pub fn random_id<const LENGTH: usize>() -> io::Result<String> {
    let mut bytes = [0_u8; LENGTH];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// Returns whether `text` can be a random id of this length.
pub fn is_random_id(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| LETTERS.contains(&byte))
}
