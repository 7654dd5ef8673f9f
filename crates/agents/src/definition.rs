//! Definition of an agent: its persona, and how runners run it.

use std::collections::BTreeMap;
use std::time::Duration;

pub use adjutant_base::config::agents::Program;
use adjutant_base::config::network::Network;
use adjutant_host::file_catalogue::Source;
pub use adjutant_host::process::OnHubExit;

adjutant_base::named_enum! {
    /// The permission level of an agent: what its runner may do to the disk and the network. The least comes first.
    #[derive(Default)]
    Permission {
        /// Reads only.
        #[default]
        ReadOnly = "read-only",
        /// Changes files below the working folder.
        WorkspaceWrite = "workspace-write",
        /// Everything that the user could do.
        Full = "full",
    }
}

adjutant_base::named_enum! {
    /// The folder that an agent works in.
    #[derive(Default)]
    Isolation {
        /// In the folder that the caller names.
        #[default]
        None = "none",
        /// In a worktree of that folder's repository, made for the task.
        Worktree = "worktree",
    }
}

/// One agent, parsed and validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// The name in the file, where its format has one; else the path below the root without extension, `/` for
    /// subfolders.
    pub name: String,
    pub description: String,
    /// The agent's instructions, trimmed; never empty.
    pub persona: String,
    /// As the runner's program spells it.
    pub model: Option<String>,
    /// The runner that it prefers, by its name in the runner configuration.
    pub runner: Option<String>,
    pub permission: Permission,
    /// The network of its runs, which that of the configuration bounds.
    pub network: Network,
    /// How long one run may take.
    pub timeout: Option<Duration>,
    pub on_hub_exit: OnHubExit,
    pub isolation: Isolation,
    /// The label of the workers that alone run its tasks.
    pub label: Option<String>,
    /// Commands that the hub runs in the working folder after the agent has ended, each as program and arguments.
    pub checks: Vec<Vec<String>>,
    /// Whether a result is not an error although a check did not pass.
    pub checks_may_fail: bool,
    /// Commands that the hub runs in a new worktree before the agent, each as program and arguments.
    pub setup: Vec<Vec<String>>,
    /// Variables that the runner gets in addition to the allowed ones.
    pub env: BTreeMap<String, String>,
    /// The program that has the format of the file.
    pub program: Program,
    pub source: Source,
    /// `sha256:` and the hex digest of the file's bytes.
    pub digest: String,
    /// Whether it came with a project, and may be run only after the user has trusted this exact content.
    pub needs_trust: bool,
    /// Each key of the file with its support, in the order of the file.
    pub fields: Vec<Field>,
    /// Faults of the file although it is served; sentence fragments.
    pub warnings: Vec<String>,
}

/// One key of a definition, with its support here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub key: String,
    pub support: FieldSupport,
}

/// The support of a key of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldSupport {
    /// It has the same meaning here.
    Supported,
    /// It becomes something else here; a sentence fragment.
    Mapped(String),
    /// It has no effect here, for this reason; a sentence fragment.
    Unsupported(String),
    /// No format has this key.
    Unknown,
}

impl FieldSupport {
    /// Returns the word for users.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Mapped(_) => "mapped",
            Self::Unsupported(_) => "unsupported",
            Self::Unknown => "unknown",
        }
    }
}
