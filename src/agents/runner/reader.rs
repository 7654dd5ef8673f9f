//! Reads what a runner writes: lines of stdout become progress, and the end becomes a report.

use std::sync::Arc;

use serde_json::Value;

use super::failure::Failure;
use super::seen::{Seen, say};
use super::text::{plain, shown};
use super::{CommandRunner, claude, codex, copilot, gemini, opencode};
use crate::process::{Cause, Exit};

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
pub(crate) struct Reader {
    dialect: Dialect,
    seen: Seen,
}

/// What the process writes, which depends on the runner and on the command line.
#[derive(Clone, Debug)]
pub(super) enum Dialect {
    /// `codex exec --json`
    Codex,
    /// `copilot --output-format json`
    Copilot,
    /// `claude --output-format stream-json`
    Claude,
    /// `gemini --output-format stream-json`
    Gemini,
    /// `opencode run --format json`
    Opencode,
    /// The final message, as text, and nothing else.
    Text,
    /// What the configuration says.
    Command(Arc<CommandRunner>),
}

/// What is left of a run when its process is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) exit: Exit,
    pub(crate) cause: Cause,
    /// The beginning and the end of what it wrote to stderr; some kilobytes are enough.
    pub(crate) stderr: &'a str,
    /// What stands in the files that [`super::Leaves`] names, where there are such.
    pub(crate) final_message: Option<&'a [u8]>,
    pub(crate) usage: Option<&'a [u8]>,
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
    /// Returns a reader of what `dialect` describes.
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, seen: Seen::default() }
    }

    /// Reads one line of stdout, without its end. Whatever it holds, it is taken; what is not understood is passed
    /// over, for the CLIs add kinds of events with every release.
    pub(crate) fn line(&mut self, text: &str) -> Vec<Progress> {
        let seen = &mut self.seen;
        let read = match &self.dialect {
            Dialect::Codex => codex::read,
            Dialect::Copilot => copilot::read,
            Dialect::Claude => claude::read,
            Dialect::Gemini => gemini::read,
            Dialect::Opencode => opencode::read,
            Dialect::Text | Dialect::Command(_) => {
                if let Dialect::Command(command) = &self.dialect {
                    command.line(seen, text);
                }
                seen.text.line(text);
                return say(Progress::Text, text);
            }
        };
        match serde_json::from_str::<Value>(text) {
            Ok(event @ Value::Object(_)) => {
                seen.events += 1;
                read(seen, &event)
            }
            _ if text.trim().is_empty() => Vec::new(),
            // An event that was cut, or mangled by the runner's own removal of secrets.
            _ if text.starts_with('{') => {
                seen.mangled += 1;
                Vec::new()
            }
            _ => {
                seen.last_words = Some(shown(text));
                say(Progress::Notice, text)
            }
        }
    }

    /// Notes that so many bytes of stdout are missing here, because they were too many to be kept.
    pub(crate) fn gap(&mut self, bytes: u64) {
        if bytes > 0 {
            self.seen.text.gap(bytes);
        }
    }

    /// Says what the run came to. Success needs the runner's own word that it is done, a good exit and a message
    /// that is not empty; any one of them alone has been seen with a run that failed.
    pub(crate) fn finish(self, ended: &Ended<'_>) -> Report {
        let Self { dialect, mut seen } = self;
        if let Some(file) =
            ended.final_message.map(String::from_utf8_lossy).filter(|text| !text.trim().is_empty())
        {
            // The file is whole even where a line was too long to be read.
            seen.message = Some(plain(&file));
        }
        match &dialect {
            Dialect::Text => seen.end_of_text(ended),
            Dialect::Command(command) => command.end(&mut seen, ended),
            Dialect::Gemini => gemini::end(&mut seen, ended),
            Dialect::Copilot => copilot::usage(&mut seen, ended.usage.unwrap_or_default()),
            Dialect::Codex | Dialect::Claude | Dialect::Opencode => {}
        }
        let message =
            seen.message.take().map(|text| plain(&text).trim().to_owned()).filter(|text| !text.is_empty());
        let failure = seen.failure(ended, message.is_some());
        Report {
            message,
            usage: seen.usage,
            session: seen.session,
            model: seen.model,
            commands: seen.commands,
            files: seen.files,
            failure,
        }
    }
}
