//! `adjutant prompts path`.

use clap::Args;
use serde_json::json;

use super::{Folders, file};
use crate::cli::Common;
use crate::cli::output::{self, Failure};

/// Arguments of `adjutant prompts path`, and the first of `adjutant prompts remove`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PathArgs {
    /// The name or an alias
    pub(super) name: String,
    #[command(flatten)]
    pub(super) folders: Folders,
}

/// Prints the path of the file.
pub(super) fn run(args: &PathArgs, common: Common) -> Result<(), Failure> {
    let catalogue = args.folders.load(common)?;
    let (name, file) = file(&catalogue, &args.name)?;
    if output::is_json() {
        return output::json(&json!({"id": name, "name": name, "file": file}));
    }
    output::data(&file.display().to_string())
}
