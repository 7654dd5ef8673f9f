//! Registry of the agents of one set of roots: the cached catalogue, and the user's trust in project agents.

use std::path::PathBuf;
use std::sync::Arc;

use super::catalogue::Catalogue;
use super::definition::Agent;
use super::loader::AgentFiles;
use super::trust_store;
use adjutant_base::config::agents::AgentsConfig;
use adjutant_host::file_catalogue::FileCatalogue;

/// The roots of agent files with their cached catalogue.
#[derive(Debug)]
pub struct Registry {
    folders: Arc<FileCatalogue<AgentFiles>>,
    trust: Option<PathBuf>,
}

impl Registry {
    /// Does no I/O: the first call of [`Self::load`] reads the files.
    pub fn new(config: &AgentsConfig) -> Self {
        let kind = AgentFiles::new(&config.roots, config.max_files);
        let roots = config.roots.iter().map(|root| root.root.clone()).collect();
        Self { folders: FileCatalogue::new(kind, roots, config.limits()), trust: config.trust.clone() }
    }

    /// Returns the catalogue if it is known to be fresh; never blocks. `None` means that [`Self::load`] has to read.
    pub fn ready(&self) -> Option<Arc<Catalogue>> {
        self.folders.ready()
    }

    /// Returns a fresh catalogue, reading what is new or changed. Blocks on the disk.
    pub fn load(&self) -> Arc<Catalogue> {
        self.folders.load()
    }

    /// Returns a receiver of the catalogue's generation, which grows with every changed catalogue.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.folders.changes()
    }

    /// Starts the watcher of the folders unless it runs already. It reads changed files by itself.
    pub fn watch(&self) {
        self.folders.watch();
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
            None => Err("there is no home folder to note it in".to_owned()),
        }
    }
}
