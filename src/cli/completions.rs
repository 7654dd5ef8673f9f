//! `adjutant completions SHELL`: the script that completes commands and options in a shell.

use std::fmt::Write as _;

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
pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let whole = examples::grammar();
    let visible = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    // Commands that the help hides are not completed.
    let mut grammar =
        Command::new("adjutant").args(whole.get_arguments().cloned()).subcommands(visible).version(VERSION);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut grammar, "adjutant", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Fish {
        fish_values(&grammar, "", &mut script);
    }
    output::data(script.trim_end())
}

/// Adds the values of positional arguments, such as a toolset, because the generator knows only the values of options.
/// `using` is fish's condition for the command, empty for the program itself.
fn fish_values(command: &Command, using: &str, script: &mut String) {
    let values = command.get_positionals().flat_map(clap::Arg::get_possible_values);
    let words: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
    if !words.is_empty() {
        let _ = writeln!(script, "complete -c adjutant -n \"{using}\" -f -a \"{}\"", words.join(" "));
    }
    for below in command.get_subcommands() {
        let name = below.get_name();
        let using = match using {
            "" => format!("__fish_adjutant_using_subcommand {name}"),
            _ => format!("{using}; and __fish_seen_subcommand_from {name}"),
        };
        fish_values(below, &using, script);
    }
}
