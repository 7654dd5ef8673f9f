//! Export of a user's calendar, and the secret address under which calendar programs read it.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::calendar::{self, CalendarDocument, Entry, Reminder};
use super::ids;
use super::notification::{Notification, Offset};
use super::rows::{self, instant, millis};
use super::users::audit;
use super::{Assistant, Error, Event, UserId};
use adjutant_base::text::hex;
use adjutant_store::assistant::feeds::{self, NewFeed};
use adjutant_store::assistant::notifications;

/// Events of one reading.
const PAGE_SIZE: u32 = 1000;
/// Reminders of one calendar.
const MAX_REMINDERS: u32 = 100_000;
/// The largest calendar, in bytes of its events.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Letters of a secret: 160 bits.
const SECRET_LEN: usize = 32;

impl Assistant {
    /// Returns the calendar of a user as iCalendar text, with the planned notifications as reminders, so that any calendar
    /// program reminds of them while no hub runs.
    pub async fn export(&self, user: &UserId, now: Timestamp) -> Result<String, Error> {
        let user = self.user(user).await?;
        let mut coming: HashMap<String, Vec<(Notification, Timestamp)>> = HashMap::new();
        for (row, start) in
            notifications::upcoming(&self.store, user.id.as_str(), millis(now), MAX_REMINDERS).await?
        {
            let planned = (rows::notification(row)?, instant(start));
            coming.entry(planned.0.event.as_str().to_owned()).or_default().push(planned);
        }
        let mut events: Vec<(Event, String)> = Vec::new();
        let mut bytes = 0;
        loop {
            let page = self.sources_of(&user.id, events.last().map(|(event, _)| event), PAGE_SIZE).await?;
            if page.is_empty() {
                break;
            }
            bytes += page.iter().map(|(_, source)| source.len()).sum::<usize>();
            if bytes > MAX_BYTES {
                let reason = format!("it has more than {MAX_BYTES} bytes");
                return Err(Error::Invalid { field: "the calendar", reason });
            }
            events.extend(page);
        }
        let print = move || {
            let entries = events.iter().map(|(event, source)| Entry {
                raw: source,
                zone: event.details.when.zone.as_ref(),
                starts_at: event.starts_at,
                reminders: coming.get(event.id.as_str()).map_or(Vec::new(), |planned| reminders(planned)),
            });
            calendar::to_ics(&CalendarDocument { name: &user.name, entries: entries.collect(), now })
        };
        let printed = tokio::task::spawn_blocking(print).await;
        // A printer that panicked printed nothing.
        printed.map_err(|_| Error::Calendar(calendar::Error::Unreadable))
    }

    /// Returns the secret of a user's feed, where they have one.
    pub async fn feed(&self, user: &UserId) -> Result<Option<String>, Error> {
        let user = self.user(user).await?;
        Ok(feeds::secret(&self.store, user.id.as_str()).await?)
    }

    /// Gives a user's feed a secret, and returns it. An older secret is invalid from then on.
    pub async fn create_feed(&self, user: &UserId, actor: &str, now: Timestamp) -> Result<String, Error> {
        let user = self.user(user).await?;
        let secret = ids::random_letters::<SECRET_LEN>()?;
        let feed = NewFeed {
            user: user.id.as_str().to_owned(),
            digest: hex::sha256(&secret),
            secret: secret.clone(),
            at: millis(now),
            audit: audit(actor, "make feed", user.id.as_str(), "", now)?,
        };
        feeds::put(&self.store, feed).await?;
        Ok(secret)
    }

    /// Ends a user's feed; `false` where they had none.
    pub async fn revoke_feed(&self, user: &UserId, actor: &str, now: Timestamp) -> Result<bool, Error> {
        let user = self.user(user).await?;
        let line = audit(actor, "end feed", user.id.as_str(), "", now)?;
        Ok(feeds::remove(&self.store, user.id.as_str().to_owned(), line).await?)
    }

    /// Returns the user of the feed with this secret.
    pub async fn user_for_secret(&self, secret: &str) -> Result<Option<UserId>, Error> {
        Ok(feeds::owner(&self.store, &hex::sha256(secret)).await?.map(UserId::from_row))
    }
}

/// The reminders of an event, each distance once: the occurrences of a series share them.
fn reminders(planned: &[(Notification, Timestamp)]) -> Vec<Reminder<'_>> {
    let mut found = BTreeMap::new();
    for (one, start) in planned {
        found.entry(before(one, *start)).or_insert(one);
    }
    found
        .into_iter()
        .map(|(before, one)| Reminder { id: one.id.as_str(), before, text: &one.wording.subject })
        .collect()
}

/// Returns how long before the start it is due; in days if it was planned in days and was not moved since.
fn before(one: &Notification, start: Timestamp) -> Offset {
    let minutes = u32::try_from(start.duration_since(one.due_at).as_mins()).unwrap_or(0);
    match one.offset {
        // Clocks change by two hours at most.
        Offset::Days(days) if minutes.abs_diff(days.saturating_mul(24 * 60)) <= 120 => Offset::Days(days),
        Offset::Days(_) | Offset::Minutes(_) => Offset::Minutes(minutes),
    }
}
