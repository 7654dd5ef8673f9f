//! The check of a template before it is loaded. Fuel counts instructions, not bytes: `{% set a = a ~ a %}` forty times
//! over would be a terabyte. So what could multiply text or lists outside the counted filters is refused when a file is
//! read.

use super::filters::{FILTERS, TESTS};

/// Tags that only choose, repeat, name and include.
const TAGS: [&str; 8] = ["if", "elif", "else", "endif", "for", "endfor", "set", "include"];

/// Checks a template, which begins in line `first_line` of its file; the error names line and reason.
pub(super) fn check(template: &str, first_line: usize) -> Result<(), String> {
    let mut at = 0;
    while let Some(open) = template[at..].find('{').map(|found| at + found) {
        let rest = &template[open..];
        let inside = open + 2;
        at = match rest.as_bytes().get(1) {
            Some(b'#') => template[inside..].find("#}").map_or(template.len(), |end| inside + end + 2),
            Some(kind @ (b'{' | b'%')) => {
                let line = || template[..open].matches('\n').count() + first_line;
                inside
                    + region(&template[inside..], *kind == b'%')
                        .map_err(|why| format!("line {}: {why}", line()))?
            }
            _ => open + 1,
        };
    }
    Ok(())
}

/// Checks one `{{ … }}` or `{% … %}` from the end of its opening; returns its length.
fn region(text: &str, is_tag: bool) -> Result<usize, String> {
    let mut check = Check { is_tag, ..Check::default() };
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = if is_tag { "%}" } else { "}}" };
    loop {
        rest = rest.trim_start();
        let closing = rest.strip_prefix(['-', '+']).filter(|rest| rest.starts_with(end)).unwrap_or(rest);
        if closing.is_empty() {
            // Not closed: the parser has the better words for it.
            return Ok(text.len());
        }
        if closing.starts_with(end) {
            check.finish()?;
            return Ok(text.len() - closing.len() + 2);
        }
        let length = token(rest);
        check.token(&rest[..length])?;
        rest = &rest[length..];
    }
}

/// Returns the length of the token at the start: a quoted text, a word or number, or one character.
fn token(text: &str) -> usize {
    let mut letters = text.char_indices();
    match letters.next() {
        Some((_, quote @ ('"' | '\''))) => {
            let mut escaped = false;
            letters
                .find(|(_, letter)| {
                    let ends = *letter == quote && !escaped;
                    escaped = *letter == '\\' && !escaped;
                    ends
                })
                .map_or(text.len(), |(at, _)| at + 1)
        }
        Some((_, first)) if is_word(first) => text.find(|letter| !is_word(letter)).unwrap_or(text.len()),
        Some((_, first)) => first.len_utf8(),
        None => 0,
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[derive(Default)]
struct Check<'a> {
    is_tag: bool,
    tag: &'a str,
    /// Open brackets: `[`, `(`, or `c` for the parenthesis of a call.
    open: Vec<u8>,
    before: &'a str,
    assigns: bool,
    behind_in: bool,
}

impl<'a> Check<'a> {
    fn token(&mut self, token: &'a str) -> Result<(), String> {
        let before = std::mem::replace(&mut self.before, token);
        if self.is_tag && self.tag.is_empty() {
            self.tag = token;
            return if TAGS.contains(&token) {
                Ok(())
            } else {
                Err(format!("the tag `{token}` is not available here; there are {}", TAGS.join(", ")))
            };
        }
        if self.open.contains(&b'[') && !constant(token) {
            return Err("a list or an index may hold constants only".to_owned());
        }
        let available = match before {
            "|" if is_name(token) => Some(("filter", FILTERS)),
            "is" if is_name(token) && token != "not" => Some(("test", TESTS)),
            _ => None,
        };
        if let Some((kind, known)) = available.filter(|(_, known)| !known.contains(&token)) {
            return Err(format!(
                "the {kind} `{token}` is not available here; there are {}",
                known.join(", ")
            ));
        }
        match token {
            "~" | "+" | "*" => Err(format!("`{token}` is not available here; write the parts side by side")),
            "{" | "}" => Err("maps are not available here".to_owned()),
            "," if self.open.is_empty() && self.tag == "for" && !self.behind_in => Ok(()),
            "," if !matches!(self.open.last(), Some(b'[' | b'c')) => {
                Err("a list needs brackets here".to_owned())
            }
            "in" => {
                self.behind_in = true;
                Ok(())
            }
            "=" => {
                self.assigns |= self.open.is_empty();
                Ok(())
            }
            "[" => self.enter(b'['),
            "(" => self.enter(if before.ends_with(is_word) && !is_operator(before) { b'c' } else { b'(' }),
            "]" | ")" => {
                self.open.pop();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn enter(&mut self, bracket: u8) -> Result<(), String> {
        self.open.push(bracket);
        if self.open.len() > 16 {
            Err("there are too many brackets within each other".to_owned())
        } else {
            Ok(())
        }
    }

    fn finish(&self) -> Result<(), String> {
        if self.tag == "set" && !self.assigns {
            return Err("`set` needs a value after `=` here".to_owned());
        }
        Ok(())
    }
}

fn constant(token: &str) -> bool {
    token.starts_with(['"', '\'', '-', '.', ',', '[', ']'])
        || token.starts_with(|first: char| first.is_ascii_digit())
        || matches!(token, "true" | "false" | "none" | "True" | "False" | "None")
}

fn is_operator(word: &str) -> bool {
    matches!(word, "in" | "not" | "and" | "or" | "is" | "if" | "else" | "elif" | "include" | "set")
}
