//! Connection to a NATS server, and what a server's version means.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Auth, AuthError, Client, ConnectOptions, Event};
use nkeys::KeyPair;

use crate::account::Account;
use crate::credentials::Credentials;
use crate::invitation_code::Code;
use crate::protocol::inbox;
use adjutant_base::config::workers::WorkersConfig;

/// The first version of a NATS server that does not lose a stream when its process crashes.
const CAREFUL_SERVER: [u32; 3] = [2, 10, 23];

/// Timeout of a probe's connection to a server.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The proof of a process's identity to a NATS server.
#[derive(Clone)]
pub enum Login {
    /// The server lets everybody in, or the address has a password.
    Open,
    /// A credentials file, made with the tools of NATS.
    File(PathBuf),
    /// A hub with the account's key in its home.
    Hub(Account),
    /// A worker that joined.
    Worker(Credentials),
    /// A worker that joins.
    Invitation(Code),
}

impl Login {
    /// Returns the login of the hub of a home. The error is a sentence.
    pub fn of_hub(config: &WorkersConfig, home: &Path) -> Result<Self, String> {
        match &config.creds {
            Some(creds) => Ok(Self::File(home.join(creds))),
            None => Ok(Account::load(home)?.map_or(Self::Open, Self::Hub)),
        }
    }

    async fn options(self) -> Result<ConnectOptions, String> {
        Ok(match self {
            Self::Open => ConnectOptions::new(),
            Self::File(creds) => ConnectOptions::with_credentials_file(&creds)
                .await
                .map_err(|error| format!("the credentials {} cannot be read: {error}", creds.display()))?,
            Self::Hub(account) => {
                let (key, token) = account.hub()?;
                signed(move |nonce| Ok((token.clone(), sign(&key, nonce)?)))
            }
            Self::Worker(credentials) => {
                let prefix = inbox(&credentials.id()?);
                signed(move |nonce| credentials.sign(nonce)).custom_inbox_prefix(prefix)
            }
            Self::Invitation(code) => {
                let key = KeyPair::from_seed(&code.seed).map_err(|error| error.to_string())?;
                let prefix = inbox(&code.id);
                signed(move |nonce| Ok((code.jwt.clone(), sign(&key, nonce)?))).custom_inbox_prefix(prefix)
            }
        })
    }
}

/// Returns a client of the server at `url`, at once: the client connects in the background, retries while no server
/// answers, and reconnects after every loss of the connection. The error is a sentence fragment.
pub async fn connect(url: &str, login: Login, name: &str) -> Result<Client, String> {
    let options = login.options().await?.name(name).retry_on_initial_connect().event_callback(log);
    options.connect(url).await.map_err(|error| format!("{url} is not a NATS server to connect to: {error}"))
}

/// Connects once and returns the version of the server. The error is a sentence fragment.
pub async fn server_version(url: &str, login: Login) -> Result<String, String> {
    let options = login.options().await?.name("adjutant doctor").connection_timeout(PROBE_TIMEOUT);
    let client = options.connect(url).await.map_err(|error| error.to_string())?;
    Ok(client.server_info().version)
}

/// Returns a warning about a server version that may lose streams in a crash; `None` for a newer version.
pub fn version_warning(version: &str) -> Option<String> {
    let mut numbers = version.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let [major, minor, patch] = std::array::from_fn(|_| numbers.next().unwrap_or(0));
    ([major, minor, patch] < CAREFUL_SERVER).then(|| {
        format!(
            "NATS server {version} may lose its streams when it crashes, and then queued tasks wait until their hubs \
             publish them again; 2.10.23 and later do not"
        )
    })
}

/// Waits for the connection, and logs the warning of [`version_warning`], if there is one.
pub(crate) async fn log_version(client: &Client) {
    // It returns once there is a connection.
    if client.flush().await.is_ok()
        && let Some(warning) = version_warning(&client.server_info().version)
    {
        tracing::warn!("{warning}");
    }
}

fn signed(
    sign: impl Fn(&[u8]) -> Result<(String, Vec<u8>), String> + Send + Sync + 'static,
) -> ConnectOptions {
    let sign = Arc::new(sign);
    ConnectOptions::with_auth_callback(move |nonce| {
        let sign = sign.clone();
        async move {
            let (token, signature) = sign(&nonce).map_err(AuthError::new)?;
            let mut auth = Auth::new();
            (auth.jwt, auth.signature) = (Some(token), Some(signature));
            Ok(auth)
        }
    })
}

fn sign(key: &KeyPair, nonce: &[u8]) -> Result<Vec<u8>, String> {
    key.sign(nonce).map_err(|error| error.to_string())
}

async fn log(event: Event) {
    match event {
        Event::ServerError(error) => tracing::warn!(%error, "the NATS server refuses something"),
        Event::ClientError(error) => tracing::warn!(%error, "the connection to the NATS server failed"),
        other => tracing::debug!(event = %other, "NATS"),
    }
}

#[cfg(test)]
mod tests {
    use super::version_warning;

    #[test]
    fn servers_before_2_10_23_get_a_warning_with_the_reason() {
        for old in ["2.9.10", "2.10.22", "2.10.0-beta.3", ""] {
            assert!(version_warning(old).unwrap().contains("lose its streams"), "{old}");
        }
        for new in ["2.10.23", "2.11.0", "2.15.1", "3.0.0"] {
            assert_eq!(version_warning(new), None);
        }
    }
}
