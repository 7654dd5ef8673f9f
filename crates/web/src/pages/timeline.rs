//! `/timeline`: the events of all toolsets, newest first: searched, filtered by toolset, paged.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::Address;
use adjutant_app::App;
use adjutant_app::client_registry::{Client, ConnectionKind};
use adjutant_app::timeline::{EntryKind, TimelineEntry, TimelineFilter};
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::text::timefmt::millis;

/// Rows of one page.
const PAGE_SIZE: u32 = 60;

/// Rows on the start page.
const INBOX_ROWS: u32 = 8;

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// The name of a toolset, or `clients`; empty for all.
    #[serde(default)]
    of: String,
    /// The page begins after the entry with this instant and place.
    at: Option<i64>,
    place: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(Search { q, of, at, place }): Address<Search>,
) -> Result<Response, Failure> {
    let kind = match of.as_str() {
        "" => None,
        name => {
            let kind = EntryKind::ALL.into_iter().find(|kind| kind.name() == name);
            Some(kind.ok_or(Failure::BadRequest("There is no such toolset."))?)
        }
    };
    let filter = TimelineFilter { text: q.trim().to_owned(), kind, before: at.zip(place) };
    let lines = app.timeline(&filter, PAGE_SIZE).await.map_err(Failure::internal)?;
    let kinds = EntryKind::ALL.map(|kind| (kind, label(kind)));
    let values = context! {
        query => &filter.text,
        of,
        toolsets => page::choices(kinds, kind.as_ref(), |kind| kind.name()),
        lines => rows(&lines),
        clients => if filter.before.is_none() { app.clients.all().iter().map(client_row).collect() } else { Vec::new() },
        next => page::last_of_full(&lines, PAGE_SIZE).map(|line| context! { at => line.at, place => &line.place }),
        first => filter.before.is_none(),
    };
    page::page(&app, Place::Section("/timeline"), "timeline.html", values).await
}

/// Returns the latest entries for the start page.
pub(super) async fn recent(app: &App) -> Result<Vec<TimelineEntry>, Failure> {
    app.timeline(&TimelineFilter::default(), INBOX_ROWS).await.map_err(Failure::internal)
}

/// Returns entries for the template.
pub(super) fn rows(lines: &[TimelineEntry]) -> Vec<Value> {
    lines.iter().map(row).collect()
}

/// Returns whether the recent entries are all that has happened, so that a user may need the first steps.
pub(super) fn is_first_run(recent: &[TimelineEntry]) -> bool {
    recent.len() < INBOX_ROWS as usize
}

/// Returns whether an agent has used a toolset.
pub(super) fn has_toolset(lines: &[TimelineEntry]) -> bool {
    lines.iter().any(|line| !matches!(line.kind, EntryKind::Clients | EntryKind::Toolset(Toolset::Assistant)))
}

fn label(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Toolset(Toolset::Agents) => "Tasks",
        EntryKind::Toolset(Toolset::Assistant) => "Calendar",
        EntryKind::Toolset(Toolset::Codex) => "Sessions",
        EntryKind::Toolset(Toolset::Questions) => "Questions",
        EntryKind::Toolset(Toolset::Prompts) => "Prompts",
        EntryKind::Clients => "Clients",
    }
}

fn client_row(client: &Client) -> Value {
    context! {
        label => client.name.clone().unwrap_or_else(|| format!("client {}", client.id)),
        named => client.name.is_some(),
        check => client.is_check(),
        version => client.version.as_deref(),
        revision => client.revision.as_deref(),
        transport => match client.kind {
            ConnectionKind::Stdio => "stdio",
            ConnectionKind::Socket | ConnectionKind::Script => "socket",
            ConnectionKind::Http | ConnectionKind::HttpSession => "HTTP",
        },
        server => client.server,
        pid => client.pid,
        since => millis(client.since),
        calls => client.calls,
    }
}

