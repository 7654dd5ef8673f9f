//! Lists of events: their window of days, their time zone and their maximum length.

use jiff::{SignedDuration, Timestamp};

use crate::client_context::ClientContext;
use adjutant_assistant::events::{EventOccurrence, Span};
use adjutant_assistant::{Error, UserId, Zone};

/// Entries of one answer; `more` says that there are others.
pub(super) const MOST: u32 = 500;

/// Days that `listEvents` looks back and ahead, when nobody says, and at most.
pub(super) const BACK: (u32, u32) = (2, 30);
pub(super) const FORWARD: (u32, u32) = (30, 90);
/// Days that `listNotifications` looks ahead.
pub(super) const AHEAD: (u32, u32) = (7, 30);

/// What happens in a window.
pub(crate) struct Listing {
    span: (Timestamp, Timestamp),
    zone: Zone,
    found: Vec<EventOccurrence>,
    more: bool,
}

impl Listing {
    pub(crate) fn told(&self) -> adjutant_assistant::json::EventListJson<'_> {
        adjutant_assistant::json::events(&self.found, self.span, &self.zone, self.more)
    }
}

/// What happens to a user in the days that `listEvents` shows when nobody says which.
pub(crate) async fn event_occurrences(
    client: &ClientContext,
    user: &UserId,
    now: Timestamp,
) -> Result<Listing, Error> {
    listing(client, Some(user), window(now, BACK.0, FORWARD.0)).await
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
    let (found, more) = client.app.assistant.event_occurrences(&wanted, MOST).await?;
    Ok(Listing { span, zone, found, more })
}

/// The zone that times are told in: the user's, or UTC where the list is about everybody.
pub(super) async fn zone(client: &ClientContext, user: Option<&UserId>) -> Result<Zone, Error> {
    let Some(user) = user else { return Ok(Zone::utc()) };
    Ok(client.app.assistant.user(user).await?.preferences.zone)
}
