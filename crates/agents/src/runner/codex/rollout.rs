//! Rollout files of Codex: `sessions/YEAR/MONTH/DAY/rollout-…-ID.jsonl` in its home.
//!
//! They hold the context of each turn with the model, which the events on stdout do not name.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Days that are searched, the newest first, because a session may have begun before midnight in any time zone.
const MAX_DAYS: usize = 3;
/// Bytes of a session that are read; the context of a turn is at its beginning.
const MAX_BYTES: u64 = 16 << 20;

/// Returns the model of a session's last turn, where its rollout names one.
pub(crate) fn model(sessions: &Path, id: &str) -> Option<String> {
    let end = format!("-{id}.jsonl");
    let years = newest(sessions).into_iter();
    let days = years.flat_map(|year| newest(&year)).flat_map(|month| newest(&month)).take(MAX_DAYS);
    let is_it = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&end));
    let file = days.flat_map(|day| newest(&day)).find(is_it)?;
    let lines = BufReader::new(File::open(file).ok()?.take(MAX_BYTES)).lines().map_while(Result::ok);
    let contexts = lines.filter(|line| line.contains("\"turn_context\""));
    let models = contexts.filter_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        let model = line["payload"]["model"].as_str().filter(|_| line["type"] == "turn_context");
        model.map(ToOwned::to_owned)
    });
    models.last()
}

/// Returns the entries of a folder by name, the last first; none if the folder cannot be read.
fn newest(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|one, other| other.cmp(one));
    paths
}
