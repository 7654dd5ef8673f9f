//! The search for secrets in bytes: one pass of an automaton over all anchors, then a check at each of them.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};

use super::anchors::{ANCHORS, Check};
use super::lexer::{Class, REDACTED, decoded, is_mixed, is_of_name, is_placeholder, whole};
use super::tokens::{TOKENS, Token};
use super::{announced, command_arguments, declared_secrets, environment, named, syntax, value_blocks};

/// The rule and the place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) rule: &'static str,
    pub(super) range: Range<usize>,
}

/// The rule of the passwords in the arguments of commands.
const COMMAND: &str = "password of a command";

struct Anchors {
    automaton: AhoCorasick,
    checks: Vec<Check>,
}

/// `None` if the automaton cannot be built, which cannot happen: its table is constant, and a test builds it.
static ALL: LazyLock<Option<Anchors>> = LazyLock::new(|| {
    let of_table = ANCHORS.iter().flat_map(|(check, words)| words.iter().map(|word| (*word, *check)));
    let of_tokens = TOKENS
        .iter()
        .flat_map(|token| token.prefixes.iter().map(move |prefix| (*prefix, Check::Token(token))));
    let (words, checks): (Vec<_>, Vec<_>) = of_table.chain(of_tokens).unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .ok()?;
    Some(Anchors { automaton, checks })
});

/// Finds the secrets that begin in a part of a text.
pub(super) fn search(text: &[u8], part: Range<usize>, found: &mut Vec<Secret>) {
    found.extend(anchored(text, part.clone()));
    runs(text, &part, found);
}

/// Returns secrets in their order, and those that overlap as one.
pub(super) fn merged(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    found.dedup_by(|next, last| {
        let overlap = next.range.start < last.range.end;
        if overlap {
            last.range.end = last.range.end.max(next.range.end);
        }
        overlap
    });
    found
}

/// Returns a copy of `bytes` with its secrets replaced.
pub(super) fn replaced(bytes: &[u8], secrets: &[Secret]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut kept = 0;
    for Secret { range, .. } in secrets {
        clean.extend_from_slice(&bytes[kept..range.start]);
        clean.extend_from_slice(REDACTED.as_bytes());
        kept = range.end;
    }
    clean.extend_from_slice(&bytes[kept..]);
    clean
}

