//! Waiting time of a call: time limit, progress notifications, and cancellation.

use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;

use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use adjutant_agents::task::State;
use adjutant_agents::{Error, Task, TaskId, Viewer};

/// The longest time that a caller may choose to wait.
pub const MAX_WAIT: Duration = Duration::from_hours(1);

/// Clients that end a call after a fixed time, even if they get progress notifications.
const SHORT_TIMEOUT_CLIENTS: [&str; 1] = ["codex"];

/// Clients that wait without a limit.
const NO_TIMEOUT_CLIENTS: [&str; 2] = ["claude-code", "gemini-cli"];

/// A client gets progress at least this often, because the shortest known limit is 60 seconds.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// A client gets progress at most this often.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Interval between two attempts to read what a call waits for while the store does not answer.
pub(crate) const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Time for a closing connection to be reported as closed.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// The effect of cancelling a waiting call on its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCancel {
    /// The call is the task: it is cancelled too.
    CancelTask,
    /// The call only observes.
    LeaveTask,
}

/// Returns how long the client of a call waits for the end of a task; `None` means without a limit.
///
/// The contract of 2024-11-05 has no task ids, so its calls wait for the end.
pub(crate) fn task_wait_limit(call: &CallContext<'_>) -> Option<Duration> {
    if call.revision == Revision::V2024_11_05 {
        return None;
    }
    (!waits_indefinitely(call)).then_some(call.client.app.config.delegation.wait_timeout)
}

/// Returns whether the client of a call waits without a limit: it wants progress notifications, or is known to wait.
pub(crate) fn waits_indefinitely(call: &CallContext<'_>) -> bool {
    let name = call.client.connected.name().to_ascii_lowercase();
    let one_of = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    (call.request.meta.get_progress_token().is_some() || one_of(&NO_TIMEOUT_CLIENTS))
        && !one_of(&SHORT_TIMEOUT_CLIENTS)
}

/// Waits until the task has ended or `limit` is over, and returns it as it is then. A client that sent a token gets
/// progress notifications. A store that does not answer is tried again within the limit.
pub async fn wait_for_task(
    call: &CallContext<'_>,
    id: &TaskId,
    limit: Option<Duration>,
    on_cancel: OnCancel,
) -> Result<Task, Error> {
    let agents = &call.client.app.agents;
    let viewer = Viewer::Caller(call.client.caller());
    let until = limit.map(|limit| Instant::now() + limit);
    let mut progress = Progress::new(call.request);
    let mut seen = 0;
    loop {
        let read = async {
            let fresh = agents.events(&viewer, id, seen, 500).await?;
            Ok::<_, Error>((fresh, agents.get(&viewer, id).await?))
        };
        let (fresh, task) = match read.await {
            Err(error) if error.is_store_away() && until.is_none_or(|until| Instant::now() < until) => {
                progress.set_line("the database does not answer; the task is stored".to_owned());
                let pause = progress.notify(call.request).await.min(STORE_RETRY_INTERVAL);
                tokio::select! {
                    () = tokio::time::sleep(pause) => continue,
                    () = call.request.ct.cancelled() => return Err(error),
                }
            }
            read => read?,
        };
        if task.state.is_ended() {
            return Ok(task);
        }
        if let Some(last) = fresh.last() {
            seen = last.seq;
            progress.set_line(last.kind.line());
        } else if let Some(position) = task.position {
            progress.set_line(format!("queued, position {position}"));
        } else if task.state == State::Running && seen == 0 {
            progress.set_line(format!("runs on {}", task.runner));
        }
        let pause = progress.notify(call.request).await;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(task);
        }
        let pause = left.map_or(pause, |left| left.min(pause));
        tokio::select! {
            () = agents.wait_for_event(id, seen, pause) => {}
            () = call.request.ct.cancelled() => {
                if on_cancel == OnCancel::CancelTask && cancelled_by_client(call).await {
                    return agents.cancel(&viewer, id).await;
                }
                return Ok(task);
            }
        }
    }
}

/// Returns whether the client cancelled its call, and did not only close its connection: a task outlives the
/// connection. A stateless HTTP request can only be cancelled by closing it.
pub(crate) async fn cancelled_by_client(call: &CallContext<'_>) -> bool {
    if call.client.app.shutdown.is_cancelled() {
        return false;
    }
    match &call.client.connection {
        Some(connection) => !connection.input_ended(),
        None if call.revision == Revision::V2026_07_28 => true,
        None => {
            let end = Instant::now() + CLOSE_TIMEOUT;
            while !call.request.peer.is_transport_closed() {
                if Instant::now() > end {
                    return true;
                }
                tokio::time::sleep(CLOSE_TIMEOUT / 10).await;
            }
            false
        }
    }
}

/// Progress notifications of one call.
#[derive(Debug)]
pub struct Progress {
    token: Option<ProgressToken>,
    sent: f64,
    last: Option<Instant>,
    line: String,
    /// The line was not sent yet.
    fresh: bool,
}

impl Progress {
    /// Prepares progress notifications for a request; nothing is sent if its client gave no token.
    pub fn new(request: &RequestContext<RoleServer>) -> Self {
        let token = request.meta.get_progress_token();
        Self { token, sent: 0.0, last: None, line: String::new(), fresh: false }
    }

    /// Sets the newest line.
    pub(crate) fn set_line(&mut self, line: String) {
        if line != self.line && !line.is_empty() {
            self.line = line;
            self.fresh = true;
        }
    }

    /// Sends a notification if one is due, and returns how long to wait before the next.
    pub async fn notify(&mut self, request: &RequestContext<RoleServer>) -> Duration {
        /// Maximum characters of a line.
        const MAX_LINE: usize = 300;
        let Some(token) = &self.token else { return KEEPALIVE_INTERVAL };
        let age = self.last.map_or(MAX_WAIT, |last| last.elapsed());
        if !(age >= KEEPALIVE_INTERVAL || self.fresh && age >= MIN_INTERVAL) {
            return if self.fresh {
                MIN_INTERVAL.saturating_sub(age)
            } else {
                KEEPALIVE_INTERVAL.saturating_sub(age)
            };
        }
        self.sent += 1.0;
        self.last = Some(Instant::now());
        self.fresh = false;
        let mut params = ProgressNotificationParam::new(token.clone(), self.sent);
        params.message =
            Some(self.line.chars().take(MAX_LINE).collect()).filter(|line: &String| !line.is_empty());
        // The call's own token notices a disconnected client.
        let _ = request.peer.notify_progress(params).await;
        KEEPALIVE_INTERVAL
    }
}
