//! Identity of a client: caller, asker, origin, and the results that it has received.

use tokio_util::sync::CancellationToken;

use super::ClientContext;
use adjutant_agents::{Caller, Origin, Task};
use adjutant_app::client_registry::ConnectionKind;
use adjutant_questions::{Asker, Route};

impl ClientContext {
    /// Looks up, once, whether the client works on a task here. Over HTTP that goes through the table of processes, so
    /// what is found stays with the connection; a session keeps what it was opened with, for its later requests may
    /// come over other ones.
    pub(crate) fn origin(&self) -> Origin {
        let look =
            || self.link.as_ref().map_or_else(Origin::default, |link| self.app.agents.origin_over(link));
        self.origin.get_or_init(look).clone()
    }

    /// Who asks, as the connection knows it. A client is the same one after a reconnect if it has the same name,
    /// comes the same way and works in the same workspace; over HTTP, if its address says the same of it. What asks
    /// from within a task is nobody's client but that task's.
    pub fn caller(&self) -> Caller {
        let connected = &self.connected;
        let way = match connected.kind {
            ConnectionKind::Stdio => "stdio",
            ConnectionKind::Socket => "socket",
            ConnectionKind::Script => "script",
            ConnectionKind::Http | ConnectionKind::HttpSession => "http",
        };
        let workspace = self.app.workspace.as_deref().map(|folder| folder.display().to_string());
        let mut place = workspace.or_else(|| self.label.clone()).unwrap_or_default();
        if connected.kind == ConnectionKind::Script {
            // Two of the same name are two, and each is the same one when it comes back to another hub.
            place = connected.pid.map(|pid| pid.to_string()).unwrap_or_default();
        }
        let origin = self.origin();
        let key = match &origin {
            Origin::Task(task) => format!("{way}:{}:{place}:{task}", connected.name()),
            Origin::Outside | Origin::Exited => format!("{way}:{}:{place}", connected.name()),
        };
        Caller { key, label: connected.label().to_owned(), origin }
    }

    /// Who asks the person, as the connection knows it; the session is this connection alone.
    pub fn asker(&self) -> Asker {
        let connected = &self.connected;
        let session = match connected.kind {
            // A request over HTTP may be the only one; nobody can tell when such a client has gone.
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

    /// Notes that the outcome of `task`, if it has one, goes out with the answer to a call.
    pub async fn delivered(&self, task: &Task, call: &CancellationToken) {
        if task.outcome.is_some() && self.is_read(call) {
            self.app.agents.mark_delivered(&task.id).await;
        }
    }

    /// Whether somebody is there to read the answer to a call. What may have nobody counts as not fetched, so it is
    /// told again: told twice is better than lost.
    pub(crate) fn is_read(&self, call: &CancellationToken) -> bool {
        let gone = self.connection.as_ref().is_some_and(|connection| connection.input_ended());
        !gone && !call.is_cancelled()
    }

    /// Whether nothing was written since nothing waited for this client.
    pub(crate) fn heard_all(&self) -> bool {
        self.app
            .write_generation()
            .is_some_and(|written| self.connected.is_up_to_date(&self.caller().key, written))
    }

    /// Notes that nothing waited for this client when the store's number was `written`.
    pub fn heard(&self, written: Option<u64>) {
        if let Some(written) = written {
            self.connected.mark_up_to_date(self.caller().key, written);
        }
    }
}
