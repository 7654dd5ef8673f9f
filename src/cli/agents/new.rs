//! `adjutant agents new`.

use super::Folders;
use crate::cli::Common;
use crate::cli::output::Failure;
use crate::cli::source_files::new::{NewArgs, Template};
use adjutant_agents::registry::Registry;

const TEMPLATE: Template = Template {
    noun: "agent",
    extension: "yaml",
    example: "reviewer",
    text: include_str!("new.yaml"),
    next: "check it with `adjutant agents show NAME`",
};

/// Creates an agent file and prints its path.
pub(super) fn run(args: &NewArgs<Folders>, common: Common) -> Result<(), Failure> {
    let config = args.folders.config(common)?;
    let existing = Registry::new(&config.agents).files.load();
    let existing = existing.agents.get(&args.name).map(|agent| &agent.source);
    TEMPLATE.create(&args.name, args, (args.folders.agents_dir.first(), &config.home), existing)
}
