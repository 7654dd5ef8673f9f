//! The hub's Unix socket: the transport between the one hub of a home and `connect` or the command line.
//!
//! A home has at most one hub: it holds the lock on `hub.lock`, which also names it. The socket belongs to one user: it
//! lies in a folder of mode 0700, has mode 0600, and the hub asks the kernel for the peer's uid. The first line of a
//! connection is a [`Hello`]; then comes the MCP stream, one answer, or the control API.

mod activation;
mod autostart;
mod bind;
mod connect;
pub mod control;
mod error;
mod handshake;
mod holder;
mod lock;
mod permission;
mod principal;
mod relay_writer;
mod remote_agent;
mod server;

pub use activation::{InheritedListeners, inherited_listeners, ready};
pub(crate) use autostart::connect_running;
pub use autostart::{Start, connect_or_start, notify, query};
pub use bind::{link_for_runs, listen, place, private_folder};
pub use connect::{dial, is_listening};
pub use error::Error;
pub use handshake::{Connection, Hello, HelloReply, HookCommand, HookReport, Query, Status};
pub use holder::Holder;
pub(crate) use lock::is_stopped;
pub use lock::{Claim, holder, vacant};
pub use permission::ask_permission;
pub use remote_agent::{accept_agent, refuse, serve_remote_agent, serving_home};
pub use server::{Links, serve};
