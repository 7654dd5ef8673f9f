//! `adjutant events import` from an address.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::super::source_files;
use super::calendar_address::{absolute, address};
use super::parse_issues::{issue_json, print_issues};
use adjutant_app::calendar_sync;
use adjutant_app::calendar_sync::{CalendarAddress, Error};
use adjutant_assistant::event::{Refresh, StoredLogin};
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_net::http_client::Login;

/// Options for a calendar on a server.
#[derive(Debug, Args)]
pub(super) struct Remote {
    /// The URL is a CalDAV collection; only changes since the last import are read
    #[arg(long)]
    caldav: bool,
    /// Login name at the server
    #[arg(long, value_name = "NAME", requires = "password_file")]
    login: Option<String>,
    /// The file with the password in its first line
    #[arg(long, value_name = "FILE", requires = "login")]
    password_file: Option<PathBuf>,
    /// Events of the collection may be changed on its server, by `adjutant events` and by clients that you allow it
    #[arg(long, requires = "caldav")]
    write: bool,
    /// How often the hub reads the URL again, such as 15m or 1h; 0s for never
    #[arg(long, value_name = "TIME", default_value = "1h")]
    every: SignedDuration,
}

impl Remote {
    /// Returns the address of the calendar; `None` if `from` is a file or a folder.
    pub(super) fn calendar_address(&self, from: &Path) -> Result<Option<CalendarAddress>, Failure> {
        let Some(url) = address(from) else {
            return if self.caldav || self.login.is_some() {
                Err(Failure::usage("--caldav and --login need an address that begins with http")
                    .hint("adjutant events import USER https://example.org/calendars/me/ --caldav"))
            } else {
                Ok(None)
            };
        };
        let authority = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
        if authority.is_some_and(|authority| authority.contains('@')) {
            // The address is stored and shown.
            return Err(Failure::usage("the address has a login in it")
                .hint("leave it out, and log in with `--login NAME --password-file FILE`"));
        }
        let login = match (&self.login, &self.password_file) {
            (Some(name), Some(file)) => {
                let text = source_files::read(file)
                    .map_err(|failure| failure.hint("name the file whose first line is the password"))?;
                let password = text.lines().next().unwrap_or_default().to_owned();
                Some(Login { name: name.clone(), password })
            }
            _ => None,
        };
        Ok(Some(CalendarAddress { url, caldav: self.caldav, login }))
    }

    /// Returns how the hub reads the URL again; `None` for never.
    fn refresh(&self, now: Timestamp) -> Option<Refresh> {
        let login = self.login.clone().zip(self.password_file.as_deref());
        (self.every >= SignedDuration::from_secs(1)).then(|| Refresh {
            every_seconds: self.every.as_secs(),
            writable: self.write,
            login: login.map(|(name, file)| StoredLogin { name, password_file: absolute(file) }),
            next_at: now.saturating_add(self.every).unwrap_or(Timestamp::MAX),
            failures: 0,
            failure: None,
        })
    }
}

/// Imports the changes and prints their number. The exit code is 1 if an event was left out.
pub(super) async fn import(
    assistant: &Assistant,
    user: &UserId,
    address: &CalendarAddress,
    remote: &Remote,
) -> Result<ExitCode, Failure> {
    let user = assistant.user(user).await?;
    let now = Timestamp::now();
    let pulled = calendar_sync::pull(assistant, &user, address, ACTOR, now).await.map_err(failed)?;
    assistant.set_refresh(&pulled.calendar, remote.refresh(now).as_ref()).await?;
    let left_out = print_issues(pulled.issues.iter().map(|(name, issue)| (name.as_str(), issue)));
    let upserted = pulled.upserted;
    if output::is_json() {
        let faults = pulled.issues.iter().map(|(name, one)| {
            let mut entry = issue_json(one);
            entry["place"] = Value::from(name.as_str());
            entry
        });
        let calendar = json!({
            "changed": !pulled.unchanged,
            "added": upserted.added,
            "updated": upserted.updated,
            "same": upserted.same,
            "removed": pulled.removed,
            "cancelled": upserted.withdrawn,
            "faults": faults.collect::<Vec<_>>(),
        });
        output::json(&output::list(vec![calendar], "calendar_id"))?;
    } else if pulled.unchanged {
        output::data("nothing has changed since the last time")?;
    } else {
        output::data(&format!(
            "{} new, {} changed, {} as before, {} removed, {} left out",
            upserted.added, upserted.updated, upserted.same, pulled.removed, left_out
        ))?;
    }
    Ok(if left_out == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the failure of an import, with a hint.
fn failed(error: Error) -> Failure {
    let hint = match error {
        Error::Refused { status: 401 | 403, .. } => "log in with `--login NAME --password-file FILE`",
        Error::Refused { status: 404 | 410, .. } => "check the address",
        Error::Refused { .. } | Error::Incomplete { .. } | Error::Outbound(_) => {
            "the events of the last import are kept; try again later"
        }
        Error::NotCalDav => "if the address is an `.ics` file, import it without `--caldav`",
        Error::HoldsCalendars(_) => "name one of these calendars",
        Error::Imported(_) => "`adjutant events forget USER URL` removes that one",
        Error::Assistant(error) => return Failure::from(error),
    };
    Failure::new(escape_line(&error.to_string())).hint(hint)
}
