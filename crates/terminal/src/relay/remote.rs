//! Hubs on other machines, which a relay reaches over HTTP. To the relay each of them is a stream of lines as the hub on this
//! machine is, so that the loss of a hub and the way to the next one are the same.

mod address;
mod bridge;
mod endpoint;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

pub use address::HubAddress;
use serde_json::json;

use adjutant_base::config::env;
use adjutant_base::mutex::lock;
use adjutant_net::certificate;
use adjutant_net::http_client::{self, Server, Token};
use bridge::UnacceptedLines;
use endpoint::{Endpoint, Response};

/// How long a hub may take to say that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The protocol version of [`probe`], which needs no session.
const PROBE_VERSION: &str = "2026-07-28";

/// The name under which the hub lists the sender of a probe.
const PROBE_CLIENT: &str = "adjutant connect";

/// Where the token for a hub is.
#[derive(Clone, Debug)]
pub enum TokenPlace {
    File(PathBuf),
    Variable(String),
}

/// The hubs that a relay may use.
#[derive(Debug)]
pub struct Hubs {
    addresses: Vec<HubAddress>,
    /// One for all hubs, or one for each in their order; none for hubs without authentication.
    tokens: Vec<TokenPlace>,
    /// The PEM file with the certificates that count; the system's if there is none.
    trusted: Option<PathBuf>,
    /// The place in the list of the hub that was used last.
    last: Mutex<Option<usize>>,
    unaccepted: UnacceptedLines,
}

/// Why no hub on another machine can be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{tokens} tokens are for {hubs} hubs; there must be one for all, or one for each")]
    TokenCount { tokens: usize, hubs: usize },
    #[error("the token cannot be read from {}: {source}", path.display())]
    TokenFile { path: PathBuf, source: io::Error },
    #[error("the variable `{0}` with the token is not set")]
    TokenVariable(String),
    #[error(transparent)]
    Trust(#[from] certificate::Error),
    #[error("no hub can be used: {0}")]
    Unreachable(String),
    #[error("no hub can be used: {0}")]
    Rejected(String),
    #[error("cannot start the connection: {0}")]
    Io(#[from] io::Error),
}

impl Error {
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::TokenCount { .. } | Self::TokenFile { .. } | Self::TokenVariable(_) | Self::Rejected(_) => {
                "`adjutant tokens add NAME` on the machine of the hub makes a token; name its place with --token-file or --token-env"
            }
            Self::Trust(_) => "name the PEM file of the hub's certificate with --ca",
            Self::Unreachable(_) | Self::Io(_) => {
                "check the address, and run `adjutant doctor` on the machine of the hub; a self-signed certificate needs --ca"
            }
        }
    }

    /// Returns whether another try would end in the same way.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::TokenCount { .. }
            | Self::TokenFile { .. }
            | Self::TokenVariable(_)
            | Self::Trust(_)
            | Self::Rejected(_) => true,
            Self::Unreachable(_) | Self::Io(_) => false,
        }
    }
}

impl Hubs {
    /// Takes the hubs in the order in which they are tried, with one token for all or one for each.
    ///
    /// # Errors
    /// Fails with another number of tokens.
    pub fn new(
        addresses: Vec<HubAddress>,
        tokens: Vec<TokenPlace>,
        trusted: Option<PathBuf>,
    ) -> Result<Self, Error> {
        if !matches!(tokens.len(), 0 | 1) && tokens.len() != addresses.len() {
            return Err(Error::TokenCount { tokens: tokens.len(), hubs: addresses.len() });
        }
        Ok(Self {
            addresses,
            tokens,
            trusted,
            last: Mutex::default(),
            unaccepted: UnacceptedLines::default(),
        })
    }

