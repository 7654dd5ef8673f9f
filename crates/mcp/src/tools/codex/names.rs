//! Names of the tools of the codex toolset.

pub(crate) const START: &str = "codex";
pub(super) const REPLY: &str = "codex-reply";
