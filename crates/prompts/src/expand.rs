//! Expansion: look the name up, bind the inputs, fill the template.

use std::borrow::Cow;

use super::arguments::bind::{Bound, MOST_WORDS, bind};
use super::arguments::declaration::ALL;
use super::arguments::{text_of, words};
use super::template::{Template, jinja};
use super::{Catalogue, Engine, Error, Expansion, Inputs, Prompt};

/// Expands a prompt of `catalogue` by name or alias, to at most `limit` bytes.
pub(super) fn expand(
    catalogue: &Catalogue,
    name: &str,
    inputs: Inputs<'_>,
    limit: usize,
) -> Result<Expansion, Error> {
    let prompt = catalogue.find(name).ok_or_else(|| catalogue.missing(name))?;
    let text = filled(catalogue, prompt, inputs, limit)?;
    Ok(Expansion { prompt: prompt.clone(), text })
}

fn filled(catalogue: &Catalogue, prompt: &Prompt, inputs: Inputs<'_>, limit: usize) -> Result<String, Error> {
    let bound = bind(prompt, inputs)?;
    let too_large = |bytes| Error::TooLarge { name: prompt.name.clone(), bytes, limit };
    // Without a place for it the text follows the body. The contract appends even an empty text; where a prompt has
    // arguments or another engine, an empty text is left out.
    let contract = prompt.engine == Engine::Literal && prompt.arguments.is_empty();
    let input = bound.value("input").map_or(Cow::Borrowed(&*bound.input), text_of);
    let appended = !prompt.template.places_input() && (contract || !input.is_empty());
    let appended = appended.then_some(&*input);
    match &prompt.template {
        Template::Pieces(pieces) => {
            let numbered = pieces.slots().iter().any(|slot| slot.starts_with('$') && slot != ALL);
            let words = if numbered { words(&input, MOST_WORDS) } else { Vec::new() };
            let values: Vec<_> =
                pieces.slots().iter().map(|slot| value(prompt, &bound, (&input, &words), slot)).collect();
            let values: Vec<_> = values.iter().map(Option::as_deref).collect();
            pieces.fill(&prompt.body, &values, appended, limit).map_err(too_large)
        }
        Template::Jinja(_) => {
            let partials = catalogue.partials.get(&prompt.source.root).cloned().unwrap_or_default();
            jinja::render(prompt, &bound, partials, appended, limit).map_err(|fault| match fault {
                jinja::RenderError::TooLarge(bytes) => too_large(bytes),
                jinja::RenderError::Template(reason) => Error::Template { name: prompt.name.clone(), reason },
            })
        }
    }
}

fn value<'b>(
    prompt: &Prompt,
    bound: &'b Bound<'_>,
    (input, words): (&'b str, &'b [Cow<'_, str>]),
    slot: &str,
) -> Option<Cow<'b, str>> {
    if let Some(value) = bound.value(slot) {
        return Some(text_of(value));
    }
    match slot {
        "input" | ALL => Some(Cow::Borrowed(input)),
        slot => {
            let number: usize = slot.strip_prefix('$')?.parse().ok()?;
            let index = number.checked_sub(1)?;
            match prompt.numbered().nth(index) {
                Some(argument) => bound.value(&argument.name).map(text_of),
                None => words.get(index).map(|word| Cow::Borrowed(&**word)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
