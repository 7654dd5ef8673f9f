//! Limits of a calendar's text. Every size in it is bounded, because anybody may have written it.

/// Maximum bytes of a file: more than 100,000 events of the usual size.
pub const MAX_BYTES: usize = 40 * 1024 * 1024;
/// Maximum bytes of an event, with its attachments.
pub(super) const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// Maximum occurrences of one series within a horizon: those of one that happens every half an hour in five months.
pub(super) const MAX_OCCURRENCES: usize = 8000;
/// Maximum `EXDATE`s and `RDATE`s of an event: more than ten years of days.
pub(super) const MAX_DATES: usize = 4000;
/// Maximum bytes of all rules of an event. A rule that lists all days of a year has some 1,500.
pub(super) const MAX_RULE_BYTES: usize = 4096;
