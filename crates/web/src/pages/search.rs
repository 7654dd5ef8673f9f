//! `/find`: one search over everything that has a page, and over frequent acts; with script it is the palette of Ctrl-K.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::{catalogue, definitions, prompts, tasks};
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, Search};
use crate::{csrf, excerpt};
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

/// Pending questions that are offered before anything is typed.
const MAX_OPEN: u32 = 5;

/// Minutes of the absence that the search offers.
const AWAY_MINUTES: u32 = 30;

/// Pages that the navigation does not name.
const OTHER_PAGES: [(&str, &str); 4] = [
    ("Pending questions", "/questions"),
    ("Approvals", "/questions/approvals"),
    ("History of questions", "/history"),
    ("Keys", "/keys"),
];

/// The place of a hit among all hits: what waits for the user before what can only be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Its name is the query, so that Enter opens it.
    Exact,
    PendingQuestion,
    RunningTask,
    Action,
    Other,
    /// Offered for every query, after all that matches.
    Offered,
}

/// A page or an act that matches the query.
struct Hit {
    class: Class,
    /// The distance of its name from the query, see [`Query::rank`].
    rank: u8,
    values: Value,
}

impl Hit {
    fn new(class: Class, rank: u8, values: Value) -> Self {
        Self { class: if rank == 0 { Class::Exact } else { class }, rank, values }
    }

    fn order(&self) -> (Class, u8) {
        (self.class, self.rank)
    }
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
    fn hit(&self, class: Class, label: &str, note: &str, section: &str, name: &str) -> Hit {
        let path = format!("{section}{}", page::path(name));
        let rank = self.rank(label, note).unwrap_or(3);
        Hit::new(class, rank, context! { label => self.parts(&excerpt::title(label)), note, path })
    }

