//! `adjutant supervise`: the process between the hub and a runner.
//!
//! One thread, one poll loop. It outlives its hub or dies with it, as the request says. It sends `ended` after the last
//! process of the run has ended. `supervisor_protocol.rs` has its requests and events.

mod event_loop;
mod exec_runner;
mod guard;
mod hub_connection;
mod pipes;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Instant;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{fchdir, getpid, getppid, setsid};

use super::descendants::Process;
use super::reexec::current_image;
use super::spool::Spool;
use super::supervised_run::{Command, Error, OnHubExit};
use super::supervisor_protocol::{
    CONTROL, Event, LOCK, MAX_INPUT_BYTES, MAX_SPAWN_REQUEST_BYTES, OUTCOME, OsText, RECORD, Record,
    SpawnRequest, Workdir,
};
use super::{MARK, child, descendants};

use event_loop::Run;
pub use exec_runner::enter;
pub use guard::guard;
use hub_connection::HubConnection;

/// The bytes on the disk that each file of [`reserve`] takes.
const RESERVED_BYTES: usize = 4096;

/// The argument of a supervisor below a guard, before the process id of the guard.
pub const GUARDED: &str = "--guarded";

/// The files of a run.
struct RunFolder {
    folder: PathBuf,
    /// Locked as long as this process lives. Another process that gets the lock knows that the supervisor has ended.
    lock: File,
    stdout: Spool,
    stderr: Spool,
    control: Option<UnixListener>,
}

/// Supervises one run: the request on stdin, events on stdout. `guard` is the process id of its guard, in digits.
pub fn supervise(guard: Option<&str>) -> io::Result<()> {
    // The runner must not be a part of the hub's terminal and job control. It fails for a session leader.
    let _ = setsid();
    descendants::become_subreaper();
    let (request, input, rest) = read_request(&io::stdin())?;
    match begin(&request, input, guard) {
        Ok(mut run) => {
            run.connections.push(HubConnection::lifeline(rest)?);
            run.send_started();
            run.run()
        }
        Err(error) => {
            let mut line = serde_json::to_vec(&Event::Refused { error })?;
            line.push(b'\n');
            io::stdout().lock().write_all(&line)
        }
    }
}

/// Reads a request from stdin as [`supervise`] does, and returns its command.
pub fn read_command() -> io::Result<Command> {
    let (request, input, _) = read_request(&io::stdin())?;
    Ok(request.into_command(input))
}

/// Reads the request and the bytes for the runner's stdin. The third value holds the bytes that were read after them.
fn read_request(stdin: &impl AsFd) -> io::Result<(SpawnRequest, Option<Vec<u8>>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let more = |bytes: &mut Vec<u8>| {
        let mut part = [0; 16 << 10];
        let read = rustix::io::retry_on_intr(|| rustix::io::read(stdin, &mut part))?;
        bytes.extend_from_slice(&part[..read]);
        if read == 0 { Err(io::Error::from(io::ErrorKind::UnexpectedEof)) } else { Ok(()) }
    };
    let end = loop {
        if let Some(end) = memchr::memchr(b'\n', &bytes) {
            break end;
        }
        if bytes.len() > MAX_SPAWN_REQUEST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
        }
        more(&mut bytes)?;
    };
    let request: SpawnRequest = serde_json::from_slice(&bytes[..end])?;
    bytes.drain(..=end);
    let Some(length) = request.stdin else { return Ok((request, None, bytes)) };
    let length = usize::try_from(length.min(MAX_INPUT_BYTES)).unwrap_or(usize::MAX);
    while bytes.len() < length {
        more(&mut bytes)?;
    }
    let rest = bytes.split_off(length);
    Ok((request, Some(bytes), rest))
}

/// Creates the spool, enters the working directory and starts the runner there.
fn begin(request: &SpawnRequest, input: Option<Vec<u8>>, guard: Option<&str>) -> Result<Run, Error> {
    let program = find_program(request)?;
    let workdir = open_workdir(&request.workdir)?;
    let run_folder =
        create_run_folder(request).map_err(|error| Error::Spool(format!("cannot be made: {error}")))?;
    let spawn = |error: io::Error| Error::Spawn(error.to_string());
    fchdir(&workdir).map_err(|error| spawn(error.into()))?;
    let now = Instant::now();
    // After the end of the guard the parent is a process of the system.
    let parent = getppid().filter(|parent| guard == Some(parent.to_string().as_str()));
    let guard = parent.and_then(descendants::read_process);
    let folder = run_folder.folder.clone();
    let started = start_runner(request, &folder, &program, input.is_some(), guard);
    // The working directory may be removed or unmounted while the run lasts.
    let _ = rustix::process::chdir(&folder);
    started.and_then(|runner| Run::new(request, run_folder, now, runner, input)).map_err(|error| {
        // A run that is refused has no process.
        descendants::end_all();
        // The folder can be used again.
        let _ = std::fs::remove_dir_all(&folder);
        spawn(error)
    })
}

