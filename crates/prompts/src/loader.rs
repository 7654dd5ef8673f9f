//! Loader of the files below the roots: prompts, and partials for Jinja templates.

use std::sync::Arc;

use super::bundled::BUNDLED;
use super::catalogue::Item;
use super::{Catalogue, Limits, Root, Source, catalogue, parse};
use adjutant_host::file_catalogue::{FileFormat, Scan};

/// Prompts as a kind of file.
#[derive(Debug)]
pub struct PromptFiles {
    limits: Limits,
}

impl PromptFiles {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits }
    }
}

impl FileFormat for PromptFiles {
    type Item = Item;
    type Catalogue = Catalogue;
    const PLURAL: &'static str = "prompts";
    const BUNDLED: &'static [(&'static str, &'static str)] = BUNDLED;

    /// Returns whether a file is a prompt (`*.md`) or a partial (`_*.md`, `_*.jinja`).
    fn is_meant(&self, _root: usize, name: &[u8]) -> bool {
        let ends_in = |extension: &[u8]| {
            name.len() > extension.len()
                && name[name.len() - extension.len()..].eq_ignore_ascii_case(extension)
        };
        ends_in(b".md") || (name.starts_with(b"_") && ends_in(b".jinja"))
    }

    fn read(&self, _root: usize, source: Source, text: &str, digest: String) -> Result<Item, String> {
        let (path, last) = source.relative.rsplit_once('/').unwrap_or(("", &source.relative));
        if last.starts_with('_') {
            return Ok(Item::Partial(text.into()));
        }
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        let name = if path.is_empty() { stem.to_owned() } else { format!("{path}/{stem}") };
        if name.contains(char::is_control) {
            return Err("its name has control characters".to_owned());
        }
        parse::prompt(&name, source, text, digest).map(|prompt| Item::Prompt(Arc::new(prompt)))
    }

    fn catalogue(&self, roots: &[Root], scans: &[&Scan<Item>], generation: u64) -> Catalogue {
        catalogue::catalogue(roots, scans, self.limits, generation)
    }

    fn generation(catalogue: &Catalogue) -> u64 {
        catalogue.generation
    }
}
