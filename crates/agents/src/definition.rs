//! Definition of an agent: its persona, and how runners run it.

use std::collections::BTreeMap;
use std::time::Duration;

pub use adjutant_base::config::agents::Program;
use adjutant_host::files::Source;

/// The permission level of an agent: what its runner may do to the disk and the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Reads only.
    #[default]
    ReadOnly,
    /// Changes files below the working folder.
    WorkspaceWrite,
    /// Everything that the user could do.
    Full,
}

impl Permission {
    /// Every level, the least first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::Full];

    /// Returns the word in files, on the command line and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Full => "full",
        }
    }

    /// Returns the level of a word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// What happens to a run when its hub exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnHubExit {
    /// It ends, with everything it started.
    #[default]
    Kill,
    /// It continues, and the next hub adopts it.
    Keep,
}

impl OnHubExit {
    /// Every choice, the default first.
    pub const ALL: [Self; 2] = [Self::Kill, Self::Keep];

    /// Returns the word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Keep => "keep",
        }
    }
}

/// The folder that an agent works in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// In the folder that the caller names.
    #[default]
    None,
    /// In a worktree of that folder's repository, made for the task.
    Worktree,
}

impl Isolation {
    /// Every choice, the default first.
    pub const ALL: [Self; 2] = [Self::None, Self::Worktree];

    /// Returns the word in files and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}

/// One agent, parsed and validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The path below the root without extension, `/` for subfolders.
    pub name: String,
    pub description: String,
    /// The agent's instructions, trimmed; never empty.
    pub persona: String,
    /// As the runner's program spells it.
    pub model: Option<String>,
    /// The runner that it prefers, by its name in the runner configuration.
    pub runner: Option<String>,
    pub permission: Permission,
    /// How long one run may take.
    pub timeout: Option<Duration>,
    pub on_hub_exit: OnHubExit,
    pub isolation: Isolation,
    /// Commands that the hub runs in the working folder after the agent has ended, each as program and arguments.
    pub checks: Vec<Vec<String>>,
    /// Variables that the runner gets in addition to the allowed ones.
    pub env: BTreeMap<String, String>,
    /// The program whose format the file has.
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
            Self::Supported => "honoured",
            Self::Mapped(_) => "mapped",
            Self::Unsupported(_) => "cannot be",
            Self::Unknown => "unknown",
        }
    }
}
