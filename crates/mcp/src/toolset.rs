//! The toolset selection of a connection: one toolset, or all of them.

use adjutant_base::config::toolsets::Toolset;

/// The toolset that one MCP connection serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolsetSelection {
    /// All toolsets that the configuration enables.
    All,
    Agents,
    Assistant,
    Codex,
    Questions,
    Prompts,
}

impl ToolsetSelection {
    /// Returns whether the selection contains `toolset`. The configuration may still disable it for [`Self::All`].
    pub fn has(self, toolset: Toolset) -> bool {
        self == Self::All || self.name() == toolset.name()
    }

    /// Returns whether any selected toolset lists prompts and resources.
    pub(crate) fn has_listings(self) -> bool {
        self.has(Toolset::Prompts) || self.has(Toolset::Assistant)
    }

    /// Returns the name in addresses and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Agents => "agents",
            Self::Assistant => "assistant",
            Self::Codex => "codex",
            Self::Questions => "questions",
            Self::Prompts => "prompts",
        }
    }

    /// Returns the selection with this name; `None` for an unknown name. `popup` is accepted for `questions`, because it is
    /// the contract's name.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "popup" {
            return Some(Self::Questions);
        }
        [Self::All, Self::Agents, Self::Assistant, Self::Codex, Self::Questions, Self::Prompts]
            .into_iter()
            .find(|selection| selection.name() == name)
    }
}
