//! Catalogue of the prompts below all roots: precedence, hidden prompts, aliases, and lookup by name.

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization as _;

use super::arguments::clipped;
use super::{Catalogue, Error, Limits, Problem, Prompt, Root};
use adjutant_base::text::suggest::near_names;
use adjutant_host::file_catalogue::Scan;

/// A file that was read.
#[derive(Clone, Debug)]
pub enum Item {
    Prompt(Arc<Prompt>),
    /// A part for Jinja templates: its text.
    Partial(Arc<str>),
}

impl Catalogue {
    /// Returns the prompt of that name or alias.
    pub fn find(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.get(name).or_else(|| self.prompts.get(self.aliases.get(name)?))
    }

    /// Returns the problem of the file that should hold a prompt of this name.
    pub fn broken(&self, name: &str) -> Option<&Problem> {
        let is_named = |relative: &str| relative.rsplit_once('.').is_some_and(|(stem, _)| stem == name);
        self.problems.iter().find(|problem| is_named(&problem.source.relative))
    }

    /// Returns the error for a name without a prompt: its file is faulty, or does not exist.
    pub fn missing(&self, name: &str) -> Error {
        if let Some(problem) = self.broken(name) {
            return Error::Broken { name: clipped(name), reason: problem.message.clone() };
        }
        let names = self.prompts.keys().chain(self.aliases.keys());
        Error::Unknown { name: clipped(name), near: near_names(name, names.map(String::as_str)) }
    }
}

/// Joins the roots' scans, in the order of precedence.
pub(super) fn catalogue(roots: &[Root], scans: &[&Scan<Item>], limits: Limits, generation: u64) -> Catalogue {
    let mut catalogue = Catalogue { generation, ..Catalogue::default() };
    let mut remaining = limits.files;
    for (root, scan) in roots.iter().zip(scans) {
        add(&mut catalogue, root, scan, &mut remaining);
    }
    name_look_alikes(&mut catalogue);
    add_aliases(&mut catalogue);
    catalogue
}

fn add(catalogue: &mut Catalogue, root: &Root, scan: &Scan<Item>, remaining: &mut usize) {
    let mut own: BTreeMap<&str, Arc<Prompt>> = BTreeMap::new();
    for (source, item) in scan.parsed(root, remaining, &mut catalogue.problems) {
        match item {
            Item::Partial(text) => {
                let partials = catalogue.partials.entry(source.root).or_default();
                Arc::make_mut(partials).entry(source.relative).or_insert_with(|| text.clone());
            }
            Item::Prompt(prompt) => match own.entry(&prompt.name) {
                btree_map::Entry::Vacant(place) => {
                    place.insert(prompt.clone());
                }
                btree_map::Entry::Occupied(mut place) => {
                    // `a.MD` sorts before `a.md`; the usual spelling is the one that is meant.
                    let usual =
                        source.relative.rsplit_once('.').is_some_and(|(_, extension)| extension == "md");
                    let loser = if usual { place.insert(prompt.clone()) } else { prompt.clone() };
                    let winner = &place.get().source.relative;
                    catalogue.problems.push(Problem {
                        source: loser.source.clone(),
                        message: format!("it has the same name as `{winner}`, which is served"),
                    });
                }
            },
        }
    }
    for (name, prompt) in own {
        match catalogue.prompts.entry(name.to_owned()) {
            btree_map::Entry::Vacant(place) => {
                place.insert(prompt);
            }
            btree_map::Entry::Occupied(_) => catalogue.overridden.push(prompt),
        }
    }
}

/// Adds a problem for each name that looks like an earlier one. Both prompts are served, but on some disks they are one
/// file.
fn name_look_alikes(catalogue: &mut Catalogue) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, prompt) in &catalogue.prompts {
        if let Some(first) = seen.insert(name.nfc().collect::<String>().to_lowercase(), name) {
            let message = if first.to_lowercase() == name.to_lowercase() {
                format!("its name differs from `{first}` in letter case only")
            } else {
                format!(
                    "its name looks like `{first}`, whose accents are written by other characters (NFC and NFD)"
                )
            };
            catalogue.problems.push(Problem { source: prompt.source.clone(), message });
        }
    }
}

fn add_aliases(catalogue: &mut Catalogue) {
    let Catalogue { prompts, aliases, problems, .. } = catalogue;
    for (name, prompt) in prompts.iter() {
        for alias in &prompt.aliases {
            let taken = if prompts.contains_key(alias) {
                Some(format!("alias `{alias}` cannot be reached: it is the name of a prompt"))
            } else if let Some(other) = aliases.get(alias).filter(|other| *other != name) {
                Some(format!("alias `{alias}` cannot be reached: it is an alias of `{other}` already"))
            } else {
                aliases.insert(alias.clone(), name.clone());
                None
            };
            problems.extend(taken.map(|message| Problem { source: prompt.source.clone(), message }));
        }
    }
}
