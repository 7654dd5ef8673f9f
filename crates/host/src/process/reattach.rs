//! The resumption of runs that outlived their hub.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::orphan_cleanup;
use super::protocol::{CONTROL, LOCK, Request};
use super::run::{Error, Outcome};
use super::run_handle::{Running, ask};

/// How long a supervisor may be between two states: about to listen, or about to have ended.
const BETWEEN: Duration = Duration::from_secs(15);

/// What [`resume`] finds.
#[derive(Debug)]
pub enum Resumed {
    /// The run goes on; its lines come from the first one on.
    Running(Running),
    /// It is over.
    Ended(Outcome),
}

/// Takes up the run of this spool folder after its hub ended: attaches to it, or reads how it ended. A run whose
/// supervisor was killed is ended and reported as [`Cause::Lost`](super::Cause::Lost).
pub async fn resume(spool: &Path) -> Result<Resumed, Error> {
    let folder = spool.to_owned();
    let failed = |error: &dyn std::fmt::Display| Error::Spool(format!("cannot be read: {error}"));
    let found =
        tokio::task::spawn_blocking(move || find(&folder)).await.map_err(|error| failed(&error))??;
    match found {
        Found::Ended(outcome) => Ok(Resumed::Ended(outcome)),
        Found::Listening { supervisor, stream } => {
            stream.set_nonblocking(true).map_err(|error| failed(&error))?;
            let stream = tokio::net::UnixStream::from_std(stream).map_err(|error| failed(&error))?;
            let (input, mut output) = stream.into_split();
            ask(&mut output, Request::Attach).await.map_err(|error| failed(&error))?;
            Ok(Resumed::Running(Running::attached(supervisor, input, output, spool.to_owned())))
        }
    }
}

/// Returns the supervisor of a run that goes on in this folder.
pub fn supervisor_of(spool: &Path) -> Option<u32> {
    let lock = OpenOptions::new().read(true).open(spool.join(LOCK)).ok()?;
    // Whose lock can be had has ended, and its number may be another process's.
    flock(&lock, FlockOperation::NonBlockingLockShared).err()?;
    orphan_cleanup::read_record(spool).and_then(|record| u32::try_from(record.supervisor).ok())
}

enum Found {
    Ended(Outcome),
    Listening { supervisor: u32, stream: UnixStream },
}

fn find(spool: &Path) -> Result<Found, Error> {
    let lock = OpenOptions::new()
        .read(true)
        .open(spool.join(LOCK))
        .map_err(|error| Error::Spool(format!("holds no run: {error}")))?;
    let give_up = Instant::now() + BETWEEN;
    loop {
        if let Some(outcome) = orphan_cleanup::read_outcome(spool) {
            return Ok(Found::Ended(outcome));
        }
        if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
            // The supervisor is gone for good, with or without having said so in between.
            return Ok(Found::Ended(orphan_cleanup::settle(spool)));
        }
        if let Ok(stream) = connect(spool) {
            return Ok(Found::Listening { supervisor: supervisor_of(spool).unwrap_or(0), stream });
        }
        if Instant::now() >= give_up {
            return Err(Error::Spool("has a supervisor that does not answer".to_owned()));
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Connects to the supervisor's socket. Its path may be longer than a socket's path can be, so it is named through
/// its folder where the system has names for open files.
fn connect(spool: &Path) -> io::Result<UnixStream> {
    use std::os::fd::AsRawFd;

    let folder = File::open(spool)?;
    let short = format!("/proc/self/fd/{}/{CONTROL}", folder.as_raw_fd());
    UnixStream::connect(short).or_else(|_| UnixStream::connect(spool.join(CONTROL)))
}
