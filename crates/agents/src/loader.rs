//! Loads agents from the files below the roots, in the format of each root's program.

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use super::bundled::BUNDLED;
use super::catalogue::Catalogue;
use super::definition::{Agent, Program};
use super::formats;
use adjutant_base::config::agents::AgentRoot;
use adjutant_base::config::folders::Root;
use adjutant_host::file_catalogue::{FileFormat, Problem, Scan, Source};

/// The file kind of agent definitions.
#[derive(Debug)]
pub struct AgentFiles {
    /// For each root by its number: the program of its files, and whether they need trust.
    roots: Vec<(Program, bool)>,
    /// Most files that are read below all roots.
    max_files: usize,
}

impl AgentFiles {
    pub(super) fn new(roots: &[AgentRoot], max_files: usize) -> Self {
        Self { roots: roots.iter().map(|root| (root.program, root.needs_trust)).collect(), max_files }
    }

    fn root(&self, number: usize) -> (Program, bool) {
        self.roots.get(number).copied().unwrap_or((Program::Adjutant, true))
    }
}

impl FileFormat for AgentFiles {
    /// `None` for a file that is not a definition, such as a README in a folder of another program.
    type Item = Option<Arc<Agent>>;
    type Catalogue = Catalogue;
    const PLURAL: &'static str = "agents";
    const BUNDLED: &'static [(&'static str, &'static str)] = BUNDLED;

    fn is_meant(&self, root: usize, name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name);
        let (program, _) = self.root(root);
        formats::stem(program, &name).is_some() || (program == Program::Adjutant && is_yml(&name))
    }

    fn read(&self, root: usize, source: Source, text: &str, digest: String) -> Result<Self::Item, String> {
        let (program, needs_trust) = self.root(root);
        if !formats::is_definition(program, text) {
            return Ok(None);
        }
        agent(program, needs_trust, source, text, digest).map(Arc::new).map(Some)
    }

    fn catalogue(&self, roots: &[Root], scans: &[&Scan<Self::Item>], generation: u64) -> Catalogue {
        let mut catalogue = Catalogue { generation, ..Catalogue::default() };
        let mut left = self.max_files;
        for (root, scan) in roots.iter().zip(scans) {
            add(&mut catalogue, root, scan, &mut left);
        }
        catalogue
    }

    fn generation(catalogue: &Catalogue) -> u64 {
        catalogue.generation
    }
}

/// Makes an agent of a file's text. The error is a sentence fragment.
pub(super) fn agent(
    program: Program,
    needs_trust: bool,
    source: Source,
    text: &str,
    digest: String,
) -> Result<Agent, String> {
    let (folders, last) = source.relative.rsplit_once('/').unwrap_or(("", &source.relative));
    if program == Program::Adjutant && is_yml(last) {
        return Err("its name ends in .yml; an agent's ends in .yaml".to_owned());
    }
    let mut agent = formats::read(program, text)?;
    let stem = formats::stem(program, last).unwrap_or(last);
    let stem = if folders.is_empty() { stem.to_owned() } else { format!("{folders}/{stem}") };
    if stem.contains(char::is_control) {
        return Err("its name has control characters".to_owned());
    }
    if agent.name.is_empty() {
        agent.name = stem;
    }
    Ok(Agent { program, source, digest, needs_trust, ..agent })
}

fn is_yml(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end.eq_ignore_ascii_case("yml"))
}

fn add(catalogue: &mut Catalogue, root: &Root, scan: &Scan<Option<Arc<Agent>>>, left: &mut usize) {
    let mut own: BTreeMap<&str, &Arc<Agent>> = BTreeMap::new();
    for (source, agent) in scan.parsed(root, left, &mut catalogue.problems) {
        let Some(agent) = agent else { continue };
        match own.entry(&agent.name) {
            btree_map::Entry::Vacant(place) => {
                place.insert(agent);
            }
            btree_map::Entry::Occupied(place) => {
                let winner = &place.get().source.relative;
                let message = format!("it has the same name as `{winner}`, which is served");
                catalogue.problems.push(Problem { source, message });
            }
        }
    }
    for (name, agent) in own {
        match catalogue.agents.entry(name.to_owned()) {
            btree_map::Entry::Vacant(place) => {
                place.insert(agent.clone());
            }
            btree_map::Entry::Occupied(_) => catalogue.overridden.push(agent.clone()),
        }
    }
}
