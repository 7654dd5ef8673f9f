//! Calendars of other people's servers: feeds and CalDAV collections, read into a user's events.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::assistant::agenda::Taken;
use crate::assistant::calendar::{self, Effect, Fault, Read, caldav};
use crate::assistant::event::CalendarSource;
use crate::assistant::id::CalendarId;
use crate::assistant::import::{Lost, Origin, horizon};
use crate::assistant::{Assistant, Calendar, Error as RoomError, EventId, User};
use crate::outbound::{self, Call, Login};

/// The largest answer, in bytes; the reader refuses a calendar a little smaller, and says so to people.
const LARGEST: usize = 41 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_mins(1);
/// Calendars that are named where there is more than one.
const NAMED: usize = 20;
/// Events that a CalDAV server is asked for at once.
const AT_ONCE: usize = 100;

/// Where a calendar lies.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) url: String,
    /// The address is a CalDAV collection, not a `.ics` file.
    pub(crate) caldav: bool,
    pub(crate) login: Option<Login>,
}

/// What a pull did.
#[derive(Debug, Default)]
pub(crate) struct Pulled {
    pub(crate) taken: Taken,
    /// Events that are not there any more, which are cancelled.
    pub(crate) gone: u64,
    /// What was left out: its path on the server, and the fault.
    pub(crate) faults: Vec<(String, Fault)>,
    /// The server says that nothing has changed since the last time.
    pub(crate) unchanged: bool,
}

/// Why nothing was pulled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Outbound(#[from] outbound::Error),
    #[error("the server answers with status {status}{}", if *status == 401 { ": it wants a name and a password" } else { "" })]
    Refused { status: u16 },
    #[error("the server does not speak CalDAV at that address")]
    NotCalDav,
    #[error("the address holds calendars, and no events of its own: {}", .0.join(", "))]
    HoldsCalendars(Vec<String>),
    #[error("{0}")]
    Room(#[from] RoomError),
}

/// Reads a place into the user's calendar of that place, as far as it changed since the last time. `actor` is who
/// wants it, for the audit.
pub(crate) async fn pull(
    room: &Assistant,
    user: &User,
    place: &Place,
    actor: &str,
    now: Timestamp,
) -> Result<Pulled, Error> {
    let source = if place.caldav { CalendarSource::CalDav } else { CalendarSource::Url };
    let mut place = place.clone();
    if place.caldav && !place.url.ends_with('/') && !place.url.contains('?') {
        // A collection is the same with and without it, and would be two calendars (RFC 4918 5.2).
        place.url.push('/');
    }
    let place = &place;
    let known = room.calendars(&user.id).await?;
    let known = known.into_iter().find(|one| one.source == source && one.place == place.url);
    if place.caldav {
        collection(room, user, place, known, actor, now).await
    } else {
        feed(room, user, place, known, actor, now).await
    }
}

/// Reads a `.ics` file, if it is not the version that was read last.
async fn feed(
    room: &Assistant,
    user: &User,
    place: &Place,
    known: Option<Calendar>,
    actor: &str,
    now: Timestamp,
) -> Result<Pulled, Error> {
    let etag = known.and_then(|calendar| calendar.etag);
    let headers = etag.map(|etag| ("if-none-match", etag)).into_iter().collect();
    let answer = outbound::send(call(place, "GET", headers, String::new())).await?;
    if answer.status == 304 {
        return Ok(Pulled { unchanged: true, ..Pulled::default() });
    }
    if !answer.is_good() {
        return Err(Error::Refused { status: answer.status });
    }
    let name = last_part(&place.url);
    let origin = Origin {
        user: user.id.clone(),
        source: CalendarSource::Url,
        place: place.url.clone(),
        name: name.to_owned(),
    };
    let imported = room.import(&origin, answer.text(), actor, now).await?;
    // Only what was taken as a whole need not be read again.
    let etag =
        answer.etag.filter(|_| imported.faults.iter().all(|fault| fault.error.effect() != Effect::LeftOut));
    room.put_calendar(&Calendar { etag, ..imported.calendar }).await?;
    let faults = imported.faults.into_iter().map(|fault| (name.to_owned(), fault)).collect();
    Ok(Pulled { taken: imported.taken, gone: imported.gone, faults, unchanged: false })
}

