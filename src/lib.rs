//! Adjutant: a local-first MCP hub, the desk between a person and their coding agents.
//!
//! Doors translate, rooms decide, the ground touches the outside world; `app` builds and wires them.
//! Calls go down, values come back, what happens by itself goes up as an `events::Event`.
//! `ARCHITECTURE.md` has the map; `tests/it/architecture.rs` holds the allowed edges.
// The future of a connection holds those of every method, down to the last library: whether it may go to another thread
// is asked more than 128 types deep.
#![recursion_limit = "256"]

// Doors.
mod cli;
mod http;
mod mcp;
mod relay;
mod socket;
mod tui;
mod web;

// The application.
mod app;

// Rooms.
mod agents;
mod assistant;
mod codex;
mod install;
mod popups;
mod prompts;

// Ground.
mod channels;
mod clock;
mod config;
mod events;
mod folders;
mod git;
mod llm;
mod names;
mod outbound;
mod process;
mod recorder;
mod service;
mod store;
mod telemetry;
mod trace;
mod visible;
mod yaml;

pub use cli::run;

/// What `cargo fuzz` drives; it alone sets `cfg(fuzzing)`.
#[cfg(fuzzing)]
pub mod fuzzing {
    use crate::mcp::edge;

    /// Reads one line as the edge does. Whatever it is, it is read or refused; a refusal is one JSON line, and what
    /// was read says the same when it is written and read again.
    pub fn edge(line: &[u8]) {
        let _ = edge::envelope::id_in_head(line);
        let Ok(text) = std::str::from_utf8(line.trim_ascii()) else { return };
        match edge::read(text) {
            Ok(Some(message)) => {
                let written = serde_json::to_string(&message).expect("a message is JSON");
                let again = edge::read(&written);
                let again = again.unwrap_or_else(|refusal| panic!("{written} is refused: {refusal:?}"));
                let again = again.expect("a message stays one");
                assert_eq!(written, serde_json::to_string(&again).expect("a message is JSON"));
            }
            Ok(None) => {}
            Err(refusal) => assert!(!refusal.to_json().to_string().contains('\n')),
        }
    }
}
