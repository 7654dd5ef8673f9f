//! Lists of events: their window of days, their time zone and their maximum length.

use jiff::{SignedDuration, Timestamp};

use crate::client_context::ClientContext;
use adjutant_assistant::events::{EventOccurrence, Span};
use adjutant_assistant::{Error, UserId, Zone};

/// Maximum entries of one result; `more` says that there are others.
pub(super) const MAX_ENTRIES: u32 = 500;

/// Past days in `listEvents`: the default and the maximum.
pub(super) const DAYS_BACK: (u32, u32) = (2, 30);
/// Coming days in `listEvents`: the default and the maximum.
pub(super) const DAYS_FORWARD: (u32, u32) = (30, 90);
/// Coming days in `listNotifications`: the default and the maximum.
pub(super) const NOTIFICATION_DAYS: (u32, u32) = (7, 30);

/// The events of a window.
pub(crate) struct Listing {
    span: (Timestamp, Timestamp),
    zone: Zone,
    occurrences: Vec<EventOccurrence>,
    more: bool,
}

impl Listing {
    pub(crate) fn json(&self) -> adjutant_assistant::json::EventListJson<'_> {
        adjutant_assistant::json::events(&self.occurrences, self.span, &self.zone, self.more)
    }
}

/// Returns the events of a user in the default window of `listEvents`.
pub(crate) async fn event_occurrences(
    client: &ClientContext,
    user: &UserId,
    now: Timestamp,
) -> Result<Listing, Error> {
    listing(client, Some(user), window(now, DAYS_BACK.0, DAYS_FORWARD.0)).await
}

pub(super) fn window(now: Timestamp, back: u32, forward: u32) -> (Timestamp, Timestamp) {
    let days = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
    let from = now.saturating_sub(days(back)).unwrap_or(Timestamp::MIN);
    (from, now.saturating_add(days(forward)).unwrap_or(Timestamp::MAX))
}

pub(super) async fn listing(
    client: &ClientContext,
    user: Option<&UserId>,
    span: (Timestamp, Timestamp),
) -> Result<Listing, Error> {
    let zone = zone(client, user).await?;
    let wanted = Span { user: user.cloned(), from: span.0, until: span.1 };
    let (occurrences, more) = client.app.assistant.event_occurrences(&wanted, MAX_ENTRIES).await?;
    Ok(Listing { span, zone, occurrences, more })
}

/// Returns the time zone of a list: the user's, or UTC if the list is about all users.
pub(super) async fn zone(client: &ClientContext, user: Option<&UserId>) -> Result<Zone, Error> {
    let Some(user) = user else { return Ok(Zone::utc()) };
    Ok(client.app.assistant.user(user).await?.preferences.zone)
}
