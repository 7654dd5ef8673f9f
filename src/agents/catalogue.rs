//! The agents that there are: found below the roots, read again when something changed, looked up by name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::definition::Agent;
use super::load::AgentFiles;
use super::trust;
use crate::config::agents::AgentsConfig;
use crate::folders::{Folders, Problem};
use crate::names::near_names;

/// Everything that was found at one moment.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    /// Grows with every change; what is derived from a catalogue is cached by it.
    pub(crate) generation: u64,
    /// By name.
    pub(crate) agents: BTreeMap<String, Arc<Agent>>,
    /// Agents hidden by one of the same name in an earlier root.
    pub(crate) shadowed: Vec<Arc<Agent>>,
    /// Files left out, or served with a fault.
    pub(crate) problems: Vec<Problem>,
}

/// Why there is no agent of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Missing {
    #[error("unknown agent `{}`", name.escape_debug())]
    Unknown { name: String, near: Vec<String> },
    /// The file is there, but it cannot be served.
    #[error("agent `{name}` cannot be read: {reason}")]
    Broken { name: String, reason: String },
}

impl Catalogue {
    /// Returns the agent of a name. A name is looked up and never joined to a path.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Agent>, Missing> {
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
        // What is sent back is short, whatever was sent.
        let name: String = name.chars().take(100).collect();
        Missing::Unknown { near: near_names(&name, self.agents.keys().map(String::as_str)), name }
    }
}

/// The roots, and what is known of them.
#[derive(Debug)]
pub(crate) struct Definitions {
    folders: Folders<AgentFiles>,
    trust: Option<PathBuf>,
}

impl Definitions {
    /// Does no I/O: the files are read when they are first asked for.
    pub(crate) fn new(config: &AgentsConfig) -> Self {
        let kind = AgentFiles::new(&config.roots, config.limits.files);
        let roots = config.roots.iter().map(|root| root.root.clone()).collect();
        Self { folders: Folders::new(kind, roots, config.limits), trust: config.trust.clone() }
    }

    /// Returns the catalogue if it is known to be fresh; never blocks. `None` means [`Self::load`] is due.
    pub(crate) fn ready(&self) -> Option<Arc<Catalogue>> {
        self.folders.ready()
    }

    /// Returns a fresh catalogue, reading what is new or changed. Blocks on the disk.
    pub(crate) fn load(&self) -> Arc<Catalogue> {
        self.folders.load()
    }

    /// Returns a receiver of the catalogue's generation, which grows when somebody reads something new.
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.folders.changes()
    }

    /// Starts watching the folders, if nobody did yet: changes are read without anybody asking.
    pub(crate) fn watch(&self) {
        self.folders.watch();
    }

    /// Tells whether an agent may be run: it is the person's own, or they have trusted this exact content at this
    /// place. Reads one small file for those of a project; blocks on the disk.
    pub(crate) fn trusted(&self, agent: &Agent) -> bool {
        !agent.needs_trust || self.trust.as_deref().is_some_and(|store| trust::knows(store, agent))
    }

    /// Notes that the person trusts this exact content at this place. For human doors only. The error is a sentence
    /// fragment.
    pub(crate) fn trust(&self, agent: &Agent) -> Result<(), String> {
        match &self.trust {
            Some(store) => trust::add(store, agent),
            None => Err("there is no home folder to note it in".to_owned()),
        }
    }
}
