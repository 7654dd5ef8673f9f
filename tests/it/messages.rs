//! The messages of errors: one table of all of them, and the habits that none of them has.
//!
//! `scripts/test messages -- --nocapture` prints the table for a review: what failed, the value, the next step.

use crate::architecture::sources::sources;
use crate::docs::unknown_commands;

/// A message as it is written in the source.
struct Message {
    file: String,
    /// `error` of a domain, `failure` of a command, its `hint`, or the result of a `check` by `adjutant doctor`.
    kind: &'static str,
    text: String,
}

/// What a message follows in the source, and its kind.
const STARTS: &[(&str, &str)] = &[
    ("#[error(", "error"),
    ("Failure::new(", "failure"),
    ("Failure::usage(", "failure"),
    (".hint(", "hint"),
    ("CheckResult::fail(", "check"),
    ("CheckResult::warn(", "check"),
];

/// Habits of a dialect, each with the words that readers expect.
const HABITS: &[(&str, &str)] = &[
    (" is no ", "is not a"),
    (" are no ", "are not"),
    ("(any more)", "say that it may have ended"),
    ("nobody", "name who"),
    ("whoever", "name who"),
    ("something else than", "say what was expected"),
    ("is there already", "already exists"),
    ("nevertheless", "say what may have happened"),
    (" stands ", "is"),
    ("please", "leave it out"),
    ("sorry", "leave it out"),
    ("oops", "leave it out"),
];

fn messages() -> Vec<Message> {
    let mut found = Vec::new();
    for source in sources() {
        for (start, kind) in STARTS {
            for after in source.text.split(start).skip(1) {
                // A message that only passes another one on has no words.
                if let Some(text) = literal(after).filter(|text| text.contains(char::is_whitespace)) {
                    found.push(Message { file: source.path.display().to_string(), kind, text });
                }
            }
        }
    }
    found
}

/// Returns the string literal with which a call's arguments begin, also as a format, on one line.
fn literal(arguments: &str) -> Option<String> {
    let arguments = arguments.trim_start();
    let arguments = arguments.strip_prefix("format!(").map_or(arguments, str::trim_start);
    let mut escaped = false;
    let text = arguments.strip_prefix('"')?.split(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(text.into_iter().next()?.split("\\\n").map(str::trim_start).collect())
}

#[test]
fn messages_name_what_failed_in_plain_words() {
    let messages = messages();
    let mut faults = Vec::new();
    println!("| kind | file | message |\n|---|---|---|");
    for Message { file, kind, text } in &messages {
        println!("| {kind} | {file} | {text} |");
        let lower = format!(" {} ", text.to_lowercase()).replace("there is no ", "");
        for (habit, instead) in HABITS.iter().filter(|(habit, _)| lower.contains(habit)) {
            faults.push(format!("{file}: `{text}`: not `{}`: {instead}", habit.trim()));
        }
        // Names of programs and standards begin with a capital letter, and so do their abbreviations.
        if text.ends_with('.') || text.starts_with("A ") || text.starts_with("The ") {
            faults.push(format!("{file}: `{text}`: a fragment without a capital letter and a full stop"));
        }
    }
    for kind in ["error", "failure", "hint", "check"] {
        assert!(messages.iter().filter(|message| message.kind == kind).count() > 20, "no {kind} was found");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn messages_name_commands_that_exist() {
    let commands = messages().into_iter().flat_map(|Message { file, text, .. }| {
        // A hint may be a command and nothing else.
        let whole = text.starts_with("adjutant ").then(|| text.clone());
        let quoted = text.split('`').skip(1).step_by(2).filter(|part| part.starts_with("adjutant "));
        let commands: Vec<String> = quoted.map(str::to_owned).chain(whole).collect();
        commands.into_iter().map(move |command| (file.clone(), command.replace('\\', "")))
    });
    let commands: Vec<(String, String)> = commands.collect();
    assert!(commands.len() > 40, "only {} commands were found", commands.len());
    let wrong = unknown_commands(commands);
    assert!(wrong.is_empty(), "no such command or option:\n{}", wrong.join("\n"));
}
