//! Import of calendars from text.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::calendar::{self, Effect, Horizon, ParseIssue};
use super::event::{CalendarSource, Event, EventStatus, Occurrence};
use super::events::{NO_PROGRESS, ProgressFn, UpsertReport};
use super::ids::CalendarId;
use super::plans::PlanScope;
use super::{Assistant, Calendar, Draft, Error, EventId, User, UserId};
use adjutant_store::assistant::events;

/// How far back and ahead the occurrences of a series are kept; `listEvents` looks 30 days back and 90 ahead.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(31 * 24);
const LOOK_AHEAD: SignedDuration = SignedDuration::from_hours(120 * 24);
/// How far ahead occurrences are added on request: two years.
const MAX_LOOK_AHEAD: SignedDuration = SignedDuration::from_hours(731 * 24);

/// Where a calendar's text comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    pub user: UserId,
    pub source: CalendarSource,
    /// The same place is the same calendar. The user's own calendar has none: an import adds to its events.
    pub place: String,
    pub name: String,
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    pub calendar: Calendar,
    pub upserted: UpsertReport,
    /// Events that were removed from the calendar.
    pub removed: u64,
    /// Components that were not imported as they are written, by line.
    pub issues: Vec<ParseIssue>,
}

/// The result of the removal of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedCalendar {
    /// Events that were in it.
    pub removed: u64,
    /// Notifications that were withdrawn with them.
    pub withdrawn: u64,
}

impl Assistant {
    /// Imports a calendar's text, plans its events by the policy, and reports repeatedly how many of all events are done.
    /// Reading the same text again changes nothing; an event that is missing from it is cancelled, unless something in it
    /// could not be read.
    pub async fn import(
        &self,
        origin: &Origin,
        text: String,
        actor: &str,
        now: Timestamp,
        progress: &ProgressFn<'_>,
    ) -> Result<Imported, Error> {
        let user = self.user(&origin.user).await?;
        let zone = user.preferences.zone.clone();
        let horizon = horizon(now);
        let parsed = tokio::task::spawn_blocking(move || calendar::parse(&text, &zone, horizon)).await;
        // A reader that panicked read nothing.
        let parsed =
            parsed.map_err(|_| Error::Calendar(calendar::Error::Unreadable))?.map_err(Error::Calendar)?;
        let calendar = Calendar {
            id: CalendarId::new()?,
            user: origin.user.clone(),
            name: origin.name.clone(),
            source: origin.source,
            place: origin.place.clone(),
            etag: None,
            sync_token: None,
            read_at: Some(now),
            refresh: None,
        };
        let calendar = self.put_calendar(&calendar).await?;
        // A calendar on a server is what the server has; a text may be an old message (RFC 5546 2.1.5).
        let is_text = matches!(origin.source, CalendarSource::File | CalendarSource::Local);
        let (mut drafts, mut issues) = (parsed.drafts, parsed.issues);
        let present: HashSet<_> = drafts.iter().map(Draft::name).collect();
        if is_text {
            issues.extend(self.take_stale(&calendar, &mut drafts).await?);
        }
        let unreadable = UnreadableEvents::of(&issues);
        let before = self.versions(&calendar).await?.into_iter();
        let missing =
            before.filter(|one| !present.contains(&one.name) && !unreadable.may_contain(&one.name.0));
        // The user's own calendar has no file that would be the whole of it.
        let missing: Vec<EventId> = missing.filter(|_| !origin.place.is_empty()).map(|one| one.id).collect();
        let mut upserted = self.upsert(&calendar, drafts, now, progress).await?;
        if !missing.is_empty() {
            self.cancel_events(&missing, actor, now).await?;
        }
        // A calendar on a server must not cancel events in other calendars of the user.
        for cancel in parsed.cancels.iter().filter(|_| is_text) {
            let (UpsertReport { updated, withdrawn, .. }, ignored) =
                self.cancel_by_message(&user, cancel, now).await?;
            upserted.updated += updated;
            upserted.withdrawn += withdrawn;
            let issue = |error| ParseIssue { line: cancel.line, uid: Some(cancel.uid.clone()), error };
            issues.extend(ignored.map(issue));
        }
        if upserted.added + upserted.updated > 0 {
            self.plan(&origin.user, None, PlanScope::Unplanned, now).await?;
        }
        Ok(Imported { calendar, upserted, removed: missing.len() as u64, issues })
    }

