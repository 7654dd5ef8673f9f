//! `/prompts/{name}`: one prompt with its source, and a form that shows what an agent would get.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use minijinja::{Value, context};
use serde::Deserialize;

use super::{catalogue, prompts};
use crate::error::Failure;
use crate::highlight::source as highlighted_source;
use crate::page::{self, Place};
use crate::prompt_form::{Answers, InvalidAnswer};
use crate::request::{Address, Fields};
use crate::{excerpt, prompt_form};
use adjutant_app::App;
use adjutant_base::text::escape_invisible;
use adjutant_prompts::{Catalogue, Engine, Error, Inputs, Prompt};

#[derive(Deserialize)]
pub(crate) struct Part {
    /// `try`: only the form and the preview, for the script.
    part: Option<String>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let (catalogue, prompt) = find(&app, name).await?;
    let preview = preview(&app, &catalogue, &prompt, None);
    whole_page(&app, &prompt, preview.values).await
}

pub(crate) async fn expand(
    State(app): State<Arc<App>>,
    name: Result<Path<String>, PathRejection>,
    Address(Part { part }): Address<Part>,
    fields: Fields,
) -> Result<Response, Failure> {
    let (catalogue, prompt) = find(&app, name).await?;
    let answers = Answers::new(fields);
    let preview = preview(&app, &catalogue, &prompt, Some(&answers));
    match (preview.text, part.as_deref()) {
        (Some(text), _) if answers.download => Ok(file(&prompt.name, text)),
        (_, Some("try")) => page::fragment("prompt_preview.html", preview.values),
        _ => whole_page(&app, &prompt, preview.values).await,
    }
}

/// Returns the prompt of this name. An alias is a failure that leads to the prompt's own page.
async fn find(
    app: &Arc<App>,
    name: Result<Path<String>, PathRejection>,
) -> Result<(Arc<Catalogue>, Arc<Prompt>), Failure> {
    let Path(name) =
        name.map_err(|_| Failure::BadRequest("The prompt's name in the address is not readable text."))?;
    let catalogue = catalogue(app).await?;
    if let Some(prompt) = catalogue.prompts.get(&name) {
        let prompt = Arc::clone(prompt);
        return Ok((catalogue, prompt));
    }
    if let Some(prompt) = catalogue.aliases.get(&name) {
        return Err(Failure::Moved(format!("/prompts/{}", page::path(prompt))));
    }
    // The domain knows similar names, and whether a file of this name is invalid.
    Err(match app.prompts.expand(&catalogue, &name, Inputs::default()) {
        Err(Error::Broken { name, reason }) => Failure::Broken { kind: "prompt", name, reason },
        Err(Error::Unknown { name, near }) => Failure::NotFound { kind: "prompt", name, near },
        _ => Failure::not_found("prompt", name),
    })
}

/// The preview of an expansion: the values of its template, and the whole text if there is one.
struct Preview {
    values: Value,
    text: Option<String>,
}

/// Expands with `answers`, or with the defaults before the form is sent. Nothing is recorded, because no agent gets the
/// text.
fn preview(app: &App, catalogue: &Catalogue, prompt: &Prompt, answers: Option<&Answers>) -> Preview {
    let named = answers.map(|answers| answers.values(&prompt.arguments)).unwrap_or_default();
    let inputs = Inputs {
        text: answers.map(|answers| answers.text.as_str()).unwrap_or_default(),
        named: (!named.is_empty()).then_some(&named),
    };
    let (text, invalid, waiting) = match app.prompts.expand(catalogue, &prompt.name, inputs) {
        Ok(expansion) => (Some(expansion.text), None, false),
        // Before the form is sent, a missing argument is not an error.
        Err(Error::Argument { .. }) if answers.is_none() => (None, None, true),
        Err(error) => (None, Some(invalid_answer(prompt, &error)), false),
    };
    let shown = text.as_deref().map(excerpt::beginning);
    let values = context! {
        name => &prompt.name,
        fields => prompt_form::fields(prompt, answers, invalid.as_ref()),
        input => answers.map(|answers| answers.text.as_str()).unwrap_or_default(),
        input_declared => prompt.argument("input").is_some(),
        takes_input => prompt.takes_input(),
        fault => invalid.as_ref().map(|invalid| invalid.message.as_str()),
        fault_elsewhere => invalid.as_ref().is_some_and(|invalid| invalid.argument.is_none()),
        waiting,
        shown,
        bytes => text.as_ref().map(String::len),
        lines => text.as_ref().map(|text| text.lines().count()),
        clipped => text.as_ref().map(String::len) > shown.map(str::len),
        hidden_characters => text.as_deref().map_or(0, escape_invisible::count_invisible),
    };
    Preview { values, text }
}

fn invalid_answer(prompt: &Prompt, error: &Error) -> InvalidAnswer {
    let argument = match error {
        Error::Argument { path, .. } => path
            .iter()
            .rev()
            .find_map(|name| prompt.arguments.iter().find(|argument| &argument.name == name))
            .map(|argument| argument.name.clone()),
        Error::Unknown { .. } | Error::TooLarge { .. } | Error::Template { .. } | Error::Broken { .. } => {
            None
        }
    };
    InvalidAnswer { argument, message: error.to_string() }
}

async fn whole_page(app: &Arc<App>, prompt: &Prompt, preview: Value) -> Result<Response, Failure> {
    let text = match prompt.front_matter.as_str() {
        "" => format!("{}\n", prompt.body),
        front => format!("---\n{}\n---\n\n{}\n", front.trim_end(), prompt.body),
    };
    let engine = prompt.engine;
    let values = context! {
        title => prompt.title.as_deref(),
        description => &prompt.description,
        aliases => prompts::aliases(prompt),
        engine => engine.name(),
        digest => &prompt.digest,
        root => &prompt.source.root,
        relative => &prompt.source.relative,
        warnings => prompt.warnings.iter().map(Value::from).collect::<Vec<_>>(),
        source => Value::from_safe_string(highlighted_source(&text, |rest| placeholder(engine, rest))),
        source_hidden => escape_invisible::count_invisible(&text),
    };
    page::page(app, Place::Section("/prompts"), "prompt.html", context! { ..values, ..preview }).await
}

/// Returns the length of the placeholder that `rest` begins with.
fn placeholder(engine: Engine, rest: &str) -> Option<usize> {
    if rest.starts_with("{{") {
        return rest.find("}}").map(|end| end + 2);
    }
    if engine == Engine::Jinja && rest.starts_with("{%") {
        return rest.find("%}").map(|end| end + 2);
    }
    let after = rest.strip_prefix('$').filter(|_| engine == Engine::Args)?;
    if after.starts_with('{') {
        return after.find('}').map(|end| end + 2);
    }
    let name = after
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .unwrap_or(after.len());
    (name > 0).then_some(name + 1)
}

fn file(name: &str, text: String) -> Response {
    let stem: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{stem}.txt\"")),
    ];
    (page::headers(), headers, text).into_response()
}
