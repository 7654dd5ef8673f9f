//! The protocol's own prompts: `prompts/list` and `prompts/get` from the same files as the tools.

mod argument_form;

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::tools::prompts::{record_expansion, record_refusal};
use adjutant_prompts as prompts;
use adjutant_prompts::{Catalogue, Error, Inputs};
pub(crate) use argument_form::missing_arguments;

/// Prompts on one page of `prompts/list`.
const PAGE_SIZE: usize = 1000;

/// Returns the page after `cursor`, which is the last name of the previous page.
pub fn list(catalogue: &Catalogue, revision: Revision, cursor: Option<&str>) -> ListPromptsResult {
    use std::ops::Bound::{Excluded, Unbounded};
    let from = cursor.map_or(Unbounded, Excluded);
    let mut rest = catalogue.prompts.range::<str, _>((from, Unbounded)).map(|(_, prompt)| prompt);
    let page: Vec<Prompt> = rest.by_ref().take(PAGE_SIZE).map(|prompt| entry(prompt, revision)).collect();
    let next = rest.next().and_then(|_| page.last().map(|prompt| prompt.name.clone()));
    let mut result = ListPromptsResult::with_all_items(page);
    result.next_cursor = next;
    result
}

fn entry(prompt: &prompts::Prompt, revision: Revision) -> Prompt {
    let declared = |argument: &prompts::Argument| {
        PromptArgument::new(argument.name.clone())
            .with_description(argument.description.clone())
            .with_required(argument.required)
    };
    let mut arguments: Vec<PromptArgument> = prompt.arguments.iter().map(declared).collect();
    if prompt.arguments.is_empty() || prompt.takes_input() {
        let input = PromptArgument::new("input").with_description("Text to inject into the prompt template");
        arguments.push(input.with_required(false));
    }
    let mut entry = Prompt::new(prompt.name.clone(), Some(prompt.description.clone()), Some(arguments));
    entry.title = prompt.title.clone().filter(|_| revision.has_titles());
    entry
}

/// Expands a prompt for `prompts/get`. The contract of 2024-11-05 has no `prompts/get`, so that revision gets the
/// specification's form too.
pub async fn get(
    client: &ClientContext,
    revision: Revision,
    request: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let catalogue = client.prompts().await;
    let mut named = request.arguments.clone().unwrap_or_default();
    let declared = catalogue.find(&request.name).is_some_and(|prompt| prompt.argument("input").is_some());
    // `input` is the text after the command unless the prompt declares an argument of that name.
    let has_text = !declared && named.get("input").is_some_and(Value::is_string);
    let input = if has_text { named.shift_remove("input") } else { None };
    let text = input.as_ref().and_then(Value::as_str).unwrap_or_default();
    let inputs = Inputs { text, named: Some(&named).filter(|named| !named.is_empty()) };
    match client.app.prompts.expand(&catalogue, &request.name, inputs) {
        Ok(expansion) => {
            record_expansion(client, &expansion.prompt.name, expansion.text.len());
            let message = PromptMessage::new_text(Role::User, expansion.text);
            Ok(GetPromptResult::new(vec![message]).with_description(expansion.prompt.description.clone()))
        }
        Err(error) => {
            record_refusal(client, &request.name, &error);
            Err(match error {
                Error::Unknown { .. } => error::unknown_name(revision, error.to_string()),
                Error::Argument { message, path, validator, validator_value } => {
                    error::invalid_params(message, &path, validator, &validator_value)
                }
                Error::TooLarge { .. } | Error::Template { .. } | Error::Broken { .. } => {
                    ErrorData::invalid_params(error.to_string(), None)
                }
            })
        }
    }
}
