//! The processes of agents: those that started a connected client, and the ones around them.
//!
//! What an agent starts, the kernel shows below the agent, as long as it does not leave its parents. So this list refuses
//! agents, and is not enough to recognize the user: that takes a proof.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use adjutant_agents::TcpConnection;
use adjutant_base::config::{Auth, Config};
use adjutant_base::mutex::lock;
use adjutant_host::process::{self, Ancestor};

/// Clients over HTTP whose processes are remembered; the oldest are forgotten first.
const MAX_HTTP_CLIENTS: usize = 512;

/// Clients of the socket that have left and are kept for a while; the oldest are forgotten first.
const MAX_LEFT_CLIENTS: usize = 512;

/// The processes of the clients.
#[derive(Debug)]
pub struct AgentProcesses {
    /// Whether only the process that started a relay counts. Without authentication the console asks nobody who
    /// answers, so the processes around it would be refused in vain.
    starters_only: bool,
    /// Of clients of the socket, by the number of the connection.
    connected: Mutex<(u64, BTreeMap<u64, SocketClient>)>,
    /// How long the questions of a client outlive its connection.
    grace: Duration,
    over_http: Mutex<Vec<AgentClient>>,
    /// Connections over HTTP whose other end nobody has looked up, as the hub sees their ends.
    unknown: Mutex<Vec<(SocketAddr, SocketAddr)>>,
}

/// The processes of one client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentClient {
    /// The process that connected, or that started what connected, and then those above it that belong to the same
    /// program as far as the kernel shows. Empty when the client has left its parents: then its agent may be anywhere.
    pub processes: Vec<Ancestor>,
    /// Whether it is one call of `adjutant ask`, which the user's own shell may have started.
    pub is_script: bool,
}

/// A client of the socket.
#[derive(Debug)]
struct SocketClient {
    client: AgentClient,
    pid: u32,
    has_asked: bool,
    /// Since when it is disconnected. A client that has asked is kept while its questions live, or it would disconnect
    /// and answer them.
    left: Option<Instant>,
}

/// The entry of a client; dropping it removes the entry, but that of a client that has asked after a while.
#[derive(Debug)]
pub struct AgentEntry {
    processes: Arc<AgentProcesses>,
    number: u64,
}

