//! Checks of the running hub, its settings and its port.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::DoctorContext;
use super::check_result::{CheckResult, Fix};
use crate::cli::status;
use adjutant_base::text::counted::counted;
use adjutant_host::process;
use adjutant_terminal::socket::{self, HelloReply};

/// Checks that the hub, if one runs, has this version.
pub(super) fn version(context: &DoctorContext) -> CheckResult {
    let own = env!("CARGO_PKG_VERSION");
    let home = &context.config.home;
    match &context.hub {
        Some(hub) if hub.adjutant == own => current(hub),
        Some(hub) => CheckResult::warn(
            format!("adjutant {} runs (pid {}), and this is {own}", hub.adjutant, hub.pid),
            format!(
                "restart the hub when no task runs: `kill {}`; the next client starts the new one",
                hub.pid
            ),
        ),
        None if socket::vacant(home) => {
            CheckResult::skipped("no hub runs; the first client starts one").fixed_by([Fix::StartHub])
        }
        None => {
            let holder = socket::holder(home);
            let name = holder.map_or_else(|| "a hub".to_owned(), |holder| format!("a hub ({holder})"));
            let remedy =
                "kill it, and start another with `adjutant serve --background`; logs/hub.log has details";
            CheckResult::fail(
                format!("{name} holds this home and does not answer as this version expects"),
                remedy,
            )
        }
    }
}

/// Checks a hub of this version.
fn current(hub: &HelloReply) -> CheckResult {
    let runs = format!("adjutant {} runs (pid {})", hub.adjutant, hub.pid);
    if let Some(adopter) = process::adopter(hub.pid) {
        let name = process::program(adopter.pid).unwrap_or_default();
        return CheckResult::warn(
            format!(
                "{runs} below `{name}`, process {}, which started it and keeps its processes",
                adopter.pid
            ),
            format!(
                "`kill {}` and start the hub in a terminal, or install it as a service: `adjutant service install`",
                hub.pid
            ),
        );
    }
    match hub.status.as_ref().map_or(0, |status| status.replaced_watchers) {
        0 => CheckResult::ok(runs),
        replaced => CheckResult::warn(
            format!(
                "{runs}; {} of folders did not answer within a second: it was replaced, and the folders were scanned",
                counted(replaced, "watcher")
            ),
            format!(
                "restart the hub if the number grows: `kill {}`; the next client starts another",
                hub.pid
            ),
        ),
    }
}

/// Checks that the running hub uses the current `config.toml`. The file is known to be readable.
pub(super) fn config(context: &DoctorContext) -> CheckResult {
    let hub =
        context.hub.as_ref().and_then(|hub| Some((hub.pid, status::config_changed(hub.status.as_ref()?)?)));
    match hub {
        None => CheckResult::ok("config.toml can be read, or there is none"),
        Some((pid, changed)) => CheckResult::warn(
            changed,
            format!("restart the hub when no task runs: `kill {pid}`; the next client starts the new one"),
        ),
    }
}

/// Checks that the hub listens on the configured address, or could.
pub(super) fn port(context: &DoctorContext) -> CheckResult {
    let http = &context.config.http;
    let Some(address) = http.address else { return CheckResult::skipped("the HTTP listener is off") };
    let listening = context.hub.as_ref().and_then(|hub| hub.status.as_ref()?.http);
    if let (0, Some(listening)) = (address.port(), listening) {
        return CheckResult::ok(format!("the hub listens on {listening}"));
    }
    let fault = context.hub.as_ref().and_then(|hub| hub.status.as_ref()?.http_fault.as_ref());
    if let Some(fault) = fault {
        return CheckResult::fail(
            format!("the hub serves without HTTP and its console: {fault}"),
            "free the port, or choose another: `address` below [http] in config.toml; then `adjutant restart`",
        );
    }
    if listening == Some(address) {
        return CheckResult::ok(format!("the hub listens on {address}"));
    }
    match (TcpListener::bind(address), listening) {
        (Ok(_), None) => CheckResult::ok(format!("{address} is free")),
        (Ok(_), Some(other)) => CheckResult::warn(
            format!("the hub listens on {other}, though {address} is free"),
            "restart the hub, so that clients find it at the default address",
        ),
        (Err(error), listening) if error.kind() == ErrorKind::AddrInUse => {
            let other = listening.map(|other| format!("; the hub listens on {other}")).unwrap_or_default();
            let detail = format!("another program listens on {address}{other}");
            let remedy = "end that program, or choose another port: `address` below [http] in config.toml";
            if http.default_address {
                CheckResult::warn(detail, remedy)
            } else {
                CheckResult::fail(detail, remedy)
            }
        }
        (Err(error), _) => CheckResult::fail(
            format!("the address {address} cannot be used: {error}"),
            "choose another address: `address` below [http] in config.toml",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check_result::Status;

    #[test]
    fn a_replaced_watcher_is_a_warning() {
        for (replaced, status, detail) in [(0, Status::Ok, "runs (pid 7)"), (2, Status::Warn, "2 watchers")] {
            let status_json = serde_json::json!({"http": null, "socket": null, "uptime_seconds": 1,
                "clients": [], "replaced_watchers": replaced});
            let reply = serde_json::json!({"adjutant": "1", "pid": 7, "status": status_json});
            let found = current(&serde_json::from_value(reply).unwrap());
            assert_eq!(found.status, status);
            assert!(found.detail.contains(detail), "{}", found.detail);
        }
    }
}
