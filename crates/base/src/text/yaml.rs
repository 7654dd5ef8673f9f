//! YAML from untrusted files: read within bounds, and written so that every reader understands it alike.

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The reason why a text is refused.
#[derive(Debug)]
pub enum Refused {
    /// The text exceeds the bounds; it may be built to exhaust a parser.
    TooComplex,
    /// The text is not valid YAML; the parser's reason.
    Invalid(String),
}

/// Reads one document of keys with values, within bounds; an empty document has none.
pub fn read(text: &str) -> Result<Map<String, Value>, Refused> {
    match read_as::<Value>(text)? {
        Value::Object(values) => Ok(values),
        Value::Null => Ok(Map::new()),
        _ => Err(Refused::Invalid("it is not a list of keys with values".to_owned())),
    }
}

/// Reads one document as a `T`, within the same bounds. The reason names the line and the key.
pub fn read_as<T: DeserializeOwned>(text: &str) -> Result<T, Refused> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 20_000, max_nodes: 10_000, max_depth: 32, max_aliases: 100, max_anchors: 100,
            max_recorded_anchor_events: 20_000, max_documents: 1, flow_nesting_limit: 32,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 2_000, max_replay_stack_depth: 8 },
        with_snippet: false,
        // `n` and `y` are texts in YAML 1.2, and names in files of users.
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // The other formatter advises the program's author about options of the parser.
        let reason = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
        if is_bomb(&error) { Refused::TooComplex } else { Refused::Invalid(first_line(&reason)) }
    })
}

/// Returns the truth value that an author means: YAML 1.1 had more words than `true` and `false`.
pub fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" => Some(true),
            "false" | "no" | "n" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn is_bomb(error: &serde_saphyr::Error) -> bool {
    use serde_saphyr::Error as E;
    match error {
        E::WithSnippet { error, .. } | E::AliasError { error, .. } => is_bomb(error),
        E::Budget { .. }
        | E::AliasReplayCounterOverflow { .. }
        | E::AliasReplayLimitExceeded { .. }
        | E::AliasExpansionLimitExceeded { .. }
        | E::AliasReplayStackDepthExceeded { .. } => true,
        error => error.to_string().contains("recursion limit"),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(400).collect()
}

/// Returns a text as one YAML scalar that every reader takes for exactly this string.
pub fn scalar(text: &str) -> String {
    let plain = text.starts_with(char::is_alphabetic)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.chars().any(is_awkward)
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if plain { text.to_owned() } else { quoted(text) }
}

/// Returns a text as one YAML scalar in quotes, which is valid in every position.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if is_awkward(c) => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a text of one or more lines as the value of a key at the left margin: as a block that a user can edit if it
/// parses to exactly this text, else as [`scalar`].
pub fn block(text: &str) -> String {
    let can_stand = |c: char| !is_awkward(c) || matches!(c, '\n' | '\t');
    let ends_in_text = text.chars().next_back().is_some_and(|c| !c.is_whitespace());
    if !text.contains('\n') || !ends_in_text || !text.chars().all(can_stand) {
        return scalar(text);
    }
    // The digit is the indentation of the block, so that a parser keeps the blanks at its beginning.
    let mut block = String::from(if text.starts_with([' ', '\t', '\n']) { "|2-" } else { "|-" });
    for line in text.split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.push_str("  ");
            block.push_str(line);
        }
    }
    block
}

/// Returns whether a character must be escaped in YAML: it is not allowed there, or may be taken for a line end.
fn is_awkward(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::{block, quoted, read, scalar};
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn mutated_documents_are_read_or_refused() {
        let corpus = [
            "name: review\ndescription: >-\n  Reads a change\narguments:\n  - {name: a, default: 1.5e3, required: true}\n",
            "a: &x [1, 'two', \"th\\u0072ee\", ~]\nb: *x\n<<: {c: 0x1F}\n? - k\n: |2-\n    text\n...\n",
            "%YAML 1.2\n---\n!!map {\"a\": !!binary aGk=, b: 2026-11-23}\n# end\n",
        ];
        crate::fuzz::run(&corpus, |text| _ = read(text));
    }

    proptest! {
        #[test]
        fn gives_back_what_was_written(text in "[ \\ta-z:#|>'\"\\\\\n\r\u{85}\u{2028}é-]{0,60}", more in "\\PC{0,20}") {
            for text in [text.clone(), more.clone(), format!("{text}\n{more}")] {
                for written in [scalar(&text), quoted(&text), block(&text)] {
                    let document = format!("a: {written}\nb: end\n");
                    let values = read(&document).unwrap_or_else(|error| panic!("{error:?}: {document}"));
                    prop_assert_eq!(values["a"].as_str(), Some(text.as_str()), "{}", document);
                    prop_assert_eq!(values["b"].as_str(), Some("end"), "{}", document);
                }
            }
        }
    }
}
