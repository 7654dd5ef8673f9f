//! Faults of a calendar's text, and the effect of each on what is imported.

use super::limits;

/// Why a calendar, or one event of it, was not imported as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "the calendar has more than {} bytes, which is the most that is read at once; split it",
        limits::MAX_BYTES
    )]
    TooLarge,
    #[error("this is not a calendar: it does not begin with `BEGIN:VCALENDAR`")]
    NotACalendar,
    #[error("the calendar is cut off: it has no `END:VCALENDAR`; nothing of it was imported")]
    CutOff,
    #[error("the event has no `END:VEVENT`")]
    Unended,
    #[error("the event has {bytes} bytes; at most {} are read", limits::MAX_EVENT_BYTES)]
    EventTooLarge { bytes: usize },
    #[error("the event cannot be read")]
    Unreadable,
    #[error("the event has no `UID`; without changes to it, it is the same event when it is imported again")]
    NoUid,
    #[error("the event has no `{0}`")]
    Missing(&'static str),
    #[error("the event has several `{0}`")]
    Repeated(&'static str),
    #[error("`{property}` is not a date or a time: {value}")]
    NotATime { property: &'static str, value: String },
    #[error("unknown time zone `{0}`; its times are taken for those of the user, and may be wrong")]
    UnknownZone(String),
    #[error("the event ends before it starts; its start is taken for its end")]
    EndsBeforeStart,
    #[error("a period of `RDATE` ends before it starts")]
    PeriodEndsBeforeStart,
    #[error("`{0}` is a day among times; it is taken for the midnight with which the day begins")]
    DayForATime(&'static str),
    #[error("the change is older than its series, which no longer has the occurrence that is changed")]
    Obsolete,
    #[error("the calendar has a later version of the event (`SEQUENCE` and `DTSTAMP`)")]
    Stale,
    #[error("it cancels an event that is in no calendar of the user")]
    CancelsNothing,
    #[error("the rule `{0}` cannot be followed: {1}")]
    BadRule(String, String),
    #[error("the rule `{0}` has no date in the future")]
    EmptyRule(String),
    #[error("the event repeats more than {} times within the imported days", limits::MAX_OCCURRENCES)]
    TooOften,
    #[error("the rules of the event, or of all events together, are too complex to expand")]
    TooMuchWork,
    #[error("the event lists {count} dates; at most {} are read", limits::MAX_DATES)]
    TooManyDates { count: usize },
    #[error("{}", no_event(name, *more))]
    NoEvent { name: String, more: usize },
    #[error("the calendar has the same event twice; the one that was changed last is imported, or the first")]
    Twice,
    #[error("the rules of the event have {bytes} bytes; at most {} are followed", limits::MAX_RULE_BYTES)]
    LongRules { bytes: usize },
    #[error("the event is outside of the years 1 to 9999")]
    OutOfTime,
    #[error("`RANGE={0}` is unknown; the change is taken for its own occurrence alone")]
    UnknownRange(String),
    #[error(
        "it changes the rest of a series, which is not in the calendar or does not repeat; the change is taken for \
         its own occurrence alone"
    )]
    RestOfNothing,
    #[error("the rest of the series is changed too often; the change is taken for its own occurrence alone")]
    TooManyChanges,
    #[error("a changed occurrence does not repeat itself; its `{0}` is not followed")]
    ChangeRepeats(&'static str),
    #[error("`{0}` names a time for an event of whole days; the day that it has in UTC is taken")]
    TimeForADay(&'static str),
    #[error("an `RDATE` has a length of its own, but the event lasts whole days; it is taken as a day")]
    PeriodOfADay,
}

/// The effect of an error on the import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An event is not in the calendar as it should be.
    LeftOut,
    /// It is imported in another way than it is written.
    Changed,
    /// Nothing is missing: it was not an event, or it is outdated.
    PassedOver,
}

fn no_event(name: &str, more: usize) -> String {
    match more {
        0 => format!("a `{name}` is not an event"),
        more => format!("a `{name}` is not an event; {more} more like it"),
    }
}

impl Error {
    /// Returns the effect of the error on the import.
    pub fn effect(&self) -> Effect {
        match self {
            Self::NoEvent { .. } | Self::Obsolete | Self::Stale | Self::CancelsNothing => Effect::PassedOver,
            Self::NoUid
            | Self::UnknownZone(_)
            | Self::EndsBeforeStart
            | Self::DayForATime(_)
            | Self::UnknownRange(_)
            | Self::RestOfNothing
            | Self::TooManyChanges
            | Self::ChangeRepeats(_)
            | Self::TimeForADay(_)
            | Self::PeriodOfADay => Effect::Changed,
            Self::TooLarge
            | Self::NotACalendar
            | Self::CutOff
            | Self::Unended
            | Self::EventTooLarge { .. }
            | Self::Unreadable
            | Self::Missing(_)
            | Self::Repeated(_)
            | Self::NotATime { .. }
            | Self::PeriodEndsBeforeStart
            | Self::BadRule(..)
            | Self::EmptyRule(_)
            | Self::TooOften
            | Self::TooMuchWork
            | Self::TooManyDates { .. }
            | Self::LongRules { .. }
            | Self::Twice
            | Self::OutOfTime => Effect::LeftOut,
        }
    }
}
