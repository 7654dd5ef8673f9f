//! `/keys`: the keys of the console, with a switch for those that are letters and digits; the palette shows the page at `?`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::context;

use crate::error::Failure;
use crate::page::{self, Place};
use adjutant_app::App;

/// The keys by the place where they act, each with what it does. Keys that are pressed one after the other have a space
/// between them.
const KEYS: [(&str, &[(&str, &str)]); 4] = [
    (
        "On every page",
        &[
            ("Ctrl K", "find anything"),
            ("/", "search the page"),
            ("?", "these keys"),
            ("G I", "Inbox"),
            ("G T", "Tasks"),
            ("G S", "Sessions"),
            ("G A", "Activity"),
            ("G P", "Prompts"),
            ("G N", "Agents"),
            ("G C", "Calendar"),
            ("G ,", "Settings"),
        ],
    ),
    ("In a list", &[("J", "next"), ("K", "previous"), ("Enter", "open"), ("C", "new task, or new session")]),
    (
        "In the Inbox",
        &[
            ("1 – 9", "move to an answer of the question that has the focus; 1 opens its form"),
            ("R", "move to the recommended answer"),
            ("Enter", "give it"),
        ],
    ),
    (
        "On a question",
        &[
            ("1 – 9", "choose; of an approval, move to an answer"),
            ("Enter", "answer"),
            ("R", "answer as recommended"),
            ("J", "next question"),
            ("K", "previous question"),
            ("Esc", "undo, or one step back"),
        ],
    ),
];

pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let key = |key: &(&str, &str)| context! { keys => key.0, what => key.1 };
    let groups: Vec<_> = KEYS
        .into_iter()
        .map(|(label, keys)| context! { label, keys => keys.iter().map(key).collect::<Vec<_>>() })
        .collect();
    page::page(&app, Place::Nowhere, "keyboard.html", context! { groups }).await
}
