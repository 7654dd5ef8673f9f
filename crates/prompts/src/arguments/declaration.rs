//! Reads the `arguments` key of front matter: a list of maps, a map by name, or plain names.

use serde_json::{Map, Value};

use super::{Argument, ArgumentType, pattern, text_of};
use adjutant_base::text::yaml::truth;

/// The name of the whole text after a command.
pub(crate) const ALL: &str = "$ARGUMENTS";

/// More arguments than any form shows.
const MAX_ARGUMENTS: usize = 64;

/// Returns the declared arguments, and warnings about unknown members. The error is the reason why the declaration is
/// refused: a member that restricts values must not be dropped silently.
pub(crate) fn declared(value: &Value) -> Result<(Vec<Argument>, Vec<String>), String> {
    let mut warnings = Vec::new();
    let entries: Vec<(String, Map<String, Value>)> = match value {
        Value::Null => Vec::new(),
        Value::String(names) => names.split_whitespace().map(|name| (name.to_owned(), Map::new())).collect(),
        Value::Array(list) => list.iter().map(listed).collect::<Result<_, _>>()?,
        Value::Object(map) => map.iter().map(|(name, about)| (name.clone(), about_map(about))).collect(),
        _ => return Err("`arguments` is not a list".to_owned()),
    };
    if entries.len() > MAX_ARGUMENTS {
        return Err(format!("{} arguments are declared, over the limit of {MAX_ARGUMENTS}", entries.len()));
    }
    let mut arguments: Vec<Argument> = Vec::new();
    for (name, about) in entries {
        if arguments.iter().any(|argument| argument.name == name) {
            return Err(format!("argument `{name}` is declared twice"));
        }
        arguments.push(argument(&name, &about, &mut warnings)?);
    }
    Ok((arguments, warnings))
}

fn listed(entry: &Value) -> Result<(String, Map<String, Value>), String> {
    match entry {
        Value::Object(about) => match about.get("name") {
            None | Some(Value::Null) => Err("an argument has no name".to_owned()),
            Some(name) => Ok((text_of(name).into_owned(), about.clone())),
        },
        Value::Null | Value::Array(_) => {
            Err("an argument is neither a name nor a map with `name`".to_owned())
        }
        name => Ok((text_of(name).into_owned(), Map::new())),
    }
}

fn about_map(about: &Value) -> Map<String, Value> {
    match about {
        Value::Object(about) => about.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("description".to_owned(), text_of(other).into())]),
    }
}

fn argument(name: &str, about: &Map<String, Value>, warnings: &mut Vec<String>) -> Result<Argument, String> {
    const KNOWN: [&str; 8] =
        ["name", "description", "type", "enum", "default", "required", "pattern", "title"];
    if !is_name(name) {
        return Err(format!(
            "`{}` is not a valid name for an argument: use letters, digits, `_` and `-`",
            super::clipped(name)
        ));
    }
    let unknown = about.keys().filter(|key| !KNOWN.contains(&key.as_str()));
    warnings.extend(unknown.map(|key| format!("argument `{name}`: unknown key `{key}`")));
    let kind = kind(name, about.get("type"))?;
    let mut argument = Argument {
        description: about.get("description").map(|text| text_of(text).trim().to_owned()).unwrap_or_default(),
        required: match about.get("required") {
            None | Some(Value::Null) => false,
            Some(given) => {
                truth(given).ok_or_else(|| format!("argument `{name}`: `required` must be true or false"))?
            }
        },
        kind,
        ..Argument::text(name, "", false)
    };
    argument.choices = choices(&argument, about.get("enum"))?;
    if let Some(given) = about.get("pattern") {
        let text = text_of(given);
        pattern(&text).map_err(|reason| format!("argument `{}`: bad pattern: {reason}", argument.name))?;
        argument.pattern = Some(text.into_owned());
    }
    if let Some(default) = about.get("default").filter(|default| !default.is_null()) {
        let checked = argument.check("", default);
        argument.default = Some(checked.map_err(|_| {
            format!(
                "argument `{}`: its default `{}` is not allowed",
                argument.name,
                super::clipped(&text_of(default))
            )
        })?);
    }
    Ok(argument)
}

/// Returns whether a text can be the name of an argument.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'))
}

fn kind(name: &str, given: Option<&Value>) -> Result<ArgumentType, String> {
    match given.map(text_of).as_deref() {
        None | Some("string" | "str" | "text") => Ok(ArgumentType::String),
        Some("integer" | "int") => Ok(ArgumentType::Integer),
        Some("number" | "float") => Ok(ArgumentType::Number),
        Some("boolean" | "bool") => Ok(ArgumentType::Boolean),
        Some(other) => Err(format!(
            "argument `{name}`: unknown type `{}`; use string, integer, number or boolean",
            super::clipped(other)
        )),
    }
}

fn choices(argument: &Argument, given: Option<&Value>) -> Result<Vec<Value>, String> {
    let fault = |what: &str| format!("argument `{}`: {what}", argument.name);
    match given {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) if !list.is_empty() => list
            .iter()
            .map(|choice| argument.kind.coerce(choice))
            .collect::<Option<_>>()
            .ok_or_else(|| fault("a value of `enum` is not of its type")),
        Some(_) => Err(fault("`enum` must be a list of values")),
    }
}

#[cfg(test)]
mod tests {
    use super::declared;
    use crate::ArgumentType;
    use serde_json::json;

    #[test]
    fn accepts_three_forms() {
        let (list, warnings) = declared(&json!([
            {"name": "count", "type": "integer", "default": "3", "enum": [1, "2", 3], "colour": "red"},
            "topic",
        ]))
        .unwrap();
        assert_eq!(
            (list[0].kind, &list[0].default, &list[0].choices),
            (ArgumentType::Integer, &Some(json!(3)), &vec![json!(1), json!(2), json!(3)])
        );
        assert_eq!(warnings, ["argument `count`: unknown key `colour`"]);
        let (map, _) =
            declared(&json!({"topic": "What about", "lang": {"required": true}, "x": null})).unwrap();
        assert_eq!(map.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["topic", "lang", "x"]);
        assert_eq!((map[0].description.as_str(), map[1].required), ("What about", true));
        assert_eq!(declared(&json!("issue branch")).unwrap().0.len(), 2);
        let (words, _) = declared(&json!([{"name": true, "required": "yes"}, false])).unwrap();
        assert_eq!(
            words.iter().map(|a| (a.name.as_str(), a.required)).collect::<Vec<_>>(),
            [("true", true), ("false", false)]
        );
    }

    #[test]
    fn refuses_what_it_cannot_keep() {
        for (given, reason) in [
            (json!(3), "not a list"),
            (json!([{"type": "string"}]), "no name"),
            (json!([{"name": 3}]), "`3` is not a valid name for an argument"),
            (json!([["a"]]), "neither a name nor a map"),
            (json!(["a b"]), "not a valid name for an argument"),
            (json!(["a", "a"]), "declared twice"),
            (json!([{"name": "a", "type": "date"}]), "unknown type `date`"),
            (json!([{"name": "a", "pattern": "("}]), "bad pattern"),
            (json!([{"name": "a", "type": "integer", "default": "x"}]), "default `x`"),
            (json!([{"name": "a", "enum": ["x"], "default": "y"}]), "default `y`"),
            (json!([{"name": "a", "enum": "x"}]), "must be a list"),
            (json!([{"name": "a", "required": "perhaps"}]), "true or false"),
        ] {
            let error = declared(&given).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
