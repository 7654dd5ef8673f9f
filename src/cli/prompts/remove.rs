//! `adjutant prompts remove`.

use serde_json::json;

use super::file;
use super::path::PathArgs;
use crate::cli::Common;
use crate::cli::output::{self, Failure};
use crate::cli::source_files::label;

/// Removes the file, and prints its path.
pub(super) fn run(args: &PathArgs, common: Common) -> Result<(), Failure> {
    let catalogue = args.folders.load(common)?;
    let (name, file) = file(&catalogue, &args.name)?;
    std::fs::remove_file(file).map_err(|error| {
        Failure::new(format!("{} cannot be removed: {error}", file.display()))
            .hint("check the permissions of its folder")
    })?;
    if output::is_json() {
        return output::json(&json!({"id": name, "name": name, "file": file}));
    }
    output::data(&file.display().to_string())?;
    if let Some(next) = catalogue.overridden.iter().find(|other| other.name == name) {
        output::note(format!("note: `{name}` is now the prompt that it overrode ({})", label(&next.source)));
    }
    Ok(())
}
