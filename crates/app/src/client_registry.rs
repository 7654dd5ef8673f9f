//! Registry of connected clients: one row per stdio or socket connection and per HTTP session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use super::activity_log::{ActivityKind, ActivityLog};
use adjutant_base::events::{Event, Events};
use adjutant_base::mutex::lock;

/// Characters kept of what a client calls itself.
const MAX_NAME_CHARS: usize = 80;

/// The name of `adjutant doctor` where it tries the interfaces. It hides no client, although any client may give it: a
/// check is listed as a check, but is not counted as a client and not recorded as activity.
pub const CHECK: &str = "adjutant doctor";

/// The label of a client that calls without a session and without a name.
pub const UNNAMED: &str = "no name given";

/// The transport of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionKind {
    Stdio,
    Socket,
    /// A script's one call over the socket; once the script has ended, nothing reads the answer.
    Script,
    /// Requests without a session, grouped by the client's name.
    Http,
    HttpSession,
}

/// One connected client, as the console shows it.
#[derive(Clone, Debug)]
pub struct Client {
    pub id: u64,
    pub kind: ConnectionKind,
    /// The toolset that it asked for, or `all`.
    pub server: &'static str,
    /// The name that the client gives; it is shown and never trusted.
    pub name: Option<String>,
    pub version: Option<String>,
    /// The protocol revision it speaks, once known.
    pub revision: Option<String>,
    pub pid: Option<u32>,
    pub since: SystemTime,
    /// Requests answered so far.
    pub calls: u64,
}

impl Client {
    /// Returns whether it calls itself a check of `adjutant doctor`.
    pub fn is_check(&self) -> bool {
        self.name.as_deref() == Some(CHECK)
    }
}

/// A client's row; the count that changes with every request is outside the lock.
#[derive(Debug)]
struct Row {
    client: Client,
    calls: Arc<AtomicU64>,
}

type Rows = Arc<Mutex<BTreeMap<u64, Row>>>;

/// The registry.
#[derive(Debug)]
pub struct ClientRegistry {
    next: AtomicU64,
    rows: Rows,
    events: Events,
    activity: Arc<ActivityLog>,
}

impl ClientRegistry {
    /// Each connection and its end is published to `events`; those of identified clients are recorded in `activity`.
    pub fn new(events: Events, activity: Arc<ActivityLog>) -> Self {
        Self { next: AtomicU64::new(1), rows: Rows::default(), events, activity }
    }

    /// Enters a client; it is taken out again when the returned guard is dropped.
    pub fn register(&self, kind: ConnectionKind, server: &'static str, pid: Option<u32>) -> ClientHandle {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now();
        let client =
            Client { id, kind, server, name: None, version: None, revision: None, pid, since, calls: 0 };
        let calls = Arc::new(AtomicU64::new(0));
        let row = Row { client, calls: calls.clone() };
        lock(&self.rows).insert(id, row);
        self.events.send(Event::ClientConnected);
        ClientHandle {
            id,
            kind,
            pid,
            label: OnceLock::new(),
            calls,
            up_to_date: Mutex::default(),
            rows: self.rows.clone(),
            events: self.events.clone(),
            activity: self.activity.clone(),
        }
    }

    /// Returns all rows, oldest first.
    pub fn all(&self) -> Vec<Client> {
        let rows = lock(&self.rows);
        rows.values()
            .map(|row| Client { calls: row.calls.load(Ordering::Relaxed), ..row.client.clone() })
            .collect()
    }
}

/// A client's presence: lives as long as its connection.
#[derive(Debug)]
pub struct ClientHandle {
    pub id: u64,
    pub kind: ConnectionKind,
    /// The process at the other end, where the transport reports it.
    pub pid: Option<u32>,
    /// The client's name, once it has said who it is.
    label: OnceLock<String>,
    calls: Arc<AtomicU64>,
    /// The last caller for which nothing waited, and the write generation of the store then. Several callers may share
    /// one connection.
    up_to_date: Mutex<Option<(String, u64)>>,
    rows: Rows,
    events: Events,
    activity: Arc<ActivityLog>,
}

impl ClientHandle {
    /// Notes that nothing waited for the caller `key` when the write generation of the store was `written`.
    pub fn mark_up_to_date(&self, key: String, written: u64) {
        *lock(&self.up_to_date) = Some((key, written));
    }

    /// Returns whether nothing waited for the caller `key` when the write generation of the store was `written`.
    pub fn is_up_to_date(&self, key: &str, written: u64) -> bool {
        let up_to_date = lock(&self.up_to_date);
        up_to_date.as_ref().is_some_and(|(caller, at)| caller == key && *at == written)
    }

    /// Notes what the client says of itself and which revision it speaks. The first name stays in what is logged.
    pub fn identify(&self, name: &str, version: &str, revision: &str) {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        if let Some(row) = lock(&self.rows).get_mut(&self.id) {
            row.client.name = Some(name.clone());
            row.client.version = Some(version.chars().take(MAX_NAME_CHARS).collect());
            row.client.revision = Some(revision.to_owned());
        }
        if self.label.set(name).is_ok() && self.name() != CHECK {
            self.activity.record(self.label(), ActivityKind::Connected);
        }
        self.events.send(Event::ClientIdentified);
    }

    /// Returns whether the client has said who it is.
    pub fn is_identified(&self) -> bool {
        self.label.get().is_some()
    }

    /// Counts one request.
    pub fn count_request(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns what the client calls itself; empty while it has not.
    pub fn name(&self) -> &str {
        self.label.get().map_or("", String::as_str)
    }

    /// Returns whether the client has given a name.
    pub fn has_name(&self) -> bool {
        !matches!(self.name(), "" | UNNAMED)
    }

    /// Returns the name to show for this client.
    pub fn label(&self) -> &str {
        self.label.get().map_or("a client without a name", String::as_str)
    }
}

impl Drop for ClientHandle {
    fn drop(&mut self) {
        lock(&self.rows).remove(&self.id);
        if self.is_identified() && self.name() != CHECK {
            self.activity.record(self.label(), ActivityKind::Disconnected);
        }
        self.events.send(Event::ClientLeft);
    }
}
