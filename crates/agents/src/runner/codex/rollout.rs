//! What Codex itself keeps of a session: `sessions/YEAR/MONTH/DAY/rollout-…-ID.jsonl` in its home. Its events name no
//! model; the context of each turn stands there, with the model that was asked.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Days that are looked through, the newest first: a session may have begun before midnight, in any zone.
const DAYS: usize = 3;
/// Bytes of a session that are read; the context of a turn stands at its beginning.
const LONGEST: u64 = 16 << 20;

/// Returns the model of a session's last turn, where Codex wrote it down.
pub(crate) fn model(sessions: &Path, id: &str) -> Option<String> {
    let end = format!("-{id}.jsonl");
    let years = newest(sessions).into_iter();
    let days = years.flat_map(|year| newest(&year)).flat_map(|month| newest(&month)).take(DAYS);
    let is_it = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&end));
    let file = days.flat_map(|day| newest(&day)).find(is_it)?;
    let lines = BufReader::new(File::open(file).ok()?.take(LONGEST)).lines().map_while(Result::ok);
    let contexts = lines.filter(|line| line.contains("\"turn_context\""));
    let models = contexts.filter_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        let model = line["payload"]["model"].as_str().filter(|_| line["type"] == "turn_context");
        model.map(ToOwned::to_owned)
    });
    models.last()
}

/// What lies in a folder, by name, the last first; nothing where it cannot be read.
fn newest(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|one, other| other.cmp(one));
    paths
}
