//! `adjutant prompts new`.

use super::Folders;
use crate::cli::Common;
use crate::cli::output::Failure;
use crate::cli::source_files::new::{NewArgs, Template};
use adjutant_prompts::Prompts;

const TEMPLATE: Template = Template {
    noun: "prompt",
    extension: "md",
    example: "team/standup",
    text: include_str!("new.md"),
    next: "try it with `adjutant prompts expand NAME \"some text\"`",
};

/// Creates a prompt file and prints its path.
pub(super) fn run(args: &NewArgs<Folders>, common: Common) -> Result<(), Failure> {
    let name = args.name.strip_prefix(':').unwrap_or(&args.name);
    let config = args.folders.config(common)?;
    let existing = Prompts::new(&config.prompts).files.load();
    let existing = existing.prompts.get(name).map(|prompt| &prompt.source);
    TEMPLATE.create(name, args, (args.folders.prompts_dir.first(), &config.home), existing)
}
