//! Events that a user or a client writes: added to the user's own calendar, changed, cancelled.

use jiff::{Timestamp, ToSpan as _};

use super::calendar::{self, Change, Effect, EventEdit, EventTime, Horizon, SeriesTime};
use super::event::{CalendarSource, EventStatus};
use super::events::NO_PROGRESS;
use super::ids::CalendarId;
use super::import::{Origin, horizon};
use super::plain_dates::{self, Dated};
use super::plans::PlanScope;
use super::{Assistant, Calendar, Error, Event, EventId, User, UserId, Zone};
use adjutant_base::text::hex;
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
        let uid = random_uid()?;
        let component = new_component(&uid, edit, now)?;
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
        self.event_of_name(calendar, uid, None).await
    }

    /// Returns the event of a uid in a calendar: the changed one if `time` is a time of a series that is changed alone.
    async fn event_of_name(
        &self,
        calendar: &Calendar,
        uid: &str,
        time: Option<SeriesTime>,
    ) -> Result<Event, Error> {
        let time = time.map(|time| time.civil.to_string());
        let is_named = |(found, start): &(String, String)| {
            found == uid && time.as_ref().is_none_or(|time| time == start)
        };
        let found = self.versions(calendar).await?.into_iter().find(|version| is_named(&version.name));
        let found = found.ok_or_else(|| Error::Unknown { what: "event", id: uid.to_owned() })?;
        self.event(&found.id).await
    }

    /// Changes an event and plans it anew; returns how many notifications were withdrawn. Its calendar has no server, or the
    /// server has the change.
    pub async fn change_event(
        &self,
        source: &EventSource,
        change: &Change,
        now: Timestamp,
    ) -> Result<u64, Error> {
        source.check(change)?;
        let text = change.apply(&source.text, now) + &source.others;
        self.write(&source.user, &source.calendar, &text, &source.etag, now).await
    }

    /// Returns the event that a change was made in: the series, or the one time of it.
    pub async fn changed_event(&self, source: &EventSource, change: &Change) -> Result<Event, Error> {
        match change {
            Change::EditTime(time, _) => {
                self.event_of_name(&source.calendar, &source.event.uid, Some(*time)).await
            }
            Change::Edit(_) | Change::Cancel | Change::CancelTime(_) => self.event(&source.event.id).await,
        }
    }

    /// Returns an event with its calendar and its text. Fails for an event that is imported without
    /// write access, because the next import would undo a change.
    pub async fn writable_event(&self, id: &EventId) -> Result<EventSource, Error> {
        let event = self.event(id).await?;
        let unknown = || match event.status {
            EventStatus::Cancelled => {
                Error::Invalid { field: "event", reason: "it was cancelled".to_owned() }
            }
            EventStatus::Confirmed | EventStatus::Tentative => {
                Error::Unknown { what: "event", id: id.to_string() }
            }
        };
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

    /// Takes the text of events of one uid into a calendar, and plans them; returns how many notifications were withdrawn.
    /// `etag` is the server's name of their version, empty where there is no server.
    pub async fn write(
        &self,
        user: &User,
        calendar: &Calendar,
        text: &str,
        etag: &str,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let text = calendar::document(text);
        let mut parsed =
            calendar::parse(&text, &user.preferences.zone, horizon(now)).map_err(Error::Calendar)?;
        if let Some(issue) = parsed.issues.into_iter().find(|issue| issue.error.effect() == Effect::LeftOut) {
            return Err(Error::Calendar(issue.error));
        }
        for draft in &mut parsed.drafts {
            draft.etag = Some(etag.to_owned()).filter(|etag| !etag.is_empty());
        }
        let upserted = self.upsert(calendar, parsed.drafts, now, NO_PROGRESS).await?;
        self.plan(&user.id, None, PlanScope::Unplanned, now).await?;
        Ok(upserted.withdrawn)
    }
}

impl EventSource {
    /// Checks whether a change can be made.
    ///
    /// # Errors
    /// Fails for a text that is too long or has several lines, and for another time of a whole series.
    pub fn check(&self, change: &Change) -> Result<(), Error> {
        let (Change::Edit(edit) | Change::EditTime(_, edit)) = change else { return Ok(()) };
        check(edit)?;
        let is_whole = matches!(change, Change::Edit(_)) && self.event.details.recurrence.is_some();
        if edit.time.is_some() && is_whole {
            let reason = "the event repeats; `adjutant events edit ID --on DATE` changes one time of it";
            return Err(Error::Invalid { field: "start", reason: reason.to_owned() });
        }
        Ok(())
    }

