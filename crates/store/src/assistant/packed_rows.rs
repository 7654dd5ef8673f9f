//! Many rows as one text.
//!
//! SQLite answers from a thread of its own, which hands its rows over one by one: where the kernel puts it on another
//! core, each of them wakes who waits for it, and a list of hundreds of rows takes twice as long. So the engine itself
//! joins the rows of such a list, each with its columns in a row: a text behind its length in bytes, a number as it is.

use crate::Error;

/// Writes the expression that packs columns, none of which may be NULL.
macro_rules! packed {
    ($($kind:ident $column:literal),+) => { concat!("''", $(packed!(@ $kind $column)),+) };
    (@ text $column:literal) => { concat!(" || octet_length(", $column, ") || ' ' || ", $column) };
    (@ number $column:literal) => { concat!(" || ", $column, " || ' '") };
}

pub(super) use packed;

/// What is left to read of packed rows.
pub(super) struct PackedRowReader<'a>(&'a str);

impl<'a> PackedRowReader<'a> {
    /// Reads row after row; `row` reads its columns in the order in which they were packed.
    pub(super) fn rows<T>(packed: &'a str, row: impl Fn(&mut Self) -> Option<T>) -> Result<Vec<T>, Error> {
        let mut left = Self(packed);
        let mut rows = Vec::new();
        while !left.0.is_empty() {
            let broken =
                || sqlx::Error::Decode("rows that were packed are not read as they were written".into());
            rows.push(row(&mut left).ok_or_else(broken)?);
        }
        Ok(rows)
    }

    /// Reads a column that was packed as a number.
    pub(super) fn number(&mut self) -> Option<i64> {
        let (number, left) = self.0.split_once(' ')?;
        self.0 = left;
        number.parse().ok()
    }

    /// Reads a column that was packed as text.
    pub(super) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, left) = self.0.split_at_checked(length)?;
        self.0 = left;
        Some(text.to_owned())
    }
}
