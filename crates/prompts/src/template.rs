//! Templates: a body is compiled once, when its file is loaded. Text that was put in is never searched for places.

mod dollar;
pub(super) mod jinja;
mod literal;
mod segments;

use super::{Argument, Engine};
pub(super) use jinja::Jinja;
pub(super) use segments::Pieces;

/// A body, ready to be filled.
#[derive(Clone, Debug)]
pub(super) enum Template {
    Pieces(Pieces),
    Jinja(Jinja),
}

impl Template {
    /// Prepares the body of a file, which is a part of `text`, by the rules of its engine. Adds the arguments that the body
    /// itself declares. The error says what is wrong with it.
    pub(super) fn compile(
        engine: Engine,
        (text, body): (&str, &str),
        declared: &mut Vec<Argument>,
    ) -> Result<Self, String> {
        match engine {
            Engine::Literal => Ok(Self::Pieces(literal::compile(body, declared))),
            Engine::Args => {
                let (pieces, implied) = dollar::compile(body, declared);
                declared.extend(implied);
                Ok(Self::Pieces(pieces))
            }
            Engine::Jinja => Jinja::compile(text, body).map(Self::Jinja),
        }
    }

    /// Returns the names that the body uses. A name that begins with `$` is not the name of an argument.
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::Pieces(pieces) => pieces.slots(),
            Self::Jinja(jinja) => jinja.names(),
        }
    }

    /// Returns whether the words of the input go to the declared arguments in order, because the body has a `$name` of
    /// one.
    pub(super) fn names_words(&self) -> bool {
        matches!(self, Self::Pieces(pieces) if pieces.named_by_word)
    }

    /// Returns whether the body has a place for free text, apart from the places of arguments.
    pub(super) fn places_input(&self) -> bool {
        self.names().iter().any(|name| name == "input" || name.starts_with('$'))
    }
}

#[cfg(test)]
mod tests {
    use super::Template;
    use crate::Engine;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn literal(body: &str, input: &str, limit: usize) -> Result<String, usize> {
        let Ok(Template::Pieces(pieces)) = Template::compile(Engine::Literal, (body, body), &mut Vec::new())
        else {
            panic!()
        };
        let appended = pieces.slots().is_empty().then_some(input);
        pieces.fill(body, &[Some(input)][..pieces.slots().len()], appended, limit)
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
