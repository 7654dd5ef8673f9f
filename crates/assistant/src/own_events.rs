//! Events that a user or a client writes: added to the user's own calendar, changed, cancelled.

use jiff::{Timestamp, ToSpan as _};

use super::calendar::{self, Effect, EventEdit, EventTime};
use super::event::CalendarSource;
use super::events::NO_PROGRESS;
use super::ids::CalendarId;
use super::import::{Origin, horizon};
use super::plain_dates::{self, Dated};
use super::plans::PlanScope;
use super::{Assistant, Calendar, Error, Event, EventId, User, UserId, Zone};
use adjutant_store::assistant::events;

/// The name of a user's own calendar.
const OWN_CALENDAR: &str = "Own events";
/// Maximum characters of a title and of a location, and of a description.
const MAX_CHARS: (usize, usize) = (500, 20_000);

impl Origin {
    /// The user's own calendar, which texts without a file are added to.
    pub fn own(user: UserId) -> Self {
        Self { user, source: CalendarSource::Local, place: String::new(), name: OWN_CALENDAR.to_owned() }
    }
}

/// An event with its calendar and its text.
#[derive(Clone, Debug)]
pub struct EventSource {
    pub event: Event,
    pub user: User,
    pub calendar: Calendar,
    /// The server's name of the version; may be empty.
    pub etag: String,
    /// The component as it came.
    pub text: String,
    /// The other components of the same uid: a series, and its changed occurrences.
    pub others: String,
}

impl Assistant {
    /// Adds an event to a user's own calendar, and plans it.
    pub async fn add_event(&self, user: &User, edit: &EventEdit, now: Timestamp) -> Result<Event, Error> {
        let (uid, component) = new_component(edit, now)?;
        let calendar = Calendar {
            id: CalendarId::new()?,
            user: user.id.clone(),
            name: OWN_CALENDAR.to_owned(),
            source: CalendarSource::Local,
            place: String::new(),
            etag: None,
            sync_token: None,
            read_at: None,
            refresh: None,
        };
        let calendar = self.put_calendar(&calendar).await?;
        self.write(user, &calendar, &component, "", now).await?;
        self.event_of_uid(&calendar, &uid).await
    }

    /// Returns the event of a uid in a calendar.
    pub async fn event_of_uid(&self, calendar: &Calendar, uid: &str) -> Result<Event, Error> {
        let found = self.versions(calendar).await?.into_iter().find(|version| version.name.0 == uid);
        let found = found.ok_or_else(|| Error::Unknown { what: "event", id: uid.to_owned() })?;
        self.event(&found.id).await
    }

    /// Changes an event and plans it anew. Its calendar has no server, or the server has the change.
    pub async fn edit_event(
        &self,
        source: &EventSource,
        edit: &EventEdit,
        now: Timestamp,
    ) -> Result<Event, Error> {
        source.check(edit)?;
        let text = calendar::edited(&source.text, edit, now) + &source.others;
        self.write(&source.user, &source.calendar, &text, &source.etag, now).await?;
        self.event(&source.event.id).await
    }

    /// Returns an event with its calendar and its text. Fails for an event that is imported without
    /// write access, because the next import would undo a change.
    pub async fn writable_event(&self, id: &EventId) -> Result<EventSource, Error> {
        let event = self.event(id).await?;
        let unknown = || Error::Unknown { what: "event", id: id.to_string() };
        let mut rows = events::source(&self.store, id.as_str()).await?.into_iter();
        let row = rows.next().ok_or_else(unknown)?;
        let others = rows.map(|row| row.source).collect();
        let calendars = self.calendars(&event.user).await?;
        let calendar = calendars.into_iter().find(|calendar| calendar.id.as_str() == row.calendar_id);
        let calendar = calendar.ok_or_else(unknown)?;
        let writable = calendar.refresh.as_ref().is_some_and(|refresh| refresh.writable);
        if calendar.source != CalendarSource::Local && !writable {
            let reason = format!("it is imported from {}; change it there", calendar.name);
            return Err(Error::Invalid { field: "event", reason });
        }
        let user = self.user(&event.user).await?;
        Ok(EventSource { event, user, calendar, etag: row.etag, text: row.source, others })
    }

    /// Takes the text of events of one uid into a calendar, and plans them. `etag` is the server's name of their version,
    /// empty where there is no server.
    pub async fn write(
        &self,
        user: &User,
        calendar: &Calendar,
        text: &str,
        etag: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let text = calendar::document(text);
        let mut parsed =
            calendar::parse(&text, &user.preferences.zone, horizon(now)).map_err(Error::Calendar)?;
        if let Some(issue) = parsed.issues.into_iter().find(|issue| issue.error.effect() == Effect::LeftOut) {
            return Err(Error::Calendar(issue.error));
        }
        for draft in &mut parsed.drafts {
            draft.etag = Some(etag.to_owned()).filter(|etag| !etag.is_empty());
        }
        self.upsert(calendar, parsed.drafts, now, NO_PROGRESS).await?;
        self.plan(&user.id, None, PlanScope::Unplanned, now).await.map(drop)
    }
}

