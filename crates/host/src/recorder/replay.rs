//! The replay of one side of a recording to a program on the other side.
//!
//! The player does no I/O: [`Player::on_line`] takes lines of the other side, and [`Player::due`] returns lines to send
//! after the lines that they depend on have arrived. Lines of the other side are compared with the recording. Ids and
//! other values that are new in each run are adopted into the played lines.

mod diff;
mod script;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::{Value, json};

use super::http_head::{HEADERS, Head};
use super::reader::{self, Found};
use adjutant_base::text::clip;
use diff::{IdMapping, Mismatch};
pub use script::{Call, ReplayTransport, answer_line};
use script::{Dependency, Script, Step};

/// Maximum characters of a message in a finding.
const MAX_SHOWN_CHARS: usize = 160;

/// The side that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Server,
    Client,
}

/// Plays one side of a recording.
#[derive(Debug)]
pub struct Player {
    role: Role,
    steps: Vec<Step>,
    /// The HTTP requests, by their numbers.
    pub calls: BTreeMap<u64, Call>,
    /// The first step that is neither played nor received.
    first: usize,
    /// The other side's ids in this run, by those in the recording.
    ids: HashMap<String, Value>,
    learned: IdMapping,
    findings: Vec<Finding>,
    /// Exit code of the server, if it ended before its client.
    pub exit: Option<i32>,
}

/// A difference from the recording.
#[derive(Debug, PartialEq, Eq)]
pub enum Finding {
    /// A received line has another value.
    Differs { seq: u64, what: String, mismatch: Mismatch },
    /// A received line is not in the recording.
    Unexpected { what: String },
    /// A recorded line was not received.
    Missing { seq: u64, what: String },
}

/// A line to send, with its delay after the line before it in the recording.
#[derive(Debug)]
pub struct Due {
    pub bytes: Vec<u8>,
    /// Delay in microseconds.
    pub after: u64,
    /// The HTTP request that the line belongs to, or is; 0 for none.
    pub call: u64,
    /// Set for the head of the response.
    pub is_head: bool,
    /// The lines before it in an event stream.
    pub lead: Vec<u8>,
}

/// The result of matching a received line with the recording.
#[derive(Debug, PartialEq, Eq)]
pub enum LineMatch {
    /// The line is in the recording. `call` is its HTTP request; 0 for none.
    Known { call: u64 },
    /// The line is not in the recording. A request gets an error as its answer.
    Unknown { answer: Option<Vec<u8>> },
}

