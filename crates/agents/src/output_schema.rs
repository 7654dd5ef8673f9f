//! Output schema: the JSON Schema that a caller requires of an answer.

use serde_json::Value;

/// Most bytes of a schema.
const MAX_BYTES: usize = 256 * 1024;

/// Validates a schema that a caller gave. The error is a sentence fragment.
pub(super) fn validate(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("it is not an object".to_owned());
    }
    if schema.to_string().len() > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    compile(schema).map(drop)
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .map_err(|error| error.to_string())
}

/// Parses the answer as JSON that follows `schema`. The error names the faults, for the agent to repair.
pub(super) fn read(schema: &Value, message: &str) -> Result<Value, String> {
    let value = parse(message)?;
    let validator = compile(schema)?;
    let faults = validator.iter_errors(&value).take(5).map(|fault| {
        let place = fault.instance_path().to_string();
        let said = if place.is_empty() { fault.to_string() } else { format!("at `{place}`: {fault}") };
        said.chars().take(500).collect::<String>()
    });
    let first: Vec<String> = faults.collect();
    if first.is_empty() { Ok(value) } else { Err(first.join("; ")) }
}

/// Parses JSON, also in a code fence with a sentence before it, because models often answer like that.
fn parse(message: &str) -> Result<Value, String> {
    let message = message.trim();
    let whole = serde_json::from_str(message);
    let Err(error) = whole else { return whole.map_err(|error| error.to_string()) };
    let fenced = message.split_once("```").and_then(|(_, rest)| {
        let (head, body) = rest.split_once('\n')?;
        let (body, after) = body.split_once("```")?;
        let is_json = matches!(head.trim(), "" | "json" | "JSON") && !after.contains("```");
        is_json.then(|| serde_json::from_str(body).ok()).flatten()
    });
    fenced.ok_or_else(|| format!("it is not JSON: {error}"))
}

/// Returns the end of a prompt for a runner that has no flag for the schema.
pub(super) fn instruction(schema: &Value) -> String {
    format!(
        "\n\nYour final message must be one JSON value that follows this JSON Schema, without any text around it:\n{schema}"
    )
}

/// Returns the prompt for an agent whose answer did not follow the schema.
pub(super) fn repair(schema: &Value, fault: &str) -> String {
    format!(
        "Your final message does not follow the JSON Schema that was asked for: {fault}\n\
         Answer again with one JSON value that follows it, without any text around it. The schema:\n{schema}"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{read, validate};

    #[test]
    fn answers_are_read_as_models_give_them() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        validate(&schema).unwrap();
        for message in
            ["{\"n\":1}", " {\"n\":1}\n", "```json\n{\"n\":1}\n```", "Here it is:\n```\n{\"n\":1}\n```\n"]
        {
            assert_eq!(read(&schema, message), Ok(json!({"n": 1})), "{message}");
        }
        assert!(read(&schema, "{\"n\":\"x\"}").unwrap_err().contains("at `/n`"));
        assert!(read(&schema, "one").unwrap_err().contains("not JSON"));
        assert!(read(&schema, "{}").is_err());
        for bad in
            [json!([]), json!({"type": 5}), json!({"pattern": "("}), json!({"$ref": "http://127.0.0.1/x"})]
        {
            assert!(validate(&bad).is_err(), "{bad}");
        }
    }
}
