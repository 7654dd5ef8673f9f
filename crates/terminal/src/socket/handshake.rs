//! The first lines of a connection, and the client's side of them. It blocks, because the relay has no runtime.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bind::place;
use super::connect::dial;
use super::error::Error;
use adjutant_app::pending_counts::PendingCounts;
use adjutant_app::toolset_switches::PendingChanges;
use adjutant_mcp::AgentSession;

/// The version of the hello. It changes if an older side could not understand it.
pub(super) const HELLO_VERSION: u32 = 1;

/// Maximum bytes of a hello or of its answer.
pub(super) const MAX_HELLO_BYTES: usize = 64 * 1024;

/// Timeout of either side for the other's line.
pub(super) const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// The first line of a client.
#[derive(Debug, Deserialize, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member of the message")]
pub struct Hello {
    /// The client's version.
    pub(super) adjutant: String,
    #[serde(rename = "hello")]
    pub(super) number: u32,
    /// The toolset of a relay; `None` for a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) toolset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ask: Option<Query>,
    /// Whether the connection is for the control API, see [`super::control`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) user: bool,
    /// Whether a script asks a question. Its parent process may be the user's own shell, so it does not count as an agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) script: bool,
    /// Whether `adjutant doctor` tries a relay: a script whose calls may end after its input, as an agent's may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) check: bool,
    /// The session of the agent that a relay or a script belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<AgentSession>,
    /// The report of a client's hook, which gets no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hooked: Option<HookReport>,
    /// Whether a client's hook asks to decide a call of a tool, see [`super::permission`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) permission: bool,
    /// The client's own claim. The hub uses the kernel's number.
    #[serde(default)]
    pub(super) pid: u32,
    /// The folder of the `.adjutant` that takes precedence for this client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) workspace: Option<PathBuf>,
}

impl Hello {
    /// The hello of a relay for `toolset`, for a client in `workspace`.
    pub fn relay(toolset: &str, workspace: Option<&Path>, session: AgentSession) -> Self {
        Self {
            toolset: Some(toolset.to_owned()),
            workspace: workspace.map(Path::to_owned),
            session: Some(session),
            ..Self::new()
        }
    }

    /// The hello of a script that uses `toolset` for one call.
    pub fn script(toolset: &str, session: AgentSession) -> Self {
        Self { script: true, ..Self::relay(toolset, None, session) }
    }

    /// The hello of a relay that `adjutant doctor` tries.
    pub fn check(toolset: &str, session: AgentSession) -> Self {
        Self { check: true, ..Self::script(toolset, session) }
    }

    /// The hello of a control API client that works in `workspace`.
    pub(super) fn user(workspace: Option<&Path>) -> Self {
        Self { user: true, workspace: workspace.map(Path::to_owned), ..Self::new() }
    }

    /// Makes the hello of a query.
    pub fn query(query: Query) -> Self {
        Self { ask: Some(query), ..Self::new() }
    }

    /// The hello with the report of a hook.
    pub fn hook_report(report: HookReport) -> Self {
        Self { hooked: Some(report), ..Self::new() }
    }

    /// The hello of a process that changed calendars or notifications in the database.
    pub fn calendar_changed() -> Self {
        Self::query(Query::CalendarChanged)
    }

    /// The hello of a hook that asks to decide a call.
    pub(super) fn permission() -> Self {
        Self { permission: true, ..Self::new() }
    }

    fn new() -> Self {
        Self {
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            number: HELLO_VERSION,
            hooked: None,
            permission: false,
            toolset: None,
            ask: None,
            user: false,
            script: false,
            check: false,
            session: None,
            pid: std::process::id(),
            workspace: None,
        }
    }
}

/// The expansion of a prompt by a hook.
#[derive(Debug, Deserialize, Serialize)]
pub struct HookReport {
    /// The name of the client.
    pub client: String,
    /// In the order of the prompt; the hub records [`MAX_HOOK_COMMANDS`] of them.
    pub commands: Vec<HookCommand>,
}

/// Maximum commands of one report, and maximum characters of each text.
pub(super) const MAX_HOOK_COMMANDS: usize = 16;
pub(super) const MAX_HOOK_CHARS: usize = 200;

/// A prompt command in a prompt.
#[derive(Debug, Deserialize, Serialize)]
pub struct HookCommand {
    pub name: String,
    /// The length of the expansion, or why there is none.
    pub expanded: Result<usize, String>,
}

