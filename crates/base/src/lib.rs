//! Configuration, events, logging, traces and text: what every layer uses.

pub mod config;
pub mod events;
#[cfg(any(test, feature = "testing"))]
pub mod fuzz;
pub mod logging;
pub mod metrics;
pub mod mutex;
pub mod spans;
pub mod text;
pub mod trace_context;
