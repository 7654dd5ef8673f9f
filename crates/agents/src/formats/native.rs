//! Adjutant's own format: the YAML of the contract (`persona`, `description`, `model`), and further keys.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::definition::{Agent, FieldSupport, Isolation, OnHubExit, Permission};
use crate::lane::is_label;
use adjutant_base::config::network::Network;
use adjutant_base::text::suggest::near_names;
use adjutant_base::text::timefmt::read_span;
use adjutant_base::text::yaml::{self, Refused, block, quoted, scalar};

/// The supported keys; the first three are the contract's.
pub(crate) const KEYS: [&str; 14] = [
    "persona",
    "description",
    "model",
    "runner",
    "permission",
    "network",
    "timeout",
    "on_hub_exit",
    "isolation",
    "label",
    "setup",
    "checks",
    "checks_must_pass",
    "env",
];

/// The longest timeout: a longer run is more likely forgotten than intended.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);
const MAX_COMMANDS: usize = 32;
const MAX_VARIABLES: usize = 64;

/// Parses a file of Adjutant. A key with an invalid value rejects the file, because an agent with fewer restrictions
/// than its author wrote would be worse than none.
pub(super) fn read(text: &str) -> Result<Agent, String> {
    let values =
        yaml::read(text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|refused| match refused {
            Refused::TooComplex => "the YAML is too complex (YAML bomb?)".to_owned(),
            Refused::Invalid(reason) => format!("it is not valid YAML: {reason}"),
        })?;
    let mut agent = Agent {
        persona: one_text(&values, "persona")?.unwrap_or_default(),
        description: one_text(&values, "description")?.unwrap_or_default(),
        model: one_text(&values, "model")?,
        runner: one_text(&values, "runner")?,
        permission: one_of(&values, "permission", Permission::ALL, Permission::name)?,
        network: match values.get("network") {
            None | Some(Value::Null) => Network::default(),
            Some(value) => Network::try_from(value.clone())?,
        },
        timeout: timeout(&values)?,
        on_hub_exit: one_of(&values, "on_hub_exit", OnHubExit::ALL, OnHubExit::name)?,
        isolation: one_of(&values, "isolation", Isolation::ALL, Isolation::name)?,
        label: one_text(&values, "label")?,
        setup: commands(&values, "setup")?,
        checks: commands(&values, "checks")?,
        checks_may_fail: match values.get("checks_must_pass") {
            None | Some(Value::Null) => false,
            Some(given) => !yaml::truth(given).ok_or("`checks_must_pass` is `true` or `false`")?,
        },
        env: variables(&values)?,
        ..Agent::default()
    };
    if agent.permission == Permission::Full && agent.network != Network::All {
        return Err("`network` cannot be limited with `permission: full`, because such a run has no sandbox"
            .to_owned());
    }
    if agent.label.as_deref().is_some_and(|label| !is_label(label)) {
        return Err("`label` has letters, digits and hyphens, 40 at most".to_owned());
    }
    for key in values.keys() {
        agent.report(
            key,
            if KEYS.contains(&key.as_str()) { FieldSupport::Supported } else { FieldSupport::Unknown },
        );
    }
    Ok(agent)
}

/// Returns the text of a file of Adjutant, without default values.
pub(crate) fn write(agent: &Agent) -> String {
    let mut text = format!("description: {}\n", block(&agent.description));
    let mut field = |key: &str, value: &str| {
        let _ = writeln!(text, "{key}: {value}");
    };
    if let Some(model) = &agent.model {
        field("model", &scalar(model));
    }
    if let Some(runner) = &agent.runner {
        field("runner", &scalar(runner));
    }
    if agent.permission != Permission::default() {
        field("permission", agent.permission.name());
    }
    if agent.network != Network::All {
        field("network", &Value::from(agent.network.clone()).to_string());
    }
    if let Some(timeout) = agent.timeout {
        field("timeout", &spelled(timeout));
    }
    if agent.on_hub_exit != OnHubExit::default() {
        field("on_hub_exit", agent.on_hub_exit.name());
    }
    if agent.isolation != Isolation::default() {
        field("isolation", agent.isolation.name());
    }
    if let Some(label) = &agent.label {
        field("label", &scalar(label));
    }
    if agent.checks_may_fail {
        field("checks_must_pass", "false");
    }
    for (key, commands) in [("setup", &agent.setup), ("checks", &agent.checks)] {
        if !commands.is_empty() {
            let _ = writeln!(text, "{key}:");
        }
        for command in commands {
            let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
            let _ = writeln!(text, "  - [{}]", words.join(", "));
        }
    }
    if !agent.env.is_empty() {
        let _ = writeln!(text, "env:");
        for (name, value) in &agent.env {
            let _ = writeln!(text, "  {name}: {}", quoted(value));
        }
    }
    let _ = writeln!(text, "persona: {}", block(&agent.persona));
    text
}

