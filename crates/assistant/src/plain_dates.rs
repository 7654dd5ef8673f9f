//! Parser of dates and times in the words that people type, such as `tomorrow 15:00`, `next Friday` or `24.12.`.
//!
//! It reads English words and the date forms of several countries. A form with two meanings is an error that names both, and
//! words that are not about time are returned.

mod day_parts;
mod holidays;
mod named_days;
mod phrases;
mod words;

#[cfg(test)]
mod tests;

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, ToSpan as _, Zoned};

use named_days::phrase;
use phrases::{Phrase, length};
use words::{CONNECTORS, Word};

/// Maximum bytes of a text.
const MAX_BYTES: usize = 1000;

/// Hours of a range such as `20:00-08:00` from which on its end is a slip and not the next day.
const MAX_HOURS_OVER_MIDNIGHT: i32 = 20;

/// Words before a phrase that belong to it.
const PREPOSITIONS: [&str; 7] = ["on", "at", "from", "by", "starting", "around", "@"];

/// Words before a phrase that make it a limit, or an end.
const LIMITS: [&str; 4] = ["before", "after", "until", "till"];

/// German words for days. This parser reads German dates such as `24.12.2026`, and no German words. A time next to one of these
/// words is not today's.
const GERMAN_DAYS: [&str; 12] = [
    "heute",
    "morgen",
    "übermorgen",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonnabend",
    "sonntag",
    "wochenende",
];

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
    #[error("`{0}` contains no date or time")]
    NoDate(String),
    #[error("`{text}` may be {first} or {second}")]
    Ambiguous { text: String, first: String, second: String },
    #[error("there are two {0}: `{1}` and `{2}`")]
    Twice(&'static str, String, String),
    #[error("`{0}` does not exist")]
    Impossible(String),
    #[error("`{0}` is {1}")]
    OtherDay(String, String),
    #[error("`{0}` has passed today; name the day")]
    Passed(String),
    #[error("`{0}` was {1}; name a later day")]
    PassedDay(String, String),
    #[error("`{0}` has no time; write it as in `tomorrow evening at 8`")]
    NoTimeOfDay(String),
    #[error("a length in hours or minutes needs a start time, such as `14:00`")]
    NoTime,
    #[error("`{0}` is not understood")]
    NotUnderstood(String),
    #[error("`{text}` has several days: write `{first}`, or `{first} - {last}` for all of them")]
    SeveralDays { text: String, first: String, last: String },
    #[error("`{0}` ends before it begins")]
    EndsFirst(String),
    #[error("`{0}` has a time of day at one end only; write it at both or at neither")]
    HalfTimed(String),
    #[error("`{0}` repeats, which cannot be written here; import the event from an `.ics` file")]
    Repeats(String),
    #[error("the text has more than 1000 bytes; shorten it")]
    TooLong,
}

/// The phrases of a text, each with its words.
#[derive(Default)]
struct Found {
    date: Option<(Date, String)>,
    times: Option<(Time, Option<Time>, String)>,
    instant: Option<(Zoned, String)>,
    length: Option<(Span, String)>,
    /// The first and the last of the days that a phrase names, and its text. They have no time of day.
    days: Option<(Date, Date, String)>,
}

/// Reads a text with a date, a time or both, at the instant `now` of the reader's clock.
///
/// # Errors
/// Fails for a text without a date or a time, or with two, and for a date that has two meanings or does not exist.
pub fn parse(text: &str, now: &Zoned) -> Result<Dated, Error> {
    parse_on(text, now, None)
}

