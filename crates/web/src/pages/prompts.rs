//! `/prompts`: the prompts by folder, with search, and the files that are not served, with reasons.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use super::catalogue;
use crate::error::Failure;
use crate::page::{self, Place};
use adjutant_app::App;
use adjutant_prompts as prompts;
use adjutant_prompts::{Engine, Problem, Prompt};

/// Rows on one page: a browser is slow with ten thousand, and nobody reads them; the search finds the rest.
const ROWS: usize = 300;

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    search: Result<Query<Search>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Search { q }) =
        search.map_err(|_| Failure::BadRequest("The search in the address is not readable text."))?;
    let search = prompts::Search::new(&q);
    let catalogue = catalogue(&app).await?;
    let mut found: Vec<(u8, &Arc<Prompt>)> =
        catalogue.prompts.values().filter_map(|prompt| Some((search.rank(prompt)?, prompt))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    let found: Vec<&Arc<Prompt>> = found.into_iter().map(|(_, prompt)| prompt).collect();
    // In the order of precedence; a root that the catalogue names and the configuration does not goes last.
    let mut roots: Vec<&str> = app.config.prompts.roots.iter().map(|root| root.label.as_str()).collect();
    for prompt in &found {
        if !roots.contains(&prompt.source.root.as_str()) {
            roots.push(&prompt.source.root);
        }
    }
    let mut room = ROWS;
    let mut groups = Vec::new();
    for root in roots {
        let all: Vec<&&Arc<Prompt>> = found.iter().filter(|prompt| prompt.source.root == root).collect();
        let rows: Vec<Value> = all.iter().take(room).map(|prompt| row(prompt)).collect();
        room -= rows.len();
        if !all.is_empty() {
            groups.push(context! { root, count => all.len(), rows });
        }
    }
    let values = context! {
        query => q.trim(),
        total => catalogue.prompts.len(),
        found => found.len(),
        hidden => found.len().saturating_sub(ROWS),
        groups,
        overridden => catalogue.overridden.iter().take(ROWS).map(|prompt| row(prompt)).collect::<Vec<_>>(),
        overridden_count => catalogue.overridden.len(),
        problems => catalogue.problems.iter().take(ROWS).map(problem).collect::<Vec<_>>(),
        problems_count => catalogue.problems.len(),
    };
    page::page(&app, Place::Section("/prompts"), "prompts.html", values).await
}

fn row(prompt: &Prompt) -> Value {
    context! {
        name => &prompt.name,
        title => prompt.title.as_deref(),
        description => &prompt.description,
        aliases => aliases(prompt),
        arguments => prompt.arguments.len(),
        engine => engine(prompt.engine),
        root => &prompt.source.root,
        relative => &prompt.source.relative,
    }
}

fn problem(problem: &Problem) -> Value {
    context! { root => &problem.source.root, relative => &problem.source.relative, message => &problem.message }
}

/// Returns a prompt's other names for a template.
pub(super) fn aliases(prompt: &Prompt) -> Vec<Value> {
    prompt.aliases.iter().map(Value::from).collect()
}

/// Returns an engine's name as front matter writes it.
pub(super) fn engine(engine: Engine) -> &'static str {
    match engine {
        Engine::Literal => "literal",
        Engine::Args => "args",
        Engine::Jinja => "jinja",
    }
}
