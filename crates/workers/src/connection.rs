//! Connection to a NATS server.

use std::path::Path;

use async_nats::{Client, ConnectOptions};

/// Connects to the server at `url`, with the credentials of a file. Without a server it is tried again until there is one,
/// and after every loss of the connection. The error is a sentence fragment.
pub async fn connect(url: &str, creds: Option<&Path>, name: &str) -> Result<Client, String> {
    let mut options = ConnectOptions::new().name(name).retry_on_initial_connect();
    if let Some(creds) = creds {
        options = options
            .credentials_file(creds)
            .await
            .map_err(|error| format!("the credentials {} cannot be read: {error}", creds.display()))?;
    }
    options.connect(url).await.map_err(|error| format!("{url} is not a NATS server to connect to: {error}"))
}
