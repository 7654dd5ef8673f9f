//! The replay of one side of a recording to a program that has the other side.
//!
//! A player without I/O: lines of the other side go in with [`Player::hear`], lines of ours come out of
//! [`Player::due`] once everything has come that they answered. What the other side says is held against what it said
//! then; ids and what is new with each run are taken over into what is played.

mod diff;
mod script;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::{Value, json};

use super::http_head::{HEADERS, Head};
use super::reader;
use super::reader::Found;
use diff::{Difference, IdMapping};
pub use script::{Call, Over, answer_line};
use script::{Script, Step, Tie};

/// Characters of a message in a finding.
const SHOWN: usize = 160;

/// Which side is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Server,
    Client,
}

/// Plays one side.
#[derive(Debug)]
pub struct Player {
    role: Role,
    steps: Vec<Step>,
    /// The requests of HTTP, by their numbers.
    pub calls: BTreeMap<u64, Call>,
    /// Before this one all is played, or has come.
    first: usize,
    /// The other side's ids by those in the recording.
    ids: HashMap<String, Value>,
    learned: IdMapping,
    findings: Vec<Finding>,
    /// How the server ended, where it did so before its client.
    pub exit: Option<i32>,
}

/// What was not as it was recorded.
#[derive(Debug, PartialEq, Eq)]
pub enum Finding {
    /// A line came with another value.
    Differs { seq: u64, what: String, difference: Difference },
    /// A line came that nobody sent then.
    Unexpected { what: String },
    /// A line never came.
    Missing { seq: u64, what: String },
}

/// A line to send, and how long after the one before it came then.
#[derive(Debug)]
pub struct Due {
    pub bytes: Vec<u8>,
    /// Microseconds.
    pub after: u64,
    /// The request of HTTP that it belongs to, or is; whether it is the head of its answer; what stands before it in an
    /// event stream.
    pub call: u64,
    pub is_head: bool,
    pub lead: Vec<u8>,
}

/// What a line of the other side is in the recording.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// The request of HTTP that it belongs to, or is; 0 otherwise.
    Known { call: u64 },
    /// Nobody said it then. Who asked is told so.
    Unknown { answer: Option<Vec<u8>> },
}

