//! Commands of the input box: lines that begin with `/`, by the names that Codex's own terminal has for them.

use std::path::Path;
use std::time::Instant;

use super::{Focus, ViewState};
use crate::socket::control::codex::Prompt;
use crate::tui::codex::messages::{Action, Effect, Report};
use crate::tui::widgets::text_input::Editor;
use adjutant_codex::operations::{Operation, TurnRef};
use adjutant_codex::thread_options::{Act, ReviewTarget, ThreadOptions, TurnInput};

const COMMANDS: &str = "/new /model NAME [EFFORT] /effort NAME /image PATH /file PATH /compact \
    /review [branch NAME | commit SHA | WORDS] /fork [TURNS] /revert [TURNS] /rename NAME /archive /unarchive /delete yes \
    /end-commands /diff /plan /limits /agents; a prompt that begins with / has two of them";

impl ViewState {
    /// Carries out a command. One that is not valid stays in the input box, and a notice says why.
    pub(super) fn command(&mut self, line: &str, now: Instant) -> Option<Effect> {
        match self.carry_out(line, now) {
            Ok(effect) => {
                self.editor = Editor::default();
                effect
            }
            Err(reason) => {
                self.notify(reason, now);
                None
            }
        }
    }

    fn carry_out(&mut self, line: &str, now: Instant) -> Result<Option<Effect>, String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let value = || match rest {
            "" => Err(format!("`/{word}` needs a value")),
            rest => Ok(rest.to_owned()),
        };
        let turns = || match (rest, rest.parse()) {
            ("", _) => Ok(None),
            (_, Ok(count)) if count > 0 => Ok(Some(TurnRef::FromEnd(count))),
            _ => Err(format!("`{rest}` is not a number of turns")),
        };
        let thread = || self.thread().map(ToOwned::to_owned).ok_or("no thread is open; a prompt starts one");
        let report = |report| Ok(Some(Effect::Run(Action::Report { thread: thread()?, report })));
        let operation = match word {
            "new" => {
                self.close_thread();
                return Ok(None);
            }
            "model" => {
                let value = value()?;
                let (model, effort) = value.split_once(char::is_whitespace).unwrap_or((&value, ""));
                self.attached.model = Some(model.to_owned());
                self.attached.effort = Some(effort.trim().to_owned()).filter(|effort| !effort.is_empty());
                return Ok(None);
            }
            "effort" => {
                self.attached.effort = Some(value()?);
                return Ok(None);
            }
            "image" => {
                self.attached.images.push(file(&value()?)?);
                return Ok(None);
            }
            "file" => {
                self.attached.files.push(file(&value()?)?);
                return Ok(None);
            }
            "compact" => return Ok(Some(act(thread()?, Act::Compact))),
            "review" => return Ok(Some(act(thread()?, Act::Review(review_target(rest))))),
            "agents" => {
                // The title of the thread of an agent that Codex started.
                let text = format!("agent of {}", thread()?);
                self.focus = Focus::Threads;
                return Ok(Some(self.watch(text)));
            }
            "diff" => return report(Report::Diff),
            "plan" => return report(Report::Plan),
            "limits" | "status" => return report(Report::Limits),
            "fork" => Operation::Fork { before: turns()? },
            "revert" => Operation::Revert { before: turns()?.unwrap_or(TurnRef::FromEnd(1)) },
            "rename" => Operation::Rename { name: value()? },
            "archive" => Operation::Archive,
            "unarchive" => Operation::Unarchive,
            "delete" if rest == "yes" => Operation::Delete,
            "delete" => {
                return Err("deleting a thread cannot be undone; `/delete yes` deletes it".to_owned());
            }
            "end-commands" => Operation::EndCommands,
            _ => return Err(format!("`/{word}` is not a command: {COMMANDS}")),
        };
        let thread = thread()?;
        self.notify(format!("/{word} …"), now);
        Ok(Some(Effect::Run(Action::Operate { thread, operation })))
    }

    /// Returns the files, images and settings of the next prompt in words; empty for none.
    pub(in crate::tui::codex) fn attachments(&self) -> String {
        let TurnInput { model, effort, images, files, .. } = &self.attached;
        let model = model.iter().map(|model| format!("model {model}"));
        let effort = effort.iter().map(|effort| format!("effort {effort}"));
        let images = images.iter().map(|path| format!("image {path}"));
        let files = files.iter().map(|path| format!("file {path}"));
        model.chain(effort).chain(images).chain(files).collect::<Vec<_>>().join(", ")
    }
}

/// Returns a turn of a thread without a prompt.
fn act(thread: String, act: Act) -> Effect {
    let turn = TurnInput { act, ..TurnInput::default() };
    let start = ThreadOptions { turn, ..ThreadOptions::default() };
    Effect::Run(Action::Send(Box::new(Prompt { thread: Some(thread), start })))
}

fn review_target(words: &str) -> ReviewTarget {
    match words.split_once(char::is_whitespace) {
        Some(("branch", branch)) => ReviewTarget::BaseBranch { branch: branch.trim().to_owned() },
        Some(("commit", sha)) => ReviewTarget::Commit { sha: sha.trim().to_owned(), title: None },
        _ if words.is_empty() => ReviewTarget::UncommittedChanges,
        _ => ReviewTarget::Custom { instructions: words.to_owned() },
    }
}

/// Returns the absolute path of a file of this machine.
fn file(path: &str) -> Result<String, String> {
    let absolute = std::path::absolute(Path::new(path)).ok().filter(|path| path.is_file());
    let absolute = absolute.ok_or_else(|| format!("there is no file `{path}`"))?;
    absolute.into_os_string().into_string().map_err(|_| format!("`{path}` is not UTF-8"))
}
