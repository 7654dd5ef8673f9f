//! `adjutant agents …`: work with agent definitions.

mod import;
mod lint;
mod list;
mod new;
mod show;
mod trust;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::Failure;
use super::source_files::new::NewArgs;
use super::source_files::{self, ListArgs, ShowArgs};
use adjutant_agents::catalogue::{Catalogue, Missing};
use adjutant_agents::definition::Agent;
use adjutant_agents::registry::Registry;
use adjutant_base::config::Config;

/// Commands of `adjutant agents`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the agents
    #[command(mut_arg("query", |arg| arg.help("Only agents with these words in their name or description")))]
    List(ListArgs<Folders>),
    /// Show one agent: its description, settings and source
    Show(ShowArgs<Folders>),
    /// Check agent files: which keys are supported, and which runners can run them
    Lint(lint::LintArgs),
    /// Create an agent file to start from
    New(NewArgs<Folders>),
    /// Import agents of Claude, Copilot, Codex, Gemini and others
    Import(import::ImportArgs),
    /// Trust an agent of a project in its current version
    Trust(trust::TrustArgs),
}

/// Where the commands look for agents.
#[derive(Debug, Args)]
pub(super) struct Folders {
    /// Use this folder alone; may be repeated, earlier folders win
    #[arg(long, value_name = "DIR")]
    agents_dir: Vec<PathBuf>,
}

impl Folders {
    /// Reads the configuration with these folders, else with the project's, the user's and the bundled agents.
    fn config(&self, common: Common) -> Result<Config, Failure> {
        common.config(source_files::roots(&self.agents_dir)?)
    }

    /// Reads the agents of these folders.
    fn load(&self, common: Common) -> Result<(Registry, Arc<Catalogue>), Failure> {
        let registry = Registry::new(&self.config(common)?.agents);
        let catalogue = registry.files.load();
        Ok((registry, catalogue))
    }
}

/// Runs one of the commands.
pub(super) fn run(command: Command, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::ERROR)?;
    match command {
        Command::List(args) => list::run(&args, common)?,
        Command::Show(args) => show::run(&args, common)?,
        Command::Lint(args) => return lint::run(&args, common),
        Command::New(args) => new::run(&args, common)?,
        Command::Import(args) => return import::run(args, common),
        Command::Trust(args) => trust::run(&args, common)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the agent of a name.
fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Arc<Agent>, Failure> {
    catalogue.find(name).map_err(|missing| {
        let failure = Failure::new(&missing);
        match missing {
            Missing::Unknown { near, .. } => {
                failure.suggest(&near).hint("`adjutant agents list` shows all of them")
            }
            Missing::Broken { .. } => failure.hint("`adjutant agents lint` shows the line"),
        }
    })
}
