//! `adjutant events …`: what is in the calendars.

mod forget;
mod remote;

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Common;
use super::assistant::{ACTOR, Place, user, with};
use super::output::{self, Failure};
use crate::assistant::agenda::Span;
use crate::assistant::calendar::{Effect, Fault, MAX_BYTES};
use crate::assistant::event::CalendarSource;
use crate::assistant::import::{Forgotten, Imported, Origin};
use crate::assistant::{Assistant, Calendar, EventId, UserId, Zone};
use crate::mcp::tools::assistant::tell;
use crate::visible::line;

/// Events of one list.
const MOST: u32 = 10_000;

/// Arguments of `adjutant events`.
#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List what happens around today
    List {
        /// Of this user alone, in their zone
        #[arg(long, value_parser = user)]
        user: Option<UserId>,
        /// Days to look back
        #[arg(long, value_name = "DAYS", default_value_t = 2)]
        days_back: u32,
        /// Days to look ahead
        #[arg(long, value_name = "DAYS", default_value_t = 30)]
        days_forward: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an event, and what is planned for it
    Show {
        /// The event, as `adjutant events list` shows it
        #[arg(value_parser = event)]
        id: EventId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over a calendar: an `.ics` file, a folder of them, or an address; again, for what changed in it
    Import {
        /// Whose calendar it is
        #[arg(value_parser = user)]
        user: UserId,
        /// The file, the folder, or the address that begins with http://, https:// or webcal://
        #[arg(value_name = "FILE|FOLDER|URL")]
        from: PathBuf,
        #[command(flatten)]
        remote: remote::Remote,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take back what was taken over from a file, a folder or an address; nothing is read there
    Forget {
        /// Whose calendar it is
        #[arg(value_parser = user)]
        user: UserId,
        /// What was imported
        #[arg(value_name = "FILE|FOLDER|URL")]
        from: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a user's events as iCalendar, with what is planned as alarms
    Export {
        /// Whose events
        #[arg(value_parser = user)]
        user: UserId,
        /// Write it to this file instead of stdout
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
}

fn event(text: &str) -> Result<EventId, String> {
    EventId::parse(text).ok_or_else(|| "an id has 1 to 200 bytes and no control characters".to_owned())
}

/// Runs one of the commands.
pub(super) fn run(args: EventsArgs, common: Common) -> Result<ExitCode, Failure> {
    let EventsArgs { place, command } = args;
    with(common, &place, |room| async move {
        match command {
            Command::List { user, days_back, days_forward, json } => {
                list(&room, user, (days_back, days_forward), json).await?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Show { id, json } => {
                show(&room, &id, json).await?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Import { user, from, remote, json } => match remote.place(&from)? {
                Some(place) => remote::import(&room, &user, &place, json).await,
                None => import(&room, &user, &from, json).await,
            },
            Command::Forget { user, from, json } => {
                forget::forget(&room, &user, &from, json).await?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Export { user, to } => {
                let text = room.export(&user, Timestamp::now()).await?;
                match to {
                    Some(file) => std::fs::write(&file, text).map_err(|error| {
                        Failure::new(format!("cannot write {}: {error}", file.display()))
                            .hint("name another file with --to, or leave it out to print")
                    })?,
                    None => output::data(text.trim_end())?,
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    })
}

async fn list(
    room: &Assistant,
    user: Option<UserId>,
    (back, forward): (u32, u32),
    json: bool,
) -> Result<(), Failure> {
    let zone = match &user {
        Some(id) => room.user(id).await?.preferences.zone,
        None => Zone::utc(),
    };
    let now = Timestamp::now();
    let days = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
    let span = Span {
        user,
        from: now.saturating_sub(days(back)).unwrap_or(Timestamp::MIN),
        until: now.saturating_add(days(forward)).unwrap_or(Timestamp::MAX),
    };
    let (found, more) = room.happenings(&span, MOST).await?;
    if json {
        let told = found.iter().map(|one| tell::event(&one.event, Some(&one.occurrence), &zone));
        let events: Vec<_> = told.collect();
        return output::json(&json!({"count": events.len(), "events": events, "more": more}));
    }
    if found.is_empty() {
        output::note(
            "nothing happens in these days; `adjutant events import USER FILE` takes a calendar over",
        );
        return Ok(());
    }
    let rows = found.iter().map(|one| {
        let at = zone.civil(one.occurrence.starts_at).strftime("%a %Y-%m-%d %H:%M").to_string();
        [at, line(&one.event.title), one.event.id.to_string()]
    });
    let start = format!("START ({zone})");
    output::table([&start, "EVENT", "ID"], 1, &rows.collect::<Vec<_>>())?;
    if more {
        output::note(format!("only the first {MOST}; ask for fewer days"));
    }
    Ok(())
}

async fn show(room: &Assistant, id: &EventId, json: bool) -> Result<(), Failure> {
    let event = room.event(id).await?;
    let zone = room.user(&event.user).await?.preferences.zone;
    let mut value = json!(tell::event(&event, None, &zone));
    let notifications = room.notifications_of(id, MOST).await?;
    value["notes"] = json!(event.details.notes);
    value["notifications"] = notifications.iter().map(|one| tell::notification(one, &zone)).collect();
    if json {
        return output::json(&value);
    }
    let mut lines = vec![line(&event.title)];
    for name in
        ["id", "status", "start_ts", "end_ts", "weekday", "time_zone", "location", "organizer", "description"]
    {
        if let Some(text) = value[name].as_str().filter(|text| !text.is_empty()) {
            lines.push(format!("  {name:<12}{}", line(text)));
        }
    }
    for note in &event.details.notes {
        lines.push(format!("  note        {}", line(note)));
    }
    for one in &notifications {
        let at = zone.civil(one.due_at).strftime("%a %Y-%m-%d %H:%M");
        lines.push(format!("  {at}  {} by {}  {}", one.status.name(), one.channel.name(), one.id));
        lines.extend(one.reasons.iter().map(|reason| format!("    {}: {}", reason.by, line(&reason.why))));
    }
    output::data(&lines.join("\n"))
}

async fn import(room: &Assistant, user: &UserId, from: &Path, json: bool) -> Result<ExitCode, Failure> {
    let now = Timestamp::now();
    // Known before the first file is read, so that whatever fails then is the file's own.
    room.user(user).await?;
    let files = files(from)?;
    let deleted = deleted(room, user, from, &files).await?;
    let (mut told, mut faulty) = (Vec::new(), false);
    for file in &files {
        let shown = file.display().to_string();
        let imported = match import_file(room, user, file, now).await {
            Ok(imported) => imported,
            // One file that is no calendar does not cost the others of its folder.
            Err(failure) if files.len() > 1 => {
                output::note(line(&format!("left out: {}", failure.message)));
                told.push(json!({"file": shown, "problem": failure.message}));
                faulty = true;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let left_out = tell_faults(imported.faults.iter().map(|fault| (shown.as_str(), fault)));
        faulty |= left_out > 0;
        let taken = imported.taken;
        if !json {
            output::data(&format!(
                "{shown}: {} new, {} changed, {} as before, {} gone, {} left out",
                taken.added, taken.updated, taken.same, imported.gone, left_out
            ))?;
        }
        told.push(json!({
            "file": shown,
            "calendar": imported.calendar.id.as_str(),
            "added": taken.added,
            "updated": taken.updated,
            "same": taken.same,
            "gone": imported.gone,
            "withdrawn": taken.withdrawn,
            "faults": imported.faults.iter().map(fault).collect::<Vec<_>>(),
        }));
    }
    for calendar in deleted {
        let Forgotten { gone, withdrawn } = room.forget(&calendar, ACTOR, now).await?;
        if gone == 0 {
            continue;
        }
        if !json {
            output::data(&line(&format!("{}: the file is not there any more, {gone} gone", calendar.place)))?;
        }
        let id = calendar.id.as_str();
        told.push(json!({
            "file": calendar.place,
            "calendar": id,
            "added": 0,
            "updated": 0,
            "same": 0,
            "gone": gone,
            "withdrawn": withdrawn,
            "faults": [],
        }));
    }
    if json {
        output::json(&json!({"imported": told}))?;
    }
    Ok(if faulty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn import_file(
    room: &Assistant,
    user: &UserId,
    file: &Path,
    now: Timestamp,
) -> Result<Imported, Failure> {
    let shown = file.display();
    let bytes = bytes_of(file).map_err(|error| {
        Failure::new(format!("cannot read {shown}: {error}")).hint("name a file or folder that you may read")
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let place = absolute(file).display().to_string();
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let origin = Origin { user: user.clone(), source: CalendarSource::File, place, name: name.clone() };
    let bar = bar(&name);
    let tell = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let imported = room.import_telling(&origin, text, ACTOR, now, &tell).await;
    bar.finish_and_clear();
    imported.map_err(|error| {
        let message = format!("{shown}: {error}");
        let mut failure = Failure::from(error);
        failure.message = message;
        failure
    })
}

/// Names whatever was not taken as it stands there, with its file and line. Says how many events were left out.
fn tell_faults<'a>(faults: impl Iterator<Item = (&'a str, &'a Fault)>) -> usize {
    let mut left_out = 0;
    for (place, fault) in faults {
        let what = match fault.error.effect() {
            Effect::LeftOut => {
                left_out += 1;
                "left out"
            }
            Effect::Changed => "taken over, but",
            Effect::PassedOver => "passed over",
        };
        output::note(line(&format!("{place}:{}: {what}: {}", fault.line, fault.error)));
    }
    left_out
}

fn fault(fault: &Fault) -> Value {
    let left_out = fault.error.effect() != Effect::Changed;
    json!({"line": fault.line, "problem": fault.error.to_string(), "left_out": left_out})
}

/// Reads a file, or so much of it that the reader refuses it for its size.
fn bytes_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Events as they are taken over; drawn on a terminal alone.
fn bar(name: &str) -> ProgressBar {
    output::bar("{bar:40} {pos} of {len} events  {msg}").with_message(line(name))
}

/// Returns the calendars that were files of this folder and are not among those that it has now. A folder without any
/// is no such folder: it may be a disk that is not there.
async fn deleted(
    room: &Assistant,
    user: &UserId,
    folder: &Path,
    files: &[PathBuf],
) -> Result<Vec<Calendar>, Failure> {
    let folder = absolute(folder);
    let there: HashSet<PathBuf> = files.iter().map(|file| absolute(file)).collect();
    let mut known = room.calendars(user).await?;
    known.retain(|one| {
        let place = Path::new(&one.place);
        one.source == CalendarSource::File && place.parent() == Some(&folder) && !there.contains(place)
    });
    Ok(known)
}

/// A path as the place of a calendar.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns the file, or the `.ics` files of the folder by name.
fn files(from: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !from.is_dir() {
        return Ok(vec![from.to_owned()]);
    }
    let unreadable = |error| {
        Failure::new(format!("cannot read {}: {error}", from.display()))
            .hint("name a file or folder that you may read")
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(from).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ics")) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::new(format!(
            "{} holds no .ics file; what was read from it stays",
            from.display()
        ))
        .hint("name a calendar file, a folder of them, or an address that begins with http"));
    }
    Ok(files)
}
