//! Holidays that have the same date every year.

use jiff::civil::Date;

use super::words::Word;

/// The names of holidays, each with its month and its day. An apostrophe is left out.
const HOLIDAYS: [(&[&str], i8, i8); 7] = [
    (&["new", "years", "eve"], 12, 31),
    (&["new", "years", "day"], 1, 1),
    (&["valentines", "day"], 2, 14),
    (&["christmas", "eve"], 12, 24),
    (&["christmas", "day"], 12, 25),
    (&["boxing", "day"], 12, 26),
    (&["halloween"], 10, 31),
];

/// Returns the next day of the holiday that a text begins with, and the number of its words.
pub(super) fn holiday(words: &[Word<'_>], today: Date) -> Option<(usize, Date)> {
    let is_named = |name: &[&str]| {
        words.len() >= name.len()
            && name.iter().zip(words).all(|(name, word)| *name == word.lower.replace(['\'', '’'], ""))
    };
    let (name, month, day) = HOLIDAYS.iter().find(|(name, ..)| is_named(name))?;
    let of = |year: i16| Date::new(year, *month, *day).ok();
    let next = of(today.year()).filter(|date| *date >= today).or_else(|| of(today.year() + 1));
    next.map(|date| (name.len(), date))
}
