//! What the agents room is configured with: the folders it reads, in order, and whose files lie there.

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
    /// Every other program, in the order in which help and messages list them.
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
}
