//! `completion/complete`: the possible values of a prompt's argument.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use serde_json::Value;

use crate::error;
use crate::protocol_version::Revision;
use adjutant_prompts::{ArgumentType, Catalogue};

/// Returns the declared choices that start with the typed text. An argument without choices has no completions.
pub fn complete(
    catalogue: &Catalogue,
    revision: Revision,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let Reference::Prompt(reference) = &request.r#ref else {
        return Ok(CompleteResult::default());
    };
    let Some(prompt) = catalogue.find(&reference.name) else {
        let message = format!("unknown prompt `{}`", error::clip(&reference.name));
        return Err(error::unknown_name(revision, message));
    };
    let Some(argument) = prompt.arguments.iter().find(|argument| argument.name == request.argument.name)
    else {
        return Ok(CompleteResult::default());
    };
    let mut values: Vec<String> = argument
        .choices
        .iter()
        .map(|choice| match choice {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    if values.is_empty() && argument.kind == ArgumentType::Boolean {
        values = vec!["true".to_owned(), "false".to_owned()];
    }
    let typed = request.argument.value.to_lowercase();
    values.retain(|value| value.to_lowercase().starts_with(&typed));
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::with_pagination(
        values,
        u32::try_from(total).ok(),
        total > CompletionInfo::MAX_VALUES,
    );
    Ok(info.map(CompleteResult::new).unwrap_or_default())
}
