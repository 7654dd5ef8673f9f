//! The child process of a session: its input, its output and its end.

use std::ffi::OsString;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::setup::SessionSetup;
use crate::detect::environment;
use crate::error::Error;
use crate::jsonrpc::Lines;
use adjutant_host::process::{self, Command, Exit, OnHubExit, Running, Timeouts};
use adjutant_host::recorder::Recording;
use adjutant_host::recorder::format::Direction;

/// Bytes of stderr that are kept, bytes of its end that are recorded, and bytes that are reported.
const MAX_STDERR_BYTES: u64 = 256 << 10;
const RECORDED_BYTES: usize = 64 << 10;
const REPORTED_BYTES: usize = 600;
/// Bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) struct Child {
    running: Option<Running>,
    input: OwnedReadHalf,
    output: OwnedWriteHalf,
    pub lines: Lines,
    buffer: Vec<u8>,
    spool: std::path::PathBuf,
    /// Records the raw bytes.
    recording: Recording,
}

/// The result of waiting for the child.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChildEvent {
    /// There may be new lines.
    Output,
    Written,
    Ended,
}

impl Child {
    pub(crate) async fn start(plan: &SessionSetup) -> Result<Self, Error> {
        let argv: Vec<OsString> =
            vec![plan.installed.program.clone().into(), plan.installed.backend.name().into()];
        let command = Command {
            argv,
            workdir: plan.workdir.clone(),
            env: environment(),
            stdin: None,
            timeouts: Timeouts::default(),
            grace: process::GRACE,
            spool: plan.spool.clone(),
            cap: MAX_STDERR_BYTES,
            on_hub_exit: OnHubExit::Kill,
            is_wrapped: false,
        };
        let (running, stream) = process::start_live(command).await?;
        let (input, output) = stream.into_split();
        let (lines, buffer) = (Lines::default(), vec![0; CHUNK_BYTES]);
        let recording = plan.recording.clone();
        Ok(Self {
            running: Some(running),
            input,
            output,
            lines,
            buffer,
            spool: plan.spool.clone(),
            recording,
        })
    }

    /// Reads available bytes, or writes the bytes in `out`. May be cancelled at any time.
    pub(crate) async fn next(&mut self, out: &mut Vec<u8>) -> ChildEvent {
        tokio::select! {
            read = self.input.read(&mut self.buffer) => match read {
                Ok(0) | Err(_) => {
                    self.recording.end(Direction::S2c);
                    ChildEvent::Ended
                }
                Ok(length) => {
                    self.recording.bytes(Direction::S2c, &self.buffer[..length]);
                    self.lines.push(&self.buffer[..length]);
                    ChildEvent::Output
                }
            },
            written = self.output.write(out), if !out.is_empty() => match written {
                Ok(length) => {
                    self.recording.bytes(Direction::C2s, &out[..length]);
                    out.drain(..length);
                    ChildEvent::Written
                }
                Err(_) => ChildEvent::Ended,
            },
        }
    }

    /// Ends the child and all processes below it. Returns how it ended, as text for the user.
    pub(crate) async fn end(&mut self) -> Option<String> {
        let running = self.running.take()?;
        running.cancel();
        let outcome = running.ended().await;
        self.recording.bytes(Direction::Err, outcome.stderr.tail(RECORDED_BYTES).as_bytes());
        match outcome.exit {
            Exit::Code(code) => self.recording.exited(code),
            Exit::Signal(signal) => self.recording.exited(128 + signal),
            Exit::NotStarted | Exit::Unknown => {}
        }
        let stderr = outcome.stderr.tail(REPORTED_BYTES);
        let stderr = stderr.trim();
        let how = match outcome.exit {
            Exit::Code(code) => format!("codex exited with {code}"),
            Exit::Signal(signal) => format!("codex was ended by signal {signal}"),
            Exit::NotStarted => "codex could not be executed".to_owned(),
            Exit::Unknown => "codex has ended".to_owned(),
        };
        if outcome.processes_left > 0 {
            tracing::warn!(left = outcome.processes_left, "processes of a Codex session could not be ended");
        }
        // The folder belongs to this run; the system removes what is left of it.
        let _ = tokio::fs::remove_dir_all(&self.spool).await;
        Some(if stderr.is_empty() { how } else { format!("{how}: {stderr}") })
    }
}
