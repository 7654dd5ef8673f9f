//! Waiting for a task in a client's name: how long, what it is told meanwhile, and what its cancellation means.

use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;

use crate::agents::task::State;
use crate::agents::{Error, Task, TaskId, Viewer};
use crate::mcp::Handler;
use crate::mcp::dialect::Revision;

/// The longest that a caller may ask to wait.
pub(super) const LONGEST: Duration = Duration::from_hours(1);

/// Clients that end a call after a fixed time, whatever progress they are told.
const IMPATIENT: [&str; 1] = ["codex"];

/// Clients that wait for as long as a call takes.
const PATIENT: [&str; 2] = ["claude-code", "gemini-cli"];

/// A client must hear from us at least this often; the shortest known limit is 60 seconds.
const SILENCE: Duration = Duration::from_secs(10);

/// Progress is told at most this often.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a closing connection may take to be known as closed.
const CLOSING: Duration = Duration::from_millis(100);

/// What becomes of a task when the call that waits for it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnCancel {
    /// The call is the task: it is cancelled too.
    CancelTask,
    /// The call only looks.
    LeaveTask,
}

/// Returns how long a client waits for an answer; `None` is as long as it takes.
///
/// The contract of 2024-11-05 knows no handles, so a call of it waits for the end.
pub(super) fn patience(
    handler: &Handler,
    revision: Revision,
    context: &RequestContext<RoleServer>,
) -> Option<Duration> {
    if revision == Revision::V2024_11_05 {
        return None;
    }
    (!waits(handler, context)).then_some(handler.app().config.delegation.patience)
}

/// Tells whether a client waits for as long as a call takes: it wants to hear of progress, or is known for it.
pub(crate) fn waits(handler: &Handler, context: &RequestContext<RoleServer>) -> bool {
    let name = handler.connected().name().to_ascii_lowercase();
    let one_of = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    (context.meta.get_progress_token().is_some() || one_of(&PATIENT)) && !one_of(&IMPATIENT)
}

/// Waits until the task has ended or `patience` is over, and returns it as it is then. The client is told what
/// happens where it sent a token.
pub(super) async fn wait(
    handler: &Handler,
    context: &RequestContext<RoleServer>,
    id: &TaskId,
    patience: Option<Duration>,
    on_cancel: OnCancel,
) -> Result<Task, Error> {
    let agents = &handler.app().agents;
    let viewer = Viewer::Caller(handler.caller());
    let until = patience.map(|patience| Instant::now() + patience);
    let mut progress = Progress::new(context);
    let mut seen = 0;
    loop {
        let fresh = agents.happened(&viewer, id, seen, 500).await?;
        let task = agents.get(&viewer, id).await?;
        if task.state.is_ended() {
            return Ok(task);
        }
        if let Some(last) = fresh.last() {
            seen = last.seq;
            progress.news(last.what.line());
        } else if let Some(position) = task.position {
            progress.news(format!("queued, position {position}"));
        } else if task.state == State::Running && seen == 0 {
            progress.news(format!("runs on {}", task.runner));
        }
        let pause = progress.tell(context).await;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(task);
        }
        let pause = left.map_or(pause, |left| left.min(pause));
        tokio::select! {
            () = agents.changed(id, seen, pause) => {}
            () = context.ct.cancelled() => {
                if on_cancel == OnCancel::CancelTask && given_up(handler, context).await {
                    return agents.cancel(&viewer, id).await;
                }
                return Ok(task);
            }
        }
    }
}

/// Tells whether the caller took its call back, or only went away: what it asked for outlives its connection.
/// A stateless HTTP request has no other way to be taken back than to be hung up.
pub(crate) async fn given_up(handler: &Handler, context: &RequestContext<RoleServer>) -> bool {
    if handler.app().shutdown.is_cancelled() {
        return false;
    }
    match handler.connection() {
        Some(connection) => !connection.input_ended(),
        None if Revision::of(context) == Revision::V2026_07_28 => true,
        None => {
            let end = Instant::now() + CLOSING;
            while !context.peer.is_transport_closed() {
                if Instant::now() > end {
                    return true;
                }
                tokio::time::sleep(CLOSING / 10).await;
            }
            false
        }
    }
}

/// What a client is told while it waits.
#[derive(Debug)]
pub(crate) struct Progress {
    token: Option<ProgressToken>,
    told: f64,
    last: Option<Instant>,
    line: String,
    /// The line was not told yet.
    fresh: bool,
}

impl Progress {
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { token, told: 0.0, last: None, line: String::new(), fresh: false }
    }

    /// Notes the newest line.
    pub(crate) fn news(&mut self, line: String) {
        if line != self.line && !line.is_empty() {
            self.line = line;
            self.fresh = true;
        }
    }

    /// Tells what is due, and returns how long to wait before the next word.
    pub(crate) async fn tell(&mut self, context: &RequestContext<RoleServer>) -> Duration {
        /// Characters of a line that a client shows.
        const LINE: usize = 300;
        let Some(token) = &self.token else { return SILENCE };
        let age = self.last.map_or(LONGEST, |last| last.elapsed());
        if !(age >= SILENCE || self.fresh && age >= PAUSE) {
            return if self.fresh { PAUSE.saturating_sub(age) } else { SILENCE.saturating_sub(age) };
        }
        self.told += 1.0;
        self.last = Some(Instant::now());
        self.fresh = false;
        let mut told = ProgressNotificationParam::new(token.clone(), self.told);
        told.message = Some(self.line.chars().take(LINE).collect()).filter(|line: &String| !line.is_empty());
        // A client that is gone is noticed by the call's own token.
        let _ = context.peer.notify_progress(told).await;
        SILENCE
    }
}
