//! Adjutant: a local hub for coding agents over MCP.
//!
//! Interfaces translate, domains decide, infrastructure touches the outside world; `app` builds and connects them.
//! Calls go down, values come back, and what happens without a call goes up as an event.
//! `ARCHITECTURE.md` has the map; `tests/it/architecture.rs` holds its rules.
// The future of a connection contains the futures of all methods and libraries. The proof that it is `Send` recurses
// through more than 128 types.
#![recursion_limit = "256"]

mod cli;
mod install;

pub use cli::run;

/// The target of `cargo fuzz`, which alone sets `cfg(fuzzing)`.
#[cfg(fuzzing)]
pub mod fuzzing {
    use adjutant_mcp::transport::{envelope, read};

    /// Decodes one line as the transport does. A rejection must be one JSON line, and an accepted message must stay the same
    /// when it is encoded and decoded again.
    pub fn transport(line: &[u8]) {
        let _ = envelope::id_in_head(line);
        let Ok(text) = std::str::from_utf8(line.trim_ascii()) else { return };
        match read(text) {
            Ok(Some(message)) => {
                let written = serde_json::to_string(&message).expect("a message is JSON");
                let again = read(&written);
                let again = again.unwrap_or_else(|rejection| panic!("{written} is rejected: {rejection:?}"));
                let again = again.expect("a message stays one");
                assert_eq!(written, serde_json::to_string(&again).expect("a message is JSON"));
            }
            Ok(None) => {}
            Err(rejection) => assert!(!rejection.to_json().to_string().contains('\n')),
        }
    }
}
