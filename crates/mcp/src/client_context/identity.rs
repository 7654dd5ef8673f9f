//! Identity of a client: caller, asker, origin, and the results that it has received.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

use super::ClientContext;
use crate::deliveries::{Claim, Outcome};
use adjutant_agents::{Caller, Origin, Task, TcpConnection};
use adjutant_app::client_registry::ConnectionKind;
use adjutant_questions::{Asker, DeliveryClaim, Draft, Route, Ticket};

impl ClientContext {
    /// Looks up once whether the client works on a task of this hub. Over HTTP that reads the table of processes, so the
    /// connection keeps the result. A session keeps the result of its first connection.
    pub(crate) fn origin(&self) -> Origin {
        let look_up =
            || self.link.upgrade().map_or_else(Origin::default, |link| self.app.agents.origin_over(&link));
        self.origin.get_or_init(look_up).clone()
    }

    /// Returns the caller, as the connection knows it. After a reconnect a client is the same caller if its name, its
    /// kind of connection and its folder are the same. Over HTTP its token and the label in its address count too. A
    /// client within a task belongs to that task.
    pub fn caller(&self) -> Caller {
        let connected = &self.connected;
        let transport = match connected.kind {
            ConnectionKind::Stdio => "stdio",
            ConnectionKind::Socket => "socket",
            ConnectionKind::Script => "script",
            // The token is the client; the name of a token has no colon.
            ConnectionKind::Http | ConnectionKind::HttpSession if !self.token.is_empty() => {
                &format!("http/{}", self.token)
            }
            ConnectionKind::Http | ConnectionKind::HttpSession => "http",
        };
        let scope = if self.session.folder.is_empty() {
            let workspace = self.app.workspace.as_deref().map(|folder| folder.display().to_string());
            workspace.or_else(|| self.label.clone()).unwrap_or_default()
        } else {
            self.session.folder.clone()
        };
        let origin = self.origin();
        let mut key = format!("{}{transport}:{}:{scope}", self.app.machine(), connected.name());
        if let Origin::Task(task) = &origin {
            key = format!("{key}:{task}");
        }
        Caller { key, label: connected.label().to_owned(), origin }
    }

    /// Returns the asker of a question, as the connection knows it: one session of an agent. The name that a client
    /// gives itself can separate askers, and never joins two sessions.
    pub fn asker(&self) -> Asker {
        let (connected, place) = (&self.connected, self.caller().key);
        let session = match connected.kind {
            // A stateless request may be the only one, so nothing shows when its client has gone.
            ConnectionKind::Http => {
                let client = connected.name().to_owned();
                return Asker { key: place, client, ..Asker::default() };
            }
            ConnectionKind::Stdio | ConnectionKind::Socket | ConnectionKind::Script
                if self.session.acknowledges() =>
            {
                self.session.id.clone()
            }
            ConnectionKind::Stdio
            | ConnectionKind::Socket
            | ConnectionKind::Script
            | ConnectionKind::HttpSession => self.app.session_of(connected.id),
        };
        Asker {
            key: format!("{place}#{session}"),
            place,
            client: self.shown_name(),
            session,
            route: Route::default(),
        }
    }

    /// Returns the name of the client; with its task and the worker, which the folder does not show.
    fn shown_name(&self) -> String {
        let name = self.connected.name();
        match &self.remote {
            None => name.to_owned(),
            Some(agent) => format!("{name} (task {} on {})", agent.task, agent.worker),
        }
    }

    /// Returns the asker of a question. A question that names no folder is about the one in which its session runs; if it
    /// names an unrelated one, it shows both. Without any folder the asker does not continue with the questions of a session
    /// that ended, because nothing but the name would say that it is the same client.
    pub(crate) fn asker_of(&self, draft: &mut Draft) -> Asker {
        let mut asker = self.asker();
        // A folder of a worker that has no copy here is none.
        draft.workspace = self.folder_here(&draft.workspace).unwrap_or_default();
        if draft.workspace.is_empty() && self.session.folder.is_empty() && self.app.workspace.is_none() {
            asker.place.clear();
        }
        if draft.workspace.is_empty() {
            self.session.workspace().clone_into(&mut draft.workspace);
        } else if let Some(own) = self.session.other_folder(&draft.workspace) {
            own.clone_into(&mut draft.runs_in);
        }
        asker
    }

    /// Notes that the client asks a question by `call`: its agent counts for a while after it has left.
    pub(crate) fn note_question(&self, call: &RequestContext<RoleServer>) {
        self.app.agent_processes.note_question(self.connected.pid);
        // In a session each request may come over another connection.
        let link = call.extensions.get::<Arc<TcpConnection>>().cloned().or_else(|| self.link.upgrade());
        if let Some(link) = link {
            link.has_asked().store(true, Ordering::Relaxed);
        }
    }

    /// Marks the outcome of a question as delivered once the client's side has the response to `call`.
    pub(crate) async fn deliver(&self, call: &RequestContext<RoleServer>, ticket: &Ticket) {
        let claim = self.app.questions.claim_delivery(&self.asker().key, ticket);
        self.deliver_claimed(call, claim).await;
    }

    /// Marks a claimed outcome as delivered once the client's side has the response to `call`.
    pub(crate) async fn deliver_claimed(&self, call: &RequestContext<RoleServer>, claim: DeliveryClaim) {
        match &self.connection {
            Some(connection) => connection.deliver(&call.id, claim),
            None if !self.is_read(&call.ct) => {}
            None => match &self.deliveries {
                Some(deliveries) => deliveries.attach(call.id.clone(), Claim::Answer(claim)),
                None => claim.confirm().await,
            },
        }
    }

    /// Marks the outcome of `task`, if it has one, as delivered by the response to a call: over HTTP once the client's
    /// side has the response. False when another response delivers it.
    pub(crate) async fn mark_delivered(&self, task: &Task, call: &RequestContext<RoleServer>) -> bool {
        if task.outcome.is_none() || !self.is_read(&call.ct) {
            return false;
        }
        match &self.deliveries {
            Some(deliveries) => {
                deliveries.attach(call.id.clone(), Outcome::Task(task.id.clone()).claim(&self.app));
                true
            }
            None => self.app.agents.mark_delivered(&task.id).await,
        }
    }

    /// Returns whether the client still reads the response to a call. If not, the response counts as undelivered and is
    /// sent again: delivering it twice is better than losing it.
    pub(crate) fn is_read(&self, call: &CancellationToken) -> bool {
        let ended = self.connection.as_ref().is_some_and(|connection| connection.input_ended());
        !ended && !call.is_cancelled()
    }

    /// Returns whether the token of a client over HTTP is its agent's alone.
    pub(crate) fn has_own_token(&self) -> bool {
        !self.token.is_empty()
    }

    /// Returns whether the store has no writes since this client was up to date in `workspace`.
    pub(crate) fn is_up_to_date(&self, workspace: &str) -> bool {
        let key = || format!("{} {workspace}", self.caller().key);
        self.app.write_generation().is_some_and(|generation| self.connected.is_up_to_date(&key(), generation))
    }

    /// Records that nothing was undelivered for this client in `workspace` at this generation of the store.
    pub(crate) fn mark_up_to_date(&self, workspace: &str, generation: Option<u64>) {
        if let Some(generation) = generation {
            self.connected.mark_up_to_date(format!("{} {workspace}", self.caller().key), generation);
        }
    }
}
