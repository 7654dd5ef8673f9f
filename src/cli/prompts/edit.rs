//! `adjutant prompts edit`.

use clap::Args;

use super::{Folders, file};
use crate::cli::Common;
use crate::cli::output::Failure;
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
    let (_, file) = file(&catalogue, &args.name)?;
    process::open_editor(file).map_err(|error| {
        Failure::new(format!("the editor failed: {error}"))
            .hint(format!("set $EDITOR to your editor, or open {} by hand", file.display()))
    })
}