/// Reads a text in which a time without a date is on the day `day`.
fn parse_on(text: &str, now: &Zoned, day: Option<Date>) -> Result<Dated, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLong);
    }
    let mut words = words::split(text);
    day_parts::apply(&mut words);
    let (mut found, mut rest, mut at, mut phrase_end) = (Found::default(), Vec::new(), 0, 0);
    while at < words.len() {
        if at > 0 && at == phrase_end && CONNECTORS.contains(&words[at].lower.as_str()) {
            if let Some(count) = found.add_end(&words[at..], now, day)? {
                (at, phrase_end) = (at + count, at + count);
                continue;
            }
            let next = words.get(at + 1).filter(|next| next.text.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(next) = next.filter(|_| words::is_dash(words[at].text)) {
                return Err(Error::NotUnderstood(next.text.to_owned()));
            }
        }
        // `14:00, 90 minutes`.
        let is_timed = found.times.is_some() || found.instant.is_some();
        if at > 0
            && at == phrase_end
            && is_timed
            && let Some((count, length)) = length(&words[at..]).filter(|(_, length)| is_exact(length))
        {
            found.add(Phrase::Length(length), &words[at..at + count])?;
            (at, phrase_end) = (at + count, at + count);
            continue;
        }
        let preposition = usize::from(PREPOSITIONS.contains(&words[at].lower.as_str()));
        if let Some((count, phrase)) = phrase(&words[at + preposition..], now, preposition > 0)? {
            let end = at + preposition + count;
            found.add(phrase, &words[at..end])?;
            (at, phrase_end) = (end, end);
        } else {
            let zone = at > 0 && words[at - 1].text.starts_with(char::is_uppercase) && found.times.is_some();
            let after_phrase = at > 0 && at == phrase_end;
            let at_phrase = after_phrase
                || matches!(phrase(&words[at + 1..], now, false), Ok(Some((_, Phrase::Date(_)))));
            check_limit(&words[at..], now)?;
            let is_part = day_parts::PARTS.contains(&words[at].lower.as_str());
            let has_number = |word: &Word<'_>| word.text.contains(|c: char| c.is_ascii_digit());
            if after_phrase && is_part && !words[at..].iter().any(has_number) {
                return Err(Error::NoTimeOfDay(words::joined(&words[at - 1..=at])));
            }
            let is_day = found.date.is_none() && (after_phrase || is_before_time(&words[at + 1..], now));
            if is_time_like(&words[at..], after_phrase)
                || is_day && words::is_ordinal(&words[at].lower)
                || at_phrase && words::is_clock_with_point(&words[at].lower)
                || zone && words[at].lower == "time"
            {
                return Err(Error::NotUnderstood(words[at].text.to_owned()));
            }
            rest.push(words[at].text);
            at += 1;
        }
    }
    found.check_rest(&rest)?;
    found.resolve(text, now, day, rest.join(" "))
}

