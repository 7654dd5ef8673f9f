//! Identity of a client: caller, asker, origin, and the results that it has received.

use tokio_util::sync::CancellationToken;

use super::ClientContext;
use adjutant_agents::{Caller, Origin, Task};
use adjutant_app::client_registry::ConnectionKind;
use adjutant_questions::{Asker, Route};

impl ClientContext {
    /// Looks up once whether the client works on a task of this hub. Over HTTP that reads the table of processes, so the
    /// connection keeps the result. A session keeps the result of its first connection.
    pub(crate) fn origin(&self) -> Origin {
        let look_up =
            || self.link.as_ref().map_or_else(Origin::default, |link| self.app.agents.origin_over(link));
        self.origin.get_or_init(look_up).clone()
    }

    /// Returns the identity of the client. It is the same after a reconnect if the name, the kind of connection and the
    /// workspace are the same; over HTTP, if the label of the address is the same. An agent that works on a task is a
    /// client of that task only.
    pub fn caller(&self) -> Caller {
        let connected = &self.connected;
        let transport = match connected.kind {
            ConnectionKind::Stdio => "stdio",
            ConnectionKind::Socket => "socket",
            ConnectionKind::Script => "script",
            ConnectionKind::Http | ConnectionKind::HttpSession => "http",
        };
        let workspace = self.app.workspace.as_deref().map(|folder| folder.display().to_string());
        let mut scope = workspace.or_else(|| self.label.clone()).unwrap_or_default();
        if connected.kind == ConnectionKind::Script {
            // Two scripts of the same name are different, and each keeps its identity when it reconnects to another hub.
            scope = connected.pid.map(|pid| pid.to_string()).unwrap_or_default();
        }
        let origin = self.origin();
        let key = match &origin {
            Origin::Task(task) => format!("{transport}:{}:{scope}:{task}", connected.name()),
            Origin::Outside | Origin::Exited => format!("{transport}:{}:{scope}", connected.name()),
        };
        Caller { key, label: connected.label().to_owned(), origin }
    }

    /// Returns the asker of this client's questions; its session is this connection.
    pub fn asker(&self) -> Asker {
        let connected = &self.connected;
        let session = match connected.kind {
            // A request over HTTP may be the only one, and nothing shows that such a client has disconnected.
            ConnectionKind::Http => String::new(),
            ConnectionKind::Stdio
            | ConnectionKind::Socket
            | ConnectionKind::Script
            | ConnectionKind::HttpSession => self.app.session_of(connected.id),
        };
        Asker {
            key: self.caller().key,
            client: connected.name().to_owned(),
            session,
            route: Route::default(),
        }
    }

    /// Records that the response to a call delivers the outcome of `task`, if the task has one.
    pub(crate) async fn mark_delivered(&self, task: &Task, call: &CancellationToken) {
        if task.outcome.is_some() && self.is_read(call) {
            self.app.agents.mark_delivered(&task.id).await;
        }
    }

    /// Whether the client still reads the response to a call. If not, the response counts as undelivered and is sent
    /// again: delivering it twice is better than losing it.
    pub(crate) fn is_read(&self, call: &CancellationToken) -> bool {
        let ended = self.connection.as_ref().is_some_and(|connection| connection.input_ended());
        !ended && !call.is_cancelled()
    }

    /// Whether the store has no writes since this client was up to date.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.app
            .write_generation()
            .is_some_and(|generation| self.connected.is_up_to_date(&self.caller().key, generation))
    }

    /// Records that nothing was undelivered for this client at this generation of the store.
    pub(crate) fn mark_up_to_date(&self, generation: Option<u64>) {
        if let Some(generation) = generation {
            self.connected.mark_up_to_date(self.caller().key, generation);
        }
    }
}
