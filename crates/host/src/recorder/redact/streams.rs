//! The redaction of a recording, entry by entry. A secret that passed in parts is found over all of them: a line in
//! several pieces, the lines of a text, the deltas of an item.
//!
//! Entries wait until what follows them cannot change them, and leave in their order. The bytes that wait are bounded.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::Finder;
use serde_json::Value;

use super::super::format::{Direction, Entry};
use super::decoded_text::unescaped;
use super::lexer::{REDACTED, longest_string};
use super::message_strings::{is_message, scan, scan_message};
use super::scan::{Secret, merged, replaced};

/// Maximum bytes of entries that wait for what follows them.
const MAX_WAITING: usize = 16 << 20;
/// Bytes at the end of a stream in which a secret may have begun.
const WINDOW: usize = 64 << 10;
/// Bytes before the waiting ones that say what these are, such as the name of a value.
const CONTEXT: usize = 4 << 10;
/// Maximum bytes of the streams that are remembered for their context alone.
const MAX_CONTEXTS: usize = 8 << 20;
/// Maximum secret questions that are remembered until their answers.
const MAX_ASKED: usize = 1024;
/// Bytes that count for an entry or a context in addition to its content.
const OVERHEAD: usize = 256;

/// Replaces the secrets of a recording.
#[derive(Debug, Default)]
pub struct Redactor {
    waiting: VecDeque<Waiting>,
    /// The number of the first waiting entry.
    first: u64,
    bytes: usize,
    streams: HashMap<String, Stream>,
    /// The streams without a waiting entry, by the time at which the last one left.
    contexts: BTreeMap<u64, String>,
    context_bytes: usize,
    /// The number of the next context.
    next_context: u64,
    /// Sources with an unfinished line.
    unfinished: HashSet<(u64, &'static str)>,
    /// The questions of Codex with secret answers, by the request that asks them.
    asked: HashMap<String, Vec<Value>>,
    /// More were asked than are remembered, so every answer counts as secret.
    asked_too_many: bool,
}

#[derive(Debug)]
struct Waiting {
    entry: Entry<'static>,
    /// The stream that the entry waits for.
    stream: Option<String>,
    rules: Vec<&'static str>,
}

/// A text that passed in several entries, as a reader joins it.
#[derive(Debug, Default)]
struct Stream {
    text: Vec<u8>,
    fragments: VecDeque<Fragment>,
    /// Its number among the contexts, if no entry waits for it.
    context: Option<u64>,
}

/// The part of a stream that is in one entry.
#[derive(Debug)]
struct Fragment {
    entry: u64,
    /// Its bytes in the entry.
    within: Range<usize>,
    /// Its bytes in the stream.
    at: Range<usize>,
    form: Form,
}

/// The form in which an entry has a part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    /// The content of a JSON string.
    Json,
    Base64,
}

/// An entry, and what a search of it alone has found.
#[derive(Debug)]
pub struct Searched<'a> {
    entry: Entry<'a>,
    message: Option<SearchedMessage>,
}

#[derive(Debug)]
struct SearchedMessage {
    delta: Option<Delta>,
    secrets: Vec<Secret>,
}

impl<'a> Searched<'a> {
    /// Searches an entry. Most of the time of a redaction is spent here.
    pub fn of(entry: Entry<'a>) -> Self {
        let line = entry.line.as_deref().map(str::as_bytes);
        let message = line.filter(|line| !entry.more && is_message(line)).map(|line| {
            let delta = delta(line);
            let secrets = scan_message(line, delta.as_ref().map(|delta| &delta.within));
            SearchedMessage { delta, secrets }
        });
        Self { entry, message }
    }

    /// Copies what it borrows.
    pub(crate) fn into_owned(self) -> Searched<'static> {
        Searched { entry: owned(self.entry), message: self.message }
    }
}

