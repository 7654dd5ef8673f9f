//! The processes of agents: those that started a connected client, and the ones around them.
//!
//! The kernel shows a process that an agent starts below the agent, as long as the process does not leave its parents.
//! So this list can refuse agents, but it cannot recognize the user: that takes a proof.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use adjutant_agents::TcpConnection;
use adjutant_base::config::{Auth, Config};
use adjutant_base::mutex::lock;
use adjutant_host::process::{self, Ancestor};

/// Clients over HTTP that keep their processes here; the oldest are forgotten first.
const MAX_HTTP_CLIENTS: usize = 512;

/// The header by which `adjutant doctor` says that it only checks the endpoint.
pub const CHECK_HEADER: &str = "adjutant-check";

/// Clients of the socket that have left and are kept for a while; the oldest are forgotten first.
const MAX_LEFT_CLIENTS: usize = 512;

/// The processes of the clients.
#[derive(Debug)]
pub struct AgentProcesses {
    /// Whether only the process that started a relay counts as the agent. Without authentication the console takes an
    /// answer from any process, so it would help nothing to refuse the processes around the relay.
    starters_only: bool,
    /// Of clients of the socket, by the number of the connection.
    connected: Mutex<(u64, BTreeMap<u64, SocketClient>)>,
    /// How long the questions of a client outlive its connection.
    grace: Duration,
    over_http: Mutex<OverHttp>,
    /// Connections over HTTP whose client process has not been looked up yet.
    unknown: Mutex<Vec<UnknownClient>>,
}

/// The clients over HTTP.
#[derive(Debug, Default)]
struct OverHttp {
    clients: Vec<HttpClient>,
    unseen: Vec<UnseenClient>,
}

/// A client over HTTP with a process that the hub has seen.
#[derive(Debug)]
struct HttpClient {
    client: AgentClient,
    /// For each connection whether a question was asked over it, shared with the connection while that is open. The agent
    /// that started the process may outlive it.
    has_asked: Vec<Arc<AtomicBool>>,
}

/// A client over HTTP whose process has not been looked up yet.
#[derive(Debug)]
struct UnknownClient {
    connection: Arc<TcpConnection>,
    /// Whether its first request has the [`CHECK_HEADER`].
    is_check: bool,
}

/// A client over HTTP that hides its process, or whose process has ended.
#[derive(Debug)]
struct UnseenClient {
    connection: Weak<TcpConnection>,
    since: Instant,
    /// Since when the connection is closed.
    left: Option<Instant>,
}

