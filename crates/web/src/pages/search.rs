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
use adjutant_questions as questions;

/// Hits of each kind. The pages have searches of their own for more.
const MAX_HITS: usize = 5;

/// Rows of the store for each kind.
const MAX_ROWS: u32 = 5;

/// Pages that the navigation does not name.
const OTHER_PAGES: [(&str, &str); 3] = [
    ("All questions", "/questions"),
    ("Approvals", "/questions/approvals"),
    ("History of questions", "/history"),
];

/// Pending questions of one read.
const PAGE_SIZE: u32 = 200;

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
    let groups = groups.into_iter().filter(|(_, hits)| !hits.is_empty());
    let groups: Vec<Value> = groups.map(|(label, hits)| context! { label, hits }).collect();
    page::page(&app, Place::Nowhere, "search.html", context! { query, groups }).await
}

/// Returns a page that matches the query: the path of its section, and its name there.
fn hit(label: &str, note: &str, section: &str, name: &str) -> Value {
    context! { label, note, path => format!("{section}{}", page::path(name)) }
}

/// Whether each word of the query occurs in one of these texts.
fn matches(query: &str, texts: &[&str]) -> bool {
    let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    query.to_lowercase().split_whitespace().all(|word| texts.iter().any(|text| text.contains(word)))
}

fn pages(query: &str) -> Vec<Value> {
    let sections = page::SECTIONS.into_iter().flat_map(|(_, sections)| sections);
    let pages = sections.map(|section| (section.label, section.path)).chain(OTHER_PAGES);
    pages
        .filter(|(label, _)| matches(query, &[label]))
        .map(|(label, path)| hit(label, "", path, ""))
        .collect()
}

async fn of_prompts(app: &Arc<App>, query: &str) -> Result<Vec<Value>, Failure> {
    let catalogue = catalogue(app).await?;
    let found = prompts::search(&catalogue, query).into_iter().take(MAX_HITS);
    let hits =
        found.map(|prompt| hit(&format!(":{}", prompt.name), &prompt.description, "/prompts/", &prompt.name));
    Ok(hits.collect())
}

async fn of_agents(app: &Arc<App>, query: &str) -> Result<Vec<Value>, Failure> {
    let catalogue = definitions(app).await?;
    let found = catalogue.agents.values().filter(|agent| matches(query, &[&agent.name, &agent.description]));
    let hits = found.map(|agent| hit(&agent.name, &agent.description, "/agents/", &agent.name));
    Ok(hits.take(MAX_HITS).collect())
}

async fn of_questions(app: &App, query: &str) -> Result<Vec<Value>, Failure> {
    let filter = questions::Filter { text: Some(query.to_owned()), ..questions::Filter::default() };
    let decided = app.questions.history(&filter, None, MAX_ROWS).await.map_err(Failure::internal)?;
    let hit = |question: &questions::Question, note: &str| {
        hit(&question.title, note, "/questions/", question.ticket.as_str())
    };
    let (mut hits, mut after) = (Vec::new(), None);
    while hits.len() < MAX_HITS {
        let page = app.questions.pending(after, PAGE_SIZE).await.map_err(Failure::internal)?;
        let open =
            page.questions.iter().filter(|one| matches(query, &[&one.title, &one.client, &one.workspace]));
        hits.extend(open.map(|question| hit(question, "pending")));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    hits.extend(decided.questions.iter().map(|question| hit(question, "decided")));
    hits.truncate(MAX_HITS);
    Ok(hits)
}

async fn of_tasks(app: &App, query: &str) -> Result<Vec<Value>, Failure> {
    let filter = Filter { text: Some(query.to_owned()), ..Filter::default() };
    let found = app.agents.list(&Viewer::User, filter, None, MAX_ROWS).await.map_err(Failure::internal)?;
    let hits = found.tasks.iter().map(|task| {
        let note = format!("{}, {}", task.agent, task.state.as_str());
        hit(&task.text, &note, "/tasks/", task.id.as_str())
    });
    Ok(hits.collect())
}

async fn of_threads(app: &App, query: &str) -> Result<Vec<Value>, Failure> {
    let query = codex::Query { text: query.to_owned(), limit: MAX_ROWS, ..codex::Query::default() };
    let found = app.codex.threads(&query, None).await.map_err(Failure::internal)?;
    let hits =
        found.iter().map(|thread| hit(&thread.row.title, thread.state.name(), "/codex/", &thread.row.id));
    Ok(hits.collect())
}

fn of_settings(app: &App, query: &str) -> Vec<Value> {
    let found = effective::list(&app.config, &app.toolsets.current());
    let found = found.iter().filter(|setting| matches(query, &[&setting.key, setting.about]));
    let hits = found.map(|setting| hit(&setting.key, setting.about, "/settings#", &setting.key));
    hits.take(MAX_HITS).collect()
}