/// Returns the program's path: the path itself, or the first executable of this name on the `PATH` of the run's
/// environment.
fn find_program(request: &SpawnRequest) -> Result<PathBuf, Error> {
    let Some(OsText(program)) = request.argv.first() else { return Err(Error::Argv("is empty".to_owned())) };
    let not_found = || Error::NotFound { program: program.to_string_lossy().into_owned() };
    if program.is_empty() {
        return Err(not_found());
    }
    let is_program =
        |file: &Path| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    let path = PathBuf::from(program);
    if path.components().count() > 1 || path.is_absolute() {
        // A path is relative to the working directory, as it is in a shell.
        let file = Path::new(&request.workdir.path.0).join(&path);
        return if is_program(&file) { Ok(path) } else { Err(not_found()) };
    }
    let folders = request.env.iter().rev().find(|(name, _)| name.0 == "PATH").map(|(_, value)| &value.0);
    folders
        .into_iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(&path))
        .find(|file| is_program(file))
        .ok_or_else(not_found)
}

/// Opens the working directory and checks that it is the validated one.
fn open_workdir(workdir: &Workdir) -> Result<OwnedFd, Error> {
    let path = &workdir.path.0;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(path, flags, Mode::empty())
        .map_err(|error| Error::Workdir(format!("cannot be opened: {}", io::Error::from(error))))?;
    let folder = File::from(folder);
    let found = folder.metadata().map_err(|error| Error::Workdir(format!("cannot be read: {error}")))?;
    if (found.dev(), found.ino()) != (workdir.device, workdir.inode) {
        return Err(Error::Workdir("is another folder than the one that was checked".to_owned()));
    }
    Ok(folder.into())
}

/// Creates the spool folder with its first files.
fn create_run_folder(request: &SpawnRequest) -> io::Result<RunFolder> {
    let folder = PathBuf::from(&request.spool.0);
    if !folder.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"));
    }
    if let Some(above) = folder.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(above)?;
    }
    DirBuilder::new().mode(0o700).create(&folder)?;
    fill_run_folder(request, folder.clone()).inspect_err(|_| {
        let _ = std::fs::remove_dir_all(&folder);
    })
}

fn fill_run_folder(request: &SpawnRequest, folder: PathBuf) -> io::Result<RunFolder> {
    // It has its name only once it is locked, because the next hub takes a free lock for a supervisor that has ended.
    let new = folder.join("lock.new");
    let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    std::fs::rename(new, folder.join(LOCK))?;
    let control = match request.on_hub_exit {
        OnHubExit::Kill => None,
        OnHubExit::Keep => {
            // The path of a socket has a small maximum length, so the socket is bound relative to its folder.
            rustix::process::chdir(&folder)?;
            let listener = UnixListener::bind(CONTROL)?;
            listener.set_nonblocking(true)?;
            Some(listener)
        }
    };
    for file in [RECORD, OUTCOME] {
        reserve(&folder.join(file))?;
    }
    Ok(RunFolder {
        stdout: Spool::create(folder.join("stdout"), request.cap)?,
        stderr: Spool::create(folder.join("stderr"), request.cap)?,
        folder,
        lock,
        control,
    })
}

/// Starts the process that becomes the runner, see `exec_runner.rs`.
fn start_runner(
    request: &SpawnRequest,
    spool: &Path,
    program: &Path,
    input: bool,
    guard: Option<Process>,
) -> io::Result<Child> {
    let mut stage = child(current_image()?);
    stage
        .arg("supervise")
        .arg("--enter")
        .arg(getpid().to_string())
        .arg(spool)
        .arg(program)
        .args(request.argv.iter().map(|text| &text.0))
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (&name.0, &value.0)))
        .env(MARK, &request.mark)
        .stderr(Stdio::piped());
    if request.live {
        let socket = || io::stderr().as_fd().try_clone_to_owned();
        stage.stdin(socket()?).stdout(socket()?);
    } else {
        stage.stdin(if input { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped());
    }
    let runner = stage.spawn()?;
    if request.live {
        // The runner must have the only copy of this end of the socket, or the hub would never see it closed.
        rustix::stdio::dup2_stderr(&File::open("/dev/null")?)?;
    }
    let pid = rustix::process::Pid::from_child(&runner);
    let record = Record {
        supervisor: getpid().as_raw_nonzero().get(),
        guard: guard.map(|guard| (guard.pid.as_raw_nonzero().get(), guard.start)),
        runner: pid.as_raw_nonzero().get(),
        runner_start: descendants::read_process(pid).map_or(0, |process| process.start),
        mark: request.mark.clone(),
        limits: request.limits(),
    };
    write_file(&spool.join(RECORD), &serde_json::to_vec(&record)?)?;
    Ok(runner)
}

/// Reserves space on the disk for a file, so that [`write_file`] can write it when the disk is full.
fn reserve(path: &Path) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    file.write_all(&[b' '; RESERVED_BYTES])
}

/// Writes a file so that a reader sees all of it or nothing.
pub(super) fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    // Not truncated, because on a full disk the file could not get its space back.
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&new)?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    std::fs::rename(new, path)
}
