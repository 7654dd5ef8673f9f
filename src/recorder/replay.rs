//! One side of a recording, played to whoever has the other.
//!
//! A player without I/O: lines of the other side go in with [`Player::hear`], lines of ours come out of
//! [`Player::due`] once everything has come that they answered. What the other side says is held against what it said
//! then; ids and what is new with each run are taken over into what is played.

mod align;

use std::collections::HashMap;
use std::fmt;

use serde_json::{Value, json};

use super::entry::{Direction, Entry};
use super::read::{self, Found};
use align::{Difference, Learned};

/// Characters of a message in a finding.
const SHOWN: usize = 160;

/// Which side is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Client,
}

/// Plays one side.
#[derive(Debug)]
pub(crate) struct Player {
    role: Role,
    steps: Vec<Step>,
    /// Before this one all is played, or has come.
    first: usize,
    /// The other side's ids by those in the recording.
    ids: HashMap<String, Value>,
    learned: Learned,
    findings: Vec<Finding>,
    /// How the server ended, where it did so before its client.
    pub(crate) exit: Option<i32>,
}

/// A line of the recording.
#[derive(Debug)]
struct Step {
    seq: u64,
    us: u64,
    mine: bool,
    bytes: Vec<u8>,
    message: Option<Value>,
    tie: Option<Tie>,
    /// The request that it answers.
    answers: Option<usize>,
    done: bool,
}

/// What a line has to do with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tie {
    Request { answered: Option<usize> },
    Response,
}

/// What was not as it was recorded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A line came with another value.
    Differs { seq: u64, what: String, difference: Difference },
    /// A line came that nobody sent then.
    Unexpected { what: String },
    /// A line never came.
    Missing { seq: u64, what: String },
}

/// A line to send, and how long after the one before it came then.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) bytes: Vec<u8>,
    /// Microseconds.
    pub(crate) after: u64,
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
    pub(crate) fn new(role: Role, found: &Found, ignore: &[String]) -> Result<Self, read::Error> {
        let mut steps: Vec<Step> = Vec::new();
        let mut exit = None;
        let mut client_ended = false;
        let mut open: HashMap<&str, usize> = HashMap::new();
        read::entries(found, |entry| {
            exit = exit.or(entry.exit.filter(|_| !client_ended));
            client_ended |= entry.end && entry.dir == Direction::C2s;
            if let Some(mine) = mine(role, &entry) {
                let bytes = entry.bytes().unwrap_or_default();
                let direction = entry.dir.as_str();
                let at = if let Some(at) = open.remove(direction) {
                    steps[at].bytes.extend_from_slice(&bytes);
                    at
                } else {
                    steps.push(Step::new(entry.seq, entry.us, mine, bytes.into_owned()));
                    steps.len() - 1
                };
                if entry.more {
                    open.insert(direction, at);
                }
            }
            true
        })?;
        steps.retain(|step| !step.bytes.trim_ascii().is_empty());
        tie(&mut steps);
        let learned = Learned::ignoring(ignore);
        Ok(Self { role, steps, first: 0, ids: HashMap::new(), learned, findings: Vec::new(), exit })
    }

    /// Returns the next line of ours, when all that it rests on has come.
    pub(crate) fn due(&mut self) -> Option<Due> {
        let next = self.next()?;
        let at = match self.gate(next) {
            None => next,
            // Somebody who asks in another order is answered in that order.
            Some(gate) if self.steps[gate].is_request() => self.asked_for(next)?,
            Some(_) => return None,
        };
        self.steps[at].done = true;
        let after = at.checked_sub(1).map_or(0, |before| self.steps[at].us - self.steps[before].us);
        let bytes = self.spoken(at);
        self.advance();
        Some(Due { bytes, after })
    }

    /// Says what the next line of ours waits for.
    pub(crate) fn waits_for(&self) -> Option<String> {
        self.gate(self.next()?).map(|gate| self.steps[gate].what())
    }

    /// Gives up what the next line of ours waits for.
    pub(crate) fn give_up(&mut self) {
        if let Some(gate) = self.next().and_then(|next| self.gate(next)) {
            self.miss(gate);
            self.advance();
        }
    }

    /// Tells whether all of ours is played and all of theirs has come that is a request or an answer.
    pub(crate) fn is_done(&self) -> bool {
        self.steps[self.first..].iter().all(|step| step.done || (!step.mine && step.tie.is_none()))
    }

    /// Takes a line of the other side. Returns what it is told at once: that the recording has no answer.
    pub(crate) fn hear(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let actual = message(line);
        let Some(at) = self.find(line, actual.as_ref()) else {
            let what = shown(line);
            self.findings.push(Finding::Unexpected { what });
            let actual = actual?;
            let Kind::Request(method, id) = kind(&actual) else { return None };
            let error = json!({"code": 0, "message": format!("the recording has no further `{method}`")});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
            return Some(answer.to_string().into_bytes());
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
        self.advance();
        None
    }

    /// Returns what was not as it was then, up to now: a line each, and a last one that counts them.
    pub(crate) fn report(&self) -> Vec<String> {
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
    fn new(seq: u64, us: u64, mine: bool, bytes: Vec<u8>) -> Self {
        Self { seq, us, mine, bytes, message: None, tie: None, answers: None, done: false }
    }

    fn is_request(&self) -> bool {
        matches!(self.tie, Some(Tie::Request { .. }))
    }

    fn what(&self) -> String {
        self.message.as_ref().map_or_else(|| shown(&self.bytes), name)
    }
}

/// Reads the messages, and finds which answer belongs to which request: the last with its id from the other side.
fn tie(steps: &mut [Step]) {
    let mut open: HashMap<(bool, String), usize> = HashMap::new();
    for at in 0..steps.len() {
        let message = message(&steps[at].bytes);
        match message.as_ref().map(kind) {
            Some(Kind::Request(_, id)) => {
                open.insert((steps[at].mine, id.to_string()), at);
                steps[at].tie = Some(Tie::Request { answered: None });
            }
            Some(Kind::Response(id)) => {
                steps[at].tie = Some(Tie::Response);
                steps[at].answers = open.remove(&(!steps[at].mine, id.to_string()));
                if let Some(request) = steps[at].answers {
                    steps[request].tie = Some(Tie::Request { answered: Some(at) });
                }
            }
            Some(Kind::Notification(_) | Kind::Other) | None => {}
        }
        steps[at].message = message;
    }
}

/// Whether an entry is a line of the side that is played; `None` for what is no line of either.
fn mine(role: Role, entry: &Entry<'_>) -> Option<bool> {
    entry.bytes()?;
    match entry.dir {
        Direction::C2s => Some(role == Role::Client),
        Direction::S2c => Some(role == Role::Server),
        Direction::Err | Direction::Note => None,
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
