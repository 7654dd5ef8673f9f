//! `/patterns`, in development builds only: each part of the console in each of its states, for the eye and for tests.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use crate::error::Failure;
use crate::markdown;
use crate::page::{self, Place};
use adjutant_app::App;

/// The classes of [`crate::pages::tasks`], of questions and of notifications.
const STATES: [&str; 14] = [
    "queued",
    "starting",
    "running",
    "asking",
    "pending",
    "planned",
    "succeeded",
    "verified",
    "sent",
    "failed",
    "refuted",
    "cancelled",
    "lost",
    "unknown",
];

/// The classes of the timeline's entries.
const ENTRIES: [&str; 6] = ["connected", "delegated", "succeeded", "refuted", "failed", "left"];

const CHANGE: &str = "--- a/cart.ts\n+++ b/cart.ts\n@@ -1,3 +1,3 @@\n function prices(): List {\n-  return sorted('name');\n+  return sorted('price');\n }\n";

const MARKDOWN: &str = "## Finding\n\n1. `cart.ts` sorts by **name**\n2. [the build](https://ci.example.org/4711) fails\n\n> A quotation.\n\n```\nnpm test cart\n```\n";

pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let now = jiff::Timestamp::now().as_millisecond();
    let task = |standing: &str| {
        context! {
            id => standing, task => "Sort the price list by name", standing, standing_text => standing, agent => "reviewer",
            asked_by => "claude-code", runner => "codex", took => "4 min", ended => true, cancelling => false, created_at => now,
        }
    };
    let line = |kind: &str| {
        context! {
            kind, of => "agents", actor => "reviewer", action => kind, prompt => (), text => "Sort the price list by name",
            path => "/patterns", at => now,
        }
    };
    let choices = [("failed", "Failed"), ("running", "Running")];
    let choice = |(word, label): (&str, &str)| context! { word, label, here => word == "failed" };
    let values = context! {
        states => STATES,
        choices => choices.map(choice),
        tasks => STATES.map(task),
        lines => ENTRIES.map(line),
        change => CHANGE,
        markdown => Value::from_safe_string(markdown::html(MARKDOWN)),
    };
    page::page(&app, Place::Nowhere, "patterns.html", values).await
}