    /// Splits a label into parts, each with whether it is a word of the query.
    fn parts(&self, label: &str) -> Vec<Value> {
        // One character for one, because a place in the text is needed.
        let lower =
            |c: char| Some(c.to_lowercase()).filter(|all| all.len() == 1).and_then(|mut all| all.next());
        let lower: Vec<char> = label.chars().map(|c| lower(c).unwrap_or(c)).collect();
        let mut hits = vec![false; lower.len()];
        for word in self.lower.split_whitespace() {
            let word: Vec<char> = word.chars().collect();
            for (at, _) in lower.windows(word.len()).enumerate().filter(|(_, window)| *window == word) {
                hits[at..at + word.len()].fill(true);
            }
        }
        let marked: Vec<(char, bool)> = label.chars().zip(hits).collect();
        let part = |run: &[(char, bool)]| {
            let text: String = run.iter().map(|(c, _)| c).collect();
            context! { text, hit => run.first().is_some_and(|(_, hit)| *hit) }
        };
        marked.chunk_by(|one, next| one.1 == next.1).map(part).collect()
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Address(Search { q }): Address<Search>,
) -> Result<Response, Failure> {
    let text = q.trim();
    let query = Query { text, lower: text.to_lowercase() };
    // The store searches each kind in a thread of its own.
    let (questions, tasks, actions) =
        tokio::join!(of_questions(&app, &query), of_tasks(&app, &query), actions(&app, &query));
    let mut groups =
        vec![("Question", questions?), ("Task", tasks?), ("Action", actions?), ("Page", pages(&query))];
    if !text.is_empty() {
        let (threads, prompts, agents) =
            tokio::join!(of_threads(&app, &query), of_prompts(&app, &query), of_agents(&app, &query));
        groups.extend([
            ("Prompt", prompts?),
            ("Agent", agents?),
            ("Session", threads?),
            ("Setting", of_settings(&app, &query)),
        ]);
    }
    let mut hits = Vec::new();
    for (kind, mut found) in groups {
        found.sort_by_key(Hit::order);
        found.truncate(if text.is_empty() { usize::MAX } else { MAX_HITS });
        hits.extend(found.into_iter().map(|hit| (kind, hit)));
    }
    hits.sort_by_key(|(_, hit)| hit.order());
    let is_found = hits.iter().any(|(_, hit)| hit.class < Class::Offered);
    let hits = hits.into_iter().map(|(kind, hit)| context! { kind, ..hit.values });
    let values =
        context! { query => text, is_found, hits => hits.collect::<Vec<_>>(), csrf => csrf::token()? };
    page::page(&app, Place::Nowhere, "search.html", values).await
}

fn pages(query: &Query<'_>) -> Vec<Hit> {
    let sections = page::SECTIONS.into_iter().flat_map(|(_, sections)| sections);
    let pages = sections.map(|section| (section.label, section.path)).chain(OTHER_PAGES);
    let hit = |(label, path): (&str, &str)| {
        let values = context! { label => query.parts(label), note => "", path };
        Some(Hit::new(Class::Other, query.rank(label, "")?, values))
    };
    pages.filter_map(hit).collect()
}

/// Returns the acts: links to the page of the oldest question and to the form of a new task, and forms that say whether the
/// user takes questions.
async fn actions(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let mut hits = Vec::new();
    let mut add = |label: &str, note: &str, values: Value| {
        let values = context! { label => query.parts(label), note, ..values };
        hits.extend(query.rank(label, "").map(|rank| Hit::new(Class::Action, rank, values)));
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
    if !query.text.is_empty() {
        let path = format!("/tasks?delegate={}", page::path(query.text));
        let label = [context! { text => format!("Delegate “{}”", query.text), hit => false }];
        hits.push(Hit::new(Class::Offered, 4, context! { label, note => "as a task", path }));
    }
    Ok(hits)
}

async fn of_prompts(app: &Arc<App>, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let catalogue = catalogue(app).await?;
    let search = PromptSearch::new(query.text);
    let found = prompts::search(&catalogue, query.text).into_iter().take(MAX_HITS);
    let hits = found.map(|prompt| {
        let values = context! {
            label => query.parts(&format!(":{}", prompt.name)),
            note => &prompt.description,
            path => format!("/prompts/{}", page::path(&prompt.name)),
        };
        Hit::new(Class::Other, search.rank(prompt).unwrap_or(3).min(3), values)
    });
    Ok(hits.collect())
}

async fn of_agents(app: &Arc<App>, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let catalogue = definitions(app).await?;
    let agents =
        catalogue.agents.values().filter(|agent| query.rank(&agent.name, &agent.description).is_some());
    Ok(agents
        .map(|agent| query.hit(Class::Other, &agent.name, &agent.description, "/agents/", &agent.name))
        .collect())
}

/// Returns the questions with the query in them; without any, those with each of its words. Without a query, the oldest
/// pending questions.
async fn of_questions(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let hit = |question: &questions::Question, class: Class| {
        let folder = env::with_tilde(question.workspace.as_ref());
        let decision = question.state.decision();
        let state = decision.map_or("pending", |(_, outcome)| outcome.kind.word(outcome.denied));
        let asker = match (question.client.as_str(), folder.as_str()) {
            ("", "") => String::new(),
            ("", folder) => format!("in {folder}, "),
            (client, "") => format!("{client}, "),
            (client, folder) => format!("{client} in {folder}, "),
        };
        let note = format!("{asker}{state}");
        (query.hit(class, &question.title, &note, "/questions/", question.ticket.as_str()), note)
    };
    if query.text.is_empty() {
        let open = app.questions.pending(None, MAX_OPEN).await.map_err(Failure::internal)?.questions;
        return Ok(open.iter().map(|question| hit(question, Class::PendingQuestion).0).collect());
    }
    let search = |text| async move { app.questions.search(text, MAX_ROWS).await.map_err(Failure::internal) };
    let hits = |[open, decided]: &[Vec<questions::Question>; 2], needs_words: bool| -> Vec<Hit> {
        let open = open.iter().map(|question| (question, Class::PendingQuestion));
        let all = open.chain(decided.iter().map(|question| (question, Class::Other)));
        let chosen = all.filter_map(|(question, class)| {
            let (hit, note) = hit(question, class);
            let has_words = !needs_words || query.rank(&question.title, &note).is_some();
            has_words.then_some(hit)
        });
        chosen.collect()
    };
    let longest_word = query.text.split_whitespace().max_by_key(|word| word.len()).unwrap_or_default();
    let with_longest = search(longest_word).await?;
    // One word is searched once, and no question has the query without its longest word.
    if longest_word == query.text || with_longest.iter().all(Vec::is_empty) {
        return Ok(hits(&with_longest, false));
    }
    let found = hits(&search(query.text).await?, false);
    Ok(if found.is_empty() { hits(&with_longest, true) } else { found })
}

/// Returns the tasks with the query in them; without a query, the queued and running ones.
async fn of_tasks(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let found = if query.text.is_empty() {
        tasks::running(app).await?.0
    } else {
        let text = Some(query.text.to_owned());
        let filter = Filter { text, skip_outcomes: true, ..Filter::default() };
        app.agents.search(&filter, MAX_ROWS).await.map_err(Failure::internal)?
    };
    let hits = found.iter().map(|task| {
        let class = if task.state.is_ended() { Class::Other } else { Class::RunningTask };
        let note = format!("{}, {}", task.agent, tasks::standing(task).1);
        query.hit(class, &task.text, &note, "/tasks/", task.id.as_str())
    });
    Ok(hits.collect())
}

async fn of_threads(app: &App, query: &Query<'_>) -> Result<Vec<Hit>, Failure> {
    let text = query.text.to_owned();
    let threads = codex::Query { text, limit: MAX_ROWS, ..codex::Query::default() };
    let found = app.codex.threads(&threads, None).await.map_err(Failure::internal)?;
    let hit = |thread: &codex::ListedThread| {
        query.hit(Class::Other, &thread.row.title, thread.state.name(), "/codex/", &thread.row.id)
    };
    Ok(found.iter().map(hit).collect())
}

fn of_settings(app: &App, query: &Query<'_>) -> Vec<Hit> {
    let found = effective::list(&app.config, &app.toolsets.current());
    let found = found.iter().filter(|setting| query.rank(&setting.key, setting.about).is_some());
    found
        .map(|setting| query.hit(Class::Other, &setting.key, setting.about, "/settings#", &setting.key))
        .collect()
}
