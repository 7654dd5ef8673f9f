//! Authentication: a bearer token for `/mcp`, a login cookie for the console.
//!
//! They use different secrets, so that a program with a token cannot make a login. The tokens are the file `token` in
//! the home and those of `adjutant tokens`; they allow asking, never answering. A cookie is a random number with a
//! keyed hash of it. Its key is the file `login-key`, which is never given to an agent. So the hub keeps no list of
//! logins, and a login survives a restart. A new `login-key` or a new `token` ends every login. The files are read
//! again when they change.
//!
//! The cookie of a user who logged in names the user too, and the generation of the user's login in the store. Each request
//! compares it, so a change of the role or the password ends the cookie.
//!
//! Browsers do not separate cookies by port: a program that runs a web server on this host's loopback could be sent the
//! cookie. On a machine of one user such a program can read the files anyway; on a shared machine, switch HTTP off.
//!
//! Another site cannot make a page act: the guard rejects foreign origins, and the cookie is `SameSite=Strict`. The cookie of a
//! login that began at an identity provider is `SameSite=Lax`, because the provider's page sends the browser back; it lets
//! nobody in.

mod agent_tokens;
mod login;
mod login_attempts;
mod secret_file;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

pub use agent_tokens::{AgentToken, AgentTokenError, add_agent_token, agent_tokens, revoke_agent_token};
pub(crate) use login::Logins;
pub(crate) use login_attempts::LoginAttempts;
use secret_file::{Secret, WatchedFile, logged};

/// The name of the login cookie, and the one over TLS: no page without TLS and no other name of the domain can set a cookie
/// with that prefix.
const COOKIE_NAME: &str = "adjutant_login";
const SECURE_COOKIE_NAME: &str = "__Host-adjutant_login";

/// The same for the cookie of a login that began at an identity provider.
const BEGUN_COOKIE_NAME: &str = "adjutant_openid";
const SECURE_BEGUN_COOKIE_NAME: &str = "__Host-adjutant_openid";

/// The authentication of one listener: its tokens and its logins.
#[derive(Debug)]
pub(crate) struct Authenticator {
    token: Arc<WatchedFile<Secret>>,
    agent_tokens: WatchedFile<Arc<[AgentToken]>>,
    logins: Logins,
    /// Whether browsers come over TLS, here or at a proxy.
    is_secure: bool,
}

/// The name of the agent's token that a request carries; empty for the hub's own token, and without authentication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TokenName(pub(crate) String);

impl Authenticator {
    /// Reads the files in `home`, and makes missing ones. The error is about a file and may name its path. `is_secure` is for
    /// browsers that come over TLS.
    pub(crate) fn open(home: &Path, is_secure: bool) -> io::Result<Self> {
        let token = Arc::new(WatchedFile::new(home.join("token"), secret_file::read_or_make));
        token.get()?;
        let agent_tokens = WatchedFile::new(agent_tokens::path(home), agent_tokens::read);
        agent_tokens.get()?;
        let logins = Logins::open(home, token.clone())?;
        Ok(Self { token, agent_tokens, logins, is_secure })
    }

