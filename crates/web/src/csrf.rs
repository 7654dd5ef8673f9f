//! The CSRF token of every form that changes something: a page of another site cannot read it.
//!
//! The guard refuses foreign origins already, and the login cookie is `SameSite=Strict`; this is the lock behind
//! those two. The token is a random number of this process: it says that the form came out of one of our pages,
//! which only a logged-in browser gets to see. It says nothing about who sat at the keyboard.

use std::fmt::Write as _;
use std::sync::LazyLock;

use subtle::ConstantTimeEq;

use super::error::Failure;

/// The field's name.
pub(super) const FIELD: &str = "csrf";

static TOKEN: LazyLock<Result<String, getrandom::Error>> = LazyLock::new(|| {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
});

/// Returns the token for a form.
pub(super) fn token() -> Result<&'static str, Failure> {
    TOKEN.as_deref().map_err(Failure::internal)
}

/// Refuses a form that does not carry the token, or carries that of an earlier hub. The comparison takes the same
/// time wherever they differ.
pub(super) fn check(fields: &[(String, String)]) -> Result<(), Failure> {
    let given = fields.iter().find(|(name, _)| name == FIELD).map_or("", |(_, value)| value);
    if bool::from(given.as_bytes().ct_eq(token()?.as_bytes())) { Ok(()) } else { Err(Failure::Stale) }
}
