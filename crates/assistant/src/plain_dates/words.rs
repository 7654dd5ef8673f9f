//! Words of a text, and the numbers and names in them.

use jiff::civil::Weekday;

/// A word as it is written, and in lower case without brackets and punctuation at its end.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) lower: String,
}

/// Words and marks between a start and an end.
pub(super) const CONNECTORS: [&str; 5] = ["-", "–", "to", "until", "till"];

/// Splits a text at its white space, and a range of days at its dash.
pub(super) fn split(text: &str) -> Vec<Word<'_>> {
    let bare =
        |text: &str| text.trim_start_matches('(').trim_end_matches([',', ';', '!', '?', ')']).to_lowercase();
    // `@3pm`.
    let bare = |text: &str| {
        let lower = bare(text);
        match lower.strip_prefix('@') {
            Some(time) if time.starts_with(|c: char| c.is_ascii_digit()) => time.to_owned(),
            _ => lower,
        }
    };
    let word = |text| Word { text, lower: bare(text) };
    let mut words = Vec::new();
    let mut rest = text.split_whitespace().peekable();
    while let Some(text) = rest.next() {
        let dash = text.find(['-', '–']).filter(|dash| {
            let next = rest.peek().map_or("", |next| next.trim_end_matches([',', ';'])).to_lowercase();
            // `Dec 24-26`, but not `24 Dec 9-10`.
            let before =
                |back: usize| words.iter().rev().nth(back).map_or("", |word: &Word<'_>| &*word.lower);
            let after_month = month(before(0)).is_some() && day_number(before(1)).is_none();
            let end = text[*dash..].trim_start_matches(['-', '–']);
            is_range(&text[..*dash], end, after_month || month(&next).is_some())
        });
        if let Some(dash) = dash {
            let end = text[dash..].trim_start_matches(['-', '–']);
            words.extend([&text[..dash], &text[dash..text.len() - end.len()], end].map(word));
        } else {
            words.push(word(text));
        }
    }
    words
}

/// Returns whether two texts are the days of a range: `24.12.` and `2.1.`, `24.` and `26.12.`, `Mon` and `Wed`, or `24` and
/// `26` next to a month.
fn is_range(first: &str, last: &str, next_to_month: bool) -> bool {
    let dotted = |text: &str| {
        let ends = text.ends_with('.') || text.matches('.').count() == 2;
        ends && text.split('.').all(|part| part.is_empty() || number(part).is_some())
    };
    let named = |text: &str| weekday(text.to_lowercase().trim_end_matches([',', ';'])).is_some();
    let day = |text: &str| day_number(text.trim_end_matches([',', ';'])).is_some();
    let days = next_to_month && day(first) && day(last);
    dotted(first) && last.starts_with(|c: char| c.is_ascii_digit()) && last.contains('.')
        || named(first) && named(last)
        || days
}

/// Returns whether a word may follow a time of day, so that a number before it is an hour and not that of a house.
pub(super) fn is_day_time_end(word: &str) -> bool {
    let words = [
        "", "for", "on", "in", "with", "sharp", "and", "this", "next", "today", "tonight", "tomorrow", "tmrw",
    ];
    words.contains(&word) || weekday(word).is_some()
}

/// Returns whether a word is a dash.
pub(super) fn is_dash(word: &str) -> bool {
    word == "-" || word == "–"
}

/// Returns words as they are written.
pub(super) fn joined(words: &[Word<'_>]) -> String {
    words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Fortnight,
    Month,
    Year,
}

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "fortnight" | "fortnights" => Unit::Fortnight,
        "month" | "months" => Unit::Month,
        "year" | "years" => Unit::Year,
        _ => return None,
    })
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" | "tues" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

/// Returns the number of a month by its name or the first three letters of it.
pub(super) fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.trim_end_matches('.');
    let number = MONTHS.iter().position(|name| *name == word || name.get(..3) == Some(word));
    let number = number.or((word == "sept").then_some(8))?;
    i8::try_from(number + 1).ok()
}

/// Returns a number of at most four digits.
pub(super) fn number(word: &str) -> Option<i16> {
    let fits = (1..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if fits { word.parse().ok() } else { None }
}

/// Returns a small number that is written as a word.
pub(super) fn number_word(word: &str) -> Option<i16> {
    const WORDS: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let at = WORDS.iter().position(|name| *name == word)?;
    i16::try_from(at + 1).ok()
}

/// Returns the day of a month that a word such as `1`, `1.` or `1st` names.
pub(super) fn day_number(word: &str) -> Option<i8> {
    let (digits, rest) = split_number(word);
    let day = number(digits).filter(|_| matches!(rest, "" | "." | "st" | "nd" | "rd" | "th"))?;
    i8::try_from(day).ok().filter(|day| *day <= 31)
}

/// Returns whether a word is the day of a month such as `1st`.
pub(super) fn is_ordinal(word: &str) -> bool {
    word.ends_with(char::is_alphabetic) && day_number(word).is_some()
}

/// Splits a word after its leading digits.
pub(super) fn split_number(word: &str) -> (&str, &str) {
    word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len()))
}

/// Returns whether a word is a time with a point, such as `14.30`, which as a number means something else.
pub(super) fn is_clock_with_point(word: &str) -> bool {
    let is_below = |text: &str, end| number(text).is_some_and(|number| number < end);
    word.split_once('.')
        .is_some_and(|(hour, minute)| minute.len() == 2 && is_below(hour, 24) && is_below(minute, 60))
}
