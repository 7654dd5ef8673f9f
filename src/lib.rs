//! Adjutant: a local-first MCP hub, the desk between a person and their coding agents.
//!
//! Doors translate, rooms decide, the ground touches the outside world; `app` builds and wires them.
//! Calls go down, values come back, what happens by itself goes up as an [`events::Event`].
//! `ARCHITECTURE.md` has the map; `tests/it/architecture.rs` holds the allowed edges.

// Doors.
mod cli;
mod http;
mod mcp;
mod relay;
mod socket;
mod web;

// The application.
mod app;

// Rooms.
mod agents;
mod prompts;

// Ground.
mod config;
mod events;
mod folders;
mod names;
mod process;
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the agents room is built on it next"))]
mod store;
mod telemetry;
mod yaml;

pub use cli::run;
