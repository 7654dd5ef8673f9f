//! Parts of the day, such as `tomorrow evening at 8` or `6 in the morning`, which say in which half of the day a time is.

use super::words::{Word, is_day_time_end, number, weekday};

/// Words for parts of the day.
pub(super) const PARTS: [&str; 4] = ["morning", "afternoon", "evening", "night"];

/// Returns `am` or `pm` for an hour of a clock with twelve hours in a part of the day; `None` for an hour that does not
/// fit.
fn half(part: &str, hour: i16) -> Option<&'static str> {
    match (part, hour) {
        ("morning", 1..=11) | ("night", 1..=4) => Some("am"),
        ("afternoon", 1..=7 | 12) | ("evening", 4..=11) | ("night", 8..=11) => Some("pm"),
        _ => None,
    }
}

/// Returns the hour of a time such as `8`, `8:30` or `18:00`; `None` for one with `am` or `pm`.
fn hour(word: &str) -> Option<i16> {
    let (hour, minute) = word.split_once([':', '.']).unwrap_or((word, "00"));
    let minute = number(minute).filter(|minutes| *minutes < 60 && minute.len() == 2);
    minute.and(number(hour)).filter(|hour| *hour < 24)
}

/// Returns the hours of a range such as `19:30-21:00`.
fn range(word: &str) -> Option<[i16; 2]> {
    let (start, end) = word.split_once(['-', '–']).filter(|_| word.contains(':'))?;
    Some([hour(start)?, hour(end)?])
}

/// Reads the times of a text whose part of the day is named, so that `8` with `evening` is `8pm`, and takes the part of the day
/// out. A part that does not fit stays.
pub(super) fn apply(words: &mut Vec<Word<'_>>) {
    for at in 0..words.len() {
        four_digits(words, at);
    }
    for at in (1..words.len()).rev() {
        o_clock(words, at);
    }
    let mut at = 0;
    while at < words.len() {
        after_a_time(words, at);
        after_a_day(words, at);
        at += 1;
    }
}

/// Reads `20 o'clock`, and takes the words out of `8 o'clock`.
fn o_clock(words: &mut Vec<Word<'_>>, at: usize) {
    if !matches!(words[at].lower.as_str(), "o'clock" | "o’clock") {
        return;
    }
    let Some(hour) = number(&words[at - 1].lower).filter(|hour| *hour < 24) else { return };
    if hour > 12 {
        words[at - 1].lower.push_str(":00");
    }
    words.remove(at);
}

/// Reads `at 0900` and `at 1530`. A number before another word may be that of a house.
fn four_digits(words: &mut [Word<'_>], at: usize) {
    let [before, time, rest @ ..] = &mut words[at..] else { return };
    let ends = rest.first().is_none_or(|next| is_day_time_end(&next.lower));
    if !matches!(before.lower.as_str(), "at" | "@") || time.lower.len() != 4 {
        return;
    }
    if let (Some(hour @ 0..24), Some(minute @ 0..60)) =
        (time.lower.get(..2).and_then(number), time.lower.get(2..).and_then(number))
        && (ends || time.lower.starts_with('0'))
    {
        time.lower = format!("{hour:02}:{minute:02}");
    }
}

/// Reads `6 in the morning` and `11 at night`.
fn after_a_time(words: &mut Vec<Word<'_>>, at: usize) {
    let word = |index: usize| words.get(at + index).map_or("", |word| word.lower.as_str());
    let (part, count) = match (word(1), word(2), word(3)) {
        ("in", "the", part @ ("morning" | "afternoon" | "evening")) => (part, 3),
        ("at", "night", _) => ("night", 2),
        _ => return,
    };
    let Some(half) = hour(word(0)).and_then(|hour| half(part, hour)) else { return };
    words[at].lower.push_str(half);
    words.drain(at + 1..=at + count);
}

/// Reads `tomorrow morning at 8`, `this evening 7:30` and `tonight at 9`, where the text has one such time.
fn after_a_day(words: &mut Vec<Word<'_>>, at: usize) {
    let word = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let day = word(at);
    let is_tonight = day == "tonight";
    let is_day =
        matches!(day, "this" | "today" | "tomorrow" | "tmrw" | "yesterday") || weekday(day).is_some();
    let part = match PARTS.into_iter().find(|part| *part == word(at + 1)) {
        _ if is_tonight => "evening",
        Some(part) if is_day => part,
        _ => return,
    };
    let is_this = day == "this";
    let is_half_word = |word: &str| matches!(word, "am" | "pm" | "a.m." | "p.m.");
    // A number alone is a time only after a preposition.
    let is_time = |index: &usize| {
        let is_alone = number(word(*index)).is_some();
        let after = index.checked_sub(1).map_or("", word);
        let named = word(*index).contains(':') || is_alone && matches!(after, "at" | "@" | "from" | "by");
        named && hour(word(*index)).is_some() && !is_half_word(word(*index + 1))
    };
    let times: Vec<usize> = (0..words.len()).filter(is_time).collect();
    let is_half = |word: &Word<'_>| {
        let bare = word.lower.strip_suffix("am").or_else(|| word.lower.strip_suffix("pm"));
        is_half_word(&word.lower) || bare.is_some_and(|bare| bare.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_clear = |hour: i16| if part == "morning" { hour < 12 } else { hour >= 12 };
    let ranges = words.iter().filter_map(|word| range(&word.lower)).collect::<Vec<_>>();
    match times[..] {
        [] if !ranges.is_empty() => {
            if !ranges.iter().flatten().all(|hour| is_clear(*hour)) {
                return;
            }
        }
        [] if words.iter().any(is_half) => {}
        [] => return,
        _ => {
            let hours = times.iter().map(|time| hour(word(*time)).map(|hour| (hour, half(part, hour))));
            let hours: Option<Vec<_>> = hours.collect();
            let Some(hours) =
                hours.filter(|hours| hours.iter().all(|(hour, half)| half.is_some() || is_clear(*hour)))
            else {
                return;
            };
            for (time, (_, half)) in times.iter().zip(hours) {
                words[*time].lower.push_str(half.unwrap_or_default());
            }
        }
    }
    if is_tonight {
        return;
    }
    if is_this {
        "today".clone_into(&mut words[at].lower);
    }
    words.remove(at + 1);
}
