//! Many rows as one text.
//!
//! SQLite runs on a separate thread, which passes rows on one by one. If the kernel puts that thread on another core,
//! each row wakes the reader, and a list of hundreds of rows takes twice as long. So the engine itself joins the rows
//! of such a list, column after column: the length of a text in bytes and then the text, a number as it is.

use crate::Error;

/// Writes the expression that packs columns, none of which may be NULL.
macro_rules! packed {
    ($($kind:ident $column:literal),+) => { concat!("''", $(packed!(@ $kind $column)),+) };
    (@ text $column:literal) => { concat!(" || octet_length(", $column, ") || ' ' || ", $column) };
    (@ number $column:literal) => { concat!(" || ", $column, " || ' '") };
}

pub(super) use packed;

/// The unread rest of packed rows.
pub(super) struct PackedRowReader<'a>(&'a str);

impl<'a> PackedRowReader<'a> {
    /// Reads all rows; `row` reads the columns of one in the order in which they were packed.
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
