//! The hub's side of a run.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};

use super::protocol::{Event, MAX_INPUT_BYTES, Order, Request, Text, Workdir};
use super::reexec::current_image;
use super::run::{Command, Error, Outcome, OutputLine};
use super::{child, orphan_cleanup};

/// How long a supervisor has for its first word; many may start at once.
const FIRST_WORD: Duration = Duration::from_secs(30);
/// Lines that wait for whoever reads them. The rest waits in the spool.
const LINES: usize = 16;

/// A run that goes on. Dropping it is what the hub's exit would be: the run ends or goes on, as its
/// [`OnHubExit`](super::OnHubExit) says.
#[derive(Debug)]
pub struct Running {
    /// The supervisor's process.
    pub supervisor: u32,
    /// Lines of stdout as they come; closed when all were given. Who does not read them delays [`Running::ended`],
    /// nothing else.
    pub lines: mpsc::Receiver<OutputLine>,
    /// What keeps the run tied to this value.
    cancels: mpsc::Sender<()>,
    outcome: oneshot::Receiver<Outcome>,
    spool: PathBuf,
}

/// Cancels a run, from wherever.
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::WeakSender<()>);

impl Canceller {
    /// Asks for the run's end; asking twice is asking once.
    pub fn cancel(&self) {
        if let Some(sender) = self.0.upgrade() {
            let _ = sender.try_send(());
        }
    }
}

impl Running {
    /// Asks for the run's end; the outcome says when nothing is left of it.
    pub fn cancel(&self) {
        let _ = self.cancels.try_send(());
    }

    /// Returns a handle that cancels this run, to be kept elsewhere.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancels.downgrade())
    }

    /// Waits until nothing is left of the run. Lines that were not read are dropped.
    pub async fn ended(self) -> Outcome {
        let Self { lines, cancels, outcome, spool, .. } = self;
        drop(lines);
        let ended = outcome.await.unwrap_or_else(|_| Outcome::unseen(&spool));
        drop(cancels);
        ended
    }

    /// Follows a supervisor that this hub did not start.
    pub(super) fn attached(
        supervisor: u32,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        spool: PathBuf,
    ) -> Self {
        Self { supervisor, ..Self::follow(None, input, output, spool) }
    }

    /// Follows a supervisor that has said its first word.
    fn follow(
        supervisor: Option<Child>,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        spool: PathBuf,
    ) -> Self {
        let (send_lines, lines) = mpsc::channel(LINES);
        let (cancels, cancelled) = mpsc::channel(1);
        let (send_outcome, outcome) = oneshot::channel();
        let pid = supervisor.as_ref().and_then(Child::id).unwrap_or(0);
        let place = spool.clone();
        // Its owner is the value returned: it ends when that is dropped, or with the run.
        tokio::spawn(async move {
            let told = listen(BufReader::new(input), output, send_lines, cancelled).await;
            let outcome = match told {
                Told::Ended(outcome) => Some(outcome),
                Told::Nothing => {
                    tokio::task::spawn_blocking(move || orphan_cleanup::settle(&place)).await.ok()
                }
                Told::Abandoned => return,
            };
            if let Some(outcome) = outcome {
                let _ = send_outcome.send(outcome);
            }
            if let Some(mut supervisor) = supervisor {
                let _ = supervisor.wait().await;
            }
        });
        Self { supervisor: pid, lines, cancels, outcome, spool }
    }
}

/// How listening to a supervisor ended.
enum Told {
    Ended(Outcome),
    /// The supervisor is silent for ever, killed perhaps.
    Nothing,
    /// Nobody here wants to know any more.
    Abandoned,
}

async fn listen(
    mut input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    lines: mpsc::Sender<OutputLine>,
    mut cancels: mpsc::Receiver<()>,
) -> Told {
    let mut bytes = Vec::new();
    let mut waiting: Option<OutputLine> = None;
    loop {
        tokio::select! {
            room = lines.reserve(), if waiting.is_some() => {
                // Without a room nobody reads lines any more; the end is still wanted.
                if let (Ok(room), Some(line)) = (room, waiting.take()) {
                    room.send(line);
                }
            }
            event = hear(&mut input, &mut bytes), if waiting.is_none() => match event {
                Some(Event::Line { text, raw, cut, missed }) => {
                    waiting = Some(OutputLine { text, raw, cut, missed });
                }
                Some(Event::Ended { outcome }) => return Told::Ended(outcome),
                Some(Event::Started { .. } | Event::Refused { .. }) => {}
                None => return Told::Nothing,
            },
            cancel = cancels.recv() => match cancel {
                Some(()) => {
                    // A supervisor that is gone needs no cancel.
                    let _ = ask(&mut output, Request::Cancel).await;
                }
                None => return Told::Abandoned,
            },
        }
    }
}

