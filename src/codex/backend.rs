//! The two protocols that Codex speaks, as state machines without I/O: acts go in as calls and come out as lines,
//! lines go in and come out as [`Heard`].

mod app_server;
mod listing;
mod mcp_server;
mod read;
mod summary;

use std::collections::HashMap;

use serde_json::Value;

use super::approval::{Approval, By, Decision};
use super::error::Error;
use super::happened::{Happened, Heard, Level};
use super::settings::{Back, Start};
use crate::trace::Trace;
use app_server::AppServer;
pub(super) use listing::Listing;
use mcp_server::McpServer;

/// One conversation with one child.
#[derive(Debug)]
pub(super) enum Dialogue {
    App(Box<AppServer>),
    Mcp(Box<McpServer>),
}

impl Dialogue {
    /// `run` tells this child from others in the ids of approvals.
    pub(super) fn new(back: Back, run: &str) -> Self {
        match back {
            Back::AppServer => Self::App(Box::new(AppServer::new(run))),
            Back::McpServer => Self::Mcp(Box::new(McpServer::new(run))),
        }
    }

    /// Says hello.
    pub(super) fn greet(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.greet(out),
            Self::Mcp(mcp) => mcp.greet(out),
        }
    }

    /// Says what the turns that begin from here on are a part of.
    pub(super) fn belongs_to(&mut self, trace: Option<Trace>) {
        match self {
            Self::App(app) => app.trace = trace,
            Self::Mcp(mcp) => mcp.trace = trace,
        }
    }

    /// Begins a thread with its first turn.
    pub(super) fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.start(start, out),
            Self::Mcp(mcp) => mcp.start(start, out),
        }
    }

    /// Takes up a thread that another child had, as far as the back end can.
    pub(super) fn resume(&mut self, thread: &str, prompt: &str, start: &Start, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.resume(thread, prompt, start, out),
            // It knows the threads of its own process only; the answer will say so.
            Self::Mcp(mcp) => mcp.turn(thread, prompt, out),
        }
    }

    /// Begins the next turn; only when none runs.
    pub(super) fn turn(&mut self, thread: &str, prompt: &str, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.turn(thread, prompt, out),
            Self::Mcp(mcp) => mcp.turn(thread, prompt, out),
        }
    }

    /// Asks for the end of the running turn.
    pub(super) fn interrupt(&mut self, thread: &str, out: &mut Vec<u8>) {
        match self {
            Self::App(app) => app.interrupt(thread, out),
            Self::Mcp(mcp) => mcp.interrupt(out),
        }
    }

    /// Puts more into the running turn. Returns the number by which [`Happened::Steered`] tells what came of it.
    pub(super) fn steer(&mut self, thread: &str, text: &str, out: &mut Vec<u8>) -> Result<u64, Error> {
        match self {
            Self::App(app) => app.steer(thread, text, out),
            // A second call while one runs would lose the answer of one of them.
            Self::Mcp(_) => Err(Error::NoSteering),
        }
    }

    /// Answers a question of Codex; what happened is nothing when it was answered already.
    pub(super) fn decide(&mut self, approval: &str, decision: &Decision, by: By, out: &mut Vec<u8>) -> Heard {
        let (pending, thread) = match self {
            Self::App(app) => (&mut app.pending, app.thread.clone()),
            Self::Mcp(mcp) => (&mut mcp.pending, mcp.thread.clone()),
        };
        let Some(asked) = pending.open.remove(approval) else { return Heard::default() };
        let result = match self {
            Self::App(_) => app_server::answer(&asked, decision),
            Self::Mcp(mcp) => mcp.answer(decision),
        };
        let mut answer = serde_json::json!({"id": asked.request, "result": result});
        if matches!(self, Self::Mcp(_)) {
            answer["jsonrpc"] = "2.0".into();
        }
        send(out, &answer);
        let settled =
            Happened::Settled { approval: approval.to_owned(), decision: Some(decision.clone()), by };
        Heard { thread, notified: None, happened: vec![settled] }
    }

    /// Understands a line, and answers what needs no person.
    pub(super) fn hear(&mut self, line: &[u8], out: &mut Vec<u8>) -> Heard {
        match self {
            Self::App(app) => app.hear(line, out),
            Self::Mcp(mcp) => mcp.hear(line, out),
        }
    }
}

/// The questions of Codex that nobody answered yet.
#[derive(Debug)]
struct Pending {
    run: String,
    open: HashMap<String, Asked>,
}

/// How a question is to be answered.
#[derive(Debug)]
struct Asked {
    /// The id of the request, as it came.
    request: Value,
    method: String,
    /// Whose turn waits for it: of our thread, or of an agent that ours started.
    thread: String,
}

impl Pending {
    fn new(run: &str) -> Self {
        Self { run: run.to_owned(), open: HashMap::new() }
    }

    /// Gives a question its name.
    fn name(&self, request: &Value) -> String {
        format!("{}-{}", self.run, request.to_string().trim_matches('"'))
    }

    /// Notes a question, and returns that it was asked.
    fn ask(&mut self, asked: Asked, approval: Approval) -> Happened {
        self.open.insert(approval.id.clone(), asked);
        Happened::Asked { approval }
    }

    /// Forgets a question that Codex took back; nothing when it was answered.
    fn take_back(&mut self, request: &Value) -> Option<Happened> {
        let approval = self.name(request);
        self.open.remove(&approval)?;
        Some(Happened::Settled { approval, decision: None, by: By::Codex })
    }

    /// Forgets the questions of a thread.
    fn take_back_of(&mut self, thread: &str) -> Vec<Happened> {
        let gone = self.open.extract_if(|_, asked| asked.thread == thread);
        gone.map(|(approval, _)| Happened::Settled { approval, decision: None, by: By::Codex }).collect()
    }

    /// Forgets all questions.
    fn take_back_all(&mut self) -> Vec<Happened> {
        let gone = self.open.drain();
        gone.map(|(approval, _)| Happened::Settled { approval, decision: None, by: By::Codex }).collect()
    }
}

/// Appends a message as a line.
fn send(out: &mut Vec<u8>, message: &Value) {
    out.extend_from_slice(message.to_string().as_bytes());
    out.push(b'\n');
}

#[cfg(test)]
mod tests;

/// What a line is that cannot be used.
fn unusable(reason: &str) -> Heard {
    let message = format!("a line of Codex cannot be read: {reason}");
    Heard { happened: vec![Happened::Notice { level: Level::Warning, message }], ..Heard::default() }
}
