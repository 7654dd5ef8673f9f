//! The first lines of a connection, and the client's side of them. Blocking: the relay has no runtime.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Error, dial, place};

/// The number of this form of hello. It changes when an older side could not go on.
pub(super) const NUMBER: u32 = 1;

/// Most bytes of a hello or an answer to one.
pub(super) const LONGEST: usize = 64 * 1024;

/// How long either side waits for the other's line.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What a client says first.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Hello {
    /// The client's version.
    pub(super) adjutant: String,
    #[serde(rename = "hello")]
    pub(super) number: u32,
    /// The server it relays, or nothing when it only asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ask: Option<Ask>,
    /// Whether a person asks: what follows are their acts, see [`super::person`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) person: bool,
    /// Whether a script asks the person something. Its starter may be the person's own shell, which is no agent for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) script: bool,
    /// What a client's hook put into a prompt; nothing is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hooked: Option<Hooked>,
    /// What the client says its number is. The hub believes the kernel.
    #[serde(default)]
    pub(super) pid: u32,
    /// The folder whose `.adjutant` comes first for this client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) workspace: Option<PathBuf>,
}

impl Hello {
    /// The hello of a relay for `server`, for a client in `workspace`.
    pub(crate) fn relay(server: &str, workspace: Option<&Path>) -> Self {
        Self { server: Some(server.to_owned()), workspace: workspace.map(Path::to_owned), ..Self::new() }
    }

    /// The hello of a script that uses `server` for one call.
    pub(crate) fn script(server: &str) -> Self {
        Self { script: true, ..Self::relay(server, None) }
    }

    /// The hello of a person's program that works in `workspace`.
    pub(super) fn person(workspace: Option<&Path>) -> Self {
        Self { person: true, workspace: workspace.map(Path::to_owned), ..Self::new() }
    }

    /// The hello that asks one question.
    pub(super) fn ask(question: Ask) -> Self {
        Self { ask: Some(question), ..Self::new() }
    }

    /// The hello that tells what a hook did.
    pub(crate) fn hooked(hooked: Hooked) -> Self {
        Self { hooked: Some(hooked), ..Self::new() }
    }

    fn new() -> Self {
        Self {
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            number: NUMBER,
            hooked: None,
            server: None,
            ask: None,
            person: false,
            script: false,
            pid: std::process::id(),
            workspace: None,
        }
    }
}

/// What a hook did with a prompt.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Hooked {
    /// What the client is called, as a person reads it.
    pub(crate) client: String,
    /// In the order of the prompt; the hub looks at [`HOOKED`] of them.
    pub(crate) commands: Vec<HookedCommand>,
}

/// Commands of one prompt that are told; and characters of each text that are kept.
pub(super) const HOOKED: usize = 16;
pub(super) const HOOKED_TEXT: usize = 200;

/// A prompt command in a prompt.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct HookedCommand {
    pub(crate) name: String,
    /// The length of what it was expanded to; else why it was not.
    pub(crate) expanded: Result<usize, String>,
}

/// A question instead of a stream.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ask {
    /// Who are you, and who is connected?
    Status,
    /// A one-time link that logs a browser in.
    Open,
}

/// What the hub says to a hello.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Welcome {
    /// The hub's version.
    #[serde(default)]
    pub(crate) adjutant: String,
    #[serde(default)]
    pub(crate) hello: u32,
    #[serde(default)]
    pub(crate) pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The answer to [`Ask::Status`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    /// The answer to [`Ask::Open`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
}

impl Welcome {
    pub(super) fn new() -> Self {
        Self {
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            hello: NUMBER,
            pid: std::process::id(),
            ..Self::default()
        }
    }
}

/// What a hub says of itself.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Status {
    pub(crate) http: Option<SocketAddr>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) uptime_seconds: u64,
    pub(crate) clients: Vec<ClientStatus>,
    #[serde(default)]
    pub(crate) waiting: WaitingStatus,
    #[serde(default)]
    pub(crate) config: ConfigStatus,
}

/// How much waits for the person.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct WaitingStatus {
    /// Approvals among them.
    pub(crate) questions: u64,
    pub(crate) approvals: u64,
    /// Notifications of the last week that somebody has not got and nobody settled.
    pub(crate) failed_notifications: u64,
}

/// How `config.toml` differs from what the hub was started with.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct ConfigStatus {
    /// Settings that count from the next start on.
    pub(crate) waiting_for_restart: Vec<String>,
    /// Why the file cannot be read any more.
    pub(crate) fault: Option<String>,
}

/// One connected client.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ClientStatus {
    pub(crate) server: String,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) revision: Option<String>,
    pub(crate) pid: Option<u32>,
    pub(crate) calls: u64,
    /// Whether it is `adjutant doctor`, by its own word.
    #[serde(default)]
    pub(crate) check: bool,
}

/// A connection behind its hello.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The stream, with what the hub may already have sent behind its welcome.
    pub(crate) input: BufReader<UnixStream>,
    pub(crate) welcome: Welcome,
}

/// Connects to the hub at `path` and says `hello`.
pub(super) fn connect(path: &Path, hello: &Hello) -> Result<Connection, Error> {
    let path = place(path);
    let no_hub = |error: io::Error| {
        let reason = match error.kind() {
            ErrorKind::WouldBlock => {
                format!("what listens there said nothing for {} s", PATIENCE.as_secs())
            }
            _ => error.to_string(),
        };
        Error::NoHub { path: path.clone(), reason }
    };
    let mut stream = dial(&path).map_err(no_hub)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(no_hub)?;
    let mut line = serde_json::to_vec(hello).map_err(|error| no_hub(error.into()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(no_hub)?;
    let mut input = BufReader::with_capacity(LONGEST, stream);
    line.clear();
    input.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line).map_err(no_hub)?;
    if line.is_empty() {
        return Err(no_hub(io::Error::new(ErrorKind::UnexpectedEof, "it hung up without a word")));
    }
    let welcome: Welcome = serde_json::from_slice(&line)
        .map_err(|_| no_hub(io::Error::new(ErrorKind::InvalidData, "what answers is not a hub")))?;
    let Welcome { hello, pid, adjutant: version, error, .. } = &welcome;
    match error {
        // One that says nothing of itself refuses before any hello.
        Some(reason) if *hello == NUMBER || version.is_empty() => {
            let differs = !version.is_empty() && version != env!("CARGO_PKG_VERSION");
            let other_version = differs.then(|| version.clone());
            return Err(Error::Refused { reason: reason.clone(), other_version });
        }
        _ if *hello != NUMBER => {
            return Err(Error::Skew { pid: *pid, version: version.clone(), hub_is_older: *hello < NUMBER });
        }
        Some(_) | None => {}
    }
    input.get_ref().set_read_timeout(None).map_err(no_hub)?;
    input.get_ref().set_write_timeout(None).map_err(no_hub)?;
    Ok(Connection { input, welcome })
}