/// Sends a request.
pub(super) async fn ask(output: &mut (impl AsyncWrite + Unpin), request: Request) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    output.write_all(&line).await
}

/// Reads the next event, also when the last call was given up half-way. `None` at the end, and for what is not an
/// event.
async fn hear(input: &mut (impl AsyncBufRead + Unpin), bytes: &mut Vec<u8>) -> Option<Event> {
    input.read_until(b'\n', bytes).await.ok()?;
    let event = serde_json::from_slice(bytes).ok();
    *bytes = Vec::new();
    event
}

/// Starts a supervisor, and the command below it.
pub async fn start(command: Command) -> Result<Running, Error> {
    start_known(command, |_| {}).await
}

/// The same; `know` is told the supervisor's process before the command exists, so that nothing which the command does
/// comes from a stranger.
pub async fn start_known(command: Command, know: impl FnOnce(u32)) -> Result<Running, Error> {
    supervise(command, None, know).await
}

/// Starts a command that is talked with: what is returned beside the run is its stdin and stdout, which the
/// supervisor never sees, so they cost it nothing and are not spooled. Shutting the writing half down is the end of
/// its stdin. The limits on output do not see stdout either.
pub async fn start_live(command: Command) -> Result<(Running, UnixStream), Error> {
    let failed = |error: std::io::Error| Error::Spawn(error.to_string());
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    let ours = UnixStream::from_std(ours).map_err(failed)?;
    Ok((supervise(command, Some(theirs.into()), |_| {}).await?, ours))
}

async fn supervise(
    command: Command,
    live: Option<OwnedFd>,
    know: impl FnOnce(u32),
) -> Result<Running, Error> {
    let spool = command.spool.clone();
    let input = command.stdin.clone();
    let order = Order { live: live.is_some(), ..order(command).await? };
    let failed = |error: std::io::Error| Error::Spawn(error.to_string());
    let mut supervisor = child(current_image().map_err(failed)?);
    supervisor
        .arg("supervise")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(live.map_or_else(Stdio::null, Stdio::from));
    let mut supervisor = tokio::process::Command::from(supervisor).spawn().map_err(failed)?;
    if let Some(pid) = supervisor.id() {
        know(pid);
    }
    let (Some(mut lifeline), Some(output)) = (supervisor.stdin.take(), supervisor.stdout.take()) else {
        return Err(Error::Spawn("the supervisor has no pipes".to_owned()));
    };
    let mut bytes = serde_json::to_vec(&order).map_err(|error| Error::Spawn(error.to_string()))?;
    bytes.push(b'\n');
    bytes.extend(input.unwrap_or_default());
    lifeline.write_all(&bytes).await.map_err(failed)?;
    drop(bytes);
    let mut output = BufReader::new(output);
    let first = tokio::time::timeout(FIRST_WORD, hear(&mut output, &mut Vec::new())).await;
    match first {
        Ok(Some(Event::Started { .. })) => Ok(Running::follow(Some(supervisor), output, lifeline, spool)),
        Ok(Some(Event::Refused { error })) => Err(error),
        Ok(_) => Err(Error::Spawn("the supervisor ended without a word".to_owned())),
        Err(_) => Err(Error::Spawn("the supervisor did not answer".to_owned())),
    }
}

/// Checks a command and writes it down for the supervisor.
async fn order(command: Command) -> Result<Order, Error> {
    let has_zero = |text: &OsStr| text.as_bytes().contains(&0);
    if command.argv.is_empty() {
        return Err(Error::Argv("is empty".to_owned()));
    }
    if command.argv.iter().any(|word| has_zero(word)) {
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
    let mut mark = [0; 16];
    getrandom::fill(&mut mark).map_err(|error| Error::Spawn(error.to_string()))?;
    let milliseconds = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    Ok(Order {
        argv: command.argv.into_iter().map(Text).collect(),
        workdir: Workdir {
            path: Text(command.workdir.into_os_string()),
            device: found.dev(),
            inode: found.ino(),
        },
        env: command.env.into_iter().map(|(name, value)| (Text(name), Text(value))).collect(),
        stdin: input,
        live: false,
        wall_ms: command.timeouts.wall.map(milliseconds),
        idle_ms: command.timeouts.idle.map(milliseconds),
        first_output_ms: command.timeouts.first_output.map(milliseconds),
        grace_ms: milliseconds(command.grace),
        spool: Text(command.spool.into_os_string()),
        cap: command.cap,
        on_hub_exit: command.on_hub_exit,
        mark: format!("{:032x}", u128::from_ne_bytes(mark)),
    })
}
