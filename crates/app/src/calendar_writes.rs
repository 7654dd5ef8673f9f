//! Changes of events where they are kept: in the user's own calendar, or on the CalDAV server that they come from. The
//! server's version decides: a write names the version that it changes (RFC 4791 5.3.2, RFC 9110 13.1.1).

use std::time::Duration;

use jiff::Timestamp;

use super::App;
use super::calendar_refresh::stored_login;
use super::calendar_sync::{self, CalendarAddress, pull};
use adjutant_assistant::calendar::caldav::Resource;
use adjutant_assistant::calendar::{Change, EventEdit, changed_in, document};
use adjutant_assistant::event::CalendarSource;
use adjutant_assistant::own_events::{EventSource, content_uid, new_for_server, random_uid, time_of};
use adjutant_assistant::{Calendar, Error as AssistantError, Event, User};
use adjutant_net::http_client::{self, HttpRequest, HttpResponse};

/// Maximum bytes of the resource of an event.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an event was not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Assistant(#[from] AssistantError),
    #[error("{0}")]
    Sync(#[from] calendar_sync::Error),
    #[error("{0}")]
    Outbound(#[from] http_client::Error),
    /// The server has another version than the one that was read; it is read now.
    #[error("another program changed the event, which is now `{title}`; review it, then change it again")]
    Conflict { title: String },
    #[error("another program has deleted the event")]
    Deleted,
    /// The connection failed after a new event was sent, and the calendar could not be read, or has no such event.
    #[error("it is unknown whether the server stored the event: {0}")]
    Uncertain(http_client::Error),
    #[error("the server answers with status {0}; nothing was changed")]
    Refused(u16),
    #[error("{0}")]
    Password(String),
}

impl App {
    /// Adds an event to the user's own calendar, or to `calendar` on its server, and plans it. The same event is added to a
    /// server once: a first try may have reached it without an answer.
    pub async fn add_event(
        &self,
        user: &User,
        calendar: Option<&Calendar>,
        edit: &EventEdit,
        now: Timestamp,
    ) -> Result<Event, Error> {
        let Some(calendar) = calendar else { return Ok(self.assistant.add_event(user, edit, now).await?) };
        let place = address(calendar)?;
        let mut uid = content_uid(calendar, edit);
        if let Ok(event) = self.assistant.event_of_uid(calendar, &uid).await {
            if edit.title.as_ref() == Some(&event.title)
                && edit.time == time_of(&event, &user.preferences.zone).ok()
            {
                return Ok(event);
            }
            uid = random_uid()?;
        }
        let component = new_for_server(&uid, edit, now)?;
        let url = format!("{}{uid}.ics", place.url);
        let headers = vec![("if-none-match", "*".to_owned())];
        let answer = match send(&place, "PUT", &url, headers, document(&component)).await {
            Ok(answer) if answer.is_success() => answer,
            Ok(HttpResponse { status: 412, .. }) => {
                pull(&self.assistant, user, &place, ACTOR, now).await?;
                return Ok(self.assistant.event_of_uid(calendar, &uid).await?);
            }
            Ok(answer) => return Err(Error::Refused(answer.status)),
            Err(Error::Outbound(error)) => {
                // The server may have stored it all the same.
                let _ = pull(&self.assistant, user, &place, ACTOR, now).await;
                let stored = self.assistant.event_of_uid(calendar, &uid).await;
                return stored.map_err(|_| Error::Uncertain(error));
            }
            Err(error) => return Err(error),
        };
        if let Err(error) = pull(&self.assistant, user, &place, ACTOR, now).await {
            unread(&error);
            self.assistant.write(user, calendar, &component, &version(&url, answer), now).await?;
        }
        Ok(self.assistant.event_of_uid(calendar, &uid).await?)
    }

    /// Changes an event, and plans it anew; returns how many notifications were withdrawn.
    pub async fn change_event(
        &self,
        source: &EventSource,
        change: &Change,
        now: Timestamp,
    ) -> Result<u64, Error> {
        if source.calendar.source != CalendarSource::CalDav {
            self.check_unchanged(source).await?;
            return Ok(self.assistant.change_event(source, change, now).await?);
        }
        self.write(source, Some(&source.for_server(change)?), now).await
    }

    /// Cancels an event, and returns how many notifications were withdrawn.
    pub async fn cancel_event(
        &self,
        source: &EventSource,
        actor: &str,
        now: Timestamp,
    ) -> Result<u64, Error> {
        if source.is_changed_occurrence() {
            return self.change_event(source, &Change::Cancel, now).await;
        }
        if source.calendar.source != CalendarSource::CalDav {
            self.check_unchanged(source).await?;
            let id = std::slice::from_ref(&source.event.id);
            return Ok(self.assistant.cancel_events(id, actor, now).await?);
        }
        self.write(source, None, now).await
    }

    /// Fails if an event is no longer as it was read: the user may have thought about the change for an hour.
    async fn check_unchanged(&self, source: &EventSource) -> Result<(), Error> {
        let EventSource { event, text, others, .. } = self.assistant.writable_event(&source.event.id).await?;
        if (&event, &text, &others) == (&source.event, &source.text, &source.others) {
            return Ok(());
        }
        Err(Error::Conflict { title: event.title })
    }

    /// Changes the resource of an event on its server, or deletes it without a change, and reads the calendar again.
    async fn write(
        &self,
        source: &EventSource,
        wanted: Option<&Change>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let place = address(&source.calendar)?;
        let read;
        let source = if source.etag.is_empty() || source.etag.ends_with('\n') {
            pull(&self.assistant, &source.user, &place, ACTOR, now).await?;
            read = self.assistant.writable_event(&source.event.id).await?;
            if read.event.digest != source.event.digest {
                return Err(Error::Conflict { title: read.event.title });
            }
            &read
        } else {
            source
        };
        let (path, known) = source.etag.split_once('\n').unwrap_or_default();
        let url = resource_url(&place.url, path);
        let found = send(&place, "GET", &url, Vec::new(), String::new()).await?;
        let change = match wanted {
            // The server has a different version, or the event is no longer there.
            _ if !found.is_success() || !is_version(&found, known) => None,
            Some(change) => changed_in(&found.text(), &source.text, change, now).map(|text| ("PUT", text)),
            None => Some(("DELETE", String::new())),
        };
        let answer = match change {
            Some((method, body)) => Some(replace(&place, method, &url, (known, &found), body).await?),
            None => None,
        };
        let pulled = pull(&self.assistant, &source.user, &place, ACTOR, now).await;
        let status = answer.as_ref().map(|answer| answer.status);
        if let (Some(answer @ HttpResponse { status: 200..=299, .. }), Err(error)) = (answer, &pulled) {
            unread(error);
            return Ok(if let Some(change) = wanted {
                let written = EventSource { etag: version(&url, answer), ..source.clone() };
                self.assistant.change_event(&written, change, now).await?
            } else {
                let id = std::slice::from_ref(&source.event.id);
                self.assistant.cancel_events(id, ACTOR, now).await?
            });
        }
        let pulled = pulled?;
        match status {
            Some(200..=299) => Ok(pulled.upserted.withdrawn),
            None | Some(404 | 409 | 410 | 412) => {
                // An event that was removed from its calendar is not writable.
                let Ok(found) = self.assistant.writable_event(&source.event.id).await else {
                    return Err(Error::Deleted);
                };
                match status {
                    // The event is as it was, so that the server refuses the change for a different reason.
                    Some(status) if found.event.digest == source.event.digest => Err(Error::Refused(status)),
                    _ => Err(Error::Conflict { title: found.event.title }),
                }
            }
            Some(status) => Err(Error::Refused(status)),
        }
    }
}

/// In the audit, the actor of what a read after a write removes.
const ACTOR: &str = "user";

/// Logs that the server has a change but was not read again. The caller then makes the change here too.
fn unread(error: &calendar_sync::Error) {
    tracing::warn!(%error, "a calendar that was written cannot be read again");
}

/// Returns the version of a resource after a write. Only its address is known if the server stored something else than it
/// was sent (RFC 4791 5.3.4); then the version ends with a line feed.
fn version(url: &str, answer: HttpResponse) -> String {
    let etag = answer.etag.unwrap_or_default();
    Resource { href: url.to_owned(), etag, ..Resource::default() }.version()
}

/// Returns whether a response has a version, which a proxy may have made weak (RFC 9110 8.8.3.2), and which a server
/// may write without its quotes. A response without a version passes if `version` is strong, because the server then
/// compares it at the write.
fn is_version(found: &HttpResponse, version: &str) -> bool {
    match &found.etag {
        Some(etag) => opaque(etag) == opaque(version),
        None => !version.starts_with("W/"),
    }
}

/// Returns what two forms of a version have in common.
fn opaque(version: &str) -> &str {
    version.strip_prefix("W/").unwrap_or(version).trim_matches('"')
}

/// Replaces or deletes the version `known` of a resource, which was `found` just before.
async fn replace(
    place: &CalendarAddress,
    method: &'static str,
    url: &str,
    (known, found): (&str, &HttpResponse),
    body: String,
) -> Result<HttpResponse, Error> {
    let quoted = if known.ends_with('"') { known.to_owned() } else { format!("\"{known}\"") };
    let mut named = [found.etag.clone(), Some(quoted)].into_iter().flatten();
    if let Some(strong) = named.clone().find(|version| !version.starts_with("W/")) {
        return send(place, method, url, vec![("if-match", strong)], body).await;
    }
    let weak = named.next().unwrap_or_default();
    let answer = send(place, method, url, vec![("if-match", weak)], body.clone()).await?;
    if answer.status != 412 {
        return Ok(answer);
    }
    // A weak version is equal to none, not even to itself (RFC 9110 13.1.1). If the resource still has it, the time of the last
    // change is the condition.
    let found = send(place, "GET", url, Vec::new(), String::new()).await?;
    if !found.is_success() || !is_version(&found, known) {
        return Ok(answer);
    }
    let unchanged = found.last_modified.map(|time| ("if-unmodified-since", time));
    let condition = unchanged.unwrap_or_else(|| ("if-match", "*".to_owned()));
    send(place, method, url, vec![condition], body).await
}

fn address(calendar: &Calendar) -> Result<CalendarAddress, Error> {
    let stored = calendar.refresh.as_ref().and_then(|refresh| refresh.login.as_ref());
    let login = stored_login(stored).map_err(Error::Password)?;
    Ok(CalendarAddress { url: calendar.place.clone(), caldav: true, login })
}

/// Returns the URL of a path on the server of a collection.
fn resource_url(collection: &str, path: &str) -> String {
    let host = collection.find("://").map_or(0, |at| at + 3);
    let root = collection[host..].find('/').map_or(collection.len(), |at| host + at);
    let path = path.replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    format!("{}{path}", &collection[..root])
}

async fn send(
    place: &CalendarAddress,
    method: &'static str,
    url: &str,
    mut headers: Vec<(&'static str, String)>,
    body: String,
) -> Result<HttpResponse, Error> {
    if !body.is_empty() {
        headers.push(("content-type", "text/calendar; charset=utf-8".to_owned()));
    }
    let (login, token, max_bytes, timeout) = (place.login.as_ref(), None, MAX_RESPONSE_BYTES, HTTP_TIMEOUT);
    Ok(http_client::send(HttpRequest { method, url, headers, login, token, body, max_bytes, timeout })
        .await?)
}
