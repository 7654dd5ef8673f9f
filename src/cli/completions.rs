//! `adjutant completions SHELL`: the script that completes commands and options in a shell.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::examples;
use super::output::{self, Failure};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Arguments of `adjutant completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell that the script is for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script.
pub(super) fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let whole = examples::grammar();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    // What is hidden in the help is nobody's to complete.
    let mut grammar =
        Command::new("adjutant").args(whole.get_arguments().cloned()).subcommands(shown).version(VERSION);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut grammar, "adjutant", &mut script);
    output::data(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
