//! The mismatches of two messages, without values that are new in each run.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde_json::Value;

use adjutant_base::text::clip;

/// Numbers from here on are instants, or are derived from one. Two such numbers count as equal.
const MIN_INSTANT: f64 = 1e9;
/// Minimum characters of a generated name.
const MIN_OPAQUE_CHARS: usize = 16;
/// Maximum characters of a shown value.
const MAX_SHOWN_CHARS: usize = 120;

/// A value that differs from the recorded one.
#[derive(Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path of the value: names of members, joined by dots.
    path: String,
    /// The value as JSON; `None` if it is absent.
    recorded: Option<String>,
    actual: Option<String>,
}

/// The names of this run, by those in the recording.
#[derive(Debug, Default)]
pub(super) struct IdMapping {
    names: BTreeMap<String, String>,
    taken: HashSet<String>,
    /// Progress tokens, kept apart because a number has another meaning elsewhere.
    tokens: HashMap<String, Value>,
    ignored: HashSet<String>,
}

impl IdMapping {
    /// Creates a mapping that ignores members with these names.
    pub(super) fn ignoring(names: &[String]) -> Self {
        Self { ignored: names.iter().cloned().collect(), ..Self::default() }
    }

    /// Returns the mismatches, and learns new names. `ids` are the other side's ids by those in the recording.
    pub(super) fn compare(
        &mut self,
        recorded: &Value,
        actual: &Value,
        ids: &HashMap<String, Value>,
    ) -> Vec<Mismatch> {
        let mut found = Vec::new();
        self.walk(&mut Vec::new(), recorded, actual, ids, &mut found);
        found
    }

    /// Puts the names of this run into a recorded message. Returns whether the message changed.
    pub(super) fn apply(&self, message: &mut Value, ids: &HashMap<String, Value>) -> bool {
        match message {
            Value::String(text) => {
                let now = self.renamed(text);
                let changed = now != *text;
                *text = now;
                changed
            }
            Value::Array(values) => {
                values.iter_mut().fold(false, |changed, value| self.apply(value, ids) | changed)
            }
            Value::Object(members) => members.iter_mut().fold(false, |changed, (name, value)| {
                let known = match name.as_str() {
                    "progressToken" => self.tokens.get(&value.to_string()),
                    "requestId" => ids.get(&value.to_string()),
                    _ => None,
                };
                match known {
                    Some(now) => {
                        *value = now.clone();
                        true
                    }
                    None => self.apply(value, ids) | changed,
                }
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn walk<'a>(
        &mut self,
        path: &mut Vec<&'a str>,
        recorded: &'a Value,
        actual: &'a Value,
        ids: &HashMap<String, Value>,
        found: &mut Vec<Mismatch>,
    ) {
        match (recorded, actual) {
            (Value::Object(then), Value::Object(now)) => {
                let added = now.keys().filter(|name| !then.contains_key(*name));
                for name in then.keys().chain(added) {
                    let envelope = path.is_empty() && matches!(name.as_str(), "id" | "jsonrpc");
                    if envelope || self.ignored.contains(name) {
                        continue;
                    }
                    path.push(name);
                    match (then.get(name), now.get(name)) {
                        (Some(then), Some(now)) => self.walk(path, then, now, ids, found),
                        (then, now) => found.push(mismatch(path, then, now)),
                    }
                    path.pop();
                }
            }
            (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
                for (then, now) in then.iter().zip(now) {
                    path.push("[]");
                    self.walk(path, then, now, ids, found);
                    path.pop();
                }
            }
            (then, now) if then == now => {}
            (then, now) => {
                let known = match path.last().copied() {
                    Some("progressToken") => {
                        self.tokens.insert(then.to_string(), now.clone());
                        true
                    }
                    Some("requestId") => ids.get(&then.to_string()) == Some(now),
                    _ => false,
                };
                if !known && !self.is_same(then, now) {
                    found.push(mismatch(path, Some(then), Some(now)));
                }
            }
        }
    }

    /// Returns whether two values differ only because they are of different runs.
    fn is_same(&mut self, then: &Value, now: &Value) -> bool {
        match (then, now) {
            (Value::Number(then), Value::Number(now)) => {
                [then, now].iter().all(|number| number.as_f64().is_some_and(|number| number >= MIN_INSTANT))
            }
            (Value::String(then), Value::String(now)) => {
                if self.renamed(then) == *now || (is_instant(then) && is_instant(now)) {
                    return true;
                }
                let new = is_opaque(then) && is_opaque(now) && then.len() == now.len();
                if !new || self.names.contains_key(then) || !self.taken.insert(now.clone()) {
                    return false;
                }
                self.names.insert(then.clone(), now.clone());
                true
            }
            _ => false,
        }
    }

    /// Returns a text with all names of the recording replaced.
    fn renamed(&self, text: &str) -> String {
        if let Some(now) = self.names.get(text) {
            return now.clone();
        }
        let known = self.names.iter().filter(|(then, _)| text.contains(then.as_str()));
        known.fold(text.to_owned(), |text, (then, now)| text.replace(then, now))
    }
}

/// Returns whether a text is a name that was generated for a run: long, one word, with digits.
fn is_opaque(text: &str) -> bool {
    text.len() >= MIN_OPAQUE_CHARS
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns whether a text begins with an instant in RFC 3339.
fn is_instant(text: &str) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    text.len() >= shape.len()
        && text.bytes().zip(shape).all(|(byte, shape)| match shape {
            b'd' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}

fn mismatch(path: &[&str], recorded: Option<&Value>, actual: Option<&Value>) -> Mismatch {
    let text = |value: &Value| clip::chars(&value.to_string(), MAX_SHOWN_CHARS).into_owned();
    Mismatch { path: path.join("."), recorded: recorded.map(text), actual: actual.map(text) }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, recorded, actual } = self;
        match (recorded, actual) {
            (Some(then), Some(now)) => write!(f, "{path} was {then}, is {now}"),
            (Some(then), None) => write!(f, "{path} was {then}, is missing"),
            (None, Some(now)) => write!(f, "{path} is {now}, was absent"),
            (None, None) => f.write_str(path),
        }
    }
}
