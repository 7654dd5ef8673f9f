//! Validates the configured runners, and converts them into candidates.

use std::path::Path;
use std::time::Duration;

use super::candidate::Candidate;
use crate::definition::Permission;
use crate::runner::Runner;
use crate::runner::custom::config::{Answer, CustomRunner, Stdin};
use adjutant_base::config::runners::{RunnerEntry, RunnersConfig};
use adjutant_base::text::suggest::{near_hint, near_names};
use adjutant_base::text::yaml;

/// Most bytes of a runner configuration, which is written by hand.
const MAX_BYTES: u64 = 1024 * 1024;
/// The longest `stall_seconds`.
const MAX_STALL: Duration = Duration::from_hours(24 * 365);
/// The priority of a runner that has none: after the others.
const DEFAULT_PRIORITY: i64 = 1_000;

/// Why the configuration of the runners is rejected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the runner configuration {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("the runner configuration {path} is not valid: {reason}")]
    Invalid { path: String, reason: String },
    #[error("runner `{name}` is not known here, and has no `command`{}", meant(near))]
    Unknown { name: String, near: Vec<String> },
    #[error("runner `{name}` is configured twice")]
    Twice { name: String },
    #[error("runner `{name}`: `{key}` {reason}")]
    Key { name: String, key: &'static str, reason: String },
}

impl Error {
    /// Returns the error for a name that is neither built in nor among `candidates`.
    pub(super) fn unknown(name: &str, candidates: &[Candidate]) -> Self {
        let built_in = Runner::BUILT_IN;
        let known = built_in.iter().chain(candidates.iter().map(|candidate| &candidate.runner));
        let mut near = near_names(name, known.map(Runner::name));
        near.dedup();
        Self::Unknown { name: name.to_owned(), near }
    }
}

fn meant(near: &[String]) -> String {
    if near.is_empty() {
        let known: Vec<String> =
            Runner::BUILT_IN.iter().map(|runner| format!("`{}`", runner.name())).collect();
        return format!("; known are {}", known.join(", "));
    }
    near_hint(near)
}

/// Reads a `--runner-config` file.
pub fn read(path: &Path) -> Result<RunnersConfig, Error> {
    let name = || path.display().to_string();
    let unreadable = |reason: String| Error::Unreadable { path: name(), reason };
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(unreadable(format!("it is not a regular file of at most {MAX_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    parse(&text).map_err(|reason| Error::Invalid { path: name(), reason })
}

/// Reads the text of such a file; an error names the line and the key.
fn parse(text: &str) -> Result<RunnersConfig, String> {
    match yaml::read_as(text) {
        Ok(config) => Ok(config),
        Err(yaml::Refused::TooComplex) => Err("it is too complex".to_owned()),
        Err(yaml::Refused::Invalid(reason)) => Err(reason),
    }
}

/// Validates `config`, and returns the candidates in no order. Without configured runners, they are `default`.
pub(super) fn candidates(config: &RunnersConfig, default: &[Runner]) -> Result<Vec<Candidate>, Error> {
    if config.runners.is_empty() {
        let candidate = |(priority, runner): (i64, &Runner)| Candidate::built_in(runner.clone(), priority);
        return Ok((1..).zip(default).map(candidate).collect());
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    for entry in &config.runners {
        if candidates.iter().any(|other| other.runner.name() == entry.name) {
            return Err(Error::Twice { name: entry.name.clone() });
        }
        // A longer one could not be added to an instant.
        let stall = entry.stall_seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_STALL));
        candidates.push(Candidate {
            runner: runner(entry)?,
            priority: entry.priority.unwrap_or(DEFAULT_PRIORITY),
            models: entry.models.clone(),
            program: entry.program.clone(),
            writable: entry.writable.clone(),
            hosts: entry.hosts.clone(),
            stall: stall.filter(|stall| !stall.is_zero()),
        });
    }
    Ok(candidates)
}

/// Returns the cooldown of a limited runner that reports no time itself.
pub(super) fn cooldown(config: &RunnersConfig) -> Duration {
    Duration::from_secs(config.runner_cooldown_minutes.unwrap_or(15).saturating_mul(60))
}

fn runner(entry: &RunnerEntry) -> Result<Runner, Error> {
    let wrong = |key: &'static str, reason: &str| Error::Key {
        name: entry.name.clone(),
        key,
        reason: reason.to_owned(),
    };
    let built_in = Runner::built_in(&entry.name);
    let Some(argv) = &entry.command else {
        let Some(runner) = built_in else {
            return Err(Error::unknown(&entry.name, &[]));
        };
        let described = [
            ("version_command", !entry.version_command.is_empty()),
            ("stdin", entry.stdin.is_some()),
            ("final_message", entry.final_message.is_some()),
            ("levels", !entry.levels.is_empty()),
            ("env", !entry.env.is_empty()),
            ("pass_env", !entry.pass_env.is_empty()),
            ("usage_limit", !entry.usage_limit.is_empty()),
            ("authentication", !entry.authentication.is_empty()),
        ];
        if let Some((key, _)) = described.into_iter().find(|(_, is_set)| *is_set) {
            return Err(wrong(key, "describes a runner of your own, which needs `command`"));
        }
        return Ok(runner);
    };
    if built_in.is_some() {
        return Err(wrong(
            "command",
            "cannot be given to a runner that is known here; give yours another name",
        ));
    }
    if entry.name.is_empty() || entry.name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(wrong("name", "is a word without spaces"));
    }
    if argv.first().is_none_or(String::is_empty) {
        return Err(wrong("command", "names no program"));
    }
    let uses = |placeholder: &str| argv.iter().any(|argument| argument.contains(placeholder));
    let stdin = match entry.stdin.as_deref() {
        Some("prompt") => Stdin::Prompt,
        Some("empty") => Stdin::Empty,
        Some(other) => return Err(wrong("stdin", &format!("is `prompt` or `empty`, not `{other}`"))),
        None if uses("{prompt}") => Stdin::Empty,
        None => Stdin::Prompt,
    };
    if stdin == Stdin::Empty && !uses("{prompt}") {
        return Err(wrong(
            "stdin",
            "is empty, and no argument holds `{prompt}`: the runner would never see it",
        ));
    }
    let answer = match entry.final_message.as_deref() {
        None | Some("stdout") => Answer::Stdout,
        Some("file") if uses("{final_message_file}") => Answer::File,
        Some("file") => {
            return Err(wrong("final_message", "is a file, and no argument holds `{final_message_file}`"));
        }
        Some(other) => match other.strip_prefix("json:") {
            Some(path) if path.split('.').all(|key| !key.is_empty()) => {
                Answer::Json(path.split('.').map(ToOwned::to_owned).collect())
            }
            _ => {
                let reason = format!("is `stdout`, `file` or `json:` with a dotted path, not `{other}`");
                return Err(wrong("final_message", &reason));
            }
        },
    };
    let mut levels = Vec::new();
    for word in &entry.levels {
        let Some(level) = Permission::from_name(word) else {
            let near = near_names(word, Permission::ALL.iter().map(|level| level.name()));
            let hint = near_hint(&near);
            let all = Permission::ALL.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ");
            return Err(wrong("levels", &format!("has `{word}`, which is none of {all}{hint}")));
        };
        levels.push(level);
    }
    Ok(Runner::Custom(std::sync::Arc::new(CustomRunner {
        name: entry.name.clone(),
        argv: argv.clone(),
        version_command: entry.version_command.clone(),
        stdin,
        answer,
        env: entry.env.clone(),
        pass_env: entry.pass_env.clone(),
        levels,
        usage_limit: entry.usage_limit.clone(),
        authentication: entry.authentication.clone(),
    })))
}

