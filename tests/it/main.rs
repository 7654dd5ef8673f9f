//! The one integration binary: every test drives the real `adjutant` at its boundary, bytes in, bytes out.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test fails by panicking, starts what it tests by itself, and is nobody's library"
)]

mod support;

mod agents;
mod agents_cli;
mod architecture;
mod assistant;
mod calendar;
mod cli;
mod clients;
mod codex;
mod combined;
mod conformance;
mod docs;
mod doctor;
mod edge;
mod eras;
mod http;
mod hub;
mod inbox;
mod install;
mod packaging;
mod popups;
mod process;
mod prompts;
mod prompts_cli;
mod protocol;
mod recorder;
mod service;
mod store;
mod tasks_cli;
mod web;
