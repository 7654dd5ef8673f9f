//! `adjutant prompts edit`.

use std::io;
use std::process::Stdio;

use clap::Args;
use serde_json::json;

use super::{Folders, file};
use crate::cli::Common;
use crate::cli::output::{self, Failure};
use adjutant_host::process;

/// Arguments of `adjutant prompts edit`.
#[derive(Debug, Args)]
pub(in crate::cli) struct EditArgs {
    /// The name or an alias
    name: String,
    #[command(flatten)]
    folders: Folders,
}

/// Opens the file in the editor of `$VISUAL` or `$EDITOR`.
pub(super) fn run(args: &EditArgs, common: Common) -> Result<(), Failure> {
    let catalogue = args.folders.load(common)?;
    let (name, file) = file(&catalogue, &args.name)?;
    // The result alone is on stdout.
    let stdout = if output::is_json() { io::stderr().into() } else { Stdio::inherit() };
    process::open_editor(file, stdout).map_err(|error| {
        Failure::new(format!("the editor failed: {error}"))
            .hint(format!("set $EDITOR to your editor, or open {} by hand", file.display()))
    })?;
    output::changed(format!("edited {}", file.display()), &json!({"id": name, "name": name, "file": file}))
}
