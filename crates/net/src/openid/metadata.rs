//! What an issuer publishes about itself: addresses and keys.

use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde_json::Value;

use adjutant_base::config::openid::is_protected;

/// Maximum keys of an issuer that are tried.
const MAX_KEYS: usize = 64;

/// The document at `/.well-known/openid-configuration`, as far as a login needs it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) jwks_uri: String,
    pub(super) userinfo_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl Metadata {
    /// Parses and checks the document of `issuer`; the error is a clause about the issuer.
    pub(super) fn parse(document: &[u8], issuer: &str) -> Result<Self, String> {
        let parsed: Self = serde_json::from_slice(document)
            .map_err(|_| "it publishes no openid-configuration with the addresses of a login".to_owned())?;
        // Otherwise one issuer could speak for another (OpenID Connect Discovery 1.0, section 4.3).
        if parsed.issuer != issuer {
            return Err(format!(
                "it calls itself `{}`; write `issuer` in `[openid]` as the provider spells it",
                parsed.issuer
            ));
        }
        let addresses = [
            Some(&parsed.authorization_endpoint),
            Some(&parsed.token_endpoint),
            Some(&parsed.jwks_uri),
            parsed.userinfo_endpoint.as_ref(),
        ];
        for address in addresses.into_iter().flatten() {
            // An issuer with TLS keeps it for all of its addresses.
            let is_kept = address.starts_with("https://") || issuer.starts_with("http://");
            if !is_protected(address) || !is_kept {
                return Err(format!("its address `{address}` does not start with https://"));
            }
        }
        Ok(parsed)
    }

    /// Returns whether the client's secret is sent in the body, because the issuer takes it nowhere else.
    pub(super) fn takes_secret_in_body(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_deref();
        let takes = |name: &str| methods.is_some_and(|methods| methods.iter().any(|method| method == name));
        takes("client_secret_post") && !takes("client_secret_basic")
    }
}

/// Parses the keys of an issuer. One that is not known here is left out.
pub(super) fn parse_keys(document: &[u8]) -> Option<Vec<Jwk>> {
    #[derive(Deserialize)]
    struct Keys {
        keys: Vec<Value>,
    }
    let Keys { keys } = serde_json::from_slice(document).ok()?;
    Some(keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).take(MAX_KEYS).collect())
}
