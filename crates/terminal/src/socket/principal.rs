//! The principal of a connection to the control API: who acts, and by which proof.
//!
//! An agent can leave its parents, so that nothing shows the agent any more. Therefore an act that decides takes a proof of
//! the user, and not only the absence of an agent. The kernel says which process asks, below which processes it runs, and
//! when its session was started; a terminal that a daemon such as `tmux` opened says nothing of who asked for it, unless
//! it is older than every agent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::control::Rejection;
use adjutant_app::App;
use adjutant_app::agent_processes::{AgentClient, is_daemon};
use adjutant_base::config::Auth;
use adjutant_base::mutex::lock;
use adjutant_host::process::{self, Ancestor};
use adjutant_questions as questions;

/// Time for which a session that gave the approval passphrase is not asked again.
const TICKET_LIFETIME: Duration = Duration::from_hours(1);

/// The actor of a request, with the proof for the user.
#[derive(Debug)]
pub(super) enum Principal {
    User(Proof),
    /// An agent, or a process that cannot be seen; a sentence says which.
    Agent(String),
    /// A process that may be the user's: what is missing for a proof, and what to do about it. An interface that asks for
    /// the passphrase itself leaves the remedy out.
    Unproven {
        missing: String,
        remedy: &'static str,
        needs_passphrase: bool,
    },
}

/// The proof that the user acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// The hub runs without authentication, so it asks nobody.
    NotAsked,
    /// The session gave the approval passphrase.
    Ticket,
    /// The kernel shows the ancestors of the process, and that no agent started its session.
    Ancestry,
}

/// The first process of a session, its start, and the terminal.
type SessionKey = (u32, u64, i32);

/// The sessions that gave the approval passphrase, and when.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<HashMap<SessionKey, Instant>>);

impl Tickets {
    fn give(&self, session: SessionKey, now: Instant) {
        let mut tickets = lock(&self.0);
        tickets.retain(|_, given| now < *given + TICKET_LIFETIME);
        tickets.insert(session, now);
    }

    /// Returns whether `session` has a ticket that was given after `since`.
    fn holds(&self, session: SessionKey, now: Instant, since: Option<Instant>) -> bool {
        let tickets = lock(&self.0);
        let given = tickets.get(&session);
        given.is_some_and(|given| now < *given + TICKET_LIFETIME && since.is_none_or(|since| *given > since))
    }
}

/// The connection of a process to the control API.
#[derive(Clone, Debug)]
pub(super) struct ControlPeer {
    pub(super) app: Arc<App>,
    pub(super) tickets: Arc<Tickets>,
    /// `None` for a process that the hub cannot see.
    pub(super) pid: Option<u32>,
}

impl ControlPeer {
    /// Checks that no agent asks.
    pub(super) fn require_no_agent(&self) -> Result<(), Rejection> {
        match self.principal() {
            Principal::Agent(reason) => Err(Rejection::new(reason)),
            Principal::User(_) | Principal::Unproven { .. } => Ok(()),
        }
    }

    /// Checks that the user asks.
    pub(super) fn require_user(&self) -> Result<(), Rejection> {
        match self.principal() {
            Principal::User(proof) => {
                tracing::debug!(?proof, process.pid = self.pid, "the user acts");
                Ok(())
            }
            Principal::Agent(reason) => Err(Rejection::new(reason)),
            Principal::Unproven { missing, remedy, .. } => {
                Err(Rejection::new(format!("{missing}; {remedy}")))
            }
        }
    }

    /// Gives the process's session a ticket, if `passphrase` is the approval passphrase.
    pub(super) async fn prove(&self, passphrase: String) -> Result<(), questions::Error> {
        self.app.questions.check_passphrase(passphrase, questions::Channel::Terminal).await?;
        self.give_ticket();
        Ok(())
    }

    /// Gives the process's session a ticket, because the approval passphrase was checked.
    pub(super) fn give_ticket(&self) {
        let line = self.pid.and_then(process::ancestry).unwrap_or_default();
        if let Some((leader, _)) = process::session(&line) {
            self.tickets.give(key(leader), Instant::now());
        }
    }

    /// Ends all tickets.
    pub(super) fn end_tickets(&self) {
        lock(&self.tickets.0).clear();
    }

    /// Returns whether the process belongs to a task, or cannot be seen. Blocks on the table of processes.
    pub(super) fn is_of_task(&self) -> bool {
        let line = self.pid.and_then(process::ancestry).unwrap_or_default();
        line.is_empty() || self.app.is_of_task(&line)
    }

