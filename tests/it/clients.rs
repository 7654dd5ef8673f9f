//! Real clients drive the real binary, each in a separate home, with nothing beyond loopback.

mod agents;
mod delegation;
mod documentation;
mod inspector;
mod other_runners;
mod permissions;
mod planner;
mod questions;
mod sdks;
mod tokens;

use std::path::PathBuf;

use crate::support::Home;

/// The expansion of `:research tides`.
const EXPANDED: &str = "You are a focused researcher.\n\nTopic:\ntides";

/// A home with one prompt in the hub's folder; returns the folder too.
fn home_with_research() -> (Home, PathBuf) {
    let home = Home::new();
    let file = home.write(
        ".adjutant/prompts/research.md",
        "---\ndescription: Research a topic.\n---\nYou are a focused researcher.\n\nTopic:\n{{input}}\n",
    );
    (home, file.parent().unwrap().to_owned())
}
