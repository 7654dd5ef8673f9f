//! Which definitions of projects the person trusts: one line of JSON each, in a file of the home.
//!
//! A definition is trusted by its place and the digest of its bytes, so a change in the file asks again, and so does
//! the same file in another project.

use std::path::Path;

use serde_json::{Value, json};

use super::definition::Agent;
use crate::folders::{place, read_text};

/// Bytes of the file; some thousand lines.
const LARGEST: usize = 1024 * 1024;

/// Tells whether an agent's file is trusted as it was read. A file that cannot be read trusts nobody.
pub(super) fn knows(store: &Path, agent: &Agent) -> bool {
    let Some(wanted) = entry(agent) else { return false };
    let text = read_text(store, LARGEST).unwrap_or_default();
    text.lines().any(|line| serde_json::from_str::<Value>(line).is_ok_and(|known| known == wanted))
}

/// Adds an agent's file, in place of what was trusted at its place before. The error is a sentence fragment.
pub(super) fn add(store: &Path, agent: &Agent) -> Result<(), String> {
    let Some(entry) = entry(agent) else { return Ok(()) };
    let before = if store.exists() { read_text(store, LARGEST)? } else { String::new() };
    let others = before.lines().filter(|line| {
        serde_json::from_str::<Value>(line).is_ok_and(|known| known.get("file") != entry.get("file"))
    });
    let text: String = others.map(|line| format!("{line}\n")).chain([format!("{entry}\n")]).collect();
    place::put(store, &text)
}

/// Returns the line of an agent; nothing for one that is compiled in.
fn entry(agent: &Agent) -> Option<Value> {
    let file = agent.source.file.as_deref()?;
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    Some(json!({ "file": file.to_string_lossy(), "digest": agent.digest }))
}
