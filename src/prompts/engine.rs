//! How a body becomes a prompt: it is cut into pieces once, when it is loaded; an expansion adds up the exact
//! length, allocates once and copies. Text that was put in is never looked at again.

mod literal;

use std::ops::Range;

use super::{Argument, Engine};

/// A body cut at its placeholders.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// Names of the placeholders, in order of first use.
    slots: Vec<String>,
}

#[derive(Clone, Debug)]
enum Piece {
    /// A part of the body, copied as it is.
    Text(Range<usize>),
    /// A value; where there is none, the given part of the body, or nothing.
    Slot { slot: usize, fallback: Option<Range<usize>> },
}

impl Template {
    /// Cuts a body by the rules of its engine; the error says what is wrong with it.
    pub(super) fn compile(engine: Engine, body: &str, declared: &[Argument]) -> Result<Self, String> {
        match engine {
            Engine::Literal | Engine::Args | Engine::Jinja => Ok(literal::compile(body, declared)),
        }
    }

    /// The placeholders' names, in order of first use.
    pub(super) fn slots(&self) -> &[String] {
        &self.slots
    }

    /// Puts `values` (one for each of [`Self::slots`]) into `body`, and `appended` behind two newlines.
    ///
    /// The length is computed first: one over `limit` is the error, before memory is spent.
    pub(super) fn fill(
        &self,
        body: &str,
        values: &[Option<&str>],
        appended: Option<&str>,
        limit: usize,
    ) -> Result<String, usize> {
        let parts = || self.pieces.iter().map(|piece| piece.text(body, values));
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

    fn slot(&mut self, name: &str) -> usize {
        self.slots.iter().position(|slot| slot == name).unwrap_or_else(|| {
            self.slots.push(name.to_owned());
            self.slots.len() - 1
        })
    }

    fn push_text(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.pieces.push(Piece::Text(range));
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

#[cfg(test)]
mod tests {
    use super::Template;
    use crate::prompts::Engine;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn literal(body: &str, input: &str, limit: usize) -> Result<String, usize> {
        let template = Template::compile(Engine::Literal, body, &[]).unwrap();
        let appended = template.slots().is_empty().then_some(input);
        template.fill(body, &[Some(input)][..template.slots().len()], appended, limit)
    }

    #[test]
    fn follows_the_contract() {
        for (body, input, expected) in [
            ("Topic: {{input}}", "x", "Topic: x"),
            ("{{input}} and {{input}}", "x", "x and x"),
            ("Body", "x", "Body\n\nx"),
            ("Body", "", "Body\n\n"),
            ("{{input}}", "", ""),
            ("{{{input}}}", "x", "{x}"),
            ("{{input}", "x", "{{input}\n\nx"),
            ("{{ input }}", "x", "{{ input }}\n\nx"),
            ("{{other}} {{input}}", "{{input}} {{other}}", "{{other}} {{input}} {{other}}"),
            ("{{{{input}}}}", "x", "{{x}}"),
            ("${{ github.sha }} {{input", "x", "${{ github.sha }} {{input\n\nx"),
        ] {
            assert_eq!(literal(body, input, 1000).as_deref(), Ok(expected), "{body}");
        }
    }

    #[test]
    fn counts_before_it_builds() {
        let body = "{{input}}".repeat(1000);
        let input = "x".repeat(1 << 20);
        assert_eq!(literal(&body, &input, 4 << 20), Err(1000 << 20));
        assert_eq!(literal("{{input}}", "1234", 4).as_deref(), Ok("1234"));
        assert_eq!(literal("{{input}}", "12345", 4), Err(5));
    }

    proptest! {
        #[test]
        fn equals_the_plain_model(parts in proptest::collection::vec("\\PC{0,8}|\\{\\{input\\}\\}|[{}]{1,4}|input", 0..12), input in "\\PC{0,12}|\\{\\{input\\}\\}|[{}]{0,6}") {
            let body = parts.concat();
            let expected = if body.contains("{{input}}") { body.replace("{{input}}", &input) } else { format!("{body}\n\n{input}") };
            prop_assert_eq!(literal(&body, &input, usize::MAX), Ok(expected));
        }
    }
}