    /// Returns the actor of a request now. Blocks on the table of processes.
    pub(super) fn principal(&self) -> Principal {
        let unseen = || {
            Principal::Agent(
                "only the user may do this, and the hub cannot see the process that asks".to_owned(),
            )
        };
        let Some(pid) = self.pid else { return unseen() };
        let Some(line) = process::ancestry(pid).filter(|line| !line.is_empty()) else { return unseen() };
        let app = &self.app;
        let clients = app.agent_processes.clients();
        if let Some(reason) = app.agent_above(&line, &clients) {
            return Principal::Agent(format!("only the user may do this, and {reason}"));
        }
        if app.config.http.auth == Auth::None {
            return Principal::User(Proof::NotAsked);
        }
        let has_passphrase = app.questions.has_passphrase();
        let session = process::session(&line);
        let unproven = |missing: &str| Principal::Unproven {
            missing: format!("only the user may do this, and {missing}"),
            remedy: if has_passphrase { PROVE_IT } else { SET_A_PASSPHRASE },
            needs_passphrase: has_passphrase && session.is_some(),
        };
        let Some((leader, above)) = session else {
            return unproven("the process that asks has left the terminal that it was started in");
        };
        if has_passphrase {
            // An agent that cannot be seen may be the program that runs in this terminal.
            let hidden =
                clients.iter().filter(|client| client.processes.is_empty()).map(|client| client.since).max();
            return if self.tickets.holds(key(leader), Instant::now(), hidden) {
                Principal::User(Proof::Ticket)
            } else {
                unproven(
                    "this terminal has not given the approval passphrase in the last hour, or not since an agent \
                     connected whose process cannot be traced",
                )
            };
        }
        match by_ancestry(&line, leader, above, &clients, app.agents.first_run_started()) {
            Ok(()) => Principal::User(Proof::Ancestry),
            Err(missing) => unproven(missing),
        }
    }
}

/// Advice for a terminal that has no ticket.
const PROVE_IT: &str = "give it with `adjutant passphrase --prove`";

/// Advice for a terminal in which no proof is possible yet.
const SET_A_PASSPHRASE: &str = "set an approval passphrase with `adjutant passphrase`, in a terminal that is older than \
                                the agents or while none is connected; then each terminal can prove that you are there";

/// Checks that no agent started the session of `leader`, which runs below `above`.
fn by_ancestry(
    line: &[Ancestor],
    leader: &Ancestor,
    above: &[Ancestor],
    clients: &[AgentClient],
    first_run: Option<u64>,
) -> Result<(), &'static str> {
    let agents = || clients.iter().filter(|client| !client.is_script);
    if agents().any(|client| client.processes.is_empty()) {
        return Err(
            "an agent connected whose process cannot be traced, so nothing shows that it did not open this \
                    terminal",
        );
    }
    // It was started outside of the container that the hub and the agents that are seen run in.
    if line.last().is_some_and(|top| top.parent == 0 && top.pid != 1) {
        return Ok(());
    }
    let around = agents().flat_map(|client| &client.processes);
    if around.clone().any(|agent| above.iter().any(|process| process.is_same(agent))) {
        return Err("the program that an agent belongs to opened this terminal");
    }
    // A login was started by a program of root.
    let is_login = above.iter().any(|process| process.pid > 1 && process.starts_logins(leader));
    let Some(first_agent) = around.map(|agent| agent.started).chain(first_run).min() else { return Ok(()) };
    // An agent may have started each process that is younger than it. The first older one did so itself, unless it takes
    // in what lost its parents, or starts what any program asks for. Any process may be an adopter, but what it takes in
    // is of another session, and in a terminal that it has not opened.
    let opened_by_older = above.iter().position(|process| process.started < first_agent).is_some_and(|at| {
        let (opener, below) = (&above[at], if at == 0 { leader } else { &above[at - 1] });
        let is_asked = opener.pid <= 1 || is_daemon(opener);
        !is_asked && (below.session == opener.session || opener.has_opened(leader.terminal))
    });
    if !opened_by_older && !is_login && first_agent <= leader.started {
        return Err(
            "this terminal was opened after an agent was started, so nothing shows that the agent did not \
                    open it",
        );
    }
    Ok(())
}

fn key(leader: &Ancestor) -> SessionKey {
    (leader.pid, leader.started, leader.terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_for_an_hour_and_for_its_session_alone() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        tickets.give((7, 1, 3), now);
        assert!(tickets.holds((7, 1, 3), now + Duration::from_mins(59), None));
        assert!(!tickets.holds((7, 1, 3), now, Some(now + Duration::from_secs(1))), "an agent came later");
        for (session, at) in [
            ((7, 1, 3), now + TICKET_LIFETIME),
            // A later process has the number now, or its terminal is another.
            ((7, 2, 3), now),
            ((7, 1, 4), now),
            ((8, 1, 3), now),
        ] {
            assert!(!tickets.holds(session, at, None), "{session:?}");
        }
    }
}