/// The kind of a message, for matching.
#[derive(Debug, PartialEq)]
enum Kind<'a> {
    Request(&'a str, &'a Value),
    Notification(&'a str),
    Response(&'a Value),
    Other,
}

impl Player {
    /// Reads a recording. Members named in `ignore` are not compared.
    pub fn new(
        role: Role,
        transport: ReplayTransport,
        found: &Found,
        ignore: &[String],
    ) -> Result<Self, reader::Error> {
        let Script { steps, calls, exit } = Script::read(role, transport, found)?;
        let learned = IdMapping::ignoring(ignore);
        Ok(Self { role, steps, calls, first: 0, ids: HashMap::new(), learned, findings: Vec::new(), exit })
    }

    /// Returns the next line to send, if all lines that it depends on have arrived.
    pub fn due(&mut self) -> Option<Due> {
        let next = self.next()?;
        let at = match self.gate(next) {
            None => next,
            // A side that asks in another order gets its answers in that order.
            Some(gate) if self.steps[gate].is_request() || self.steps[next].is_head => {
                self.asked_for(next)?
            }
            Some(_) => return None,
        };
        self.steps[at].done = true;
        let after = at.checked_sub(1).map_or(0, |before| self.steps[at].us - self.steps[before].us);
        let bytes = self.spoken(at);
        self.advance();
        let Step { call, is_head, lead, .. } = &mut self.steps[at];
        Some(Due { bytes, after, call: *call, is_head: *is_head, lead: std::mem::take(lead) })
    }

    /// Returns the name of the line that the next line to send waits for.
    pub fn waits_for(&self) -> Option<String> {
        self.gate(self.next()?).map(|gate| self.steps[gate].what())
    }

    /// Stops waiting for the line that the next line to send depends on.
    pub fn give_up(&mut self) {
        if let Some(gate) = self.next().and_then(|next| self.gate(next)) {
            self.miss(gate);
            self.advance();
        }
    }

    /// Returns whether all lines are played, and all requests and answers of the other side have arrived.
    pub fn is_done(&self) -> bool {
        self.steps[self.first..].iter().all(|step| step.done || (!step.mine && step.dependency.is_none()))
    }

    /// Takes the end of an HTTP response: its outstanding lines count as missing.
    pub fn on_call_end(&mut self, call: u64) {
        let open = |step: &Step| step.call == call && !step.mine && !step.done;
        while let Some(at) = self.steps.iter().position(open) {
            self.miss(at);
        }
        self.advance();
    }

    /// Returns whether an HTTP request has more lines to send.
    pub fn has_more(&self, call: u64) -> bool {
        self.steps[self.first..].iter().any(|step| step.mine && !step.done && step.call == call)
    }

    /// Compares the head of a client's request with the recorded one, except the headers of its HTTP library.
    pub fn on_request_head(&mut self, call: u64, head: &Head) {
        let headers = |head: &Head| -> Value {
            let named = HEADERS.into_iter().filter(|name| !matches!(*name, "accept" | "content-type"));
            named.filter_map(|name| Some((name.to_owned(), Value::from(head.get(name)?)))).collect()
        };
        let Some(then) = self.calls.get(&call) else { return };
        let what = format!("{} (headers)", then.asked.start);
        let (recorded, actual) = (headers(&then.asked), headers(head));
        self.compare(self.seq_of(call), &what, &recorded, &actual);
    }

    fn compare(&mut self, seq: u64, what: &str, recorded: &Value, actual: &Value) {
        let mismatches = self.learned.compare(recorded, actual, &self.ids).into_iter();
        let finding = |mismatch| Finding::Differs { seq, what: what.to_owned(), mismatch };
        self.findings.extend(mismatches.map(finding));
    }

    fn seq_of(&self, call: u64) -> u64 {
        self.steps.iter().find(|step| step.call == call).map_or(0, |step| step.seq)
    }

    /// Matches a line of the other side with the recording.
    pub fn on_line(&mut self, line: &[u8]) -> LineMatch {
        let actual = message(line);
        let Some(at) = self.find(line, actual.as_ref()) else {
            let what = shown(line);
            self.findings.push(Finding::Unexpected { what });
            let answer = match actual.as_ref().map(kind) {
                Some(Kind::Request(method, id)) => {
                    let error =
                        json!({"code": 0, "message": format!("the recording has no further `{method}`")});
                    Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into_bytes())
                }
                Some(Kind::Notification(_) | Kind::Response(_) | Kind::Other) | None => None,
            };
            return LineMatch::Unknown { answer };
        };
        self.steps[at].done = true;
        if let (Some(actual), Some(recorded)) = (&actual, self.steps[at].message.take()) {
            if let (Kind::Request(_, then), Kind::Request(_, now)) = (kind(&recorded), kind(actual)) {
                self.ids.insert(then.to_string(), now.clone());
            }
            self.compare(self.steps[at].seq, &name(&recorded), &recorded, actual);
        }
        let call = self.steps[at].call;
        self.advance();
        LineMatch::Known { call }
    }

    /// Returns the differences so far, one a line, and a last line with their number.
    pub fn report(&self) -> Vec<String> {
        let open = self.steps.iter().filter(|step| !step.done);
        let open = open.map(|step| {
            let what = if step.mine { format!("(not played) {}", step.what()) } else { step.what() };
            Finding::Missing { seq: step.seq, what }.to_string()
        });
        let mut report: Vec<String> = self.findings.iter().map(ToString::to_string).chain(open).collect();
        let lines = self.steps.len();
        report.push(match report.len() {
            0 => format!("{lines} lines replayed, all as recorded"),
            1 => format!("{lines} lines replayed, 1 difference"),
            some => format!("{lines} lines replayed, {some} differences"),
        });
        report
    }

    fn miss(&mut self, at: usize) {
        self.steps[at].done = true;
        let what = self.steps[at].what();
        self.findings.push(Finding::Missing { seq: self.steps[at].seq, what });
    }

    fn advance(&mut self) {
        while self.steps.get(self.first).is_some_and(|step| step.done) {
            self.first += 1;
        }
    }

    /// Returns the next step to send.
    fn next(&self) -> Option<usize> {
        (self.first..self.steps.len()).find(|at| self.steps[*at].mine && !self.steps[*at].done)
    }

    /// Returns a later answer to send, if its request has arrived.
    fn asked_for(&self, after: usize) -> Option<usize> {
        let asked = |at: &usize| self.steps[*at].answers.is_some_and(|request| self.steps[request].done);
        (after + 1..self.steps.len())
            .filter(|at| self.steps[*at].mine && !self.steps[*at].done)
            .find(|at| self.gate(*at).is_none() && asked(at))
    }

    /// Returns the step that a step to send has to wait for.
    fn gate(&self, at: usize) -> Option<usize> {
        let theirs = |before: &usize| !self.steps[*before].mine && !self.steps[*before].done;
        let mut before = (self.first..at).filter(theirs);
        match (self.role, self.steps[at].answers) {
            // An answer waits only for its request, because a client may ask more before it has the answer.
            (Role::Server, Some(request)) => Some(request).filter(theirs),
            // A message that the server starts belongs to the oldest open call, and follows the answers to the server's
            // requests.
            (Role::Server, None) => before.find(|before| match self.steps[*before].dependency {
                _ if self.steps[at].call > 0 && self.steps[*before].call == self.steps[at].call => true,
                Some(Dependency::Response) => true,
                Some(Dependency::Request { answered }) => answered.is_none_or(|answered| answered > at),
                None => false,
            }),
            // A client waits for all requests and answers, and for the last line before its own, such as the end of a
            // turn.
            (Role::Client, _) => {
                let last = (self.first..at).rev().find(|before| !self.steps[*before].mine);
                before.find(|before| self.steps[*before].dependency.is_some() || Some(*before) == last)
            }
        }
    }

    /// Finds the recorded step of a received line.
    fn find(&self, line: &[u8], actual: Option<&Value>) -> Option<usize> {
        let open =
            || (self.first..self.steps.len()).filter(|at| !self.steps[*at].mine && !self.steps[*at].done);
        let of_its_kind = |at: &usize| {
            let recorded = self.steps[*at].message.as_ref();
            match (actual.map(kind), recorded.map(kind)) {
                (Some(Kind::Request(now, _)), Some(Kind::Request(then, _)))
                | (Some(Kind::Notification(now)), Some(Kind::Notification(then))) => now == then,
                (Some(Kind::Response(now)), Some(Kind::Response(then))) => now == then,
                (Some(Kind::Other), Some(Kind::Other)) => actual == recorded,
                (None, None) => self.steps[*at].bytes == line,
                _ => false,
            }
        };
        let params = actual.and_then(|actual| actual.get("params"));
        let same = |at: &usize| {
            self.steps[*at].message.as_ref().and_then(|recorded| recorded.get("params")) == params
        };
        match actual.map(kind) {
            // Concurrent requests of one method may arrive in another order.
            Some(Kind::Request(..)) => {
                open().filter(of_its_kind).find(same).or_else(|| open().find(of_its_kind))
            }
            _ => open().find(of_its_kind),
        }
    }

    /// Returns a line to send with the ids of this run; unchanged byte by byte if it holds none.
    fn spoken(&self, at: usize) -> Vec<u8> {
        let step = &self.steps[at];
        let Some(recorded) = &step.message else { return step.bytes.clone() };
        let mut message = recorded.clone();
        let mut changed = self.learned.apply(&mut message, &self.ids);
        if let Kind::Response(id) = kind(recorded)
            && let Some(now) = self.ids.get(&id.to_string()).filter(|now| *now != id)
        {
            message["id"] = now.clone();
            changed = true;
        }
        if changed { message.to_string().into_bytes() } else { step.bytes.clone() }
    }
}

impl Step {
    fn what(&self) -> String {
        self.message.as_ref().map_or_else(|| shown(&self.bytes), name)
    }
}

fn message(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

fn kind(message: &Value) -> Kind<'_> {
    match (message.get("method").and_then(Value::as_str), message.get("id")) {
        (Some(method), Some(id)) => Kind::Request(method, id),
        (Some(method), None) => Kind::Notification(method),
        (None, Some(id)) => Kind::Response(id),
        (None, None) => Kind::Other,
    }
}

/// Returns the name of a message in a finding.
fn name(message: &Value) -> String {
    match kind(message) {
        Kind::Request(method, _) | Kind::Notification(method) => method.to_owned(),
        Kind::Response(id) => format!("the answer to {id}"),
        Kind::Other => shown(message.to_string().as_bytes()),
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MAX_SHOWN_CHARS)]);
    clip::chars(&text, MAX_SHOWN_CHARS).into_owned()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { seq, what, mismatch } => write!(f, "#{seq} {what}: {mismatch}"),
            Self::Unexpected { what } => write!(f, "not in the recording: {what}"),
            Self::Missing { seq, what } => write!(f, "#{seq} was not received: {what}"),
        }
    }
}

#[cfg(test)]
mod tests;
