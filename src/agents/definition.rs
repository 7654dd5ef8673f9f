//! What an agent is: a persona, and how it is to be run.

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use crate::config::agents::Program;
use crate::folders::Source;

/// What a runner may do to the disk and the network for an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Permission {
    /// Looks, and changes nothing.
    #[default]
    ReadOnly,
    /// Changes files below the working folder.
    WorkspaceWrite,
    /// Whatever the person could do.
    Full,
}

impl Permission {
    /// Every level, the least first.
    pub(crate) const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::Full];

    /// The word in files, on the command line and on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Full => "full",
        }
    }

    /// Returns the level of a word.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// What becomes of a run when its hub goes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnHubExit {
    /// It ends, with everything it started.
    #[default]
    Kill,
    /// It goes on, and the next hub takes it up.
    Keep,
}

impl OnHubExit {
    /// Every choice, the usual one first.
    pub(crate) const ALL: [Self; 2] = [Self::Kill, Self::Keep];

    /// The word in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Keep => "keep",
        }
    }
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// In the folder that the caller names.
    #[default]
    None,
    /// In a worktree of that folder's repository, made for the task.
    Worktree,
}

impl Isolation {
    /// Every choice, the usual one first.
    pub(crate) const ALL: [Self; 2] = [Self::None, Self::Worktree];

    /// The word in files and on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}

/// One agent, parsed and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    /// The path below the root without extension, `/` for subfolders.
    pub(crate) name: String,
    pub(crate) description: String,
    /// The standing instruction, trimmed; never empty.
    pub(crate) persona: String,
    /// As the runner's program spells it.
    pub(crate) model: Option<String>,
    /// The runner it asks for, by the name that it has in the runner configuration.
    pub(crate) runner: Option<String>,
    pub(crate) permission: Permission,
    /// How long one run may take.
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_hub_exit: OnHubExit,
    pub(crate) isolation: Isolation,
    /// Commands that the hub runs in the working folder when the agent is done, each as program and arguments.
    pub(crate) checks: Vec<Vec<String>>,
    /// Variables that the runner gets besides the allowed ones.
    pub(crate) env: BTreeMap<String, String>,
    /// Whose format the file has.
    pub(crate) program: Program,
    pub(crate) source: Source,
    /// `sha256:` and the hex digest of the file's bytes.
    pub(crate) digest: String,
    /// Whether it came with a project, and may be run only once a person has trusted this exact content.
    pub(crate) needs_trust: bool,
    /// What became of each key of the file, in its order.
    pub(crate) fields: Vec<Field>,
    /// What is odd about the file, though it is served; sentence fragments.
    pub(crate) warnings: Vec<String>,
}

/// One key of a definition, and what becomes of it here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) fate: Fate,
}

/// What becomes of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It means here what it means there.
    Honoured,
    /// It becomes something of ours, and what; a sentence fragment.
    Mapped(String),
    /// It has no effect here, and why; a sentence fragment.
    CannotBe(String),
    /// Nobody knows the key.
    Unknown,
}

impl Fate {
    /// The word for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Mapped(_) => "mapped",
            Self::CannotBe(_) => "cannot be",
            Self::Unknown => "unknown",
        }
    }
}
