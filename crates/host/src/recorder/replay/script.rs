//! A recording as a script: the lines of both sides in order, with their dependencies.
//!
//! Over HTTP, a request without a body and the head of each response are lines as well: a request and an answer with
//! the id `HTTP` and the number of the call.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::{Kind, Role, kind, message};
use crate::recorder::format::{Direction, Entry};
use crate::recorder::http_head::{Head, SESSION};
use crate::recorder::reader::{self, Found};
use adjutant_base::config::recorder::RecordedConnection;

/// The transport of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayTransport {
    /// Line by line; of a recording of HTTP, only the messages.
    Lines,
    Http,
}

/// An HTTP request, and the head of its response.
#[derive(Debug)]
pub struct Call {
    pub asked: Head,
    pub answered: Option<Head>,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    /// The HTTP requests, by their numbers.
    pub(super) calls: BTreeMap<u64, Call>,
    /// Exit code of the server, if it ended before its client.
    pub(super) exit: Option<i32>,
}

/// A line of the recording.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) seq: u64,
    pub(super) us: u64,
    pub(super) mine: bool,
    /// The HTTP request that the line belongs to; 0 for none.
    pub(super) call: u64,
    /// Set for the head of the response.
    pub(super) is_head: bool,
    /// The lines before it in an event stream.
    pub(super) lead: Vec<u8>,
    pub(super) bytes: Vec<u8>,
    pub(super) message: Option<Value>,
    pub(super) dependency: Option<Dependency>,
    /// The step of the request that it answers.
    pub(super) answers: Option<usize>,
    pub(super) done: bool,
}

/// The role of a line in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependency {
    Request { answered: Option<usize> },
    Response,
}

impl Script {
    pub(super) fn read(role: Role, transport: ReplayTransport, found: &Found) -> Result<Self, reader::Error> {
        let http = reader::header(found)?.connection == RecordedConnection::Http;
        let mut script = Self::default();
        let mut client_ended = false;
        let mut open: HashMap<(u64, &str), usize> = HashMap::new();
        let mut leads: HashMap<u64, Vec<u8>> = HashMap::new();
        let mut last = 0;
        reader::entries(found, |entry| {
            script.exit = script.exit.or(entry.exit.filter(|_| !client_ended));
            client_ended |= entry.end && entry.dir == Direction::C2s;
            if http && entry.dir == Direction::Note {
                last = script.note(&entry, last, role, transport);
            }
            let Some(mine) = mine(role, entry.dir) else { return true };
            let Some(bytes) = entry.bytes() else { return true };
            // Calls have no numbers in older recordings: a line belongs to the call of the last note.
            let call = if http && entry.call == 0 { last } else { entry.call };
            let key = (call, entry.dir.name());
            let at = if let Some(at) = open.remove(&key) {
                script.steps[at].bytes.extend_from_slice(&bytes);
                at
            } else {
                let mut bytes = &bytes[..];
                let mut lead = Vec::new();
                if entry.dir == Direction::S2c && script.is_stream(call) {
                    let before = leads.entry(call).or_default();
                    match bytes.strip_prefix(b"data:").map(<[u8]>::trim_ascii) {
                        Some(data) if !data.is_empty() => (bytes, lead) = (data, std::mem::take(before)),
                        Some(_) | None => {
                            before.extend_from_slice(bytes);
                            before.push(b'\n');
                            return true;
                        }
                    }
                }
                script.steps.push(Step { call, lead, ..Step::new(&entry, mine, bytes.to_vec()) });
                script.steps.len() - 1
            };
            if entry.more {
                open.insert(key, at);
            }
            true
        })?;
        script.steps.retain(|step| !step.bytes.trim_ascii().is_empty());
        script.link_answers();
        Ok(script)
    }