    /// Cancels what a message cancels (RFC 5546 3.2.5) in each calendar of a user that has it, unless the event was changed
    /// since the message. Returns why the message was ignored, if no calendar took it.
    async fn cancel_by_message(
        &self,
        user: &User,
        cancel: &Draft,
        now: Timestamp,
    ) -> Result<(UpsertReport, Option<calendar::Error>), Error> {
        let (mut report, mut ignored) = (UpsertReport::default(), Some(calendar::Error::CancelsNothing));
        let message = calendar::document(&cancel.source);
        let message = message.replacen("VERSION", "METHOD:CANCEL\r\nVERSION", 1);
        for calendar in self.calendars(&user.id).await? {
            let mut known = self.versions(&calendar).await?;
            known.retain(|one| one.name.0 == cancel.uid);
            let Some(first) = known.first() else { continue };
            let rows = events::source(&self.store, first.id.as_str()).await?;
            let sources: Vec<_> = rows.into_iter().map(|row| row.source).collect();
            let text = calendar::document(&sources.concat()) + &message;
            let parsed =
                calendar::parse(&text, &user.preferences.zone, horizon(now)).map_err(Error::Calendar)?;
            let (mut drafts, mut cancels) = (parsed.drafts, parsed.cancels);
            ignored = ignored.and(cancels.is_empty().then_some(calendar::Error::Stale));
            if cancels.iter().any(|one| one.replaces.is_none()) {
                cancels.append(&mut drafts);
            }
            for draft in &mut cancels {
                draft.status = EventStatus::Cancelled;
                draft.occurrences.clear();
                draft.source = calendar::cancelled(&draft.source);
            }
            drafts.append(&mut cancels);
            for draft in &mut drafts {
                // The server still has the version that was read, which is not to be read again.
                let version = known.iter().find(|one| one.name == draft.name()).unwrap_or(first);
                draft.etag = Some(version.etag.clone()).filter(|etag| !etag.is_empty());
            }
            let UpsertReport { added, updated, withdrawn, .. } =
                self.upsert(&calendar, drafts, now, NO_PROGRESS).await?;
            report.updated += added + updated;
            report.withdrawn += withdrawn;
        }
        Ok((report, ignored))
    }

    /// Cancels all events of a calendar that was removed or is not wanted. It may be imported again.
    pub async fn remove_calendar(
        &self,
        calendar: &Calendar,
        actor: &str,
        now: Timestamp,
    ) -> Result<RemovedCalendar, Error> {
        self.set_refresh(calendar, None).await?;
        // The last version is forgotten, so that a server is not asked for changes since then.
        let forgotten = Calendar { etag: None, sync_token: None, read_at: None, ..calendar.clone() };
        self.put_calendar(&forgotten).await?;
        let missing: Vec<EventId> = self.versions(calendar).await?.into_iter().map(|one| one.id).collect();
        let withdrawn = if missing.is_empty() { 0 } else { self.cancel_events(&missing, actor, now).await? };
        Ok(RemovedCalendar { removed: missing.len() as u64, withdrawn })
    }

    /// Adds the occurrences of a series within the horizon of `now`, which moves with time, and returns their number.
    pub async fn extend(&self, event: &Event, now: Timestamp) -> Result<usize, Error> {
        self.extend_in(event, horizon(now)).await
    }

    /// Adds the occurrences of the series of a user, or of all users, up to `until`, two years from now at most.
    /// Returns the days for which the series are known then; `None` if there are no series.
    pub async fn follow_series(
        &self,
        user: Option<&UserId>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Horizon>, Error> {
        let known = horizon(now);
        let last = now.saturating_add(MAX_LOOK_AHEAD).unwrap_or(Timestamp::MAX);
        let wanted = Horizon { to: until.min(last).max(known.to), ..known };
        let (mut after, mut followed) = (None, None);
        loop {
            let series = self.series(after.as_ref(), 200).await?;
            let Some(newest) = series.last() else { return Ok(followed) };
            after = Some(newest.id.clone());
            for event in series.iter().filter(|event| user.is_none_or(|user| event.user == *user)) {
                followed = Some(wanted);
                if wanted.to > known.to {
                    self.extend_in(event, wanted).await?;
                }
            }
        }
    }

    async fn extend_in(&self, event: &Event, horizon: Horizon) -> Result<usize, Error> {
        let user = self.user(&event.user).await?;
        let (details, zone) = (event.details.clone(), user.preferences.zone);
        let found: Result<Vec<Occurrence>, _> = tokio::task::spawn_blocking(move || {
            let mut budget = calendar::Budget::default();
            let recurrence = details.recurrence.as_ref();
            calendar::occurrences(&details.when, recurrence, &zone, horizon, &mut budget)
        })
        .await
        .unwrap_or(Err(calendar::Error::Unreadable));
        let found = found.map_err(Error::Calendar)?;
        self.add_occurrences(event, &found).await?;
        Ok(found.len())
    }
}

/// The events that a calendar has but that could not be read, or only in an older version: they stay as they were.
#[derive(Debug)]
pub struct UnreadableEvents<'a> {
    uids: HashSet<&'a str>,
    /// The names of some could not be read either, so that each may be any event.
    nameless: bool,
}

impl<'a> UnreadableEvents<'a> {
    /// Collects the events that could not be read from the issues of a calendar file.
    pub fn of(issues: impl IntoIterator<Item = &'a ParseIssue>) -> Self {
        let mut unreadable = Self { uids: HashSet::new(), nameless: false };
        let stays =
            |error: &calendar::Error| error.effect() == Effect::LeftOut || *error == calendar::Error::Stale;
        for issue in issues.into_iter().filter(|issue| stays(&issue.error)) {
            match &issue.uid {
                Some(uid) => _ = unreadable.uids.insert(uid),
                None => unreadable.nameless = true,
            }
        }
        unreadable
    }

    /// Returns whether an event of this uid may be among them.
    pub fn may_contain(&self, uid: &str) -> bool {
        self.nameless || self.uids.contains(uid)
    }
}

/// The days that occurrences are kept for.
pub fn horizon(now: Timestamp) -> Horizon {
    Horizon {
        from: now.saturating_sub(LOOK_BACK).unwrap_or(Timestamp::MIN),
        to: now.saturating_add(LOOK_AHEAD).unwrap_or(Timestamp::MAX),
    }
}
