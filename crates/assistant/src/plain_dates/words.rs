//! Words of a text, and the numbers and names in them.

use jiff::civil::Weekday;

/// A word as it is written, and in lower case without punctuation at its end.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) lower: String,
}

pub(super) fn split(text: &str) -> Vec<Word<'_>> {
    let word = |text: &'_ str| text.trim_end_matches([',', ';', '!', '?']).to_lowercase();
    text.split_whitespace().map(|text| Word { text, lower: word(text) }).collect()
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
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

/// Splits a word after its leading digits.
pub(super) fn split_number(word: &str) -> (&str, &str) {
    word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len()))
}
