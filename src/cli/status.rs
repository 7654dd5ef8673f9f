//! `adjutant status`: which hub runs for this home.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::Common;
use super::output::{self, Failure};
use crate::config::{Config, Roots};
use crate::socket::{self, Ask, Status, Welcome};

/// How long a hub may take from its start to its open doors, and how often one looks.
const OPENING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

/// Arguments of `adjutant status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Prints what the hub says of itself; exit code 1 when there is none.
pub(super) fn run(args: &StatusArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let welcome = ask(&config, Ask::Status)?;
    let Welcome { adjutant, pid, status: Some(status), .. } = welcome else {
        return Err(Failure::new("the hub did not say how it is"));
    };
    if args.json {
        output::json(&json!({"adjutant": adjutant, "pid": pid, "status": status}))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::data(&format!("adjutant {adjutant}, pid {pid}, up {} s", status.uptime_seconds))?;
    if let Some(address) = status.http {
        output::data(&format!("http    {address}"))?;
    }
    if let Some(path) = status.socket {
        output::data(&format!("socket  {}", path.display()))?;
    }
    for client in status.clients {
        let name = client.name.as_deref().unwrap_or("(unnamed)");
        let version = client.version.as_deref().unwrap_or_default();
        let pid = client.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
        let line = format!("client  {name} {version} on {}, {} calls{pid}", client.server, client.calls);
        output::data(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns how the hub is, in a line.
pub(super) fn summary(pid: u32, status: &Status) -> String {
    let clients = match status.clients.len() {
        1 => "1 client".to_owned(),
        many => format!("{many} clients"),
    };
    let console = status.http.map(|address| format!(", console on http://{address}")).unwrap_or_default();
    format!("adjutant {}: the hub runs (pid {pid}), {clients}{console}", env!("CARGO_PKG_VERSION"))
}

/// Asks the hub of `config`'s home, wherever its socket lies. One that only begins is waited for.
pub(super) fn ask(config: &Config, question: Ask) -> Result<Welcome, Failure> {
    let usual = config.socket.clone().unwrap_or_else(|| config.home.join("hub.sock"));
    let end = Instant::now() + OPENING;
    loop {
        match socket::ask(&config.home, &usual, question) {
            // It holds its home before its doors are open.
            Err(socket::Error::NoHub { .. }) if Instant::now() < end && !socket::vacant(&config.home) => {
                std::thread::sleep(LOOK);
            }
            answered => return Ok(answered?),
        }
    }
}
