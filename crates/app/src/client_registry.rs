//! Who is connected: one row per stdio or socket connection and per HTTP session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use super::activity::{Activity, What};
use crate::events::{Event, Events};

/// Characters kept of what a client calls itself.
const NAME: usize = 80;

/// What `adjutant doctor` calls itself where it tries the doors. Nobody is hidden by this name, which anybody may
/// give: a check is shown as one and not counted as a client, and its coming and going is no activity.
pub(crate) const CHECK: &str = "adjutant doctor";

/// What is shown for a client that calls without a session and without a name.
pub(crate) const NAMELESS: &str = "no name given";

/// How a client reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Socket,
    /// A script's one call over the socket; nobody comes back for its answer once it has ended.
    Script,
    /// Requests that stand alone, gathered by what their client calls itself.
    Http,
    HttpSession,
}

/// One connected client, as the console shows it.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) transport: Transport,
    /// Which server it asked for: `prompts`, or `all`.
    pub(crate) server: &'static str,
    /// What the client says of itself, shown and never trusted.
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    /// The protocol revision it speaks, once known.
    pub(crate) revision: Option<String>,
    pub(crate) pid: Option<u32>,
    pub(crate) since: SystemTime,
    /// Requests answered so far.
    pub(crate) calls: u64,
}

impl Client {
    /// Whether it is a check of ours, by its own word.
    pub(crate) fn is_check(&self) -> bool {
        self.name.as_deref() == Some(CHECK)
    }
}

/// A client's row; what changes with every request stands outside the lock.
#[derive(Debug)]
struct Row {
    client: Client,
    calls: Arc<AtomicU64>,
}

type Rows = Arc<Mutex<BTreeMap<u64, Row>>>;

/// The registry.
#[derive(Debug)]
pub(crate) struct Clients {
    next: AtomicU64,
    rows: Rows,
    events: Events,
    activity: Arc<Activity>,
}

impl Clients {
    /// Who comes and goes is told to `events`, and noted in `activity` for those who say who they are.
    pub(crate) fn new(events: Events, activity: Arc<Activity>) -> Self {
        Self { next: AtomicU64::new(1), rows: Rows::default(), events, activity }
    }

    /// Enters a client; it is taken out again when the returned guard is dropped.
    pub(crate) fn enter(&self, transport: Transport, server: &'static str, pid: Option<u32>) -> Connected {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now();
        let client =
            Client { id, transport, server, name: None, version: None, revision: None, pid, since, calls: 0 };
        let calls = Arc::new(AtomicU64::new(0));
        let row = Row { client, calls: calls.clone() };
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).insert(id, row);
        self.events.send(Event::ClientConnected);
        Connected {
            id,
            transport,
            pid,
            label: OnceLock::new(),
            calls,
            heard: Mutex::default(),
            rows: self.rows.clone(),
            events: self.events.clone(),
            activity: self.activity.clone(),
        }
    }

    /// Returns all rows, oldest first.
    pub(crate) fn all(&self) -> Vec<Client> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.values()
            .map(|row| Client { calls: row.calls.load(Ordering::Relaxed), ..row.client.clone() })
            .collect()
    }
}

/// A client's presence: lives as long as its connection.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) id: u64,
    pub(crate) transport: Transport,
    /// The process at the other end, where the transport tells.
    pub(crate) pid: Option<u32>,
    /// The client's name, once it has said who it is.
    label: OnceLock<String>,
    calls: Arc<AtomicU64>,
    /// For whom nothing waited last, and the store's number then: several tell themselves apart below one name.
    heard: Mutex<Option<(String, u64)>>,
    rows: Rows,
    events: Events,
    activity: Arc<Activity>,
}

impl Connected {
    /// Notes that nothing waited for the caller `key` when the store's number was `written`.
    pub(crate) fn heard(&self, key: String, written: u64) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, written));
    }

    /// Whether nothing waited for the caller `key` when the store's number was `written`.
    pub(crate) fn has_heard(&self, key: &str, written: u64) -> bool {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.as_ref().is_some_and(|(of, at)| of == key && *at == written)
    }

    /// Notes what the client says of itself and which revision it speaks. The first name stays in what is logged.
    pub(crate) fn identify(&self, name: &str, version: &str, revision: &str) {
        let name: String = name.chars().take(NAME).collect();
        if let Some(row) = self.rows.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&self.id) {
            row.client.name = Some(name.clone());
            row.client.version = Some(version.chars().take(NAME).collect());
            row.client.revision = Some(revision.to_owned());
        }
        if self.label.set(name).is_ok() && self.name() != CHECK {
            self.activity.record(self.label(), What::Connected);
        }
        self.events.send(Event::ClientIdentified);
    }

    /// Whether the client has said who it is.
    pub(crate) fn identified(&self) -> bool {
        self.label.get().is_some()
    }

    /// Counts one request.
    pub(crate) fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns what the client calls itself; empty while it has not.
    pub(crate) fn name(&self) -> &str {
        self.label.get().map_or("", String::as_str)
    }

    /// Tells whether the client has said a name of its own.
    pub(crate) fn says_its_name(&self) -> bool {
        !matches!(self.name(), "" | NAMELESS)
    }

    /// Returns the name to show for this client.
    pub(crate) fn label(&self) -> &str {
        self.label.get().map_or("a client without a name", String::as_str)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        if self.identified() && self.name() != CHECK {
            self.activity.record(self.label(), What::Left);
        }
        self.events.send(Event::ClientLeft);
    }
}
