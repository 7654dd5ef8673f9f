//! Reads what a runner writes: lines of stdout become progress, and the end becomes a report.

use super::failure::{Failure, Limit};

/// Something that happened during a run. Texts are cleaned of escape sequences and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The agent said something.
    Text(String),
    /// The agent's reasoning, where the runner shows it.
    Thinking(String),
    CommandStarted {
        command: String,
    },
    CommandEnded {
        command: String,
        exit: Option<i32>,
    },
    ToolStarted {
        tool: String,
    },
    ToolEnded {
        tool: String,
        result: ToolResult,
    },
    /// Paths as the runner names them.
    FilesChanged(Vec<String>),
    /// A warning or a retry that the runner tells of.
    Notice(String),
}

/// How a tool call of the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolResult {
    Done,
    Failed,
}

/// Reads one run. Feed it every line of stdout, then the end.
#[derive(Debug)]
pub(crate) struct Reader {}

/// How the process ended, as the supervisor saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Signalled(i32),
    NotStarted,
    Cancelled,
    TimedOut(Limit),
    HubGone,
}

/// What is left of a run when its process is gone.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) ending: Ending,
    /// The beginning and the end of each stream; the end is empty where the beginning is all.
    pub(crate) stdout: Ends<'a>,
    pub(crate) stderr: Ends<'a>,
    /// What stands in [`super::Prepared::final_message`], where there is such a file.
    pub(crate) final_message: Option<&'a [u8]>,
}

/// The two ends of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [u8],
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// The final message; present on success, and kept on failure where there was one.
    pub(crate) message: Option<String>,
    pub(crate) usage: Usage,
    /// What the runner takes to go on with this session.
    pub(crate) session: Option<String>,
    /// The model that really answered, where told.
    pub(crate) model: Option<String>,
    /// Commands in the order of their ends; the first 1,000.
    pub(crate) commands: Vec<Ran>,
    /// Files the runner says it changed; the first 1,000.
    pub(crate) files: Vec<String>,
    /// `None` is success: the runner told of its own good end, and the message is not empty.
    pub(crate) failure: Option<Failure>,
}

/// A command that the agent ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) command: String,
    /// `None` where the runner does not tell.
    pub(crate) exit: Option<i32>,
}

/// What a run cost; `None` where the runner does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Tokens read, the cached ones included.
    pub(crate) input_tokens: Option<u64>,
    pub(crate) cached_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub(crate) cost_micro_usd: Option<u64>,
}

impl Reader {
    /// Reads one line of stdout, without its end.
    pub(crate) fn line(&mut self, line: &[u8]) -> Vec<Progress> {
        let _ = line;
        Vec::new()
    }

    /// Says what the run came to.
    pub(crate) fn finish(self, ended: &Ended<'_>) -> Report {
        let _ = ended;
        Report::default()
    }
}
