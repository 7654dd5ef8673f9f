//! Terminal views: the Inbox, where the user answers questions by keys or by lines, and the view of Codex sessions in
//! [`codex`].
//!
//! The Inbox has three threads: one waits for keys, one follows the hub, one sends requests. They send
//! [`inbox::Message`]s to [`terminal`], and only these change the state. Drawing only reads it.

mod answer_file;
pub mod codex;
mod hub;
mod hub_worker;
mod inbox;
mod line_mode;
mod pending_approvals;
mod question_form;
mod read_rows;
mod terminal;
mod theme;
mod view;
mod widgets;

pub use hub::Hub;
pub use line_mode::{Hidden, Reader, run as run_plain};
pub use terminal::{ViewError, run};
pub use theme::Theme;

#[cfg(test)]
mod tests;
