//! Registry of the agents of one set of roots: the cached catalogue, and the user's trust in project agents.

use std::path::PathBuf;
use std::sync::Arc;

use super::definition::Agent;
use super::loader::AgentFiles;
use super::trust_store;
use adjutant_base::config::agents::AgentsConfig;
use adjutant_host::file_catalogue::FileCatalogue;

/// The roots of agent files with their cached catalogue.
#[derive(Debug)]
pub struct Registry {
    pub files: Arc<FileCatalogue<AgentFiles>>,
    trust: Option<PathBuf>,
}

impl Registry {
    /// Does no I/O: the first call of [`FileCatalogue::load`] reads the files.
    pub fn new(config: &AgentsConfig) -> Self {
        let kind = AgentFiles::new(&config.roots, config.max_files);
        let roots = config.roots.iter().map(|root| root.root.clone()).collect();
        Self { files: FileCatalogue::new(kind, roots, config.limits()), trust: config.trust.clone() }
    }

    /// Returns whether an agent may be run: it is the user's own, or the user has trusted this exact content at this
    /// path. Reads one small file for an agent of a project; blocks on the disk.
    pub fn trusted(&self, agent: &Agent) -> bool {
        !agent.needs_trust || self.trust.as_deref().is_some_and(|store| trust_store::contains(store, agent))
    }

    /// Records that the user trusts this exact content at this path. Only interfaces for the user may call it, because
    /// an agent must not trust an agent. The error is a sentence fragment.
    pub fn trust(&self, agent: &Agent) -> Result<(), String> {
        match &self.trust {
            Some(store) => trust_store::add(store, agent),
            None => Err("there is no home folder to store the trust in".to_owned()),
        }
    }
}
