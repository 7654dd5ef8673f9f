//! `/find`: one search over everything that has a page, and over frequent acts; with script it is the palette of Ctrl-K.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::{catalogue, definitions, prompts, tasks};
use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Search};
use adjutant_agents::task::Filter;
use adjutant_app::App;
use adjutant_base::config::{effective, env};
use adjutant_codex as codex;
use adjutant_prompts::Search as PromptSearch;
use adjutant_questions as questions;

/// Hits of each kind. The pages have searches of their own for more.
const MAX_HITS: usize = 5;

/// Rows of the store for each kind, from which the closest are taken.
const MAX_ROWS: u32 = 20;

/// Minutes of the absence that the search offers.
const AWAY_MINUTES: u32 = 30;

/// Pages that the navigation does not name.
const OTHER_PAGES: [(&str, &str); 4] = [
    ("Pending questions", "/questions"),
    ("Approvals", "/questions/approvals"),
    ("History of questions", "/history"),
    ("Keys", "/keys"),
];

/// The rank of what is offered for every query, after all that matches.
const OFFERED: u8 = 4;

/// A page or an act that matches the query.
struct Hit {
    /// The distance of its name from the query, see [`Query::rank`].
    rank: u8,
    values: Value,
}

/// The text that a user typed, as it is and in lower case.
struct Query<'a> {
    text: &'a str,
    lower: String,
}

impl Query<'_> {
    /// Returns the distance of a name from the query: 0 if they are equal, 1 if the name begins with the query, 2 if
    /// all its words are in the name, 3 if some are only in the note. `None` if a word is in neither.
    fn rank(&self, name: &str, note: &str) -> Option<u8> {
        let (name, note) = (name.to_lowercase(), note.to_lowercase());
        let mut words = self.lower.split_whitespace();
        if !words.clone().all(|word| name.contains(word) || note.contains(word)) {
            None
        } else if name == self.lower {
            Some(0)
        } else if name.starts_with(&self.lower) {
            Some(1)
        } else {
            Some(if words.all(|word| name.contains(word)) { 2 } else { 3 })
        }
    }

    /// Returns a page that matches the query: the path of its section, and its name there. The store may have found the query in
    /// a text that is not shown.
    fn hit(&self, label: &str, note: &str, section: &str, name: &str) -> Hit {
        let path = format!("{section}{}", page::path(name));
        Hit { rank: self.rank(label, note).unwrap_or(3), values: context! { label, note, path } }
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Address(Search { q }): Address<Search>,
) -> Result<Response, Failure> {
    let text = q.trim();
    let query = Query { text, lower: text.to_lowercase() };
    let mut groups = vec![("Pages", pages(&query))];
    if !text.is_empty() {
        // The store searches each kind in a thread of its own.
        let (tasks, questions, threads, actions, prompts, agents) = tokio::join!(
            of_tasks(&app, &query),
            of_questions(&app, &query),
            of_threads(&app, &query),
            actions(&app, &query),
            of_prompts(&app, &query),
            of_agents(&app, &query),
        );
        groups.extend([
            ("Actions", actions?),
            ("Prompts", prompts?),
            ("Agents", agents?),
            ("Questions", questions?),
            ("Tasks", tasks?),
            ("Codex", threads?),
            ("Settings", of_settings(&app, &query)),
        ]);
    }
    for (_, hits) in &mut groups {
        hits.sort_by_key(|hit| hit.rank);
        hits.truncate(if text.is_empty() { usize::MAX } else { MAX_HITS });
    }
    groups.retain(|(_, hits)| !hits.is_empty());
    groups.sort_by_key(|(_, hits)| hits.first().map(|hit| hit.rank));
    let is_found = groups.iter().any(|(_, hits)| hits.iter().any(|hit| hit.rank < OFFERED));
    let groups = groups.into_iter().map(|(label, hits)| {
        context! { label, hits => hits.into_iter().map(|hit| hit.values).collect::<Vec<_>>() }
    });
    let values =
        context! { query => text, is_found, groups => groups.collect::<Vec<_>>(), csrf => csrf::token()? };
    page::page(&app, Place::Nowhere, "search.html", values).await
}

fn pages(query: &Query<'_>) -> Vec<Hit> {
    let sections = page::SECTIONS.into_iter().flat_map(|(_, sections)| sections);
    let pages = sections.map(|section| (section.label, section.path)).chain(OTHER_PAGES);
    let hit = |(label, path): (&str, &str)| {
        Some(Hit { rank: query.rank(label, "")?, values: context! { label, note => "", path } })
    };
    pages.filter_map(hit).collect()
}

