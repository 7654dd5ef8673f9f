//! `/timeline`: the events of all toolsets, newest first: searched, filtered by toolset, paged.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use crate::error::Failure;
use crate::page::{self, Place};
use crate::timefmt;
use adjutant_app::App;
use adjutant_app::timeline::{EntryKind, TimelineEntry, TimelineFilter};
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::text::timefmt::instant;

/// Rows of one page.
const ROWS: u32 = 60;

/// Rows on the overview.
const LATELY: u32 = 15;

#[derive(Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    q: String,
    /// A toolset's word, or `clients`; empty is all.
    #[serde(default)]
    of: String,
    /// The page begins behind this line: its instant and its place.
    at: Option<i64>,
    place: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Failure> {
    let unreadable = "The search in the address is not readable text.";
    let Query(Asked { q, of, at, place }) = asked.map_err(|_| Failure::BadRequest(unreadable))?;
    let wanted = match of.as_str() {
        "" => None,
        word => {
            let found = EntryKind::ALL.into_iter().find(|of| of.name() == word);
            Some(found.ok_or(Failure::BadRequest("There is no such toolset."))?)
        }
    };
    let search = TimelineFilter { text: q.trim().to_owned(), kind: wanted, before: at.zip(place) };
    let lines = app.timeline(&search, ROWS).await.map_err(Failure::internal)?;
    let now = SystemTime::now();
    let full = lines.len() == usize::try_from(ROWS).unwrap_or(usize::MAX);
    let last = lines.last().filter(|_| full);
    let toolsets = EntryKind::ALL
        .into_iter()
        .map(|of| context! { word => of.name(), label => label(of), here => wanted == Some(of) });
    let values = context! {
        query => &search.text,
        of => of,
        toolsets => toolsets.collect::<Vec<_>>(),
        lines => lines.iter().map(|line| row(line, now)).collect::<Vec<_>>(),
        next => last.map(|line| context! { at => line.at, place => &line.place }),
        first => search.before.is_none(),
    };
    page::page(&app, Place::Section("/timeline"), "timeline.html", values).await
}

/// Returns what happened last, for the overview.
pub(super) async fn recent(app: &App, now: SystemTime) -> Result<Vec<Value>, Failure> {
    let lines = app.timeline(&TimelineFilter::default(), LATELY).await.map_err(Failure::internal)?;
    Ok(lines.iter().map(|line| row(line, now)).collect())
}

fn label(of: EntryKind) -> &'static str {
    match of {
        EntryKind::Toolset(Toolset::Agents) => "Tasks",
        EntryKind::Toolset(Toolset::Assistant) => "Calendar",
        EntryKind::Toolset(Toolset::Codex) => "Codex",
        EntryKind::Toolset(Toolset::Questions) => "Questions",
        EntryKind::Toolset(Toolset::Prompts) => "Prompts",
        EntryKind::Clients => "Clients",
    }
}

/// Returns a line in words: who, what they did, and what it was about with the page that shows it.
fn row(line: &TimelineEntry, now: SystemTime) -> Value {
    let (did, path) = match line.kind {
        EntryKind::Clients => (client(&line.action), None),
        EntryKind::Toolset(Toolset::Prompts) => {
            let known = (line.action == "expanded").then(|| format!("/prompts/{}", page::path(&line.id)));
            (prompt(&line.action), known)
        }
        EntryKind::Toolset(Toolset::Agents) => {
            (task(&line.action), Some(format!("/tasks/{}", page::path(&line.id))))
        }
        EntryKind::Toolset(Toolset::Questions) => {
            (question(&line.action), Some(format!("/questions/{}", page::path(&line.id))))
        }
        EntryKind::Toolset(Toolset::Assistant) => (notification(&line.action), Some("/calendar".to_owned())),
        EntryKind::Toolset(Toolset::Codex) => {
            let thread = line.id.rsplit_once('/').map_or(line.id.as_str(), |(thread, _)| thread);
            (turn(&line.action), Some(format!("/codex/{}", page::path(thread))))
        }
    };
    let who = match line.kind {
        EntryKind::Toolset(Toolset::Codex) => "Codex",
        _ if line.who.is_empty() => "An agent without a name",
        _ => line.who.as_str(),
    };
    context! {
        of => line.kind.name(),
        toolset => label(line.kind),
        kind => &line.action,
        who => (line.action != "changed").then_some(who),
        did => did.unwrap_or(line.action.as_str()),
        prompt => (line.kind == EntryKind::Toolset(Toolset::Prompts) && !line.id.is_empty()).then_some(&line.id),
        text => line.text.trim(),
        path,
        at => timefmt::time(instant(line.at), now),
    }
}

fn client(kind: &str) -> Option<&'static str> {
    match kind {
        "connected" => Some("connected"),
        "left" => Some("left"),
        _ => None,
    }
}

fn prompt(kind: &str) -> Option<&'static str> {
    match kind {
        "expanded" => Some("expanded"),
        "refused" => Some("was refused"),
        "changed" => Some("Prompt files changed on disk"),
        _ => None,
    }
}

fn task(kind: &str) -> Option<&'static str> {
    match kind {
        "delegated" => Some("was given a task"),
        "succeeded" => Some("finished"),
        "failed" => Some("failed"),
        "cancelled" => Some("was cancelled"),
        "lost" => Some("was lost"),
        _ => None,
    }
}

fn question(kind: &str) -> Option<&'static str> {
    match kind {
        "asked" => Some("asked"),
        "answered" => Some("was answered"),
        "declined" => Some("was declined"),
        "dismissed" => Some("was dismissed"),
        "timed_out" => Some("got no answer in time"),
        "cancelled" => Some("cancelled its question"),
        "client_gone" => Some("disconnected without an answer"),
        _ => None,
    }
}

fn notification(kind: &str) -> Option<&'static str> {
    match kind {
        "sent" => Some("was notified"),
        "simulated" => Some("would have been notified"),
        "failed" => Some("could not be notified yet"),
        "unknown" => Some("may have been notified"),
        "dead" => Some("could not be notified"),
        // What somebody did, as the audit calls it.
        "put user" => Some("saved a user"),
        "remove user" => Some("removed a user"),
        "cancel event" => Some("cancelled an event"),
        "retry" => Some("had a notification sent again"),
        "resolve" => Some("resolved a notification"),
        "acknowledge" => Some("acknowledged a notification"),
        "make feed" => Some("made a calendar's address"),
        "end feed" => Some("ended a calendar's address"),
        _ => None,
    }
}

fn turn(kind: &str) -> Option<&'static str> {
    match kind {
        "prompted" => Some("was given a prompt"),
        "completed" => Some("finished a turn"),
        "interrupted" => Some("was interrupted"),
        "failed" => Some("failed"),
        _ => None,
    }
}