fn anchored(text: &[u8], part: Range<usize>) -> Vec<Secret> {
    let mut found = Vec::new();
    let Some(Anchors { automaton, checks }) = &*ALL else { return found };
    // Anchors within a secret say nothing.
    let mut last = 0..0;
    for anchor in automaton.find_overlapping_iter(Input::new(text).range(part)) {
        if last.contains(&anchor.start()) {
            continue;
        }
        let (start, after) = (anchor.start(), anchor.end());
        let before = found.len();
        let mut one = |rule, range: Option<Range<usize>>| {
            let range = range.filter(|range| !range.is_empty()).map(|range| whole(text, range));
            found.extend(range.map(|range| Secret { rule, range }));
        };
        match checks[anchor.pattern()] {
            Check::Token(token) => one(token.name, vendor(text, start, after, token)),
            Check::Name => {
                for range in named::values(text, start, after) {
                    one("named value", Some(range));
                }
            }
            Check::Environment => {
                for range in environment::values(text, start) {
                    one("environment", Some(range));
                }
            }
            Check::PrivateKey => one("private key", syntax::private_key(text, start, after)),
            Check::Authority => one("password in a URL", syntax::authority(text, after)),
            Check::Scheme => one("authorization", syntax::scheme(text, start, after)),
            Check::User => one("name:password", command_arguments::user(text, after)),
            Check::Command(flag) => one(COMMAND, command_arguments::after_flag(text, after, flag)),
            Check::Second => one(COMMAND, command_arguments::second(text, after)),
            Check::Argument(number) => one(COMMAND, command_arguments::numbered(text, after, number)),
            Check::Settings => {
                for range in command_arguments::settings(text, after) {
                    one(COMMAND, Some(range));
                }
            }
            Check::Call(number) => one("password of a call", announced::in_call(text, after, number)),
            Check::Login => one("password of a login", announced::login(text, start, after)),
            Check::Hook => one("webhook", syntax::hook(text, after)),
            Check::Seed => one("seed phrase", value_blocks::seed(text, after)),
            Check::Htpasswd => one(COMMAND, command_arguments::htpasswd(text, after)),
            Check::Chpasswd => one(COMMAND, command_arguments::piped(text, start)),
            Check::Piped => one(COMMAND, command_arguments::echoed(text, start)),
            Check::Literal => one(COMMAND, command_arguments::literal(text, after)),
            Check::Netrc => one("netrc", syntax::netrc(text, start)),
            Check::Webhook => one("webhook", syntax::webhook(text, after)),
            Check::Hash => one("password hash", syntax::hash(text, start)),
            Check::Pgpass => one("pgpass", syntax::pgpass(text, after)),
            Check::Sql => one("password in SQL", syntax::sql(text, after)),
            Check::Assigned => one("named value", syntax::assigned(text, after)),
            Check::Sensitive => {
                for range in declared_secrets::sensitive(text, start) {
                    one("named value", Some(range));
                }
            }
            Check::Oracle => one("password in a URL", syntax::oracle(text, after)),
            Check::Cookie => one("cookie", syntax::cookie(text, start, after)),
            Check::Digest => one("authorization", syntax::digest(text, after)),
            Check::WebKey => {
                for range in syntax::web_key(text, start) {
                    one("private key", Some(range));
                }
            }
            Check::Putty => one("private key", syntax::putty(text, after)),
            Check::Pair => one("name:password", announced::pair(text, after)),
            Check::Code => one("authorization code", syntax::code(text, after)),
            Check::Manifest => {
                for range in declared_secrets::values(text, start, after) {
                    one("secret of Kubernetes", Some(range));
                }
            }
            Check::Reset => one("password after a prompt", announced::reset(text, start, after)),
            Check::Sent => one("password after a prompt", announced::sent(text, start, after)),
        }
        if let [.., one] = &found[before..]
            && last.end < one.range.end
        {
            last = one.range.clone();
        }
    }
    found
}

fn vendor(text: &[u8], start: usize, after: usize, token: &Token) -> Option<Range<usize>> {
    const MAX_SIGNED: usize = 120;
    let prefix = &text[start..after];
    let exact = token.prefixes.iter().any(|exact| exact.as_bytes() == prefix);
    let in_word = matches!(
        prefix,
        b".atlasv1." | b"8Q~" | b"7Q~" | b"+ASt" | b"+ACR" | b"JQQJ99" | b"AzFu" | b"_secret_"
    );
    // A kebab-case name is not a key: `task-…`, `data-sk-…`.
    let is_name = prefix.len() < 4 && start > 0 && matches!(text[start - 1], b'-' | b'_');
    // Before the tail is read, because a long run of a letter has an anchor at each byte.
    if !exact || is_name || !(in_word || syntax::begins(text, start)) {
        return None;
    }
    // The signature of a vendor may also be in an image, of which more is not read.
    let near = if in_word { &text[..text.len().min(start + MAX_SIGNED + 1)] } else { text };
    let end = token.class.end(near, after);
    if in_word && end - start > MAX_SIGNED {
        return None;
    }
    let tail = &text[after..end];
    let start = if in_word {
        let low = start.saturating_sub(MAX_SIGNED);
        let head = text[low..start].iter().rposition(|byte| !Class::Base64.holds(*byte));
        let head = head.map_or(low, |at| low + at + 1);
        // `NAME=` is not part of it.
        text[head..start].iter().rposition(|byte| *byte == b'=').map_or(head, |at| head + at + 1)
    } else {
        start
    };
    // A signature within a word says nothing of the letters before it.
    let letters = if in_word { &text[start..end] } else { tail };
    if tail.len() < token.min || !is_random(prefix, letters, in_word) {
        return None;
    }
    (!in_word || end - start <= MAX_SIGNED).then_some(start..end)
}

