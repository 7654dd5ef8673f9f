//! Parser of dates and times in the words that people type, such as `tomorrow 15:00`, `next Friday` or `24.12.`.
//!
//! It reads English words and the date forms of several countries. A form with two meanings is an error that names both, and
//! words that are not about time are returned.

mod phrases;
mod words;

#[cfg(test)]
mod tests;

use jiff::civil::{Date, Time};
use jiff::{Span, ToSpan as _, Zoned};

use phrases::{Phrase, phrase};
use words::Word;

/// Maximum bytes of a text.
const MAX_BYTES: usize = 1000;

/// Words before a phrase that belong to it.
const PREPOSITIONS: [&str; 6] = ["on", "at", "from", "by", "starting", "@"];

/// Words that mean another time, or a part of the day, after a date or a time.
const NOT_UNDERSTOOD: [&str; 22] = [
    "morning",
    "afternoon",
    "evening",
    "night",
    "utc",
    "gmt",
    "est",
    "edt",
    "cst",
    "cdt",
    "mst",
    "mdt",
    "pst",
    "pdt",
    "cet",
    "cest",
    "wet",
    "eet",
    "bst",
    "ist",
    "jst",
    "z",
];

/// The time in a text, and its other words.
#[derive(Clone, Debug)]
pub struct Dated {
    /// In the zone of the reader's clock.
    pub start: Zoned,
    /// The text names a day and no time.
    pub all_day: bool,
    /// The length, if the text names one; it is positive.
    pub length: Option<Span>,
    /// The other words, in order.
    pub rest: String,
}

/// The reason why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`{0}` names no date and no time")]
    NoDate(String),
    #[error("`{text}` may be {first} or {second}")]
    Ambiguous { text: String, first: String, second: String },
    #[error("there are two {0}: `{1}` and `{2}`")]
    Twice(&'static str, String, String),
    #[error("`{0}` does not exist")]
    Impossible(String),
    #[error("`{0}` is {1}")]
    OtherDay(String, String),
    #[error("`{0}` has passed today")]
    Passed(String),
    #[error("a length in hours or minutes needs a time to begin at")]
    NoTime,
    #[error("`{0}` is not understood")]
    NotUnderstood(String),
    #[error("`{0}` repeats; an event of this kind can be imported from an `.ics` file")]
    Repeats(String),
    #[error("the text has more than 1000 bytes")]
    TooLong,
}

/// The phrases of a text, each with its words.
#[derive(Default)]
struct Found {
    date: Option<(Date, String)>,
    times: Option<(Time, Option<Time>, String)>,
    instant: Option<(Zoned, String)>,
    length: Option<(Span, String)>,
}

/// Reads a text with a date, a time or both, at the instant `now` of the reader's clock.
///
/// # Errors
/// Fails for a text without a date or a time, or with two, and for a date that has two meanings or does not exist.
pub fn parse(text: &str, now: &Zoned) -> Result<Dated, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLong);
    }
    let words = words::split(text);
    let (mut found, mut rest, mut at, mut phrase_end) = (Found::default(), Vec::new(), 0, 0);
    while at < words.len() {
        let preposition = usize::from(PREPOSITIONS.contains(&words[at].lower.as_str()));
        if let Some((count, phrase)) = phrase(&words[at + preposition..], now, preposition > 0)? {
            let end = at + preposition + count;
            found.add(phrase, &words[at..end])?;
            (at, phrase_end) = (end, end);
        } else {
            let zone = at > 0 && words[at - 1].text.starts_with(char::is_uppercase) && found.times.is_some();
            if is_time_like(&words[at..], at > 0 && at == phrase_end) || zone && words[at].lower == "time" {
                return Err(Error::NotUnderstood(words[at].text.to_owned()));
            }
            rest.push(words[at].text);
            at += 1;
        }
    }
    found.resolve(text, now, rest.join(" "))
}

