//! Operations on events: upsert from a calendar, cancel, and list by occurrence.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::calendar::{self, ParseIssue};
use super::event::{Draft, EventDetails, EventStatus};
use super::rows::{self, json, millis, occurrence_row, recurrence_id};
use super::users::audit;
use super::{Assistant, Calendar, Error, Event, EventId, Occurrence, UserId};
use adjutant_base::events::Event as HubEvent;
use adjutant_base::text::hex;
use adjutant_store::assistant::events::{self, Changed, EventChange, EventOccurrenceRow, EventRow, Window};

/// Events in one transaction.
const BATCH_SIZE: usize = 1024;

/// The age of an event that is listed as running.
const MAX_RUNNING: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Called with the number of events that are done, and of all.
pub type ProgressFn<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Reports no progress.
pub const NO_PROGRESS: &ProgressFn<'static> = &|_, _| {};

/// The span of the occurrences that are asked for: those that start from `from` to before `until`.
#[derive(Clone, Debug)]
pub struct Span {
    pub user: Option<UserId>,
    pub from: Timestamp,
    pub until: Timestamp,
}

/// An event and one time that it happens.
#[derive(Clone, Debug, PartialEq)]
pub struct EventOccurrence {
    pub event: Event,
    pub occurrence: Occurrence,
}

/// The result of an upsert of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpsertReport {
    pub added: u64,
    pub updated: u64,
    pub same: u64,
    /// Notifications that were withdrawn because their event changed.
    pub withdrawn: u64,
}

/// The version of an event that a calendar has.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    pub id: EventId,
    /// As [`Draft::name`].
    pub name: (String, String),
    /// As [`Event::digest`].
    digest: String,
    /// The server's name of the version; empty where there is none.
    pub etag: String,
}

impl Assistant {
    /// Returns an event.
    pub async fn event(&self, id: &EventId) -> Result<Event, Error> {
        let row = events::get(&self.store, id.as_str()).await?;
        rows::event(row.ok_or_else(|| Error::Unknown { what: "event", id: id.to_string() })?)
    }

    /// Returns at most `limit` of what happens in a span, by start, and whether there is more.
    pub async fn event_occurrences(
        &self,
        span: &Span,
        limit: u32,
    ) -> Result<(Vec<EventOccurrence>, bool), Error> {
        let window = Window {
            user: span.user.as_ref().map(|user| user.as_str().to_owned()),
            from: millis(span.from),
            until: millis(span.until),
            limit: limit.saturating_add(1),
        };
        let mut found = events::window(&self.store, &window).await?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        Ok((found.into_iter().map(event_occurrence).collect::<Result<_, _>>()?, more))
    }

