//! The redaction of secrets in text that leaves the machine.
//!
//! Only this file and docs/recorder.md define secrets: members of JSON by their names, variables of an environment, and
//! tokens by their form anywhere in a text. A secret that looks like a word is not found.

use std::borrow::Cow;

use serde_json::Value;

use super::format::Entry;

/// The replacement of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Whole names of members with a secret value, in lower case without `-` and `_`.
const NAMES: &[&str] = &["auth", "credential", "credentials", "passwd", "pwd", "bearer", "jwt", "pat"];
/// Ends of such names: `x-api-key`, `OPENAI_API_KEY`, `refreshToken`.
const ENDINGS: &[&str] = &[
    "authorization",
    "cookie",
    "apikey",
    "accesskey",
    "accesskeyid",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "password",
    "passphrase",
    "secret",
    "secretkey",
    "token",
];
/// Names of MCP that have such an end and are not secret.
const HARMLESS: &[&str] = &["progresstoken", "canceltoken", "tasktoken", "pagetoken", "nextpagetoken"];
/// Members that hold an environment.
const ENVIRONMENTS: &[&str] = &["env", "environment", "environmentvariables"];
/// Variables with a value that is shown. All other values are replaced.
const VARIABLES: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LOGNAME", "NO_COLOR", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
];
/// Minimum lengths of tokens, with the prefixes of these tokens.
const TOKENS: &[(usize, &[&str])] = &[
    (15, &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"]),
    (20, &["sk-", "sk_live_", "sk_test_", "rk_live_", "glpat-", "ya29.", "hf_", "AKIA", "ASIA"]),
    (20, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]),
    (30, &["npm_", "pypi-"]),
    (35, &["AIza"]),
    (40, &["eyJ"]),
];
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "PRIVATE KEY-----";

/// Replaces the secrets of an entry. Returns whether there were any.
pub fn entry(entry: &mut Entry<'_>) -> bool {
    let Some(line) = &entry.line else { return false };
    let Some(clean) = line_of(line) else { return false };
    entry.line = Some(clean.into());
    true
}

/// Returns a line with its secrets replaced; `None` without secrets, so that the line stays unchanged byte by byte.
fn line_of(line: &str) -> Option<String> {
    let json = line.strip_prefix("data:").map_or(line, str::trim_start);
    let prefix = &line[..line.len() - json.len()];
    match json.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(json)) {
        Some(Ok(mut value)) => within(&mut value).then(|| format!("{prefix}{value}")),
        _ => match text(line) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        },
    }
}

