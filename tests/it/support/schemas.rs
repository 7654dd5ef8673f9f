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
    check_values(arguments, &finished.stdout);
}

/// Checks the values that a command has printed: one, or one on each line.
pub(crate) fn check_values<S: AsRef<OsStr>>(arguments: &[S], stdout: &str) {
    let name = name_of(arguments);
    for value in serde_json::Deserializer::from_str(stdout).into_iter::<Value>() {
        validate(&name, &value.unwrap_or_else(|error| panic!("{name}: {error}: {stdout}")));
    }
}

/// Inserts the schemas of other files, and refuses members that no schema names, so that no member of a result is missing
/// there. A program must ignore them, so the file itself lets them be.
pub(crate) fn close(schema: &mut Value, place: &str) {
    let mut place = place.to_owned();
    if let Some(file) = schema["$ref"].as_str().map(str::to_owned) {
        if place.matches(&file).count() > 1 {
            // An event of an agent is an event: the inner one may be any.
            *schema = true.into();
            return;
        }
        *schema = read(file.strip_suffix(".json").unwrap());
        place = format!("{place}/{file}");
    }
    let Some(members) = schema.as_object() else { return };
    let is_object = members.get("type").is_some_and(|kind| kind.to_string().contains("\"object\""));
    let is_named = ["properties", "additionalProperties"].iter().any(|name| members.contains_key(*name));
    assert!(!is_object || is_named, "docs/schemas: {place} names no members");
    let is_described = is_named || members.keys().any(|name| DESCRIBING.contains(&name.as_str()));
    assert!(is_described, "docs/schemas: {place} says nothing");
    close_members(schema, &place);
    let has_properties = schema.get("properties").is_some();
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    let has_variants = variants.is_some();
    for variant in variants.into_iter().flatten() {
        // The members that all variants share are those of the schema.
        if has_properties { close_members(variant, &place) } else { close(variant, &place) }
    }
    let schema = schema.as_object_mut().unwrap();
    if has_properties {
        let rest = if has_variants { "unevaluatedProperties" } else { "additionalProperties" };
        schema.entry(rest).or_insert(false.into());
    }
}

/// One of them is in each schema; a value that another program chooses has a description.
const DESCRIBING: [&str; 5] = ["const", "description", "enum", "oneOf", "type"];

fn close_members(schema: &mut Value, place: &str) {
    for (name, member) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        close(member, &format!("{place}/{name}"));
    }
    if let Some(items) = schema.get_mut("items") {
        close(items, &format!("{place}/items"));
    }
}

/// Returns the schema of this name.
pub(crate) fn read(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap()).unwrap()
}

fn validate(name: &str, value: &Value) {
    check_value(read(name), name, value);
    for item in value["items"].as_array().into_iter().flatten() {
        assert!(item["id"].is_string() || name.ends_with("import"), "{name}: no id in {item}");
    }
}

/// Checks a value against a schema, which takes no further members.
pub(crate) fn check_value(mut schema: Value, name: &str, value: &Value) {
    close(&mut schema, name);
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "docs/schemas/{name}.json: {}\n{value:#}", errors.join("\n"));
}
