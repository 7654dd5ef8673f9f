//! Plan of an import: finds foreign prompt files below a path, reads each into a draft, and plans its file.

mod discover;
mod error;
mod folder_scan;

use std::path::Path;

use super::Limits;
use super::formats::{self, Foreign, Format};
use adjutant_host::file_catalogue::import_plan::{GivenNames, Outcome, PlannedImport};
use adjutant_host::file_catalogue::{leaves, read_text};
pub use discover::find;
pub(crate) use discover::format_of;
pub use error::Error;
pub use folder_scan::{ForeignFile, Found};

/// Reads every file that was found and plans where it goes below `into`. Writes nothing.
pub fn plan(found: Vec<ForeignFile>, into: &Path, limits: Limits) -> Vec<PlannedImport> {
    let mut names = GivenNames::default();
    let planned = found.into_iter().map(|ForeignFile { file, format, name, fault }| {
        let read = fault.map_or_else(|| draft(&file, format, name, limits), |fault| Err(fault.to_owned()));
        let (outcome, notes) = match read {
            Err(reason) => (Outcome::Rejected(reason), Vec::new()),
            Ok(draft) => {
                let text = draft.text();
                let to = into.join(format!("{}.md", draft.name));
                (names.plan(draft.name, &file, to, text), draft.notes)
            }
        };
        PlannedImport { from: file, format: Some(format.name()), outcome, notes }
    });
    planned.collect()
}

fn draft(file: &Path, format: Format, name: String, limits: Limits) -> Result<formats::Draft, String> {
    let text = read_text(file, limits.file)?;
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    let user = folder.join("user.md");
    let has_user = format == Format::Fabric && user.symlink_metadata().is_ok();
    let is_read = has_user && user.is_file() && !leaves(folder, &user);
    let second = if is_read { Some(read_text(&user, limits.file)?) } else { None };
    let mut draft = formats::read(format, &Foreign { name, text, second })?;
    if has_user && !is_read {
        draft.notes.push("`user.md` is left out: it is not a file of this folder".to_owned());
    }
    if format == Format::ClaudeSkill {
        let others = discover::others(folder);
        if others > 0 {
            draft.notes.push(format!(
                "not imported from its folder: {others} other {}",
                if others == 1 { "entry" } else { "entries" }
            ));
        }
    }
    Ok(draft)
}
