//! `adjutant events import`: calendars from files, folders and addresses.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use indicatif::ProgressBar;
use jiff::Timestamp;
use serde_json::json;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::calendar_address::absolute;
use super::import_url;
use super::parse_issues::{issue_json, print_issues};
use adjutant_assistant::calendar::MAX_BYTES;
use adjutant_assistant::event::CalendarSource;
use adjutant_assistant::import::{Imported, Origin, RemovedCalendar};
use adjutant_assistant::{Assistant, Calendar, UserId};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::file_catalogue::open_regular;

/// Arguments of `adjutant events import`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// User who owns the calendar
    user: UserId,
    /// The file, the folder, the address that begins with http://, https:// or webcal://, or - for stdin, whose events are
    /// added to the user's own calendar
    #[arg(value_name = "FILE|FOLDER|URL|-")]
    from: PathBuf,
    #[command(flatten)]
    remote: import_url::Remote,
}

/// Imports a calendar. The exit code is 1 when an event was left out.
pub(super) async fn run(args: ImportArgs, assistant: &Assistant) -> Result<ExitCode, Failure> {
    let ImportArgs { user, from, remote } = args;
    match remote.calendar_address(&from)? {
        Some(address) => import_url::import(assistant, &user, &address, &remote).await,
        None => import_files(assistant, &user, &from).await,
    }
}

async fn import_files(assistant: &Assistant, user: &UserId, from: &Path) -> Result<ExitCode, Failure> {
    let now = Timestamp::now();
    // Checked before the first file is read, so that later errors concern the file.
    assistant.user(user).await?;
    let files = files(from)?;
    let deleted = deleted(assistant, user, from, &files).await?;
    let (mut entries, mut faulty) = (Vec::new(), false);
    for file in &files {
        let shown = file.display().to_string();
        let imported = match import_file(assistant, user, file, now).await {
            Ok(imported) => imported,
            // A file that is not a calendar does not prevent the import of the others.
            Err(failure) if files.len() > 1 => {
                output::note(escape_line(&format!("left out: {}", failure.message)));
                entries.push(json!({"file": shown, "problem": failure.message}));
                faulty = true;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let left_out = print_issues(imported.issues.iter().map(|issue| (shown.as_str(), issue)));
        faulty |= left_out > 0;
        let upserted = imported.upserted;
        if !output::is_json() {
            output::data(&format!(
                "{shown}: {} new, {} changed, {} as before, {} removed, {} left out",
                upserted.added, upserted.updated, upserted.same, imported.removed, left_out
            ))?;
        }
        entries.push(json!({
            "file": shown,
            "calendar_id": imported.calendar.id.as_str(),
            "added": upserted.added,
            "updated": upserted.updated,
            "same": upserted.same,
            "removed": imported.removed,
            "cancelled": upserted.withdrawn,
            "faults": imported.issues.iter().map(issue_json).collect::<Vec<_>>(),
        }));
    }
    for calendar in deleted {
        let RemovedCalendar { removed, withdrawn } = assistant.remove_calendar(&calendar, ACTOR, now).await?;
        if removed == 0 {
            continue;
        }
        if !output::is_json() {
            output::data(&escape_line(&format!(
                "{}: the file no longer exists, {removed} removed",
                calendar.place
            )))?;
        }
        let id = calendar.id.as_str();
        entries.push(json!({
            "file": calendar.place,
            "calendar_id": id,
            "added": 0,
            "updated": 0,
            "same": 0,
            "removed": removed,
            "cancelled": withdrawn,
            "faults": [],
        }));
    }
    if output::is_json() {
        output::json(&output::list(entries, "calendar_id"))?;
    }
    Ok(if faulty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn import_file(
    assistant: &Assistant,
    user: &UserId,
    file: &Path,
    now: Timestamp,
) -> Result<Imported, Failure> {
    let shown = file.display();
    let bytes = read_bytes(file).map_err(|error| {
        Failure::new(format!("{shown}: {error}")).hint("name a file or folder that you may read")
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let origin = if is_stdin(file) {
        Origin::own(user.clone())
    } else {
        let place = absolute(file).display().to_string();
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Origin { user: user.clone(), source: CalendarSource::File, place, name }
    };
    let bar = bar(&origin.name);
    let on_progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let imported = assistant.import(&origin, text, ACTOR, now, &on_progress).await;
    bar.finish_and_clear();
    imported.map_err(|error| {
        let message = format!("{shown}: {error}");
        let mut failure = Failure::from(error);
        failure.message = message;
        failure
    })
}

/// Reads a file, at most one byte more than the limit, so that the import rejects a larger file.
fn read_bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    if is_stdin(file) {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        open_regular(file).map_err(std::io::Error::other)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns whether a file is the standard input; its events are added to the user's own calendar.
fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// Makes the progress bar of an import, which is drawn on a terminal only.
fn bar(name: &str) -> ProgressBar {
    output::bar("{bar:40} {pos} of {len} events  {msg}").with_message(escape_line(name))
}

/// Returns the imported calendars of this folder whose files no longer exist. `files` must not be empty: a folder without
/// files may be a disk that is not mounted.
async fn deleted(
    assistant: &Assistant,
    user: &UserId,
    folder: &Path,
    files: &[PathBuf],
) -> Result<Vec<Calendar>, Failure> {
    let folder = absolute(folder);
    let existing: HashSet<PathBuf> = files.iter().map(|file| absolute(file)).collect();
    let mut known = assistant.calendars(user).await?;
    known.retain(|calendar| {
        let place = Path::new(&calendar.place);
        calendar.source == CalendarSource::File
            && place.parent() == Some(&folder)
            && !existing.contains(place)
    });
    Ok(known)
}

/// Returns the file, or the `.ics` files of the folder by name.
fn files(from: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !from.is_dir() {
        return Ok(vec![from.to_owned()]);
    }
    let unreadable = |error| {
        Failure::new(format!("{}: {error}", from.display())).hint("name a file or folder that you may read")
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
        return Err(Failure::new(format!("{} has no .ics files; its imported events stay", from.display()))
            .hint("name a calendar file, a folder of them, or an address that begins with http"));
    }
    Ok(files)
}
