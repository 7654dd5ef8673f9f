//! Settings of logins by OpenID Connect.

use std::path::{Path, PathBuf};

use super::Error;
use super::assistant::Key;
use super::loopback::is_loopback;
use super::table::{FileInHome, Notation, Plain};

/// The address of an issuer.
struct Issuer;

impl Notation<Option<String>> for Issuer {
    type Written = String;

    fn read(written: String, home: &Path) -> Result<Option<String>, Error> {
        if is_protected(&written) && !written.contains('?') {
            return Ok(Some(written));
        }
        let rule = "it must start with https://, or with http:// on this machine, and have no query";
        Err(Error::invalid(home, format!("openid: `issuer` is `{written}`; {rule}")))
    }

    fn show(value: &Option<String>) -> String {
        format!("{:?}", value.as_deref().unwrap_or_default())
    }
}

super::table::settings! {
    /// The identity provider at which users of the console log in.
    #[derive(Clone, Debug)]
    pub struct OpenIdConfig, file Section, section "openid" {
        /// Address of the identity provider as it spells it, before `/.well-known/openid-configuration`. Without it nobody logs in by OpenID Connect.
        issuer: Option<String> = None, issuer as Issuer;
        /// Name under which the hub is registered there, with the redirect address `/login/openid/callback` of the console.
        client_id: Option<String> = None, client_id as Plain;
        /// File with the secret of that registration; relative to the home folder. Without it the hub is a public client.
        client_secret_file: Option<PathBuf> = None, client_secret_file as FileInHome;
        /// Claim that names the user: with `email` by the mail address of the user, which the provider must have verified, with any other by the id.
        claim: String = "preferred_username".to_owned(), claim as Plain;
        /// Name of the identity provider on the button of the login.
        label: String = "OpenID Connect".to_owned(), label as Plain;
    }
    others {}
}

impl OpenIdConfig {
    /// Returns the place of the client's secret.
    pub fn secret(&self) -> Key {
        self.client_secret_file.clone().map_or(Key::None, Key::File)
    }

    /// Returns the reason why the section is invalid, as a sentence fragment.
    pub(super) fn fault(&self) -> Option<String> {
        let is_empty = |text: &str| text.trim().is_empty();
        if self.issuer.is_some() != self.client_id.is_some() {
            return Some(
                "openid: `issuer` and `client_id` belong together, and one of them is missing".to_owned(),
            );
        }
        if self.client_id.as_deref().is_some_and(is_empty) {
            return Some("openid: `client_id` is empty".to_owned());
        }
        if is_empty(&self.claim) || is_empty(&self.label) {
            return Some("openid: `claim` and `label` must not be empty".to_owned());
        }
        None
    }
}

/// Returns whether what is sent to an address is kept from others: over TLS, or on this machine. It has no login and no
/// fragment.
pub fn is_protected(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let is_plain = !authority.is_empty()
        && !authority.contains(['@', '\\'])
        && !address.contains(|c: char| c == '#' || c.is_whitespace() || c.is_control());
    is_plain && (scheme == "https" || (scheme == "http" && is_loopback(authority)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_protected_by_tls_or_by_this_machine() {
        for address in [
            "https://id.example.org",
            "https://id.example.org:8443/realms/shop",
            "http://127.0.0.1:9000/",
            "http://localhost:9000",
            "http://[::1]:9000/x",
        ] {
            assert!(is_protected(address), "{address}");
        }
        for address in [
            "",
            "https://",
            "id.example.org",
            "http://id.example.org",
            "http://127.0.0.1.example.org",
            "http://127.0.0.1@example.org",
            "http://localhost\\@example.org",
            "https://ann:secret@id.example.org",
            "https://id.example.org/#x",
            "https://id.example.org/ x",
            "ftp://127.0.0.1",
            "javascript://localhost/",
        ] {
            assert!(!is_protected(address), "{address}");
        }
    }
}
