//! The three prompts of the assistant contract, for a model that plans or words a notification.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value, json};

use crate::arguments::{Fault, string};
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use adjutant_assistant::llm_prompts;
use adjutant_assistant::llm_prompts::{About, Instructions};

const POLICY: &str = "notificationPolicy";
const EMAIL: &str = "emailTemplate";
const SPEECH: &str = "ttsScript";

/// An argument: its name, what it is, and whether it must be there.
type Declared = (&'static str, &'static str, bool);

const OF_POLICY: &[Declared] = &[
    ("event_data", "Event data (JSON string)", true),
    ("user_preferences", "User preferences (JSON string)", false),
    ("history", "What was sent so far (JSON string)", false),
    ("timezone", "Time zone of the user", false),
];
const OF_WORDING: &[Declared] = &[
    ("event_title", "Event title", true),
    ("event_time", "Event time, with its zone", true),
    ("event_location", "Event location", false),
    ("urgency", "low, normal, high or urgent", false),
];

/// Name, title, description and arguments, in the order they are listed.
const PROMPTS: [(&str, &str, &str, &[Declared]); 3] = [
    (POLICY, "Notification policy", "LLM prompt template for notification planning", OF_POLICY),
    (EMAIL, "Notification mail", "Email notification template generator", OF_WORDING),
    (SPEECH, "Notification call", "TTS script template for phone calls", OF_WORDING),
];

/// The prompts as `revision` shows them.
pub fn listed(revision: Revision) -> Vec<Prompt> {
    let prompt = |(name, title, description, arguments): (&str, &str, &str, &[Declared])| {
        let arguments = arguments.iter().map(|(name, description, required)| {
            PromptArgument::new(*name).with_description(*description).with_required(*required)
        });
        let mut prompt = Prompt::new(name, Some(description), Some(arguments.collect()));
        prompt.title = Some(title.to_owned()).filter(|_| revision.has_titles());
        prompt
    };
    PROMPTS.into_iter().map(prompt).collect()
}

/// Whether a prompt is one of these: in the server of all toolsets a file of that name comes first.
pub(super) fn is_ours(client: &ClientContext, name: &str) -> bool {
    if client.selection == ToolsetSelection::Assistant {
        return true;
    }
    PROMPTS.iter().any(|prompt| prompt.0 == name)
        && client.app.prompts.ready().is_none_or(|catalogue| catalogue.find(name).is_none())
}

/// Renders a prompt for `prompts/get`; `None` where the name belongs to another toolset.
pub fn get(
    client: &ClientContext,
    revision: Revision,
    request: &GetPromptRequestParams,
) -> Option<Result<GetPromptResult, ErrorData>> {
    is_ours(client, &request.name).then(|| {
        let (description, Instructions { system, user }) = render(revision, request)?;
        // No role of the specification gives orders: what the contract calls the system's part comes first.
        let message = PromptMessage::new_text(Role::User, format!("{system}\n\n{user}"));
        Ok(GetPromptResult::new(vec![message]).with_description(description))
    })
}

/// The same in the contract's shape.
pub(super) fn contract(request: &GetPromptRequestParams) -> Result<Value, ErrorData> {
    let (description, Instructions { system, user }) = render(Revision::V2024_11_05, request)?;
    Ok(json!({
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "description": description,
    }))
}

fn render(
    revision: Revision,
    request: &GetPromptRequestParams,
) -> Result<(&'static str, Instructions), ErrorData> {
    let Some((_, _, description, declared)) = PROMPTS.iter().find(|prompt| prompt.0 == request.name) else {
        let message =
            format!("unknown prompt `{}`; prompts/list shows the names", error::clip(&request.name));
        return Err(error::unknown_name(revision, message));
    };
    let arguments = request.arguments.clone().unwrap_or_default();
    let text = |position: usize| argument(&arguments, declared[position]);
    let instructions = if request.name == POLICY {
        let event = text(0)?.unwrap_or_default();
        llm_prompts::policy(event, text(1)?, text(2)?, text(3)?)
    } else {
        let about = About {
            title: text(0)?.unwrap_or_default(),
            time: text(1)?.unwrap_or_default(),
            location: text(2)?,
            urgency: text(3)?,
        };
        if request.name == EMAIL { llm_prompts::email(about) } else { llm_prompts::speech(about) }
    };
    Ok((description, instructions))
}

/// A faulty argument of a prompt is a protocol error at every revision.
fn argument(
    arguments: &Map<String, Value>,
    (name, _, required): Declared,
) -> Result<Option<&str>, ErrorData> {
    string(arguments, name, required).map_err(|fault: Fault| {
        error::invalid_params(fault.message, &fault.path, fault.validator, &fault.validator_value)
    })
}
