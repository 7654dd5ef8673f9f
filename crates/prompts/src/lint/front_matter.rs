//! Rules about the front matter and the name.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::{File, Severity, rules};
use crate::Prompt;
use crate::formats::Format;
use crate::parse::KNOWN_KEYS;
use adjutant_base::text::front_matter::Parsed;
use adjutant_base::text::suggest::{near_names, to_valid_name};

/// Keys of other programs, because users copy their files.
const THEIRS: [&str; 17] = [
    "name",
    "argument-hint",
    "allowed-tools",
    "model",
    "disable-model-invocation",
    "user-invocable",
    "context",
    "agent",
    "hooks",
    "mode",
    "tools",
    "license",
    "compatibility",
    "metadata",
    "color",
    "tags",
    "author",
];

/// Adds the findings in the front matter and the name.
pub(super) fn check(
    file: &mut File<'_>,
    parsed: &Parsed<'_>,
    foreign: Option<Format>,
    prompt: Option<&Arc<Prompt>>,
) {
    let start = parsed.front_matter.map_or(0, |text| file.offset(text));
    if let Some(reason) = &parsed.invalid {
        let (what, place) = reason.rsplit_once(" at line ").unwrap_or((reason.as_str(), ""));
        let place = place.split_once(", column ").and_then(|(line, column)| {
            let line = file.line(line.parse().ok()?);
            let letters = file.text[line..].char_indices().map(|(at, _)| at);
            Some(line + letters.take(column.parse().ok()?).last()?)
        });
        let (what, hint) = in_plain_words(what);
        let message = format!("the front matter is not valid YAML: {what}");
        file.add(&rules::FRONT_MATTER, place.unwrap_or(start), message, hint.to_owned());
    }
    if foreign.is_none() {
        for key in parsed.values.keys().filter(|key| !KNOWN_KEYS.contains(&key.as_str())) {
            let at = start + parsed.front_matter.and_then(|text| key_at(text, key)).unwrap_or(0);
            if THEIRS.contains(&key.as_str()) {
                let message = format!("`{key}` is for another program and is ignored here");
                file.add_as(&rules::UNKNOWN_KEY, Severity::Note, at, message, None);
            } else {
                let near = near_names(key, KNOWN_KEYS.into_iter());
                let hint = near.first().map(|near| format!("did you mean `{near}`?"));
                file.add(&rules::UNKNOWN_KEY, at, format!("unknown key `{key}`"), hint);
            }
        }
    }
    let described =
        parsed.values.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    // These formats have no front matter.
    if !described && !matches!(foreign, Some(Format::Cursor | Format::Fabric | Format::Gemini)) {
        let hint = "add a line `description: …` between two lines of `---` at the top";
        file.add(&rules::NO_DESCRIPTION, start, "it has no description", hint.to_owned());
    }
    if foreign.is_none() {
        let name = prompt.map(|prompt| prompt.name.clone()).or_else(|| stem(file.path));
        if let Some(name) = name.filter(|name| !name.split('/').all(is_segment)) {
            let better = to_valid_name(&name);
            let hint = (!better.is_empty()).then(|| format!("rename it to `{better}.md`"));
            file.add(
                &rules::NAME,
                0,
                format!("the name `{name}` is hard to type: use lower-case letters, digits, `-` and `_`"),
                hint,
            );
        }
    }
}

/// Returns the fault of invalid YAML and its remedy in plain words, from the message of the parser.
fn in_plain_words(what: &str) -> (String, &'static str) {
    const KEYS: &str = "write each key as `key: value`, from the first column";
    if let Some(key) = what.strip_prefix("duplicate mapping key: ") {
        let key = key.trim_end_matches(" not allowed here");
        return (format!("the key `{key}` is there twice"), "remove one of the two");
    }
    let (words, hint) = match what {
        "it is not a list of keys with values" => ("it has no keys", KEYS),
        what if what.contains("ecursive reference") => {
            ("an alias is a part of its own value", "write the value out")
        }
        what if what.contains("expected string scalar") => ("a key or value is not a text", KEYS),
        what if what.contains("mapping values are not allowed") => {
            ("a value has a colon with a blank after it", "put the value in quotes")
        }
        what if what.contains("did not find expected key") => (
            "a line is neither a key nor a part of the value before it",
            "put a value that begins with `[` in quotes, and begin each key in the same column",
        ),
        what => (what, "put the value in quotes"),
    };
    (words.to_owned(), hint)
}

/// Returns the offset of a key's line.
fn key_at(front_matter: &str, key: &str) -> Option<usize> {
    let mut at = 0;
    for line in front_matter.split_inclusive('\n') {
        let rest = line.trim_start_matches(['"', '\'']);
        if rest
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        {
            return Some(at);
        }
        at += line.len();
    }
    None
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

fn is_segment(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && segment.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}
