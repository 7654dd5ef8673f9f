//! Splits the free text after a command into `KEY=value` pairs and a rest, or into words. Quotes and backslashes mean what
//! they mean to a shell.

use std::borrow::Cow;

/// Takes the `KEY=value` tokens with a key that `wanted` accepts out of `text`, each key once. Returns them in order,
/// and the rest: `text` itself if there were none, else what is left, trimmed.
pub(crate) fn pairs(text: &str, wanted: impl Fn(&str) -> bool) -> (Vec<(&str, Cow<'_, str>)>, Cow<'_, str>) {
    let mut found: Vec<(&str, Cow<str>)> = Vec::new();
    let mut rest = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(start) = next_token(text, at) {
        let pair =
            pair_at(text, start).filter(|(key, ..)| wanted(key) && !found.iter().any(|(k, _)| k == key));
        if let Some((key, value, end)) = pair {
            rest.push_str(&text[kept..start]);
            found.push((key, value));
            let gap = text[end..].len() - text[end..].trim_start().len();
            (kept, at) = (end + gap, end);
        } else {
            at = start + token_length(&text[start..]);
        }
    }
    if found.is_empty() {
        return (found, text.into());
    }
    rest.push_str(&text[kept..]);
    let rest = rest.trim().to_owned();
    (found, rest.into())
}

/// Cuts `text` at its blanks into at most `limit` words.
pub(crate) fn words(text: &str, limit: usize) -> Vec<Cow<'_, str>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_token(text, at).filter(|_| found.len() < limit) {
        let (word, end) = value_at(text, start);
        found.push(word);
        at = end;
    }
    found
}

fn next_token(text: &str, at: usize) -> Option<usize> {
    text[at..].find(|letter: char| !letter.is_whitespace()).map(|gap| at + gap)
}

fn token_length(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

fn pair_at(text: &str, start: usize) -> Option<(&str, Cow<'_, str>, usize)> {
    let token = &text[start..];
    let length =
        token.find(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')))?;
    let value = token[length..].strip_prefix('=').map(|_| start + length + 1)?;
    let (value, end) = value_at(text, value);
    (length > 0).then(|| (&token[..length], value, end))
}

/// Reads one value as a shell does: up to the next blank that is not in quotes or after a backslash. A quote that is not
/// closed is a letter like others.
fn value_at(text: &str, start: usize) -> (Cow<'_, str>, usize) {
    let plain = start + token_length(&text[start..]);
    if !text[start..plain].contains(['"', '\'', '\\']) {
        return (text[start..plain].into(), plain);
    }
    let mut value = String::new();
    let mut at = start;
    while let Some(letter) = text[at..].chars().next().filter(|letter| !letter.is_whitespace()) {
        at += letter.len_utf8();
        match letter {
            '"' | '\'' => match quoted(&text[at..], letter) {
                Some((inner, length)) => {
                    value.push_str(&inner);
                    at += length;
                }
                None => value.push(letter),
            },
            '\\' => {
                let escaped = text[at..].chars().next().unwrap_or(letter);
                value.push(escaped);
                at = text.len().min(at + escaped.len_utf8());
            }
            letter => value.push(letter),
        }
    }
    (value.into(), at)
}

/// Reads up to the closing quote; returns the value and the length with that quote. A backslash escapes in double quotes
/// only.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => match letters.next()?.1 {
                escaped @ ('"' | '\\') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            letter if letter == quote => return Some((value, at + 1)),
            letter => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{pairs, words};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    fn cut(text: &str) -> (Vec<(String, String)>, String) {
        let (found, rest) = pairs(text, |key| matches!(key, "a" | "lang"));
        (
            found.into_iter().map(|(key, value)| (key.to_owned(), value.into_owned())).collect(),
            rest.into_owned(),
        )
    }

    #[test]
    fn takes_pairs_out() {
        let one =
            |key: &str, value: &str, rest: &str| (vec![(key.to_owned(), value.to_owned())], rest.to_owned());
        for (text, expected) in [
            ("lang=de the topic", one("lang", "de", "the topic")),
            ("the topic lang=de", one("lang", "de", "the topic")),
            ("the lang=de  topic", one("lang", "de", "the topic")),
            ("lang=\"a b\" x", one("lang", "a b", "x")),
            ("lang=\"a \\\" b\"", one("lang", "a \" b", "")),
            ("lang='a \\' b'", one("lang", "a \\", "b'")),
            ("lang=a\" \"b c", one("lang", "a b", "c")),
            ("lang=\"open x", one("lang", "\"open", "x")),
            ("lang= x", one("lang", "", "x")),
            ("lang=de lang=fr", one("lang", "de", "lang=fr")),
            ("x=1 http://h/?lang=de", (vec![], "x=1 http://h/?lang=de".to_owned())),
            ("  keeps  blanks ", (vec![], "  keeps  blanks ".to_owned())),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn cuts_words() {
        assert_eq!(words(" one \"two words\" 'x' open\" ", 9), ["one", "two words", "x", "open\""]);
        assert_eq!(words("a b c", 2), ["a", "b"]);
        assert_eq!(words("a\"b c\"d '' don't e\\ f \\", 9), ["ab cd", "", "don't", "e f", "\\"]);
    }

    proptest! {
        #[test]
        fn never_loses_a_word(text in "([a-z=\"'\\\\ ]|lang=|é){0,40}") {
            let (found, rest) = pairs(&text, |key| key == "lang");
            prop_assert!(found.len() <= 1);
            if found.is_empty() {
                prop_assert_eq!(rest.as_ref(), text.as_str());
            } else {
                prop_assert!(rest.len() < text.len());
            }
        }
    }
}
