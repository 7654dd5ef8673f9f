//! Synchronization of calendars on servers: `.ics` addresses and CalDAV collections.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use adjutant_assistant::calendar::caldav::{self, Answer, Resource};
use adjutant_assistant::calendar::{self, Effect, ParseIssue, ParsedCalendar};
use adjutant_assistant::event::CalendarSource;
use adjutant_assistant::events::{NO_PROGRESS, UpsertReport, Version};
use adjutant_assistant::ids::CalendarId;
use adjutant_assistant::import::{Imported, Origin, UnreadableEvents, horizon};
use adjutant_assistant::plans::PlanScope;
use adjutant_assistant::{Assistant, Calendar, Error as AssistantError, EventId, User};
use adjutant_net::http_client;
use adjutant_net::http_client::{HttpRequest, HttpResponse, Login};

/// Maximum bytes of an answer. The parser refuses a calendar that is a little smaller, with a message for the user.
const MAX_RESPONSE_BYTES: usize = 41 * 1024 * 1024;
const HTTP_TIMEOUT: Duration = Duration::from_mins(1);
/// Calendars that are named where there is more than one.
const MAX_NAMED_CALENDARS: usize = 20;
/// Events that a CalDAV server is asked for at once.
const BATCH_SIZE: usize = 100;
/// Answers that the changes of a collection may come in.
const MAX_SYNC_PARTS: usize = 100;

/// The address of a calendar on a server, and the login for it.
#[derive(Clone, Debug)]
pub struct CalendarAddress {
    pub url: String,
    /// The address is a CalDAV collection, not a `.ics` file.
    pub caldav: bool,
    pub login: Option<Login>,
}

/// The result of a pull.
#[derive(Debug)]
pub struct PullReport {
    pub calendar: Calendar,
    pub upserted: UpsertReport,
    /// Events that the server no longer has; they are cancelled.
    pub removed: u64,
    /// Issues, each with the path of its resource on the server.
    pub issues: Vec<(String, ParseIssue)>,
    /// The server says that nothing has changed since the last time.
    pub unchanged: bool,
}

impl PullReport {
    fn new(calendar: Calendar, unchanged: bool) -> Self {
        Self { calendar, upserted: UpsertReport::default(), removed: 0, issues: Vec::new(), unchanged }
    }
}

/// Why nothing was pulled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Outbound(#[from] http_client::Error),
    #[error("the server answers with status {status}{}", refused(*status, *login))]
    Refused {
        status: u16,
        /// Whether a name and a password were sent.
        login: bool,
        /// When the server wants to be asked again (`Retry-After`).
        retry_after: Option<Duration>,
    },
    #[error("the server answers with status {status} for `{href}`; nothing was changed")]
    Incomplete { href: String, status: u16 },
    #[error("the server sent no complete CalDAV answer from that address; nothing was changed")]
    NotCalDav,
    #[error("the address is a list of calendars without events; choose one of: {}", .0.join(", "))]
    HoldsCalendars(Vec<String>),
    #[error("the calendar at that address was already imported from {0}")]
    Imported(String),
    #[error("{0}")]
    Assistant(#[from] AssistantError),
}

fn refused(status: u16, login: bool) -> &'static str {
    match (status, login) {
        (401, true) => ": it does not accept the name and the password",
        (401, false) => ": it wants a name and a password",
        _ => "",
    }
}

/// Reads a place into the user's calendar of that place, as far as it changed since the last time. `actor` is named in
/// the audit.
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
        // A collection is the same with and without the slash, and would be two calendars (RFC 4918 5.2).
        place.url.push('/');
    }
    let place = &place;
    let mut others = assistant.calendars(&user.id).await?;
    others.retain(|one| one.source == source);
    let known = others.iter().position(|one| one.place == place.url).map(|at| others.swap_remove(at));
    if place.caldav {
        collection(assistant, user, place, (known, &others), actor, now).await
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
    let version = known.as_ref().and_then(|calendar| calendar.etag.clone());
    // A server without versions says when the file was changed.
    let condition = |version: String| {
        let quoted = version.starts_with('"') || version.starts_with("W/");
        (if quoted { "if-none-match" } else { "if-modified-since" }, version)
    };
    let headers = version.map(condition).into_iter().collect();
    let answer = http_client::send(call(place, "GET", headers, String::new())).await?;
    if let (304, Some(calendar)) = (answer.status, known) {
        let calendar = assistant.put_calendar(&Calendar { read_at: Some(now), ..calendar }).await?;
        return Ok(PullReport::new(calendar, true));
    }
    let answer = success(answer, place)?;
    let name = last_part(&place.url);
    let origin = Origin {
        user: user.id.clone(),
        source: CalendarSource::Url,
        place: place.url.clone(),
        name: name.to_owned(),
    };
    let imported = assistant.import(&origin, answer.text(), actor, now, NO_PROGRESS).await?;
    // Only what was taken as a whole need not be read again.
    let whole = imported.issues.iter().all(|issue| issue.error.effect() != Effect::LeftOut);
    let etag = answer.etag.or(answer.last_modified).filter(|_| whole);
    let Imported { calendar, upserted, removed, issues } = imported;
    let calendar = assistant.put_calendar(&Calendar { etag, ..calendar }).await?;
    let issues = issues.into_iter().map(|issue| (name.to_owned(), issue)).collect();
    Ok(PullReport { upserted, removed, issues, ..PullReport::new(calendar, false) })
}

