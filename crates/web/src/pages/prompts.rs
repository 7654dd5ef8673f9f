//! `/prompts`: the prompts by folder, with search, and the files that are not served, with reasons.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::{catalogue, problem_row};
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Search};
use adjutant_app::App;
use adjutant_prompts as prompts;
use adjutant_prompts::{Catalogue, Prompt};

/// Maximum rows of one page, because a browser is slow with ten thousand. The search finds the rest.
const MAX_ROWS: usize = 300;

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(Search { q }): Address<Search>,
) -> Result<Response, Failure> {
    let catalogue = catalogue(&app).await?;
    let found = search(&catalogue, &q);
    // In the order of precedence. A folder of the catalogue that is no longer in the configuration comes last.
    let mut roots: Vec<&str> = app.config.prompts.roots.iter().map(|root| root.label.as_str()).collect();
    for prompt in &found {
        if !roots.contains(&prompt.source.root.as_str()) {
            roots.push(&prompt.source.root);
        }
    }
    let mut rows_left = MAX_ROWS;
    let mut groups = Vec::new();
    for root in roots {
        let all: Vec<&&Arc<Prompt>> = found.iter().filter(|prompt| prompt.source.root == root).collect();
        let rows: Vec<Value> = all.iter().take(rows_left).map(|prompt| row(prompt)).collect();
        rows_left -= rows.len();
        if !all.is_empty() {
            groups.push(context! { root, count => all.len(), rows });
        }
    }
    let values = context! {
        query => q.trim(),
        total => catalogue.prompts.len(),
        found => found.len(),
        hidden => found.len().saturating_sub(MAX_ROWS),
        groups,
        overridden => catalogue.overridden.iter().take(MAX_ROWS).map(|prompt| row(prompt)).collect::<Vec<_>>(),
        overridden_count => catalogue.overridden.len(),
        problems => catalogue.problems.iter().take(MAX_ROWS).map(problem_row).collect::<Vec<_>>(),
        problems_count => catalogue.problems.len(),
    };
    page::page(&app, Place::Section("/prompts"), "prompts.html", values).await
}

/// Returns the prompts that match a query, the best matches first.
pub(super) fn search<'a>(catalogue: &'a Catalogue, query: &str) -> Vec<&'a Arc<Prompt>> {
    let search = prompts::Search::new(query);
    let ranked = |prompt: &'a Arc<Prompt>| Some((search.rank(prompt)?, prompt));
    let mut found: Vec<(u8, &Arc<Prompt>)> = catalogue.prompts.values().filter_map(ranked).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, prompt)| prompt).collect()
}

fn row(prompt: &Prompt) -> Value {
    context! {
        name => &prompt.name,
        // Percent-encoded, so there is nothing in it to escape.
        address => Value::from_safe_string(format!("/prompts/{}", page::path(&prompt.name))),
        title => prompt.title.as_deref(),
        description => &prompt.description,
        aliases => aliases(prompt),
        arguments => prompt.arguments.len(),
        engine => prompt.engine.name(),
        root => &prompt.source.root,
        relative => &prompt.source.relative,
    }
}

/// Returns a prompt's other names for a template.
pub(super) fn aliases(prompt: &Prompt) -> Vec<Value> {
    prompt.aliases.iter().map(Value::from).collect()
}