/// Returns whether the text after a prefix looks random. A digit is not required, because one key in thirty has none.
fn is_random(prefix: &[u8], tail: &[u8], in_word: bool) -> bool {
    let has = |of: fn(&u8) -> bool| tail.iter().any(of);
    let (upper, lower) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase));
    // After a long prefix, letters in both cases are enough.
    let clear = prefix.len() > 3
        && (prefix.len() > 8
            || !prefix.iter().all(u8::is_ascii_alphanumeric)
            || prefix.iter().all(u8::is_ascii_uppercase));
    // Nobody writes a word of so many letters, nor of so many capitals after others.
    let only_letters = tail.iter().all(u8::is_ascii_alphanumeric) && !is_placeholder(tail);
    let long = only_letters && tail.len() >= if prefix.len() > 6 { 20 } else { 30 };
    let capitals = only_letters && !lower && prefix.len() > 3 && tail.len() >= 16;
    // support.1password.com/secret-key-security: groups of capitals and digits
    let groups = prefix == b"A3-" && !lower && tail.split(|byte| *byte == b'-').all(|group| group.len() > 4);
    is_mixed(tail)
        || groups
        || (clear || in_word) && (upper && lower || long || capitals || has(u8::is_ascii_digit))
}

/// Finds the secrets without a prefix, which are long runs of letters and digits.
fn runs(text: &[u8], part: &Range<usize>, found: &mut Vec<Secret>) {
    const MIN_RUN: usize = 24;
    let of_run = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
    let mut at = part.start;
    // Each run of this length has a byte here.
    while at + MIN_RUN <= part.end {
        let probe = at + MIN_RUN - 1;
        let Some(back) = text[at..=probe].iter().rposition(|byte| !of_run(*byte)) else {
            let rest = &text[probe..part.end];
            let end = rest.iter().position(|byte| !of_run(*byte)).map_or(part.end, |length| probe + length);
            let rule = run(text, at, end);
            found.extend(rule.map(|(rule, range)| Secret { rule, range }));
            at = end + 1;
            continue;
        };
        at += back + 1;
    }
}

fn run(text: &[u8], start: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    // An escape may precede the run: its letter is not part of it.
    let start = start
        + usize::from(start > 0 && text[start - 1] == b'\\' && matches!(text[start], b'n' | b'r' | b't'));
    let whole = &text[start..end];
    // Telegram: `123456789:AA…`, also in the address of a method
    let first = whole.iter().position(|byte| *byte == b'/').unwrap_or(whole.len());
    if (34..=36).contains(&first) && whole.starts_with(b"AA") && start > 8 && text[start - 1] == b':' {
        let end = start + first;
        let digits = text[..start - 1].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        if digits >= 8 {
            return Some(("Telegram token", start - 1 - digits..end));
        }
    }
    // Discord: the id of the bot in base64, a time, a signature
    if whole.len() <= 30 && matches!(whole[0], b'M' | b'N' | b'O') && text.get(end) == Some(&b'.') {
        let time = Class::Word.end(text, end + 1);
        let signature = if text.get(time) == Some(&b'.') { Class::Word.end(text, time + 1) } else { time };
        if (5..=7).contains(&(time - end - 1)) && signature - time > 27 {
            return Some(("Discord token", start..signature));
        }
    }
    // Asana: numbers, and 32 digits after a colon
    if whole.len() == 32 && start > 16 && text[start - 1] == b':' && whole.iter().all(u8::is_ascii_hexdigit) {
        let ids =
            text[..start - 1].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'/').count();
        let ids = start - 1 - ids..start - 1;
        if ids.len() >= 16 && text[ids.clone()].contains(&b'/') {
            return Some(("Asana token", ids.start..end));
        }
    }
    // ClickUp: the number of a user, and letters
    let mut parts = whole.splitn(3, |byte| *byte == b'_');
    if let (Some(b"pk"), Some(number), Some(rest)) = (parts.next(), parts.next(), parts.next())
        && rest.len() >= 32
        && !number.is_empty()
        && number.iter().all(u8::is_ascii_digit)
    {
        return Some(("ClickUp token", start..end));
    }
    // RapidAPI: 50 characters with two marks
    if whole.len() == 50 && whole[10..].starts_with(b"msh") && memchr::memmem::find(whole, b"jsn").is_some() {
        return Some(("RapidAPI key", start..end));
    }
    // docs.honeycomb.io/api/dataset-definitions/authorization: `hc`, any letter, `ik_`, `lk_` or `mk_`
    if whole.len() >= 32 && whole.starts_with(b"hc") && matches!(&whole[3..6], b"ik_" | b"lk_" | b"mk_") {
        return Some(("Honeycomb key", start..end));
    }
    // docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys: 40 characters with a mark at the end
    if whole.len() == 40 && whole.ends_with(b"NRAL") && whole[..32].iter().all(u8::is_ascii_hexdigit) {
        return Some(("New Relic key", start..end));
    }
    // dev.maxmind.com/geoip/release-notes/2023-03-16-changes-to-maxmind-license-keys: a mark at the end
    if whole.ends_with(b"_mmk") {
        return Some(("MaxMind key", start..end));
    }
    // Mailchimp: 32 digits, and the data center
    if whole.len() >= 36 && whole[..32].iter().all(u8::is_ascii_hexdigit) && whole[32..].starts_with(b"-us") {
        return Some(("Mailchimp key", start..end));
    }
    // Azure DevOps: 84 characters with a signature
    if whole.len() >= 80 && memchr::memmem::find(whole, b"AZDO").is_some() {
        return Some(("Azure DevOps token", start..end));
    }
    if is_gitea(text, start..end) {
        return Some(("Gitea token", start..end));
    }
    let plain = decoded(whole)?;
    let padded = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    (!anchored(&plain, 0..plain.len()).is_empty()).then_some(("secret in base64", start..end + padded))
}

