//! `adjutant log list`.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt::stamp;
use adjutant_host::recorder::{reader, redact};

/// Arguments of `adjutant log list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what is recorded. A file that is none of ours is left out.
pub(super) fn run(args: &ListArgs, folder: &Path) -> Result<ExitCode, Failure> {
    let all = reader::list(folder).map_err(|error| {
        Failure::new(format!("{}: {error}", folder.display())).hint("look at the permissions of this folder")
    })?;
    let known = all.iter().filter_map(|found| Some((found, reader::header(found).ok()?)));
    if args.json {
        let rows: Vec<_> = known
            .map(|(found, header)| {
                json!({
                    "session": found.name,
                    "connection": header.edge,
                    "about": redact::text(&header.about),
                    "started": header.started,
                    "modified": stamp(found.modified),
                    "bytes": found.bytes,
                    "files": found.files,
                })
            })
            .collect();
        output::json(&json!({ "recordings": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<[String; 4]> = known
        .map(|(found, header)| {
            let kib = found.bytes.div_ceil(1024);
            [
                escape_line(&found.name),
                escape_line(&redact::text(&header.about)),
                format!("{kib} KiB"),
                stamp(found.modified),
            ]
        })
        .collect();
    if rows.is_empty() {
        output::note(format!("nothing is recorded in {}", folder.display()));
    } else {
        output::table(["SESSION", "OF", "SIZE", "LAST"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}
