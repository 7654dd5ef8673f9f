//! A user's calendar as text, and the secret under which other calendar programs read it.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::agenda::hex;
use super::calendar::{self, Before, Entry, Reminder, Sheet};
use super::id;
use super::notification::{Notification, Offset};
use super::people::audit;
use super::rows::{self, instant, millis};
use super::{Assistant, Error, Event, UserId};
use crate::store::assistant::feeds::{self, NewFeed};
use crate::store::assistant::notifications;

/// Events of one reading.
const PAGE: u32 = 1000;
/// Reminders of one calendar.
const REMINDERS: u32 = 100_000;
/// The largest calendar, in bytes of its events.
const LARGEST: usize = 128 * 1024 * 1024;
/// Letters of a secret: 160 bits.
const SECRET: usize = 32;

impl Assistant {
    /// Returns what a user has as iCalendar text, with what is planned as reminders: any calendar reminds by them, even
    /// while nothing of ours runs.
    pub(crate) async fn export(&self, user: &UserId, now: Timestamp) -> Result<String, Error> {
        let user = self.user(user).await?;
        let mut coming: HashMap<String, Vec<(Notification, Timestamp)>> = HashMap::new();
        for (row, start) in
            notifications::coming(&self.store, user.id.as_str(), millis(now), REMINDERS).await?
        {
            let planned = (rows::notification(row)?, instant(start));
            coming.entry(planned.0.event.as_str().to_owned()).or_default().push(planned);
        }
        let mut events: Vec<(Event, String)> = Vec::new();
        let mut bytes = 0;
        loop {
            let page = self.sources_of(&user.id, events.last().map(|(event, _)| event), PAGE).await?;
            if page.is_empty() {
                break;
            }
            bytes += page.iter().map(|(_, source)| source.len()).sum::<usize>();
            if bytes > LARGEST {
                let reason = format!("it has more than {LARGEST} bytes");
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
            calendar::print(&Sheet { name: &user.name, entries: entries.collect(), now })
        };
        let printed = tokio::task::spawn_blocking(print).await;
        // A printer that panicked printed nothing.
        printed.map_err(|_| Error::Calendar(calendar::Error::Unreadable))
    }

    /// Returns the secret of a user's feed, where they have one.
    pub(crate) async fn feed(&self, user: &UserId) -> Result<Option<String>, Error> {
        let user = self.user(user).await?;
        Ok(feeds::secret(&self.store, user.id.as_str()).await?)
    }

    /// Gives a user's feed a secret, and returns it. An older one is good for nothing from then on.
    pub(crate) async fn make_feed(
        &self,
        user: &UserId,
        actor: &str,
        now: Timestamp,
    ) -> Result<String, Error> {
        let user = self.user(user).await?;
        let secret = id::letters::<SECRET>()?;
        let feed = NewFeed {
            user: user.id.as_str().to_owned(),
            digest: digest(&secret),
            secret: secret.clone(),
            at: millis(now),
            audit: audit(actor, "make feed", user.id.as_str(), "", now)?,
        };
        feeds::put(&self.store, feed).await?;
        Ok(secret)
    }

    /// Ends a user's feed; `false` where they had none.
    pub(crate) async fn end_feed(&self, user: &UserId, actor: &str, now: Timestamp) -> Result<bool, Error> {
        let user = self.user(user).await?;
        let line = audit(actor, "end feed", user.id.as_str(), "", now)?;
        Ok(feeds::remove(&self.store, user.id.as_str().to_owned(), line).await?)
    }

    /// Returns whose feed has a secret, where somebody's has.
    pub(crate) async fn fed_by(&self, secret: &str) -> Result<Option<UserId>, Error> {
        Ok(feeds::owner(&self.store, &digest(secret)).await?.map(UserId::of_row))
    }
}

/// Returns the SHA-256 of a text in hex: a calendar's version, and what a secret is looked for by.
pub(crate) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
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

/// How long before the start it is told; by the clock where it was planned so and was not moved since.
fn before(one: &Notification, start: Timestamp) -> Before {
    let minutes = u32::try_from(start.duration_since(one.due_at).as_mins()).unwrap_or(0);
    match one.offset {
        // Clocks change by two hours at most.
        Offset::Days(days) if minutes.abs_diff(days.saturating_mul(24 * 60)) <= 120 => Before::Days(days),
        Offset::Days(_) | Offset::Minutes(_) => Before::Minutes(minutes),
    }
}
