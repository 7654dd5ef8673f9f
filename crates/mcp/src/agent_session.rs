//! The session of an agent that a connection belongs to: one client's process in one workspace.

use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Component, Path, PathBuf};

use adjutant_agents::worker_order::RemoteAgent;
use adjutant_base::text::hex;
use serde::{Deserialize, Serialize};

/// Maximum bytes of a session's id.
const MAX_ID_BYTES: usize = 64;

/// The session of an agent, as its process reports it to the hub.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct AgentSession {
    /// 128 random bits in hexadecimal digits, so that nobody else continues the session after the hub has restarted.
    /// With an id the process acknowledges each outcome that it has passed on.
    pub(crate) id: String,
    /// The working folder of the process and, where it differs, that of its parent: some clients start their servers in
    /// a folder of the client and not in the workspace.
    pub(crate) folder: String,
    /// Whether the session was connected to an earlier hub.
    #[serde(default)]
    pub(crate) returns: bool,
}

impl AgentSession {
    /// Makes the session of this process.
    pub fn of_this_process() -> Self {
        // Without an id the hub names the session, for as long as the connection lasts.
        let id = hex::random::<16>().unwrap_or_default();
        let own = std::env::current_dir().unwrap_or_default();
        let parent: PathBuf = fs::read_link(format!("/proc/{}/cwd", parent_id())).unwrap_or_default();
        let mut folder = own.display().to_string();
        if parent != own {
            folder = format!("{folder} < {}", parent.display());
        }
        Self { id, folder, returns: false }
    }

    /// Returns the session for a connection to another hub.
    #[must_use]
    pub fn returning(&self) -> Self {
        Self { returns: true, ..self.clone() }
    }

    /// Puts the folder of this machine in the place of its copy on the worker, because the user knows that one. A client that
    /// starts its servers elsewhere works in the folder of its task.
    pub(crate) fn move_here(&mut self, agent: &RemoteAgent) {
        let here = agent.here(self.workspace());
        self.folder = here.unwrap_or_else(|| agent.here.display().to_string());
    }

    /// Returns the working folder of the process.
    pub(crate) fn workspace(&self) -> &str {
        self.folder.split_once(" < ").map_or(&self.folder, |(own, _)| own)
    }

    /// Returns the working folder of the process if it is unrelated to the folder `named`, which is then neither this
    /// folder, nor inside it, nor above it. A relative path may be anywhere. Reads no file, because an agent names the path.
    pub(crate) fn other_folder(&self, named: &str) -> Option<&str> {
        let (own, named) = (self.workspace(), Path::new(named));
        let is_exact = named.is_absolute() && named.components().all(|part| part != Component::ParentDir);
        let is_related = is_exact && (named.starts_with(own) || Path::new(own).starts_with(named));
        (!own.is_empty() && !is_related).then_some(own)
    }

    /// Returns whether the other side acknowledges outcomes.
    pub(crate) fn acknowledges(&self) -> bool {
        !self.id.is_empty() && self.id.len() <= MAX_ID_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::AgentSession;

    #[test]
    fn a_folder_is_compared_with_the_one_that_its_agent_runs_in() {
        let session = AgentSession { folder: "/code/shop < /code".to_owned(), ..AgentSession::default() };
        for related in ["/code/shop", "/code/shop/", "/code/shop/api", "/code", "/"] {
            assert_eq!(session.other_folder(related), None, "{related}");
        }
        for other in ["/code/shopping", "/code/bank", "/code/shop/../bank", "shop", "~/shop"] {
            assert_eq!(session.other_folder(other), Some("/code/shop"), "{other}");
        }
        assert_eq!(AgentSession::default().other_folder("/code"), None, "its folder is unknown");
    }
}