/// Returns whether a run is a token of Gitea or Forgejo: 40 digits like those of a commit, so only the words that Gitea
/// itself writes near one tell them apart (`routers/api/v1/user/app.go`, `cmd/admin_user_generate_access_token.go`).
fn is_gitea(text: &[u8], run: Range<usize>) -> bool {
    const DIGITS: usize = 40;
    const LAST: &[u8] = b"token_last_eight";
    /// Bytes of the other members of an answer, such as a list of scopes.
    const MAX_DISTANCE: usize = 512;
    if run.len() != DIGITS || !text[run.clone()].iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let before = &text[run.start.saturating_sub(MAX_DISTANCE)..run.start];
    let after = &text[run.end..text.len().min(run.end + MAX_DISTANCE)];
    let last_eight = &text[run.end - 8..run.end];
    let names_its_end = |near: &[u8]| {
        memchr::memmem::find_iter(near, LAST).any(|at| {
            let value = &near[at + LAST.len()..];
            let signs = value.iter().take_while(|byte| !byte.is_ascii_alphanumeric()).count();
            value[signs..].starts_with(last_eight)
        })
    };
    let holds = |words: &[u8]| memchr::memmem::find(before, words).is_some();
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(before, |end| &before[end + 1..]);
    // `--raw` prints the token alone, on the line after the command.
    let alone = line.iter().all(u8::is_ascii_whitespace);
    is_named(line)
        || names_its_end(before)
        || names_its_end(after)
        || holds(b"Access token was successfully created: ")
        || alone && holds(b"generate-access-token")
}

/// Returns whether a line ends with the name of a forge: `gitea: …`. A commit follows a slash, an at sign or another word.
fn is_named(line: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[b"gitea", b"forgejo", b"codeberg"];
    /// Parts of the names of other digits.
    const OTHERS: &[&[u8]] = &[b"commit", b"sha", b"rev", b"hash", b"digest", b"ref"];
    let of_name = |byte: &u8| is_of_name(*byte);
    let Some(last) = line.iter().rposition(of_name) else { return false };
    let start = line[..last].iter().rposition(|byte| !of_name(byte)).map_or(0, |at| at + 1);
    let joins =
        |byte: &u8| matches!(byte, b' ' | b'\t' | b':' | b'=' | b'"' | b'\\' | b'\'' | b'`' | b'|' | b'*');
    let word = line[start..=last].to_ascii_lowercase();
    let has = |part: &&[u8]| memchr::memmem::find(&word, part).is_some();
    line[last + 1..].iter().all(joins) && NAMES.iter().any(has) && !OTHERS.iter().any(has)
}
