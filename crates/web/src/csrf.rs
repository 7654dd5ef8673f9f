//! The CSRF token of every form that changes something. A page of another site cannot read it.
//!
//! The guard rejects foreign origins already, and the login cookie is `SameSite=Strict`; the token is a third check. It
//! proves that the form came from a page of this process, which only a logged-in browser receives. It does not prove which
//! person sent the form.
//!
//! Each page has another token: a random number, and its digest with the secret of this process. So the length of a
//! compressed page does not reveal a token that is good for a form (BREACH, CVE-2013-3587).

use std::io;
use std::sync::LazyLock;

use subtle::ConstantTimeEq;

use super::error::Failure;
use adjutant_base::text::hex;

/// The field's name.
pub(super) const FIELD: &str = "csrf";

/// Random bytes at the start of a token.
const NONCE_SIZE: usize = 16;

static SECRET: LazyLock<io::Result<String>> = LazyLock::new(hex::random::<32>);

/// Forms that a token is good for.
#[derive(Clone, Copy)]
pub(super) enum Forms {
    /// Those of a logged-in browser.
    Console,
    /// The one that logs in, which any browser gets.
    Login,
}

impl Forms {
    /// Returns a token for the forms of one page.
    pub(super) fn token(self) -> Result<String, Failure> {
        let nonce = hex::random::<NONCE_SIZE>().map_err(Failure::internal)?;
        Ok(format!("{nonce}{}", self.digest(&nonce)?))
    }

    /// Rejects a form with another token, such as that of an earlier hub. The comparison takes the same time wherever the
    /// tokens differ.
    pub(super) fn check(self, sent: &str) -> Result<(), Failure> {
        let (nonce, sent_digest) = sent.split_at_checked(2 * NONCE_SIZE).ok_or(Failure::Stale)?;
        if bool::from(sent_digest.as_bytes().ct_eq(self.digest(nonce)?.as_bytes())) {
            Ok(())
        } else {
            Err(Failure::Stale)
        }
    }

    fn digest(self, nonce: &str) -> Result<String, Failure> {
        let purpose = match self {
            Self::Console => "",
            Self::Login => "login",
        };
        Ok(hex::sha256(format!("{}{purpose}{nonce}", SECRET.as_deref().map_err(Failure::internal)?)))
    }
}

/// Returns a token for the forms of one page of a logged-in browser.
pub(super) fn token() -> Result<String, Failure> {
    Forms::Console.token()
}
