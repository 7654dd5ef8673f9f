//! Splits a command line into words, without a shell.

/// Splits `line` as a shell does: at blanks, but not in quotes or after a backslash. Syntax that only a shell can run
/// (pipes, variables, `;`) is an error, because it would silently have no effect. The error is a sentence fragment.
pub fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(inner) => word.push(inner),
                        None => return Err("a quote is not closed"),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some('\\') => match rest.next() {
                            Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                            Some('\n') => {}
                            Some(other) => word.extend(['\\', other]),
                            None => return Err("a quote is not closed"),
                        },
                        Some('$' | '`') => {
                            return Err("no shell runs it: give `sh`, `-c` and the line as a list");
                        }
                        Some(inner) => word.push(inner),
                        None => return Err("a quote is not closed"),
                    }
                }
            }
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => return Err("a backslash ends it"),
            },
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' => {
                return Err("no shell runs it: give `sh`, `-c` and the line as a list");
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if words.is_empty() { Err("it is empty") } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::split;

    #[test]
    fn words_are_a_shells_words() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test -p x", &["cargo", "test", "-p", "x"]),
            ("  a\t b\n", &["a", "b"]),
            ("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
            ("a'b'\"c\"d", &["abcd"]),
            ("'' \"\"", &["", ""]),
            (r#""a\"b\\c\d""#, &[r#"a"b\c\d"#]),
            ("grep '$x|y'", &["grep", "$x|y"]),
        ];
        for (line, words) in cases {
            assert_eq!(
                split(line).as_deref(),
                Ok(*words).map(|w| w.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()).as_deref(),
                "{line}"
            );
        }
        for refused in ["", "  ", "'a", "\"a", "a\\", "a | b", "a && b", "echo $HOME", "\"$x\"", "a > b"] {
            assert!(split(refused).is_err(), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("\\PC{0,12}", 1..6)) {
            let line = words.iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split(&line), Ok(words));
        }
    }
}
