//! `adjutant prompts remove`.

use clap::Args;
use serde_json::json;

use super::file;
use super::path::PathArgs;
use crate::cli::Common;
use crate::cli::output::{self, Failure};
use crate::cli::source_files::label;
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant prompts remove`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RemoveArgs {
    #[command(flatten)]
    prompt: PathArgs,
    /// Remove it without a question
    #[arg(long)]
    yes: bool,
}

/// Removes the file and the folders that it leaves empty, and says what has the name afterwards.
pub(super) fn run(args: &RemoveArgs, common: Common) -> Result<(), Failure> {
    let RemoveArgs { prompt: PathArgs { name, folders }, yes } = args;
    let catalogue = folders.load(common.clone())?;
    let (name, file) = file(&catalogue, name)?;
    if !yes && output::can_confirm() {
        let question = format!("Remove {}? It cannot be undone. [y/N] ", file.display());
        if !output::confirmed(&escape_line(&question), false)? {
            return Err(Failure::new("nothing was removed").hint("`--yes` removes it without a question"));
        }
    }
    std::fs::remove_file(file).map_err(|error| {
        Failure::new(format!("{} cannot be removed: {error}", file.display()))
            .hint("check the permissions of its folder")
    })?;
    // The folder of prompts itself stays.
    let mut emptied = file.ancestors().skip(1).take(name.matches('/').count());
    let _ = emptied.try_for_each(std::fs::remove_dir);
    if output::is_json() {
        return output::json(&json!({"id": name, "name": name, "file": file}));
    }
    output::data(&file.display().to_string())?;
    let served = folders.load(common)?;
    output::note(match served.find(name) {
        Some(next) => format!("note: `{name}` is now the prompt of another file ({})", label(&next.source)),
        None => format!("note: no prompt has the name `{name}` now"),
    });
    Ok(())
}
