//! Repairs of `--fix`, one after the other.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::check_result::{Check, Fix};
use adjutant_base::config::Config;
use adjutant_host::process;
use adjutant_terminal::socket;

/// Runs the repairs of the checks. Returns the outcome of each, with the id of its check.
pub(super) async fn all(checks: &[Check], home: Option<&Path>, config: &Config) -> Vec<(String, String)> {
    let mut done = Vec::new();
    for check in checks {
        for fix in &check.found.fixes {
            done.push((check.id.clone(), one(fix.clone(), home, config).await));
        }
    }
    done
}

/// Records the outcomes of the repairs in their checks.
pub(super) fn record(checks: &mut [Check], done: Vec<(String, String)>) {
    for (id, outcome) in done {
        if let Some(check) = checks.iter_mut().find(|check| check.id == id) {
            check.fixed = Some(match check.fixed.take() {
                Some(before) => format!("{before}; {outcome}"),
                None => outcome,
            });
        }
    }
}

async fn one(fix: Fix, home: Option<&Path>, config: &Config) -> String {
    let (home, place) = (home.map(Path::to_owned), config.home.clone());
    let repair = tokio::task::spawn_blocking(move || match fix {
        Fix::Mode { path, mode } => match std::fs::set_permissions(&path, Permissions::from_mode(mode)) {
            Ok(()) => format!("{} has mode {mode:o} now", path.display()),
            Err(error) => format!("could not change the mode of {}: {error}", path.display()),
        },
        // A hub may have started since the check; it owns the socket then.
        Fix::Unlink(path) if !socket::vacant(&place) => format!("{} is a hub's now", path.display()),
        Fix::Unlink(path) => match std::fs::remove_file(&path) {
            Ok(()) => format!("removed {}", path.display()),
            Err(error) => format!("could not remove {}: {error}", path.display()),
        },
        Fix::StartHub => start_hub(home.as_deref()),
        Fix::EndRun(folder) => match process::end_orphans(&folder) {
            0 => format!("ended the processes of {}", folder.display()),
            left => format!("{left} processes of {} could not be ended", folder.display()),
        },
    });
    repair.await.unwrap_or_else(|_| "the repair panicked".to_owned())
}

fn start_hub(home: Option<&Path>) -> String {
    let mut arguments: Vec<OsString> = ["serve", "--background", "--any-port"].map(OsString::from).into();
    if let Some(home) = home {
        arguments.extend(["--home".into(), home.as_os_str().to_owned()]);
    }
    match process::run_self(&arguments) {
        Ok(output) if output.status.success() => "started a hub".to_owned(),
        Ok(output) => format!("could not start a hub: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => format!("could not start a hub: {error}"),
    }
}
