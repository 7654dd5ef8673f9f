//! Prompt commands in a message as a user writes it: `:name` where a word begins.

use std::ops::Range;

/// Maximum commands of one message; nobody writes more on purpose.
const MAX_COMMANDS: usize = 8;

/// Punctuation before the first name of a message.
const OPENING: [char; 11] = ['"', '\'', '(', '*', '_', '“', '”', '„', '‘', '’', '«'];
/// Punctuation after a name, as in `:research, please`.
const CLOSING: [char; 15] = ['.', ',', ';', '!', '?', '"', '\'', ')', '*', '_', '”', '“', '’', '‘', '»'];

/// One command and the text that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Command<'a> {
    pub name: &'a str,
    /// The text up to the next command, without white space around it.
    pub input: &'a str,
}

/// Returns whether a message may hold a command. The check reads no file, so a message without one costs nearly
/// nothing.
pub fn may_hold_any(message: &str) -> bool {
    words(message).next().is_some()
}

/// Finds the commands of a message. `is_known` returns whether a prompt has a name; anything else that begins with a
/// colon is ordinary text, and so is everything in code. Punctuation after a name does not belong to it.
pub fn find(message: &str, is_known: impl Fn(&str) -> bool) -> Vec<Command<'_>> {
    let name = |word: &Range<usize>| {
        let whole = &message[word.start + 1..word.end];
        [whole, whole.trim_end_matches(CLOSING)].into_iter().find(|name| is_known(name))
    };
    let known: Vec<_> =
        words(message).filter_map(|word| Some((name(&word)?, word))).take(MAX_COMMANDS).collect();
    let ends: Vec<usize> = known.iter().skip(1).map(|(_, next)| next.start).chain([message.len()]).collect();
    let command = |((name, word), end): ((_, Range<usize>), usize)| Command {
        name,
        input: message[word.end..end].trim(),
    };
    known.into_iter().zip(ends).map(command).collect()
}

/// Returns the name of the command that a message seems to begin with, whether a prompt has it or not.
pub fn first(message: &str) -> Option<&str> {
    let word = words(message).next().filter(|word| word.start == beginning(message))?;
    let name = message[word.start + 1..word.end]
        .trim_end_matches(|letter: char| letter == ':' || CLOSING.contains(&letter));
    name.starts_with(char::is_alphanumeric).then_some(name)
}

/// Returns the offset at which a message begins, after white space and punctuation.
fn beginning(message: &str) -> usize {
    message.len() - message.trim_start().trim_start_matches(OPENING).len()
}

/// Returns the words outside of code that begin with a colon.
fn words(message: &str) -> impl Iterator<Item = Range<usize>> {
    let beginning = beginning(message);
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &message[at..];
            let start = at + (rest.len() - rest.trim_start().len());
            let word = message[start..].split(char::is_whitespace).next().filter(|word| !word.is_empty())?;
            at = match ticks(word) {
                // Code ends at as many ticks as it began with; ticks that nothing closes are text.
                (before, count) if count > 0 => {
                    let open = start + before + count;
                    closing(&message[open..], count).map_or(open, |end| open + end)
                }
                _ => start + word.len(),
            };
            let (start, end) = (start.max(beginning), start + word.len());
            let after_space = start == beginning || message[..start].ends_with(char::is_whitespace);
            if after_space && end > start + 1 && message[start..].starts_with(':') && !word.contains('`') {
                return Some(start..end);
            }
        }
    })
}

/// Returns the offset of the first ticks of a word, and their number.
fn ticks(word: &str) -> (usize, usize) {
    let before = word.find('`').unwrap_or(word.len());
    let rest = &word[before..];
    (before, rest.len() - rest.trim_start_matches('`').len())
}

/// Returns the position after the next run of exactly `count` ticks.
fn closing(text: &str, count: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let run = text[begin..].len() - text[begin..].trim_start_matches('`').len();
        at = begin + run;
        if run == count {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: &[(&str, &str)]) {
        let known = ["research", "team/review", "a"];
        let found = find(message, |name| known.contains(&name));
        let found: Vec<_> = found.iter().map(|command| (command.name, command.input)).collect();
        assert_eq!(found, expected, "{message}");
    }

    #[test]
    fn commands_stand_where_words_begin() {
        check(":research how bees sleep", &[("research", "how bees sleep")]);
        check("please\n:team/review \"the draft\"\nand more", &[("team/review", "\"the draft\"\nand more")]);
        check("\u{a0}:a :research x", &[("a", ""), ("research", "x")]);
        check(":a", &[("a", "")]);
        check(":research, please: bees", &[("research", "please: bees")]);
        check("(:research) bees", &[("research", "bees")]);
        for quoted in ["“:research” bees", "„:research“ bees", "‘:research’, bees", "«:research» bees"]
        {
            check(quoted, &[("research", "bees")]);
        }
        check("run :research... then :team/review!", &[("research", "then"), ("team/review", "")]);
    }

    #[test]
    fn the_first_name_is_read_without_punctuation() {
        for (message, name) in [
            (":resarch bees", Some("resarch")),
            ("  \":resarch\" bees", Some("resarch")),
            ("(:resarch) bees", Some("resarch")),
            ("“:resarch” bees", Some("resarch")),
            ("**:resarch** bees", Some("resarch")),
            (":resarch:", Some("resarch")),
            ("**:resarch**: bees", Some("resarch")),
            (":team/reveiw, now", Some("team/reveiw")),
            ("`:resarch` bees", None),
            ("please :resarch", None),
            ("::resarch", None),
            (":) :(", None),
            ("", None),
        ] {
            assert_eq!(first(message), name, "{message}");
        }
    }

    #[test]
    fn other_colons_are_text() {
        for message in [
            "at 10:30",
            "a:research",
            "::research",
            ":research:",
            ":Research",
            ":",
            "",
            "http://a :) \\:a (:a)",
            "x:a :b",
        ] {
            check(message, &[]);
        }
        check("`:a x` and ``` :a\n:a ``` :research y", &[("research", "y")]);
        check("a ` tick :a", &[("a", "")]);
        check("```\n:a\n```", &[]);
        check("``a` :a ``", &[]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(message in "[ :a`\n\\\\é]{0,40}") {
            for command in find(&message, |_| true) {
                proptest::prop_assert!(message.contains(command.name) && message.contains(command.input));
            }
            proptest::prop_assert!(first(&message).is_none_or(|name| message.contains(name)));
        }
    }
}
