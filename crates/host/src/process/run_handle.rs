//! The handle of a run in the hub.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::output_line::OutputLine;
use super::reexec::current_image;
use super::supervised_run::{Command, Error, Outcome};
use super::supervisor_protocol::{Event, Limits, MAX_INPUT_BYTES, OsText, Request, SpawnRequest, Workdir};
use super::{child, orphans};
use adjutant_base::text::hex;

/// Timeout of the first event of a supervisor, because many may start at once.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// After a limit of a run and its time to end, how long its supervisor is waited for before it is taken for stopped and
/// continued, and then before it is killed.
const WAKE_TIMEOUT: Duration = Duration::from_secs(1);
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum lines in the queue of the reader. The others wait in the spool.
const MAX_QUEUED_LINES: usize = 16;

/// A running run. Dropping it has the effect of the hub's exit, which [`OnHubExit`](super::OnHubExit) selects.
#[derive(Debug)]
pub struct Running {
    /// The guard of the supervisor, or the supervisor itself where the last hub started it.
    pub supervisor: u32,
    /// Lines of stdout; closed after the last one. A slow reader delays only [`Running::ended`].
    pub lines: mpsc::Receiver<OutputLine>,
    /// Sends cancel requests. The run ends when all senders are dropped.
    cancels: mpsc::Sender<()>,
    outcome: oneshot::Receiver<Outcome>,
    spool: PathBuf,
}

/// Cancels a run from any task.
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::WeakSender<()>);

impl Canceller {
    /// Requests the end of the run; a second request has no effect.
    pub fn cancel(&self) {
        if let Some(sender) = self.0.upgrade() {
            let _ = sender.try_send(());
        }
    }
}

impl Running {
    /// Requests the end of the run; the outcome comes after its last process has ended.
    pub fn cancel(&self) {
        let _ = self.cancels.try_send(());
    }

    /// Returns a handle that cancels this run.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancels.downgrade())
    }

    /// Waits until all processes of the run have ended. Unread lines are dropped.
    pub async fn ended(self) -> Outcome {
        let Self { lines, cancels, outcome, spool, .. } = self;
        drop(lines);
        let ended = outcome.await.unwrap_or_else(|_| Outcome::unobserved(&spool));
        drop(cancels);
        ended
    }

    /// Follows a supervisor that another hub started.
    pub(super) fn attached(
        supervisor: u32,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        spool: PathBuf,
        limits: Limits,
    ) -> Self {
        Self { supervisor, ..Self::follow(None, input, output, spool, limits) }
    }

    /// Follows a supervisor after its first event.
    fn follow(
        supervisor: Option<Child>,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        spool: PathBuf,
        limits: Limits,
    ) -> Self {
        let (send_lines, lines) = mpsc::channel(MAX_QUEUED_LINES);
        let (cancels, cancelled) = mpsc::channel(1);
        let (send_outcome, outcome) = oneshot::channel();
        let pid = supervisor.as_ref().and_then(Child::id).unwrap_or(0);
        let folder = spool.clone();
        // The task ends when the returned value is dropped, or with the run.
        tokio::spawn(async move {
            let overdue = Overdue::new(limits, folder.clone());
            let end = forward_events(BufReader::new(input), output, &send_lines, cancelled, overdue).await;
            let (ended, offset) = match end {
                ConnectionEnd::Outcome(outcome, offset) => (Some(outcome), offset),
                ConnectionEnd::Closed(offset) => (None, offset),
                ConnectionEnd::HandleDropped => {
                    let _ = tokio::task::spawn_blocking(move || orphans::wake(&folder)).await;
                    return;
                }
            };
            let rest = move || {
                // A supervisor that ends before it has read `attach` sends its outcome and no line.
                let is_incomplete = ended.is_none() || offset == 0;
                let outcome = ended.unwrap_or_else(|| orphans::finish_orphan(&folder));
                (if is_incomplete { outcome.stdout.lines(offset) } else { Vec::new() }, outcome)
            };
            let (lines, outcome) = tokio::task::spawn_blocking(rest).await.ok().unzip();
            for line in lines.into_iter().flatten() {
                if send_lines.send(line).await.is_err() {
                    break;
                }
            }
            drop(send_lines);
            if let Some(outcome) = outcome {
                let _ = send_outcome.send(outcome);
            }
            if let Some(mut supervisor) = supervisor {
                // A guard that was stopped would stay.
                if let Some(pid) = supervisor.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                    let _ = kill_process(pid, Signal::CONT);
                }
                let _ = supervisor.wait().await;
            }
        });
        Self { supervisor: pid, lines, cancels, outcome, spool }
    }
}

/// The end of a connection to a supervisor.
enum ConnectionEnd {
    /// With the bytes of stdout that had arrived as lines.
    Outcome(Outcome, u64),
    /// The supervisor closed it without an outcome; perhaps it was killed. With the same bytes.
    Closed(u64),
    /// The handle of the run was dropped.
    HandleDropped,
}

