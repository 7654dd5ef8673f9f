//! A body cut at its placeholders.

use std::ops::Range;

/// A body cut at its placeholders; an expansion adds up the exact length, allocates once and copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    parts: Vec<Piece>,
    /// Names of the placeholders, in order of first use.
    slots: Vec<String>,
    /// Whether the words of the input go to the declared arguments in order.
    pub(super) named_by_word: bool,
}

#[derive(Clone, Debug)]
enum Piece {
    /// A part of the body, copied as it is.
    Text(Range<usize>),
    /// A value; where there is none, the given part of the body, or nothing.
    Slot { slot: usize, fallback: Option<Range<usize>> },
}

impl Pieces {
    /// The placeholders' names, in order of first use. One that no argument can have starts with `$`.
    pub(crate) fn slots(&self) -> &[String] {
        &self.slots
    }

    /// Puts `values` (one for each of [`Self::slots`]) into `body`, and `appended` after two newlines.
    ///
    /// The length is computed first: one over `limit` is the error, before memory is spent.
    pub(crate) fn fill(
        &self,
        body: &str,
        values: &[Option<&str>],
        appended: Option<&str>,
        limit: usize,
    ) -> Result<String, usize> {
        let parts = || self.parts.iter().map(|piece| piece.text(body, values));
        let tail = appended.map_or(0, |text| text.len().saturating_add(2));
        let length = parts().fold(tail, |sum, part| sum.saturating_add(part.len()));
        if length > limit {
            return Err(length);
        }
        let mut filled = String::with_capacity(length);
        parts().for_each(|part| filled.push_str(part));
        if let Some(text) = appended {
            filled.push_str("\n\n");
            filled.push_str(text);
        }
        Ok(filled)
    }

    pub(super) fn push_slot(&mut self, name: &str, fallback: Option<Range<usize>>) {
        let slot = self.slots.iter().position(|slot| slot == name).unwrap_or_else(|| {
            self.slots.push(name.to_owned());
            self.slots.len() - 1
        });
        self.parts.push(Piece::Slot { slot, fallback });
    }

    pub(super) fn push_text(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.parts.push(Piece::Text(range));
        }
    }
}

impl Piece {
    fn text<'a>(&self, body: &'a str, values: &[Option<&'a str>]) -> &'a str {
        match self {
            Self::Text(range) => &body[range.clone()],
            Self::Slot { slot, fallback } => values[*slot]
                .or_else(|| fallback.as_ref().map(|range| &body[range.clone()]))
                .unwrap_or_default(),
        }
    }
}