impl EventSource {
    /// Checks whether a change can be made.
    ///
    /// # Errors
    /// Fails for a text that is too long or has several lines, and for another time of a series.
    pub fn check(&self, edit: &EventEdit) -> Result<(), Error> {
        check(edit)?;
        if edit.time.is_some() && self.event.details.recurrence.is_some() {
            let reason = "the event repeats; change its times in the program that it comes from";
            return Err(Error::Invalid { field: "start", reason: reason.to_owned() });
        }
        Ok(())
    }

    /// Returns whether the event is one time of a series, which has a resource together with the series.
    pub fn is_changed_occurrence(&self) -> bool {
        self.event.details.recurrence.is_none() && !self.others.is_empty()
    }

    /// Returns the changes as a server takes them, which may not know the zone of the user.
    pub fn for_server(&self, edit: &EventEdit) -> Result<EventEdit, Error> {
        self.check(edit)?;
        in_utc(edit)
    }
}

/// Makes the text of a new event, as a server takes it; returns its uid too.
pub fn new_for_server(edit: &EventEdit, now: Timestamp) -> Result<(String, String), Error> {
    new_component(&in_utc(edit)?, now)
}

fn in_utc(edit: &EventEdit) -> Result<EventEdit, Error> {
    let impossible = || Error::Invalid { field: "start", reason: "it is in no calendar".to_owned() };
    edit.in_utc().ok_or_else(impossible)
}

fn new_component(edit: &EventEdit, now: Timestamp) -> Result<(String, String), Error> {
    check(edit)?;
    for (field, is_missing) in [("title", edit.title.is_none()), ("start", edit.time.is_none())] {
        if is_missing {
            return Err(Error::Invalid { field, reason: "an event has one".to_owned() });
        }
    }
    let uid = format!("{}@adjutant", EventId::new()?);
    Ok((uid.clone(), calendar::created(&uid, edit, now)))
}

/// Reads the time to which an event is moved: a day keeps the event's time of day, and a time its day.
///
/// # Errors
/// Fails as [`plain_dates::parse_alone`] and [`Dated::event_time`] do.
pub fn moved_to(
    text: &str,
    zone: &Zone,
    event: &Event,
    now: Timestamp,
) -> Result<EventTime, plain_dates::Error> {
    let day = zone.civil(event.starts_at).date();
    let mut dated = plain_dates::parse_alone(text, &now.to_zoned(zone.rules().clone()), Some(day))?;
    if dated.all_day && dated.length.is_none() && !event.details.when.all_day {
        let start = dated.start.date().to_datetime(zone.civil(event.starts_at).time());
        let impossible = |_| plain_dates::Error::Impossible(text.to_owned());
        dated.start = start.to_zoned(zone.rules().clone()).map_err(impossible)?;
        dated.all_day = false;
    }
    dated.event_time(zone, Some(event))
}

impl Dated {
    /// Returns the time of an event. Without a length an event lasts as long as `before`, an hour, or the whole day.
    ///
    /// # Errors
    /// Fails for a day with a length of hours.
    pub fn event_time(&self, zone: &Zone, before: Option<&Event>) -> Result<EventTime, plain_dates::Error> {
        let before = before.filter(|event| event.details.when.all_day == self.all_day);
        let length = match (&self.length, before) {
            (Some(length), _) if self.all_day && plain_dates::is_exact(length) => {
                return Err(plain_dates::Error::NoTime);
            }
            (Some(length), _) => *length,
            (None, Some(event)) => {
                let seconds = event.ends_at.duration_since(event.starts_at).as_secs();
                if self.all_day { (seconds / 86_400).max(1).days() } else { seconds.max(60).seconds() }
            }
            (None, None) if self.all_day => 1.day(),
            (None, None) => 1.hour(),
        };
        let end =
            self.start.checked_add(length).map_err(|_| plain_dates::Error::Impossible(length.to_string()))?;
        let (start, end) = (self.start.timestamp(), end.timestamp());
        // The second of two times that the clocks show alike has no name in its zone.
        let is_named = |at| zone.rules().to_timestamp(zone.civil(at)).is_ok_and(|named| named == at);
        let zone = if self.all_day || is_named(start) && is_named(end) { zone.clone() } else { Zone::utc() };
        let (start, end) = (zone.civil(start), zone.civil(end));
        Ok(EventTime { start, end, all_day: self.all_day, zone })
    }
}

/// Checks what is written of an event.
///
/// # Errors
/// Fails for an empty title, for a text that is too long or has several lines, and for an end that is not after the start.
pub fn check(edit: &EventEdit) -> Result<(), Error> {
    for (field, text, limit) in [
        ("title", &edit.title, MAX_CHARS.0),
        ("location", &edit.location, MAX_CHARS.0),
        ("description", &edit.description, MAX_CHARS.1),
    ] {
        if text.as_ref().is_some_and(|text| text.chars().count() > limit) {
            return Err(Error::Invalid { field, reason: format!("it must have at most {limit} characters") });
        }
    }
    for (field, text) in [("title", &edit.title), ("location", &edit.location)] {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        if text.as_ref().is_some_and(|text| text.contains(breaks)) {
            return Err(Error::Invalid { field, reason: "it must be one line".to_owned() });
        }
    }
    if edit.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(Error::Invalid { field: "title", reason: "an event has one".to_owned() });
    }
    if edit.time.as_ref().is_some_and(|time| time.end <= time.start) {
        return Err(Error::Invalid { field: "end", reason: "it must be after the start".to_owned() });
    }
    Ok(())
}
