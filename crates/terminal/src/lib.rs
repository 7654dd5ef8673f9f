//! Interface: the Unix socket, the relay and the terminal views.

pub mod relay;
pub mod socket;
pub mod tui;
