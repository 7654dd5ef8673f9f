//! What holds for every format.

use std::sync::Arc;

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::{Draft, Foreign, Format, read, write};
use crate::{Prompt, Source, parse};
use adjutant_base::text::front_matter;
use adjutant_base::text::yaml::scalar;

fn parsed(draft: &Draft) -> Result<Arc<Prompt>, String> {
    let source = Source { root: "here".to_owned(), relative: format!("{}.md", draft.name), file: None };
    parse::prompt(&draft.name, source, &draft.text(), String::new()).map(Arc::new)
}

fn foreign(name: &str, text: &str) -> Foreign {
    Foreign { name: name.to_owned(), text: text.to_owned(), second: None }
}

fn bodies() -> impl Strategy<Value = String> {
    let part = "\\$ARGUMENTS|\\$[1-9]|\\$\\$|\\$[A-Z_]{1,4}|\\$\\{input:[a-c]\\}|\\$\\{input:a:hint\\}|\\{\\{input\\}\\}|\\{\\{[a-c]\\}\\}|!`ls`|[ a-z.#:\n-]{1,6}|\\PC{0,3}";
    proptest::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

/// Bodies with the places that a format knows, each a separate word.
fn native(format: Format) -> impl Strategy<Value = String> {
    let places = match format {
        Format::Claude | Format::ClaudeSkill => {
            "\\$ARGUMENTS|\\$0 \\$[1-9]|\\$ARGUMENTS\\[[0-9]\\]|\\$\\$|\\{\\{input\\}\\}|!`ls`"
        }
        Format::Codex => "\\$ARGUMENTS|\\$[1-9]|\\$\\$|\\$[A-Z]{1,3}|\\{\\{input\\}\\}",
        Format::Copilot => "\\$\\{input:[a-c]\\}|\\$\\{input:[a-c]:hint\\}|\\$\\{file\\}|\\{\\{input\\}\\}",
        Format::Opencode => "\\$ARGUMENTS|\\$[1-9]|\\$\\$|!`ls`",
        Format::Gemini => "\\{\\{args\\}\\}|\\$1|!\\{ls\\}",
        Format::Cursor => "\\{\\{input\\}\\}|\\$1",
        Format::Fabric => "\\{\\{input\\}\\}|\\{\\{[a-c]\\}\\}|\\$1",
    };
    let part = format!("{places}|[a-z]{{1,5}}|[a-z]+[.:]\n|# [a-z]+\n");
    proptest::collection::vec(proptest::string::string_regex(&part).unwrap(), 1..10)
        .prop_map(|parts| parts.join(" "))
}

proptest! {
    #[test]
    fn an_imported_body_is_the_authors(body in bodies(), format in select(Format::ALL)) {
        if let Ok(draft) = read(format, &foreign("p", &body)) {
            // A rule of dashes at the top may be front matter, and a command of Gemini is TOML.
            if format != Format::Gemini && !body.trim_start_matches('\u{feff}').starts_with("---") {
                prop_assert_eq!(draft.body.as_str(), body.trim_start_matches('\u{feff}').trim());
            }
            let prompt = parsed(&draft);
            prop_assert!(prompt.is_ok(), "{}: {prompt:?}", draft.text());
            prop_assert_eq!(&prompt.unwrap().body, &draft.body);
        }
    }

    #[test]
    fn import_and_export_settle((format, body) in select(Format::ALL).prop_flat_map(|format| (proptest::strategy::Just(format), native(format)))) {
        let text = if format == Format::Gemini { format!("prompt = '''\n{body}'''") } else { body };
        let Ok(first) = read(format, &foreign("p", &text)) else { return Ok(()) };
        let once = write(format, &parsed(&first).unwrap(), "p").unwrap();
        let Ok(second) = read(format, &foreign("p", &once.text)) else {
            // A prompt that is nothing but its input leaves nothing for Cursor.
            prop_assert_eq!(format, Format::Cursor);
            return Ok(());
        };
        let twice = write(format, &parsed(&second).unwrap(), "p").unwrap();
        prop_assert_eq!(&once.text, &twice.text);
        let third = read(format, &foreign("p", &twice.text)).unwrap();
        prop_assert_eq!(second.text(), third.text());
        if !matches!(format, Format::Codex | Format::Cursor) {
            prop_assert_eq!(first.text(), second.text());
        }
    }

    #[test]
    fn a_scalar_is_read_as_it_was_meant(text in any::<String>()) {
        let document = format!("---\nkey: {}\n---\nBody", scalar(&text));
        let parsed = front_matter::parse(&document).unwrap();
        prop_assert!(parsed.invalid.is_none(), "{document:?}: {:?}", parsed.invalid);
        prop_assert_eq!(parsed.values["key"].as_str(), Some(text.as_str()));
    }

    #[test]
    fn nothing_panics(text in "(---\n)?([a-z-]{1,8}: ?[\\[\\]a-z<>=*'\" ]{0,12}\n){0,4}(---\n)?\\PC{0,30}", format in select(Format::ALL)) {
        let _ = read(format, &Foreign { name: text.clone(), text, second: Some("x".to_owned()) });
    }
}

#[test]
fn words_that_yaml_would_take_for_something_else_are_quoted() {
    for text in [
        "yes",
        "null",
        "~",
        "1.0",
        "- a",
        "a: b",
        "a #b",
        " a",
        "",
        "[a]",
        "*",
        "é: x",
        "2026-01-01",
        "0x10",
        "a:",
    ] {
        assert!(scalar(text).starts_with('"'), "{text}");
    }
    for text in ["Plain words", "it's 5 o'clock", "a:b", "é"] {
        assert_eq!(scalar(text), text);
    }
}
