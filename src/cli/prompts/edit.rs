//! `adjutant prompts edit`.

use std::io;
use std::process::Stdio;

use clap::Args;
use serde_json::json;

use super::{Folders, file};
use crate::cli::Common;
use crate::cli::output::{self, Failure};
use adjutant_host::file_catalogue::leaves;
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
    // The name of a prompt is its path in its root.
    let root = file.ancestors().nth(name.split('/').count());
    if file.is_symlink() && root.is_none_or(|root| leaves(root, file)) {
        return Err(Failure::new(format!("{} is a link that leaves its root", file.display()))
            .hint("replace it by a file, or edit the file that it leads to"));
    }
    // The result alone is on stdout.
    let stdout = if output::is_json() { io::stderr().into() } else { Stdio::inherit() };
    process::open_editor(file, stdout).map_err(|error| {
        Failure::new(format!("the editor failed: {error}"))
            .hint(format!("set $EDITOR to your editor, or open {} by hand", file.display()))
    })?;
    output::changed(format!("edited {}", file.display()), &json!({"id": name, "name": name, "file": file}))
}
