//! A number with its noun.

use std::fmt::Display;

/// Returns a number and an English noun, with the ending of the plural: `1 file`, `2 files`, `0 processes`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if noun.ends_with('s') { "es" } else { "s" };
    format!("{number} {noun}{}", if number == N::from(1) { "" } else { plural })
}