    /// Connects to a hub: after the loss of one, to the next in the list first. Returns the stream of lines.
    pub(super) fn connect(&self, toolset: &str) -> Result<UnixStream, Error> {
        let server = Server::new(self.trusted.as_deref(), None)?;
        let first = lock(&self.last).map_or(0, |last| last + 1);
        let count = self.addresses.len();
        let order: Vec<usize> = (0..count).map(|step| (first + step) % count).collect();
        let candidate = |place: usize| Ok((place, self.addresses[place].clone(), self.token(place)?));
        let candidates = order.into_iter().map(candidate).collect::<Result<Vec<_>, Error>>()?;
        let longest = PROBE_TIMEOUT * u32::try_from(count).unwrap_or(u32::MAX) + PROBE_TIMEOUT;
        let (near, far) = UnixStream::pair()?;
        far.set_nonblocking(true)?;
        let (send, found) = mpsc::channel();
        let (toolset, unaccepted) = (toolset.to_owned(), self.unaccepted.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // It ends with the stream, or with the process.
        std::thread::spawn(move || {
            runtime.block_on(async {
                match first_usable(server, candidates, &toolset).await {
                    Ok((place, endpoint)) => {
                        let Ok(stream) = tokio::net::UnixStream::from_std(far) else { return };
                        if send.send(Ok(place)).is_ok() {
                            bridge::serve(endpoint, stream, unaccepted).await;
                        }
                    }
                    Err(error) => _ = send.send(Err(error)),
                }
            });
        });
        let late = || Error::Unreachable("none answered in time".to_owned());
        let place = found.recv_timeout(longest).map_err(|_| late())??;
        *lock(&self.last) = Some(place);
        Ok(near)
    }

    /// Takes the lines that the last hub has not taken.
    pub(super) fn take_unaccepted(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut lock(&self.unaccepted))
    }

    /// Returns the token for a hub. It is read for each connection, because it may have been replaced.
    fn token(&self, place: usize) -> Result<Option<Token>, Error> {
        Ok(match self.tokens.get(place).or(self.tokens.first()) {
            None => None,
            Some(TokenPlace::File(path)) => {
                let unreadable = |source| Error::TokenFile { path: path.clone(), source };
                Some(Token(std::fs::read_to_string(path).map_err(unreadable)?.trim().to_owned()))
            }
            Some(TokenPlace::Variable(name)) => {
                let token = env::variable(name).ok_or_else(|| Error::TokenVariable(name.clone()))?;
                Some(Token(token.trim().to_owned()))
            }
        })
    }
}

/// Returns the first hub of the list that answers, with its place.
async fn first_usable(
    server: Server,
    candidates: Vec<(usize, HubAddress, Option<Token>)>,
    toolset: &str,
) -> Result<(usize, Endpoint), Error> {
    let (mut faults, mut all_rejected) = (Vec::new(), true);
    let mut endpoint = Endpoint { server, url: String::new(), token: None };
    for (place, address, token) in candidates {
        endpoint.url = address.endpoint(toolset);
        endpoint.token = token;
        let fault = match probe(&endpoint).await {
            Ok(response) if (200..300).contains(&response.status) => return Ok((place, endpoint)),
            Ok(response) if matches!(response.status, 401 | 403) => {
                faults.push(format!("{address} does not accept the token (status {})", response.status));
                continue;
            }
            Ok(response) => format!("{address} answered with status {}", response.status),
            Err(error) => format!("{address}: {error}"),
        };
        all_rejected = false;
        faults.push(fault);
    }
    let faults = faults.join("; ");
    Err(if all_rejected { Error::Rejected(faults) } else { Error::Unreachable(faults) })
}

/// Sends a request that changes nothing, and that a hub answers only with the right token.
async fn probe(endpoint: &Endpoint) -> Result<Response, http_client::Error> {
    const METHOD: &str = "server/discover";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": PROBE_VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": PROBE_CLIENT, "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {"_meta": meta}});
    let headers = vec![("mcp-protocol-version", PROBE_VERSION.to_owned()), ("mcp-method", METHOD.to_owned())];
    endpoint.send("POST", headers, request.to_string().as_bytes(), PROBE_TIMEOUT).await
}
