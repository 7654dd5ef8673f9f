//! `/find`: one search over everything that has a page; with script it is the palette of Ctrl-K.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::{catalogue, definitions, prompts};
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Search};
use adjutant_agents::Viewer;
use adjutant_agents::task::Filter;
use adjutant_app::App;
use adjutant_base::config::effective;
use adjutant_codex as codex;
use adjutant_prompts::Prompt;
use adjutant_questions as questions;

/// Hits of each kind. The pages have searches of their own for more.
const MAX_HITS: usize = 5;

/// Rows of the store for each kind.
const MAX_ROWS: u32 = 5;

/// Maximum pending questions that are searched.
const MAX_PENDING: u32 = 200;

/// A page that matches the query.
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
    Address(Search { q }): Address<Search>,
) -> Result<Response, Failure> {
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

/// Whether each word of the query occurs in one of these texts.
fn matches(query: &str, texts: &[&str]) -> bool {
    let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    query.to_lowercase().split_whitespace().all(|word| texts.iter().any(|text| text.contains(word)))
}

fn pages(query: &str) -> Vec<Hit> {
    let sections = page::SECTIONS.into_iter().filter(|(label, _)| matches(query, &[label]));
    sections.map(|(label, path)| Hit::new(label, "", path.to_owned())).collect()
}

async fn of_prompts(app: &Arc<App>, query: &str) -> Result<Vec<Hit>, Failure> {
    let catalogue = catalogue(app).await?;
    let hit = |prompt: &Arc<Prompt>| {
        let path = format!("/prompts/{}", page::path(&prompt.name));
        Hit::new(&format!(":{}", prompt.name), &prompt.description, path)
    };
    Ok(prompts::search(&catalogue, query).into_iter().take(MAX_HITS).map(hit).collect())
}

async fn of_agents(app: &Arc<App>, query: &str) -> Result<Vec<Hit>, Failure> {
    let catalogue = definitions(app).await?;
    let found = catalogue.agents.values().filter(|agent| matches(query, &[&agent.name, &agent.description]));
    let hit = |agent: &Arc<adjutant_agents::definition::Agent>| {
        Hit::new(&agent.name, &agent.description, format!("/agents/{}", page::path(&agent.name)))
    };
    Ok(found.take(MAX_HITS).map(hit).collect())
}

async fn of_questions(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let pending = app.questions.pending(None, MAX_PENDING).await.map_err(Failure::internal)?;
    let filter = questions::Filter { text: Some(query.to_owned()), ..questions::Filter::default() };
    let decided = app.questions.history(&filter, None, MAX_ROWS).await.map_err(Failure::internal)?;
    let hit = |question: &questions::Question, note: &str| {
        Hit::new(&question.title, note, format!("/questions/{}", page::path(question.ticket.as_str())))
    };
    let open =
        pending.questions.iter().filter(|one| matches(query, &[&one.title, &one.client, &one.workspace]));
    let mut hits: Vec<Hit> = open.map(|question| hit(question, "pending")).collect();
    hits.extend(decided.questions.iter().map(|question| hit(question, "decided")));
    hits.truncate(MAX_HITS);
    Ok(hits)
}

async fn of_tasks(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let filter = Filter { text: Some(query.to_owned()), ..Filter::default() };
    let found = app.agents.list(&Viewer::User, filter, None, MAX_ROWS).await.map_err(Failure::internal)?;
    let hits = found.tasks.iter().map(|task| {
        let note = format!("{}, {}", task.agent, task.state.as_str());
        Hit::new(&task.text, &note, format!("/tasks/{}", page::path(task.id.as_str())))
    });
    Ok(hits.collect())
}

async fn of_threads(app: &App, query: &str) -> Result<Vec<Hit>, Failure> {
    let query = codex::Query { text: query.to_owned(), limit: MAX_ROWS };
    let found = app.codex.threads(&query, None).await.map_err(Failure::internal)?;
    let hits = found.iter().map(|thread| {
        Hit::new(&thread.row.title, thread.state.name(), format!("/codex/{}", page::path(&thread.row.id)))
    });
    Ok(hits.collect())
}

fn of_settings(app: &App, query: &str) -> Vec<Hit> {
    let found = effective::list(&app.config, &app.toolsets.current());
    let found = found.iter().filter(|setting| matches(query, &[&setting.key, setting.about]));
    let hit = |setting: &effective::Setting| {
        Hit::new(&setting.key, setting.about, format!("/settings#{}", page::path(&setting.key)))
    };
    found.take(MAX_HITS).map(hit).collect()
}
