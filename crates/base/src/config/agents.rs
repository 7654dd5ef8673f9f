//! Settings of agents: the folders in order of precedence, and the programs that their files belong to.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::folders::{Limits, MAX_DEPTH, Root};
use super::table::{Notation, Plain, to_toml};

crate::named_enum! {
    /// A program with agent definitions that can be read.
    #[derive(Default)]
    Program {
        /// This program: the YAML of the contract.
        #[default]
        Adjutant = "adjutant",
        Claude = "claude",
        Copilot = "copilot",
        Codex = "codex",
        Gemini = "gemini",
        Opencode = "opencode",
    }
}

impl Program {
    /// Every other program, in the order of precedence, which is also the order in help and messages.
    pub const FOREIGN: [Self; 5] = [Self::Claude, Self::Copilot, Self::Codex, Self::Gemini, Self::Opencode];

    /// Returns the words for a file of this program.
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

    /// Returns the folders of its definitions, below a workspace or a home.
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

    /// Returns the end of the file names of its definitions.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Adjutant => ".yaml",
            Self::Codex => ".toml",
            Self::Claude | Self::Copilot | Self::Gemini | Self::Opencode => ".md",
        }
    }
}

/// Returns every folder of another program's definitions, below a workspace or a home.
fn foreign_folders() -> impl Iterator<Item = (Program, &'static &'static str)> {
    Program::FOREIGN
        .into_iter()
        .flat_map(|program| program.folders().iter().map(move |place| (program, place)))
}

/// A folder that agents are read from. Earlier ones win over later ones.
#[derive(Clone, Debug)]
pub struct AgentRoot {
    pub root: Root,
    /// The program that the files belong to.
    pub program: Program,
    /// Set if it came with a project. Its agents run only after the user has trusted them.
    pub needs_trust: bool,
}

impl AgentRoot {
    /// Creates a root of a folder that the user named, with files of `program`.
    pub fn named(folder: PathBuf, program: Program) -> Self {
        Self::trusted(Root::named(folder), program)
    }

    fn trusted(root: Root, program: Program) -> Self {
        Self { root, program, needs_trust: false }
    }
}

/// The notation of folders with agents.
struct Folders;

impl Notation<Vec<AgentRoot>> for Folders {
    type Written = Vec<PathBuf>;

    fn read(written: Vec<PathBuf>, home: &Path) -> Result<Vec<AgentRoot>, Error> {
        let root = |folder| AgentRoot::trusted(Root::configured(folder, home), Program::Adjutant);
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
        max_file_bytes: usize = 256 * 1024, max_file_bytes as Plain;
        /// Maximum number of files in all folders together.
        max_files: usize = 5_000, max_files as Plain;
    }
    others {
        /// The file with the definitions of projects that the user trusts; `None` without a home.
        trust: Option<PathBuf> = None;
    }
}

impl AgentsConfig {
    /// Returns the limits of reading the files.
    pub fn limits(&self) -> Limits {
        Limits { file: self.max_file_bytes, files: self.max_files, depth: MAX_DEPTH }
    }

    /// Puts the agents of the project in `folder` before all others: first native ones, then those of other programs.
    ///
    /// Reading them starts no process; running one requires that the user trusts it.
    pub fn enter_workspace(&mut self, folder: &Path) {
        let own =
            Program::Adjutant.folders().iter().map(|place| (Program::Adjutant, "project".to_owned(), place));
        let foreign = foreign_folders().filter(|_| self.foreign);
        let foreign = foreign.map(|(program, place)| (program, format!("project {place}"), place));
        let roots = own.chain(foreign).map(|(program, label, place)| AgentRoot {
            root: Root::of_project(&label, folder, Path::new(place)),
            program,
            needs_trust: true,
        });
        // In the home folder of the user, its folders are also those of the project. They need no trust.
        let is_known = |new: &AgentRoot| self.roots.iter().any(|old| old.root.folder == new.root.folder);
        let mut roots: Vec<_> = roots.filter(|root| !is_known(root)).collect();
        roots.append(&mut self.roots);
        self.roots = roots;
    }

    /// Puts the folders of the user and the bundled agents around the configured folders. `home` is the hub's home, and
    /// `user_home` has the folders of other programs.
    pub(super) fn add_user_roots(&mut self, home: &Path, user_home: Option<&Path>) {
        let own = AgentRoot::trusted(Root::optional("user", home.join("agents")), Program::Adjutant);
        let foreign = user_home.filter(|_| self.foreign).into_iter().flat_map(|user_home| {
            foreign_folders().map(|(program, place)| {
                AgentRoot::trusted(Root::optional(&format!("~/{place}"), user_home.join(place)), program)
            })
        });
        let bundled = AgentRoot::trusted(Root::bundled(), Program::Adjutant);
        let configured = std::mem::take(&mut self.roots);
        self.roots = std::iter::once(own).chain(configured).chain(foreign).chain([bundled]).collect();
    }
}
