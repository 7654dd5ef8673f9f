//! Expansion: look the name up, bind the inputs, fill the template.

use std::borrow::Cow;

use super::arguments::bind::{Bound, bind};
use super::arguments::{clipped, text_of};
use super::{Catalogue, Error, Expansion, Inputs, Prompt, near_names};

/// Expands a prompt of `catalogue` by name or alias, to at most `limit` bytes.
pub(super) fn expand(
    catalogue: &Catalogue,
    name: &str,
    inputs: Inputs<'_>,
    limit: usize,
) -> Result<Expansion, Error> {
    let prompt = catalogue.find(name).ok_or_else(|| missing(catalogue, name))?;
    let text = filled(prompt, inputs, limit)?;
    Ok(Expansion { prompt: prompt.clone(), text })
}

/// Tells a name that is nowhere from one whose file is there and faulty.
pub(super) fn missing(catalogue: &Catalogue, name: &str) -> Error {
    let faulty = catalogue
        .problems
        .iter()
        .find(|problem| problem.source.relative.rsplit_once('.').is_some_and(|(stem, _)| stem == name));
    if let Some(problem) = faulty {
        return Error::Broken { name: clipped(name), reason: problem.message.clone() };
    }
    let names = catalogue.prompts.keys().chain(catalogue.aliases.keys());
    Error::Unknown { name: clipped(name), near: near_names(name, names.map(String::as_str)) }
}

fn filled(prompt: &Prompt, inputs: Inputs<'_>, limit: usize) -> Result<String, Error> {
    let slots = prompt.template.slots();
    let input_used = slots.iter().any(|slot| slot == "input");
    let bound = bind(prompt, inputs, input_used)?;
    let values: Vec<Option<Cow<str>>> = slots.iter().map(|slot| value(&bound, slot)).collect();
    let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
    // Without a place for it the text follows the body. The contract does so even with an empty one, unless
    // there are arguments: then there is nothing that could get lost.
    let appended =
        (!input_used && (prompt.arguments.is_empty() || !bound.input.is_empty())).then_some(&*bound.input);
    prompt.template.fill(&prompt.body, &values, appended, limit).map_err(|bytes| Error::TooLarge {
        name: prompt.name.clone(),
        bytes,
        limit,
    })
}

fn value<'b>(bound: &'b Bound<'_>, slot: &str) -> Option<Cow<'b, str>> {
    match bound.value(slot) {
        Some(value) => Some(text_of(value)),
        None if slot == "input" => Some(Cow::Borrowed(&bound.input)),
        None => None,
    }
}
