//! The one integration binary: every test drives the real `adjutant` at its boundary, bytes in, bytes out.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test fails by panicking, starts programs by itself, and exports nothing"
)]

mod support;

mod agents;
mod all_toolsets;
mod architecture;
mod assistant;
mod calendar;
mod cli;
mod clients;
mod codex;
mod conformance;
mod deployment;
mod docs;
mod doctor;
mod http;
mod hub;
mod inbox;
mod install;
mod json;
mod messages;
mod packaging;
mod process;
mod prompts;
mod prompts_contract;
mod protocol_versions;
mod questions;
mod recorder;
mod remote_hubs;
mod service;
mod store;
mod traces;
mod transport;
mod web;
mod workers;
