//! Days of a list: from a date to a date as users write them, or around today.

use clap::Args;
use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};

use super::output::Failure;
use adjutant_assistant::{Assistant, Error, UserId, Zone, plain_dates};

/// The first and the last day of a list.
#[derive(Debug, Args)]
pub(super) struct ListSpan {
    /// First day or instant, such as today, 'next Friday', 24.12. or '2026-12-24 15:00'
    #[arg(long, value_name = "DATE", conflicts_with = "days_back")]
    from: Option<String>,
    /// Last day or instant
    #[arg(long, value_name = "DATE", conflicts_with = "days_forward")]
    to: Option<String>,
}

impl ListSpan {
    /// Returns the first instant and the one after the last. Without dates the days around now count: those before and
    /// those after.
    pub(super) fn resolve(
        &self,
        zone: &Zone,
        (back, forward): (u32, u32),
    ) -> Result<(Timestamp, Timestamp), Failure> {
        let now = Timestamp::now();
        let days = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
        let from = match &self.from {
            Some(text) => instant(text, zone, false)?.timestamp(),
            None => now.saturating_sub(days(back)).unwrap_or(Timestamp::MIN),
        };
        let until = match &self.to {
            Some(text) => instant(text, zone, true)?.timestamp(),
            // The days after a later first day.
            None => now.max(from).saturating_add(days(forward)).unwrap_or(Timestamp::MAX),
        };
        if until <= from {
            return Err(Failure::usage("the last day is before the first"));
        }
        Ok((from, until))
    }
}

/// Returns the zone of a list: that of its user or of the only user, otherwise UTC.
pub(super) async fn zone_of(assistant: &Assistant, user: Option<&UserId>) -> Result<Zone, Failure> {
    if let Some(id) = user {
        return Ok(assistant.user(id).await?.preferences.zone);
    }
    let mut users = assistant.users(None, 2).await?;
    let only = users.pop().filter(|_| users.is_empty());
    Ok(only.map_or_else(Zone::utc, |user| user.preferences.zone))
}

/// Returns the instant that a text names in a zone; of a day its beginning, or the end of it.
pub(super) fn instant(text: &str, zone: &Zone, ends: bool) -> Result<Zoned, Failure> {
    let now = Timestamp::now().to_zoned(zone.rules().clone());
    let dated = plain_dates::parse_alone(text, &now, None)
        .map_err(|error| Failure::from(Error::Date(error)).with_code(2))?;
    if dated.all_day && ends {
        let length = dated.length.unwrap_or_else(|| 1.day());
        let end = dated.start.datetime().saturating_add(length).with().time(Time::midnight()).build();
        return end.and_then(|end| end.to_zoned(zone.rules().clone())).map_err(Failure::usage);
    }
    Ok(dated.start)
}
