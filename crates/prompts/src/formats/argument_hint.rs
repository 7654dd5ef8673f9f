//! `argument-hint` of Claude and Codex: what a menu shows after a command, such as `[issue] [--draft]`. It names the
//! arguments and becomes their descriptions, so that an export can write it back.

use crate::Argument;

/// Bytes of a word that names an argument.
const MAX_NAME_BYTES: usize = 64;

/// Returns `count` arguments for the positions of a body, or the argument `input` where it has none. `given` are their
/// names if the file declares them; else the hint names them, and `arg1` is the name of a position without one.
pub(super) fn read(hint: Option<&str>, count: usize, given: &[String]) -> Vec<Argument> {
    if count == 0 {
        return hint.map(|hint| Argument::text("input", hint, false)).into_iter().collect();
    }
    let mut parts = hint.map(parts).unwrap_or_default();
    // Words without brackets are a sentence unless each position has one.
    if parts.len() != count && !parts.iter().any(|part| part.starts_with(['[', '<'])) {
        parts = hint.into_iter().collect();
    }
    let mut arguments: Vec<Argument> = Vec::new();
    for index in 0..count {
        let part = parts.get(index).copied();
        let is_new = |name: &&str| arguments.iter().all(|known| known.name != **name);
        let name = match (given.get(index), part.and_then(name).filter(is_new)) {
            (Some(name), _) => name.clone(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => format!("arg{}", index + 1),
        };
        // The last argument has the rest of the hint.
        let end = if index + 1 == count { parts.len() } else { index + 1 };
        let text = parts.get(index..end).unwrap_or_default().join(" ");
        let is_declared = given.get(index).is_some_and(|name| text == format!("[{name}]"));
        let description = if is_declared { "" } else { &text };
        arguments.push(Argument::text(&name, description, false));
    }
    arguments
}

/// Returns the hint for the arguments that a program takes in order; `input` is the hint of all the text where it takes
/// none of them.
pub(super) fn write(taken: &[&Argument], input: Option<&Argument>) -> String {
    if taken.is_empty() {
        return input.map(|input| input.description.clone()).unwrap_or_default();
    }
    let is_numbered = |(index, argument): (usize, &&Argument)| {
        argument.name == format!("arg{}", index + 1) && argument.description.is_empty()
    };
    if taken.iter().enumerate().all(is_numbered) {
        return String::new();
    }
    let part = |argument: &&Argument| match argument.description.as_str() {
        "" => format!("[{}]", argument.name),
        hint if hint.starts_with(['[', '<']) || !hint.contains(' ') || argument.name.starts_with("arg") => {
            hint.to_owned()
        }
        _ => format!("[{}]", argument.name),
    };
    taken.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// Splits a hint at the blanks outside of its brackets.
fn parts(hint: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let is_end = |letter: char| {
        match letter {
            '[' | '<' | '{' | '(' => depth += 1,
            ']' | '>' | '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ' ' && depth == 0
    };
    hint.split(is_end).filter(|part| !part.is_empty()).collect()
}

/// Returns the word of a part that can name an argument; an option such as `--draft` names none.
fn name(part: &str) -> Option<&str> {
    let word = part.trim_matches(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let is_name = word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    (is_name && word.len() <= MAX_NAME_BYTES).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn a_hint_becomes_descriptions_and_is_written_back() {
        for (hint, count, expected) in [
            (
                "[app-name] [environment]",
                2,
                &[("app-name", "[app-name]"), ("environment", "[environment]")][..],
            ),
            ("<issue> [--draft]", 1, &[("issue", "<issue> [--draft]")]),
            ("[--last N]", 0, &[("input", "[--last N]")]),
            ("[--last N]", 1, &[("arg1", "[--last N]")]),
            ("topic depth", 2, &[("topic", "topic"), ("depth", "depth")]),
            ("The number of the issue", 1, &[("arg1", "The number of the issue")]),
            ("[a] [a]", 2, &[("a", "[a]"), ("arg2", "[a]")]),
            ("[from]", 2, &[("from", "[from]"), ("arg2", "")]),
        ] {
            let arguments = read(Some(hint), count, &[]);
            let shown: Vec<_> =
                arguments.iter().map(|found| (found.name.as_str(), found.description.as_str())).collect();
            assert_eq!(shown, expected, "{hint}");
            if count <= 1 || hint != "[from]" {
                let taken: Vec<_> = arguments.iter().filter(|found| found.name != "input").collect();
                let input = arguments.iter().find(|found| found.name == "input");
                assert_eq!(write(&taken, input), hint);
            }
        }
        let given = ["kind".to_owned(), "old-name".to_owned()];
        let named = read(Some("[component] <old>"), 2, &given);
        assert_eq!((named[0].name.as_str(), named[1].description.as_str()), ("kind", "<old>"));
        assert_eq!(write(&named.iter().collect::<Vec<_>>(), None), "[component] <old>");
        assert_eq!(write(&read(None, 2, &[]).iter().collect::<Vec<_>>(), None), "");
    }
}
