//! Real clients: the folder that `scripts/test` fills, and a run that leaves no process after the test.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Finished, Home, collect};

/// Longest run of a real client; an agent starts slowly on a busy machine.
pub(crate) const RUN_DEADLINE: Duration = Duration::from_secs(100);

/// Whether the developer excluded `tool`: `ADJUTANT_TEST_WITHOUT=chromium,npm,python`.
pub(crate) fn is_excluded(tool: &str) -> bool {
    let named = std::env::var("ADJUTANT_TEST_WITHOUT").unwrap_or_default();
    named.split(',').any(|name| name.trim() == tool)
}

/// The folder that `scripts/test` fills.
pub(crate) fn cache() -> PathBuf {
    match std::env::var_os("ADJUTANT_TEST_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache"),
    }
}

fn installed(tool: &str, path: PathBuf) -> PathBuf {
    assert!(
        path.exists(),
        "{} is missing: run ./scripts/test once, or do without it: ADJUTANT_TEST_WITHOUT={tool}",
        path.display()
    );
    path
}

/// The folder that holds `node_modules`.
pub(crate) fn packages() -> PathBuf {
    installed("npm", cache().join("npm"))
}

/// A file of an npm package.
pub(crate) fn package(path: &str) -> PathBuf {
    installed("npm", packages().join("node_modules").join(path))
}

/// The pinned Node where a package of it exists for this machine, else the one on the PATH.
pub(crate) fn node() -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let pinned = packages().join(format!("node_modules/node-linux-{machine}/bin/node"));
    if pinned.exists() { pinned } else { PathBuf::from("node") }
}

/// The Python that has the official SDK and fastmcp.
pub(crate) fn python() -> PathBuf {
    installed("python", cache().join("python/bin/python"))
}

/// A `config.toml` of Codex with a scripted model as the only provider, without retries.
pub(crate) fn codex_config(base_url: &str) -> String {
    format!(
        r#"model = "stub-model"
model_provider = "stub"
chatgpt_base_url = "{base_url}/backend-api"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_models = false
[model_providers.stub]
name = "stub"
base_url = "{base_url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"#
    )
}

impl Home {
    /// A real client with a private home, and an environment with the necessary variables only.
    pub(crate) fn client(&self, program: &Path) -> Command {
        let temporary = self.path().join("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path())
            // Codex refuses to make its helper links where its home lies under the temporary folder.
            .env("TMPDIR", temporary)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .current_dir(self.path());
        command
    }
}

/// Runs a client to its end in a new session, as in a terminal without input, then ends every process left in its
/// group. Adjutant itself acts for the user, so it stays in the session of the test and has a group of its own.
pub(crate) fn run(command: &mut Command, deadline: Duration) -> Finished {
    let is_adjutant = command.get_program() == env!("CARGO_BIN_EXE_adjutant");
    let mut session = Command::new(if is_adjutant { command.get_program() } else { OsStr::new("setsid") });
    if is_adjutant {
        session.process_group(0);
    } else {
        session.arg(command.get_program());
    }
    session.args(command.get_args()).env_clear();
    let mut child = session
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let stdout = collect(child.stdout.take().unwrap());
    let stderr = collect(child.stderr.take().unwrap());
    let pid = Pid::from_child(&child);
    let end = Instant::now() + deadline;
    // The child stays a zombie until the group has been signalled, so its number cannot belong to another process.
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let in_time = loop {
        if waitid(WaitId::Pid(pid), look).unwrap().is_some() {
            break true;
        }
        if Instant::now() > end {
            break false;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    };
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait().unwrap();
    let finished = Finished {
        status,
        stdout: stdout.recv_timeout(super::DEADLINE).unwrap(),
        stderr: stderr.recv_timeout(super::DEADLINE).unwrap(),
    };
    assert!(in_time, "{command:?} did not end within {deadline:?}\n{finished}");
    if is_adjutant {
        let arguments: Vec<_> = command.get_args().collect();
        super::schemas::check(&arguments, &finished);
    }
    finished
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}