/// The time at which the supervisor of a run is overdue: it has not ended a run that was cancelled or has reached its
/// limit.
struct Overdue {
    at: Option<Instant>,
    /// Number of times that it was overdue.
    times: u32,
    grace: Duration,
    spool: PathBuf,
}

impl Overdue {
    fn new(limits: Limits, spool: PathBuf) -> Self {
        let at = limits.wall.map(|wall| Instant::now() + wall + limits.grace + WAKE_TIMEOUT);
        Self { at, times: 0, grace: limits.grace, spool }
    }

    /// Waits until the supervisor is overdue.
    async fn wait(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    fn cancelled(&mut self) {
        let at = Instant::now() + self.grace + WAKE_TIMEOUT;
        self.at = Some(self.at.map_or(at, |before| before.min(at)));
    }

    /// Continues a supervisor or a guard that may be stopped, and kills one that does not end its run even then: first the
    /// supervisor, then the guard.
    async fn act(&mut self) {
        let (spool, kill) = (self.spool.clone(), self.times > 0);
        let acted = move || {
            if kill {
                tracing::warn!(run = %spool.display(), "the supervisor of a run does not end it, and is killed");
                orphans::kill_supervisor(&spool);
            }
            orphans::wake(&spool);
        };
        let _ = tokio::task::spawn_blocking(acted).await;
        self.times += 1;
        self.at = Some(Instant::now() + KILL_TIMEOUT);
    }
}

async fn forward_events(
    mut input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    lines: &mpsc::Sender<OutputLine>,
    mut cancels: mpsc::Receiver<()>,
    mut overdue: Overdue,
) -> ConnectionEnd {
    let (mut bytes, mut offset) = (Vec::new(), 0);
    let mut pending: Option<OutputLine> = None;
    loop {
        tokio::select! {
            permit = lines.reserve(), if pending.is_some() => {
                // Without a reader of lines the outcome is still needed.
                if let (Ok(permit), Some(line)) = (permit, pending.take()) {
                    permit.send(line);
                }
            }
            event = next_event(&mut input, &mut bytes), if pending.is_none() => match event {
                Some(Event::Line(line)) => {
                    offset += line.stream_bytes();
                    pending = Some(line);
                }
                Some(Event::Ended { outcome }) => return ConnectionEnd::Outcome(outcome, offset),
                Some(Event::Started { .. } | Event::Refused { .. }) => {}
                None => return ConnectionEnd::Closed(offset),
            },
            cancel = cancels.recv() => match cancel {
                Some(()) => {
                    // It fails if the supervisor has ended, which needs no cancel request.
                    let _ = send_request(&mut output, Request::Cancel).await;
                    overdue.cancelled();
                }
                None => return ConnectionEnd::HandleDropped,
            },
            () = overdue.wait() => overdue.act().await,
        }
    }
}

/// Sends a request to a supervisor.
pub(super) async fn send_request(
    output: &mut (impl AsyncWrite + Unpin),
    request: Request,
) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    output.write_all(&line).await
}

/// Reads the next event. Cancel-safe, because `bytes` keeps a partial line. `None` at the end and for a line that is
/// not an event.
async fn next_event(input: &mut (impl AsyncBufRead + Unpin), bytes: &mut Vec<u8>) -> Option<Event> {
    input.read_until(b'\n', bytes).await.ok()?;
    serde_json::from_slice(&std::mem::take(bytes)).ok()
}

/// Starts a supervisor, and the command below it.
pub async fn start(command: Command) -> Result<Running, Error> {
    start_known(command, |_| {}).await
}

/// Like [`start`]; `on_supervisor` is called with the process above all others of the run before the command starts, so
/// that every request of the command can be attributed to the run.
pub async fn start_known(command: Command, on_supervisor: impl FnOnce(u32)) -> Result<Running, Error> {
    supervise(command, None, on_supervisor).await
}

/// Starts an interactive command. Returns the run, and a socket to the stdin and stdout of the command. They bypass the
/// supervisor, so they are not spooled and do not count for the output timeouts. Shutting down the writing half closes
/// stdin.
pub async fn start_live(command: Command) -> Result<(Running, UnixStream), Error> {
    let failed = |error: std::io::Error| Error::Spawn(error.to_string());
    let (hub_end, runner_end) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    hub_end.set_nonblocking(true).map_err(failed)?;
    let hub_end = UnixStream::from_std(hub_end).map_err(failed)?;
    Ok((supervise(command, Some(runner_end.into()), |_| {}).await?, hub_end))
}