/// The changes of a collection.
#[derive(Default)]
struct Changes {
    changed: Vec<Resource>,
    /// The addresses of resources that are no longer there.
    gone: HashSet<String>,
    sync_token: Option<String>,
}

/// Reads what changed in a CalDAV collection: since the version that was read last, or by the versions of all events.
async fn collection(
    assistant: &Assistant,
    user: &User,
    place: &CalendarAddress,
    (known, others): (Option<Calendar>, &[Calendar]),
    actor: &str,
    now: Timestamp,
) -> Result<PullReport, Error> {
    let first = known.is_none();
    let before = match &known {
        Some(calendar) => assistant.versions(calendar).await?,
        None => Vec::new(),
    };
    let since = match known.as_ref().and_then(|calendar| calendar.sync_token.clone()) {
        Some(token) => changes_since(place, token).await?,
        None => None,
    };
    let changes = match since {
        Some(changes) => changes,
        None => changes_of_all(place, &before).await?,
    };
    if before.is_empty() {
        refuse_twice(assistant, others, &changes.changed).await?;
    }
    let calendar = known.unwrap_or(Calendar {
        id: CalendarId::new()?,
        user: user.id.clone(),
        name: last_part(&place.url).to_owned(),
        source: CalendarSource::CalDav,
        place: place.url.clone(),
        etag: None,
        sync_token: None,
        read_at: None,
        refresh: None,
    });
    let calendar = assistant.put_calendar(&calendar).await?;
    let unchanged = changes.changed.is_empty() && !first;
    let mut pulled = PullReport::new(calendar.clone(), unchanged);
    let (mut read, mut fresh) = (HashSet::new(), HashSet::new());
    for batch in changes.changed.chunks(BATCH_SIZE) {
        let mut drafts = Vec::new();
        let hrefs = batch.iter().map(|resource| resource.href.as_str());
        let answer = ask(place, "REPORT", "1", caldav::fetch(hrefs)).await?;
        for resource in whole(answer)?.resources {
            let Some(text) = &resource.text else { continue };
            // One resource that is not a calendar does not cost the others.
            let parsed =
                calendar::parse(text, &user.preferences.zone, horizon(now)).unwrap_or_else(|error| {
                    let issues = vec![ParseIssue { line: 1, uid: None, error }];
                    ParsedCalendar { issues, ..ParsedCalendar::default() }
                });
            pulled.issues.extend(parsed.issues.into_iter().map(|issue| (resource.href.clone(), issue)));
            for mut draft in parsed.drafts {
                fresh.insert(draft.name());
                draft.etag = Some(resource.version());
                drafts.push(draft);
            }
            read.insert(resource.address());
        }
        let upserted = assistant.upsert(&calendar, drafts, now, NO_PROGRESS).await?;
        pulled.upserted.added += upserted.added;
        pulled.upserted.updated += upserted.updated;
        pulled.upserted.same += upserted.same;
        pulled.upserted.withdrawn += upserted.withdrawn;
    }
    let unreadable = UnreadableEvents::of(pulled.issues.iter().map(|(_, issue)| issue));
    let removed: Vec<EventId> = before
        .iter()
        .filter(|one| {
            let address = caldav::address_of(&one.etag);
            changes.gone.contains(address) || read.contains(address)
        })
        .filter(|one| !fresh.contains(&one.name) && !unreadable.may_contain(&one.name.0))
        .map(|one| one.id.clone())
        .collect();
    if !removed.is_empty() {
        pulled.upserted.withdrawn += assistant.cancel_events(&removed, actor, now).await?;
        (pulled.removed, pulled.unchanged) = (removed.len() as u64, false);
    }
    // What could not be read is read again, so the changes are asked for since the version before it.
    let all_read = pulled.issues.iter().all(|(_, issue)| issue.error.effect() != Effect::LeftOut)
        && changes.changed.iter().all(|one| read.contains(&one.address()));
    let sync_token = if all_read { changes.sync_token } else { calendar.sync_token.clone() };
    pulled.calendar =
        assistant.put_calendar(&Calendar { sync_token, read_at: Some(now), ..calendar }).await?;
    if pulled.upserted.added + pulled.upserted.updated > 0 {
        assistant.plan(&user.id, None, PlanScope::Unplanned, now).await?;
    }
    Ok(pulled)
}

/// Fails if another calendar of the user has one of these resources: a server may have several names, and each event would
/// be there twice.
async fn refuse_twice(
    assistant: &Assistant,
    others: &[Calendar],
    resources: &[Resource],
) -> Result<(), Error> {
    let versions: HashSet<_> =
        resources.iter().filter(|one| !one.etag.is_empty()).map(Resource::version).collect();
    for other in others {
        if assistant.versions(other).await?.iter().any(|one| versions.contains(&one.etag)) {
            return Err(Error::Imported(other.place.clone()));
        }
    }
    Ok(())
}

