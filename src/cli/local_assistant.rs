//! Opens the assistant on its database without a hub, for the commands about users, events and notifications.
//!
//! The hub of the same home, and those of the same PostgreSQL database, are notified of their changes.

use std::future::Future;
use std::sync::Arc;

use clap::{Args, Subcommand};
use tokio::sync::broadcast::Receiver;
use tracing::level_filters::LevelFilter;

use super::output::Failure;
use super::{Common, native_runners};
use adjutant_app::App;
use adjutant_assistant::Error;
use adjutant_assistant::calendar::Error as Calendar;
use adjutant_base::config::assistant::Adviser;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{Config, Database, Overrides, Roots};
use adjutant_base::events::{Event, wait_for};
use adjutant_terminal::socket::{self, Hello};

/// Name of the actor in the audit log.
pub(super) const ACTOR: &str = "user at the command line";

/// Arguments of a group of commands.
#[derive(Debug, Args)]
pub(super) struct AssistantArgs<C: Subcommand> {
    /// Database: `sqlite:FILE` or `postgres://USER@HOST/NAME` [default: adjutant.db in the home folder]
    #[arg(long, value_name = "URL", global = true, display_order = 900)]
    pub(super) database: Option<String>,
    #[command(subcommand)]
    pub(super) command: C,
}

/// Runs `work` with the application that contains the assistant, and the command.
pub(super) fn with_app<C: Subcommand, T, W>(
    common: Common,
    args: AssistantArgs<C>,
    work: impl FnOnce(Arc<App>, C) -> W,
) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    let config = config(common, args.database.as_deref())?;
    // An error in the configuration of runners must not prevent commands that use none.
    let runners = if asks_runners(&config) { config.runners.clone() } else { RunnersConfig::default() };
    let runners = native_runners(&runners)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let app = App::new(config, runners);
        let changes = app.events.subscribe();
        let done = work(app.clone(), args.command).await;
        if !changes.is_empty() {
            notify_hubs(&app).await;
        }
        app.assistant.close().await;
        done
    })
}

/// Notifies the hub of this home, if one runs, and those of the same database, that this process changed calendars or
/// notifications.
async fn notify_hubs(app: &Arc<App>) {
    let announcing = app.clone();
    // Without a hub nothing is sent now, and the next hub reads the database.
    let notify = move || match &announcing.config.socket {
        Some(socket) => socket::notify(&announcing.config.home, socket, &Hello::calendar_changed()),
        None => Ok(()),
    };
    let _ = tokio::join!(tokio::task::spawn_blocking(notify), app.assistant.announce());
}

/// Notifies the hubs of each change that `events` are about, until this process stops serving.
pub(super) async fn notify_hubs_of_changes(app: Arc<App>, mut events: Receiver<Event>) {
    while let Some(true) =
        app.shutdown.run_until_cancelled(wait_for(&mut events, Event::NotificationsChanged)).await
    {
        notify_hubs(&app).await;
    }
    if !events.is_empty() {
        notify_hubs(&app).await;
    }
}

/// Reads the configuration of a process that opens the assistant without a hub. Its tasks are kept in memory and end with
/// it, because the tasks in the database belong to the hub.
pub(super) fn config(common: Common, database: Option<&str>) -> Result<Config, Failure> {
    common.start_log(LevelFilter::WARN)?;
    let database = database.map(Database::named).transpose();
    let database = database.map_err(|error| Failure::from(error).with_code(2))?;
    let overrides = Overrides { home: common.home, database, ..Overrides::default() };
    let mut config = Config::load(overrides, Roots::User)?;
    config.delegation.database = Some(Database::Memory);
    config.delegation.spool = None;
    Ok(config)
}

/// Returns whether planning may ask a runner, so that the task queue has to run.
pub(super) fn asks_runners(config: &Config) -> bool {
    config.assistant.advisers.contains(&Adviser::Runner)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::Unknown { what: "user", .. } => "`adjutant users list` shows all of them",
            Error::Unknown { what: "rule", .. } => "`adjutant users show USER` shows their rules",
            Error::Unknown { what: "event", .. } => "`adjutant events list` shows those around today",
            Error::Unknown { what: "notification", .. } => {
                "`adjutant notifications list` shows the notifications of these days"
            }
            Error::WrongStatus { id, .. } => &format!("`adjutant notifications show {id}` shows its history"),
            Error::Date(_) => {
                "write a time as in `tomorrow 15:00`, `24.12. 18:00 for 2h` or `2026-12-24T18:00`"
            }
            Error::Calendar(Calendar::TooLarge) => "name the folder to import all its `.ics` files",
            Error::Calendar(Calendar::NotACalendar) => {
                "calendar programs write one when they export or publish a calendar as iCalendar"
            }
            Error::Store(source) => match source.cause() {
                Some(cause) => &format!("the database says: {cause}"),
                None => return Self::new(source),
            },
            _ => return Self::new(error),
        };
        Self::new(&error).hint(hint)
    }
}
