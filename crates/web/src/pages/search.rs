//! `/find`: one search over everything that has a page; with script it is the palette of Ctrl-K.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use super::{catalogue, definitions};
use crate::error::Failure;
use crate::page::{self, Place};
use adjutant_agents::Viewer;
use adjutant_agents::task::Filter;
use adjutant_app::App;
use adjutant_base::config::effective;
use adjutant_codex as codex;
use adjutant_prompts as prompts;
use adjutant_questions as questions;

/// Hits of each kind: a palette is for what one half knows; the pages have searches of their own.
const EACH: usize = 5;

/// The same for the store.
const ROWS: u32 = 5;

/// Waiting questions that are looked through.
const WAITING: u32 = 200;

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
}

/// One thing that was found.
struct Hit {
    label: String,
    note: String,
    path: String,
}

impl Hit {
    fn new(label: &str, note: &str, path: String) -> Self {
        Self { label: label.to_owned(), note: note.to_owned(), path }
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    search: Result<Query<Search>, QueryRejection>,
) -> Result<Response, Failure> {
    let unreadable = "The search in the address is not readable text.";
    let Query(Search { q }) = search.map_err(|_| Failure::BadRequest(unreadable))?;
    let query = q.trim();
    let mut groups = vec![("Pages", pages(query))];
    if !query.is_empty() {
        groups.extend([
            ("Prompts", of_prompts(&app, query).await?),
            ("Agents", of_agents(&app, query).await?),
            ("Questions", of_questions(&app, query).await?),
            ("Tasks", of_tasks(&app, query).await?),
            ("Codex", of_threads(&app, query).await?),
            ("Settings", of_settings(&app, query)),
        ]);
    }
    let group = |(label, hits): (&str, Vec<Hit>)| {
        let hits: Vec<Value> = hits
            .iter()
            .map(|hit| context! { label => &hit.label, note => &hit.note, path => &hit.path })
            .collect();
        context! { label, hits }
    };
    let groups: Vec<Value> = groups.into_iter().filter(|(_, hits)| !hits.is_empty()).map(group).collect();
    page::page(&app, Place::Nowhere, "search.html", context! { query, groups }).await
}

/// Whether every word of the query stands somewhere in one of these.
fn fits(query: &str, parts: &[&str]) -> bool {
    let parts: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    query.to_lowercase().split_whitespace().all(|word| parts.iter().any(|part| part.contains(word)))
}

fn pages(query: &str) -> Vec<Hit> {
    let sections = page::SECTIONS.into_iter().filter(|(label, _)| fits(query, &[label]));
    sections.map(|(label, path)| Hit::new(label, "", path.to_owned())).collect()
}

async fn of_prompts(app: &Arc<App>, query: &str) -> Result<Vec<Hit>, Failure> {
    let search = prompts::Search::new(query);
    let catalogue = catalogue(app).await?;
    let mut found: Vec<_> =
        catalogue.prompts.values().filter_map(|prompt| Some((search.rank(prompt)?, prompt))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    let hit = |prompt: &prompts::Prompt| {
        let path = format!("/prompts/{}", page::path(&prompt.name));
        Hit::new(&format!(":{}", prompt.name), &prompt.description, path)
    };
    Ok(found.into_iter().take(EACH).map(|(_, prompt)| hit(prompt)).collect())
}

async fn of_agents(app: &Arc<App>, query: &str) -> Result<Vec<Hit>, Failure> {
    let catalogue = definitions(app).await?;
    let found = catalogue.agents.values().filter(|agent| fits(query, &[&agent.name, &agent.description]));
    let hit = |agent: &Arc<adjutant_agents::definition::Agent>| {
        Hit::new(&agent.name, &agent.description, format!("/agents/{}", page::path(&agent.name)))
    };
    Ok(found.take(EACH).map(hit).collect())
}

async fn of_questions(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let waiting = app.questions.pending(None, WAITING).await.map_err(Failure::internal)?;
    let filter = questions::Filter { text: Some(query.to_owned()), ..questions::Filter::default() };
    let decided = app.questions.history(&filter, None, ROWS).await.map_err(Failure::internal)?;
    let hit = |question: &questions::Question, note: &str| {
        Hit::new(&question.title, note, format!("/questions/{}", page::path(question.ticket.as_str())))
    };
    let open = waiting.questions.iter().filter(|one| fits(query, &[&one.title, &one.client, &one.workspace]));
    let mut hits: Vec<Hit> = open.map(|question| hit(question, "pending")).collect();
    hits.extend(decided.questions.iter().map(|question| hit(question, "decided")));
    hits.truncate(EACH);
    Ok(hits)
}

async fn of_tasks(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let filter = Filter { text: Some(query.to_owned()), ..Filter::default() };
    let found = app.agents.list(&Viewer::User, filter, None, ROWS).await.map_err(Failure::internal)?;
    let hits = found.tasks.iter().map(|task| {
        let note = format!("{}, {}", task.agent, task.state.as_str());
        Hit::new(&task.text, &note, format!("/tasks/{}", page::path(task.id.as_str())))
    });
    Ok(hits.collect())
}

async fn of_threads(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let query = codex::Query { text: query.to_owned(), limit: ROWS };
    let found = app.codex.threads(&query, None).await.map_err(Failure::internal)?;
    let hits = found.iter().map(|thread| {
        Hit::new(&thread.row.title, thread.state.as_str(), format!("/codex/{}", page::path(&thread.row.id)))
    });
    Ok(hits.collect())
}

fn of_settings(app: &App, query: &str) -> Vec<Hit> {
    let found = effective::list(&app.config, &app.toolsets.current());
    let found = found.iter().filter(|setting| fits(query, &[&setting.key, setting.about]));
    let hit = |setting: &effective::Setting| {
        Hit::new(&setting.key, setting.about, format!("/settings#{}", page::path(&setting.key)))
    };
    found.take(EACH).map(hit).collect()
}
