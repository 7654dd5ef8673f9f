//! Markdown with YAML front matter and the persona as the body: the format that four programs share.

use serde_json::{Map, Value};

use crate::definition::{Agent, Program};
use adjutant_base::text::front_matter;

/// A file split into front matter and body, with the agent that its keys fill.
pub(super) struct Head {
    fields: Map<String, Value>,
    pub(super) agent: Agent,
}

impl Head {
    /// Splits a file. Front matter that is not valid YAML is read line by line, as the programs do.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let parsed = front_matter::parse(text)?;
        let warnings = parsed
            .invalid
            .map(|reason| format!("the front matter is not valid YAML and was read line by line: {reason}"));
        let agent = Agent {
            persona: parsed.body.to_owned(),
            description: parsed.values.get("description").and_then(line).unwrap_or_default(),
            warnings: warnings.into_iter().collect(),
            ..Agent::default()
        };
        Ok(Self { fields: parsed.values, agent })
    }

    /// Returns the keys in the order of the file, with their values.
    pub(super) fn keys(&self) -> Vec<(String, Value)> {
        self.fields.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Sets the permission that a list of tools needs.
    pub(super) fn set_tools(&mut self, key: &str, value: &Value, writing: &[&str]) {
        self.agent.set_permission(key, names(value).iter().any(|tool| writing.contains(&tool.as_str())));
    }

    /// Reads the keys that all programs share, `description` and `model`, and reports a key that only one program has.
    pub(super) fn other(&mut self, program: Program, key: &str, value: &Value, unsupported: &[(&str, &str)]) {
        match (key, line(value)) {
            ("description", Some(_)) => self.agent.report_supported(key),
            ("model", Some(model)) if fits(&model) => self.agent.set_model(program, key, model),
            ("model", _) => self.agent.report_unsupported(key, "it is not the name of a model"),
            _ => self.agent.report_other(key, unsupported),
        }
    }
}

/// Returns whether a text can be an argument of a program.
fn fits(model: &str) -> bool {
    !model.starts_with('-') && !model.contains(char::is_control)
}

/// Returns a value as one line of text; `None` if it has none.
pub(super) fn line(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        // VS Code takes a list of models and uses the first.
        Value::Array(items) => return line(items.first()?),
        Value::Null | Value::Object(_) => return None,
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// Returns the names of a list of tools in lower case, without their parts in parentheses. The list may be a text with
/// commas.
pub(super) fn names(value: &Value) -> Vec<String> {
    let texts: Vec<String> = match value {
        Value::String(text) => text.trim_matches(['[', ']']).split(',').map(str::to_owned).collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let bare = |text: &String| {
        let name = text.split('(').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        name.to_ascii_lowercase()
    };
    texts.iter().map(bare).filter(|name| !name.is_empty()).collect()
}
