//! What the agents room is configured with: the folders it reads, in order, and whose files lie there.

use std::path::{Path, PathBuf};

use super::folders::{Limits, Root};

/// A program whose agent definitions can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Program {
    /// Ours: the YAML of the contract.
    Adjutant,
    Claude,
    Copilot,
    Codex,
    Gemini,
    Opencode,
}

impl Program {
    /// Every other program, in the order in which they are read, and help and messages list them.
    pub(crate) const FOREIGN: [Self; 5] =
        [Self::Claude, Self::Copilot, Self::Codex, Self::Gemini, Self::Opencode];

    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Adjutant => "adjutant",
            Self::Claude => "claude",
            Self::Copilot => "copilot",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// What a person calls a file of this program.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Adjutant => "agent",
            Self::Claude => "Claude agent",
            Self::Copilot => "Copilot agent",
            Self::Codex => "Codex agent",
            Self::Gemini => "Gemini agent",
            Self::Opencode => "OpenCode agent",
        }
    }

    /// The folders below a workspace or a home where its definitions lie.
    pub(crate) fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Adjutant => &[".adjutant/agents"],
            Self::Claude => &[".claude/agents"],
            Self::Copilot => &[".github/agents", ".copilot/agents"],
            Self::Codex => &[".codex/agents"],
            Self::Gemini => &[".gemini/agents"],
            Self::Opencode => {
                &[".opencode/agent", ".opencode/agents", ".config/opencode/agent", ".config/opencode/agents"]
            }
        }
    }

    /// How the name of a definition ends.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Adjutant => ".yaml",
            Self::Codex => ".toml",
            Self::Claude | Self::Copilot | Self::Gemini | Self::Opencode => ".md",
        }
    }
}

/// A folder that agents are read from. Earlier ones win over later ones.
#[derive(Clone, Debug)]
pub(crate) struct AgentRoot {
    pub(crate) root: Root,
    /// Whose files lie there.
    pub(crate) program: Program,
    /// Whether it came with a project: what it holds runs only once a person has trusted it.
    pub(crate) needs_trust: bool,
}

impl AgentRoot {
    /// Makes a root of a folder that a person named, with files of `program`.
    pub(crate) fn named(folder: PathBuf, program: Program) -> Self {
        Self { root: Root::named(folder), program, needs_trust: false }
    }
}

/// The agents room's share.
#[derive(Clone, Debug)]
pub(crate) struct AgentsConfig {
    /// In order of precedence.
    pub(crate) roots: Vec<AgentRoot>,
    pub(crate) limits: Limits,
    /// Whether the definitions of other programs are read where they lie.
    pub(crate) foreign: bool,
    /// Where it is written which definitions of projects the person trusts; `None` without a home.
    pub(crate) trust: Option<PathBuf>,
}

impl Default for AgentsConfig {
    fn default() -> Self {
        let limits = Limits { file: 256 * 1024, files: 5_000, depth: 8 };
        Self { roots: Vec::new(), limits, foreign: true, trust: None }
    }
}

impl AgentsConfig {
    /// Puts the agents of the project in `folder` before all others: first ours, then those of other programs.
    ///
    /// Reading them starts no process; running one needs the person's trust.
    pub(crate) fn enter_workspace(&mut self, folder: &Path) {
        let own =
            Program::Adjutant.folders().iter().map(|place| (Program::Adjutant, "project".to_owned(), place));
        let foreign = Program::FOREIGN.into_iter().filter(|_| self.foreign).flat_map(|program| {
            program.folders().iter().map(move |place| (program, format!("project {place}"), place))
        });
        let roots = own.chain(foreign).map(|(program, label, place)| AgentRoot {
            root: Root::standing(&label, folder.join(place)),
            program,
            needs_trust: true,
        });
        // The person's own folders are theirs, also where they work in their home folder.
        let known = |new: &AgentRoot| self.roots.iter().any(|old| old.root.folder == new.root.folder);
        let mut roots: Vec<_> = roots.filter(|root| !known(root)).collect();
        roots.append(&mut self.roots);
        self.roots = roots;
    }

    /// Returns the user's own folders and what is compiled in: `home` is ours, `person` the person's home folder,
    /// where other programs keep theirs, and `configured` what `config.toml` names.
    pub(super) fn user_roots(
        &self,
        home: &Path,
        person: Option<&Path>,
        configured: Vec<PathBuf>,
    ) -> Vec<AgentRoot> {
        let own = AgentRoot {
            root: Root::standing("user", home.join("agents")),
            program: Program::Adjutant,
            needs_trust: false,
        };
        let configured = configured.into_iter().map(|folder| {
            let root = Root { folder: Some(home.join(&folder)), ..Root::named(folder) };
            AgentRoot { root, program: Program::Adjutant, needs_trust: false }
        });
        let foreign = person.filter(|_| self.foreign).into_iter().flat_map(|person| {
            let places = Program::FOREIGN
                .into_iter()
                .flat_map(|program| program.folders().iter().map(move |p| (program, p)));
            places.map(|(program, place)| AgentRoot {
                root: Root::standing(&format!("~/{place}"), person.join(place)),
                program,
                needs_trust: false,
            })
        });
        let bundled = AgentRoot { root: Root::bundled(), program: Program::Adjutant, needs_trust: false };
        std::iter::once(own).chain(configured).chain(foreign).chain([bundled]).collect()
    }
}