    /// Returns the one-time links of this listener.
    pub(crate) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Returns the name of the token that a request carries; `None` when it carries no valid token.
    pub(crate) fn token_name(&self, headers: &HeaderMap) -> Option<TokenName> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return None;
        };
        let (scheme, credential) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let equal = |one: &str, other: &str| bool::from(one.as_bytes().ct_eq(other.as_bytes()));
        let credential = credential.trim();
        if equal(credential, logged(self.token.get())?.as_str()) {
            return Some(TokenName::default());
        }
        let digest = agent_tokens::digest(credential);
        let tokens = logged(self.agent_tokens.get())?;
        tokens.iter().find(|token| equal(&token.digest, &digest)).map(|token| TokenName(token.name.clone()))
    }

    /// Returns whether a browser's request carries a login cookie of the hub's owner.
    pub(crate) fn check_login(&self, headers: &HeaderMap) -> bool {
        cookies(headers, self.cookie_name()).any(|value| self.logins.recognize(value))
    }

    /// Returns the user of a login cookie, and the generation of the user's login that it belongs to.
    pub(crate) fn user_of(&self, headers: &HeaderMap) -> Option<(String, i64)> {
        cookies(headers, self.cookie_name()).find_map(|value| self.logins.user_of(value))
    }

    /// Redeems a one-time link and returns the cookie for it.
    pub(crate) fn log_in(&self, nonce: &str) -> Option<HeaderValue> {
        self.cookie(&self.logins.redeem(nonce)?, login::COOKIE_LIFE.as_secs())
    }

    /// Returns a new cookie for a user, whose login has this generation.
    pub(crate) fn log_in_user(&self, user: &str, generation: i64) -> Option<HeaderValue> {
        self.cookie(&self.logins.cookie_of_user(user, generation)?, login::USER_COOKIE_LIFE.as_secs())
    }

    /// Returns the header that removes the cookie from a browser.
    pub(crate) fn log_out(&self) -> Option<HeaderValue> {
        self.cookie("", 0)
    }

    /// Returns the cookie of a browser that goes to an identity provider with this secret, for as long as the login may take; an
    /// empty secret removes it.
    pub(crate) fn begun_cookie(&self, secret: &str, life: Duration) -> Option<HeaderValue> {
        self.set_cookie(self.begun_cookie_name(), secret, "Lax", life.as_secs())
    }

    /// Returns the secret of the login that a browser began at an identity provider; empty without one.
    pub(crate) fn begun_by<'a>(&self, headers: &'a HeaderMap) -> &'a str {
        cookies(headers, self.begun_cookie_name()).next().unwrap_or_default()
    }

    fn cookie(&self, value: &str, age: u64) -> Option<HeaderValue> {
        self.set_cookie(self.cookie_name(), value, "Strict", age)
    }

    fn set_cookie(&self, name: &str, value: &str, same_site: &str, age: u64) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; HttpOnly; SameSite={same_site}; Path=/; Max-Age={age}{secure}");
        HeaderValue::from_str(&text).ok()
    }

    fn cookie_name(&self) -> &'static str {
        if self.is_secure { SECURE_COOKIE_NAME } else { COOKIE_NAME }
    }

    fn begun_cookie_name(&self) -> &'static str {
        if self.is_secure { SECURE_BEGUN_COOKIE_NAME } else { BEGUN_COOKIE_NAME }
    }
}

/// Returns the values of the cookies with a name.
fn cookies<'a>(headers: &'a HeaderMap, wanted: &'static str) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(name, _)| *name == wanted).map(|(_, value)| value)
}

/// Ends every login of the hubs in `home`, also while they run.
pub fn log_out(home: &Path) -> io::Result<()> {
    secret_file::replace(&login::key_path(home), secret_file::random()?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_tls_no_other_name_of_the_domain_can_set_a_cookie() {
        let home = tempfile::tempdir().unwrap();
        let authenticator = Authenticator::open(home.path(), true).unwrap();
        let begun = authenticator.begun_cookie("secret", Duration::from_mins(10)).unwrap();
        let rules = "HttpOnly; SameSite=Lax; Path=/; Max-Age=600; Secure";
        assert_eq!(begun, format!("__Host-adjutant_openid=secret; {rules}").as_str());
        let login = authenticator.log_in_user("ann", 1).unwrap();
        let login = login.to_str().unwrap();
        assert!(login.starts_with("__Host-adjutant_login=u."), "{login}");
        assert!(login.contains("; SameSite=Strict; ") && login.ends_with("; Secure"), "{login}");
        // Each is read under its name alone.
        for (sent, secret) in [
            ("a=b; __Host-adjutant_openid=secret", "secret"),
            ("adjutant_openid=secret; __Host-adjutant_login=secret", ""),
        ] {
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static(sent))]);
            assert_eq!(authenticator.begun_by(&headers), secret, "{sent}");
        }
    }
}