/// The processes of one client.
#[derive(Clone, Debug)]
pub struct AgentClient {
    /// The process that connected, or that started what connected, and then those above it that belong to the same
    /// program as far as the kernel shows. Empty when the client has left its parents, or hides its process: then its
    /// agent may be anywhere.
    pub processes: Vec<Ancestor>,
    /// When the client connected.
    pub since: Instant,
    /// Whether it is one call of `adjutant ask` or a check of `adjutant doctor`, which the user's own shell may have started.
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

/// The entry of a client. Dropping it removes the client; a client that has asked is removed after the grace period.
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
        let started = above.first().filter(|parent| !adopts_orphans(parent));
        let processes = started.map(|_| self.program(above)).unwrap_or_default();
        self.insert(AgentClient { processes, since: Instant::now(), is_script: false }, pid)
    }

    /// Registers the process `pid`, which calls itself a script. One that is not this program may be anything, so it
    /// counts as an agent.
    pub fn register_script(self: &Arc<Self>, pid: u32) -> AgentEntry {
        let line = process::ancestry(pid).unwrap_or_default();
        let is_script = process::is_this_program(pid);
        let processes = if is_script { line.into_iter().take(1).collect() } else { self.program(&line) };
        self.insert(AgentClient { processes, since: Instant::now(), is_script }, pid)
    }

    /// Notes that the client of the socket that runs as `pid` asks a question.
    pub fn note_question(&self, pid: Option<u32>) {
        for entry in lock(&self.connected).1.values_mut() {
            entry.has_asked |= Some(entry.pid) == pid && entry.left.is_none();
        }
    }

    /// Notes a client over HTTP at the first request of a connection, and looks its process up before the response, after
    /// which it may end. `is_check`: the request has the [`CHECK_HEADER`]. A process that is not this program and sends the
    /// header counts as an agent all the same.
    pub async fn note_connection(self: &Arc<Self>, connection: &Arc<TcpConnection>, is_check: bool) {
        if self.starters_only || !connection.is_first_request() {
            return;
        }
        lock(&self.unknown).push(UnknownClient { connection: connection.clone(), is_check });
        // The tables of sockets and of processes are read, which the event loop has no time for: once for all that are
        // unknown by then.
        let processes = self.clone();
        let found = tokio::task::spawn_blocking(move || drop(processes.over_http())).await;
        if let Err(error) = found {
            tracing::warn!(%error, "the process of a client over HTTP could not be looked up");
        }
    }

    /// Returns the clients of the socket that are connected, or that asked and left within the grace period, and those
    /// over HTTP of which a process lives; also one without processes, if a process over HTTP cannot be seen. Blocks on
    /// the table of processes.
    pub fn clients(&self) -> Vec<AgentClient> {
        let mut clients: Vec<AgentClient> = {
            let http = self.over_http();
            let since = http.unseen.iter().map(|client| client.since).max();
            let unseen = since.map(|since| AgentClient { processes: Vec::new(), since, is_script: false });
            http.clients.iter().map(|http| http.client.clone()).chain(unseen).collect()
        };
        let mut connected = lock(&self.connected);
        connected.1.retain(|_, entry| {
            let Some(left) = entry.left else { return true };
            // One that had left its parents may be anywhere.
            let was_anywhere = entry.client.processes.is_empty();
            entry.client.processes.retain(process::is_running);
            left.elapsed() < self.grace && (was_anywhere || !entry.client.processes.is_empty())
        });
        clients.extend(connected.1.values().map(|entry| entry.client.clone()));
        clients
    }

    fn over_http(&self) -> MutexGuard<'_, OverHttp> {
        // Held while the unknown ones are looked up, so that nobody sees a list without them.
        let mut http = lock(&self.over_http);
        let now = Instant::now();
        let OverHttp { clients, unseen } = &mut *http;
        clients.retain_mut(|http| {
            http.client.processes.retain(process::is_running);
            // A request on an open connection may still ask.
            http.has_asked.retain_mut(|asked| Arc::get_mut(asked).is_none_or(|asked| *asked.get_mut()));
            if !http.client.processes.is_empty() {
                return true;
            }
            let has_asked = http.has_asked.iter().any(|asked| asked.load(Ordering::Relaxed));
            if has_asked {
                unseen.push(UnseenClient { connection: Weak::new(), since: now, left: None });
            }
            // While one of its connections is open, it may still ask, so it counts as a client without processes.
            !has_asked && !http.has_asked.is_empty()
        });
        let unknown = std::mem::take(&mut *lock(&self.unknown));
        if !unknown.is_empty() {
            let ends: Vec<_> =
                unknown.iter().map(|one| (one.connection.local, one.connection.remote)).collect();
            let found = process::peers(&ends);
            unseen.extend(found.unseen.iter().map(|at| UnseenClient {
                connection: Arc::downgrade(&unknown[*at].connection),
                since: now,
                left: None,
            }));
            for (pid, at) in found.processes {
                let UnknownClient { connection, is_check } = &unknown[at];
                let line = process::ancestry(pid).unwrap_or_default();
                let is_script = *is_check && process::is_this_program(pid);
                let processes =
                    if is_script { line.into_iter().take(1).collect() } else { self.program(&line) };
                let asked = connection.has_asked().clone();
                if processes.is_empty() {
                    // It has ended since.
                    unseen.push(UnseenClient {
                        connection: Arc::downgrade(connection),
                        since: now,
                        left: None,
                    });
                } else if let Some(http) = clients.iter_mut().find(|http| http.client.processes == processes)
                {
                    http.has_asked.push(asked);
                } else {
                    let client = AgentClient { processes, since: now, is_script };
                    clients.push(HttpClient { client, has_asked: vec![asked] });
                }
            }
        }
        unseen.retain_mut(|client| {
            if client.connection.strong_count() == 0 {
                client.left.get_or_insert(now);
            }
            client.left.is_none_or(|left| left.elapsed() < self.grace)
        });
        clients.drain(..clients.len().saturating_sub(MAX_HTTP_CLIENTS));
        unseen.drain(..unseen.len().saturating_sub(MAX_HTTP_CLIENTS));
        http
    }

    /// Returns the first process of `line`, and those above it below the first process of their session, which is the
    /// shell of a terminal, or what started a desktop. A session without a terminal is a part of the program in a terminal
    /// that started it.
    fn program(&self, line: &[Ancestor]) -> Vec<Ancestor> {
        let Some(first) = line.first() else { return Vec::new() };
        let mut processes = vec![*first];
        for (below, process) in line.iter().zip(&line[1..]) {
            // A shell puts what it starts into a group of its own. A program that a terminal was opened for does not.
            let is_shell = process.leads_session() && below.group != process.group;
            let is_detached = below.terminal == 0 && process.terminal != 0;
            let ends = self.starters_only || (below.leads_session() && !is_detached) || is_shell;
            if ends || process.pid <= 1 || process.starts_logins(first) {
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
    /// Removes the entry before it is dropped, or keeps it for the grace period if its client has asked.
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

/// Whether a process takes in those that lost their parents: the first one, or a daemon below it.
fn adopts_orphans(process: &Ancestor) -> bool {
    process.pid <= 1 || (process.parent == 1 && is_daemon(process))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    fn processes() -> AgentProcesses {
        AgentProcesses {
            starters_only: false,
            connected: Mutex::default(),
            grace: Duration::from_mins(10),
            over_http: Mutex::default(),
            unknown: Mutex::default(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a client of the test")]
    fn run(program: &str, arguments: &[&str]) {
        assert!(Command::new(program).args(arguments).status().unwrap().success());
    }

    /// Returns the connection of a client that has left its parents, and ends the client after the hub has seen it.
    fn killed_after_its_lookup(processes: &AgentProcesses) -> Arc<TcpConnection> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        run("setsid", &["-f", "curl", "-s", "-o", "/dev/null", &format!("http://{local}/")]);
        let (_stream, remote) = listener.accept().unwrap();
        let connection = Arc::new(TcpConnection::new(local, remote));
        lock(&processes.unknown).push(UnknownClient { connection: connection.clone(), is_check: false });
        let client = processes.clients().remove(0).processes[0];
        run("kill", &["-9", &client.pid.to_string()]);
        while process::is_running(&client) {
            std::thread::yield_now();
        }
        connection
    }

    fn unseen(processes: &AgentProcesses) -> usize {
        let clients = processes.clients();
        assert!(clients.iter().all(|client| client.processes.is_empty()), "{clients:?}");
        clients.len()
    }

    #[test]
    fn a_client_that_is_killed_before_its_request_asks_may_be_anywhere() {
        let processes = processes();
        let connection = killed_after_its_lookup(&processes);
        // Another act of the user looks the clients up between the end of the process and the question.
        assert_eq!(unseen(&processes), 1);
        connection.has_asked().store(true, Ordering::Relaxed);
        drop(connection);
        assert_eq!(unseen(&processes), 1);

        let connection = killed_after_its_lookup(&processes);
        drop(connection);
        assert_eq!(unseen(&processes), 1, "a client that never asked is forgotten");
    }
}
