//! `--background`: starts the hub as a detached process, and waits until it serves.
//!
//! The child's stdout is a pipe to the starter. One line of JSON on it says that the hub serves, or why not;
//! then the child closes it. The child's own log goes to `logs/hub.log`.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hub::Hub;
use super::{Common, ServeArgs};
use crate::cli::output::{self, Failure};
use adjutant_host::process;
use adjutant_terminal::socket;

/// Time for a hub to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Size at which the next hub rotates the log.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

/// Message of the child to its starter.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum StartReport {
    Serving { banner: String, addresses: Value, link: Option<String> },
    Failed { message: String, hints: Vec<String> },
}

/// The child's end of the pipe.
pub(super) struct Ready {
    sent: bool,
}

impl Ready {
    pub(super) fn new() -> Self {
        Self { sent: false }
    }

    /// Reports that the hub serves.
    pub(super) fn serving(&mut self, hub: &Hub) {
        // The process that waits for this report opens the browser.
        let opener = process::session_leader(std::os::unix::process::parent_id());
        let (banner, addresses) = (hub.banner(), hub.addresses());
        self.send(&StartReport::Serving { banner, addresses, link: hub.link(opener) });
    }

    /// Reports why the hub failed to start.
    pub(super) fn failed(&mut self, failure: &Failure) {
        self.send(&StartReport::Failed { message: failure.message.clone(), hints: failure.hints.clone() });
    }

    fn send(&mut self, report: &StartReport) {
        if std::mem::replace(&mut self.sent, true) {
            return;
        }
        if let Ok(line) = serde_json::to_string(report) {
            // The hub serves even if the starter has exited.
            let _ = output::data(&line);
        }
        if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(null);
        }
    }
}

/// Starts a detached hub, waits until it serves, and prints its addresses.
pub(super) fn start(args: &ServeArgs, common: &Common) -> Result<ExitCode, Failure> {
    let home = super::config(args, common.clone())?.home;
    socket::private_folder(&home)?;
    let mut child =
        process::spawn_detached_self(&args.for_child(common), &home, log(&home)?).map_err(|error| {
            Failure::new(format!("cannot start the hub: {error}"))
                .hint("`adjutant serve` in a terminal shows what is wrong")
        })?;
    let (send, report) = mpsc::sync_channel(1);
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(stdout).read_line(&mut line);
            let _ = send.send(line);
        });
    }
    let log_hint = || format!("its log is {}", log_file(&home).display());
    let Ok(line) = report.recv_timeout(START_TIMEOUT) else {
        // A hub that hangs would prevent the next one from starting.
        let _ = child.kill();
        let message = format!("the hub did not serve within {} s", START_TIMEOUT.as_secs());
        return Err(Failure::new(message).hint(log_hint()));
    };
    match serde_json::from_str(&line) {
        Ok(StartReport::Serving { banner, addresses, link }) => {
            output::changed(banner, &addresses)?;
            if let Some(link) = link.filter(|_| args.open) {
                super::open_console(&link, &home);
            }
            Ok(ExitCode::SUCCESS)
        }
        Ok(StartReport::Failed { message, hints }) => {
            Err(hints.into_iter().fold(Failure::new(message), Failure::hint))
        }
        Err(_) => Err(Failure::new("the hub ended before it served").hint(log_hint())),
    }
}

fn log_file(home: &Path) -> PathBuf {
    home.join("logs").join("hub.log")
}

fn log(home: &Path) -> Result<File, Failure> {
    let file = log_file(home);
    let failure = |error| {
        Failure::new(format!("cannot write the log {}: {error}", log_file(home).display()))
            .hint("`adjutant doctor` checks the permissions of the home folder")
    };
    socket::private_folder(&home.join("logs"))?;
    if std::fs::metadata(&file).is_ok_and(|found| found.len() > MAX_LOG_BYTES) {
        std::fs::rename(&file, home.join("logs").join("hub.log.1")).map_err(failure)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(&file).map_err(failure)
}
