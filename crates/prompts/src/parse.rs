//! From the text of a file to a [`Prompt`].

use serde_json::{Map, Value};

use super::arguments::{clipped, declaration, text_of};
use super::template::Template;
use super::{Engine, Prompt, Source};
use adjutant_base::text::front_matter::{self, Parsed};

/// The keys that mean something here. Others are kept in the front matter and named by lint.
pub(crate) const KNOWN_KEYS: [&str; 5] = ["description", "title", "arguments", "aliases", "engine"];

/// Makes a prompt of a file's text. The error says why the file is not served, as a fragment.
pub fn prompt(name: &str, source: Source, text: &str, digest: String) -> Result<Prompt, String> {
    let Parsed { front_matter, mut values, invalid, body } = front_matter::parse(text)?;
    if body.is_empty() {
        return Err("the file has no text besides its front matter".to_owned());
    }
    let mut warnings = Vec::new();
    if let Some(reason) = invalid {
        let mut warning = format!("the front matter is not valid YAML and was read line by line: {reason}");
        // A declaration of arguments rarely fits on one line, and half of it would be worse than none.
        if values.get("arguments").and_then(Value::as_str).is_some_and(|line| !are_names(line)) {
            values.remove("arguments");
            warning += "; its `arguments` are not read";
        }
        warnings.push(warning);
    }
    let (mut arguments, unknown) = declaration::declared(values.get("arguments").unwrap_or(&Value::Null))?;
    warnings.extend(unknown);
    let engine = engine(&values)?;
    let description = one_text(&values, "description", &mut warnings).unwrap_or_default();
    let template = Template::compile(engine, (text, body), &mut arguments)?;
    Ok(Prompt {
        name: name.to_owned(),
        title: one_text(&values, "title", &mut warnings),
        description,
        aliases: aliases(&values, &mut warnings),
        arguments,
        engine,
        body: body.to_owned(),
        digest,
        source,
        front_matter: front_matter.unwrap_or_default().to_owned(),
        warnings,
        template,
    })
}

fn are_names(line: &str) -> bool {
    !line.is_empty() && line.split_whitespace().all(declaration::is_name)
}

fn engine(values: &Map<String, Value>) -> Result<Engine, String> {
    match values.get("engine").map(text_of).as_deref() {
        None | Some("null") => Ok(Engine::Literal),
        Some(name) => Engine::from_name(name)
            .ok_or_else(|| format!("unknown engine `{}`; use literal, args or jinja", clipped(name))),
    }
}

/// Returns a key's value as one text: users write lists and numbers where a sentence is meant.
fn one_text(values: &Map<String, Value>, key: &str, warnings: &mut Vec<String>) -> Option<String> {
    let text = match values.get(key)? {
        Value::Null => return None,
        Value::String(text) => text.trim().to_owned(),
        Value::Array(list) if list.iter().all(|item| !item.is_array() && !item.is_object()) => {
            warnings.push(format!("`{key}` is a list where a text is meant; put it in quotes"));
            list.iter().map(text_of).collect::<Vec<_>>().join(", ")
        }
        other => {
            warnings.push(format!("`{key}` is not a text; put it in quotes"));
            text_of(other).into_owned()
        }
    };
    Some(text).filter(|text| !text.is_empty())
}

fn aliases(values: &Map<String, Value>, warnings: &mut Vec<String>) -> Vec<String> {
    let listed: Vec<String> = match values.get("aliases") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.iter().map(|alias| text_of(alias).trim().to_owned()).collect(),
        // `[a, b]` is one text where front matter was read line by line.
        Some(other) => {
            let line = text_of(other);
            let names = line.trim_matches(['[', ']']).split(',');
            names.map(|alias| alias.trim().trim_matches(['"', '\'']).to_owned()).collect()
        }
    };
    let (good, bad): (Vec<_>, Vec<_>) = listed.into_iter().partition(|alias| is_alias(alias));
    warnings.extend(bad.iter().map(|alias| format!("`{}` cannot be an alias", clipped(alias))));
    good
}

fn is_alias(alias: &str) -> bool {
    !alias.is_empty() && alias.len() <= 256 && !alias.contains(char::is_control)
}