impl Redactor {
    /// Takes the next entry, and passes the entries that are finished to `take`, with the rules that were applied.
    pub fn push(&mut self, searched: Searched<'_>, mut take: impl FnMut(&Entry<'_>, &[&'static str])) {
        let Searched { entry, message } = searched;
        let source = (entry.call, entry.dir.name());
        let continues = self.unfinished.contains(&source);
        let Some(bytes) = entry.bytes() else {
            return self.put(entry, None, Vec::new(), &mut take);
        };
        if let Some(SearchedMessage { delta, mut secrets }) = message.filter(|_| !continues) {
            let answers = self.answers(&entry, &bytes);
            if !answers.is_empty() {
                secrets = merged([secrets, answers].concat());
            }
            if let Some(Delta { within, .. }) = &delta {
                // The stream finds those within the delta.
                secrets.retain(|secret| secret.range.end <= within.start || secret.range.start >= within.end);
            }
            let Some(Delta { key, within, base64 }) = delta else {
                let rules = secrets.iter().map(|secret| secret.rule).collect();
                let clean = (!secrets.is_empty()).then(|| replaced(&bytes, &secrets));
                drop(bytes);
                let entry = if let Some(clean) = clean { with_bytes(&entry, &clean) } else { entry };
                return self.put(entry, None, rules, &mut take);
            };
            let rules = secrets.iter().map(|secret| secret.rule).collect();
            let moved = |at: usize| {
                let before = secrets.iter().take_while(|secret| secret.range.end <= at);
                before.fold(at, |at, secret| at + REDACTED.len() - secret.range.len())
            };
            let within_clean = moved(within.start)..moved(within.end);
            let key = format!("{} {} {key}", source.0, source.1);
            let part = &bytes[within];
            let decoded = if base64 { STANDARD.decode(part).ok() } else { None };
            let form = if decoded.is_some() { Form::Base64 } else { Form::Json };
            let plain = decoded.or_else(|| unescaped(part).map(|reading| reading.text));
            self.append(&key, within_clean, plain.as_deref().unwrap_or(part), form);
            let clean = (!secrets.is_empty()).then(|| replaced(&bytes, &secrets));
            drop(bytes);
            let entry = if let Some(clean) = clean { with_bytes(&entry, &clean) } else { entry };
            self.put(entry, Some(key), rules, &mut take);
        } else {
            let key = format!("{} {}", source.0, source.1);
            self.append(&key, 0..bytes.len(), &bytes, Form::Plain);
            if entry.more {
                self.unfinished.insert(source);
            } else {
                self.unfinished.remove(&source);
                if let Some(stream) = self.streams.get_mut(&key) {
                    stream.text.push(b'\n');
                }
            }
            drop(bytes);
            self.put(entry, Some(key), Vec::new(), &mut take);
        }
    }

    /// Passes all waiting entries to `take`: nothing follows them, or not now.
    pub fn finish(&mut self, mut take: impl FnMut(&Entry<'_>, &[&'static str])) {
        let keys: Vec<String> = self.streams.keys().cloned().collect();
        for key in keys {
            self.settle(&key, 0);
        }
        self.leave(&mut take);
    }

