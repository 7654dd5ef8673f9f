//! `/timeline`: what happened in all rooms, newest first, searched, by room, a page at a time.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use crate::app::App;
use crate::app::timeline::{Happening, Of, Search};
use crate::clock::instant;
use crate::config::rooms::Room;
use crate::web::error::Failure;
use crate::web::page::{self, Place};
use crate::web::when;

/// Rows of one page.
const ROWS: u32 = 60;

/// Rows on the overview.
const LATELY: u32 = 15;

#[derive(Deserialize)]
pub(in crate::web) struct Asked {
    #[serde(default)]
    q: String,
    /// A room's word, or `clients`; empty is all.
    #[serde(default)]
    of: String,
    /// The page begins behind this line: its instant and its place.
    at: Option<i64>,
    place: Option<String>,
}

pub(in crate::web) async fn list(
    State(app): State<Arc<App>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Failure> {
    let unreadable = "The search in the address is not readable text.";
    let Query(Asked { q, of, at, place }) = asked.map_err(|_| Failure::BadRequest(unreadable))?;
    let wanted = match of.as_str() {
        "" => None,
        word => {
            let found = Of::ALL.into_iter().find(|of| of.name() == word);
            Some(found.ok_or(Failure::BadRequest("There is no such room."))?)
        }
    };
    let search = Search { text: q.trim().to_owned(), of: wanted, before: at.zip(place) };
    let lines = app.timeline(&search, ROWS).await.map_err(Failure::internal)?;
    let now = SystemTime::now();
    let full = lines.len() == usize::try_from(ROWS).unwrap_or(usize::MAX);
    let last = lines.last().filter(|_| full);
    let rooms = Of::ALL
        .into_iter()
        .map(|of| context! { word => of.name(), label => label(of), here => wanted == Some(of) });
    let values = context! {
        query => &search.text,
        of => of,
        rooms => rooms.collect::<Vec<_>>(),
        lines => lines.iter().map(|line| row(line, now)).collect::<Vec<_>>(),
        next => last.map(|line| context! { at => line.at, place => &line.place }),
        first => search.before.is_none(),
    };
    page::page(&app, Place::Room("/timeline"), "timeline.html", values).await
}

/// Returns what happened last, for the overview.
pub(super) async fn lately(app: &App, now: SystemTime) -> Result<Vec<Value>, Failure> {
    let lines = app.timeline(&Search::default(), LATELY).await.map_err(Failure::internal)?;
    Ok(lines.iter().map(|line| row(line, now)).collect())
}

fn label(of: Of) -> &'static str {
    match of {
        Of::Room(Room::Agents) => "Tasks",
        Of::Room(Room::Assistant) => "Calendar",
        Of::Room(Room::Codex) => "Codex",
        Of::Room(Room::Popups) => "Questions",
        Of::Room(Room::Prompts) => "Prompts",
        Of::Clients => "Clients",
    }
}

/// Returns a line in words: who, what they did, and what it was about with the page that shows it.
fn row(line: &Happening, now: SystemTime) -> Value {
    let (did, path) = match line.of {
        Of::Clients => (client(&line.kind), None),
        Of::Room(Room::Prompts) => {
            let known = (line.kind == "expanded").then(|| format!("/prompts/{}", page::path(&line.id)));
            (prompt(&line.kind), known)
        }
        Of::Room(Room::Agents) => (task(&line.kind), Some(format!("/tasks/{}", page::path(&line.id)))),
        Of::Room(Room::Popups) => {
            (question(&line.kind), Some(format!("/questions/{}", page::path(&line.id))))
        }
        Of::Room(Room::Assistant) => (notification(&line.kind), Some("/calendar".to_owned())),
        Of::Room(Room::Codex) => {
            let thread = line.id.rsplit_once('/').map_or(line.id.as_str(), |(thread, _)| thread);
            (turn(&line.kind), Some(format!("/codex/{}", page::path(thread))))
        }
    };
    let who = match line.of {
        Of::Room(Room::Codex) => "Codex",
        _ if line.who.is_empty() => "An agent without a name",
        _ => line.who.as_str(),
    };
    context! {
        of => line.of.name(),
        room => label(line.of),
        kind => &line.kind,
        who => (line.kind != "changed").then_some(who),
        did => did.unwrap_or(line.kind.as_str()),
        prompt => (line.of == Of::Room(Room::Prompts) && !line.id.is_empty()).then_some(&line.id),
        text => line.text.trim(),
        path,
        at => when::time(instant(line.at), now),
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
        "cancelled" => Some("asks no longer"),
        "client_gone" => Some("went away without an answer"),
        _ => None,
    }
}

fn notification(kind: &str) -> Option<&'static str> {
    match kind {
        "sent" => Some("was told"),
        "simulated" => Some("would have been told"),
        "failed" => Some("could not be told yet"),
        "unknown" => Some("may or may not have been told"),
        "dead" => Some("could not be told"),
        // What somebody did, as the audit calls it.
        "put user" => Some("wrote a user down"),
        "remove user" => Some("removed a user"),
        "cancel event" => Some("cancelled an event"),
        "retry" => Some("had a notification sent again"),
        "resolve" => Some("settled a notification"),
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
