//! Phrases about time: days, dates, times, and lengths.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, Timestamp, ToSpan as _, Zoned};

use super::holidays::holiday;
use super::words::{
    CONNECTORS, Unit, Word, day_number, is_day_time_end, joined, month, number, number_word, split_number,
    unit, weekday,
};
use super::{Error, is_exact};

/// A phrase.
#[derive(Debug)]
pub(super) enum Phrase {
    Date(Date),
    /// The first and the last of several whole days.
    Days(Date, Date),
    /// A start, and an end if there is one.
    Times(Time, Option<Time>),
    Instant(Zoned),
    Length(Span),
}

/// Returns the phrase that a text begins with, if it is not a named day, and the number of its words. `after_preposition` says
/// that a word such as `at` is before it.
pub(super) fn unnamed_phrase(
    words: &[Word<'_>],
    now: &Zoned,
    after_preposition: bool,
) -> Result<Option<(usize, Phrase)>, Error> {
    if words.is_empty() {
        return Ok(None);
    }
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    if ["every", "daily", "weekly", "monthly", "yearly"].contains(&at(0))
        || is_plural(words, after_preposition)
    {
        return Err(Error::Repeats(words[0].text.to_owned()));
    }
    let today = now.date();
    let date = |count: usize, date: Date| Ok(Some((count, Phrase::Date(date))));
    if let Some(found) = relative_days(words, today)? {
        return Ok(Some(found));
    }
    match at(0) {
        "for" => {
            let found = length(&words[1..]);
            // A number and a unit that are no length, such as `for 0 min`, `for -5 min` and `for 1.25h`.
            let written = at(1).trim_start_matches('-');
            let rest = written.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
            let has_unit = unit(if rest.is_empty() { at(2) } else { rest }).is_some();
            if found.is_none() && has_unit && written.starts_with(|c: char| c.is_ascii_digit()) {
                let text = words[1].text.to_owned();
                let is_whole = number(split_number(written).0).is_some() && !written.contains(['.', ',']);
                return Err(if is_whole { Error::Impossible(text) } else { Error::NotUnderstood(text) });
            }
            return Ok(found.map(|(count, length)| (count + 1, Phrase::Length(length))));
        }
        "in" => {
            if let Some((count, distance)) = length(&words[1..]) {
                let from_now = if [at(count + 1), at(count + 2)] == ["from", "now"] { 2 } else { 0 };
                let phrase = moved(now, distance, &words[..=count])?;
                return Ok(Some((count + 1 + from_now, phrase)));
            }
        }
        _ => {}
    }
    // A weekday with its date.
    if let Some(day) = weekday(at(0))
        && words.len() > 1
        && let Some((count, Phrase::Date(named))) = written_date(&words[1..], today)?
    {
        return weekday_with_date(day, named, &words[1..=count]);
    }
    if let ("this", "coming", Some(day)) = (at(0), at(1), weekday(at(2))) {
        return date(3, coming(day, after(today, -1)));
    }
    match (at(0), weekday(at(0)), weekday(at(1))) {
        ("next", ..) if at(1) == "next" => return Err(Error::NotUnderstood(joined(&words[..2]))),
        ("this" | "coming", _, Some(day)) => return date(2, coming(day, after(today, -1))),
        // The one of the next week, which begins on a Monday.
        ("next", _, Some(day)) => {
            return date(2, coming(day, after(coming(Weekday::Monday, today), -1)));
        }
        (_, Some(day), _) if day == today.weekday() => {
            return Err(ambiguous(words[0].text, &shown(today), &shown(after(today, 7))));
        }
        (_, Some(day), _) => return date(1, coming(day, today)),
        _ => {}
    }
    if let Some((count, distance)) = length(words)
        && at(count) == "ago"
    {
        return Ok(Some((count + 1, moved(now, -distance, &words[..=count])?)));
    }
    if at(0).contains('t') {
        let text = at(0).to_uppercase();
        let zone = now.time_zone().clone();
        let instant = text.parse::<Timestamp>().map(|at| at.to_zoned(zone.clone()));
        if let Ok(start) = instant.or_else(|_| text.parse::<DateTime>()?.to_zoned(zone)) {
            return Ok(Some((1, Phrase::Instant(start))));
        }
    }
    if let Some(found) = written_date(words, today)? {
        return Ok(Some(found));
    }
    times(words, after_preposition)
}

/// Returns whether a text begins with days of several weeks, such as `Fridays 9:00` and `on weekdays`.
fn is_plural(words: &[Word<'_>], after_preposition: bool) -> bool {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let day = at(0).strip_suffix('s').unwrap_or_default();
    if !(day.ends_with("day") && weekday(day).is_some() || matches!(at(0), "weekdays" | "weekends")) {
        return false;
    }
    let is_at = at(1) == "at";
    let time = words.get(1 + usize::from(is_at)..).unwrap_or_default();
    after_preposition || !matches!(times(time, is_at), Ok(None))
}

/// Returns a date whose weekday is written before it.
pub(super) fn weekday_with_date(
    day: Weekday,
    named: Date,
    words: &[Word<'_>],
) -> Result<Option<(usize, Phrase)>, Error> {
    if named.weekday() == day {
        return Ok(Some((words.len() + 1, Phrase::Date(named))));
    }
    Err(Error::OtherDay(joined(words), shown(named)))
}

pub(super) fn after(date: Date, days: i64) -> Date {
    date.saturating_add(days.days())
}

/// Reads days that are named by their distance from today, and the day of a month such as `the 1st`.
fn relative_days(words: &[Word<'_>], today: Date) -> Result<Option<(usize, Phrase)>, Error> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let several = |first: Date, last: Date| Err(several_days(&joined(&words[..2]), first, last));
    let monday = coming(Weekday::Monday, today);
    let month = today.last_of_month().saturating_add(1.day());
    Ok(Some(match (at(0), at(1), at(2)) {
        ("today" | "tonight", ..) => (1, Phrase::Date(today)),
        ("tomorrow" | "tmrw" | "tmr", ..) => (1, Phrase::Date(after(today, 1))),
        ("yesterday", ..) => (1, Phrase::Date(after(today, -1))),
        ("day", "after", "tomorrow") => (3, Phrase::Date(after(today, 2))),
        ("the", "day", "after") if at(3) == "tomorrow" => (4, Phrase::Date(after(today, 2))),
        ("next", "week", _) => return several(monday, after(monday, 6)),
        ("next", "month", _) => return several(month, month.last_of_month()),
        ("next", "year", _) => {
            let first = today.first_of_year().saturating_add(1.year());
            return several(first, first.last_of_year());
        }
        ("last", "week", _) => return several(after(monday, -14), after(monday, -8)),
        ("this", "weekend", _) => {
            let sunday = coming(Weekday::Sunday, after(today, -1));
            (2, Phrase::Days(after(sunday, -1), sunday))
        }
        ("next", "weekend", _) => (2, Phrase::Days(after(monday, 5), after(monday, 6))),
        _ => return Ok(holiday(words, today).map(|(count, date)| (count, Phrase::Date(date)))),
    }))
}

/// Returns whether a word may follow a day, so that the day is not a part of a name.
pub(super) fn ends_phrase(next: &str) -> bool {
    matches!(next, "" | "at" | "for" | "from")
        || CONNECTORS.contains(&next)
        || next.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the error for words that name several days where one is meant, or where a time of day is added.
pub(super) fn several_days(text: &str, first: Date, last: Date) -> Error {
    let [first, last] = [first, last].map(|date| date.strftime("%a %Y-%m-%d").to_string());
    Error::SeveralDays { text: text.to_owned(), first, last }
}

/// Returns the first such day after a date.
pub(super) fn coming(day: Weekday, date: Date) -> Date {
    let days = i64::from(date.weekday().until(day));
    after(date, if days == 0 { 7 } else { days })
}

pub(super) fn shown(date: Date) -> String {
    date.strftime("%A, %Y-%m-%d").to_string()
}

pub(super) fn ambiguous(text: &str, first: &str, second: &str) -> Error {
    Error::Ambiguous { text: text.to_owned(), first: first.to_owned(), second: second.to_owned() }
}

/// Returns the instant at a distance from now, or the day for a distance in days. `words` are those of the distance,
/// for errors.
pub(super) fn moved(now: &Zoned, distance: Span, words: &[Word<'_>]) -> Result<Phrase, Error> {
    let to = now.checked_add(distance).map_err(|_| Error::Impossible(joined(words)))?;
    Ok(if is_exact(&distance) { Phrase::Instant(to) } else { Phrase::Date(to.date()) })
}

/// Reads a length: `45 min`, `1h30`, `an hour`, `half an hour`, `1.5 hours`, `2 days`.
pub(super) fn length(words: &[Word<'_>]) -> Option<(usize, Span)> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    if at(0) == "half" && at(1) == "an" && at(2) == "hour" {
        return Some((3, 30.minutes()));
    }
    if [at(0), at(1)] == ["a", "couple"] {
        let start = 2 + usize::from(at(2) == "of");
        return unit(at(start)).and_then(|unit| Some((start + 1, add(Span::new(), 2, unit)?)));
    }
    if matches!(at(0), "a" | "an") {
        if at(1) == "hour" && [at(2), at(3), at(4)] == ["and", "a", "half"] {
            return Some((5, 90.minutes()));
        }
        return unit(at(1)).and_then(|unit| Some((2, add(Span::new(), 1, unit)?)));
    }
    let (mut count, mut whole) = (0, Span::new());
    loop {
        let start = count + usize::from(count > 0 && at(count) == "and");
        let Some((words, more)) = add_part(whole, at(start), at(start + 1)) else { break };
        (count, whole) = (start + words, more);
    }
    (count > 0 && whole.is_positive()).then_some((count, whole))
}

/// Adds a number with its unit, as one word or two.
fn add_part(whole: Span, first: &str, second: &str) -> Option<(usize, Span)> {
    // `1.5 hours` and `1.5h`.
    if let Some((hours, tenths)) = first.split_once(['.', ',']) {
        let (tenths, attached) = split_number(tenths);
        let (count, of) = if attached.is_empty() { (2, second) } else { (1, attached) };
        if let (Some(hours), Some(tenths), Some(Unit::Hour)) =
            (number(hours), number(tenths).filter(|_| tenths.len() == 1), unit(of))
        {
            let whole = add(whole, hours, Unit::Hour)?;
            return Some((count, add(whole, tenths * 6, Unit::Minute)?));
        }
    }
    let (digits, rest) = split_number(first);
    let amount = number(digits).or_else(|| number_word(first))?;
    if rest.is_empty() || digits.is_empty() {
        return Some((2, add(whole, amount, unit(second)?)?));
    }
    // `1h30` and `1h30m`.
    if let Some(minutes) =
        rest.strip_prefix('h').and_then(|rest| number(rest.trim_end_matches("min").trim_end_matches('m')))
    {
        return Some((1, add(add(whole, amount, Unit::Hour)?, minutes, Unit::Minute)?));
    }
    Some((1, add(whole, amount, unit(rest)?)?))
}

/// Adds to a span; `None` where it becomes longer than all calendars.
fn add(span: Span, amount: i16, unit: Unit) -> Option<Span> {
    let wide = i32::from(amount);
    let added = match unit {
        Unit::Second => span.try_seconds(span.get_seconds() + i64::from(amount)),
        Unit::Minute => span.try_minutes(span.get_minutes() + i64::from(amount)),
        Unit::Hour => span.try_hours(span.get_hours() + wide),
        Unit::Day => span.try_days(span.get_days() + wide),
        Unit::Week => span.try_weeks(span.get_weeks() + wide),
        Unit::Fortnight => span.try_weeks(span.get_weeks() + 2 * wide),
        Unit::Month => span.try_months(span.get_months() + wide),
        Unit::Year => span.try_years(span.get_years().saturating_add(amount)),
    };
    added.ok()
}

/// Reads a date in numbers, or with the name of its month.
fn written_date(words: &[Word<'_>], today: Date) -> Result<Option<(usize, Phrase)>, Error> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let text = words[0].text;
    for mark in ['-', '/'] {
        match numbers(at(0), mark)[..] {
            [year, month, day] if year > 999 => return dated(1, (day, month, Some(year)), today, text),
            [first, second, year] if year > 999 || mark == '/' => {
                return either_order([first, second], Some(year), today, text);
            }
            [first, second] if mark == '/' => return either_order([first, second], None, today, text),
            _ => {}
        }
    }
    // `24.-26.12.` and `24 - 26 December`.
    if words.len() > 2
        && CONNECTORS.contains(&at(1))
        && let Some(first) = day_number(at(0))
        && let Ok(Some((count, Phrase::Date(last)))) = written_date(&words[2..], today)
        && let Ok(first) = last.with().day(first).build()
        && first < last
    {
        return Ok(Some((count + 2, Phrase::Days(first, last))));
    }
    // German: `24.12.`, `24.12.2026`.
    match numbers(at(0).trim_end_matches('.'), '.')[..] {
        [day, month] if at(0).ends_with('.') => return dated(1, (day, month, None), today, text),
        [day, month, year] => return dated(1, (day, month, Some(year)), today, text),
        [first, second] if (1..=31).contains(&first) && (1..=12).contains(&second) => {
            let date = format!("the date {first}.{second}.");
            return Err(ambiguous(text, &date, &format!("{first} o'clock and {second} minutes")));
        }
        _ => {}
    }
    named_date(words, today)
}

/// Returns the date of a day and a month, of which only one may be the month.
fn either_order(
    [first, second]: [i16; 2],
    year: Option<i16>,
    today: Date,
    text: &str,
) -> Result<Option<(usize, Phrase)>, Error> {
    match (first <= 12, second <= 12) {
        (true, true) if first != second => {
            let [one, other] = [(first, second), (second, first)]
                .map(|(day, month)| format!("the day {day} of the month {month}"));
            Err(ambiguous(text, &one, &other))
        }
        (true, false) => dated(1, (second, first, year), today, text),
        _ => dated(1, (first, second, year), today, text),
    }
}

/// Reads `24 December`, `December 24th`, each with or without a year.
pub(super) fn named_date(words: &[Word<'_>], today: Date) -> Result<Option<(usize, Phrase)>, Error> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let (count, found, name) = match (day_number(at(0)), month(at(0))) {
        (Some(found), _) if at(1) == "of" => (3, Some(found), month(at(2))),
        (Some(found), _) => (2, Some(found), month(at(1))),
        (None, Some(name)) => (2, day_number(at(1)), Some(name)),
        (None, None) => return Ok(None),
    };
    let (Some(found), Some(name)) = (found, name) else { return Ok(None) };
    let year = number(at(count)).filter(|year| *year > 999);
    let text = joined(&words[..count]);
    dated(count + usize::from(year.is_some()), (found.into(), name.into(), year), today, &text)
}

/// Returns the numbers that a mark separates; none where something else is there too.
fn numbers(word: &str, mark: char) -> Vec<i16> {
    word.split(mark).map(number).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Returns a date of these numbers. Without a year it is the next such date.
fn dated(
    count: usize,
    (day, month, year): (i16, i16, Option<i16>),
    today: Date,
    text: &str,
) -> Result<Option<(usize, Phrase)>, Error> {
    let impossible = || Error::Impossible(text.to_owned());
    let (day, month) = (i8::try_from(day).ok(), i8::try_from(month).ok());
    let (Some(day), Some(month)) = (day, month) else { return Err(impossible()) };
    let of = |year: i16| Date::new(year, month, day);
    let date = match year {
        Some(year) if year < 100 => of(2000 + year).map_err(|_| impossible())?,
        Some(year) => of(year).map_err(|_| impossible())?,
        // The 29 February may be four years away.
        None => (0..=4)
            .filter_map(|years| of(today.year() + years).ok())
            .find(|date| *date >= today)
            .ok_or_else(impossible)?,
    };
    Ok(Some((count, Phrase::Date(date))))
}

/// Reads a time, or a start and an end.
fn times(words: &[Word<'_>], after_preposition: bool) -> Result<Option<(usize, Phrase)>, Error> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    if let Some((first, second)) = at(0).split_once(['-', '–'])
        && let Some((end, Clock::Sure)) = end_time(second)
        && let Some((start, clock)) = time(first)
    {
        // `3-4pm` means both after noon.
        let later = start.saturating_add(12.hours());
        let afternoon = second.ends_with("pm") && clock != Clock::Sure && later < end;
        let start = if afternoon { later } else { start };
        return Ok(Some((1, Phrase::Times(start, Some(end)))));
    }
    let Some((count, start, clock)) = clock(words) else { return Ok(None) };
    let end = words.get(count + 1..).filter(|_| CONNECTORS.contains(&at(count))).and_then(|end| {
        let (more, time, clock) = clock_at_end(end)?;
        Some((count + 1 + more, time, clock))
    });
    let ends = is_day_time_end(at(1));
    match clock {
        // A number alone is a time only after `at`, and at the end or before another phrase.
        Clock::Hour | Clock::EitherHalf if !after_preposition || !ends && end.is_none() => {
            return Ok(None);
        }
        Clock::Sure | Clock::Hour => {}
        Clock::EitherHalf => {
            let hour = start.hour() % 12;
            return Err(ambiguous(words[0].text, &format!("{hour:02}:00"), &format!("{}:00", hour + 12)));
        }
    }
    Ok(Some(match end {
        Some((count, end, Clock::Sure | Clock::Hour)) => (count, Phrase::Times(start, Some(end))),
        _ => (count, Phrase::Times(start, None)),
    }))
}

/// Reads a time of one word, or of two such as `3.30 pm` and `15.30 Uhr`, and returns the number of its words.
fn clock(words: &[Word<'_>]) -> Option<(usize, Time, Clock)> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let (count, time) = match at(1) {
        half @ ("am" | "pm" | "a.m." | "p.m.") => (2, time(&format!("{}{}", at(0), half.replace('.', "")))),
        "uhr" => {
            let hour = at(0).replace('.', ":");
            let sure = |(time, _)| (time, Clock::Sure);
            (2, time(&hour).or_else(|| time(&format!("{hour}:00"))).map(sure))
        }
        _ => (1, time(at(0))),
    };
    time.map(|(time, clock)| (count, time, clock))
}

/// Reads the end of an event, which may be the end of its day.
fn clock_at_end(words: &[Word<'_>]) -> Option<(usize, Time, Clock)> {
    let word = words.first().map_or("", |word| word.lower.as_str());
    clock(words).or_else(|| end_time(word).map(|(time, clock)| (1, time, clock)))
}

/// How sure it is that a word is a time, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Sure,
    /// A number that is an hour after noon.
    Hour,
    /// A number that may be an hour before or after noon.
    EitherHalf,
}

/// Reads the end of an event, which may be the end of its day.
fn end_time(word: &str) -> Option<(Time, Clock)> {
    if word == "24:00" { Some((Time::midnight(), Clock::Sure)) } else { time(word) }
}

fn time(word: &str) -> Option<(Time, Clock)> {
    match word {
        "noon" | "midday" => return Some((Time::constant(12, 0, 0, 0), Clock::Sure)),
        "midnight" => return Some((Time::midnight(), Clock::Sure)),
        _ => {}
    }
    let half = ["am", "pm"].into_iter().find(|half| word.ends_with(half));
    let bare = half.map_or(word, |half| word.trim_end_matches(half));
    // `8.30am` is no number.
    let mark = if half.is_some() && !bare.contains(':') { '.' } else { ':' };
    let (hour, minute, second) = match bare.split(mark).collect::<Vec<_>>()[..] {
        [hour] => (number(hour)?, None, 0),
        [hour, minute] if minute.len() == 2 => (number(hour)?, Some(number(minute)?), 0),
        [hour, minute, second] if minute.len() == 2 && second.len() == 2 => {
            (number(hour)?, Some(number(minute)?), number(second)?)
        }
        _ => return None,
    };
    let hour = i8::try_from(hour).ok()?;
    let hour_of_day = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("pm") => hour % 12 + 12,
        Some(_) => hour % 12,
        None => hour,
    };
    let (minutes, seconds) = (i8::try_from(minute.unwrap_or(0)).ok()?, i8::try_from(second).ok()?);
    let time = Time::new(hour_of_day, minutes, seconds, 0).ok()?;
    let clock = match (half, minute) {
        (Some(_), _) | (_, Some(_)) => Clock::Sure,
        (None, None) if hour <= 12 => Clock::EitherHalf,
        (None, None) => Clock::Hour,
    };
    Some((time, clock))
}