    /// Finds the answers to secret questions of Codex: only the question says that they are secret.
    fn answers(&mut self, entry: &Entry<'_>, line: &[u8]) -> Vec<Secret> {
        let asks = entry.dir == Direction::S2c && memchr::memmem::find(line, b"\"isSecret\"").is_some();
        let none_is_open = self.asked.is_empty() && !self.asked_too_many;
        if !asks && (none_is_open || entry.dir != Direction::C2s) {
            return Vec::new();
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
        let request = message["id"].to_string();
        if asks {
            let questions = message["params"]["questions"].as_array().into_iter().flatten();
            let secret = questions.filter(|question| question["isSecret"] == true);
            let names = secret.map(|question| question["id"].clone()).collect();
            if self.asked.len() < MAX_ASKED {
                self.asked.insert(request, names);
            } else {
                self.asked_too_many = true;
            }
            return Vec::new();
        }
        if message.get("result").is_none() {
            return Vec::new();
        }
        let names = self.asked.remove(&request);
        let is_secret = |name: &String| match &names {
            Some(names) => names.iter().any(|one| one == name),
            None => self.asked_too_many,
        };
        let answers = message["result"]["answers"].as_object().into_iter().flatten();
        let given =
            answers.filter(|(name, _)| is_secret(name)).filter_map(|(_, one)| one["answers"].as_array());
        let find = |value: &Value| {
            let text = value.to_string();
            let at: Vec<usize> = memchr::memmem::find_iter(line, text.as_bytes()).collect();
            at.into_iter().map(move |at| Secret { rule: "secret answer", range: at + 1..at + text.len() - 1 })
        };
        given.flatten().filter(|value| value.is_string()).flat_map(find).collect()
    }

    fn append(&mut self, key: &str, within: Range<usize>, bytes: &[u8], form: Form) {
        let entry = self.first + self.waiting.len() as u64;
        let stream = self.streams.entry(key.to_owned()).or_default();
        if let Some(number) = stream.context.take() {
            self.contexts.remove(&number);
            self.context_bytes -= stream.text.len() + OVERHEAD;
        }
        let at = stream.text.len()..stream.text.len() + bytes.len();
        stream.text.extend_from_slice(bytes);
        stream.fragments.push_back(Fragment { entry, within, at, form });
    }

    /// Keeps the context of a stream without a waiting entry, and forgets the oldest contexts over the limit.
    fn keep_context(&mut self, key: &str) {
        let Some(stream) = self.streams.get_mut(key).filter(|stream| stream.fragments.is_empty()) else {
            return;
        };
        stream.context = Some(self.next_context);
        self.contexts.insert(self.next_context, key.to_owned());
        self.next_context += 1;
        self.context_bytes += stream.text.len() + OVERHEAD;
        while self.context_bytes > MAX_CONTEXTS {
            let Some((_, oldest)) = self.contexts.pop_first() else { break };
            let bytes = self.streams.remove(&oldest).map_or(0, |stream| stream.text.len() + OVERHEAD);
            self.context_bytes -= bytes;
        }
    }

    fn put(
        &mut self,
        entry: Entry<'_>,
        stream: Option<String>,
        rules: Vec<&'static str>,
        take: &mut impl FnMut(&Entry<'_>, &[&'static str]),
    ) {
        if self.waiting.is_empty() && stream.is_none() {
            self.first += 1;
            return take(&entry, &rules);
        }
        let entry = owned(entry);
        self.bytes += weight(&entry);
        self.waiting.push_back(Waiting { entry, stream, rules });
        while self.bytes > MAX_WAITING {
            let Some(key) = self.waiting.front().and_then(|first| first.stream.clone()) else { break };
            self.settle(&key, WINDOW);
            if self.waiting.front().is_some_and(|first| first.stream.is_some()) {
                self.settle(&key, 0);
            }
            self.leave(take);
        }
    }

    /// Passes the entries at the front that wait for nothing.
    fn leave(&mut self, take: &mut impl FnMut(&Entry<'_>, &[&'static str])) {
        while self.waiting.front().is_some_and(|first| first.stream.is_none()) {
            let Some(Waiting { entry, rules, .. }) = self.waiting.pop_front() else { return };
            self.first += 1;
            self.bytes = self.bytes.saturating_sub(weight(&entry));
            take(&entry, &rules);
        }
    }

    /// Replaces the secrets of a stream, but for those that may have begun in its last `keep` bytes.
    fn settle(&mut self, key: &str, keep: usize) {
        let Some(stream) = self.streams.get_mut(key).filter(|stream| stream.context.is_none()) else {
            return;
        };
        let secrets = scan(&stream.text);
        let mut end = stream.text.len().saturating_sub(keep);
        let mut known = end;
        if keep > 0 {
            // No entry is divided.
            let starts = |end: usize| {
                stream.fragments.iter().map(|part| part.at.start).take_while(move |at| *at <= end).last()
            };
            end = starts(end).unwrap_or(0);
            known = end;
            // A short secret may be: what is kept of the text has its beginning, so that its end is found, too.
            while let Some(secret) =
                secrets.iter().find(|secret| secret.range.start < end && end < secret.range.end)
            {
                known = secret.range.start;
                if end - known <= WINDOW {
                    break;
                }
                end = starts(known).unwrap_or(0);
                known = end;
            }
        }
        let count = stream.fragments.iter().take_while(|part| part.at.end <= end).count();
        let mut next = 0;
        for part in stream.fragments.drain(..count) {
            let Some(waiting) =
                usize::try_from(part.entry - self.first).ok().and_then(|at| self.waiting.get_mut(at))
            else {
                continue;
            };
            waiting.stream = None;
            while secrets.get(next).is_some_and(|secret| secret.range.end <= part.at.start) {
                next += 1;
            }
            let here = secrets[next..].iter().take_while(|secret| secret.range.start < part.at.end);
            let here: Vec<&Secret> = here.collect();
            if here.is_empty() {
                continue;
            }
            let bytes = waiting.entry.bytes().unwrap_or_default();
            let own = match part.form {
                Form::Base64 => &stream.text[part.at.clone()],
                Form::Plain | Form::Json => &bytes[part.within.clone()],
            };
            let reading = if part.form == Form::Json { unescaped(own) } else { None };
            let mut clean = Vec::new();
            let mut kept = 0;
            for secret in here {
                let start = secret.range.start.saturating_sub(part.at.start);
                let end = secret.range.end.min(part.at.end) - part.at.start;
                let range = reading.as_ref().map_or(start..end, |reading| reading.raw(&(start..end)));
                clean.extend_from_slice(&own[kept..range.start.max(kept)]);
                // The entry with its beginning has the replacement.
                if secret.range.start >= part.at.start {
                    clean.extend_from_slice(REDACTED.as_bytes());
                    waiting.rules.push(secret.rule);
                }
                kept = range.end;
            }
            clean.extend_from_slice(&own[kept..]);
            let clean = if part.form == Form::Base64 { STANDARD.encode(clean).into_bytes() } else { clean };
            let clean = [&bytes[..part.within.start], &clean, &bytes[part.within.end..]].concat();
            let before = weight(&waiting.entry);
            waiting.entry = with_bytes(&waiting.entry, &clean);
            self.bytes = (self.bytes + weight(&waiting.entry)).saturating_sub(before);
        }
        let gone = known.saturating_sub(CONTEXT);
        stream.text.drain(..gone);
        for part in &mut stream.fragments {
            part.at = part.at.start - gone..part.at.end - gone;
        }
        self.keep_context(key);
    }
}