#[cfg(test)]
mod tests {
    use super::{candidates, parse};
    use crate::runner::Runner;

    fn is_set(text: &str) -> String {
        let config = match parse(text) {
            Ok(config) => config,
            Err(reason) => return reason,
        };
        match candidates(&config, &Runner::BUILT_IN) {
            Ok(candidates) => {
                let line = |c: &super::Candidate| {
                    format!("{} {} {}", c.priority, c.runner.name(), c.models.join(","))
                };
                candidates.iter().map(line).collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_configuration_is_taken_or_says_what_is_wrong() {
        let cases = [
            (
                "the contract's",
                "runners:\n- name: codex\n  priority: 2\n  models: [gpt-5]\n- {name: copilot, priority: 1}\n",
            ),
            ("empty", ""),
            ("a key", "runners:\n- name: codex\n  modles: [x]\n"),
            ("a name", "runners:\n- name: codx\n"),
            ("no such name", "runners:\n- name: zzzzzz\n"),
            ("twice", "runners:\n- name: codex\n- name: codex\n"),
            ("a type", "runners:\n- name: codex\n  priority: high\n"),
            ("not yaml", "runners: [\n"),
            ("own", "runners:\n- name: aider\n  command: [aider, --yes, '{prompt}']\n  levels: [full]\n"),
            ("own, level", "runners:\n- name: aider\n  command: [aider]\n  levels: [ful]\n"),
            ("own, no prompt", "runners:\n- name: aider\n  command: [aider]\n  stdin: empty\n"),
            ("own, file", "runners:\n- name: aider\n  command: [aider]\n  final_message: file\n"),
            ("own, message", "runners:\n- name: aider\n  command: [aider]\n  final_message: 'json:a..b'\n"),
            ("own, no program", "runners:\n- name: aider\n  command: []\n"),
            ("known, own keys", "runners:\n- name: codex\n  levels: [full]\n"),
            ("known, command", "runners:\n- name: codex\n  command: [codex]\n"),
        ];
        let results: Vec<String> =
            cases.iter().map(|(name, text)| format!("{name}: {}", is_set(text))).collect();
        insta::assert_snapshot!(results.join("\n"));
    }
}
