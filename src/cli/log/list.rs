//! `adjutant log list`.

use std::path::Path;

use serde_json::json;

use super::recordings;
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt::stamp;
use adjutant_host::recorder::{reader, redact};

/// Prints the recordings. Files that are not recordings are skipped.
pub(super) fn run(folder: &Path) -> Result<(), Failure> {
    let all = recordings(folder)?;
    let known = all.iter().filter_map(|found| Some((found, reader::header(found).ok()?)));
    if output::is_json() {
        let rows: Vec<_> = known
            .map(|(found, header)| {
                json!({
                    "session": found.name,
                    "connection": header.connection,
                    "about": redact::text(&header.about),
                    "started": header.started,
                    "modified": stamp(found.modified),
                    "bytes": found.bytes,
                    "files": found.files,
                })
            })
            .collect();
        return output::json(&output::list(rows, "session"));
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
    let empty = format!("there are no recordings in {}", folder.display());
    output::table(["SESSION", "ABOUT", "SIZE", "LAST"], 1, &rows, &empty)
}
