//! The errors of Codex sessions.

use adjutant_base::text::suggest::near_hint;
use adjutant_host::process;
use adjutant_store as store;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("codex was not found{}", .configured.as_ref().map(|path| format!(" at `{path}`")).unwrap_or_default())]
    Missing { configured: Option<String> },
    #[error("cannot read the version of codex: {0}")]
    Version(String),
    #[error("codex {version} has no `{back}`")]
    NoBack { version: String, back: &'static str },
    #[error("cannot start codex: {0}")]
    Start(#[from] process::Error),
    /// In Codex's words.
    #[error("codex rejected the new thread: {0}")]
    Refused(String),
    #[error("{program} cannot {about}; {since} and later can")]
    Lacks { program: String, about: &'static str, since: String },
    #[error("codex did not answer when it was asked to {what}: {why}; it may have been done all the same")]
    Unanswered { what: &'static str, why: String },
    /// `why` is in Codex's words.
    #[error("codex did not {what}: {why}")]
    NotDone { what: &'static str, why: String },
    #[error("the thread has only {0} turns")]
    FewTurns(usize),
    #[error("the thread has no turn `{0}`")]
    UnknownTurn(String),
    #[error("the name of a thread must not be empty")]
    NoName,
    /// `why` is a sentence fragment.
    #[error("{path} cannot be sent to Codex as an image: {why}")]
    NoImage { path: String, why: String },
    #[error("no model takes the effort `{effort}`: they take {}{}", .known.join(", "), near_hint(.near))]
    UnknownEffort { effort: String, near: Vec<String>, known: Vec<String> },
    /// A sentence fragment.
    #[error("the Git operation failed: {0}")]
    Worktree(String),
    /// The path of the worktree.
    #[error("the worktree {0} has files or commits that are not on any branch")]
    UnsavedWorktree(String),
    #[error("the thread has no worktree")]
    NoWorktree,
    #[error("a turn is running in this thread")]
    TurnRuns,
    #[error("the thread `{0}` is archived")]
    Archived(String),
    #[error("this thread is used by an agent of the thread `{0}`")]
    OfAgent(String),
    #[error("the thread `{0}` is on another machine")]
    OtherMachine(String),
    #[error("unknown thread `{0}`")]
    UnknownThread(String),
    #[error("{0} prompts are queued in this thread, which is the limit; wait for the next turn")]
    Busy(usize),
    #[error("no turn is running in this thread")]
    NoTurn,
    #[error("codex mcp-server cannot add text to a running turn")]
    NoSteering,
    #[error("the model and the effort of a running turn cannot be changed")]
    KeptModel,
    /// In Codex's words.
    #[error("codex rejected the text for the running turn: {0}")]
    NotSteered(String),
    #[error("no pending approval `{0}`; it may have been answered already")]
    NotAsked(String),
    /// The Inbox does not take the decision, in its words.
    #[error("{0}")]
    Rejected(String),
    #[error("the approval `{0}` cannot be answered with this decision")]
    NotPermitted(String),
    #[error("{0} threads are open, which is the limit; wait until one ends")]
    TooMany(usize),
    #[error("the session has ended")]
    Over,
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// Returns advice on how to mend it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing { .. } => Some(
                "install it (npm install -g @openai/codex), or name its program: [codex] program in config.toml",
            ),
            Self::NoBack { .. } => Some("set [codex] backend to \"auto\" in config.toml, or leave it out"),
            Self::UnknownThread(_) => {
                Some("`adjutant codex list` shows the threads, with --external what else Codex has")
            }
            Self::Lacks { .. } => Some("`adjutant codex capabilities` shows what the installed Codex can do"),
            Self::FewTurns(_) | Self::UnknownTurn(_) => {
                Some("`adjutant codex show --json` names the turn of each item")
            }
            Self::NoName => Some("adjutant codex rename THREAD NAME"),
            Self::NoImage { .. } => {
                Some("a prompt names a file of another kind with `--file`, or with `/file`")
            }
            Self::UnknownEffort { .. } => {
                Some("each model has its own efforts; without one, Codex takes its default")
            }
            Self::Worktree(_) => Some("`git status` in the folder says what git finds there"),
            Self::UnsavedWorktree(_) => Some(
                "`adjutant codex commit` commits the files, `git worktree remove --force` removes the worktree",
            ),
            Self::NoWorktree => {
                Some("`adjutant codex --worktree PROMPT` starts a thread in a worktree of the folder")
            }
            Self::TurnRuns => Some("wait for its end, or `adjutant codex interrupt` it"),
            Self::Archived(_) => Some("`adjutant codex unarchive` takes it back"),
            Self::OtherMachine(_) => Some(
                "its hub continues it; `adjutant doctor` there names the machine of `adjutant codex show --json`",
            ),
            Self::OfAgent(_) => Some("reply in that thread, or fork this one"),
            // Codex 0.169 stores no beginning of a turn that reviews.
            Self::NotDone { why, .. } if why.contains("start boundary") => {
                Some("the newest turn is a review; take it back with the turn before it: --turns 2")
            }
            Self::Refused(reason) if reason.contains("unknown variant") => {
                Some("this version of Codex does not know the value; use one that the error names")
            }
            Self::Refused(_)
            | Self::NotDone { .. }
            | Self::Unanswered { .. }
            | Self::Start(_)
            | Self::Version(_) => {
                Some("see whether `codex` itself works there; `codex login` if it is not logged in")
            }
            Self::NoSteering | Self::KeptModel | Self::NotSteered(_) => {
                Some("send it as a reply, which waits for the turn's end, or interrupt the turn first")
            }
            Self::NoTurn => Some("`adjutant codex list` shows what each thread does"),
            Self::NotAsked(_) | Self::NotPermitted(_) => Some(
                "`adjutant codex approvals` shows each pending approval; forms are filled in in the Inbox",
            ),
            Self::Busy(_) | Self::Rejected(_) | Self::TooMany(_) | Self::Over | Self::Store(_) => None,
        }
    }
}