/// Returns a time as [`timeout`] parses it.
fn spelled(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

/// Returns the value of a key as a trimmed text; `None` if it is missing, null or empty.
fn one_text(values: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    let text = match values.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(format!("`{key}` is not a text; put it in quotes"));
        }
    };
    // Models and runners become arguments of a program.
    if matches!(key, "model" | "runner") && (text.starts_with('-') || text.contains(char::is_control)) {
        return Err(format!("`{key}` must not begin with `-` or have control characters"));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn one_of<T: Copy + Default>(
    values: &Map<String, Value>,
    key: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    let Some(wanted) = one_text(values, key)? else { return Ok(T::default()) };
    all.iter().copied().find(|choice| name(*choice) == wanted).ok_or_else(|| {
        let names = || all.iter().map(|choice| name(*choice));
        let near = near_names(&wanted, names());
        let hint = near.first().map_or_else(
            || format!("use {}", names().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        format!("`{key}` cannot be `{}`; {hint}", wanted.escape_debug())
    })
}

fn timeout(values: &Map<String, Value>) -> Result<Option<Duration>, String> {
    let Some(text) = one_text(values, "timeout")? else { return Ok(None) };
    match read_span(&text) {
        Some(time) if !time.is_zero() && time <= MAX_TIMEOUT => Ok(Some(time)),
        Some(time) if time > MAX_TIMEOUT => Err("`timeout` cannot be longer than 24h".to_owned()),
        Some(_) | None => {
            Err(format!("`timeout` cannot be `{}`; use one like 90s, 10m or 1h", text.escape_debug()))
        }
    }
}

/// Parses commands: a text is for the shell, a list is a program with its arguments.
fn commands(values: &Map<String, Value>, key: &str) -> Result<Vec<Vec<String>>, String> {
    let list = match values.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list.clone(),
        Some(one) => vec![one.clone()],
    };
    if list.len() > MAX_COMMANDS {
        return Err(format!("`{key}` has more than {MAX_COMMANDS} commands"));
    }
    let command = |check: &Value| match check {
        Value::String(line) if !line.trim().is_empty() => {
            Some(["sh", "-c", line.trim()].map(str::to_owned).to_vec())
        }
        Value::Array(words) if !words.is_empty() => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>().filter(|words| !words[0].is_empty())
        }
        _ => None,
    };
    let commands =
        list.iter().map(|check| command(check).filter(|words| !words.iter().any(|w| w.contains('\0'))));
    commands.collect::<Option<Vec<_>>>().ok_or_else(|| {
        format!(
            "`{key}` is a list of commands: each a text for the shell, or a list of program and arguments"
        )
    })
}

fn variables(values: &Map<String, Value>) -> Result<BTreeMap<String, String>, String> {
    let variables = match values.get("env") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(variables)) if variables.len() <= MAX_VARIABLES => variables,
        Some(Value::Object(_)) => return Err(format!("`env` has more than {MAX_VARIABLES} variables")),
        Some(_) => return Err("`env` is not a list of variables with values".to_owned()),
    };
    let read = variables.iter().map(|(name, value)| {
        let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let value = match value {
            Value::String(text) if !text.contains('\0') => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                return Err(format!("`env` gives `{}` no text", name.escape_debug()));
            }
        };
        if is_name {
            Ok((name.clone(), value))
        } else {
            Err(format!("`env` has `{}`, which is not the name of a variable", name.escape_debug()))
        }
    });
    read.collect()
}
