//! Who is connected: one row per stdio or socket connection and per HTTP session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::events::{Event, Events};

/// How a client reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Socket,
    Http,
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

/// The registry.
#[derive(Debug)]
pub(crate) struct Clients {
    next: AtomicU64,
    rows: Arc<Mutex<BTreeMap<u64, Client>>>,
    events: Events,
}

impl Clients {
    pub(crate) fn new(events: Events) -> Self {
        Self { next: AtomicU64::new(1), rows: Arc::default(), events }
    }

    /// Enters a client; it is taken out again when the returned guard is dropped.
    pub(crate) fn enter(&self, transport: Transport, server: &'static str, pid: Option<u32>) -> Connected {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let client = Client {
            id,
            transport,
            server,
            name: None,
            version: None,
            revision: None,
            pid,
            since: SystemTime::now(),
            calls: 0,
        };
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).insert(id, client);
        self.events.send(Event::ClientConnected { client: id });
        Connected { id, rows: self.rows.clone(), events: self.events.clone() }
    }

    /// Returns all rows, oldest first.
    pub(crate) fn all(&self) -> Vec<Client> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// A client's presence: lives as long as its connection.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) id: u64,
    rows: Arc<Mutex<BTreeMap<u64, Client>>>,
    events: Events,
}

impl Connected {
    /// Notes what the client says of itself and which revision it speaks.
    pub(crate) fn identify(&self, name: &str, version: &str, revision: &str) {
        let known = self.update(|client| {
            let known = client.name.as_deref() == Some(name) && client.revision.as_deref() == Some(revision);
            if !known {
                client.name = Some(name.to_owned());
                client.version = Some(version.to_owned());
                client.revision = Some(revision.to_owned());
            }
            known
        });
        if known == Some(false) {
            self.events.send(Event::ClientIdentified { client: self.id });
        }
    }

    /// Counts one request.
    pub(crate) fn count(&self) {
        self.update(|client| client.calls += 1);
    }

    /// Returns the name to show for this client.
    pub(crate) fn label(&self) -> String {
        self.update(|client| client.name.clone()).flatten().unwrap_or_else(|| format!("client {}", self.id))
    }

    fn update<T>(&self, change: impl FnOnce(&mut Client) -> T) -> Option<T> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&self.id).map(change)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.events.send(Event::ClientLeft { client: self.id });
    }
}
