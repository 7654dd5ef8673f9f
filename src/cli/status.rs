//! `adjutant status`: the running hub of this home.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Common;
use super::output::{self, Failure};
use adjutant_app::pending_counts::PendingCounts;
use adjutant_app::toolset_switches::PendingChanges;
use adjutant_base::config::{self, Config};
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt;
use adjutant_terminal::socket::{self, HelloReply, Query, Status};

/// Time for a starting hub to listen.
const START_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between two attempts to connect meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Prints the status of the hub. Fails if none runs.
pub(super) fn run(common: Common) -> Result<(), Failure> {
    let config = common.hub_config()?;
    let reply = query_hub(&config, Query::Status)?;
    let HelloReply { adjutant, pid, status: Some(status), .. } = reply else {
        return Err(
            Failure::new("the hub sent no status").hint("restart the hub: it may be of another version")
        );
    };
    if output::is_json() {
        return output::json(&json!({"adjutant": adjutant, "pid": pid, "status": status}));
    }
    let up = timefmt::span(Duration::from_secs(status.uptime_seconds));
    output::data(&format!("adjutant {adjutant}, pid {pid}, up {up}"))?;
    if let Some(console) = &status.console {
        output::data(&format!("http     {console}"))?;
    }
    if let Some(fault) = &status.http_fault {
        output::data(&format!("http     off: {fault}"))?;
    }
    if let Some(fault) = &status.database_fault {
        output::data(&format!("database: {}", escape_line(fault)))?;
    }
    if let Some(path) = &status.socket {
        output::data(&format!("socket   {}", path.display()))?;
    }
    if let Some(pending) = pending(&status) {
        output::data(&format!("pending  {pending}"))?;
    }
    if let Some(config) = config_changed(&status) {
        output::data(&format!("config   {config}"))?;
    }
    for client in status.clients {
        let kind = if client.check { "check" } else { "client" };
        let name = client.name.as_deref().unwrap_or("(unnamed)");
        let version = client.version.as_deref().unwrap_or_default();
        let pid = client.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
        let text = format!("{name} {version} on {}, {}{pid}", client.toolset, counted(client.calls, "call"));
        output::data(&format!("{kind:<7}  {}", escape_line(&text)))?;
    }
    Ok(())
}

/// Describes what is pending for the user; `None` if nothing is.
pub(super) fn pending(status: &Status) -> Option<String> {
    let PendingCounts { questions, approvals, failed_notifications } = status.waiting;
    let mut parts = Vec::new();
    if questions > 0 {
        let from_codex = match approvals {
            0 => String::new(),
            _ => format!(" ({} of Codex)", counted(approvals, "approval")),
        };
        parts.push(counted(questions, "question") + &from_codex);
    }
    if failed_notifications > 0 {
        parts.push(counted(failed_notifications, "failed notification"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes how `config.toml` differs from the configuration of the hub; `None` if it does not.
pub(super) fn config_changed(status: &Status) -> Option<String> {
    let PendingChanges { settings, fault } = &status.config;
    match (fault, settings.as_slice()) {
        (Some(fault), _) => Some(format!("the file can no longer be read: {fault}")),
        (None, []) => None,
        (None, keys) => Some(format!("changed since the start; these need a restart: {}", keys.join(", "))),
    }
}

/// Summarizes a hub of the version `hub` in a line.
pub(super) fn summary(hub: &str, pid: u32, status: &Status) -> String {
    let clients = counted(status.clients.iter().filter(|client| !client.check).count() as u64, "client");
    let console =
        status.console.as_ref().map(|console| format!(", console on {console}")).unwrap_or_default();
    let own = env!("CARGO_PKG_VERSION");
    let version = if hub == own { String::new() } else { format!(", version {hub}") };
    format!("adjutant {own}: the hub runs (pid {pid}{version}), {clients}{console}")
}

/// Asks the hub of `config`'s home. Waits for a hub that is starting.
pub(super) fn query_hub(config: &Config, query: Query) -> Result<HelloReply, Failure> {
    let socket = config.socket.clone().unwrap_or_else(|| config::default_socket(&config.home));
    let end = Instant::now() + START_TIMEOUT;
    loop {
        match socket::query(&config.home, &socket, query) {
            // A hub locks its home before it listens.
            Err(socket::Error::NoHub { .. }) if Instant::now() < end && !socket::vacant(&config.home) => {
                std::thread::sleep(POLL_INTERVAL);
            }
            reply => return Ok(reply?),
        }
    }
}
