//! The hub itself in the control API: its configuration and its end.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, to_json};
use crate::socket::lock::record_stop;
use adjutant_agents::Viewer;
use adjutant_app::App;
use adjutant_app::toolset_switches::PendingChanges;

/// Interval between two looks at the running tasks; each end of a task is noticed at once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A request about the hub.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Applies `config.toml` as it is now.
    Reload,
    /// Returns what the answer to [`Self::Stop`] would be, and ends nothing.
    RestartArguments,
    /// Ends the hub. `restarts` says that the client starts the next one, so that relays do not wait for the user.
    Stop { tasks: RunningTasks, restarts: bool },
}

/// The fate of the running tasks when the hub is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningTasks {
    /// The hub does not end.
    Keep,
    /// The hub ends after them, and starts no others.
    Await,
    Cancel,
}

/// The answer to [`Request::Stop`].
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Stopped {
    /// The arguments that start the hub again; `None` if a service manager does.
    pub arguments: Option<Vec<String>>,
}

/// The client's calls.
impl ControlClient {
    /// Applies `config.toml` as it is now; returns how it differs from what is in force.
    pub fn reload(&mut self) -> Result<PendingChanges, Error> {
        self.ask(&super::Request::Hub(Request::Reload))
    }

    /// Returns the arguments that start the hub again.
    pub fn restart_arguments(&mut self) -> Result<Stopped, Error> {
        self.ask(&super::Request::Hub(Request::RestartArguments))
    }

    /// Ends the hub, which then answers its requests in flight.
    pub fn stop(&mut self, tasks: RunningTasks, restarts: bool) -> Result<Stopped, Error> {
        self.ask(&super::Request::Hub(Request::Stop { tasks, restarts }))
    }
}

/// Handles a request. The caller ends the hub after the answer to [`Request::Stop`].
pub(super) async fn answer(app: &App, request: Request) -> Result<Value, Rejection> {
    match request {
        Request::Reload => to_json(&app.reload()),
        Request::RestartArguments => to_json(&restart_arguments(app)),
        Request::Stop { tasks, restarts } => {
            let drain = app.agents.drain().await;
            let mut changes = app.events.subscribe();
            if tasks == RunningTasks::Cancel {
                for task in app.agents.running() {
                    app.agents.cancel(&Viewer::User, &task).await?;
                }
            }
            while !app.agents.running().is_empty() {
                if tasks == RunningTasks::Keep {
                    return Err(Rejection::new("the hub does not end, because tasks run"));
                }
                let _ = tokio::time::timeout(POLL_INTERVAL, changes.recv()).await;
            }
            if !restarts {
                record_stop(&app.config.home).map_err(Rejection::new)?;
            }
            // The queue stays paused to the end.
            std::mem::forget(drain);
            to_json(&restart_arguments(app))
        }
    }
}

fn restart_arguments(app: &App) -> Stopped {
    let arguments = app.listening.restart_arguments.get();
    let words = |words: &Vec<std::ffi::OsString>| {
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    };
    Stopped { arguments: arguments.map(words) }
}
