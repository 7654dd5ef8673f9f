//! Catalogue of the agents that were found below the roots at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definition::Agent;
use adjutant_base::text::suggest::near_names;
use adjutant_host::file_catalogue::Problem;

/// The agents and faults that were found at one moment.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Grows with every change; values derived from a catalogue are cached by it.
    pub generation: u64,
    /// By name.
    pub agents: BTreeMap<String, Arc<Agent>>,
    /// Agents hidden by one of the same name in an earlier root.
    pub overridden: Vec<Arc<Agent>>,
    /// Files left out, or served with a fault.
    pub problems: Vec<Problem>,
}

/// Why a name has no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("unknown agent `{}`", name.escape_debug())]
    Unknown { name: String, near: Vec<String> },
    /// The file is there, but it cannot be served.
    #[error("agent `{name}` cannot be read: {reason}")]
    Broken { name: String, reason: String },
}

impl Catalogue {
    /// Returns the agent of a name. A name is looked up and never joined to a path.
    pub fn find(&self, name: &str) -> Result<&Arc<Agent>, Missing> {
        self.agents.get(name).ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> Missing {
        let of_name = |problem: &&Problem| {
            let file = &problem.source.relative;
            file.strip_prefix(name).is_some_and(|rest| rest.starts_with('.') && !rest.contains('/'))
        };
        if let Some(problem) = self.problems.iter().find(of_name).filter(|_| !name.is_empty()) {
            return Missing::Broken { name: name.to_owned(), reason: problem.message.clone() };
        }
        // The answer stays short even if the request was long.
        let name: String = name.chars().take(100).collect();
        Missing::Unknown { near: near_names(&name, self.agents.keys().map(String::as_str)), name }
    }
}
