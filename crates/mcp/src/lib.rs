//! Model Context Protocol: transport on byte streams, methods, and tools.
//!
//! Read in this order: [`transport`] (bytes to messages), [`stream_service`] (panics and the contracts' shapes), [`handler`]
//! (methods), [`client_context`] (what all requests of a client share), [`tools`] (tools by toolset),
//! [`protocol_version`] (differences between revisions), [`error`] (all codes).

pub mod agent_session;
pub mod arguments;
pub mod assistant;
pub(crate) mod call_context;
pub mod call_timeout;
pub mod client_context;
pub mod completion;
pub mod connection;
pub mod deliveries;
pub mod error;
pub mod handler;
pub(crate) mod input_required;
pub mod instructions;
pub mod prompts;
pub mod protocol_version;
pub(crate) mod request_state;
pub mod serve;
pub mod skills;
pub mod stream_service;
pub mod subscriptions;
pub(crate) mod task_wire;
pub mod tasks;
pub mod tools;
pub mod toolset;
pub(crate) mod trace_meta;
pub mod transport;
pub mod trigger_popup;
pub mod undelivered;
pub(crate) mod url_elicitations;

pub use agent_session::AgentSession;
pub use client_context::ClientContext;
pub use handler::Handler;
pub use serve::{Peer, serve_handler, serve_stream};
pub use toolset::ToolsetSelection;
