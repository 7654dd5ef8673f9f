//! Logins of users at an identity provider: each begins in one browser, ends there within minutes, and counts once.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use adjutant_assistant::logins::Login;
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::config::assistant::KeyError;
use adjutant_base::config::openid::OpenIdConfig;
use adjutant_base::mutex::lock;
use adjutant_base::text::clip;
use adjutant_base::text::hex;
use adjutant_net::openid::{self, Attempt, Claims, Provider};

/// Time for which a person may take to log in at the provider.
pub const PENDING_LIFE: Duration = Duration::from_mins(10);

/// Maximum logins that began and have not ended; a new one replaces the oldest.
const MAX_PENDING: usize = 256;

/// Maximum characters of a name that a message repeats.
const MAX_NAME_CHARS: usize = 100;

/// The claim that names a user by a mail address.
const EMAIL: &str = "email";

/// The identity provider of the configuration, and the logins that began.
#[derive(Debug)]
pub struct OpenIdLogins {
    provider: Provider,
    settings: OpenIdConfig,
    pending: Mutex<VecDeque<Pending>>,
}

#[derive(Debug)]
struct Pending {
    attempt: Attempt,
    /// The digest of the browser's secret.
    browser: String,
    next: String,
    expires: Instant,
}

/// A login that began.
pub struct Begun {
    /// Where the browser goes now.
    pub url: String,
    /// The secret that the browser has to show at the end.
    pub browser: String,
}

/// What a browser brings back from the provider.
#[derive(Debug, Deserialize)]
pub struct Callback {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// A login at the identity provider that failed, for the user who tried.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("this login has expired, was used before, or began in another browser or window; log in again")]
    Stale,
    #[error("the login failed: {0}; try again, or correct `[openid]` in the hub's configuration")]
    Provider(#[from] openid::Error),
    #[error("the login failed: {0}; the secret of this hub is `client_secret_file` in `[openid]`")]
    Secret(#[from] KeyError),
    #[error("the identity provider ended the login: {0}")]
    Ended(String),
    #[error(
        "the identity provider did not say `{claim}` of you, by which the hub knows its users; the owner of the hub chooses \
         another `claim` in `[openid]`, or lets the provider send this one"
    )]
    Nameless { claim: String },
    #[error(
        "the identity provider has not verified your mail address `{name}`, so it does not show who you are; verify it there, \
         then log in again"
    )]
    Unverified { name: String },
    #[error(
        "no user of this hub has the {what} `{name}`, which the identity provider says of you; the owner of the hub adds one: \
         `adjutant users add`, then `adjutant users role`"
    )]
    UnknownUser { what: &'static str, name: String },
    #[error(
        "the user `{user}` may not log in; the owner of the hub, or an operator, gives the user a role: `adjutant users role {user} user`"
    )]
    NoLogin { user: String },
    #[error("the hub's store does not answer; try again")]
    Store(#[from] adjutant_assistant::Error),
}

impl OpenIdLogins {
    /// Takes the section of the configuration; `None` if it names no provider. Sends nothing yet.
    pub fn new(settings: &OpenIdConfig) -> Option<Self> {
        let provider = Provider::new(settings.issuer.clone()?, settings.client_id.clone()?);
        Some(Self { provider, settings: settings.clone(), pending: Mutex::default() })
    }

    /// Returns the name of the provider on the button of the login.
    pub fn label(&self) -> &str {
        &self.settings.label
    }

    /// Begins a login that ends at `redirect_uri`, which shows the page `next` then.
    pub async fn begin(&self, redirect_uri: String, next: &str) -> Result<Begun, Fault> {
        let scope = if self.settings.claim == EMAIL { "openid email" } else { "openid profile" };
        let attempt = self.provider.begin(redirect_uri, scope).await?;
        let browser = hex::random::<32>().map_err(|_| openid::Error::Random)?;
        let url = attempt.url.clone();
        let pending = Pending {
            attempt,
            browser: hex::sha256(&browser),
            next: next.to_owned(),
            expires: Instant::now() + PENDING_LIFE,
        };
        let mut all = lock(&self.pending);
        while all.len() >= MAX_PENDING {
            all.pop_front();
        }
        all.push_back(pending);
        Ok(Begun { url, browser })
    }

    /// Ends a login in the browser in which it began, and returns the user's login and the page that was wanted.
    pub async fn finish(
        &self,
        assistant: &Assistant,
        browser: &str,
        callback: Callback,
    ) -> Result<(Login, String), Fault> {
        let pending = self.take(browser, &callback.state).ok_or(Fault::Stale)?;
        if let Some(error) = callback.error {
            let code = openid::error_code(&error).unwrap_or("it does not say why");
            return Err(Fault::Ended(code.to_owned()));
        }
        let code = callback.code.ok_or(Fault::Stale)?;
        let place = self.settings.secret();
        let secret = tokio::task::spawn_blocking(move || place.read()).await;
        let secret = secret.map_err(|_| KeyError::Unreadable)??;
        let (issuer, secret) = (callback.iss.as_deref(), secret.as_deref());
        let claim = &self.settings.claim;
        let claims = self.provider.finish(&pending.attempt, &code, issuer, secret, claim).await?;
        Ok((self.user(assistant, &claims).await?, pending.next))
    }

    /// Takes the pending login of a browser with this state, which no other request finds again.
    fn take(&self, browser: &str, state: &str) -> Option<Pending> {
        let (browser, now) = (hex::sha256(browser), Instant::now());
        let mut all = lock(&self.pending);
        all.retain(|pending| pending.expires > now);
        let is_it = |pending: &Pending| pending.attempt.state == state && pending.browser == browser;
        let found = all.iter().position(is_it)?;
        all.remove(found)
    }

    /// Returns the login of the user whom the claims name.
    async fn user(&self, assistant: &Assistant, claims: &Claims) -> Result<Login, Fault> {
        let claim = &self.settings.claim;
        let name = claims.get(claim).and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Fault::Nameless { claim: claim.clone() })?;
        let shown = || clip::chars(name, MAX_NAME_CHARS).into_owned();
        let (what, user) = if claim == EMAIL {
            // Whoever may type any address there would be any user here.
            let is_verified = claims.get("email_verified").is_some_and(|verified| {
                verified.as_bool().unwrap_or_else(|| verified.as_str() == Some("true"))
            });
            if !is_verified {
                return Err(Fault::Unverified { name: shown() });
            }
            ("mail address", assistant.user_with_email(name).await?.map(|user| user.id))
        } else {
            let user = match UserId::parse(name) {
                Some(id) => assistant.user(&id).await.map(|user| Some(user.id)).or_else(known_or_none)?,
                None => None,
            };
            ("id", user)
        };
        let user = user.ok_or_else(|| Fault::UnknownUser { what, name: shown() })?;
        let login = assistant.login(user.as_str()).await?;
        login.ok_or_else(|| Fault::NoLogin { user: user.to_string() })
    }
}

/// Returns `None` for the error that says that there is no such user.
fn known_or_none(error: adjutant_assistant::Error) -> Result<Option<UserId>, adjutant_assistant::Error> {
    match error {
        adjutant_assistant::Error::Unknown { .. } => Ok(None),
        other => Err(other),
    }
}
