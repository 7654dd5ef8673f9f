//! The flight recorder: the traffic of each transport, on disk and byte by byte; shown, exported and replayed.

mod faults;
mod log;
mod redaction;
mod replay;
mod tap;
mod transports;

use std::path::PathBuf;

use serde_json::Value;

use crate::support::Home;

/// The recordings in a home, the oldest first; the first file of each.
pub(crate) fn recordings(home: &Home) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(home.path().join(".adjutant/logs/recordings")) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The only recording of a transport.
fn recording(home: &Home, edge: &str) -> PathBuf {
    let start = format!("{edge}-");
    let of_edge = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().starts_with(&start);
    let found: Vec<PathBuf> = recordings(home).into_iter().filter(of_edge).collect();
    assert_eq!(found.len(), 1, "{:?}", recordings(home));
    found.into_iter().next().unwrap()
}

/// Header and entries of a recording.
fn read_recording(file: &PathBuf) -> (Value, Vec<Value>) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.next().unwrap(), lines.collect())
}

/// The bytes of one direction, put together again.
fn direction_bytes(entries: &[Value], direction: &str) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in entries.iter().filter(|entry| entry["dir"] == direction) {
        if let Some(line) = entry["line"].as_str() {
            all.extend_from_slice(line.as_bytes());
        } else if let Some(hex) = entry["hex"].as_str() {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            all.extend((0..hex.len()).step_by(2).map(byte));
        } else {
            continue;
        }
        if entry["more"] != true {
            all.push(b'\n');
        }
    }
    all
}
