//! The process of Codex: what it writes, what it is given, and how it ends.

use std::ffi::OsString;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::Plan;
use crate::codex::error::Error;
use crate::codex::installed::environment;
use crate::codex::peer::Lines;
use crate::process::{self, Command, Exit, OnHubExit, Running, Timeouts};
use crate::recorder::Tape;
use crate::recorder::entry::Direction;

/// Bytes of its stderr that are kept, of its end that are recorded, and that are told.
const STDERR: u64 = 256 << 10;
const RECORDED: usize = 64 << 10;
const TOLD: usize = 600;
/// Bytes read at once.
const CHUNK: usize = 64 << 10;

pub(in crate::codex) struct Child {
    running: Option<Running>,
    input: OwnedReadHalf,
    output: OwnedWriteHalf,
    pub(in crate::codex) lines: Lines,
    buffer: Vec<u8>,
    spool: std::path::PathBuf,
    /// Takes what passes, as it was.
    tape: Tape,
}

/// What became of waiting for the child.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::codex) enum Said {
    /// There may be new lines.
    Read,
    Wrote,
    Ended,
}

impl Child {
    pub(in crate::codex) async fn start(plan: &Plan) -> Result<Self, Error> {
        let argv: Vec<OsString> =
            vec![plan.installed.program.clone().into(), plan.installed.back.as_str().into()];
        let command = Command {
            argv,
            workdir: plan.workdir.clone(),
            env: environment(),
            stdin: None,
            timeouts: Timeouts::default(),
            grace: process::GRACE,
            spool: plan.spool.clone(),
            cap: STDERR,
            on_hub_exit: OnHubExit::Kill,
        };
        let (running, stream) = process::start_live(command).await?;
        let (input, output) = stream.into_split();
        let (lines, buffer) = (Lines::default(), vec![0; CHUNK]);
        let tape = plan.tape.clone();
        Ok(Self { running: Some(running), input, output, lines, buffer, spool: plan.spool.clone(), tape })
    }

    /// Reads what comes, or writes what waits in `out`. May be given up at any time.
    pub(in crate::codex) async fn next(&mut self, out: &mut Vec<u8>) -> Said {
        tokio::select! {
            read = self.input.read(&mut self.buffer) => match read {
                Ok(0) | Err(_) => {
                    self.tape.end(Direction::S2c);
                    Said::Ended
                }
                Ok(length) => {
                    self.tape.bytes(Direction::S2c, &self.buffer[..length]);
                    self.lines.push(&self.buffer[..length]);
                    Said::Read
                }
            },
            written = self.output.write(out), if !out.is_empty() => match written {
                Ok(length) => {
                    self.tape.bytes(Direction::C2s, &out[..length]);
                    out.drain(..length);
                    Said::Wrote
                }
                Err(_) => Said::Ended,
            },
        }
    }

    /// Ends the child and everything below it, and says how it ended, for a person.
    pub(in crate::codex) async fn end(&mut self) -> Option<String> {
        let running = self.running.take()?;
        running.cancel();
        let outcome = running.ended().await;
        self.tape.bytes(Direction::Err, outcome.stderr.tail(RECORDED).as_bytes());
        match outcome.exit {
            Exit::Code(code) => self.tape.exited(code),
            Exit::Signal(signal) => self.tape.exited(128 + signal),
            Exit::NotStarted | Exit::Unknown => {}
        }
        let stderr = outcome.stderr.tail(TOLD);
        let stderr = stderr.trim();
        let how = match outcome.exit {
            Exit::Code(code) => format!("codex exited with {code}"),
            Exit::Signal(signal) => format!("codex was ended by signal {signal}"),
            Exit::NotStarted => "codex could not be executed".to_owned(),
            Exit::Unknown => "codex is gone".to_owned(),
        };
        if outcome.processes_left > 0 {
            tracing::warn!(left = outcome.processes_left, "processes of a Codex session could not be ended");
        }
        // The folder was for this run; what is left of it is swept by the system.
        let _ = tokio::fs::remove_dir_all(&self.spool).await;
        Some(if stderr.is_empty() { how } else { format!("{how}: {stderr}") })
    }
}
