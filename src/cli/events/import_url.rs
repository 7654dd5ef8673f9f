//! `adjutant events import` from an address.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::assistant::ACTOR;
use super::super::output::{self, Failure};
use super::{fault, tell_faults};
use crate::app::calendars::{self, Error, Place};
use crate::assistant::{Assistant, UserId};
use crate::outbound::Login;
use crate::visible::line;

/// How a server is asked.
#[derive(Debug, Args)]
pub(super) struct Remote {
    /// The address is a CalDAV collection; only what changed since the last time is read
    #[arg(long)]
    caldav: bool,
    /// The name that the server wants
    #[arg(long, value_name = "NAME", requires = "password_file")]
    login: Option<String>,
    /// The file whose first line is the password
    #[arg(long, value_name = "FILE", requires = "login")]
    password_file: Option<PathBuf>,
}

impl Remote {
    /// Returns the server's place; `None` where `from` is a file or a folder.
    pub(super) fn place(&self, from: &Path) -> Result<Option<Place>, Failure> {
        let Some(url) = address(from) else {
            return if self.caldav || self.login.is_some() {
                Err(Failure::usage("--caldav and --login need an address that begins with http")
                    .hint("adjutant events import USER https://example.org/calendars/me/ --caldav"))
            } else {
                Ok(None)
            };
        };
        let login = match (&self.login, &self.password_file) {
            (Some(name), Some(file)) => {
                let text = std::fs::read_to_string(file).map_err(|error| {
                    Failure::new(format!("cannot read {}: {error}", file.display()))
                        .hint("name the file whose first line is the password")
                })?;
                let password = text.lines().next().unwrap_or_default().to_owned();
                Some(Login { name: name.clone(), password })
            }
            _ => None,
        };
        Ok(Some(Place { url, caldav: self.caldav, login }))
    }
}

/// Returns the address that `from` is; `None` where it is a file or a folder.
pub(super) fn address(from: &Path) -> Option<String> {
    let text = from.to_str()?;
    match text.split_once("://")? {
        ("http" | "https", _) => Some(text.to_owned()),
        // What pages offer for a subscription: the same over the web.
        ("webcal" | "webcals", rest) => Some(format!("https://{rest}")),
        _ => None,
    }
}

/// Reads what changed and says what became of it. An event that was left out makes the exit code 1.
pub(super) async fn import(
    room: &Assistant,
    user: &UserId,
    place: &Place,
    json: bool,
) -> Result<ExitCode, Failure> {
    let user = room.user(user).await?;
    let pulled = calendars::pull(room, &user, place, ACTOR, Timestamp::now()).await.map_err(failed)?;
    let left_out = tell_faults(pulled.faults.iter().map(|(name, fault)| (name.as_str(), fault)));
    let taken = pulled.taken;
    if json {
        let faults = pulled.faults.iter().map(|(name, one)| {
            let mut told = fault(one);
            told["place"] = Value::from(name.as_str());
            told
        });
        output::json(&json!({
            "asked_again": !pulled.unchanged,
            "added": taken.added,
            "updated": taken.updated,
            "same": taken.same,
            "gone": pulled.gone,
            "withdrawn": taken.withdrawn,
            "faults": faults.collect::<Vec<_>>(),
        }))?;
    } else if pulled.unchanged {
        output::data("nothing has changed since the last time")?;
    } else {
        output::data(&format!(
            "{} new, {} changed, {} as before, {} gone, {} left out",
            taken.added, taken.updated, taken.same, pulled.gone, left_out
        ))?;
    }
    Ok(if left_out == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what to do where nothing was read.
fn failed(error: Error) -> Failure {
    let message = error.to_string();
    match error {
        Error::Refused { status: 401 | 403 } => {
            Failure::new(message).hint("name who reads it: `--login NAME --password-file FILE`")
        }
        Error::Refused { status: 404 | 410 } => Failure::new(message).hint("look at the address again"),
        Error::Refused { .. } | Error::Outbound(_) => {
            Failure::new(message).hint("what was read before stays as it is; try again later")
        }
        Error::NotCalDav => {
            Failure::new(message).hint("a `.ics` file behind an address is read without `--caldav`")
        }
        Error::HoldsCalendars(_) => Failure::new(line(&message)).hint("name one of these calendars"),
        Error::Room(error) => Failure::from(error),
    }
}
