//! `adjutant man DIR`: the manual pages, one for each command.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use serde_json::json;

use super::examples;
use super::output::{self, Failure};

/// Arguments of `adjutant man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Folder of the pages; it is created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages.
pub(super) fn run(args: &ManArgs) -> Result<(), Failure> {
    let mut grammar = examples::grammar().disable_help_subcommand(true);
    grammar.build();
    let failure = |error| {
        Failure::new(format!("cannot write the pages to {}: {error}", args.folder.display()))
            .hint("name a folder that you may write to, such as ~/.local/share/man/man1")
    };
    std::fs::create_dir_all(&args.folder).map_err(failure)?;
    let pages = write(&grammar, &args.folder).map_err(failure)?;
    let written = json!({"folder": args.folder, "pages": pages});
    output::changed(format!("{pages} pages in {}", args.folder.display()), &written)
}

/// Writes the pages of `command` and its subcommands, and returns their number.
fn write(command: &Command, folder: &Path) -> std::io::Result<usize> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let pages = below.map(|below| write(below, folder)).sum::<std::io::Result<usize>>()?;
    let version = concat!("adjutant ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(version).manual("Adjutant").generate_to(folder)?;
    Ok(pages + 1)
}
