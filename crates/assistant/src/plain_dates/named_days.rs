//! Days that are named by their place in a week, a month or a year, or by their distance from a different day.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan as _, Zoned};

use super::phrases::{
    Phrase, after, ambiguous, coming, ends_phrase, length, moved, named_date, shown, unnamed_phrase,
    weekday_with_date,
};
use super::words::{Word, day_number, is_ordinal, joined, month, number, weekday};
use super::{Error, is_exact};

/// Days of a week.
const DAYS_OF_WEEK: i64 = 7;

/// A week, a month or a year.
struct Period {
    /// The number of its words.
    count: usize,
    first: Date,
    last: Date,
    /// The next period of the same name, where the text leaves the year open.
    next: Option<(Date, Date)>,
}

/// Returns the phrase that a text begins with, and the number of its words. `after_preposition` says that a word such as
/// `at` is before it.
pub(super) fn phrase(
    words: &[Word<'_>],
    now: &Zoned,
    after_preposition: bool,
) -> Result<Option<(usize, Phrase)>, Error> {
    match named_day(words, now, after_preposition)? {
        Some(found) => Ok(Some(found)),
        None => unnamed_phrase(words, now, after_preposition),
    }
}

/// Returns the named day that a text begins with, and the number of its words.
fn named_day(
    words: &[Word<'_>],
    now: &Zoned,
    after_preposition: bool,
) -> Result<Option<(usize, Phrase)>, Error> {
    let today = now.date();
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    if let Some((count, date)) = day_of_period(words, today)? {
        return Ok(Some((count, Phrase::Date(date))));
    }
    if let Some((count, date)) = weekday_of_week(words, today)? {
        return Ok(Some((count, Phrase::Date(date))));
    }
    if let Some(found) = weekend(words, today, after_preposition)? {
        return Ok(Some(found));
    }
    if at(0) == "the"
        && let Some(found) = day_of_month(words, today)?
    {
        return Ok(Some(found));
    }
    if let Some(day) = weekday(at(0))
        && let Some((count, Phrase::Date(named))) = day_of_month(&words[1..], today)?
    {
        return weekday_with_date(day, named, &words[1..=count]);
    }
    if let ("last", Some(day)) = (at(0), weekday(at(1))) {
        return Ok(Some((2, last(day, words, today)?)));
    }
    distant_day(words, now)
}

/// Reads `end of the month`, `last day of December`, `first Monday of next month` and `the 3rd of the month`.
fn day_of_period(words: &[Word<'_>], today: Date) -> Result<Option<(usize, Date)>, Error> {
    let article = usize::from(words.first().is_some_and(|word| word.lower == "the"));
    let at = |index: usize| words.get(article + index).map_or("", |word| word.lower.as_str());
    let ordinal =
        ["last", "first", "second", "third", "fourth", "fifth"].iter().position(|name| *name == at(0));
    let number = number_of(at(0));
    let ordinal = ordinal.or_else(|| usize::try_from(number?).ok().filter(|number| *number <= 5));
    let (skipped, named) = match (ordinal, number, weekday(at(1)), at(1), at(2)) {
        _ if [at(0), at(1)] == ["end", "of"] => (2, Named::End),
        (Some(0), .., "day", "of") => (3, Named::Last),
        (Some(1), .., "day", "of") => (3, Named::First),
        (Some(number), _, Some(day), _, "of" | "in") => (3, Named::Weekday(number, day)),
        (_, Some(day), _, "of", "the" | "this" | "next") => (2, Named::Day(day)),
        _ => return Ok(None),
    };
    let Some(period) = period(&words[article + skipped..], today) else {
        return match named {
            // Without these words it would be a different Friday.
            Named::Weekday(..) if at(2) == "of" => Err(not_understood(words, article + 3)),
            _ => Ok(None),
        };
    };
    let count = article + skipped + period.count;
    let is_week = period.last < after(period.first, DAYS_OF_WEEK);
    let text = || joined(&words[..count]);
    if named == Named::End {
        let next = words.get(count).map_or("", |word| word.lower.as_str());
        // `End of year party`.
        if !ends_phrase(next) {
            return Ok(None);
        }
        if is_week {
            let friday = after(period.first, 4);
            return Err(ambiguous(&text(), &shown(friday), &shown(period.last)));
        }
    }
    let of = |first: Date, last: Date| match named {
        Named::First => Some(first),
        Named::End | Named::Last => Some(last),
        Named::Day(day) => first.with().day(day).build().ok().filter(|date| *date <= last),
        Named::Weekday(0, day) => last.nth_weekday_of_month(-1, day).ok(),
        Named::Weekday(number, day) => first.nth_weekday_of_month(i8::try_from(number).ok()?, day).ok(),
    };
    if is_week && matches!(named, Named::Weekday(..) | Named::Day(_)) {
        return Err(not_understood(words, count));
    }
    let date = match (of(period.first, period.last), period.next) {
        (Some(date), Some((first, last))) if date < today => of(first, last),
        (date, _) => date,
    };
    let date = date.ok_or_else(|| Error::Impossible(text()))?;
    if date < today { Err(Error::PassedDay(text(), shown(date))) } else { Ok(Some((count, date))) }
}

/// A day of a period.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    First,
    Last,
    /// The last day too, but the end of a week may also be its Friday.
    End,
    Day(i8),
    /// The weekday with this number; 0 is the last.
    Weekday(usize, Weekday),
}

/// Returns the number of a word such as `3rd`.
fn number_of(word: &str) -> Option<i8> {
    day_number(word).filter(|_| is_ordinal(word))
}

/// Reads `the 1st`, `1st` and `the 3rd of March`.
fn day_of_month(words: &[Word<'_>], today: Date) -> Result<Option<(usize, Phrase)>, Error> {
    let article = usize::from(words.first().is_some_and(|word| word.lower == "the"));
    let at = |index: usize| words.get(article + index).map_or("", |word| word.lower.as_str());
    let Some(day) = number_of(at(0)) else {
        return Ok(None);
    };
    if let Some((count, date)) = named_date(&words[article..], today)? {
        return Ok(Some((count + article, date)));
    }
    // `on the 1st floor` is not a date.
    if !ends_phrase(at(1)) {
        return Ok(None);
    }
    let months = (0..=12).map(|months| today.first_of_month().saturating_add(months.months()));
    let mut dates = months.filter_map(|first| first.with().day(day).build().ok());
    let count = article + 1;
    let date = dates.find(|date| *date >= today).ok_or_else(|| Error::Impossible(joined(&words[..count])))?;
    Ok(Some((count, Phrase::Date(date))))
}

/// Reads `the month`, `this week`, `next year`, `December` and `December 2027`.
fn period(words: &[Word<'_>], today: Date) -> Option<Period> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let (skipped, ahead) = match at(0) {
        "next" => (1, 1),
        "the" | "this" => (1, 0),
        _ => (0, 0),
    };
    let fixed = |count: usize, first: Date, last: Date| Some(Period { count, first, last, next: None });
    match at(skipped) {
        "week" => {
            let monday = after(coming(Weekday::Monday, today), DAYS_OF_WEEK * (ahead - 1));
            fixed(skipped + 1, monday, after(monday, 6))
        }
        "month" => {
            let first = today.first_of_month().saturating_add(ahead.months());
            fixed(skipped + 1, first, first.last_of_month())
        }
        "year" => {
            let first = today.first_of_year().saturating_add(ahead.years());
            fixed(skipped + 1, first, first.last_of_year())
        }
        name => {
            let month = month(name).filter(|_| skipped == 0)?;
            let of = |year: i16| {
                let first = Date::new(year, month, 1).ok()?;
                Some((first, first.last_of_month()))
            };
            if let Some(year) = number(at(1)).filter(|year| *year > 999) {
                let (first, last) = of(year)?;
                return fixed(2, first, last);
            }
            let this = of(today.year())?;
            let next = of(today.year().checked_add(1)?);
            let (first, last) = if this.1 < today { next? } else { this };
            Some(Period { count: 1, first, last, next: next.filter(|_| this.1 >= today) })
        }
    }
}

/// Reads `Friday next week`, `Friday of this week`, `next week Friday` and `next week on Friday`.
fn weekday_of_week(words: &[Word<'_>], today: Date) -> Result<Option<(usize, Date)>, Error> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let is_week = |index: usize| matches!(at(index), "this" | "next") && at(index + 1) == "week";
    let (count, day, week) = match (weekday(at(0)), at(1)) {
        (Some(day), _) if is_week(1) => (3, day, 1),
        (Some(day), "of") if is_week(2) => (4, day, 2),
        _ if is_week(0) => match (weekday(at(2)), at(2), weekday(at(3))) {
            (Some(day), ..) => (3, day, 0),
            (_, "on", Some(day)) => (4, day, 0),
            _ => return Ok(None),
        },
        (Some(_), "after") if at(2) == "next" => return Err(not_understood(words, 3)),
        _ => return Ok(None),
    };
    let Some(Period { first, .. }) = period(&words[week..], today) else { return Ok(None) };
    let date = coming(day, after(first, -1));
    let text = || joined(&words[..count]);
    if date < today { Err(Error::PassedDay(text(), shown(date))) } else { Ok(Some((count, date))) }
}

/// Reads `last Friday`: the one before today, if that is also the one of the last week.
fn last(day: Weekday, words: &[Word<'_>], today: Date) -> Result<Phrase, Error> {
    // `last Friday of December` is another day.
    if words.get(2).is_some_and(|word| matches!(word.lower.as_str(), "of" | "in")) {
        return Err(Error::NotUnderstood(joined(&words[..3])));
    }
    let before = after(coming(day, after(today, -1)), -7);
    let of_week = after(coming(day, after(coming(Weekday::Monday, today), -1)), -14);
    if before != of_week {
        return Err(ambiguous(&joined(&words[..2]), &shown(of_week), &shown(before)));
    }
    Ok(Phrase::Date(before))
}

/// Reads `on the weekend` and `over the weekend`.
fn weekend(
    words: &[Word<'_>],
    today: Date,
    after_preposition: bool,
) -> Result<Option<(usize, Phrase)>, Error> {
    let is_named = |names: &[&str]| {
        words.len() >= names.len() && names.iter().zip(words).all(|(name, word)| *name == word.lower)
    };
    let count = if is_named(&["over", "the", "weekend"]) {
        3
    } else if after_preposition && is_named(&["the", "weekend"]) {
        2
    } else if after_preposition && is_named(&["weekend"]) {
        1
    } else {
        return Ok(None);
    };
    if matches!(today.weekday(), Weekday::Saturday | Weekday::Sunday) {
        return Err(ambiguous(&joined(&words[..count]), "this weekend", "next weekend"));
    }
    let saturday = coming(Weekday::Saturday, today);
    Ok(Some((count, Phrase::Days(saturday, after(saturday, 1)))))
}

/// Reads `two weeks from now`, `a week from Friday` and `3 days before 24.12.`.
fn distant_day(words: &[Word<'_>], now: &Zoned) -> Result<Option<(usize, Phrase)>, Error> {
    let at = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let Some((count, distance)) = length(words) else { return Ok(None) };
    let relation = at(count);
    if !matches!(relation, "from" | "after" | "before") {
        return Ok(None);
    }
    if relation == "from" && at(count + 1) == "now" {
        return Ok(Some((count + 2, moved(now, distance, &words[..count + 2])?)));
    }
    let Some((more, base)) = phrase(&words[count + 1..], now, true)? else { return Ok(None) };
    let end = count + 1 + more;
    // `2 days from Friday` may last two days.
    let is_sure =
        relation != "from" || distance.get_weeks() != 0 || matches!(at(count + 1), "today" | "tomorrow");
    let date = match base {
        Phrase::Date(date) if is_sure && !is_exact(&distance) => {
            let distance: Span = if relation == "before" { -distance } else { distance };
            date.checked_add(distance).map_err(|_| Error::Impossible(joined(&words[..end])))?
        }
        _ => return Err(not_understood(words, end)),
    };
    Ok(Some((end, Phrase::Date(date))))
}

fn not_understood(words: &[Word<'_>], count: usize) -> Error {
    Error::NotUnderstood(joined(&words[..count]))
}