impl AgentProcesses {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            starters_only: config.http.auth == Auth::None,
            connected: Mutex::default(),
            grace: config.questions.disconnect_grace,
            over_http: Mutex::default(),
            unknown: Mutex::default(),
        }
    }

    /// Registers the relay that runs as `pid`. Call it when it connects, because its parent may end later.
    pub fn register_relay(self: &Arc<Self>, pid: u32) -> AgentEntry {
        let line = process::ancestry(pid).unwrap_or_default();
        let above = line.get(1..).unwrap_or_default();
        // What adopts orphans is the first process, or a daemon below it.
        let started =
            above.first().filter(|parent| parent.pid > 1 && !(parent.parent == 1 && is_daemon(parent)));
        let processes = started.map(|_| self.program(above)).unwrap_or_default();
        self.insert(AgentClient { processes, is_script: false }, pid)
    }

    /// Registers the process `pid`, which calls itself a script. One that is not this program may be anything, so it
    /// counts as an agent.
    pub fn register_script(self: &Arc<Self>, pid: u32) -> AgentEntry {
        let line = process::ancestry(pid).unwrap_or_default();
        let is_script = process::is_this_program(pid);
        let processes = if is_script { line.into_iter().take(1).collect() } else { self.program(&line) };
        self.insert(AgentClient { processes, is_script }, pid)
    }

    /// Notes that the client of the socket that runs as `pid` asks a question.
    pub fn note_question(&self, pid: Option<u32>) {
        for entry in lock(&self.connected).1.values_mut() {
            entry.has_asked |= Some(entry.pid) == pid && entry.left.is_none();
        }
    }

    /// Notes a client over HTTP at its first request. Its process is known before anybody acts for the user.
    pub fn note_connection(self: &Arc<Self>, connection: &TcpConnection) {
        if self.starters_only || !connection.is_first_request() {
            return;
        }
        let mut unknown = lock(&self.unknown);
        unknown.push((connection.local, connection.remote));
        // The tables of sockets and of processes are read, which the event loop has no time for: once for all that are
        // unknown by then.
        if unknown.len() == 1 {
            let processes = self.clone();
            tokio::task::spawn_blocking(move || drop(processes.over_http()));
        }
    }

    /// Returns the clients of the socket that are connected or have asked a while ago, and those over HTTP of which a
    /// process lives. Blocks on the table of processes.
    pub fn clients(&self) -> Vec<AgentClient> {
        let mut clients = self.over_http().clone();
        let mut connected = lock(&self.connected);
        connected.1.retain(|_, entry| {
            let Some(left) = entry.left else { return true };
            // One that had left its parents may be anywhere.
            let was_anywhere = entry.client.processes.is_empty();
            entry.client.processes.retain(lives);
            left.elapsed() < self.grace && (was_anywhere || !entry.client.processes.is_empty())
        });
        clients.extend(connected.1.values().map(|entry| entry.client.clone()));
        clients
    }

    fn over_http(&self) -> MutexGuard<'_, Vec<AgentClient>> {
        // Held while the unknown ones are looked up, so that nobody sees a list without them.
        let mut clients = lock(&self.over_http);
        for client in clients.iter_mut() {
            client.processes.retain(lives);
        }
        clients.retain(|client| !client.processes.is_empty());
        let unknown = std::mem::take(&mut *lock(&self.unknown));
        let holders = if unknown.is_empty() { Vec::new() } else { process::peers(&unknown) };
        for pid in holders {
            let line = process::ancestry(pid).unwrap_or_default();
            let client = AgentClient { processes: self.program(&line), is_script: false };
            if !client.processes.is_empty() && !clients.contains(&client) {
                clients.push(client);
            }
        }
        let over = clients.len().saturating_sub(MAX_HTTP_CLIENTS);
        clients.drain(..over);
        clients
    }

    /// Returns the first process of `line`, and those above it below the first process of their session, which is the
    /// shell of a terminal, or what started a desktop.
    fn program(&self, line: &[Ancestor]) -> Vec<Ancestor> {
        let Some(first) = line.first() else { return Vec::new() };
        let mut processes = vec![*first];
        for (below, process) in line.iter().zip(&line[1..]) {
            // A shell puts what it starts into a group of its own. A program that a terminal was opened for does not.
            let is_shell = process.leads_session() && below.group != process.group;
            let ends = self.starters_only || below.leads_session() || is_shell;
            if ends || process.pid <= 1 || process.user != first.user {
                break;
            }
            processes.push(*process);
        }
        processes
    }

    fn insert(self: &Arc<Self>, client: AgentClient, pid: u32) -> AgentEntry {
        let mut connected = lock(&self.connected);
        connected.0 += 1;
        let number = connected.0;
        connected.1.insert(number, SocketClient { client, pid, has_asked: false, left: None });
        AgentEntry { processes: self.clone(), number }
    }
}

impl AgentEntry {
    /// Removes the entry before it is dropped, or keeps it for a while.
    pub fn leave(&self) {
        let mut connected = lock(&self.processes.connected);
        let Some(entry) = connected.1.get_mut(&self.number) else { return };
        if entry.has_asked && !entry.client.is_script {
            entry.left.get_or_insert_with(Instant::now);
        } else {
            connected.1.remove(&self.number);
        }
        let mut kept: Vec<_> = connected.1.iter().filter(|(_, entry)| entry.left.is_some()).collect();
        let over = kept.len().saturating_sub(MAX_LEFT_CLIENTS);
        let numbers: Vec<u64> = kept.drain(..over).map(|(number, _)| *number).collect();
        connected.1.retain(|number, _| !numbers.contains(number));
    }
}

impl Drop for AgentEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Whether a process serves others and has no terminal, so that anybody may have asked it for what it starts.
pub fn is_daemon(process: &Ancestor) -> bool {
    process.leads_session() && process.terminal == 0
}

fn lives(process: &Ancestor) -> bool {
    process::ancestor(process.pid).is_some_and(|now| now.started == process.started)
}
