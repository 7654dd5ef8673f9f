//! Authentication: a bearer token for `/mcp`, a login cookie for the console.
//!
//! Both hang on one secret, the file `token` in the home. The cookie is a random number with a keyed hash of it, so
//! the hub keeps no list of logins, a login survives a restart, and a new token file ends every login. Browsers do
//! not separate cookies by port: whoever may run a web server on this host's loopback could be sent the cookie. On a
//! machine of one person such a program can read the token file anyway; on a shared one, switch the door off.
//!
//! A page cannot be made to act by another site: the guard refuses foreign origins, and the cookie is `SameSite=Strict`.

mod login;
mod token;

use std::io;
use std::path::Path;

use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

pub(crate) use login::Logins;

/// The name of the login cookie.
const COOKIE_NAME: &str = "adjutant_login";

/// The authentication of one listener: its token and its logins.
#[derive(Debug)]
pub(crate) struct Authenticator {
    token: token::Secret,
    logins: Logins,
}

impl Authenticator {
    /// Reads the token file in `home`, making it where there is none. The error is about the file and may name its
    /// path.
    pub(crate) fn open(home: &Path) -> io::Result<Self> {
        let token = token::read_or_make(&home.join("token"))?;
        let logins = Logins::new(&token);
        Ok(Self { token, logins })
    }

    /// Returns the one-time links of this listener.
    pub(crate) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Returns whether a request carries the token.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return false;
        };
        let Some((scheme, credential)) = value.to_str().ok().and_then(|text| text.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("bearer")
            && bool::from(credential.trim().as_bytes().ct_eq(self.token.as_str().as_bytes()))
    }

    /// Returns whether a browser's request carries a login cookie.
    pub(crate) fn check_login(&self, headers: &HeaderMap) -> bool {
        headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(name, value)| name == COOKIE_NAME && self.logins.recognise(value))
    }

    /// Redeems a one-time link and returns the cookie for it. `secure` where a TLS proxy is in front.
    pub(crate) fn log_in(&self, nonce: &str, secure: bool) -> Option<HeaderValue> {
        let cookie = self.logins.redeem(nonce)?;
        let age = login::COOKIE_LIFE.as_secs();
        let secure = if secure { "; Secure" } else { "" };
        let text =
            format!("{COOKIE_NAME}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}");
        HeaderValue::from_str(&text).ok()
    }
}
