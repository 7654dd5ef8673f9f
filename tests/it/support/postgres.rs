//! A real PostgreSQL, from the system's packages, in a temporary folder with a socket in it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// A running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Postgres {
    server: Child,
    folder: TempDir,
}

impl Postgres {
    /// Starts a server; `None` where `ADJUTANT_TEST_WITHOUT` names `postgres`.
    #[expect(clippy::disallowed_methods, reason = "the test's own switch")]
    pub(crate) fn start() -> Option<Self> {
        let without = std::env::var("ADJUTANT_TEST_WITHOUT").unwrap_or_default();
        if without.split(',').any(|name| name == "postgres") {
            return None;
        }
        let programs = programs().expect(
            "PostgreSQL is not installed: apt-get install postgresql, or ADJUTANT_TEST_WITHOUT=postgres",
        );
        let folder = tempfile::Builder::new().prefix("adjutant-postgres-").tempdir().unwrap();
        if let Some((uid, gid)) = other_user() {
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let data = folder.path().join("data");
        let made = as_other_user(&programs.join("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=adjutant", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = serve(&programs, folder.path());
        Some(Self { server, folder })
    }

    /// Ends the server abruptly, and starts it again on the same data.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Starts it again after [`Self::stop`].
    pub(crate) fn start_again(&mut self) {
        self.server = serve(&programs().unwrap(), self.folder.path());
    }

    /// Ends it abruptly; its data stays.
    pub(crate) fn stop(&mut self) {
        if let Some(pid) = i32::try_from(self.server.id()).ok().and_then(Pid::from_raw) {
            // At once, without a last checkpoint; the server ends its children.
            kill_process(pid, Signal::QUIT).ok();
        }
        drop(self.server.wait());
    }

    /// The address of a database of this server; `postgres` is there from the start.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("postgres://adjutant@localhost/{name}?host={}", self.folder.path().display())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts the server on its data, and returns when it takes connections.
fn serve(programs: &Path, folder: &Path) -> Child {
    let mut server = as_other_user(&programs.join("postgres"))
        .args(["-c", "listen_addresses=", "-c", "lc_messages=C", "-k"])
        .arg(folder)
        .arg("-D")
        .arg(folder.join("data"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let mut text = String::new();
    loop {
        let line = log.next().unwrap_or_else(|| panic!("PostgreSQL ended:\n{text}")).unwrap();
        text = format!("{text}{line}\n");
        if line.contains("ready to accept connections") {
            break;
        }
    }
    // A thread reads its log to the end, so that the server never blocks on it.
    std::thread::spawn(move || log.for_each(drop));
    server
}

/// Returns the folder of the newest server programs.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = ["/usr/lib/postgresql", "/usr/local/lib/postgresql"]
        .iter()
        .filter_map(|root| std::fs::read_dir(root).ok())
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin"))).filter(|(_, folder)| folder.join("initdb").is_file())
        })
        .collect();
    found.sort();
    found.pop().map(|(_, folder)| folder)
}

/// Returns the user and group `postgres` when the test runs as root, which the server refuses.
fn other_user() -> Option<(u32, u32)> {
    if !geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let fields = users.lines().find_map(|line| line.strip_prefix("postgres:")).map(|rest| rest.split(':'));
    let mut fields = fields.expect("the package postgresql makes a user `postgres`").skip(1);
    let mut number = || fields.next().unwrap().parse().unwrap();
    Some((number(), number()))
}

#[expect(clippy::disallowed_methods, reason = "the server is the test's own child")]
fn as_other_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = other_user() {
        command.uid(uid).gid(gid);
    }
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
    command
}
