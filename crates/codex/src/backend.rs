//! The two protocols of Codex, as state machines without I/O: calls go in and come out as lines, lines go in and come
//! out as [`EventBatch`].

mod app_server;
mod json_fields;
mod mcp_server;
mod pending_approvals;
mod summary;
mod thread_list;

use serde_json::{Value, json};

use super::approval::{Decider, Decision};
use super::error::Error;
use super::event::{CodexEvent, EventBatch};
use super::jsonrpc;
use super::thread_options::{Backend, ThreadOptions, TurnInput};
use adjutant_base::trace_context::Trace;
pub(super) use app_server::{AppServer, history};
use mcp_server::McpServer;
pub use thread_list::ExternalThread;
pub(super) use thread_list::{external_thread, page, page_params};

/// The code of the error for a request that the user did not answer, outside of what JSON-RPC reserves.
const REFUSED: i32 = 1;

/// The protocol state of one child.
#[derive(Debug)]
pub(super) enum Protocol {
    App(Box<AppServer>),
    Mcp(Box<McpServer>),
}

/// Evaluates an expression with the state of either protocol.
macro_rules! either {
    ($protocol:expr, $state:ident => $value:expr) => {
        match $protocol {
            Protocol::App($state) => $value,
            Protocol::Mcp($state) => $value,
        }
    };
}

impl Protocol {
    /// `run` makes the ids of approvals unique among children.
    pub(super) fn new(back: Backend, run: &str) -> Self {
        match back {
            Backend::AppServer => Self::App(Box::new(AppServer::new(run))),
            Backend::McpServer => Self::Mcp(Box::new(McpServer::new(run))),
        }
    }

    /// Sends `initialize`.
    pub(super) fn initialize(&mut self, out: &mut Vec<u8>) {
        either!(self, state => state.initialize(out));
    }

    /// Sets the trace of the turns that start from here on.
    pub(super) fn set_trace(&mut self, trace: Option<Trace>) {
        either!(self, state => state.trace = trace);
    }

    /// Starts a thread with its first turn.
    pub(super) fn start(&mut self, start: &ThreadOptions, out: &mut Vec<u8>) {
        either!(self, state => state.start(start, out));
    }

    /// Resumes a thread of another child, if the protocol can.
    pub(super) fn resume(&mut self, thread: &str, start: &ThreadOptions, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.resume(thread, start, out),
            // It knows only the threads of its process; its answer will say so.
            Self::Mcp(mcp) => mcp.turn(thread, &start.turn, out),
        }
    }

    /// Starts the next turn; only when none runs.
    pub(super) fn turn(&mut self, thread: &str, input: &TurnInput, out: &mut Vec<u8>) {
        either!(self, state => state.turn(thread, input, out));
    }

    /// Ends the commands that continue after their turns. Only app-server can.
    pub(super) fn end_commands(&mut self, thread: &str, out: &mut Vec<u8>) {
        if let Self::App(app) = self {
            app.end_commands(thread, out);
        }
    }

    /// Requests the end of the running turn.
    pub(super) fn interrupt(&mut self, thread: &str, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.interrupt(thread, out),
            Self::Mcp(mcp) => mcp.interrupt(out),
        }
    }

    /// Adds a prompt to the running turn. Returns the number that [`CodexEvent::Steered`] carries.
    pub(super) fn steer(&mut self, thread: &str, input: &TurnInput, out: &mut Vec<u8>) -> Result<u64, Error> {
        match self {
            Self::App(_) if input.model.is_some() || input.effort.is_some() => Err(Error::KeptModel),
            Self::App(app) => app.steer(thread, input, out),
            // A second call while one runs would lose the answer of one of them.
            Self::Mcp(_) => Err(Error::NoSteering),
        }
    }

    /// Answers an approval. The batch is empty when it was answered already.
    pub(super) fn decide(
        &mut self,
        approval: &str,
        decision: &Decision,
        by: Decider,
        out: &mut Vec<u8>,
    ) -> EventBatch {
        let (pending, thread) = either!(self, state => (&mut state.pending, state.thread.clone()));
        let Some(asked) = pending.open.remove(approval) else { return EventBatch::default() };
        let result = match self {
            Self::App(_) => app_server::answer(&asked, decision),
            Self::Mcp(mcp) => Ok(mcp.answer(decision)),
        };
        let mut answer = match result {
            Ok(result) => json!({"id": asked.request, "result": result}),
            Err(reason) => json!({"id": asked.request, "error": {"code": REFUSED, "message": reason}}),
        };
        if matches!(self, Self::Mcp(_)) {
            answer["jsonrpc"] = "2.0".into();
        }
        jsonrpc::write_line(out, &answer);
        let mut decision = decision.clone();
        if let Decision::Content(Value::Object(answers)) = &mut decision {
            let secret = answers.iter_mut().filter(|(id, _)| asked.secrets.contains(id));
            secret.for_each(|(_, answer)| *answer = "[secret]".into());
        }
        let resolved =
            CodexEvent::ApprovalResolved { approval: approval.to_owned(), decision: Some(decision), by };
        EventBatch { thread, notification: None, events: vec![resolved] }
    }

    /// Returns true once if the running turn waits for an answer that nobody can give, so that it has to be
    /// interrupted.
    pub(super) fn gives_up(&mut self) -> bool {
        match self {
            Self::App(_) => false,
            Self::Mcp(mcp) => std::mem::take(&mut mcp.gives_up),
        }
    }

    /// Parses a line, and answers requests that need no user.
    pub(super) fn on_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> EventBatch {
        either!(self, state => state.on_line(line, out))
    }
}

#[cfg(test)]
mod tests;