fn weight(entry: &Entry<'_>) -> usize {
    entry.line.as_ref().map_or(0, |line| line.len()) + entry.hex.as_ref().map_or(0, String::len) + OVERHEAD
}

fn owned(entry: Entry<'_>) -> Entry<'static> {
    let Entry { seq, at, us, dir, call, line, hex, more, end, missed, exit } = entry;
    let line = line.map(|line| line.into_owned().into());
    Entry { seq, at, us, dir, call, line, hex, more, end, missed, exit }
}

/// Returns the entry with other bytes.
fn with_bytes(entry: &Entry<'_>, bytes: &[u8]) -> Entry<'static> {
    owned(Entry { line: None, hex: None, ..entry.clone() }.with_bytes(bytes))
}

/// A part of a text that a message brings.
#[derive(Debug)]
struct Delta {
    /// The members that the parts of one text have in common, as one text.
    key: String,
    /// The bytes of the part in the line.
    within: Range<usize>,
    base64: bool,
}

/// The members with a part of a text. Searches are prepared once, because each message of a recording takes all of them.
static TEXTS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| finders(&["delta", "chunk", "deltaBase64"]));
/// The members that the parts of one text have in common.
static IDENTITY: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| {
    finders(&["method", "itemId", "item_id", "call_id", "callId", "processId", "index", "summaryIndex"])
});

fn finders(members: &[&str]) -> Vec<Finder<'static>> {
    members.iter().map(|member| Finder::new(&format!("\"{member}\":")).into_owned()).collect()
}

/// Finds the part of a text in a message.
fn delta(line: &[u8]) -> Option<Delta> {
    let find = |member: &Finder<'_>| member.find(line).map(|at| at + member.needle().len());
    let (from, number) = TEXTS.iter().zip(0..).find_map(|(member, number)| Some((find(member)?, number)))?;
    let base64 = number > 0;
    let from = from + line[from..].iter().take_while(|byte| **byte == b' ').count();
    let within = longest_string(line, from)?;
    let mut key = String::new();
    for member in IDENTITY.iter() {
        if let Some(at) = find(member) {
            let end = line[at..]
                .iter()
                .position(|byte| matches!(byte, b',' | b'}'))
                .map_or(line.len(), |length| at + length);
            key.push_str(&String::from_utf8_lossy(&line[at..end]));
            key.push(' ');
        }
    }
    if let Some(end) = memchr::memmem::find(line, b"_delta\"") {
        let start = memchr::memrchr(b'"', &line[..end]).map_or(0, |at| at + 1);
        key.push_str(&String::from_utf8_lossy(&line[start..end]));
    }
    Some(Delta { key, within, base64 })
}
