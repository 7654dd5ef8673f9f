//! The optional YAML block between `---` lines at the top of a prompt file.
//!
//! Two of a hundred real files hold YAML that is not valid (`description: foo: bar`, `argument-hint: [a] [b]`). They
//! are read line by line instead, with a warning. A file that is built to exhaust a parser is refused.

use serde_json::{Map, Value};

use crate::text::yaml::Refused;

/// Bytes of front matter; real ones have a few hundred.
const MAX_BYTES: usize = 64 * 1024;

/// The front matter and the body of a prompt file.
#[derive(Debug, Default)]
pub struct Parsed<'a> {
    /// The text between the `---` lines, unchanged.
    pub front_matter: Option<&'a str>,
    /// The keys with their values, in the order of the file.
    pub values: Map<String, Value>,
    /// Set if the front matter is not valid YAML and was read line by line: the parser's reason.
    pub invalid: Option<String>,
    /// The text after the front matter, trimmed.
    pub body: &'a str,
}

/// Splits a prompt file into front matter and body. A byte-order mark and CR LF line ends are accepted.
///
/// The error says why the file is refused: front matter that is not closed, too large, or too complex.
pub fn parse(text: &str) -> Result<Parsed<'_>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(block) = opened(text) else {
        return Ok(Parsed { body: text.trim(), ..Parsed::default() });
    };
    let Some((front_matter, body)) = closed(block) else {
        return Err("the front matter is not closed by a line of `---`".to_owned());
    };
    if front_matter.len() > MAX_BYTES {
        return Err(format!(
            "the front matter has {} bytes, over the limit of {MAX_BYTES}",
            front_matter.len()
        ));
    }
    // With the opening line, so that a fault is counted in lines of the file.
    let opened = &text[..text.len() - block.len() + front_matter.len()];
    let (values, invalid) = match crate::text::yaml::read(opened) {
        Ok(values) => (values, None),
        Err(Refused::TooComplex) => return Err("the front matter is too complex (YAML bomb?)".to_owned()),
        Err(Refused::Invalid(reason)) => (read_lines(front_matter), Some(reason)),
    };
    Ok(Parsed { front_matter: Some(front_matter), values, invalid, body: body.trim() })
}

/// Returns the text after an opening `---` line.
fn opened(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    (first.trim_end() == "---").then_some(rest)
}

/// Splits at the closing `---` line.
fn closed(block: &str) -> Option<(&str, &str)> {
    let mut start = 0;
    for line in block.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_end() == "---" {
            return Some((&block[..start], &block[end..]));
        }
        start = end;
    }
    None
}

/// Reads `key: rest of the line` from every line that has that form and is not indented; the rest is a string.
fn read_lines(front_matter: &str) -> Map<String, Value> {
    front_matter
        .lines()
        .filter(|line| !line.starts_with([' ', '\t', '#', '-']))
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| !key.trim().is_empty())
        .map(|(key, rest)| (key.trim().to_owned(), Value::from(unquoted(rest.trim()))))
        .collect()
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    fn description(text: &str) -> Option<String> {
        parse(text).ok()?.values.get("description")?.as_str().map(str::to_owned)
    }

    #[test]
    fn reads_what_people_write() {
        for (text, expected) in [
            ("---\ndescription: a\n---\nBody", Some("a")),
            ("\u{feff}---\r\ndescription: a\r\n---\r\nBody\r\n", Some("a")),
            ("---\ndescription: \"a: b\"\n---\nBody", Some("a: b")),
            ("---\ndescription: foo: bar\n---\nBody", Some("foo: bar")),
            ("---\nargument-hint: [app-name] [environment]\ndescription: a\n---\nBody", Some("a")),
            ("---\ndescription: 'quoted' and: more\n---\nBody", Some("'quoted' and: more")),
            ("---\ndescription: >\n  two\n  lines\n---\nBody", Some("two lines\n")),
            ("---   \ndescription: a\n---  \nBody", Some("a")),
            ("---\n# nothing\n---\nBody", None),
            ("---\n---\nBody", None),
            ("---\n- a\n- b\n---\nBody", None),
            ("Body\n---\ndescription: a\n---\n", None),
        ] {
            assert_eq!(description(text).as_deref(), expected, "{text:?}");
            let body = parse(text).map(|parsed| parsed.body);
            assert!(body.is_ok_and(|body| body.starts_with("Body") && !body.ends_with('\n')), "{text:?}");
        }
    }

    #[test]
    fn says_when_it_was_lenient() {
        assert!(parse("---\ndescription: foo: bar\n---\nB").unwrap().invalid.is_some());
        assert!(parse("---\ndescription: foo\n---\nB").unwrap().invalid.is_none());
    }

    #[test]
    fn refuses_what_exhausts_a_parser() {
        let mut laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (this, last) in ('b'..='i').zip('a'..='h') {
            let nine = vec![format!("*{last}"); 9].join(",");
            laughs.extend([format!("{this}: &{this} [{nine}]\n")]);
        }
        let deep = format!("a: {}", "[".repeat(10_000));
        let many = "- x\n".repeat(15_000);
        let large = format!("a: {}", "x".repeat(70_000));
        for bomb in [laughs, deep, many, large] {
            let refused = parse(&format!("---\n{bomb}\n---\nBody")).map(|_| ());
            assert!(refused.is_err(), "{}", &bomb[..30]);
        }
        assert!(parse("---\ndescription: a\nBody").is_err());
    }

    proptest! {
        #[test]
        fn gives_back_what_was_written(description in "\\PC{1,40}", body in "[^ ]\\PC{0,40}[^ ]", end in "\r?\n") {
            let quoted = serde_json::Value::from(description.as_str());
            let text = ["---", &format!("description: {quoted}"), "---", "", &body, ""].join(&end);
            let parsed = parse(&text).unwrap();
            prop_assert_eq!(&parsed.values["description"], &quoted);
            prop_assert_eq!((parsed.body, &parsed.invalid), (body.trim(), &None));
        }

        #[test]
        fn never_panics(text in "(---\n)?[-a-z:&*\\[\\]{}\"'\n #|>!%@`\u{feff}é]{0,80}(\n---\n)?\\PC{0,10}") {
            if let Ok(parsed) = parse(&text) {
                prop_assert_eq!(parsed.body, parsed.body.trim());
                prop_assert!(text.contains(parsed.body));
            }
        }
    }
}
