//! Settings of agents: the folders in order of precedence, and the programs whose files they hold.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::folders::{Limits, MAX_DEPTH, Root};
use super::table::{Notation, Plain, to_toml};

/// A program whose agent definitions can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// The YAML of the contract.
    #[default]
    Adjutant,
    Claude,
    Copilot,
    Codex,
    Gemini,
    Opencode,
}

impl Program {
    /// Every other program, in the order in which they are read, and help and messages list them.
    pub const FOREIGN: [Self; 5] = [Self::Claude, Self::Copilot, Self::Codex, Self::Gemini, Self::Opencode];

    /// The word on the command line.
    pub fn name(self) -> &'static str {
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
    pub fn label(self) -> &'static str {
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
    pub fn folders(self) -> &'static [&'static str] {
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
    pub fn extension(self) -> &'static str {
        match self {
            Self::Adjutant => ".yaml",
            Self::Codex => ".toml",
            Self::Claude | Self::Copilot | Self::Gemini | Self::Opencode => ".md",
        }
    }
}

/// A folder that agents are read from. Earlier ones win over later ones.
#[derive(Clone, Debug)]
pub struct AgentRoot {
    pub root: Root,
    /// Whose files lie there.
    pub program: Program,
    /// Whether it came with a project: what it holds runs only once a person has trusted it.
    pub needs_trust: bool,
}

impl AgentRoot {
    /// Makes a root of a folder that a person named, with files of `program`.
    pub fn named(folder: PathBuf, program: Program) -> Self {
        Self { root: Root::named(folder), program, needs_trust: false }
    }
}

/// Folders with agents, as `config.toml` names them.
struct Folders;

impl Notation<Vec<AgentRoot>> for Folders {
    type Written = Vec<PathBuf>;

    fn read(written: Vec<PathBuf>, home: &Path) -> Result<Vec<AgentRoot>, Error> {
        let root = |folder| AgentRoot {
            root: Root::configured(folder, home),
            program: Program::Adjutant,
            needs_trust: false,
        };
        Ok(written.into_iter().map(root).collect())
    }

    fn show(value: &Vec<AgentRoot>) -> String {
        to_toml(&value.iter().map(|root| &root.root.label).collect::<Vec<_>>())
    }
}

super::table::settings! {
    /// The settings of agents.
    #[derive(Clone, Debug)]
    pub struct AgentsConfig, file File, section "agents" {
        /// Folders of agents; the first folder with a name wins.
        roots: Vec<AgentRoot> = Vec::new(), folders as Folders;
        /// Whether agent definitions of other programs are read.
        foreign: bool = true, foreign as Plain;
        /// Maximum bytes of one agent file.
        largest_file: usize = 256 * 1024, max_file_bytes as Plain;
        /// Maximum number of files in one folder.
        most_files: usize = 5_000, max_files as Plain;
    }
    others {
        /// The file with the definitions of projects that the user trusts; `None` without a home.
        trust: Option<PathBuf> = None;
    }
}

impl AgentsConfig {
    /// Returns the limits of reading the files.
    pub fn limits(&self) -> Limits {
        Limits { file: self.largest_file, files: self.most_files, depth: MAX_DEPTH }
    }

    /// Puts the agents of the project in `folder` before all others: first ours, then those of other programs.
    ///
    /// Reading them starts no process; running one needs the person's trust.
    pub fn enter_workspace(&mut self, folder: &Path) {
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

    /// Puts the user's own folders and the bundled agents around the configured ones: `home` is the hub's home, and
    /// `user_home` has the folders of other programs.
    pub(super) fn add_user_roots(&mut self, home: &Path, user_home: Option<&Path>) {
        let own = AgentRoot {
            root: Root::standing("user", home.join("agents")),
            program: Program::Adjutant,
            needs_trust: false,
        };
        let foreign = user_home.filter(|_| self.foreign).into_iter().flat_map(|user_home| {
            let places = Program::FOREIGN
                .into_iter()
                .flat_map(|program| program.folders().iter().map(move |p| (program, p)));
            places.map(|(program, place)| AgentRoot {
                root: Root::standing(&format!("~/{place}"), user_home.join(place)),
                program,
                needs_trust: false,
            })
        });
        let bundled = AgentRoot { root: Root::bundled(), program: Program::Adjutant, needs_trust: false };
        let configured = std::mem::take(&mut self.roots);
        self.roots = std::iter::once(own).chain(configured).chain(foreign).chain([bundled]).collect();
    }
}
