//! `adjutant log show`.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::{Filter, Wanted, shown};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::recorder::{reader, redact};

/// Bytes that are gathered before they are printed.
const GATHER: usize = 64 << 10;

/// Arguments of `adjutant log show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A file, a name or a part of one, or a thread's id [default: the last used]
    #[arg(value_name = "RECORDING")]
    recording: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
    /// Print each message whole
    #[arg(long)]
    full: bool,
    /// Print each entry as JSON, as `export` writes it
    #[arg(long)]
    json: bool,
}

/// Prints a recording.
pub(super) fn run(args: &ShowArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let found = reader::find(folder, args.recording.as_deref())?;
    let header = reader::header(&found)?;
    if !args.json {
        let about = escape_line(&redact::text(&header.about));
        output::note(format!("{}: {about}, {}", header.session, header.started));
    }
    let mut filter = Filter::new(&args.wanted);
    let mut out = Vec::new();
    let mut written = Ok(true);
    reader::entries(&found, |mut entry| {
        if filter.pass(&mut entry).is_some() {
            if args.json {
                // Writing JSON into a vector fails for no value that is made here.
                let _ = serde_json::to_writer(&mut out, &entry);
            } else {
                out.extend_from_slice(shown(&entry, args.full).as_bytes());
            }
            out.push(b'\n');
            if out.len() > GATHER {
                written = output::raw(&out);
                out.clear();
            }
        }
        matches!(written, Ok(true))
    })?;
    if written? {
        output::raw(&out)?;
    }
    Ok(ExitCode::SUCCESS)
}