/// A query instead of a stream.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Query {
    /// The status of the hub and its clients.
    Status,
    /// A one-time link that logs a browser in; the user carries it.
    #[serde(rename = "open")]
    Link,
    /// A one-time link that the client passes to a program that opens a browser.
    Browser,
    /// None: another process changed calendars or notifications, which may be due before the hub reads them again.
    #[serde(rename = "calendar_changed")]
    CalendarChanged,
}

/// The hub's answer to a hello.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct HelloReply {
    /// The hub's version.
    #[serde(default)]
    pub adjutant: String,
    #[serde(default)]
    pub hello: u32,
    #[serde(default)]
    pub pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer to [`Query::Status`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The answer to [`Query::Link`] and [`Query::Browser`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl HelloReply {
    pub(super) fn new() -> Self {
        Self {
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            hello: HELLO_VERSION,
            pid: std::process::id(),
            ..Self::default()
        }
    }
}

/// The status of a hub.
#[derive(Debug, Deserialize, Serialize)]
pub struct Status {
    pub http: Option<SocketAddr>,
    /// The origin under which people reach the hub; `None` without HTTP, or of an older version.
    #[serde(default)]
    pub console: Option<String>,
    /// Why it does not listen for HTTP, though its configuration says so.
    #[serde(default)]
    pub http_fault: Option<String>,
    /// Why the database does not answer.
    #[serde(default)]
    pub database_fault: Option<String>,
    pub socket: Option<PathBuf>,
    pub uptime_seconds: u64,
    pub clients: Vec<ClientStatus>,
    #[serde(default)]
    pub waiting: PendingCounts,
    #[serde(default)]
    pub config: PendingChanges,
    /// Watchers of folders that did not answer and were replaced.
    #[serde(default)]
    pub replaced_watchers: u64,
}

/// One connected client.
#[derive(Debug, Deserialize, Serialize)]
pub struct ClientStatus {
    pub toolset: String,
    pub name: Option<String>,
    pub version: Option<String>,
    pub revision: Option<String>,
    pub pid: Option<u32>,
    pub calls: u64,
    /// Whether it claims to be `adjutant doctor`.
    #[serde(default)]
    pub check: bool,
}

/// A connection after its hello.
#[derive(Debug)]
pub struct Connection {
    /// The stream, maybe with buffered bytes after the answer to the hello.
    pub input: BufReader<UnixStream>,
    pub reply: HelloReply,
}

/// Connects to the hub at `path` and sends `hello`.
pub(super) fn connect(path: &Path, hello: &Hello) -> Result<Connection, Error> {
    let path = place(path);
    let no_hub = |error: io::Error| {
        let reason = match error.kind() {
            ErrorKind::WouldBlock => {
                format!("the program that listens there sent nothing for {} s", HELLO_TIMEOUT.as_secs())
            }
            _ => error.to_string(),
        };
        Error::NoHub { path: path.clone(), reason }
    };
    let mut stream = dial(&path).map_err(no_hub)?;
    stream.set_read_timeout(Some(HELLO_TIMEOUT)).map_err(no_hub)?;
    let mut line = serde_json::to_vec(hello).map_err(|error| no_hub(error.into()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(no_hub)?;
    let mut input = BufReader::with_capacity(MAX_HELLO_BYTES, stream);
    line.clear();
    input.by_ref().take(MAX_HELLO_BYTES as u64).read_until(b'\n', &mut line).map_err(no_hub)?;
    if line.is_empty() {
        return Err(no_hub(io::Error::new(
            ErrorKind::UnexpectedEof,
            "it closed the connection without an answer",
        )));
    }
    let reply: HelloReply = serde_json::from_slice(&line).map_err(|_| {
        no_hub(io::Error::new(ErrorKind::InvalidData, "the program that answers is not a hub"))
    })?;
    let HelloReply { hello, pid, adjutant: version, error, .. } = &reply;
    match error {
        // A hub that rejects a connection before the hello sends no version.
        Some(reason) if *hello == HELLO_VERSION || version.is_empty() => {
            let differs = !version.is_empty() && version != env!("CARGO_PKG_VERSION");
            let other_version = differs.then(|| version.clone());
            return Err(Error::Rejected { reason: reason.clone(), other_version });
        }
        _ if *hello != HELLO_VERSION => {
            return Err(Error::Skew {
                pid: *pid,
                version: version.clone(),
                hub_is_older: *hello < HELLO_VERSION,
            });
        }
        Some(_) | None => {}
    }
    input.get_ref().set_read_timeout(None).map_err(no_hub)?;
    input.get_ref().set_write_timeout(None).map_err(no_hub)?;
    Ok(Connection { input, reply })
}
