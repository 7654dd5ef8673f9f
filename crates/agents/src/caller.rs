//! Caller of a task: the key of ownership and of fairness, from the connection and never from an argument.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::task::TaskId;

/// A client, as its interface knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The key of ownership; the same client has the same key after a reconnect. For a socket or stdio client it is the
    /// name and the workspace, over HTTP the name and the parameter `client` of the address; within a task also the
    /// task. Not empty.
    pub key: String,
    /// The name that the client gives itself, for display.
    pub label: String,
    pub origin: Origin,
}

/// A TCP connection, as this process sees it.
#[derive(Debug)]
pub struct TcpConnection {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// The origin of the other end, after the first lookup; it stays the same.
    origin: OnceLock<Origin>,
    used: AtomicBool,
    has_asked: Arc<AtomicBool>,
}

impl TcpConnection {
    /// Names a connection by both of its ends, as the hub sees them.
    pub fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            local,
            remote,
            origin: OnceLock::new(),
            used: AtomicBool::new(false),
            has_asked: Arc::default(),
        }
    }

    /// Returns the flag that says whether a question was asked over the connection.
    pub fn has_asked(&self) -> &Arc<AtomicBool> {
        &self.has_asked
    }

    /// Whether this is the first call, at the first request of a client over the connection.
    pub fn is_first_request(&self) -> bool {
        !self.used.swap(true, Ordering::Relaxed)
    }

    /// Returns the origin of the other end; `find` finds it in the table of processes.
    pub(crate) fn origin(&self, find: impl FnOnce() -> Origin) -> Origin {
        if let Some(known) = self.origin.get() {
            return known.clone();
        }
        let origin = find();
        // A process that was not found may be found at the next request.
        if origin != Origin::Exited {
            let _ = self.origin.set(origin.clone());
        }
        origin
    }
}

/// The place of a client in the table of processes: below a task, or outside of all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It runs outside of all tasks, or its process is unknown.
    #[default]
    Outside,
    /// It runs below the supervisor of this task.
    Task(TaskId),
    /// Its process had exited before the lookup, so its requests are rejected.
    Exited,
}

/// The viewer of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// Sees and cancels its own tasks only; the tasks of others do not exist for it.
    Caller(Caller),
    /// The user, in the console or on the command line: sees and cancels all tasks.
    User,
}

impl Viewer {
    /// Returns whether a task of `caller` exists for this viewer.
    pub(crate) fn may_see(&self, caller: &str) -> bool {
        match self {
            Self::Caller(own) => own.key == caller,
            Self::User => true,
        }
    }
}
