//! Who asks: the key of ownership and of fairness, from the connection and never from an argument.

use std::net::SocketAddr;
use std::sync::OnceLock;

use super::task::TaskId;

/// A client, as the door it came through knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    /// What ownership is decided by: the same for the same client after a reconnect. For a socket or stdio client its
    /// name and workspace, over HTTP its name and what it adds to the address to be told from others of that name; within
    /// a task also the task. Not empty.
    pub(crate) key: String,
    /// What the client calls itself, for people.
    pub(crate) label: String,
    pub(crate) origin: Origin,
}

/// A TCP connection, as this process has it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Who holds the other end, once that was looked up: it stays the same one.
    origin: OnceLock<Origin>,
}

impl Link {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self { local, remote, origin: OnceLock::new() }
    }

    /// Returns who holds the other end; `look` finds it out, through the table of processes.
    pub(super) fn origin(&self, look: impl FnOnce() -> Origin) -> Origin {
        if let Some(known) = self.origin.get() {
            return known.clone();
        }
        let found = look();
        // One that could not be told yet may be told at the next request.
        if found != Origin::Gone {
            let _ = self.origin.set(found.clone());
        }
        found
    }
}

/// Whether a client is itself the agent of a task, as the table of processes says, or one of its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A client of its own, or one that no process is known of.
    #[default]
    Outside,
    /// It runs below the supervisor of this task.
    Task(TaskId),
    /// It was gone before anybody could look: what it asks for is not done.
    Gone,
}

/// Whose eyes look at tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// Sees and cancels its own tasks only; anybody else's do not exist for it.
    Caller(Caller),
    /// A person, behind the console or the command line: sees and cancels all.
    Person,
}

impl Viewer {
    /// Tells whether a task of `caller` exists for this viewer.
    pub(crate) fn may_see(&self, caller: &str) -> bool {
        match self {
            Self::Caller(own) => own.key == caller,
            Self::Person => true,
        }
    }
}