/// Returns an entry as text: the actor, the action, and the item with its page.
fn row(line: &TimelineEntry) -> Value {
    let item_page = |section: &str, id: &str| Some(format!("/{section}/{}", page::path(id)));
    let path = match line.kind {
        EntryKind::Clients => None,
        EntryKind::Toolset(Toolset::Prompts) if line.action != "expanded" => None,
        EntryKind::Toolset(Toolset::Prompts) => item_page("prompts", &line.id),
        EntryKind::Toolset(Toolset::Agents) => item_page("tasks", &line.id),
        // A permission request that rules decided has no question.
        EntryKind::Toolset(Toolset::Questions) if line.id.is_empty() => None,
        EntryKind::Toolset(Toolset::Questions) => item_page("questions", &line.id),
        EntryKind::Toolset(Toolset::Assistant) => Some("/calendar".to_owned()),
        EntryKind::Toolset(Toolset::Codex) => {
            item_page("codex", line.id.rsplit_once('/').map_or(line.id.as_str(), |(thread, _)| thread))
        }
    };
    let actor = match line.kind {
        // The name of Codex as a client.
        EntryKind::Toolset(Toolset::Codex) => "codex",
        _ if line.who.is_empty() => "An agent without a name",
        _ => line.who.as_str(),
    };
    context! {
        of => line.kind.name(),
        toolset => label(line.kind),
        kind => &line.action,
        actor => (line.action != "changed").then_some(actor),
        action => action(line.kind, &line.action),
        prompt => (line.kind == EntryKind::Toolset(Toolset::Prompts) && !line.id.is_empty()).then_some(&line.id),
        text => line.text.trim(),
        path,
        at => line.at,
    }
}

/// Returns the text of an action, and the name of an action of a later version as it is.
fn action(kind: EntryKind, action: &str) -> &str {
    match (kind, action) {
        (EntryKind::Toolset(Toolset::Prompts), "refused") => "was refused",
        (EntryKind::Toolset(Toolset::Prompts), "changed") => "Prompt files changed on disk",
        (EntryKind::Toolset(Toolset::Agents), "delegated") => "was given a task",
        (EntryKind::Toolset(Toolset::Agents), "succeeded") => "finished",
        (EntryKind::Toolset(Toolset::Agents), "refuted") => "finished, and checks failed",
        (EntryKind::Toolset(Toolset::Agents), "cancelled") => "had its task cancelled",
        (EntryKind::Toolset(Toolset::Agents), "lost") => "lost its task",
        (EntryKind::Toolset(Toolset::Questions), "answered") => "was answered",
        (EntryKind::Toolset(Toolset::Questions), "denied") => "was denied",
        (EntryKind::Toolset(Toolset::Questions), "allowed") => "was allowed",
        (EntryKind::Toolset(Toolset::Questions), "declined") => "was declined",
        (EntryKind::Toolset(Toolset::Questions), "dismissed") => "was dismissed",
        (EntryKind::Toolset(Toolset::Questions), "timed_out") => "got no answer in time",
        (EntryKind::Toolset(Toolset::Questions), "cancelled") => "cancelled its question",
        (EntryKind::Toolset(Toolset::Questions), "client_gone") => "disconnected without an answer",
        (EntryKind::Toolset(Toolset::Assistant), "sent") => "was notified",
        (EntryKind::Toolset(Toolset::Assistant), "simulated") => "would have been notified",
        (EntryKind::Toolset(Toolset::Assistant), "failed") => "could not be notified yet",
        (EntryKind::Toolset(Toolset::Assistant), "unknown") => "may have been notified",
        (EntryKind::Toolset(Toolset::Assistant), "dead") => "could not be notified",
        // Actions of a user, as the audit names them.
        (EntryKind::Toolset(Toolset::Assistant), "put user") => "saved a user",
        (EntryKind::Toolset(Toolset::Assistant), "remove user") => "removed a user",
        (EntryKind::Toolset(Toolset::Assistant), "cancel event") => "cancelled an event",
        (EntryKind::Toolset(Toolset::Assistant), "retry") => "had a notification sent again",
        (EntryKind::Toolset(Toolset::Assistant), "resolve") => "resolved a notification",
        (EntryKind::Toolset(Toolset::Assistant), "acknowledge") => "acknowledged a notification",
        (EntryKind::Toolset(Toolset::Assistant), "make feed") => "made a calendar's address",
        (EntryKind::Toolset(Toolset::Assistant), "end feed") => "ended a calendar's address",
        (EntryKind::Toolset(Toolset::Codex), "prompted") => "was given a prompt",
        (EntryKind::Toolset(Toolset::Codex), "completed") => "finished a turn",
        (EntryKind::Toolset(Toolset::Codex), "interrupted") => "was interrupted",
        (_, other) => other,
    }
}
