//! The options of a new thread, and the input of a turn.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::Ready;

adjutant_base::named_enum! {
    /// The protocol of Codex that a session uses, named by its subcommand of Codex.
    Backend { AppServer = "app-server", McpServer = "mcp-server" }
}

/// The act of a turn: it answers a prompt, compacts the context, or reviews changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Answers the prompt.
    #[default]
    Prompt,
    /// Replaces the history in the model's context by a summary.
    Compact,
    Review(ReviewTarget),
}

/// The changes that a review is about, in the form of Codex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum ReviewTarget {
    UncommittedChanges,
    /// The changes since the branch was left.
    BaseBranch {
        branch: String,
    },
    Commit {
        sha: String,
        title: Option<String>,
    },
    /// Anything else, in words.
    Custom {
        instructions: String,
    },
}

/// The input of a turn. Codex keeps a model and an effort for the turns after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnInput {
    pub act: Act,
    pub text: String,
    /// Paths of images on this machine.
    pub images: Vec<String>,
    /// Paths of files on this machine, which the prompt names as `@PATH`.
    pub files: Vec<String>,
    pub model: Option<String>,
    /// `low`, `medium`, `high` and others; each model takes its own.
    pub effort: Option<String>,
}

impl From<String> for TurnInput {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl TurnInput {
    /// Returns the text with the files that it names.
    pub(super) fn prompt(&self) -> String {
        let files = self.files.iter().map(|file| format!("\n@{file}"));
        std::iter::once(self.text.clone()).chain(files).collect()
    }
}

/// The first turn of a thread, and its options. Everything but the prompt may be left to Codex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadOptions {
    pub turn: TurnInput,
    pub cwd: Option<String>,
    /// Makes a git worktree of `cwd`, in which the thread works.
    pub worktree: bool,
    pub model: Option<String>,
    /// `read-only`, `workspace-write`, `danger-full-access`.
    pub sandbox: Option<String>,
    /// `untrusted`, `on-failure`, `on-request`, `never`; the versions of Codex know different ones.
    pub approval_policy: Option<String>,
    pub profile: Option<String>,
    /// Settings of Codex itself, by their dotted names.
    pub config: Map<String, Value>,
    pub base_instructions: Option<String>,
    pub developer_instructions: Option<String>,
    pub compact_prompt: Option<String>,
}

impl ThreadOptions {
    /// Keeps the model and the effort of a turn for the process that resumes the thread. Codex restores an effort only
    /// where no model is given.
    pub(super) fn keep(&mut self, ready: &Ready) {
        const EFFORT: &str = "model_reasoning_effort";
        self.model.clone_from(&ready.model);
        if let Some(effort) = &ready.effort {
            self.config.insert(EFFORT.to_owned(), effort.as_str().into());
        }
    }
}
