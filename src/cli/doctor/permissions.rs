//! Checks of file permissions, of the socket, and of the program on the PATH.

use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::DoctorContext;
use super::check_result::{CheckResult, Fix};
use adjutant_base::config::env;
use adjutant_terminal::socket;

/// Files of the home that only the user may read, if they exist.
const PRIVATE_FILES: [&str; 9] = [
    "adjutant.db",
    "adjutant.db-wal",
    "agent-tokens",
    "approval-passphrase",
    "hub.lock",
    "login-key",
    "machine-id",
    "token",
    "trusted-agents",
];
const PRIVATE_FOLDERS: [&str; 2] = ["logs", "spool"];

/// Checks that a terminal can prove that the user is there.
pub(super) fn passphrase(context: &DoctorContext) -> CheckResult {
    match &context.config.questions.passphrase {
        Some(file) if file.exists() => CheckResult::ok("an approval passphrase is set"),
        _ => CheckResult::warn(
            "no approval passphrase is set, so a terminal that is newer than an agent may not answer questions",
            "set one with `adjutant passphrase` while no agent is connected",
        ),
    }
}

/// Checks the permissions of the home and its files.
pub(super) fn home(context: &DoctorContext) -> CheckResult {
    let home = &context.config.home;
    let found = match std::fs::metadata(home) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return CheckResult::ok(format!("{} is created when it is first needed", home.display()));
        }
        Err(error) => {
            let remedy = "choose another folder with --home or ADJUTANT_HOME";
            return CheckResult::fail(format!("{} cannot be read: {error}", home.display()), remedy);
        }
        Ok(found) => found,
    };
    if !found.is_dir() {
        let remedy = "move it away, or choose another folder with --home or ADJUTANT_HOME";
        return CheckResult::fail(format!("{} is not a folder", home.display()), remedy);
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        let remedy = "choose one of your own folders with --home or ADJUTANT_HOME";
        return CheckResult::fail(format!("{} belongs to another user", home.display()), remedy);
    }
    let folders = PRIVATE_FOLDERS.iter().map(|name| (home.join(name), 0o700));
    let files = PRIVATE_FILES.iter().map(|name| (home.join(name), 0o600));
    let all = [(home.clone(), 0o700)].into_iter().chain(folders).chain(files);
    let open: Vec<(PathBuf, u32)> = all.filter(|(path, _)| is_open(path)).collect();
    // A user who may write it controls what the hub runs.
    let config = home.join("config.toml");
    let writable = std::fs::metadata(&config).is_ok_and(|found| found.mode() & 0o022 != 0);
    let open: Vec<_> = open.into_iter().chain(writable.then_some((config, 0o600))).collect();
    match open.as_slice() {
        [] => CheckResult::ok(format!("{} is yours alone", home.display())),
        some => {
            let names =
                some.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>().join(", ");
            CheckResult::fail(
                format!("others may read or write {names}"),
                "remove these rights with chmod go=",
            )
            .fixed_by(some.iter().map(|(path, mode)| Fix::Mode { path: path.clone(), mode: *mode }))
        }
    }
}

fn is_open(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// Checks the hub's socket.
pub(super) fn socket(context: &DoctorContext) -> CheckResult {
    let Some(path) = &context.config.socket else {
        return CheckResult::warn(
            "the socket is switched off in config.toml, so `adjutant connect` reaches no hub",
            "remove `socket = \"off\"` from config.toml, unless all your clients speak HTTP",
        );
    };
    let path = socket::place(path);
    let found = match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return CheckResult::ok(format!("the hub creates {} when it starts", path.display()));
        }
        Err(error) => {
            let remedy = "choose another place: `socket` in config.toml";
            return CheckResult::fail(format!("{} cannot be examined: {error}", path.display()), remedy);
        }
        Ok(found) => found,
    };
    if !found.file_type().is_socket() {
        let remedy = "move it away, or choose another place: `socket` in config.toml";
        return CheckResult::fail(format!("{} is in the way: it is not a socket", path.display()), remedy);
    }
    if context.hub.is_some() || !socket::vacant(&context.config.home) {
        return rights(&path);
    }
    if !socket::is_listening(&path) {
        let detail = format!("{} remains from a hub that was killed", path.display());
        return CheckResult::warn(detail, "the next hub replaces it").fixed_by([Fix::Unlink(path)]);
    }
    CheckResult::fail(
        format!("{} is in the way: another program listens there", path.display()),
        "end that program, or choose another place: `socket` in config.toml; if it is the service manager, \
         `adjutant service status` shows why its hub does not start",
    )
}

fn rights(path: &Path) -> CheckResult {
    if !is_open(path) {
        return CheckResult::ok(format!("{} is yours alone", path.display()));
    }
    CheckResult::fail(format!("others may open {}", path.display()), "remove these rights with chmod go=")
        .fixed_by([Fix::Mode { path: path.to_owned(), mode: 0o600 }])
}

/// Checks which program a client starts that is configured with the name alone.
pub(super) fn program(context: &DoctorContext) -> CheckResult {
    let own = &context.program;
    let is_own = |found: &Path| match (found.canonicalize(), own.canonicalize()) {
        (Ok(found), Ok(own)) => found == own,
        _ => false,
    };
    match env::find_in_path("adjutant") {
        Some(found) if is_own(&found) => {
            CheckResult::ok(format!("{} is the one on the PATH", found.display()))
        }
        Some(found) => CheckResult::warn(
            format!("the PATH has {}, and this is {}", found.display(), own.display()),
            "remove the older program, so that clients and you run the same one",
        ),
        None => CheckResult::warn(
            format!("{} is not on the PATH", own.display()),
            "install it there, or use its full path in the configuration of clients",
        ),
    }
}