async fn supervise(
    command: Command,
    live: Option<OwnedFd>,
    on_supervisor: impl FnOnce(u32),
) -> Result<Running, Error> {
    let spool = command.spool.clone();
    let input = command.stdin.clone();
    let request = SpawnRequest { live: live.is_some(), ..validate(command).await? };
    let limits = request.limits();
    let failed = |error: std::io::Error| Error::Spawn(error.to_string());
    let mut supervisor = child(current_image().map_err(failed)?);
    supervisor
        .args(["supervise", "--guard"])
        .arg(&spool)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(live.map_or_else(Stdio::null, Stdio::from));
    let mut supervisor = tokio::process::Command::from(supervisor).spawn().map_err(failed)?;
    if let Some(pid) = supervisor.id() {
        on_supervisor(pid);
    }
    let (Some(mut lifeline), Some(output)) = (supervisor.stdin.take(), supervisor.stdout.take()) else {
        return Err(Error::Spawn("the supervisor has no pipes".to_owned()));
    };
    let mut bytes = serde_json::to_vec(&request).map_err(|error| Error::Spawn(error.to_string()))?;
    bytes.push(b'\n');
    bytes.extend(input.unwrap_or_default());
    let mut output = BufReader::new(output);
    let mut first_bytes = Vec::new();
    let first = tokio::time::timeout(START_TIMEOUT, async {
        lifeline.write_all(&bytes).await?;
        Ok::<_, std::io::Error>(next_event(&mut output, &mut first_bytes).await)
    });
    let reason = match first.await {
        Ok(Ok(Some(Event::Started { .. }))) => None,
        Ok(Ok(Some(Event::Refused { error }))) => return Err(error),
        Ok(Ok(_)) => Some("the supervisor ended before it sent an event".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the supervisor did not answer".to_owned()),
    };
    if let Some(reason) = reason {
        // A supervisor that is late starts nothing without its folder. One that has it may have started the command.
        let folder = spool.clone();
        let prevented = tokio::task::spawn_blocking(move || orphans::prevent(&folder)).await;
        if !matches!(prevented, Ok(Err(error)) if error.kind() == std::io::ErrorKind::AlreadyExists) {
            if let Some(pid) = supervisor.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                let _ = tokio::task::spawn_blocking(move || orphans::kill_tree(pid)).await;
            }
            return Err(Error::Spawn(reason));
        }
        tracing::warn!(reason, run = %spool.display(), "a run is followed although its start is unknown");
    }
    Ok(Running::follow(Some(supervisor), output, lifeline, spool, limits))
}

/// Validates a command and returns the request for the supervisor.
async fn validate(command: Command) -> Result<SpawnRequest, Error> {
    let has_zero = |text: &OsStr| text.as_bytes().contains(&0);
    if command.argv.is_empty() {
        return Err(Error::Argv("is empty".to_owned()));
    }
    if command.argv.iter().any(|argument| has_zero(argument)) {
        return Err(Error::Argv("holds a zero byte".to_owned()));
    }
    let is_variable = |name: &OsStr| !name.is_empty() && !name.as_bytes().contains(&b'=') && !has_zero(name);
    if !command.env.iter().all(|(name, value)| is_variable(name) && !has_zero(value)) {
        return Err(Error::Argv("has an environment that cannot be passed on".to_owned()));
    }
    let input = command.stdin.as_ref().map(|bytes| bytes.len() as u64);
    if input.is_some_and(|length| length > MAX_INPUT_BYTES) {
        return Err(Error::Argv(format!("has more than {} MiB for stdin", MAX_INPUT_BYTES >> 20)));
    }
    let found = tokio::fs::metadata(&command.workdir)
        .await
        .map_err(|error| Error::Workdir(format!("cannot be read: {error}")))?;
    if !found.is_dir() || !command.workdir.is_absolute() {
        return Err(Error::Workdir("is not an absolute path of a folder".to_owned()));
    }
    let mark = hex::random::<16>().map_err(|error| Error::Spawn(error.to_string()))?;
    let milliseconds = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    Ok(SpawnRequest {
        argv: command.argv.into_iter().map(OsText).collect(),
        workdir: Workdir {
            path: OsText(command.workdir.into_os_string()),
            device: found.dev(),
            inode: found.ino(),
        },
        env: command.env.into_iter().map(|(name, value)| (OsText(name), OsText(value))).collect(),
        stdin: input,
        live: false,
        wall_ms: command.timeouts.wall.map(milliseconds),
        idle_ms: command.timeouts.idle.map(milliseconds),
        first_output_ms: command.timeouts.first_output.map(milliseconds),
        grace_ms: milliseconds(command.grace),
        spool: OsText(command.spool.into_os_string()),
        cap: command.cap,
        on_hub_exit: command.on_hub_exit,
        is_wrapped: command.is_wrapped,
        mark,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_that_ends_while_a_hub_attaches_keeps_its_lines() {
        let spool = tempfile::tempdir().unwrap();
        std::fs::write(spool.path().join("stdout"), "working\nresult\n").unwrap();
        let ended = Event::Ended { outcome: Outcome::unobserved(spool.path()) };
        let sent = serde_json::to_string(&ended).unwrap() + "\n";
        let limits = Limits { wall: None, grace: Duration::ZERO };
        let input = std::io::Cursor::new(sent.into_bytes());
        let mut running = Running::attached(0, input, tokio::io::sink(), spool.path().to_owned(), limits);
        let mut lines = Vec::new();
        while let Some(line) = running.lines.recv().await {
            lines.push(line.text);
        }
        assert_eq!(lines, ["working", "result"]);
        assert!(!running.ended().await.is_counted);
    }
}
