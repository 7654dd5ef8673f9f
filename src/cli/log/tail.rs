//! `adjutant log tail`.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{Filter, FilterArgs, recordings, render};
use crate::cli::output::{self, Failure};
use adjutant_host::recorder::format::Entry;
use adjutant_host::recorder::reader;
use adjutant_host::recorder::reader::{Found, TailReader};

/// Interval between two reads of the files.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Arguments of `adjutant log tail`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TailArgs {
    /// A file, a name or a part of one, or a thread's id [default: all, also those that begin later]
    #[arg(value_name = "RECORDING")]
    recording: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Start with this many earlier messages
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    lines: usize,
    /// Print only earlier messages
    #[arg(long)]
    no_follow: bool,
    /// Print each message whole
    #[arg(long)]
    full: bool,
}

/// Progress in one followed recording.
struct Session<'a> {
    name: String,
    connection: String,
    /// Bytes at the last read.
    bytes: u64,
    files: HashMap<PathBuf, TailReader>,
    filter: Filter<'a>,
}

impl<'a> Session<'a> {
    fn new(found: &Found, args: &'a FilterArgs) -> Self {
        let connection =
            reader::header(found).map(|header| header.connection.name().to_owned()).unwrap_or_default();
        let (name, files, filter) = (found.name.clone(), HashMap::new(), Filter::new(args));
        Self { name, connection, bytes: 0, files, filter }
    }

    /// Skips all current entries.
    fn skip(&mut self, found: &Found) {
        self.bytes = found.bytes;
        self.files =
            found.files.iter().map(|path| (path.clone(), TailReader::from_end(path.clone()))).collect();
    }

    /// Passes new entries to `take` until it returns false. Returns whether to continue.
    fn read(
        &mut self,
        found: &Found,
        args: &TailArgs,
        mut take: impl FnMut(String) -> bool,
    ) -> Result<bool, Failure> {
        if std::mem::replace(&mut self.bytes, found.bytes) == found.bytes {
            return Ok(true);
        }
        let (name, connection) = (&self.name, &self.connection);
        let mut has_reader = true;
        let mut print =
            |entry: &Entry<'_>| has_reader = has_reader && take(text(entry, name, connection, args));
        for path in &found.files {
            let following = self.files.entry(path.clone()).or_insert_with(|| TailReader::of(path.clone()));
            following.read(|entry| {
                self.filter.pass(entry, |entry, _| print(entry));
                true
            })?;
        }
        // A later entry is not awaited.
        let Filter { redactor, selection } = &mut self.filter;
        redactor.finish(|entry, _| {
            if selection.contains(entry) {
                print(entry);
            }
        });
        Ok(has_reader)
    }
}

/// Prints entries as they are recorded.
pub(super) fn run(args: &TailArgs, folder: &Path) -> Result<(), Failure> {
    let mut sessions: HashMap<String, Session<'_>> = HashMap::new();
    // The newest entries of the chosen recording, or of the newest one.
    let mut last = VecDeque::new();
    let chosen = match (&args.recording, reader::find(folder, args.recording.as_deref())) {
        (_, Ok(found)) => Some(found),
        (None, Err(reader::Error::Nothing)) => None,
        (_, Err(error)) => return Err(error.into()),
    };
    for found in all(args, folder, chosen.as_ref())? {
        let is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.name == found.name);
        let mut session = Session::new(&found, &args.filter);
        if is_chosen && args.lines > 0 {
            session.read(&found, args, |line| {
                last.push_back(line);
                last.drain(..last.len().saturating_sub(args.lines));
                true
            })?;
        } else {
            session.skip(&found);
        }
        sessions.insert(found.name.clone(), session);
    }
    let mut has_reader = true;
    for line in last {
        has_reader &= output::raw(line.as_bytes())?;
    }
    if has_reader && !args.no_follow {
        output::note("waiting for new messages; Ctrl-C ends");
    }
    while has_reader && !args.no_follow {
        std::thread::sleep(POLL_INTERVAL);
        for found in all(args, folder, chosen.as_ref())? {
            let session =
                sessions.entry(found.name.clone()).or_insert_with(|| Session::new(&found, &args.filter));
            let mut written = Ok(true);
            session.read(&found, args, |line| {
                written = output::raw(line.as_bytes());
                matches!(written, Ok(true))
            })?;
            has_reader &= written?;
        }
    }
    Ok(())
}

/// Returns the recordings to follow. The chosen recording may have new files.
fn all(args: &TailArgs, folder: &Path, chosen: Option<&Found>) -> Result<Vec<Found>, Failure> {
    let all = recordings(folder)?;
    match (&args.recording, chosen) {
        (Some(_), Some(chosen)) => {
            let now = all.into_iter().find(|found| found.name == chosen.name);
            Ok(vec![now.unwrap_or_else(|| chosen.clone())])
        }
        _ => Ok(all),
    }
}

fn text(entry: &Entry<'_>, session: &str, connection: &str, args: &TailArgs) -> String {
    if !output::is_json() {
        let session = if args.recording.is_some() { String::new() } else { format!("{session}  ") };
        return format!("{session}{}\n", render(entry, args.full));
    }
    let value = output::with(json!({"connection": connection, "session": session}), json!(entry));
    format!("{value}\n")
}