/// Returns whether a text begins with words about time: in a title they would be a time that nobody read.
fn is_time_like(words: &[Word<'_>], after_phrase: bool) -> bool {
    let word = words[0].lower.as_str();
    let (digits, rest) = words::split_number(word);
    let minutes =
        rest.strip_prefix([':', 'h']).is_some_and(|rest| rest.len() == 2 && words::number(rest).is_some());
    match (word, words.get(1).map_or("", |word| word.lower.as_str())) {
        ("half" | "quarter", "past" | "to") | ("o'clock", _) => true,
        _ if matches!(digits.len(), 1 | 2) => minutes || matches!(rest, "am" | "pm" | "h"),
        _ => after_phrase && (NOT_UNDERSTOOD.contains(&word) || digits.len() == 4 && rest.is_empty()),
    }
}

/// Reads a text that is a date, a time or both, and nothing else.
///
/// # Errors
/// Fails as [`parse`] does, and for other words.
pub fn parse_alone(text: &str, now: &Zoned) -> Result<Dated, Error> {
    let dated = parse(text, now)?;
    if dated.rest.is_empty() { Ok(dated) } else { Err(Error::NotUnderstood(dated.rest)) }
}

impl Found {
    fn add(&mut self, phrase: Phrase, words: &[Word<'_>]) -> Result<(), Error> {
        let text = words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
        let date = self.date.as_ref().map(|(_, text)| text);
        let date = date.or(self.instant.as_ref().map(|(_, text)| text));
        let time = self.times.as_ref().map(|(_, _, text)| text);
        let before = match &phrase {
            Phrase::Date(_) => date.map(|text| ("dates", text)),
            Phrase::Times(..) => {
                let instant = self.instant.as_ref().map(|(_, text)| text);
                time.or(instant).map(|text| ("times", text))
            }
            Phrase::Instant(_) => date.or(time).map(|text| ("times", text)),
            Phrase::Length(_) => self.length.as_ref().map(|(_, text)| ("lengths", text)),
        };
        if let Some((what, before)) = before {
            return Err(Error::Twice(what, before.clone(), text));
        }
        match phrase {
            Phrase::Date(date) => self.date = Some((date, text)),
            Phrase::Times(start, end) => self.times = Some((start, end, text)),
            Phrase::Instant(at) => self.instant = Some((at, text)),
            Phrase::Length(length) => self.length = Some((length, text)),
        }
        Ok(())
    }

    fn resolve(self, text: &str, now: &Zoned, rest: String) -> Result<Dated, Error> {
        let mut length = self.length.map(|(length, _)| length);
        if let Some((start, _)) = self.instant {
            return Ok(Dated { start, all_day: false, length, rest });
        }
        let day = |date: Date| date.to_zoned(now.time_zone().clone());
        let impossible = |_| Error::Impossible(text.to_owned());
        let Some((time, end, time_text)) = self.times else {
            let Some((date, _)) = self.date else { return Err(Error::NoDate(text.to_owned())) };
            return Ok(Dated { start: day(date).map_err(impossible)?, all_day: true, length, rest });
        };
        let date = match self.date {
            Some((date, _)) => date,
            None if time < now.time() => return Err(Error::Passed(time_text)),
            None => now.date(),
        };
        let resolve = |date: Date, time| date.to_datetime(time).to_zoned(now.time_zone().clone());
        let start = resolve(date, time).map_err(impossible)?;
        if let Some(end) = end {
            // An end that is not after the start is on the next day.
            let last = if end > time { date } else { date.saturating_add(1.day()) };
            let until = resolve(last, end).and_then(|end| start.until(&end)).map_err(impossible)?;
            // The clocks may skip the start, which is then after the end.
            let named = || date.to_datetime(time).until(last.to_datetime(end)).map_err(impossible);
            length = Some(if until.is_positive() { until } else { named()? });
        }
        Ok(Dated { start, all_day: false, length, rest })
    }
}
