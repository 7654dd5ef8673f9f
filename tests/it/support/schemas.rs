//! The schemas of `docs/schemas`: whatever a test prints with `--json` is checked against the schema of its command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Finished;

/// The folder of the schemas.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
}

fn words<S: AsRef<OsStr>>(arguments: &[S]) -> Vec<&str> {
    let words = arguments.iter().filter_map(|word| word.as_ref().to_str());
    words.take_while(|word| *word != "--").collect()
}

/// Returns the name of the schema for a command line.
pub(crate) fn name_of<S: AsRef<OsStr>>(arguments: &[S]) -> String {
    let words = words(arguments);
    let is_value = |at: usize| at > 0 && words[at - 1] == "--home";
    let plain = words.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_value(*at));
    let plain: Vec<&str> = plain.map(|(_, word)| *word).take(2).collect();
    let names = [plain.join("-"), plain.first().copied().unwrap_or("adjutant").to_owned()];
    let found = names.iter().find(|name| folder().join(format!("{name}.json")).exists());
    found.unwrap_or_else(|| panic!("docs/schemas has no schema for {words:?}")).clone()
}

/// Checks what a command has printed, if it was asked for JSON.
pub(crate) fn check<S: AsRef<OsStr>>(arguments: &[S], finished: &Finished) {
    if !words(arguments).contains(&"--json") {
        return;
    }
    let failed = finished.status.code().is_some_and(|code| code != 0);
    if failed && finished.stdout.is_empty() {
        let last = finished.stderr.lines().next_back().unwrap_or_default();
        let error: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{finished}"));
        validate("error", &error);
        assert_eq!(error["exit_code"].as_i64(), finished.status.code().map(i64::from), "{error}");
        return;
    }
    let name = name_of(arguments);
    // One value, or one on each line.
    for value in serde_json::Deserializer::from_str(&finished.stdout).into_iter::<Value>() {
        validate(&name, &value.unwrap_or_else(|error| panic!("{name}: {error}: {finished}")));
    }
}

/// Inserts the schemas of other files, and refuses members that no schema names, so that no member of a result is missing
/// there. A program must ignore them, so the file itself lets them be.
pub(crate) fn close(schema: &mut Value, place: &str) {
    if let Some(file) = schema["$ref"].as_str() {
        *schema = read(file.strip_suffix(".json").unwrap());
    }
    let Some(schema) = schema.as_object_mut() else { return };
    let is_object = schema.get("type").is_some_and(|kind| kind.to_string().contains("\"object\""));
    let is_named = schema.contains_key("properties") || schema.contains_key("additionalProperties");
    assert!(!is_object || is_named, "docs/schemas: {place} names no members");
    for (name, member) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        close(member, &format!("{place}/{name}"));
    }
    if let Some(items) = schema.get_mut("items") {
        close(items, &format!("{place}/items"));
    }
    if schema.contains_key("properties") {
        schema.entry("additionalProperties").or_insert(false.into());
    }
}

/// Returns the schema of this name.
pub(crate) fn read(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap()).unwrap()
}

fn validate(name: &str, value: &Value) {
    let mut schema = read(name);
    close(&mut schema, name);
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "docs/schemas/{name}.json: {}\n{value:#}", errors.join("\n"));
    for item in value["items"].as_array().into_iter().flatten() {
        assert!(item["id"].is_string() || name.ends_with("import"), "{name}: no id in {item}");
    }
}
