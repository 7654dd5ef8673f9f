//! `adjutant tap -- COMMAND`: records the messages between a client and a server on stdin and stdout.
//!
//! It is transparent: it forwards bytes at once, the end of each side, signals, and the exit code. Each direction has a
//! thread, because a read of stdin cannot be cancelled.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::{self, Failure};
use super::shutdown_signal::ShutdownSignal;
use adjutant_base::config::Roots;
use adjutant_base::config::recorder::{RecordedConnection, RecorderConfig};
use adjutant_host::process;
use adjutant_host::recorder::format::Direction;
use adjutant_host::recorder::{Recorder, Recording, Subject};

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// Time to wait for the end of the output after the server has exited, because its children may hold it open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Arguments of `adjutant tap`.
#[derive(Debug, Args)]
pub(super) struct TapArgs {
    /// Record into this new file [default: one in the home folder; see `adjutant log list`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The server's command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command, and returns its exit code.
pub(super) fn run(args: TapArgs, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::WARN)?;
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let subject = Subject { connection: RecordedConnection::Tap, about: words.join(" "), command: words };
    let (recorder, recording) = if let Some(file) = args.output {
        let file = std::path::absolute(file)?;
        if file.exists() {
            return Err(Failure::usage(format!("{} exists already", file.display()))
                .hint("name another file with --output; recordings are never overwritten"));
        }
        let recorder = Recorder::new(RecorderConfig::default());
        let recording = recorder.recording_into(subject, file);
        (recorder, recording)
    } else {
        let config =
            RecorderConfig { record: vec![RecordedConnection::Tap], ..common.config(Roots::User)?.recorder };
        let recorder = Recorder::new(config);
        let recording = recorder.recording_of(subject);
        (recorder, recording)
    };
    let status = run_command(&args.command, &recording)?;
    let code = code(status);
    recording.exited(code);
    drop(recording);
    recorder.flush();
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
}

/// Forwards everything until the command has exited.
fn run_command(command: &[OsString], recording: &Recording) -> Result<ExitStatus, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("the command cannot be started: {error}"))
            .hint("enter the full path of the program after `--`")
    };
    // The server keeps a terminal, because its output there is not made of lines.
    let terminal = io::stderr().is_terminal();
    let stderr = if terminal { Stdio::inherit() } else { Stdio::piped() };
    // Signals are caught before the command starts, so that none is lost.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut stop = runtime.block_on(async { ShutdownSignal::new() })?;
    let mut child = process::spawn_tied(command, stderr, output::is_json()).map_err(failed)?;
    let (send, ended) = channel::<()>();
    if let Some(to) = child.stdin.take() {
        let (recording, mut from) = (recording.clone(), unbuffered(&io::stdin())?);
        std::thread::spawn(move || {
            forward(&mut from, to, &recording, Direction::C2s);
            drop(from);
            // Closes the pipe, so that the client sees that nothing reads it.
            let _ = File::open("/dev/null").map(rustix::stdio::dup2_stdin);
        });
    }
    if let Some(mut from) = child.stdout.take() {
        let (recording, send, to) = (recording.clone(), send.clone(), unbuffered(&io::stdout())?);
        std::thread::spawn(move || {
            forward(&mut from, to, &recording, Direction::S2c);
            // Closes both pipes, so that both programs see the end of the other.
            drop(from);
            let _ = File::options().write(true).open("/dev/null").map(rustix::stdio::dup2_stdout);
            drop(send);
        });
    }
    if let Some(mut from) = child.stderr.take() {
        let (recording, send, to) = (recording.clone(), send.clone(), unbuffered(&io::stderr())?);
        std::thread::spawn(move || {
            forward(&mut from, to, &recording, Direction::Err);
            drop(send);
        });
    }
    drop(send);
    let status = runtime.block_on(wait(&mut child, &mut stop))?;
    // Nothing is ever sent: the threads drop their senders once all output has been forwarded.
    if let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(DRAIN_TIMEOUT) {
        tracing::debug!("a child of the server still holds its output");
    }
    Ok(status)
}

/// Waits for the exit of the command, and forwards signals meanwhile.
async fn wait(child: &mut Child, stop: &mut ShutdownSignal) -> io::Result<ExitStatus> {
    let pid = Pid::from_child(child);
    // A terminal interrupts the whole process group; a second signal would make a server skip its shutdown.
    let terminal = io::stdin().is_terminal();
    let mut ends = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child())?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        tokio::select! {
            _ = ends.recv() => {}
            signal = stop.received() => {
                let signal = match signal {
                    1 => Signal::HUP,
                    2 if terminal => continue,
                    2 => Signal::INT,
                    _ => Signal::TERM,
                };
                // The command may have exited just now.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// Forwards bytes until one side ends.
fn forward(from: &mut impl Read, mut to: impl Write, recording: &Recording, direction: Direction) {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                // Recorded before it is forwarded; else its answer could be recorded first. This does not block.
                recording.bytes(direction, &buffer[..length]);
                if to.write_all(&buffer[..length]).and_then(|()| to.flush()).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    recording.end(direction);
}

/// Returns the stream without the buffer of the standard library.
fn unbuffered(stream: &impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Returns the exit code as a shell does.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
