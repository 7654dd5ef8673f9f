//! The CSRF token of every form that changes something. A page of another site cannot read it.
//!
//! The guard rejects foreign origins already, and the login cookie is `SameSite=Strict`; the token is a third check. It
//! is a random number of this process, so it proves that the form came from a page of this console, which only a
//! logged-in browser receives. It does not prove which person sent the form.

use std::io;
use std::sync::LazyLock;

use subtle::ConstantTimeEq;

use super::error::Failure;
use adjutant_base::text::hex;

/// The field's name.
pub(super) const FIELD: &str = "csrf";

static TOKEN: LazyLock<io::Result<String>> = LazyLock::new(hex::random::<32>);

/// Returns the token for a form.
pub(super) fn token() -> Result<&'static str, Failure> {
    TOKEN.as_deref().map_err(Failure::internal)
}

/// Rejects a form with another token, such as that of an earlier hub. The comparison takes the same time wherever the
/// tokens differ.
pub(super) fn check(sent: &str) -> Result<(), Failure> {
    if bool::from(sent.as_bytes().ct_eq(token()?.as_bytes())) { Ok(()) } else { Err(Failure::Stale) }
}
