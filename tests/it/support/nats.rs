//! A real NATS server with `JetStream`, of the Python packages that `scripts/test` installs, in a temporary folder.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::real_clients::{is_excluded, python};
use super::wait_for;

/// A running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Nats {
    server: Child,
    folder: TempDir,
    url: String,
}

impl Nats {
    /// Starts a server on a free port; `None` where `ADJUTANT_TEST_WITHOUT` names `python`.
    pub(crate) fn start() -> Option<Self> {
        if is_excluded("python") {
            return None;
        }
        let folder = tempfile::Builder::new().prefix("adjutant-nats-").tempdir().unwrap();
        let server = serve(folder.path(), "-1");
        let ports = folder.path().join(format!("nats-server_{}.ports", server.id()));
        let url = wait_for("the ports of the NATS server", || {
            let ports: Value = serde_json::from_slice(&std::fs::read(&ports).ok()?).ok()?;
            Some(ports["nats"][0].as_str()?.to_owned())
        });
        Some(Self { server, folder, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server at once, deletes everything that it has kept, and starts it again at the same address.
    pub(crate) fn lose_everything(&mut self) {
        self.stop();
        std::fs::remove_dir_all(self.folder.path().join("data")).unwrap();
        let (_, port) = self.url.rsplit_once(':').unwrap();
        self.server = serve(self.folder.path(), port);
    }

    fn stop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(folder: &Path, port: &str) -> Child {
    let mut server = Command::new(python().with_file_name("nats-server"));
    server.args(["-a", "127.0.0.1", "-p", port, "--jetstream", "--ports_file_dir"]).arg(folder);
    server.arg("--store_dir").arg(folder.join("data"));
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
