//! Real NATS servers with `JetStream`: the newest, of the Python packages, and Debian's, which `scripts/test` installs.

mod proxy;
mod raw;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::real_clients::{cache, is_excluded, python};
use super::wait_for;
pub(crate) use proxy::Proxy;
pub(crate) use raw::RawNats;

/// A running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Nats {
    program: PathBuf,
    server: Child,
    folder: TempDir,
    url: String,
    configured: bool,
}

impl Nats {
    /// Starts a server on a free port; `None` where `ADJUTANT_TEST_WITHOUT` names `python`.
    pub(crate) fn start() -> Option<Self> {
        Some(Self::start_with(newest()?, |_| None))
    }

    /// Starts a server with the configuration that `configure` returns for its store; it must name port -1.
    pub(crate) fn start_with(program: PathBuf, configure: impl FnOnce(&Path) -> Option<String>) -> Self {
        let folder = tempfile::Builder::new().prefix("adjutant-nats-").tempdir().unwrap();
        let configuration = configure(&folder.path().join("data"));
        if let Some(configuration) = &configuration {
            std::fs::write(folder.path().join("nats.conf"), configuration).unwrap();
        }
        let configured = configuration.is_some();
        let server = serve(&program, folder.path(), "-1", configured);
        let ports = format!("{}_{}.ports", program.file_name().unwrap().to_str().unwrap(), server.id());
        let ports = folder.path().join(ports);
        let url = wait_for("the ports of the NATS server", || {
            let ports: Value = serde_json::from_slice(&std::fs::read(&ports).ok()?).ok()?;
            Some(ports["nats"][0].as_str()?.to_owned())
        });
        Self { program, server, folder, url, configured }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server at once, deletes everything that it has kept, and starts it again at the same address.
    pub(crate) fn lose_everything(&mut self) {
        self.stop();
        std::fs::remove_dir_all(self.folder.path().join("data")).unwrap();
        self.start_again();
    }

    /// Ends the server at once.
    pub(crate) fn stop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Starts the ended server at the same address.
    pub(crate) fn start_again(&mut self) {
        let (_, port) = self.url.rsplit_once(':').unwrap();
        self.server = serve(&self.program, self.folder.path(), port, self.configured);
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The newest server; `None` where `ADJUTANT_TEST_WITHOUT` names `python`.
pub(crate) fn newest() -> Option<PathBuf> {
    (!is_excluded("python")).then(|| python().with_file_name("nats-server"))
}

/// The server of Debian 12, the oldest that is served; `None` where `ADJUTANT_TEST_WITHOUT` names `nats`.
pub(crate) fn of_debian() -> Option<PathBuf> {
    if is_excluded("nats") {
        return None;
    }
    let path = cache().join("nats/usr/sbin/nats-server");
    assert!(
        path.exists(),
        "{} is missing: run ./scripts/test once, or do without it: ADJUTANT_TEST_WITHOUT=nats",
        path.display()
    );
    Some(path)
}

fn serve(program: &Path, folder: &Path, port: &str, configured: bool) -> Child {
    let mut server = Command::new(program);
    server.args(["-a", "127.0.0.1", "-p", port, "--ports_file_dir"]).arg(folder);
    if configured {
        server.arg("-c").arg(folder.join("nats.conf"));
    } else {
        server.arg("--jetstream").arg("--store_dir").arg(folder.join("data"));
    }
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