/// Fails for a phrase that is a limit, such as `before Friday`: the event is not then.
fn check_limit(words: &[Word<'_>], now: &Zoned) -> Result<(), Error> {
    if !LIMITS.contains(&words[0].lower.as_str()) {
        return Ok(());
    }
    let count = match phrase(&words[1..], now, true) {
        Ok(None) => return Ok(()),
        Ok(Some((count, _))) => count,
        Err(_) => 1,
    };
    Err(Error::NotUnderstood(words::joined(&words[..=count])))
}

/// Returns whether a text begins with a time of day.
fn is_before_time(words: &[Word<'_>], now: &Zoned) -> bool {
    let is_preposition = words.first().is_some_and(|word| PREPOSITIONS.contains(&word.lower.as_str()));
    let time = &words[usize::from(is_preposition)..];
    matches!(phrase(time, now, is_preposition), Ok(Some((_, Phrase::Times(..)))))
}

/// Returns whether a text begins with words about time that were not read, and so must not become a part of a title.
fn is_time_like(words: &[Word<'_>], after_phrase: bool) -> bool {
    let word = words[0].lower.as_str();
    let (digits, rest) = words::split_number(word);
    let minutes = rest.strip_prefix([':', 'h']).and_then(|rest| rest.split_at_checked(2));
    // With an offset, as in `15:00+01:00`, it is a time too.
    let minutes = minutes.is_some_and(|(minutes, offset)| {
        words::number(minutes).is_some() && (offset.is_empty() || offset.starts_with(['+', 'z']))
    });
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let weekday_at = |index: usize| words::weekday(at(index)).is_some();
    match (word, at(1)) {
        ("half" | "quarter", "past" | "to") | ("o'clock", _) => true,
        // `two days before Friday`, and `Friday week`.
        (_, "from" | "after" | "before") if word.len() > 1 && words::unit(word).is_some() => {
            words::weekday(at(2)).is_some()
                || matches!(at(2), "today" | "tomorrow")
                || words::month(at(2)).is_some()
        }
        ("week", _) if after_phrase => true,
        // `a week on Tuesday`, and `two weeks tomorrow`.
        (_, next)
            if words::unit(next).is_some()
                && (word == "a" || digits == word || words::number_word(word).is_some())
                && (weekday_at(2)
                    || at(2) == "on" && weekday_at(3)
                    || matches!(at(2), "today" | "tomorrow")) =>
        {
            true
        }
        ("and", "a") if after_phrase => words.get(2).is_some_and(|word| word.lower == "half"),
        _ if matches!(digits.len(), 1 | 2) => {
            let hours = rest.strip_prefix('-').is_some_and(|end| words::number(end).is_some());
            // `Monday 10`, and `32 Dec`.
            let alone =
                rest.is_empty() && (words.len() == 1 && after_phrase || words::month(at(1)).is_some());
            let is_date = rest.starts_with('.') && word.split('.').all(is_digits);
            let is_date = is_date && word.matches('.').count() == 2;
            // `9 to 5`, and `29 Nov 27 9:00`.
            let to = rest.is_empty() && CONNECTORS.contains(&at(1)) && is_digits(at(2));
            let is_timed = at(1).contains(':') || at(1).ends_with("am") || at(1).ends_with("pm");
            let year = rest.is_empty() && digits.len() == 2 && is_timed;
            let is_clock = matches!(rest, "am" | "pm" | "h" | "ish") || rest.starts_with(':');
            minutes || is_clock || after_phrase && (hours || to || year) || alone || is_date
        }
        // `Dec 32`.
        _ if words::month(word).is_some() => is_digits(at(1)) && at(1).len() == 2,
        _ if after_phrase && words[0].text.contains('/') => TimeZone::get(words[0].text).is_ok(),
        // `+2h`, and `'27`.
        _ if word.starts_with(['+', '\'', '’']) => {
            let year = word.strip_prefix(['\'', '’']).is_some_and(|year| is_digits(year) && year.len() == 2);
            after_phrase
                && (year || word.starts_with('+') && word[1..].starts_with(|c: char| c.is_ascii_digit()))
        }
        _ => {
            let is_year_or_time = digits.len() == 4 && matches!(rest, "" | "h");
            after_phrase && (NOT_UNDERSTOOD.contains(&word) || is_year_or_time)
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a text that is a date, a time or both, and nothing else. A time without a date is on the day `day`, or today.
///
/// # Errors
/// Fails as [`parse`] does, and for other words.
pub fn parse_alone(text: &str, now: &Zoned, day: Option<Date>) -> Result<Dated, Error> {
    let dated = parse_on(text, now, day)?;
    if dated.rest.is_empty() { Ok(dated) } else { Err(Error::NotUnderstood(dated.rest)) }
}

/// Reads a text that is a length and nothing else, such as `for 45 min`.
pub(crate) fn parse_length(text: &str) -> Option<Span> {
    let words = words::split(text);
    let words = words.get(usize::from(words.first()?.lower == "for")..)?;
    length(words).filter(|(count, _)| *count == words.len()).map(|(_, length)| length)
}

/// Returns whether a length has a part that is shorter than a day.
pub(crate) fn is_exact(length: &Span) -> bool {
    length.get_hours() != 0 || length.get_minutes() != 0 || length.get_seconds() != 0
}

impl Found {
    fn add(&mut self, phrase: Phrase, words: &[Word<'_>]) -> Result<(), Error> {
        let text = words::joined(words);
        let date = self.date.as_ref().map(|(_, text)| text);
        let date = date.or(self.instant.as_ref().map(|(_, text)| text));
        let time = self.times.as_ref().map(|(_, _, text)| text);
        let before = match &phrase {
            Phrase::Date(_) | Phrase::Days(..) => date.map(|text| ("dates", text)),
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
            Phrase::Days(first, last) => self.add_days(first, last, text)?,
            Phrase::Times(start, end) => self.times = Some((start, end, text)),
            Phrase::Instant(at) => self.instant = Some((at, text)),
            Phrase::Length(length) => self.length = Some((length, text)),
        }
        Ok(())
    }

    fn add_days(&mut self, first: Date, last: Date, text: String) -> Result<(), Error> {
        let days = last.since(first).map_or(0, |span| span.get_days()) + 1;
        let days = Span::new().try_days(days).map_err(|_| Error::Impossible(text.clone()))?;
        if let Some((_, before)) = &self.length {
            return Err(Error::Twice("lengths", before.clone(), text));
        }
        self.date = Some((first, text.clone()));
        self.length = Some((days, text.clone()));
        self.days = Some((first, last, text));
        Ok(())
    }

    /// Adds the end that follows a start, such as `- 2.1.` or `to Wednesday 12:00`, and returns the number of its
    /// words. If the end as seen from today is not after the start, it is the next such end after the start.
    fn add_end(
        &mut self,
        words: &[Word<'_>],
        now: &Zoned,
        day: Option<Date>,
    ) -> Result<Option<usize>, Error> {
        let text = |count| words::joined(&words[..count]);
        let Ok((start, all_day)) = self.start("", now, day) else { return Ok(None) };
        // `- 26` of `24.12. - 26` is a day of the same month.
        let is_last = words::is_dash(words[0].text) || words.len() == 2;
        if all_day
            && is_last
            && let Some(last) = words.get(1).and_then(|word| words::day_number(&word.lower))
            && let Ok(None) = phrase(&words[1..], now, false)
            && let Ok(last) = start.date().with().day(last).build()
            && last > start.date()
        {
            self.add_days(start.date(), last, text(2))?;
            return Ok(Some(2));
        }
        let mut failed = None;
        for clock in [now, &start] {
            let (mut end, mut count) = (Self::default(), 1);
            let read = loop {
                match phrase(&words[count..], clock, true) {
                    Ok(Some((
                        more,
                        phrase @ (Phrase::Date(_) | Phrase::Instant(_) | Phrase::Times(_, None)),
                    ))) => {
                        if let Err(error) = end.add(phrase, &words[count..count + more]) {
                            break Err(error);
                        }
                        count += more;
                    }
                    Ok(_) if count == 1 => return Ok(None),
                    Ok(_) => break end.start("", clock, Some(start.date())),
                    Err(error) => break Err(error),
                }
            };
            match read {
                Ok((_, other)) if other != all_day => return Err(Error::HalfTimed(text(count))),
                Ok((end, _)) if all_day && end >= start => {
                    self.add_days(start.date(), end.date(), text(count))?;
                    return Ok(Some(count));
                }
                Ok((end, _)) if end > start => {
                    let length = start.until(&end).map_err(|_| Error::Impossible(text(count)))?;
                    self.add(Phrase::Length(length), &words[..count])?;
                    return Ok(Some(count));
                }
                Ok(_) => failed = failed.or_else(|| Some(Error::EndsFirst(text(count)))),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// Fails for other words that would change the day, or the time of the day.
    fn check_rest(&self, rest: &[&str]) -> Result<(), Error> {
        let lower: Vec<String> = rest.iter().map(|word| word.to_lowercase()).collect();
        if self.date.is_none() && self.instant.is_none() && self.times.is_some() {
            let is_day = |word: &String| GERMAN_DAYS.contains(&word.as_str());
            if let Some(at) = lower.iter().position(is_day) {
                return Err(Error::NotUnderstood(rest[at].to_owned()));
            }
        }
        if self.times.is_some() || self.instant.is_some() {
            return Ok(());
        }
        if let Some((_, text)) = self.date.as_ref().filter(|(_, text)| text.eq_ignore_ascii_case("tonight")) {
            return Err(Error::NoTimeOfDay(text.clone()));
        }
        let is_part = |word: &String| day_parts::PARTS.contains(&word.as_str());
        let part = (1..rest.len()).find(|at| {
            is_part(&lower[*at])
                && match lower[at - 1].as_str() {
                    "this" => true,
                    "the" => *at > 1 && lower[at - 2] == "in",
                    "at" => lower[*at] == "night",
                    _ => false,
                }
        });
        match part {
            Some(at) => {
                let first = if lower[at - 1] == "the" { at - 2 } else { at - 1 };
                Err(Error::NoTimeOfDay(rest[first..=at].join(" ")))
            }
            None => Ok(()),
        }
    }

    /// Returns the start, and whether it is a whole day.
    fn start(&self, text: &str, now: &Zoned, day: Option<Date>) -> Result<(Zoned, bool), Error> {
        let impossible = |_| Error::Impossible(text.to_owned());
        let zone = now.time_zone().clone();
        match (&self.instant, &self.times, &self.date) {
            (Some((start, _)), ..) => Ok((start.clone(), false)),
            (_, Some((time, _, time_text)), date) => {
                let date = match date.as_ref().map(|(date, _)| *date).or(day) {
                    Some(date) => date,
                    None if *time < now.time() => return Err(Error::Passed(time_text.clone())),
                    None => now.date(),
                };
                let named = date.to_datetime(*time);
                let both = zone.to_ambiguous_zoned(named);
                if let AmbiguousOffset::Fold { before, after } = both.offset() {
                    let [first, second] = [before, after].map(|offset| format!("{named}{offset}"));
                    return Err(Error::Ambiguous { text: time_text.clone(), first, second });
                }
                Ok((both.compatible().map_err(impossible)?, false))
            }
            (_, None, Some((date, _))) => Ok((date.to_zoned(zone).map_err(impossible)?, true)),
            (_, None, None) => Err(Error::NoDate(text.to_owned())),
        }
    }

    fn resolve(self, text: &str, now: &Zoned, day: Option<Date>, rest: String) -> Result<Dated, Error> {
        let (start, all_day) = self.start(text, now, day)?;
        if let Some((first, last, text)) = self.days.filter(|_| !all_day) {
            return Err(phrases::several_days(&text, first, last));
        }
        let mut length = self.length.map(|(length, _)| length);
        let impossible = |_| Error::Impossible(text.to_owned());
        if let Some((time, Some(end), times)) = self.times {
            let date = self.date.map_or_else(|| day.unwrap_or_else(|| now.date()), |(date, _)| date);
            let resolve = |date: Date, time| date.to_datetime(time).to_zoned(now.time_zone().clone());
            // An end that is not after the start is on the next day.
            let last = if end > time { date } else { date.saturating_add(1.day()) };
            let until = resolve(last, end).and_then(|end| start.until(&end)).map_err(impossible)?;
            // The clocks may skip the start, which is then after the end.
            let named = || date.to_datetime(time).until(last.to_datetime(end)).map_err(impossible);
            let until = if until.is_positive() { until } else { named()? };
            if until.get_hours() >= MAX_HOURS_OVER_MIDNIGHT && last != date {
                return Err(Error::EndsFirst(times));
            }
            length = Some(until);
        }
        Ok(Dated { start, all_day, length, rest })
    }
}
