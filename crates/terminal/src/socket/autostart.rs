//! How a client comes to the hub of a home: the one that runs, or a new one.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::hello::connect;
use super::{Ask, Connection, Error, Hello, Welcome, dial, holder, place, private_folder, vacant};
use crate::process;

/// How long a hub that holds the home may take to answer: it may be starting, or finishing its last calls.
const PATIENCE: Duration = Duration::from_secs(8);

/// What to do when there is no hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    IfNeeded,
    Never,
}

/// Connects to the hub that runs for `home`, where it usually listens, else where the home's lock says, and says `hello`.
pub(crate) fn find(home: &Path, usual: &Path, hello: &Hello) -> Result<Connection, Error> {
    match connect(usual, hello) {
        Err(error @ Error::NoHub { .. }) => {
            let other = holder(home).and_then(|holder| holder.socket);
            match other.filter(|path| path != usual) {
                Some(other) => connect(&other, hello),
                None => Err(error),
            }
        }
        reached => reached,
    }
}

/// Connects to the hub of `home` and says `hello`; starts one when there is none and `start` allows it.
/// `usual` is where it listens unless it was told otherwise; `None` when that door is switched off.
pub(crate) fn reach(
    home: &Path,
    usual: Option<&Path>,
    hello: &Hello,
    start: Start,
) -> Result<Connection, Error> {
    let usual = usual.ok_or(Error::SocketOff)?;
    match (find(home, usual, hello), start) {
        (Err(Error::NoHub { .. }), Start::IfNeeded) => {}
        (reached, _) => return reached,
    }
    private_folder(home)?;
    let fault = |error: io::Error| Error::Folder { folder: home.to_owned(), reason: error.to_string() };
    // Several clients may come here at once: one starts the hub, the others find it.
    let turn = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(home.join("start.lock"))
        .map_err(fault)?;
    turn.lock().map_err(fault)?;
    let end = Instant::now() + PATIENCE;
    loop {
        match find(home, usual, hello) {
            Err(Error::NoHub { .. }) => {}
            reached => return reached,
        }
        if Instant::now() > end {
            return Err(Error::Deaf { home: home.to_owned() });
        }
        if vacant(home) {
            match start_hub(home) {
                Ok(()) => return find(home, usual, hello),
                Err(error) if vacant(home) => return Err(error),
                // A hub that somebody else began was faster, and is about to listen.
                Err(_) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a hub in the background; it listens when this returns.
fn start_hub(home: &Path) -> Result<(), Error> {
    let arguments = ["serve", "--background", "--any-port", "--home"].map(OsString::from);
    let arguments: Vec<_> = arguments.into_iter().chain([home.to_owned().into()]).collect();
    let started =
        process::run_own(&arguments).map_err(|error| Error::NotStarted { reason: error.to_string() })?;
    if started.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&started.stderr);
    let reason = told.trim().strip_prefix("error: ").unwrap_or(told.trim()).to_owned();
    Err(Error::NotStarted { reason })
}

/// Asks the hub of `home` a question; `usual` is where it listens unless it was told otherwise.
pub(crate) fn ask(home: &Path, usual: &Path, question: Ask) -> Result<Welcome, Error> {
    Ok(find(home, usual, &Hello::ask(question))?.welcome)
}

/// Says `hello` to the hub of `home`, and waits for no answer. A hub that is not there is not missed.
pub(crate) fn tell(home: &Path, usual: &Path, hello: &Hello) -> io::Result<()> {
    let mut line = serde_json::to_vec(hello)?;
    line.push(b'\n');
    let mut stream = match (dial(&place(usual)), holder(home).and_then(|holder| holder.socket)) {
        (Ok(stream), _) => stream,
        (Err(_), Some(other)) => dial(&place(&other))?,
        (Err(error), None) => return Err(error),
    };
    stream.write_all(&line)
}