    /// Returns at most `limit` of what a user has at an instant and that started before it, at most a year before, by start.
    pub async fn running(
        &self,
        user: &UserId,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<EventOccurrence>, Error> {
        let from = at.saturating_sub(MAX_RUNNING).unwrap_or(at);
        let found = events::running(&self.store, user.as_str(), millis(from), millis(at), limit).await?;
        found.into_iter().map(event_occurrence).collect()
    }

    /// Returns at most `limit` events of a user by their first start, after the event `after`, each with its component: a
    /// series once, and its changed occurrences as events. Events that were removed from their calendar are left out.
    pub(super) async fn sources_of(
        &self,
        user: &UserId,
        after: Option<&Event>,
        limit: u32,
    ) -> Result<Vec<(Event, String)>, Error> {
        let found = events::sources(&self.store, user.as_str(), &page_key(after), limit).await?;
        found.into_iter().map(|(row, source)| Ok((rows::event(row)?, source))).collect()
    }

    /// Returns the events that a calendar has, without those that were removed from it.
    pub async fn versions(&self, calendar: &Calendar) -> Result<Vec<Version>, Error> {
        let found = events::versions(&self.store, calendar.id.as_str()).await?;
        let version = |row: events::VersionRow| Version {
            id: EventId::from_row(row.id),
            name: (row.uid, row.recurrence_id),
            digest: row.digest,
            etag: row.etag,
        };
        Ok(found.into_iter().map(version).collect())
    }

    /// Removes the drafts that are older than what the calendar has (RFC 5546 2.1.5), and returns an issue for each.
    pub(super) async fn take_stale(
        &self,
        calendar: &Calendar,
        drafts: &mut Vec<Draft>,
    ) -> Result<Vec<ParseIssue>, Error> {
        let had = self.versions(calendar).await?.into_iter();
        let had: HashMap<_, _> = had.map(|version| (version.name.clone(), version)).collect();
        let (mut issues, mut kept) = (Vec::new(), Vec::with_capacity(drafts.len()));
        for draft in drafts.drain(..) {
            let changed = |old: &&Version| old.digest != Content::of(&draft).digest;
            let known = match had.get(&draft.name()).filter(changed) {
                Some(old) => events::source(&self.store, old.id.as_str()).await?.into_iter().next(),
                None => None,
            };
            let version = calendar::Version::of;
            if known.is_some_and(|known| version(&draft.source).is_older(version(&known.source))) {
                let (line, uid, error) = (draft.line, Some(draft.uid), calendar::Error::Stale);
                issues.push(ParseIssue { line, uid, error });
            } else {
                kept.push(draft);
            }
        }
        *drafts = kept;
        Ok(issues)
    }

    /// Takes events into a calendar. The same uid (and replaced start) is the same event: one that is as it was
    /// changes nothing; the notifications of a changed event are withdrawn and planned anew in the same transaction.
    /// `progress` gets how many of all events are done.
    pub async fn upsert(
        &self,
        calendar: &Calendar,
        mut drafts: Vec<Draft>,
        now: Timestamp,
        progress: &ProgressFn<'_>,
    ) -> Result<UpsertReport, Error> {
        drafts.iter_mut().for_each(add_single_occurrence);
        let mut report = UpsertReport::default();
        let had = self.versions(calendar).await?.into_iter();
        let had: HashMap<_, _> = had.map(|version| (version.name.clone(), version)).collect();
        let mut ids = EventId::ascending()?;
        for (number, batch) in drafts.chunks(BATCH_SIZE).enumerate() {
            progress(number * BATCH_SIZE, drafts.len());
            let mut changes = Vec::with_capacity(batch.len());
            for (draft, id) in batch.iter().zip(ids.by_ref()) {
                let old = had.get(&draft.name());
                let content = Content::of(draft);
                let etag = draft.etag.as_deref().unwrap_or_default();
                let same = old.is_some_and(|old| old.digest == content.digest && old.etag == etag);
                // A series may have new occurrences; of any other event there is nothing to write.
                if same && draft.details.recurrence.is_none() {
                    report.same += 1;
                } else {
                    changes.push(self.change(calendar, draft, content, old, id, now).await?);
                }
            }
            for changed in events::put(&self.store, changes).await? {
                match changed {
                    Changed::Added => report.added += 1,
                    Changed::Same => report.same += 1,
                    Changed::Updated { withdrawn } => {
                        report.updated += 1;
                        report.withdrawn += withdrawn;
                    }
                }
            }
        }
        if report.added + report.updated > 0 {
            self.events.send(HubEvent::CalendarChanged);
            // Their notifications are planned anew, and may be due before the next wake-up.
            self.wake.notify_one();
        }
        Ok(report)
    }

    async fn change(
        &self,
        calendar: &Calendar,
        draft: &Draft,
        content: Content,
        old: Option<&Version>,
        new_id: EventId,
        now: Timestamp,
    ) -> Result<EventChange, Error> {
        let id = old.map_or(new_id, |old| old.id.clone());
        let event = EventRow {
            id: id.as_str().to_owned(),
            user_id: calendar.user.as_str().to_owned(),
            calendar_id: calendar.id.as_str().to_owned(),
            uid: draft.uid.clone(),
            recurrence_id: recurrence_id(draft.replaces),
            title: draft.title.clone(),
            status: draft.status.name().to_owned(),
            starts_at: millis(draft.starts_at),
            ends_at: millis(draft.ends_at),
            recurs: draft.details.recurrence.is_some().into(),
            details: content.details,
            digest: content.digest,
            etag: draft.etag.clone(),
            updated_at: millis(now),
        };
        let occurrences =
            draft.occurrences.iter().map(|one| occurrence_row(one, &id, &calendar.user)).collect();
        let (fresh, mut planned_from, mut plans) = (old.is_none(), String::new(), Vec::new());
        if let Some(old) = old.filter(|old| old.digest != event.digest) {
            let changed = Event {
                id,
                user: calendar.user.clone(),
                uid: draft.uid.clone(),
                title: draft.title.clone(),
                status: draft.status,
                details: draft.details.clone(),
                starts_at: draft.starts_at,
                ends_at: draft.ends_at,
                digest: event.digest.clone(),
            };
            // Boxed, because few events of an import have changed, and all would have the size of this future.
            plans = Box::pin(self.replan(&changed, &draft.occurrences, now)).await?;
            planned_from.clone_from(&old.digest);
        }
        Ok(EventChange { event, fresh, source: draft.source.clone(), occurrences, planned_from, plans })
    }

    /// Cancels events that were removed from their calendar, with their planned notifications; returns how many
    /// notifications were withdrawn.
    pub async fn cancel_events(&self, ids: &[EventId], actor: &str, now: Timestamp) -> Result<u64, Error> {
        let line =
            |id: &EventId| Ok((id.as_str().to_owned(), audit(actor, "cancel event", id.as_str(), "", now)?));
        let lines = ids.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
        let withdrawn = events::remove(&self.store, lines, millis(now)).await?;
        self.events.send(HubEvent::CalendarChanged);
        Ok(withdrawn)
    }

    /// Returns at most `limit` series by id, after `after`, with occurrences that continue with the horizon.
    pub async fn series(&self, after: Option<&EventId>, limit: u32) -> Result<Vec<Event>, Error> {
        let found = events::series(&self.store, after.map_or("", EventId::as_str), limit).await?;
        found.into_iter().map(rows::event).collect()
    }

    /// Adds occurrences of a series, as the horizon moves on.
    pub(crate) async fn add_occurrences(&self, event: &Event, more: &[Occurrence]) -> Result<(), Error> {
        let rows = more.iter().map(|one| occurrence_row(one, &event.id, &event.user)).collect();
        Ok(events::add_occurrences(&self.store, rows).await?)
    }

    /// Returns one time that an event happens.
    pub async fn event_occurrence(&self, event: Event, key: &str) -> Result<Option<EventOccurrence>, Error> {
        let found = events::occurrence(&self.store, event.id.as_str(), key).await?;
        Ok(found.map(|row| EventOccurrence { event, occurrence: rows::occurrence(row) }))
    }

    /// Returns when an event happens from `from` on, at most `limit` times.
    pub async fn occurrences(
        &self,
        event: &EventId,
        from: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<Occurrence>, Error> {
        let found =
            events::occurrences(&self.store, event.as_str(), millis(from), millis(until), limit).await?;
        Ok(found.into_iter().map(rows::occurrence).collect())
    }
}

/// Returns the key after which the next page of events begins.
fn page_key(event: Option<&Event>) -> (i64, String) {
    event.map_or((i64::MIN, String::new()), |event| (millis(event.starts_at), event.id.as_str().to_owned()))
}

/// The content of an event as it is stored.
struct Content {
    /// [`EventDetails`] as JSON.
    details: String,
    /// Of all that a plan depends on, without the notes of the import.
    digest: String,
}

impl Content {
    fn of(draft: &Draft) -> Self {
        let details = json(&draft.details);
        let without_notes = (!draft.details.notes.is_empty())
            .then(|| json(&EventDetails { notes: Vec::new(), ..draft.details.clone() }));
        let hashed = without_notes.as_ref().unwrap_or(&details);
        // The JSON of all three; writing the details is most of the work, and is done once.
        let text = format!("[{},{},{hashed}]", json(&draft.title), json(&draft.status));
        Self { digest: hex::sha256(text), details }
    }
}

/// Adds the only occurrence of a single event, however far from now it is, so that no later extension has to.
fn add_single_occurrence(draft: &mut Draft) {
    let single = draft.details.recurrence.is_none() && draft.status != EventStatus::Cancelled;
    if single && draft.occurrences.is_empty() {
        let start = draft.replaces.unwrap_or(draft.details.when.start);
        draft.occurrences.push(Occurrence {
            key: start.to_string(),
            starts_at: draft.starts_at,
            ends_at: draft.ends_at,
            adjusted: false,
        });
    }
}

fn event_occurrence(row: EventOccurrenceRow) -> Result<EventOccurrence, Error> {
    Ok(EventOccurrence { event: rows::event(row.event)?, occurrence: rows::occurrence(row.occurrence) })
}
