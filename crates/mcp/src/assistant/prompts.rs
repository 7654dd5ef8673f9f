//! The three prompts of the assistant contract, for a model that plans or writes a notification.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value, json};

use crate::arguments::{ArgumentError, string};
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use adjutant_assistant::llm_prompts;
use adjutant_assistant::llm_prompts::{About, Instructions};

const POLICY: &str = "notificationPolicy";
const EMAIL: &str = "emailTemplate";
const SPEECH: &str = "ttsScript";

/// An argument: its name, its description, and whether it is required.
type ArgumentSpec = (&'static str, &'static str, bool);

const POLICY_ARGUMENTS: &[ArgumentSpec] = &[
    ("event_data", "Event data (JSON string)", true),
    ("user_preferences", "User preferences (JSON string)", false),
    ("history", "What was sent so far (JSON string)", false),
    ("timezone", "Time zone of the user", false),
];
const WORDING_ARGUMENTS: &[ArgumentSpec] = &[
    ("event_title", "Event title", true),
    ("event_time", "Event time, with its zone", true),
    ("event_location", "Event location", false),
    ("urgency", "low, normal, high or urgent", false),
];

/// Name, title, description and arguments, in the order of the list.
const PROMPTS: [(&str, &str, &str, &[ArgumentSpec]); 3] = [
    (POLICY, "Notification policy", "LLM prompt template for notification planning", POLICY_ARGUMENTS),
    (EMAIL, "Notification mail", "Email notification template generator", WORDING_ARGUMENTS),
    (SPEECH, "Notification call", "TTS script template for phone calls", WORDING_ARGUMENTS),
];

/// Returns the prompts as `revision` shows them.
pub fn list(revision: Revision) -> Vec<Prompt> {
    let prompt = |(name, title, description, arguments): (&str, &str, &str, &[ArgumentSpec])| {
        let arguments = arguments.iter().map(|(name, description, required)| {
            PromptArgument::new(*name).with_description(*description).with_required(*required)
        });
        let mut prompt = Prompt::new(name, Some(description), Some(arguments.collect()));
        prompt.title = Some(title.to_owned()).filter(|_| revision.has_titles());
        prompt
    };
    PROMPTS.into_iter().map(prompt).collect()
}

/// Returns whether `prompts/get` of a name is answered here: for every name in the assistant's own server, and in the
/// server of all toolsets for these prompts, unless a prompt file of the same name overrides one.
pub(super) fn serves(client: &ClientContext, name: &str) -> bool {
    if client.selection == ToolsetSelection::Assistant {
        return true;
    }
    PROMPTS.iter().any(|prompt| prompt.0 == name)
        && client.app.prompts.files.ready().is_none_or(|catalogue| catalogue.find(name).is_none())
}

/// Renders a prompt for `prompts/get`; `None` where the name belongs to another toolset.
pub fn get(
    client: &ClientContext,
    revision: Revision,
    request: &GetPromptRequestParams,
) -> Option<Result<GetPromptResult, ErrorData>> {
    serves(client, &request.name).then(|| {
        let (description, Instructions { system, user }) = render(revision, request)?;
        // The specification has no role `system`, so the contract's message with that role comes first.
        let message = PromptMessage::new_text(Role::User, format!("{system}\n\n{user}"));
        Ok(GetPromptResult::new(vec![message]).with_description(description))
    })
}

/// Renders a prompt in the contract's form.
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

/// Returns an argument. An invalid argument of a prompt is a protocol error at every revision.
fn argument(
    arguments: &Map<String, Value>,
    (name, _, required): ArgumentSpec,
) -> Result<Option<&str>, ErrorData> {
    string(arguments, name, required).map_err(ArgumentError::into_protocol_error)
}
