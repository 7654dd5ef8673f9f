//! `adjutant log replay`: replays one side of a recording on stdin and stdout, to a command, or over HTTP.

mod http;

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::process;
use adjutant_host::recorder::reader;
use adjutant_host::recorder::replay::{Due, LineMatch, Player, ReplayTransport, Role};

/// Maximum bytes of a line; a longer line is not compared.
const MAX_LINE_BYTES: usize = 32 << 20;
/// Capacity of the queue of lines from a command.
const QUEUE_SIZE: usize = 64;
/// Maximum pause with `--paced`.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// Time for a command to exit after the end of its input.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Arguments of `adjutant log replay`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReplayArgs {
    /// A file, a name or a part of one, or a thread's id
    #[arg(value_name = "RECORDING")]
    recording: String,
    /// Replay the client to this command; without a command, replay the server on stdin and stdout
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Replay the server of an HTTP recording at this loopback address; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["command", "to", "paced"])]
    http: Option<SocketAddr>,
    /// Replay the client of an HTTP recording to the server at this URL
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    to: Option<String>,
    /// File with the token for the server at `--to`
    #[arg(long, value_name = "FILE", requires = "to")]
    token_file: Option<PathBuf>,
    /// Do not compare members with this name; may be repeated
    #[arg(long, value_name = "MEMBER")]
    ignore: Vec<String>,
    /// Keep the pauses of the recording
    #[arg(long)]
    paced: bool,
    /// As the client, seconds to wait for the next recorded message
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// Write the differences to this file too, for a client that shows no stderr
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Replays to the end. The exit code is 1 if something differs from the recording.
pub(super) fn run(args: &ReplayArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let found = reader::find(folder, Some(&args.recording))?;
    let role = if args.command.is_empty() && args.to.is_none() { Role::Server } else { Role::Client };
    let transport =
        if args.http.is_some() || args.to.is_some() { ReplayTransport::Http } else { ReplayTransport::Lines };
    let mut player = Player::new(role, transport, &found, &args.ignore)?;
    if transport == ReplayTransport::Http && player.calls.is_empty() {
        return Err(
            Failure::new("this recording has no HTTP messages").hint("replay it without --http and --to")
        );
    }
    let exit = match (&args.to, args.http, role) {
        (Some(url), _, _) => {
            http::drive(&mut player, url, args)?;
            None
        }
        (None, Some(address), _) => {
            player = http::serve(player, address, args)?;
            None
        }
        (None, None, Role::Server) => serve(&mut player, args)?,
        (None, None, Role::Client) => drive(&mut player, args)?,
    };
    let mut report = player.report();
    write_report(&player, args.report.as_deref())?;
    if output::is_json() && exit.is_none() && report.len() > 1 {
        let sum = report.pop().unwrap_or_default();
        return Err(report.iter().fold(Failure::new(sum), Failure::hint));
    }
    output::note(report.iter().map(|text| escape_line(text)).collect::<Vec<_>>().join("\n"));
    // The code of a server that exited by itself is part of the recording.
    Ok(ExitCode::from(exit.unwrap_or(u8::from(report.len() > 1))))
}

/// Writes the current report to the file, because a client may end its server by a signal.
fn write_report(player: &Player, file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let text: String = player.report().iter().map(|text| escape_line(text) + "\n").collect();
    std::fs::write(file, text).map_err(|error| {
        Failure::new(format!("{}: {error}", file.display())).hint("name another file with --report")
    })
}

/// Replays the server on stdin and stdout. Returns the exit code of the recorded server if it exited before its client.
fn serve(player: &mut Player, args: &ReplayArgs) -> Result<Option<u8>, Failure> {
    let mut stdin = BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    loop {
        while let Some(due) = player.due() {
            std::thread::sleep(pause_of(&due, args));
            if !output::raw(&[&due.bytes[..], b"\n"].concat())? {
                return Ok(None);
            }
        }
        if let Some(code) = player.exit.filter(|_| player.is_done()) {
            return Ok(u8::try_from(code & 0xff).ok());
        }
        write_report(player, args.report.as_deref())?;
        line.clear();
        if stdin.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if let Some(answer) = on_line(player, &line) {
            output::raw(&[&answer[..], b"\n"].concat())?;
        }
    }
}

/// Replays the client to a command: sends the recorded messages in their order.
fn drive(player: &mut Player, args: &ReplayArgs) -> Result<Option<u8>, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("the command cannot be started: {error}"))
            .hint("enter the full path of the program after `--`")
    };
    let mut child =
        process::spawn_tied(&args.command, Stdio::inherit(), output::is_json()).map_err(failed)?;
    let mut input = child.stdin.take();
    let lines = child.stdout.take().map(lines_of).ok_or_else(|| Failure::new("the command has no stdout"))?;
    let timeout = Duration::from_secs(args.timeout);
    loop {
        while let Some(due) = player.due() {
            std::thread::sleep(pause_of(&due, args));
            send_line(&mut input, &due.bytes);
        }
        if player.is_done() {
            break;
        }
        match lines.recv_timeout(timeout) {
            Ok(line) => {
                if let Some(answer) = on_line(player, &line) {
                    send_line(&mut input, &answer);
                }
            }
            Err(RecvTimeoutError::Timeout) if player.waits_for().is_some() => player.give_up(),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    drop(input);
    let end = Instant::now() + EXIT_TIMEOUT;
    // Messages after the last answer were recorded too.
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        on_line(player, &line);
    }
    if child.try_wait()?.is_none() && Instant::now() >= end {
        child.kill()?;
    }
    child.wait()?;
    Ok(None)
}

/// Passes a line to the player, unless it is blank, and returns the answer to it.
fn on_line(player: &mut Player, line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii();
    if line.is_empty() || line.len() > MAX_LINE_BYTES {
        return None;
    }
    match player.on_line(line) {
        LineMatch::Known { .. } => None,
        LineMatch::Unknown { answer } => answer,
    }
}

fn send_line(input: &mut Option<impl Write>, line: &[u8]) {
    let sent = input.as_mut().map(|input| {
        input.write_all(&[line, b"\n"].concat())?;
        input.flush()
    });
    // The report at the end shows the messages that a command did not read.
    if let Some(Err(_)) = sent {
        *input = None;
    }
}

/// Reads lines on a thread, which ends with the command.
fn lines_of(output: impl io::Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, lines) = sync_channel(QUEUE_SIZE);
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match output.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if send.send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    lines
}

/// Returns the pause before a line is sent.
fn pause_of(due: &Due, args: &ReplayArgs) -> Duration {
    if args.paced { Duration::from_micros(due.after).min(MAX_PAUSE) } else { Duration::ZERO }
}
