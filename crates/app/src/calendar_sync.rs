//! Synchronization of calendars on servers: `.ics` addresses and CalDAV collections.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use adjutant_assistant::calendar::{self, Effect, ParseIssue, ParsedCalendar, caldav};
use adjutant_assistant::event::CalendarSource;
use adjutant_assistant::events::{NO_PROGRESS, UpsertReport};
use adjutant_assistant::ids::CalendarId;
use adjutant_assistant::import::{Origin, UnreadableEvents, horizon};
use adjutant_assistant::plans::PlanScope;
use adjutant_assistant::{Assistant, Calendar, Error as AssistantError, EventId, User};
use adjutant_net::http_client;
use adjutant_net::http_client::{HttpRequest, Login};

/// The largest answer, in bytes; the reader refuses a calendar a little smaller, and says so to people.
const MAX_RESPONSE_BYTES: usize = 41 * 1024 * 1024;
const HTTP_TIMEOUT: Duration = Duration::from_mins(1);
/// Calendars that are named where there is more than one.
const MAX_NAMED_CALENDARS: usize = 20;
/// Events that a CalDAV server is asked for at once.
const BATCH_SIZE: usize = 100;

/// Where a calendar lies.
#[derive(Clone, Debug)]
pub struct CalendarAddress {
    pub url: String,
    /// The address is a CalDAV collection, not a `.ics` file.
    pub caldav: bool,
    pub login: Option<Login>,
}

/// The result of a pull.
#[derive(Debug, Default)]
pub struct PullReport {
    pub upserted: UpsertReport,
    /// Events that the server no longer has; they are cancelled.
    pub removed: u64,
    /// Issues, each with the path of its resource on the server.
    pub issues: Vec<(String, ParseIssue)>,
    /// The server says that nothing has changed since the last time.
    pub unchanged: bool,
}

/// Why nothing was pulled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Outbound(#[from] http_client::Error),
    #[error("the server answers with status {status}{}", if *status == 401 { ": it wants a name and a password" } else { "" })]
    Refused { status: u16 },
    #[error("the server does not speak CalDAV at that address")]
    NotCalDav,
    #[error("the address holds calendars, and no events of its own: {}", .0.join(", "))]
    HoldsCalendars(Vec<String>),
    #[error("{0}")]
    Assistant(#[from] AssistantError),
}

/// Reads a place into the user's calendar of that place, as far as it changed since the last time. `actor` is who
/// wants it, for the audit.
pub async fn pull(
    assistant: &Assistant,
    user: &User,
    place: &CalendarAddress,
    actor: &str,
    now: Timestamp,
) -> Result<PullReport, Error> {
    let source = if place.caldav { CalendarSource::CalDav } else { CalendarSource::Url };
    let mut place = place.clone();
    if place.caldav && !place.url.ends_with('/') && !place.url.contains('?') {
        // A collection is the same with and without it, and would be two calendars (RFC 4918 5.2).
        place.url.push('/');
    }
    let place = &place;
    let known = assistant.calendars(&user.id).await?;
    let known = known.into_iter().find(|one| one.source == source && one.place == place.url);
    if place.caldav {
        collection(assistant, user, place, known, actor, now).await
    } else {
        feed(assistant, user, place, known, actor, now).await
    }
}

/// Reads a `.ics` file, if it is not the version that was read last.
async fn feed(
    assistant: &Assistant,
    user: &User,
    place: &CalendarAddress,
    known: Option<Calendar>,
    actor: &str,
    now: Timestamp,
) -> Result<PullReport, Error> {
    let etag = known.and_then(|calendar| calendar.etag);
    let headers = etag.map(|etag| ("if-none-match", etag)).into_iter().collect();
    let answer = http_client::send(call(place, "GET", headers, String::new())).await?;
    if answer.status == 304 {
        return Ok(PullReport { unchanged: true, ..PullReport::default() });
    }
    if !answer.is_success() {
        return Err(Error::Refused { status: answer.status });
    }
    let name = last_part(&place.url);
    let origin = Origin {
        user: user.id.clone(),
        source: CalendarSource::Url,
        place: place.url.clone(),
        name: name.to_owned(),
    };
    let imported = assistant.import(&origin, answer.text(), actor, now, NO_PROGRESS).await?;
    // Only what was taken as a whole need not be read again.
    let etag =
        answer.etag.filter(|_| imported.issues.iter().all(|issue| issue.error.effect() != Effect::LeftOut));
    assistant.put_calendar(&Calendar { etag, ..imported.calendar }).await?;
    let issues = imported.issues.into_iter().map(|issue| (name.to_owned(), issue)).collect();
    Ok(PullReport { upserted: imported.upserted, removed: imported.removed, issues, unchanged: false })
}

