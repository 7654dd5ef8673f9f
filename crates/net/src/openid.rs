//! Logins by OpenID Connect, as the relying party: the authorization code flow with PKCE.
//!
//! Every answer is bounded in bytes and time, and no redirect is followed. What an id token says counts only with a
//! signature of one of the issuer's published keys, and only for the attempt with its nonce.

mod id_token;
mod metadata;
mod signatures;

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::http_client::{self, HttpRequest, HttpResponse, Login, Token};
use adjutant_base::text::hex;
use id_token::Expected;
use metadata::Metadata;

/// Timeout of one request to the issuer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of one answer of the issuer.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Time for which addresses and keys of the issuer are not read again.
const METADATA_LIFE: Duration = Duration::from_hours(1);
/// Maximum length of the word with which an issuer says why it refused.
const MAX_CODE_LENGTH: usize = 64;

/// What a form and a query encode: all but letters, digits and the marks of RFC 3986 (section 2.3).
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What an issuer says about a person, by the names of OpenID Connect.
pub type Claims = serde_json::Map<String, Value>;

/// A login that the identity provider did not complete. No message holds a secret, a code or a token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Network(#[from] http_client::Error),
    #[error("{address} answers with status {status}")]
    Status { address: String, status: u16 },
    #[error("the identity provider at {issuer} cannot be used: {reason}")]
    Provider { issuer: String, reason: String },
    #[error("the identity provider does not accept the login: {0}")]
    Refused(String),
    #[error("the identity provider's token is not valid: {0}")]
    Token(&'static str),
    #[error("the identity provider's token is not valid: none of its published keys has signed it")]
    UnknownKey,
    #[error("the system has no random numbers")]
    Random,
}

/// An identity provider at which this hub is registered.
#[derive(Debug)]
pub struct Provider {
    issuer: String,
    client_id: String,
    known: Mutex<Option<Known>>,
}

/// What the issuer published when it was asked.
#[derive(Clone, Debug)]
struct Known {
    metadata: Metadata,
    keys: Vec<Jwk>,
    until: Instant,
}

/// A login that began: its address for the browser, and what its end is compared with.
pub struct Attempt {
    /// Where the browser logs in.
    pub url: String,
    /// What the issuer returns with the browser.
    pub state: String,
    redirect_uri: String,
    nonce: String,
    verifier: String,
}

/// The answer to a code.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Attempt(…)")
    }
}

impl Provider {
    /// Takes the issuer's address and the name of this hub there. Sends nothing yet.
    pub fn new(issuer: String, client_id: String) -> Self {
        Self { issuer, client_id, known: Mutex::default() }
    }

