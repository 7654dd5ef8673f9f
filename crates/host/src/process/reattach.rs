//! Reattaches the hub to runs that outlived the previous hub.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::orphans;
use super::run_handle::{Running, send_request};
use super::supervised_run::{Error, Outcome};
use super::supervisor_protocol::{CONTROL, LOCK, Limits, Request};

/// Time for a supervisor between two states: about to listen, or about to end.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(15);

/// The result of [`resume`].
#[derive(Debug)]
pub enum Resumed {
    /// The run is running; its lines come from the first one on.
    Running(Running),
    /// The run has ended.
    Ended(Outcome),
    /// The run had not begun, and cannot begin later.
    NotBegun,
}

/// Resumes the run of this spool folder after its hub ended: attaches to it, or reads its outcome. If its supervisor
/// was killed, the run is ended and reported as [`Cause::Lost`](super::Cause::Lost).
pub async fn resume(spool: &Path) -> Result<Resumed, Error> {
    let folder = spool.to_owned();
    let failed = |error: &dyn std::fmt::Display| Error::Spool(format!("cannot be read: {error}"));
    let state =
        tokio::task::spawn_blocking(move || run_state(&folder)).await.map_err(|error| failed(&error))??;
    match state {
        RunState::Ended(outcome) => Ok(Resumed::Ended(outcome)),
        RunState::NotBegun => Ok(Resumed::NotBegun),
        RunState::Listening { supervisor, limits, stream } => {
            stream.set_nonblocking(true).map_err(|error| failed(&error))?;
            let stream = tokio::net::UnixStream::from_std(stream).map_err(|error| failed(&error))?;
            let (input, mut output) = stream.into_split();
            // It fails if the supervisor has ended meanwhile, whose outcome is read then.
            let _ = send_request(&mut output, Request::Attach).await;
            Ok(Resumed::Running(Running::attached(supervisor, input, output, spool.to_owned(), limits)))
        }
    }
}

/// The state of a run in its spool folder.
enum RunState {
    Ended(Outcome),
    NotBegun,
    Listening { supervisor: u32, limits: Limits, stream: UnixStream },
}

fn run_state(spool: &Path) -> Result<RunState, Error> {
    let deadline = Instant::now() + ATTACH_TIMEOUT;
    let lock = loop {
        match OpenOptions::new().read(true).open(spool.join(LOCK)) {
            Ok(lock) => break lock,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(RunState::NotBegun),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::Spool(format!("holds no run: {error}")));
            }
            Err(_) => match orphans::prevent(spool) {
                Ok(()) => return Ok(RunState::NotBegun),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // A supervisor that has no lock for so long has started nothing, and without its folder it cannot.
                    if Instant::now() >= deadline {
                        let removed = std::fs::remove_dir_all(spool);
                        removed.map_err(|error| Error::Spool(format!("holds no run: {error}")))?;
                    }
                    std::thread::park_timeout(Duration::from_millis(10));
                }
                Err(error) => return Err(Error::Spool(format!("cannot be made: {error}"))),
            },
        }
    };
    orphans::wake(spool);
    loop {
        if let Some(outcome) = orphans::read_outcome(spool) {
            return Ok(RunState::Ended(outcome));
        }
        // The supervisor has ended, perhaps after it wrote an outcome in between; or it does not answer, and its run is ended.
        if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() || Instant::now() >= deadline {
            return Ok(RunState::Ended(orphans::finish_orphan(spool)));
        }
        if let Ok(stream) = connect(spool) {
            return Ok(RunState::Listening {
                supervisor: orphans::supervisor_of(spool).unwrap_or(0),
                limits: orphans::limits(spool),
                stream,
            });
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Connects to the supervisor's socket. Its path may be too long for a socket, so it is opened relative to its folder
/// if the system has paths of open files.
fn connect(spool: &Path) -> io::Result<UnixStream> {
    use std::os::fd::AsRawFd;

    let folder = File::open(spool)?;
    let short = format!("/proc/self/fd/{}/{CONTROL}", folder.as_raw_fd());
    UnixStream::connect(short).or_else(|_| UnixStream::connect(spool.join(CONTROL)))
}