/// Reads what changed in a CalDAV collection, by the versions that the server gives its events.
async fn collection(
    assistant: &Assistant,
    user: &User,
    place: &CalendarAddress,
    known: Option<Calendar>,
    actor: &str,
    now: Timestamp,
) -> Result<PullReport, Error> {
    let ask = async |method, body: String| {
        let headers =
            vec![("depth", "1".to_owned()), ("content-type", "application/xml; charset=utf-8".to_owned())];
        let answer = http_client::send(call(place, method, headers, body)).await?;
        if !answer.is_success() {
            return Err(Error::Refused { status: answer.status });
        }
        caldav::parse(&answer.text()).ok_or(Error::NotCalDav)
    };
    let listed = ask("PROPFIND", caldav::LIST.to_owned()).await?;
    let (inner, listed): (Vec<_>, Vec<_>) = listed.into_iter().partition(|one| one.collection);
    let listed: Vec<_> = listed.into_iter().filter(|one| !one.etag.is_empty()).collect();
    // The collection lists itself too; a collection of events contains no collection (RFC 4791 4.2).
    let inner = inner.into_iter().map(|one| one.href);
    let inner: Vec<_> =
        inner.filter(|href| !place.url.ends_with(href.as_str())).take(MAX_NAMED_CALENDARS).collect();
    if listed.is_empty() && !inner.is_empty() {
        return Err(Error::HoldsCalendars(inner));
    }
    let first = known.is_none();
    let calendar = match known {
        Some(calendar) => Calendar { read_at: Some(now), ..calendar },
        None => Calendar {
            id: CalendarId::new()?,
            user: user.id.clone(),
            name: last_part(&place.url).to_owned(),
            source: CalendarSource::CalDav,
            place: place.url.clone(),
            etag: None,
            sync_token: None,
            read_at: Some(now),
        },
    };
    let calendar = assistant.put_calendar(&calendar).await?;
    let before = assistant.versions(&calendar).await?;
    let versions: HashSet<&str> = before.iter().map(|one| one.etag.as_str()).collect();
    let changed: Vec<&str> = listed
        .iter()
        .filter(|one| !versions.contains(one.etag.as_str()))
        .map(|one| one.href.as_str())
        .collect();
    let mut pulled = PullReport { unchanged: changed.is_empty() && !first, ..PullReport::default() };
    let mut fresh = HashSet::new();
    for hrefs in changed.chunks(BATCH_SIZE) {
        let mut drafts = Vec::new();
        for resource in ask("REPORT", caldav::fetch(hrefs.iter().copied())).await? {
            let Some(text) = &resource.text else { continue };
            // One resource that is not a calendar does not cost the others.
            let parsed =
                calendar::parse(text, &user.preferences.zone, horizon(now)).unwrap_or_else(|error| {
                    ParsedCalendar {
                        drafts: Vec::new(),
                        issues: vec![ParseIssue { line: 1, uid: None, error }],
                    }
                });
            pulled.issues.extend(parsed.issues.into_iter().map(|issue| (resource.href.clone(), issue)));
            for mut draft in parsed.drafts {
                fresh.insert(draft.name());
                draft.etag = Some(resource.etag.clone());
                drafts.push(draft);
            }
        }
        let upserted = assistant.upsert(&calendar, drafts, now, NO_PROGRESS).await?;
        pulled.upserted.added += upserted.added;
        pulled.upserted.updated += upserted.updated;
        pulled.upserted.same += upserted.same;
        pulled.upserted.withdrawn += upserted.withdrawn;
    }
    let listed_etags: HashSet<&str> = listed.iter().map(|one| one.etag.as_str()).collect();
    let unreadable = UnreadableEvents::of(pulled.issues.iter().map(|(_, issue)| issue));
    let removed: Vec<EventId> = before
        .iter()
        .filter(|one| !listed_etags.contains(one.etag.as_str()) && !fresh.contains(&one.name))
        .filter(|one| !unreadable.may_contain(&one.name.0))
        .map(|one| one.id.clone())
        .collect();
    if !removed.is_empty() {
        pulled.upserted.withdrawn += assistant.cancel_events(&removed, actor, now).await?;
        (pulled.removed, pulled.unchanged) = (removed.len() as u64, false);
    }
    if pulled.upserted.added + pulled.upserted.updated > 0 {
        assistant.plan(&user.id, None, PlanScope::Unplanned, now).await?;
    }
    Ok(pulled)
}

fn call<'a>(
    place: &'a CalendarAddress,
    method: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
) -> HttpRequest<'a> {
    let login = place.login.as_ref();
    HttpRequest {
        method,
        url: &place.url,
        headers,
        login,
        token: None,
        body,
        max_bytes: MAX_RESPONSE_BYTES,
        timeout: HTTP_TIMEOUT,
    }
}

/// The part of an address that a person knows it by; nothing of a query, which may hold a secret.
fn last_part(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("calendar")
}
