//! `/find`: one search over everything that has a page; with script it is the palette behind Ctrl-K.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use super::{catalogue, definitions};
use crate::agents::Viewer;
use crate::agents::task::Filter;
use crate::app::App;
use crate::codex;
use crate::config::settings;
use crate::popups;
use crate::prompts;
use crate::web::error::Failure;
use crate::web::page::{self, Place};

/// Hits of each kind: a palette is for what one half knows; the pages have searches of their own.
const EACH: usize = 5;

/// The same for the store.
const ROWS: u32 = 5;

/// Waiting questions that are looked through.
const WAITING: u32 = 200;

#[derive(Deserialize)]
pub(in crate::web) struct Search {
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

pub(in crate::web) async fn show(
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
    page::page(&app, Place::Nowhere, "find.html", context! { query, groups }).await
}

/// Whether every word of the query stands somewhere in one of these.
fn fits(query: &str, parts: &[&str]) -> bool {
    let parts: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    query.to_lowercase().split_whitespace().all(|word| parts.iter().any(|part| part.contains(word)))
}

fn pages(query: &str) -> Vec<Hit> {
    let rooms = page::ROOMS.into_iter().filter(|(label, _)| fits(query, &[label]));
    rooms.map(|(label, path)| Hit::new(label, "", path.to_owned())).collect()
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
    let hit = |agent: &Arc<crate::agents::definition::Agent>| {
        Hit::new(&agent.name, &agent.description, format!("/agents/{}", page::path(&agent.name)))
    };
    Ok(found.take(EACH).map(hit).collect())
}

async fn of_questions(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let waiting = app.popups.pending(None, WAITING).await.map_err(Failure::internal)?;
    let filter = popups::Filter { text: Some(query.to_owned()), ..popups::Filter::default() };
    let decided = app.popups.history(&filter, None, ROWS).await.map_err(Failure::internal)?;
    let hit = |question: &popups::Question, note: &str| {
        Hit::new(&question.title, note, format!("/questions/{}", page::path(question.ticket.as_str())))
    };
    let open = waiting.questions.iter().filter(|one| fits(query, &[&one.title, &one.client, &one.workspace]));
    let mut hits: Vec<Hit> = open.map(|question| hit(question, "waits for you")).collect();
    hits.extend(decided.questions.iter().map(|question| hit(question, "decided")));
    hits.truncate(EACH);
    Ok(hits)
}

async fn of_tasks(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let filter = Filter { text: Some(query.to_owned()), ..Filter::default() };
    let found = app.agents.list(&Viewer::Person, filter, None, ROWS).await.map_err(Failure::internal)?;
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
    let found = settings::list(&app.config, &app.rooms.now());
    let found = found.iter().filter(|setting| fits(query, &[&setting.key, setting.about]));
    let hit = |setting: &settings::Setting| {
        Hit::new(&setting.key, setting.about, format!("/settings#{}", page::path(&setting.key)))
    };
    found.take(EACH).map(hit).collect()
}