/// Reads what changed in a CalDAV collection, by the versions that the server gives its events.
async fn collection(
    room: &Assistant,
    user: &User,
    place: &Place,
    known: Option<Calendar>,
    actor: &str,
    now: Timestamp,
) -> Result<Pulled, Error> {
    let ask = async |method, body: String| {
        let headers =
            vec![("depth", "1".to_owned()), ("content-type", "application/xml; charset=utf-8".to_owned())];
        let answer = outbound::send(call(place, method, headers, body)).await?;
        if !answer.is_good() {
            return Err(Error::Refused { status: answer.status });
        }
        caldav::read(&answer.text()).ok_or(Error::NotCalDav)
    };
    let listed = ask("PROPFIND", caldav::LIST.to_owned()).await?;
    let (inner, listed): (Vec<_>, Vec<_>) = listed.into_iter().partition(|one| one.collection);
    let listed: Vec<_> = listed.into_iter().filter(|one| !one.etag.is_empty()).collect();
    // The collection lists itself too; one of events holds no other one (RFC 4791 4.2).
    let inner = inner.into_iter().map(|one| one.href);
    let inner: Vec<_> = inner.filter(|href| !place.url.ends_with(href.as_str())).take(NAMED).collect();
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
    let calendar = room.put_calendar(&calendar).await?;
    let had = room.versions(&calendar).await?;
    let versions: HashSet<&str> = had.iter().map(|one| one.etag.as_str()).collect();
    let changed: Vec<&str> = listed
        .iter()
        .filter(|one| !versions.contains(one.etag.as_str()))
        .map(|one| one.href.as_str())
        .collect();
    let mut pulled = Pulled { unchanged: changed.is_empty() && !first, ..Pulled::default() };
    let mut fresh = HashSet::new();
    for hrefs in changed.chunks(AT_ONCE) {
        let mut drafts = Vec::new();
        for resource in ask("REPORT", caldav::fetch(hrefs.iter().copied())).await? {
            let Some(text) = &resource.text else { continue };
            // One resource that is no calendar does not cost the others.
            let read = calendar::read(text, &user.preferences.zone, horizon(now)).unwrap_or_else(|error| {
                Read { drafts: Vec::new(), faults: vec![Fault { line: 1, uid: None, error }] }
            });
            pulled.faults.extend(read.faults.into_iter().map(|fault| (resource.href.clone(), fault)));
            for mut draft in read.drafts {
                fresh.insert(draft.name());
                draft.etag = Some(resource.etag.clone());
                drafts.push(draft);
            }
        }
        let taken = room.take(&calendar, drafts, now).await?;
        pulled.taken.added += taken.added;
        pulled.taken.updated += taken.updated;
        pulled.taken.same += taken.same;
        pulled.taken.withdrawn += taken.withdrawn;
    }
    let there: HashSet<&str> = listed.iter().map(|one| one.etag.as_str()).collect();
    let lost = Lost::of(pulled.faults.iter().map(|(_, fault)| fault));
    let gone: Vec<EventId> = had
        .iter()
        .filter(|one| !there.contains(one.etag.as_str()) && !fresh.contains(&one.name))
        .filter(|one| !lost.may_hold(&one.name.0))
        .map(|one| one.id.clone())
        .collect();
    if !gone.is_empty() {
        pulled.taken.withdrawn += room.cancel_events(&gone, actor, now).await?;
        (pulled.gone, pulled.unchanged) = (gone.len() as u64, false);
    }
    Ok(pulled)
}

fn call<'a>(
    place: &'a Place,
    method: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
) -> Call<'a> {
    let login = place.login.as_ref();
    Call { method, url: &place.url, headers, login, token: None, body, largest: LARGEST, patience: PATIENCE }
}

/// The part of an address that a person knows it by; nothing of a query, which may hold a secret.
fn last_part(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("calendar")
}
