//! Store of the project definitions that the user trusts: one line of JSON each, in a file of the home.
//!
//! A definition is trusted by its path and the digest of its bytes, so a changed file needs trust again, and so does
//! the same file in another project.

use std::path::Path;

use serde_json::{Value, json};

use super::definition::Agent;
use adjutant_host::file_catalogue::{atomic_write, read_text};

/// Most bytes of the file; some thousand lines.
const MAX_BYTES: usize = 1024 * 1024;

/// Returns whether an agent's file is trusted as it was read. A store that cannot be read trusts no agent.
pub(super) fn contains(store: &Path, agent: &Agent) -> bool {
    let Some(wanted) = entry(agent) else { return false };
    let text = read_text(store, MAX_BYTES).unwrap_or_default();
    text.lines().any(|line| serde_json::from_str::<Value>(line).is_ok_and(|known| known == wanted))
}

/// Adds an agent's file, in place of an earlier version at the same path. The error is a sentence fragment.
pub(super) fn add(store: &Path, agent: &Agent) -> Result<(), String> {
    let Some(entry) = entry(agent) else { return Ok(()) };
    let before = if store.exists() { read_text(store, MAX_BYTES)? } else { String::new() };
    let others = before.lines().filter(|line| {
        serde_json::from_str::<Value>(line).is_ok_and(|known| known.get("file") != entry.get("file"))
    });
    let text: String = others.map(|line| format!("{line}\n")).chain([format!("{entry}\n")]).collect();
    atomic_write::put(store, &text)
}

/// Returns the line of an agent; `None` for a bundled one.
fn entry(agent: &Agent) -> Option<Value> {
    let file = agent.source.file.as_deref()?;
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    Some(json!({ "file": file.to_string_lossy(), "digest": agent.digest }))
}
