//! `/prompts/{name}`: one prompt with its source, and a form that shows what an agent would get.

use std::sync::Arc;

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};
use serde::Deserialize;

use super::{catalogue, prompts};
use crate::error::Failure;
use crate::highlight::source as shown_source;
use crate::page::{self, Place};
use crate::prompt_form;
use crate::prompt_form::{Answers, Fault};
use adjutant_app::App;
use adjutant_base::text::escape_invisible;
use adjutant_prompts::{Catalogue, Engine, Error, Inputs, Prompt};

/// Bytes of an expansion that are shown; the rest is in the download.
const SHOWN: usize = 64 * 1024;

#[derive(Deserialize)]
pub(crate) struct Part {
    /// `try`: only the form and the preview, for the script.
    part: Option<String>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let (catalogue, found) = find(&app, name).await?;
    let prompt = match found {
        Found::Prompt(prompt) => prompt,
        Found::Alias(name) => return Ok(moved(&name)),
    };
    let trial = trial(&app, &catalogue, &prompt, None);
    whole(&app, &prompt, trial.values).await
}

pub(crate) async fn expand(
    State(app): State<Arc<App>>,
    name: Result<Path<String>, PathRejection>,
    part: Result<Query<Part>, QueryRejection>,
    answers: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let Query(Part { part }) = part.map_err(|_| Failure::BadRequest("The address is not readable text."))?;
    let pairs = page::fields(answers)?;
    let (catalogue, found) = find(&app, name).await?;
    let prompt = match found {
        Found::Prompt(prompt) => prompt,
        Found::Alias(name) => return Ok(moved(&name)),
    };
    let answers = Answers::new(pairs);
    let trial = trial(&app, &catalogue, &prompt, Some(&answers));
    match (trial.text, part.as_deref()) {
        (Some(text), _) if answers.download => Ok(file(&prompt.name, text)),
        (_, Some("try")) => page::fragment("prompt_preview.html", trial.values),
        _ => whole(&app, &prompt, trial.values).await,
    }
}

enum Found {
    Prompt(Arc<Prompt>),
    /// The name that an alias stands for.
    Alias(String),
}

async fn find(
    app: &Arc<App>,
    name: Result<Path<String>, PathRejection>,
) -> Result<(Arc<Catalogue>, Found), Failure> {
    let Path(name) =
        name.map_err(|_| Failure::BadRequest("The prompt's name in the address is not readable text."))?;
    let catalogue = catalogue(app).await?;
    if let Some(prompt) = catalogue.prompts.get(&name) {
        let prompt = Arc::clone(prompt);
        return Ok((catalogue, Found::Prompt(prompt)));
    }
    if let Some(meant) = catalogue.aliases.get(&name) {
        let meant = meant.clone();
        return Ok((catalogue, Found::Alias(meant)));
    }
    // The room knows the names that are close to this one, and whether a file of this name is faulty.
    Err(match app.prompts.expand(&catalogue, &name, Inputs::default()) {
        Err(Error::Broken { name, reason }) => Failure::BrokenPrompt { name, reason },
        Err(Error::Unknown { name, near }) => Failure::NoPrompt { name, near },
        _ => Failure::NoPrompt { name, near: Vec::new() },
    })
}

fn moved(name: &str) -> Response {
    (page::headers(), Redirect::temporary(&format!("/prompts/{}", page::path(name)))).into_response()
}

/// A try at an expansion: what the template shows, and the whole text if there is one.
struct Trial {
    values: Value,
    text: Option<String>,
}

/// Expands with `answers`, or with what is declared while nobody has answered yet. Nothing is recorded: a
/// person looks at a prompt here, no agent gets it.
fn trial(app: &App, catalogue: &Catalogue, prompt: &Prompt, answers: Option<&Answers>) -> Trial {
    let named = answers.map(|answers| answers.values(&prompt.arguments)).unwrap_or_default();
    let inputs = Inputs {
        text: answers.map(|answers| answers.text.as_str()).unwrap_or_default(),
        named: (!named.is_empty()).then_some(&named),
    };
    let (text, fault, waiting) = match app.prompts.expand(catalogue, &prompt.name, inputs) {
        Ok(expansion) => (Some(expansion.text), None, false),
        // Nobody has answered yet, so nothing is wrong yet.
        Err(Error::Argument { .. }) if answers.is_none() => (None, None, true),
        Err(error) => (None, Some(fault(prompt, &error)), false),
    };
    let shown = text.as_deref().map(|text| &text[..text.floor_char_boundary(SHOWN)]);
    let values = context! {
        name => &prompt.name,
        fields => prompt_form::fields(prompt, answers, fault.as_ref()),
        input => answers.map(|answers| answers.text.as_str()).unwrap_or_default(),
        input_declared => prompt.argument("input").is_some(),
        takes_input => prompt.takes_input(),
        fault => fault.as_ref().map(|fault| fault.message.as_str()),
        fault_elsewhere => fault.as_ref().is_some_and(|fault| fault.argument.is_none()),
        waiting,
        shown,
        bytes => text.as_ref().map(String::len),
        lines => text.as_ref().map(|text| text.lines().count()),
        clipped => text.as_ref().is_some_and(|text| text.len() > SHOWN),
        hidden_characters => text.as_deref().map_or(0, escape_invisible::count),
    };
    Trial { values, text }
}

fn fault(prompt: &Prompt, error: &Error) -> Fault {
    let argument = match error {
        Error::Argument { path, .. } => path
            .iter()
            .rev()
            .find_map(|step| prompt.arguments.iter().find(|argument| &argument.name == step))
            .map(|argument| argument.name.clone()),
        Error::Unknown { .. } | Error::TooLarge { .. } | Error::Template { .. } | Error::Broken { .. } => {
            None
        }
    };
    Fault { argument, message: error.to_string() }
}

async fn whole(app: &Arc<App>, prompt: &Prompt, trial: Value) -> Result<Response, Failure> {
    let text = match prompt.front_matter.as_str() {
        "" => format!("{}\n", prompt.body),
        front => format!("---\n{}\n---\n\n{}\n", front.trim_end(), prompt.body),
    };
    let engine = prompt.engine;
    let values = context! {
        title => prompt.title.as_deref(),
        description => &prompt.description,
        aliases => prompts::aliases(prompt),
        engine => prompts::engine(engine),
        digest => &prompt.digest,
        root => &prompt.source.root,
        relative => &prompt.source.relative,
        warnings => prompt.warnings.iter().map(Value::from).collect::<Vec<_>>(),
        source => Value::from_safe_string(shown_source(&text, |rest| placeholder(engine, rest))),
        source_hidden => escape_invisible::count(&text),
    };
    page::page(app, Place::Section("/prompts"), "prompt.html", context! { ..values, ..trial }).await
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
