//! The process that acts: whether an agent is above it, and whether a browser may log in.

use adjutant_agents::{Origin, TcpConnection};
use adjutant_host::process::{self, Ancestor};

use super::App;
use super::agent_processes::AgentClient;

impl App {
    /// Returns whether a process with these ancestors belongs to a delegated task, or to another run of a hub.
    pub fn is_of_task(&self, line: &[Ancestor]) -> bool {
        self.agents.origin_of(line) != Origin::Outside
            || line.iter().any(|process| process::is_marked(process.pid))
    }

    /// Returns which agent is above the process that begins `line`, as a clause; `None` if the kernel shows none. `clients`
    /// are those of [`super::agent_processes::AgentProcesses::clients`].
    pub fn agent_above(&self, line: &[Ancestor], clients: &[AgentClient]) -> Option<String> {
        let pid = line.first().map_or(0, |process| process.pid);
        if self.is_of_task(line) {
            return Some(format!("process {pid} belongs to a task of an agent"));
        }
        let above = process::session(line).map_or(0, |(_, above)| above.len());
        let below_session = &line[..line.len() - above];
        // The program that started the client is an agent for all that runs below it. A program around it may have started the user's
        // terminal too, as an editor does.
        let agent =
            clients.iter().flat_map(|client| client.processes.iter().enumerate()).find(|(at, agent)| {
                let line = if *at == 0 { line } else { below_session };
                line.iter().any(|process| process.is_same(agent))
            });
        let (_, agent) = agent?;
        let name = process::program(agent.pid).unwrap_or_else(|| "a program".to_owned());
        Some(format!(
            "process {pid} belongs to {name} (process {}), which has a connection to this hub and counts as an agent; \
             use a terminal that it did not start",
            agent.pid
        ))
    }

    /// Returns whether the other end of `connection` is a process of an agent on this machine, as far as the kernel shows. An
    /// agent does not log in as a user, even with a password that it found. Blocks on the tables of sockets and processes.
    pub fn is_of_agent(&self, connection: &TcpConnection) -> bool {
        let found = process::peers(&[(connection.local, connection.remote)]);
        let clients = self.agent_processes.clients();
        found.processes.iter().any(|(pid, _)| {
            let line = process::ancestry(*pid).unwrap_or_default();
            self.agent_above(&line, &clients).is_some()
        })
    }

    /// Returns whether the other end of `connection` may use a link that was given to the browser below `opener`: any
    /// process can read such a link in the list of processes. A process that holds the connection must be below
    /// `opener`, or older than every agent. A connection to another machine may use the link, and so may every
    /// connection without a table of connections, because their processes are unknown. Blocks on the tables of sockets
    /// and processes.
    pub fn may_log_in(&self, connection: &TcpConnection, opener: &Ancestor) -> bool {
        let found = process::peers(&[(connection.local, connection.remote)]);
        let clients = self.agent_processes.clients();
        let agents = || clients.iter().filter(|client| !client.is_script);
        let is_hidden = agents().any(|client| client.processes.is_empty());
        let started = agents().flat_map(|client| &client.processes).map(|agent| agent.started);
        let first_agent = started.chain(self.agents.first_run_started()).min();
        let may = |pid: u32| {
            let line = process::ancestry(pid).unwrap_or_default();
            // A task runs below the hub too, as the browser does that the hub opened when it started.
            if matches!(self.agents.origin_of(&line), Origin::Task(_))
                || line.iter().any(|process| process::is_marked(process.pid))
            {
                return false;
            }
            // The hub itself opened the browser when it started.
            let is_own = opener.pid == std::process::id();
            let Some(process) = line.first() else { return false };
            let is_below = line.iter().any(|process| process.is_same(opener));
            let is_older = !is_hidden && first_agent.is_none_or(|agent| process.started < agent);
            (is_below && is_own || self.agent_above(&line, &clients).is_none()) && (is_below || is_older)
        };
        found.unseen.is_empty() && found.processes.iter().all(|(pid, _)| may(*pid))
    }
}