    /// Reads a note about an HTTP request or its response. Returns the number of the call.
    fn note(&mut self, entry: &Entry<'_>, last: u64, role: Role, transport: ReplayTransport) -> u64 {
        let Some(head) = entry.line.as_deref().and_then(Head::parse) else { return last };
        let asks = head.status().is_none();
        let call = match entry.call {
            0 if asks => last + 1,
            0 => last,
            numbered => numbered,
        };
        let line = match head.status() {
            None if head.start == "POST" => None,
            None => Some(json!({"id": id(call), "method": head.start})),
            Some(status) => Some(answer_line(call, status, &head)),
        };
        if let Some(line) = line.filter(|_| transport == ReplayTransport::Http) {
            let mine = asks == (role == Role::Client);
            let step = Step::new(entry, mine, line.to_string().into_bytes());
            self.steps.push(Step { call, is_head: !asks, ..step });
        }
        match (asks, self.calls.get_mut(&call)) {
            (true, _) => drop(self.calls.insert(call, Call { asked: head, answered: None })),
            (false, Some(known)) => known.answered = Some(head),
            (false, None) => {}
        }
        call
    }

    fn is_stream(&self, call: u64) -> bool {
        let answered = self.calls.get(&call).and_then(|call| call.answered.as_ref());
        answered.is_some_and(Head::is_stream)
    }

    /// Parses the messages, and matches each answer with its request: the last one with its id from the other side.
    fn link_answers(&mut self) {
        let steps = &mut self.steps;
        let mut open: HashMap<(bool, String), usize> = HashMap::new();
        let mut asked: HashMap<u64, usize> = HashMap::new();
        for at in 0..steps.len() {
            let message = message(&steps[at].bytes);
            match message.as_ref().map(kind) {
                Some(Kind::Request(_, id)) => {
                    open.insert((steps[at].mine, id.to_string()), at);
                    steps[at].dependency = Some(Dependency::Request { answered: None });
                }
                Some(Kind::Response(id)) => {
                    steps[at].dependency = Some(Dependency::Response);
                    steps[at].answers = open.remove(&(!steps[at].mine, id.to_string()));
                    if let Some(request) = steps[at].answers {
                        steps[request].dependency = Some(Dependency::Request { answered: Some(at) });
                    }
                }
                Some(Kind::Notification(_) | Kind::Other) | None => {}
            }
            if steps[at].call > 0 {
                let first = *asked.entry(steps[at].call).or_insert(at);
                if steps[at].is_head && steps[first].mine != steps[at].mine {
                    steps[at].answers = Some(first);
                }
            }
            steps[at].message = message;
        }
    }
}

impl Step {
    fn new(entry: &Entry<'_>, mine: bool, bytes: Vec<u8>) -> Self {
        Self {
            seq: entry.seq,
            us: entry.us,
            mine,
            call: 0,
            is_head: false,
            lead: Vec::new(),
            bytes,
            message: None,
            dependency: None,
            answers: None,
            done: false,
        }
    }

    pub(super) fn is_request(&self) -> bool {
        matches!(self.dependency, Some(Dependency::Request { .. }))
    }
}

/// Returns the head of a response as a line: its status, its content type, and whether it opens a session.
pub fn answer_line(call: u64, status: u16, head: &Head) -> Value {
    let mut result = Map::from_iter([("status".to_owned(), status.into())]);
    if let Some(kind) = head.get("content-type") {
        result.insert("content-type".to_owned(), kind.into());
    }
    if head.get(SESSION).is_some() {
        // The session's id is new in each run.
        result.insert("opens a session".to_owned(), true.into());
    }
    json!({"id": id(call), "result": result})
}

fn id(call: u64) -> String {
    format!("HTTP {call}")
}

/// Returns whether a line is of the played side; `None` for a line of neither side.
fn mine(role: Role, direction: Direction) -> Option<bool> {
    match direction {
        Direction::C2s => Some(role == Role::Client),
        Direction::S2c => Some(role == Role::Server),
        Direction::Err | Direction::Note => None,
    }
}
