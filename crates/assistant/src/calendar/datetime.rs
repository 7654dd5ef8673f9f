//! Values of type DATE and DATE-TIME.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use super::error::Error;
use crate::event::{Length, When};
use crate::time_zone::Zone;

/// A date or a time as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stamp {
    /// A whole day, wherever its reader is.
    Day(Date),
    /// A time of the day, wherever its reader is.
    Floating(DateTime),
    /// A time of the day at a place.
    Placed(DateTime, Zone),
    /// An instant.
    Instant(Timestamp),
}

/// Whether a civil time exists once, as the author meant it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adjusted {
    No,
    /// The clocks skip it; it is as much later as they skip.
    Gap,
    /// The clocks show it twice; the first time is meant.
    Overlap,
}

impl Stamp {
    /// Reads a DATE or a DATE-TIME, also where the other type is named. The time of an unknown zone is that of its
    /// reader. `None` where the value is neither.
    pub(super) fn parse(value: &str, zone: Option<Zone>) -> Option<Self> {
        let digits = |text: &str, length: usize| {
            (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
        };
        let two = |text: &str, at: usize| text[at..at + 2].parse::<i8>().ok();
        let (day, time) = value.split_once('T').map_or((value, None), |(day, time)| (day, Some(time)));
        digits(day, 8)?;
        let date = Date::new(day[..4].parse().ok()?, two(day, 4)?, two(day, 6)?).ok()?;
        let Some(time) = time else { return Some(Self::Day(date)) };
        let (time, utc) = time.strip_suffix('Z').map_or((time, false), |time| (time, true));
        digits(time, 6)?;
        // A leap second is written as 60, and counts as the last one that clocks know.
        let second = two(time, 4).filter(|second| *second <= 60)?.min(59);
        let civil = date.to_datetime(Time::new(two(time, 0)?, two(time, 2)?, second, 0).ok()?);
        Some(match zone {
            _ if utc => Self::Instant(TimeZone::UTC.to_timestamp(civil).ok()?),
            Some(zone) => Self::Placed(civil, zone),
            None => Self::Floating(civil),
        })
    }

    /// Returns the midnight with which a day begins, and any other stamp as it is.
    pub(super) fn with_time(self) -> Self {
        match self {
            Self::Day(date) => Self::Floating(date.to_datetime(Time::midnight())),
            other => other,
        }
    }

    /// Returns whether it is a whole day.
    pub(super) fn is_day(&self) -> bool {
        matches!(self, Self::Day(_))
    }

    /// The zone of its clock; `None` for the zone of its reader.
    pub(super) fn zone(&self) -> Option<Zone> {
        match self {
            Self::Day(_) | Self::Floating(_) => None,
            Self::Placed(_, zone) => Some(zone.clone()),
            Self::Instant(_) => Some(Zone::utc()),
        }
    }

    /// Returns what the clock of `zone` shows then. A stamp without a place is taken as it is written; so is every stamp
    /// where `zone` is `None`.
    pub(super) fn civil(&self, zone: Option<&Zone>) -> Result<DateTime, Error> {
        Ok(match (self, zone) {
            (Self::Day(date), _) => date.to_datetime(Time::midnight()),
            (Self::Floating(civil), _) | (Self::Placed(civil, _), None) => *civil,
            (Self::Placed(civil, place), Some(zone)) if place == zone => *civil,
            (Self::Placed(..) | Self::Instant(_), Some(zone)) => zone.civil(self.instant(zone)?),
            (Self::Instant(at), None) => TimeZone::UTC.to_datetime(*at),
        })
    }

    /// Returns the instant that it means. A stamp without a place is read from the clock of `zone`.
    pub(super) fn instant(&self, zone: &Zone) -> Result<Timestamp, Error> {
        let (civil, place) = match self {
            Self::Instant(at) => return Ok(*at),
            Self::Placed(civil, place) => (*civil, place),
            Self::Day(_) | Self::Floating(_) => (self.civil(None)?, zone),
        };
        Ok(resolve(civil, place)?.0.timestamp())
    }
}

/// The clock that the starts of a series are read from.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    zone: Option<Zone>,
    /// The time of day of the first start; nothing where the series is of whole days.
    time: Option<Time>,
}

impl Clock {
    pub(super) fn of(when: &When) -> Self {
        Self { zone: when.zone.clone(), time: (!when.all_day).then(|| when.start.time()) }
    }

    /// The clock of a stamp of an unknown series.
    pub(super) fn of_stamp(stamp: &Stamp) -> Self {
        Self { zone: stamp.zone(), time: (!stamp.is_day()).then(Time::midnight) }
    }

    /// The start that a stamp names. RFC 5545 wants a day for a series of days, and a time for one of times; otherwise a
    /// day means the series' time on it, and a time means its day.
    pub(super) fn start(&self, stamp: &Stamp) -> Result<DateTime, Error> {
        let civil = stamp.civil(self.zone.as_ref())?;
        Ok(match (self.time, stamp.is_day()) {
            (None, _) => civil.date().to_datetime(Time::midnight()),
            (Some(time), true) => civil.date().to_datetime(time),
            (Some(_), false) => civil,
        })
    }

    /// Returns whether a stamp is an instant that names a day, which depends on the place. Midnight of UTC is taken for its
    /// day.
    pub(super) fn guesses(&self, stamp: &Stamp) -> bool {
        let Stamp::Instant(at) = stamp else { return false };
        self.time.is_none() && TimeZone::UTC.to_datetime(*at).time() != Time::midnight()
    }
}

/// Returns the instant of a civil time, by the rule of RFC 5545 3.3.5: a time that the clocks skip has the offset
/// before the change, and of a time that comes twice the first counts.
pub(super) fn resolve(civil: DateTime, zone: &Zone) -> Result<(Zoned, Adjusted), Error> {
    let found = zone.rules().to_ambiguous_zoned(civil);
    let adjusted = match found.offset() {
        AmbiguousOffset::Unambiguous { .. } => Adjusted::No,
        AmbiguousOffset::Gap { .. } => Adjusted::Gap,
        AmbiguousOffset::Fold { .. } => Adjusted::Overlap,
    };
    found.compatible().map(|at| (at, adjusted)).map_err(|_| Error::OutOfTime)
}

/// Returns the end of what begins at `start`.
pub(super) fn end_of(start: &Zoned, length: Length) -> Result<Zoned, Error> {
    let days = Span::new().try_days(length.days).map_err(|_| Error::OutOfTime)?;
    let end = start.checked_add(days);
    end.and_then(|at| at.checked_add(SignedDuration::from_secs(length.seconds))).map_err(|_| Error::OutOfTime)
}

/// Returns how long an event lasts. A time without a zone ends by the clock of `zone`; the first start counts.
pub(super) fn length_in(when: &When, zone: &Zone) -> Result<Length, Error> {
    if when.all_day || when.zone.is_some() {
        return Ok(when.length);
    }
    let utc = Zone::utc();
    let end = end_of(&resolve(when.start, &utc)?.0, when.length)?.datetime();
    let (first, last) = (resolve(when.start, zone)?.0, resolve(end, zone)?.0);
    let seconds = last.timestamp().as_second() - first.timestamp().as_second();
    Ok(Length { days: 0, seconds: seconds.max(0) })
}
