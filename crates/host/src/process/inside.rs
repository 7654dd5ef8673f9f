//! `adjutant supervise --inside`: the process above a runner in a sandbox. It passes connections on to the hub where the
//! sandbox has no network, and signals where it is the first process of a container.

use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Pid, Signal, getpid, kill_process};
use tokio::net::{TcpListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};

use super::child;
use super::reexec::program_path;
use crate::network_proxy::ACCEPT_PAUSE;
use crate::short_path::ShortPath;

/// The word in the place of a socket where the sandbox has a network.
const NO_SOCKET: &str = "-";

/// Variables that name a proxy for programs.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Returns the beginning of a command line that runs the rest of it below [`run_inside`]. Connections go to `socket`.
pub fn inside_command(socket: Option<&Path>) -> io::Result<Vec<OsString>> {
    let socket = socket.map_or(NO_SOCKET.into(), OsString::from);
    Ok(vec![program_path()?.into(), "supervise".into(), "--inside".into(), socket])
}

/// Runs `SOCKET PROGRAM [ARG]...` to its end and returns its exit code.
pub async fn run_inside(words: &[OsString]) -> io::Result<u8> {
    let [socket, program, arguments @ ..] = words else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the hub starts this command"));
    };
    // A signal for the runner's group must not end the process that it needs.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut command = child(program);
    command.args(arguments).env_remove("XDG_RUNTIME_DIR");
    if socket != NO_SOCKET {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let proxy = format!("http://{}", listener.local_addr()?);
        // Node uses the variables only if it is asked to.
        command.env_remove("NO_PROXY").env_remove("no_proxy").env("NODE_USE_ENV_PROXY", "1");
        command.envs(PROXY_VARIABLES.map(|name| (name, &proxy)));
        tokio::spawn(pass_on(listener, PathBuf::from(socket)));
    }
    let mut runner = tokio::process::Command::from(command).spawn()?;
    loop {
        let signal = tokio::select! {
            status = runner.wait() => {
                let status = status?;
                let code = status.code().or(status.signal().map(|signal| 128 + signal));
                return Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
            }
            _ = interrupt.recv() => Signal::INT,
            _ = terminate.recv() => Signal::TERM,
        };
        // Podman sends a signal to the first process of its container only.
        let pid = runner.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid.filter(|_| getpid() == Pid::INIT) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Passes each connection on to the hub. The hub has the limit of their number.
async fn pass_on(listener: TcpListener, socket: PathBuf) {
    let socket = Arc::new(socket);
    loop {
        let Ok((mut near, _)) = listener.accept().await else {
            // Accepting fails while the process has too many open files, so it is tried again.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let socket = socket.clone();
        tokio::spawn(async move {
            // A connection that the hub does not take is closed.
            let Ok(short) = ShortPath::new(&socket) else { return };
            if let Ok(mut far) = UnixStream::connect(short.path()).await {
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
        });
    }
}
