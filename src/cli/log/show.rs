//! `adjutant log show`.

use std::path::Path;

use clap::Args;

use super::{Filter, FilterArgs, render};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::recorder::format::Entry;
use adjutant_host::recorder::{reader, redact};

/// Bytes that are collected before they are printed.
const BUFFER_SIZE: usize = 64 << 10;

/// Arguments of `adjutant log show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// A file, a name or a part of one, or a thread's id [default: the last used]
    #[arg(value_name = "RECORDING")]
    recording: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Print each message whole
    #[arg(long)]
    full: bool,
}

/// Prints a recording.
pub(super) fn run(args: &ShowArgs, folder: &Path) -> Result<(), Failure> {
    let found = reader::find(folder, args.recording.as_deref())?;
    let header = reader::header(&found)?;
    if !output::is_json() {
        let about = escape_line(&redact::text(&header.about));
        output::note(format!("{}: {about}, {}", header.session, header.started));
    }
    let mut out = Vec::new();
    let mut written = Ok(true);
    let print = |entry: &Entry<'_>, _: &[&'static str]| {
        if output::is_json() {
            // Writing an entry as JSON into a vector cannot fail.
            let _ = serde_json::to_writer(&mut out, entry);
        } else {
            out.extend_from_slice(render(entry, args.full).as_bytes());
        }
        out.push(b'\n');
        if out.len() > BUFFER_SIZE && matches!(written, Ok(true)) {
            written = output::raw(&std::mem::take(&mut out));
        }
        matches!(written, Ok(true))
    };
    Filter::new(&args.filter).read(&found, print)?;
    if written? {
        output::raw(&out)?;
    }
    Ok(())
}