    /// Returns the time of a series that a text names by its day, or by its day and time; and the event at that time.
    ///
    /// # Errors
    /// Fails for an event that does not repeat, and where it happens never or several times.
    pub fn time_on(&self, text: &str, now: Timestamp) -> Result<(SeriesTime, Event), Error> {
        let invalid = |reason: &str| Error::Invalid { field: "on", reason: reason.to_owned() };
        let when = &self.event.details.when;
        let recurrence = self.event.details.recurrence.as_ref();
        let recurrence = recurrence.ok_or_else(|| invalid("the event does not repeat"))?;
        let zone = &self.user.preferences.zone;
        let named = plain_dates::parse_alone(text, &now.to_zoned(zone.rules().clone()), None)?;
        let length = if named.all_day { 1.day() } else { 1.minute() };
        let to = named.start.checked_add(length).map_err(|_| invalid("it is in no calendar"))?;
        let horizon = Horizon { from: named.start.timestamp(), to: to.timestamp() };
        let mut budget = calendar::Budget::default();
        let found = calendar::occurrences(when, Some(recurrence), zone, horizon, &mut budget);
        let mut found =
            found.map_err(Error::Calendar)?.into_iter().filter(|one| one.starts_at >= horizon.from);
        let place = when.zone.as_ref().unwrap_or(zone);
        let is_replaced = || {
            let mut starts =
                recurrence.replaced.iter().filter_map(|start| place.rules().to_timestamp(*start).ok());
            starts.any(|at| horizon.from <= at && at < horizon.to)
        };
        let one = found.next().ok_or_else(|| {
            invalid(if is_replaced() {
                "this time was changed before and has a separate id, which `adjutant events list` shows"
            } else {
                "the event does not happen then"
            })
        })?;
        if found.next().is_some() {
            return Err(invalid("the event happens several times then; add the time of day"));
        }
        // The second of two times that the clocks show alike has no name in its zone.
        let civil = one.key.parse().map_err(|_| invalid("this time cannot be changed alone"))?;
        let event = Event { starts_at: one.starts_at, ends_at: one.ends_at, ..self.event.clone() };
        Ok((SeriesTime { civil, at: one.starts_at }, event))
    }

    /// Returns whether the event is one time of a series, which has a resource together with the series.
    pub fn is_changed_occurrence(&self) -> bool {
        self.event.details.recurrence.is_none() && !self.others.is_empty()
    }

    /// Returns a change as a server takes it, which may not know the zone of the user.
    pub fn for_server(&self, change: &Change) -> Result<Change, Error> {
        self.check(change)?;
        Ok(match change {
            Change::Edit(edit) => Change::Edit(in_utc(edit)?),
            Change::EditTime(time, edit) => Change::EditTime(*time, in_utc(edit)?),
            Change::Cancel | Change::CancelTime(_) => change.clone(),
        })
    }
}

/// Makes the text of a new event, as a server takes it.
pub fn new_for_server(uid: &str, edit: &EventEdit, now: Timestamp) -> Result<String, Error> {
    new_component(uid, &in_utc(edit)?, now)
}

/// Returns the uid of a new event of a calendar on a server. The same event gets the same one, so that it is added once
/// where a first try reached the server without an answer.
pub fn content_uid(calendar: &Calendar, edit: &EventEdit) -> String {
    let digest = hex::sha256(format!("{} {edit:?}", calendar.id.as_str()));
    format!("{}@adjutant", &digest[..32])
}

/// Returns a random uid.
pub fn random_uid() -> Result<String, Error> {
    Ok(format!("{}@adjutant", EventId::new()?))
}

fn in_utc(edit: &EventEdit) -> Result<EventEdit, Error> {
    let impossible = || Error::Invalid { field: "start", reason: "it is in no calendar".to_owned() };
    edit.in_utc().ok_or_else(impossible)
}

fn new_component(uid: &str, edit: &EventEdit, now: Timestamp) -> Result<String, Error> {
    check(edit)?;
    for (field, is_missing) in [("title", edit.title.is_none()), ("start", edit.time.is_none())] {
        if is_missing {
            return Err(Error::Invalid { field, reason: "it is required".to_owned() });
        }
    }
    Ok(calendar::created(uid, edit, now))
}

/// Reads the time to which an event is moved: a day keeps the event's time of day, a time its day, and a length its start.
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
    let mut dated = match plain_dates::parse_length(text) {
        Some(length) => Dated {
            start: event.starts_at.to_zoned(zone.rules().clone()),
            all_day: event.details.when.all_day,
            length: Some(length),
            rest: String::new(),
        },
        None => plain_dates::parse_alone(text, &now.to_zoned(zone.rules().clone()), Some(day))?,
    };
    if dated.all_day && dated.length.is_none() && !event.details.when.all_day {
        let start = dated.start.date().to_datetime(zone.civil(event.starts_at).time());
        let impossible = |_| plain_dates::Error::Impossible(text.to_owned());
        dated.start = start.to_zoned(zone.rules().clone()).map_err(impossible)?;
        dated.all_day = false;
    }
    dated.event_time(zone, Some(event))
}

/// Returns the time of an event as it is.
///
/// # Errors
/// Fails for a time at the end of all calendars.
pub fn time_of(event: &Event, zone: &Zone) -> Result<EventTime, plain_dates::Error> {
    let start = event.starts_at.to_zoned(zone.rules().clone());
    let all_day = event.details.when.all_day;
    Dated { start, all_day, length: None, rest: String::new() }.event_time(zone, Some(event))
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

/// Checks the texts and the time of a change or of a new event.
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
        return Err(Error::Invalid { field: "title", reason: "it is required".to_owned() });
    }
    if edit.time.as_ref().is_some_and(|time| time.end <= time.start) {
        return Err(Error::Invalid { field: "end", reason: "it must be after the start".to_owned() });
    }
    Ok(())
}
