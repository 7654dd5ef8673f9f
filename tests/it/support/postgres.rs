//! A real PostgreSQL, from the system's packages, in a temporary folder with a socket in it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// The password of `adjutant` over TCP; the socket takes no password.
const PASSWORD: &str = "of-adjutant";

/// A running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Postgres {
    server: Child,
    folder: TempDir,
    /// The port of loopback on which it speaks TLS; `None` if it has its socket alone.
    port: Option<u16>,
}

impl Postgres {
    /// Starts a server; `None` where `ADJUTANT_TEST_WITHOUT` names `postgres`.
    pub(crate) fn start() -> Option<Self> {
        Self::start_if_installed(false)
    }

    /// Starts a server that also speaks TLS on a free port of loopback, and takes a password there.
    pub(crate) fn start_with_tls() -> Option<Self> {
        Self::start_if_installed(true)
    }

    #[expect(clippy::disallowed_methods, reason = "the test's own switch")]
    fn start_if_installed(tls: bool) -> Option<Self> {
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
        let password = folder.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        let made = as_other_user(&programs.join("initdb"))
            .args(["--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256", "--username=adjutant"])
            .arg(format!("--pwfile={}", password.display()))
            .args(["--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        if tls {
            make_certificate(folder.path(), "server");
            make_certificate(folder.path(), "other");
        }
        let mut port = tls.then(free_port);
        let server = loop {
            match serve(&programs, folder.path(), port) {
                Ok(server) => break server,
                // Another process took the port in between.
                Err(log) if tls && log.contains("Address already in use") => port = Some(free_port()),
                Err(log) => panic!("PostgreSQL ended:\n{log}"),
            }
        };
        Some(Self { server, folder, port })
    }

    /// Ends the server abruptly, and starts it again on the same data.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Starts it again after [`Self::stop`].
    pub(crate) fn start_again(&mut self) {
        self.server =
            serve(&programs().unwrap(), self.folder.path(), self.port).expect("PostgreSQL starts again");
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

    /// The address of the database `postgres` over TLS, with the right password. `trusted` is the certificate that the
    /// hub trusts: `server` for its own, `other` for another one.
    pub(crate) fn tls_url(&self, trusted: &str) -> String {
        let port = self.port.expect("start_with_tls starts a server with a port");
        let file = self.folder.path().join(format!("{trusted}.crt"));
        let options = format!("sslmode=verify-full&sslrootcert={}", file.display());
        format!("postgres://adjutant:{PASSWORD}@localhost:{port}/postgres?{options}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Makes a certificate for `localhost` and its key, which belongs to the server's user alone.
fn make_certificate(folder: &Path, name: &str) {
    let settings = "[req]\ndistinguished_name = name\nx509_extensions = server\n[name]\n\
                    [server]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost\n";
    std::fs::write(folder.join("openssl.cnf"), settings).unwrap();
    let made = as_other_user(Path::new("openssl"))
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-config", "openssl.cnf", "-days", "2", "-subj", &format!("/CN={name}")])
        .args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.crt")])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let owner_alone = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.join(format!("{name}.key")), owner_alone).unwrap();
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the settings of the server for its addresses.
fn addresses(folder: &Path, port: Option<u16>) -> Vec<OsString> {
    let Some(port) = port else { return vec!["-c".into(), "listen_addresses=".into()] };
    let file = |kind: &str| folder.join(format!("server.{kind}")).display().to_string();
    let settings = [
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", file("crt")),
        format!("ssl_key_file={}", file("key")),
    ];
    settings.into_iter().flat_map(|setting| ["-c".into(), setting.into()]).collect()
}

/// Starts the server on its data, and returns when it takes connections; the error is the log of a server that ended.
fn serve(programs: &Path, folder: &Path, port: Option<u16>) -> Result<Child, String> {
    let mut server = as_other_user(&programs.join("postgres"))
        .args(addresses(folder, port))
        .args(["-c", "lc_messages=C", "-k"])
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
        let Some(line) = log.next() else {
            drop(server.wait());
            return Err(text);
        };
        let line = line.unwrap();
        text = format!("{text}{line}\n");
        if line.contains("ready to accept connections") {
            break;
        }
    }
    // A thread reads its log to the end, so that the server never blocks on it.
    std::thread::spawn(move || log.for_each(drop));
    Ok(server)
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
