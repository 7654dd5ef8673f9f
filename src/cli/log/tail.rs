//! `adjutant log tail`.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{Filter, Wanted, shown};
use crate::cli::output::{self, Failure};
use adjutant_host::recorder::format::Entry;
use adjutant_host::recorder::reader;
use adjutant_host::recorder::reader::{Found, TailReader};

/// How often the files are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Arguments of `adjutant log tail`.
#[derive(Debug, Args)]
pub(super) struct TailArgs {
    /// A file, a name or a part of one, or a thread's id [default: all, also those that begin later]
    #[arg(value_name = "RECORDING")]
    recording: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
    /// Start with this many earlier messages
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    lines: usize,
    /// Print only earlier messages
    #[arg(long)]
    no_follow: bool,
    /// Print each message whole
    #[arg(long)]
    full: bool,
    /// Print each entry as JSON, with its connection and session
    #[arg(long)]
    json: bool,
}

/// What is followed of one recording.
struct Session<'a> {
    name: String,
    edge: String,
    /// Bytes that it had when it was read last.
    bytes: u64,
    files: HashMap<PathBuf, TailReader>,
    filter: Filter<'a>,
}

impl<'a> Session<'a> {
    fn new(found: &Found, wanted: &'a Wanted) -> Self {
        let edge = reader::header(found).map(|header| header.edge.to_string()).unwrap_or_default();
        let (name, files, filter) = (found.name.clone(), HashMap::new(), Filter::new(wanted));
        Self { name, edge, bytes: 0, files, filter }
    }

    /// Leaves out what it has now.
    fn skip(&mut self, found: &Found) {
        self.bytes = found.bytes;
        self.files =
            found.files.iter().map(|path| (path.clone(), TailReader::from_end(path.clone()))).collect();
    }

    /// Gives what came since the last call to `take`, until that says stop.
    fn read(
        &mut self,
        found: &Found,
        args: &TailArgs,
        mut take: impl FnMut(String) -> bool,
    ) -> Result<bool, Failure> {
        if std::mem::replace(&mut self.bytes, found.bytes) == found.bytes {
            return Ok(true);
        }
        for path in &found.files {
            let following = self.files.entry(path.clone()).or_insert_with(|| TailReader::of(path.clone()));
            let (filter, name, edge) = (&mut self.filter, &self.name, &self.edge);
            let go_on = following.read(|mut entry| match filter.pass(&mut entry) {
                Some(_) => take(text(&entry, name, edge, args)),
                None => true,
            })?;
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Prints what passes.
pub(super) fn run(args: &TailArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let mut sessions: HashMap<String, Session<'_>> = HashMap::new();
    // What has passed: the last of the recording that is asked for, or of the last one.
    let mut last = VecDeque::new();
    let chosen = match (&args.recording, reader::find(folder, args.recording.as_deref())) {
        (_, Ok(found)) => Some(found),
        (None, Err(reader::Error::Nothing)) => None,
        (_, Err(error)) => return Err(error.into()),
    };
    for found in all(args, folder, chosen.as_ref())? {
        let is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.name == found.name);
        let mut session = Session::new(&found, &args.wanted);
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
    let mut read_on = true;
    for line in last {
        read_on &= output::raw(line.as_bytes())?;
    }
    if read_on && !args.no_follow {
        output::note("waiting for what passes; Ctrl-C ends");
    }
    while read_on && !args.no_follow {
        std::thread::sleep(POLL_INTERVAL);
        for found in all(args, folder, chosen.as_ref())? {
            let session =
                sessions.entry(found.name.clone()).or_insert_with(|| Session::new(&found, &args.wanted));
            let mut written = Ok(true);
            session.read(&found, args, |line| {
                written = output::raw(line.as_bytes());
                matches!(written, Ok(true))
            })?;
            read_on &= written?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns what is to be followed now; a recording that was asked for may have got another file.
fn all(args: &TailArgs, folder: &Path, chosen: Option<&Found>) -> Result<Vec<Found>, Failure> {
    let all = reader::list(folder).map_err(|error| {
        Failure::new(format!("{}: {error}", folder.display())).hint("look at the permissions of this folder")
    })?;
    match (&args.recording, chosen) {
        (Some(_), Some(chosen)) => {
            let now = all.into_iter().find(|found| found.name == chosen.name);
            Ok(vec![now.unwrap_or_else(|| chosen.clone())])
        }
        _ => Ok(all),
    }
}

fn text(entry: &Entry<'_>, session: &str, edge: &str, args: &TailArgs) -> String {
    if !args.json {
        let session = if args.recording.is_some() { String::new() } else { format!("{session}  ") };
        return format!("{session}{}\n", shown(entry, args.full));
    }
    let mut value = json!({"connection": edge, "session": session});
    if let (Some(all), Ok(serde_json::Value::Object(entry))) =
        (value.as_object_mut(), serde_json::to_value(entry))
    {
        all.extend(entry);
    }
    format!("{value}\n")
}
