//! What a person has in a terminal: the inbox, where questions of agents are answered by keys, or without a screen by
//! lines; and the view of Codex sessions, in [`codex`].
//!
//! In the inbox, three threads: one waits for keys, one follows the hub, one does what the person decided. What they learn comes to
//! [`screen`] as [`inbox::Input`]s, which alone change the state; drawing only reads it.

pub(crate) mod codex;
mod editor;
mod entry;
mod inbox;
mod message;
mod plain;
mod reach;
mod screen;
mod sheet;
mod theme;
mod view;
mod wrap;

use std::path::PathBuf;

pub(crate) use plain::{Hidden, Reader, run as run_plain};
pub(crate) use screen::{Fault, run};
pub(crate) use theme::Theme;

use crate::socket::Start;

/// How the hub is found.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    pub(crate) home: PathBuf,
    /// Where it listens unless it was told otherwise; `None` when that door is switched off.
    pub(crate) socket: Option<PathBuf>,
    /// Whether the first look may start one. Later looks do not: a person who stops a hub wants it stopped.
    pub(crate) start: Start,
}

#[cfg(test)]
mod tests;
