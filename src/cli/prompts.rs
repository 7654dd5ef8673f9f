//! `adjutant prompts …`: work with prompt commands.

mod edit;
mod expand;
mod export;
mod import;
mod lint;
mod list;
mod new;
mod path;
mod remove;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::Failure;
use super::source_files::new::NewArgs;
use super::source_files::{self, ListArgs, ShowArgs};
use adjutant_base::config::Config;
use adjutant_prompts::{Catalogue, Error, Prompt, Prompts};

/// Commands of `adjutant prompts`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the prompts
    #[command(mut_arg("query", |arg| arg.help("Only prompts with these words in their name, an alias, the title or the description")))]
    List(ListArgs<Folders>),
    /// Show one prompt: its description, arguments and source
    #[command(mut_arg("name", |arg| arg.help("The name or an alias")))]
    Show(ShowArgs<Folders>),
    /// Print an expanded prompt
    Expand(expand::ExpandArgs),
    /// Check prompt files, also those of other programs
    Lint(lint::LintArgs),
    /// Create a prompt file to start from
    New(NewArgs<Folders>),
    /// Open a prompt's file in your editor
    Edit(edit::EditArgs),
    /// Print the path of a prompt's file
    Path(path::PathArgs),
    /// Remove a prompt's file
    Remove(remove::RemoveArgs),
    /// Import the prompts of another program, such as Claude Code
    Import(import::ImportArgs),
    /// Write prompts for another program, such as Claude Code
    Export(export::ExportArgs),
}

/// Where the commands look for prompts.
#[derive(Debug, Args)]
pub(super) struct Folders {
    /// Use this folder alone; may be repeated, earlier folders win
    #[arg(long, value_name = "DIR")]
    prompts_dir: Vec<PathBuf>,
}

impl Folders {
    /// Reads the configuration with these folders, else with the project's, the user's and the bundled prompts.
    fn config(&self, common: Common) -> Result<Config, Failure> {
        common.config(source_files::roots(&self.prompts_dir)?)
    }

    /// Reads the prompts of these folders.
    fn load(&self, common: Common) -> Result<Arc<Catalogue>, Failure> {
        Ok(Prompts::new(&self.config(common)?.prompts).files.load())
    }
}

/// Runs one of the commands.
pub(super) fn run(command: Command, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::ERROR)?;
    match command {
        Command::List(args) => list::run(&args, common)?,
        Command::Show(args) => show::run(&args, common)?,
        Command::Expand(args) => expand::run(args, common)?,
        Command::Lint(args) => return lint::run(&args, common),
        Command::New(args) => new::run(&args, common)?,
        Command::Edit(args) => edit::run(&args, common)?,
        Command::Path(args) => path::run(&args, common)?,
        Command::Remove(args) => remove::run(&args, common)?,
        Command::Import(args) => return import::run(args, common),
        Command::Export(args) => return export::run(&args, common),
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the failure to find or expand the prompt `name`, with a hint.
fn failure(error: &Error, name: &str) -> Failure {
    let hint = match error {
        Error::Unknown { name, near } => {
            let failure = Failure::new(format!("unknown prompt `{}`", name.escape_debug()));
            return failure.suggest(near).hint("`adjutant prompts list` shows all of them");
        }
        Error::Argument { .. } => &format!("`adjutant prompts show {name}` shows its arguments"),
        Error::Template { .. } | Error::Broken { .. } => "`adjutant prompts lint` shows the line",
        Error::TooLarge { .. } => "`max_expansion_bytes` below [prompts] in config.toml sets the limit",
    };
    Failure::new(error).hint(hint)
}

/// Returns the name and the file of a prompt, which may have a fault.
fn file<'a>(catalogue: &'a Catalogue, name: &'a str) -> Result<(&'a str, &'a Path), Failure> {
    let name = name.strip_prefix(':').unwrap_or(name);
    let (name, source) = match (catalogue.find(name), catalogue.broken(name)) {
        (Some(prompt), _) => (prompt.name.as_str(), &prompt.source),
        (None, Some(problem)) => (name, &problem.source),
        (None, None) => return Err(failure(&catalogue.missing(name), name)),
    };
    let file = source.file.as_deref().ok_or_else(|| {
        Failure::new(format!("`{name}` comes with Adjutant and has no file"))
            .hint(format!("`adjutant prompts new {name}` creates a file that overrides it"))
    })?;
    Ok((name, file))
}

/// Returns the prompt of a name or alias.
fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Arc<Prompt>, Failure> {
    let name = name.strip_prefix(':').unwrap_or(name);
    catalogue.find(name).ok_or_else(|| failure(&catalogue.missing(name), name))
}
