//! Adjutant: a local hub for coding agents over MCP.
//!
//! Interfaces translate, domains decide, infrastructure touches the outside world; `app` builds and connects them.
//! Calls go down, values come back, and what happens without a call goes up as an event.
//! `ARCHITECTURE.md` has the map; `tests/it/architecture.rs` holds its rules.
// The future of a connection holds those of every method, down to the last library: whether it may go to another thread
// is asked more than 128 types deep.
#![recursion_limit = "256"]

mod cli;
mod install;

pub use cli::run;

/// What `cargo fuzz` drives; it alone sets `cfg(fuzzing)`.
#[cfg(fuzzing)]
pub mod fuzzing {
    use adjutant_mcp::transport;

    /// Reads one line as the edge does. Whatever it is, it is read or refused; a refusal is one JSON line, and what
    /// was read says the same when it is written and read again.
    pub fn edge(line: &[u8]) {
        let _ = transport::envelope::id_in_head(line);
        let Ok(text) = std::str::from_utf8(line.trim_ascii()) else { return };
        match transport::read(text) {
            Ok(Some(message)) => {
                let written = serde_json::to_string(&message).expect("a message is JSON");
                let again = transport::read(&written);
                let again = again.unwrap_or_else(|refusal| panic!("{written} is refused: {refusal:?}"));
                let again = again.expect("a message stays one");
                assert_eq!(written, serde_json::to_string(&again).expect("a message is JSON"));
            }
            Ok(None) => {}
            Err(refusal) => assert!(!refusal.to_json().to_string().contains('\n')),
        }
    }
}