/// Asks for the changes since a version (RFC 6578). `None` where the server does not know the version, or does not
/// support this request.
async fn changes_since(place: &CalendarAddress, mut token: String) -> Result<Option<Changes>, Error> {
    let mut changes = Changes::default();
    for _ in 0..MAX_SYNC_PARTS {
        let answer = match ask(place, "REPORT", "0", caldav::changes_since(&token)).await {
            Ok(answer) => answer,
            Err(Error::Refused { status: 400..=499 | 501, .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(next) = answer.sync_token.clone() else { return Ok(None) };
        let mut more = false;
        for resource in answer.resources {
            if resource.is_gone() {
                changes.gone.insert(resource.address());
            } else if resource.is_truncated() && is_itself(&resource, place) {
                more = true;
            } else if let Some(status) = resource.failure {
                return Err(Error::Incomplete { href: resource.href, status });
            } else if !resource.collection {
                changes.changed.push(resource);
            }
        }
        changes.sync_token = Some(next.clone());
        if !more {
            return Ok(Some(changes));
        }
        token = next;
    }
    Ok(None)
}

/// Compares the versions of all events of a collection with those that are known.
async fn changes_of_all(place: &CalendarAddress, before: &[Version]) -> Result<Changes, Error> {
    let answer = whole(ask(place, "PROPFIND", "1", caldav::LIST.to_owned()).await?)?;
    if answer.resources.is_empty() {
        // Even an empty collection lists itself (RFC 4918 9.1).
        return Err(Error::NotCalDav);
    }
    let (inner, listed): (Vec<_>, Vec<_>) = answer.resources.into_iter().partition(|one| one.collection);
    // The collection lists itself too; a collection of events contains no collection (RFC 4791 4.2).
    let inner = inner.into_iter().filter(|one| !is_itself(one, place));
    let inner: Vec<_> = inner.map(|one| one.href).take(MAX_NAMED_CALENDARS).collect();
    if listed.is_empty() && !inner.is_empty() {
        return Err(Error::HoldsCalendars(inner));
    }
    let addresses: HashSet<String> = listed.iter().map(Resource::address).collect();
    let versions: HashSet<&str> = before.iter().map(|one| one.etag.as_str()).collect();
    let known = before.iter().map(|one| caldav::address_of(&one.etag).to_owned());
    Ok(Changes {
        gone: known.filter(|address| !addresses.contains(address)).collect(),
        changed: listed.into_iter().filter(|one| !versions.contains(one.version().as_str())).collect(),
        sync_token: answer.sync_token,
    })
}

/// Sends a CalDAV request, and parses the answer.
async fn ask(
    place: &CalendarAddress,
    method: &'static str,
    depth: &str,
    body: String,
) -> Result<Answer, Error> {
    let headers =
        vec![("depth", depth.to_owned()), ("content-type", "application/xml; charset=utf-8".to_owned())];
    let answer = http_client::send(call(place, method, headers, body)).await?;
    caldav::parse(&success(answer, place)?.text()).ok_or(Error::NotCalDav)
}

/// Returns an answer in which nothing failed.
fn whole(answer: Answer) -> Result<Answer, Error> {
    let failed = answer.resources.iter().find_map(|one| Some((one.href.clone(), one.failure?)));
    match failed {
        Some((href, status)) => Err(Error::Incomplete { href, status }),
        None => Ok(answer),
    }
}

/// Returns whether a resource is the collection itself.
fn is_itself(resource: &Resource, place: &CalendarAddress) -> bool {
    let collection = Resource { href: place.url.clone(), ..Resource::default() };
    collection.address().trim_end_matches('/') == resource.address().trim_end_matches('/')
}

fn success(answer: HttpResponse, place: &CalendarAddress) -> Result<HttpResponse, Error> {
    if answer.is_success() {
        return Ok(answer);
    }
    let login = place.login.is_some();
    let retry_after = answer.retry_after.and_then(|when| retry_after(when.trim(), Timestamp::now()));
    Err(Error::Refused { status: answer.status, login, retry_after })
}

/// Returns how long a server wants to be left alone: a number of seconds, or a date in one of the forms of HTTP (RFC 9110 5.6.7).
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let forms = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let date = forms.iter().find_map(|form| DateTime::strptime(form, value).ok())?;
    let at = TimeZone::UTC.to_timestamp(date).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
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

/// Returns the part of an address by which a user knows it; nothing of a query, which may hold a secret.
fn last_part(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("calendar")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::retry_after;

    #[test]
    fn a_server_says_when_to_come_back_in_seconds_or_with_a_date() {
        let now = "1994-11-06T08:49:07Z".parse().unwrap();
        for (value, seconds) in [
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(30)),
            ("Sun Nov  6 08:49:37 1994", Some(30)),
            ("Sun, 06 Nov 1994 08:48:37 GMT", Some(0)),
            ("tomorrow", None),
        ] {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{value}");
        }
    }
}