/// Returns the acts: links to the page of the oldest question and to the form of a new task, and forms that say whether the
/// user takes questions.
async fn actions(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let mut hits = Vec::new();
    let mut add = |label: &str, note: &str, values: Value| {
        let rank = query.rank(label, "");
        hits.extend(rank.map(|rank| Hit { rank, values: context! { label, note, ..values } }));
    };
    let oldest = app.questions.pending(None, 1).await.map_err(Failure::internal)?.questions;
    if let Some(oldest) = oldest.first() {
        let path = format!("/questions/{}", oldest.ticket);
        add("Answer the oldest question", &oldest.title, context! { path });
    }
    add("Delegate a task", "", context! { path => "/tasks?delegate=" });
    let away = format!("Away for {AWAY_MINUTES} minutes");
    add(
        &away,
        "agents that ask are answered so",
        context! { availability => "away", minutes => AWAY_MINUTES },
    );
    let quiet = format!("Do not disturb for {AWAY_MINUTES} minutes");
    add(&quiet, "", context! { availability => "do_not_disturb", minutes => AWAY_MINUTES });
    add("Available", "questions are shown again", context! { availability => "here", minutes => "" });
    let path = format!("/tasks?delegate={}", page::path(query.text));
    let label = format!("Delegate “{}”", query.text);
    hits.push(Hit { rank: OFFERED, values: context! { label, note => "as a task", path } });
    Ok(hits)
}

async fn of_prompts(app: &Arc<App>, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let catalogue = catalogue(app).await?;
    let search = PromptSearch::new(query.text);
    let found = prompts::search(&catalogue, query.text).into_iter().take(MAX_HITS);
    let hits = found.map(|prompt| Hit {
        rank: search.rank(prompt).unwrap_or(3).min(3),
        values: context! {
            label => format!(":{}", prompt.name),
            note => &prompt.description,
            path => format!("/prompts/{}", page::path(&prompt.name)),
        },
    });
    Ok(hits.collect())
}

async fn of_agents(app: &Arc<App>, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let catalogue = definitions(app).await?;
    let agents =
        catalogue.agents.values().filter(|agent| query.rank(&agent.name, &agent.description).is_some());
    Ok(agents.map(|agent| query.hit(&agent.name, &agent.description, "/agents/", &agent.name)).collect())
}

/// Returns the questions with the query in them; without any, those with each of its words.
async fn of_questions(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let longest_word = query.text.split_whitespace().max_by_key(|word| word.len()).unwrap_or_default();
    let texts = [query.text, longest_word];
    // One word is searched once.
    for text in &texts[..if longest_word == query.text { 1 } else { 2 }] {
        let text = *text;
        let [open, decided] = app.questions.search(text, MAX_ROWS).await.map_err(Failure::internal)?;
        let hit = |question: &questions::Question, state: &str| {
            let folder = env::with_tilde(question.workspace.as_ref());
            let note = format!("{} in {folder}, {state}", question.client);
            let has_all_words = text == query.text || query.rank(&question.title, &note).is_some();
            let path = question.ticket.as_str();
            has_all_words.then(|| query.hit(&question.title, &note, "/questions/", path))
        };
        let open = open.iter().filter_map(|question| hit(question, "pending"));
        let hits: Vec<Hit> = open.chain(decided.iter().filter_map(|one| hit(one, "decided"))).collect();
        if !hits.is_empty() {
            return Ok(hits);
        }
    }
    Ok(Vec::new())
}

async fn of_tasks(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let text = Some(query.text.to_owned());
    let filter = Filter { text, skip_outcomes: true, ..Filter::default() };
    let found = app.agents.search(&filter, MAX_ROWS).await.map_err(Failure::internal)?;
    let hits = found.iter().map(|task| {
        let note = format!("{}, {}", task.agent, tasks::standing(task).1);
        query.hit(&task.text, &note, "/tasks/", task.id.as_str())
    });
    Ok(hits.collect())
}

async fn of_threads(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let text = query.text.to_owned();
    let threads = codex::Query { text, limit: MAX_ROWS, ..codex::Query::default() };
    let found = app.codex.threads(&threads, None).await.map_err(Failure::internal)?;
    let hit = |thread: &codex::ListedThread| {
        query.hit(&thread.row.title, thread.state.name(), "/codex/", &thread.row.id)
    };
    Ok(found.iter().map(hit).collect())
}

fn of_settings(app: &App, query: &Query<'_>) -> Vec<Hit> {
    let found = effective::list(&app.config, &app.toolsets.current());
    let found = found.iter().filter(|setting| query.rank(&setting.key, setting.about).is_some());
    found.map(|setting| query.hit(&setting.key, setting.about, "/settings#", &setting.key)).collect()
}
