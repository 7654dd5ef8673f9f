//! Questions for the console's tests. They are written to the store's table, so that the pages are tested without the
//! interfaces through which agents ask, which have other tests.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::console_client::Console;
use crate::support::DEADLINE;

/// A field of a question.
pub(crate) fn field(name: &str, label: &str, input: Value) -> Value {
    json!({"name": name, "label": label, "description": "", "required": true, "input": input})
}

/// A choice between options whose values are their labels in lower case.
pub(crate) fn choice(options: &[&str], max: usize) -> Value {
    let options: Vec<Value> =
        options.iter().map(|label| json!({"label": label, "value": label.to_lowercase()})).collect();
    json!({"kind": "choice", "options": options, "min": 1, "max": max, "other": max > 1})
}

/// Stores a question; returns its page's path. `number` distinguishes the questions of one test.
pub(crate) fn ask(
    console: &Console,
    number: u32,
    title: &str,
    message: &str,
    fields: &[Value],
    level: &str,
) -> String {
    // The table exists after the first request to the hub.
    assert_eq!(console.get("/questions").status, 200);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let ticket = format!("q{number:020}");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let workspace = console.home.path().canonicalize().unwrap().join("work").display().to_string();
    let form = json!({"fields": fields, "default": null}).to_string();
    let statements = format!(
        "BEGIN IMMEDIATE;\n\
         INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, asked_at, deadline, seen_ms)\n\
         VALUES ('{ticket}', {number}, '{ticket}', 'a', 'claude-code', {}, {}, '{level}', 'pending', {now}, {}, 0);\n\
         INSERT INTO question_bodies VALUES ('{ticket}', {}, {});\n\
         INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at)\n\
         VALUES ('{ticket}', 'a', '', '', 's', {now});\n\
         UPDATE question_counts SET pending = pending + 1;\nCOMMIT;\n",
        quoted(&workspace),
        quoted(title),
        now + 86_400_000,
        quoted(message),
        quoted(&form),
    );
    console.sql(&statements);
    format!("/questions/{ticket}")
}

/// Waits until a page contains a text.
pub(crate) fn wait_for_text(console: &Console, path: &str, wanted: &str) -> String {
    let end = Instant::now() + DEADLINE;
    loop {
        let page = console.get(path).body;
        if page.contains(wanted) {
            return page;
        }
        assert!(Instant::now() < end, "{path} never shows {wanted}:\n{page}");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}