/// What a message is to the one who has to match it.
#[derive(Debug, PartialEq)]
enum Kind<'a> {
    Request(&'a str, &'a Value),
    Notification(&'a str),
    Response(&'a Value),
    Other,
}

impl Player {
    /// Reads a recording. Members named in `ignore` are not compared.
    pub fn new(role: Role, over: Over, found: &Found, ignore: &[String]) -> Result<Self, reader::Error> {
        let Script { steps, calls, exit } = Script::read(role, over, found)?;
        let learned = IdMapping::ignoring(ignore);
        Ok(Self { role, steps, calls, first: 0, ids: HashMap::new(), learned, findings: Vec::new(), exit })
    }

    /// Returns the next line of ours, when all that it rests on has come.
    pub fn due(&mut self) -> Option<Due> {
        let next = self.next()?;
        let at = match self.gate(next) {
            None => next,
            // Somebody who asks in another order is answered in that order.
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

    /// Says what the next line of ours waits for.
    pub fn waits_for(&self) -> Option<String> {
        self.gate(self.next()?).map(|gate| self.steps[gate].what())
    }

    /// Gives up what the next line of ours waits for.
    pub fn give_up(&mut self) {
        if let Some(gate) = self.next().and_then(|next| self.gate(next)) {
            self.miss(gate);
            self.advance();
        }
    }

    /// Tells whether all of ours is played and all of theirs has come that is a request or an answer.
    pub fn is_done(&self) -> bool {
        self.steps[self.first..].iter().all(|step| step.done || (!step.mine && step.tie.is_none()))
    }

    /// Takes the end of an answer of HTTP: what has not come of it never will.
    pub fn ended(&mut self, call: u64) {
        let open = |step: &Step| step.call == call && !step.mine && !step.done;
        while let Some(at) = self.steps.iter().position(open) {
            self.miss(at);
        }
        self.advance();
    }

    /// Tells whether more of ours is to come in a request of HTTP.
    pub fn goes_on(&self, call: u64) -> bool {
        self.steps[self.first..].iter().any(|step| step.mine && !step.done && step.call == call)
    }

    /// Holds the head of a client's request against the one that it was then, but for what its HTTP library says.
    pub fn asked_with(&mut self, call: u64, head: &Head) {
        let told = |head: &Head| -> Value {
            let named = HEADERS.into_iter().filter(|name| !matches!(*name, "accept" | "content-type"));
            named.filter_map(|name| Some((name.to_owned(), Value::from(head.get(name)?)))).collect()
        };
        let Some(then) = self.calls.get(&call) else { return };
        let differences = self.learned.compare(&told(&then.asked), &told(head), &self.ids);
        let (seq, what) = (self.seq_of(call), format!("{} (headers)", then.asked.start));
        self.findings.extend(differences.into_iter().map(|difference| Finding::Differs {
            seq,
            what: what.clone(),
            difference,
        }));
    }

    fn seq_of(&self, call: u64) -> u64 {
        self.steps.iter().find(|step| step.call == call).map_or(0, |step| step.seq)
    }

    /// Takes a line of the other side.
    pub fn hear(&mut self, line: &[u8]) -> Heard {
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
            return Heard::Unknown { answer };
        };
        self.steps[at].done = true;
        if let (Some(actual), Some(recorded)) = (&actual, self.steps[at].message.take()) {
            if let (Kind::Request(_, then), Kind::Request(_, now)) = (kind(&recorded), kind(actual)) {
                self.ids.insert(then.to_string(), now.clone());
            }
            let (seq, what) = (self.steps[at].seq, name(&recorded));
            let differences = self.learned.compare(&recorded, actual, &self.ids);
            self.findings.extend(differences.into_iter().map(|difference| Finding::Differs {
                seq,
                what: what.clone(),
                difference,
            }));
        }
        let call = self.steps[at].call;
        self.advance();
        Heard::Known { call }
    }

    /// Returns what was not as it was then, up to now: a line each, and a last one that counts them.
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

    /// The next line of ours.
    fn next(&self) -> Option<usize> {
        (self.first..self.steps.len()).find(|at| self.steps[*at].mine && !self.steps[*at].done)
    }

    /// An answer of ours further on whose request has come.
    fn asked_for(&self, after: usize) -> Option<usize> {
        let asked = |at: &usize| self.steps[*at].answers.is_some_and(|request| self.steps[request].done);
        (after + 1..self.steps.len())
            .filter(|at| self.steps[*at].mine && !self.steps[*at].done)
            .find(|at| self.gate(*at).is_none() && asked(at))
    }

    /// Returns the step that one of ours has to wait for.
    fn gate(&self, at: usize) -> Option<usize> {
        let theirs = |before: &usize| !self.steps[*before].mine && !self.steps[*before].done;
        let mut before = (self.first..at).filter(theirs);
        match (self.role, self.steps[at].answers) {
            // A client that did not wait for one answer before it asked more must not be waited for with the others.
            (Role::Server, Some(request)) => Some(request).filter(theirs),
            // What a server says of itself belongs to the call that is open longest, and comes behind the answers to
            // what it asked.
            (Role::Server, None) => before.find(|before| match self.steps[*before].tie {
                _ if self.steps[at].call > 0 && self.steps[*before].call == self.steps[at].call => true,
                Some(Tie::Response) => true,
                Some(Tie::Request { answered }) => answered.is_none_or(|answered| answered > at),
                None => false,
            }),
            // A client has seen all answers, and what came last before it spoke, as the end of a turn.
            (Role::Client, _) => {
                let last = (self.first..at).rev().find(|before| !self.steps[*before].mine);
                before.find(|before| self.steps[*before].tie.is_some() || Some(*before) == last)
            }
        }
    }

    /// Finds what a line of theirs was then.
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
            // Two of one method at once may come in another order.
            Some(Kind::Request(..)) => {
                open().filter(of_its_kind).find(same).or_else(|| open().find(of_its_kind))
            }
            _ => open().find(of_its_kind),
        }
    }

    /// A line of ours with the ids of this run; byte by byte as it was where there is nothing to change.
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

/// What a message is called in a finding.
fn name(message: &Value) -> String {
    match kind(message) {
        Kind::Request(method, _) | Kind::Notification(method) => method.to_owned(),
        Kind::Response(id) => format!("the answer to {id}"),
        Kind::Other => shown(message.to_string().as_bytes()),
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]).into_owned();
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain(['…']).collect() }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { seq, what, difference } => write!(f, "#{seq} {what}: {difference}"),
            Self::Unexpected { what } => write!(f, "not in the recording: {what}"),
            Self::Missing { seq, what } => write!(f, "#{seq} never came: {what}"),
        }
    }
}

#[cfg(test)]
mod tests;
