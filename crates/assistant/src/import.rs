//! Import of calendars from text.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::calendar::{self, Effect, Horizon, ParseIssue};
use super::event::{CalendarSource, Event, Occurrence};
use super::events::{ProgressFn, UpsertReport};
use super::ids::CalendarId;
use super::plans::PlanScope;
use super::{Assistant, Calendar, Draft, Error, EventId, UserId};

/// How far back and ahead the occurrences of a series are kept; `listEvents` looks 30 days back and 90 ahead.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(31 * 24);
const LOOK_AHEAD: SignedDuration = SignedDuration::from_hours(120 * 24);

/// Where a calendar's text comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    pub user: UserId,
    pub source: CalendarSource,
    /// The same place is the same calendar. The user's own calendar has none: its events are added to.
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
        let zone = self.user(&origin.user).await?.preferences.zone;
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
        let drafts = parsed.drafts;
        let present: HashSet<_> = drafts.iter().map(Draft::name).collect();
        let unreadable = UnreadableEvents::of(&parsed.issues);
        let before = self.versions(&calendar).await?.into_iter();
        let missing =
            before.filter(|one| !present.contains(&one.name) && !unreadable.may_contain(&one.name.0));
        // The user's own calendar has no file that would be the whole of it.
        let missing: Vec<EventId> = missing.filter(|_| !origin.place.is_empty()).map(|one| one.id).collect();
        let upserted = self.upsert(&calendar, drafts, now, progress).await?;
        if !missing.is_empty() {
            self.cancel_events(&missing, actor, now).await?;
        }
        if upserted.added + upserted.updated > 0 {
            self.plan(&origin.user, None, PlanScope::Unplanned, now).await?;
        }
        Ok(Imported { calendar, upserted, removed: missing.len() as u64, issues: parsed.issues })
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
        self.put_calendar(&Calendar { etag: None, sync_token: None, ..calendar.clone() }).await?;
        let missing: Vec<EventId> = self.versions(calendar).await?.into_iter().map(|one| one.id).collect();
        let withdrawn = if missing.is_empty() { 0 } else { self.cancel_events(&missing, actor, now).await? };
        Ok(RemovedCalendar { removed: missing.len() as u64, withdrawn })
    }

    /// Adds when a series happens from now on, and says how often that is; the horizon moves with time.
    pub async fn extend(&self, event: &Event, now: Timestamp) -> Result<usize, Error> {
        let user = self.user(&event.user).await?;
        let (details, zone) = (event.details.clone(), user.preferences.zone);
        let found: Result<Vec<Occurrence>, _> = tokio::task::spawn_blocking(move || {
            let mut budget = calendar::Budget::default();
            let recurrence = details.recurrence.as_ref();
            calendar::occurrences(&details.when, recurrence, &zone, horizon(now), &mut budget)
        })
        .await
        .unwrap_or(Err(calendar::Error::Unreadable));
        let found = found.map_err(Error::Calendar)?;
        self.add_occurrences(event, &found).await?;
        Ok(found.len())
    }
}

/// The events that a calendar has but that could not be read: they stay as they were.
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
        for issue in issues.into_iter().filter(|issue| issue.error.effect() == Effect::LeftOut) {
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