/// Replaces the secrets in a value. Returns whether there were any.
fn within(value: &mut Value) -> bool {
    match value {
        Value::String(string) => {
            // Arguments of tools are JSON within JSON.
            let clean = line_of(string);
            let found = clean.is_some();
            if let Some(clean) = clean {
                *string = clean;
            }
            found
        }
        Value::Array(values) => values.iter_mut().fold(false, |found, value| within(value) | found),
        Value::Object(members) => members.iter_mut().fold(false, |found, (name, value)| {
            let here = if is_secret(name) {
                hide(value)
            } else if ENVIRONMENTS.contains(&name.to_ascii_lowercase().as_str()) {
                environment(value)
            } else {
                within(value)
            };
            here | found
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether a member of this name has a secret value.
fn is_secret(name: &str) -> bool {
    let bare: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let bare = bare.to_ascii_lowercase();
    !HARMLESS.contains(&bare.as_str())
        && (NAMES.contains(&bare.as_str()) || ENDINGS.iter().any(|ending| bare.ends_with(ending)))
}

/// Replaces a secret: a string, or all strings of a list. Other values are searched, because a schema has a member for
/// each argument.
fn hide(value: &mut Value) -> bool {
    match value {
        Value::String(string) if string.is_empty() || string == REDACTED => false,
        Value::String(string) => {
            REDACTED.clone_into(string);
            true
        }
        Value::Array(values) => values.iter_mut().fold(false, |found, value| hide(value) | found),
        other => within(other),
    }
}

/// Replaces the values of variables: in an object, or in a list of `NAME=VALUE` or of names and values.
fn environment(value: &mut Value) -> bool {
    match value {
        Value::Object(variables) => variables.iter_mut().fold(false, |found, (name, value)| {
            let shown = VARIABLES.contains(&name.as_str());
            found | if shown { within(value) } else { hide(value) }
        }),
        Value::Array(values) => values.iter_mut().fold(false, |found, value| {
            let here = match value {
                Value::String(assigned) => match assigned.split_once('=') {
                    Some((name, value)) if !VARIABLES.contains(&name) && !value.is_empty() => {
                        *assigned = format!("{name}={REDACTED}");
                        true
                    }
                    _ => within(value),
                },
                Value::Object(pair) if pair.contains_key("name") => {
                    let shown = pair["name"].as_str().is_some_and(|name| VARIABLES.contains(&name));
                    pair.get_mut("value").is_some_and(|value| !shown && hide(value))
                }
                other => within(other),
            };
            here | found
        }),
        other => within(other),
    }
}

/// Replaces the tokens of a text.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    // The position up to which the text was copied.
    let mut kept = 0;
    let mut at = 0;
    while at < text.len() {
        let (length, secret) = token(text, at);
        if let Some(secret) = secret {
            clean.push_str(&text[kept..at + secret.start]);
            clean.push_str(REDACTED);
            kept = at + secret.end;
        }
        at += length;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// Returns the length of the word at `at`, and the part of it that is a secret.
fn token(text: &str, at: usize) -> (usize, Option<std::ops::Range<usize>>) {
    let rest = &text[at..];
    if rest.starts_with(KEY_BEGINS)
        && let Some(head) = rest.find(KEY_ENDS).filter(|head| *head < 40)
    {
        let body = head + KEY_ENDS.len();
        let end = rest[body..].find(KEY_ENDS).map_or(rest.len(), |end| body + end + KEY_ENDS.len());
        return (end, Some(0..end));
    }
    let length = rest.find(|c: char| !is_of_token(c)).unwrap_or(rest.len());
    if length == 0 {
        return (rest.chars().next().map_or(1, char::len_utf8), None);
    }
    let word = &rest[..length];
    if let Some(begin) = begins(word) {
        return (length, Some(begin..length));
    }
    let after = &rest[length..];
    // `Bearer TOKEN`, `Basic TOKEN`.
    if matches!(word.to_ascii_lowercase().as_str(), "bearer" | "basic") && after.starts_with(' ') {
        let secret = after[1..].find(|c: char| !is_of_token(c)).unwrap_or(after.len() - 1);
        if secret >= 12 {
            return (length + 1 + secret, Some(length + 1..length + 1 + secret));
        }
    }
    // `https://user:password@host`.
    if let Some(authority) = after.strip_prefix("://") {
        let end = authority.find(['/', '?', '#', ' ', '"', '\'', '\n']).unwrap_or(authority.len());
        if let Some(user) = authority[..end].rfind('@')
            && let Some(colon) = authority[..user].find(':')
        {
            let begin = length + "://".len();
            return (begin + user, Some(begin + colon + 1..begin + user));
        }
    }
    // `OPENAI_API_KEY=…`, also quoted.
    if let Some((name, _)) = word.split_once('=')
        && is_secret(name)
    {
        let begin = name.len() + 1;
        let quote = rest[begin..].chars().next().filter(|c| matches!(c, '"' | '\''));
        let (begin, end) = match quote {
            Some(quote) => {
                let begin = begin + 1;
                (begin, rest[begin..].find(quote).map_or(rest.len(), |end| begin + end))
            }
            None => (begin, length),
        };
        if end > begin {
            return (end.max(length), Some(begin..end));
        }
    }
    (length, None)
}

fn is_of_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '=' | '~')
}

/// Returns the start of a token in a word: the start of the word, or a position after `=` or `/`.
fn begins(word: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(word.match_indices(['=', '/']).map(|(at, _)| at + 1));
    let is_token = |at: &usize| {
        let rest = &word[*at..];
        TOKENS.iter().any(|(least, prefixes)| {
            rest.len() >= *least && prefixes.iter().any(|prefix| rest.starts_with(prefix))
        })
    };
    starts.into_iter().find(is_token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{line_of, text};

    #[track_caller]
    fn check(line: &str, clean: &str) {
        assert_eq!(line_of(line).as_deref().unwrap_or(line), clean);
    }

    #[test]
    fn members_are_secret_by_their_names() {
        check(
            r#"{"headers":{"Authorization":"Bearer a b","X-Api-Key":"k","Set-Cookie":["a","b"],"Accept":"*/*"}}"#,
            r#"{"headers":{"Authorization":"[redacted]","X-Api-Key":"[redacted]","Set-Cookie":["[redacted]","[redacted]"],"Accept":"*/*"}}"#,
        );
        check(
            r#"{"refresh_token":"r","clientSecret":"s","totalTokens":5,"_meta":{"progressToken":"p"},"token":7}"#,
            r#"{"refresh_token":"[redacted]","clientSecret":"[redacted]","totalTokens":5,"_meta":{"progressToken":"p"},"token":7}"#,
        );
        // A schema has a member for each argument; nothing in it is secret.
        check(
            r#"{"properties":{"password":{"type":"string"}}}"#,
            r#"{"properties":{"password":{"type":"string"}}}"#,
        );
    }

    #[test]
    fn of_an_environment_only_harmless_values_are_left() {
        check(
            r#"{"env":{"PATH":"/bin","STRIPE":"x"},"e":{"environment":["A=b","HOME=/h"]}}"#,
            r#"{"env":{"PATH":"/bin","STRIPE":"[redacted]"},"e":{"environment":["A=[redacted]","HOME=/h"]}}"#,
        );
        check(
            r#"{"env":[{"name":"K","value":"v"},{"name":"TERM","value":"dumb"}]}"#,
            r#"{"env":[{"name":"K","value":"[redacted]"},{"name":"TERM","value":"dumb"}]}"#,
        );
    }

    #[test]
    fn tokens_are_found_by_their_looks_in_any_text() {
        let key = format!("sk-{}", "a1".repeat(12));
        check(
            &format!("curl -H 'Authorization: Bearer {}' x", "q".repeat(20)),
            "curl -H 'Authorization: Bearer [redacted]' x",
        );
        check(&format!(r#"{{"output":"key {key}, and sk-1"}}"#), r#"{"output":"key [redacted], and sk-1"}"#);
        check(&format!("https://a.b/?k={key}&c"), "https://a.b/?k=[redacted]&c");
        check(
            "git clone https://me:hunter2@host.example/x@y",
            "git clone https://me:[redacted]@host.example/x@y",
        );
        check("export OPENAI_API_KEY=abc DEBUG=1", "export OPENAI_API_KEY=[redacted] DEBUG=1");
        check("export DB_PASSWORD='a b' x", "export DB_PASSWORD='[redacted]' x");
        let pem = "-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----";
        check(&format!("a\n{pem}\nb"), "a\n[redacted]\nb");
        check(
            r#"data: {"a":{"arguments":"{\"api_key\":\"k\"}"}}"#,
            r#"data: {"a":{"arguments":"{\"api_key\":\"[redacted]\"}"}}"#,
        );
        check("the basic idea of a bearer token", "the basic idea of a bearer token");
    }

    proptest! {
        #[test]
        fn what_is_clean_stays_as_it_is(any in any::<String>()) {
            let once = text(&any).into_owned();
            let again = text(&once).into_owned();
            prop_assert_eq!(again, once);
        }
    }
}