    /// Begins a login that the issuer sends back to `redirect_uri`; `scope` is what the hub wants to know.
    pub async fn begin(&self, redirect_uri: String, scope: &str) -> Result<Attempt, Error> {
        let endpoint = self.known().await?.metadata.authorization_endpoint;
        let random = || hex::random::<32>().map_err(|_| Error::Random);
        let (state, nonce, verifier) = (random()?, random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", scope),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok(Attempt { url: format!("{endpoint}{separator}{query}"), state, redirect_uri, nonce, verifier })
    }

    /// Exchanges the code of an attempt, and returns the claims among which `wanted` is, or those of the id token if it is
    /// nowhere. `issuer` is who sent the browser back, as far as it says so.
    pub async fn finish(
        &self,
        attempt: &Attempt,
        code: &str,
        issuer: Option<&str>,
        secret: Option<&str>,
        wanted: &str,
    ) -> Result<Claims, Error> {
        let known = self.known().await?;
        let metadata = &known.metadata;
        // RFC 9207: another issuer could otherwise get this one's code.
        let is_missing = issuer.is_none() && metadata.authorization_response_iss_parameter_supported;
        if is_missing || issuer.is_some_and(|issuer| issuer != metadata.issuer) {
            return Err(Error::Refused("the answer came from another issuer".to_owned()));
        }
        let tokens = self.exchange(metadata, attempt, code, secret).await?;
        let expected = Expected { metadata, client_id: &self.client_id, nonce: &attempt.nonce };
        let claims = match id_token::verify(&tokens.id_token, &known.keys, &expected) {
            // The issuer may have changed its keys since they were read.
            Err(Error::UnknownKey) => {
                let keys = self.read_keys(metadata).await?;
                let claims = id_token::verify(&tokens.id_token, &keys, &expected);
                if let Some(known) = self.known.lock().await.as_mut() {
                    known.keys = keys;
                }
                claims?
            }
            verified => verified?,
        };
        match (&metadata.userinfo_endpoint, tokens.access_token) {
            // An issuer that follows OpenID Connect to the letter says only there what was asked for by a scope.
            (Some(address), Some(token)) if !claims.contains_key(wanted) => {
                self.ask_about(address, token, &claims).await
            }
            _ => Ok(claims),
        }
    }

    /// Returns what the issuer publishes; asks it if that was long ago. Logins that begin meanwhile wait for the answer.
    async fn known(&self) -> Result<Known, Error> {
        let waited = timeout(REQUEST_TIMEOUT, self.known.lock()).await;
        let mut known = waited.map_err(|_| self.unusable("it does not answer in time".to_owned()))?;
        if let Some(known) = known.as_ref().filter(|known| known.until > Instant::now()) {
            return Ok(known.clone());
        }
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let document = get(&address, None).await?.body;
        let metadata = Metadata::parse(&document, &self.issuer).map_err(|reason| self.unusable(reason))?;
        let keys = self.read_keys(&metadata).await?;
        let fresh = Known { metadata, keys, until: Instant::now() + METADATA_LIFE };
        *known = Some(fresh.clone());
        Ok(fresh)
    }

    async fn read_keys(&self, metadata: &Metadata) -> Result<Vec<Jwk>, Error> {
        let document = get(&metadata.jwks_uri, None).await?.body;
        metadata::parse_keys(&document)
            .ok_or_else(|| self.unusable("it publishes no keys at its `jwks_uri`".to_owned()))
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        attempt: &Attempt,
        code: &str,
        secret: Option<&str>,
    ) -> Result<Tokens, Error> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &attempt.redirect_uri),
            ("code_verifier", &attempt.verifier),
        ];
        let mut login = None;
        match secret {
            Some(secret) if metadata.takes_secret_in_body() => {
                fields.extend([("client_id", self.client_id.as_str()), ("client_secret", secret)]);
            }
            // RFC 6749, section 2.3.1: both are encoded as in a form first.
            Some(secret) => login = Some(Login { name: encode(&self.client_id), password: encode(secret) }),
            None => fields.push(("client_id", &self.client_id)),
        }
        let answer = http_client::send_without_redirects(HttpRequest {
            method: "POST",
            url: &metadata.token_endpoint,
            headers: vec![
                ("content-type", "application/x-www-form-urlencoded".to_owned()),
                ("accept", "application/json".to_owned()),
            ],
            login: login.as_ref(),
            token: None,
            body: form(&fields),
            max_bytes: MAX_ANSWER_BYTES,
            timeout: REQUEST_TIMEOUT,
        })
        .await?;
        if !answer.is_success() {
            return Err(refusal(&metadata.token_endpoint, &answer));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|_| self.unusable("its answer to the code has no id token".to_owned()))
    }

    /// Asks the issuer about the person of an id token.
    async fn ask_about(&self, address: &str, token: String, claims: &Claims) -> Result<Claims, Error> {
        let answer = get(address, Some(&Token(token))).await?;
        let said: Claims = serde_json::from_slice(&answer.body)
            .map_err(|_| self.unusable("its answer about the person is no JSON object".to_owned()))?;
        // OpenID Connect Core 1.0, section 5.3.2: the answer may be about somebody else.
        if said.get("sub") != claims.get("sub") {
            return Err(self.unusable("its answer is about another person than its token".to_owned()));
        }
        Ok(said)
    }

    fn unusable(&self, reason: String) -> Error {
        Error::Provider { issuer: self.issuer.clone(), reason }
    }
}

/// Sends a GET request and returns the answer if its status is 200.
async fn get(address: &str, token: Option<&Token>) -> Result<HttpResponse, Error> {
    let answer = http_client::send_without_redirects(HttpRequest {
        method: "GET",
        url: address,
        headers: vec![("accept", "application/json".to_owned())],
        login: None,
        token,
        body: String::new(),
        max_bytes: MAX_ANSWER_BYTES,
        timeout: REQUEST_TIMEOUT,
    })
    .await?;
    if answer.status == 200 { Ok(answer) } else { Err(refusal(address, &answer)) }
}

/// Returns the error of an answer: the word of OAuth 2.0 if there is one, which no other text of the answer can follow.
fn refusal(address: &str, answer: &HttpResponse) -> Error {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if let Some(code) = body["error"].as_str().and_then(error_code) {
        return Error::Refused(code.to_owned());
    }
    // The query may hold a key of the issuer.
    let address = address.split('?').next().unwrap_or_default().to_owned();
    Error::Status { address, status: answer.status }
}

/// Returns an error code of OAuth 2.0, such as `access_denied`; `None` for any other text.
pub fn error_code(text: &str) -> Option<&str> {
    let is_code = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    (is_code && (1..=MAX_CODE_LENGTH).contains(&text.len())).then_some(text)
}

fn form(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", encode(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, FORM).to_string()
}
