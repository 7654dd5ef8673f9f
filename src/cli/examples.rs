//! Examples in the help of every command, which a test checks against the grammar, and the options that all commands take.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Cli;

/// The examples of each command, as the help shows them, below the command's path in brackets. A comment is a line of its
/// own, so that a copied block runs. A test fails for a command that has none here, and for a line that the grammar does
/// not accept or a terminal of 80 columns would break.
const EXAMPLES: &str = include_str!("examples.txt");

/// The help of `--help` below the program itself. The nine lines of the options that all commands take would push a group's
/// commands off the screen.
const HELP: &str = "Print help; --json and more: `adjutant --help`";

/// Returns the path and the examples of each command that has some.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES.trim_end().split("\n\n").filter_map(|section| section.strip_prefix('[')?.split_once("]\n"))
}

/// Returns the whole grammar: every command with its examples, and the options of all commands in the help of the program
/// alone.
pub(super) fn grammar() -> Command {
    let command = Cli::command();
    let common = command.get_arguments().filter(|argument| argument.is_global_set());
    let common: Vec<Arg> = common.map(|argument| argument.clone().hide(true)).collect();
    attach(command, "", &common)
}

/// Adds the examples and the hidden `common` options to the command at `path`, and to all below it.
fn attach(command: Command, path: &str, common: &[Arg]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |below| attach(below, path.trim_start(), common))
    });
    let command = if path.is_empty() { command } else { command.args(common) };
    // A command with a longer help says so in this row.
    let command = if path.is_empty() || command.get_after_long_help().is_some() {
        command
    } else {
        command.disable_help_flag(true).arg(help_flag())
    };
    let Some((_, examples)) = sections().find(|(known, _)| *known == path) else { return command };
    let examples = format!("Examples:\n  {}", examples.replace('\n', "\n  "));
    let below = |text: Option<&StyledStr>| match text {
        Some(text) => format!("{text}\n\n{examples}"),
        None => examples.clone(),
    };
    let short = below(command.get_after_help());
    let long = command.get_after_long_help().map(|own| below(Some(own)));
    let command = command.after_help(short);
    match long {
        Some(long) => command.after_long_help(long),
        None => command,
    }
}

/// Returns the option that prints a command's help, as the last one.
fn help_flag() -> Arg {
    let flag = Arg::new("help").short('h').long("help").action(ArgAction::Help).help(HELP);
    flag.help_heading(None::<&'static str>).display_order(999)
}

#[cfg(test)]
mod tests {
    use super::{Command, grammar, sections};
    use adjutant_agents::shell_words;

    /// Columns of an example: a terminal of 80 columns without the two of the indentation.
    const MAX_COLUMNS: usize = 78;

    /// Calls `check` with every visible command, and its path.
    fn walk(command: &Command, path: &str, check: &mut impl FnMut(&str, &Command)) {
        check(path, command);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(below, format!("{path} {}", below.get_name()).trim_start(), check);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_argument_its_words() {
        let mut faults = Vec::new();
        walk(&grammar(), "", &mut |path, command| {
            if !sections().any(|(known, _)| known == path) {
                faults.push(format!("`{path}` has no example in cli/examples.txt"));
            }
            if command.get_about().is_none() {
                faults.push(format!("`{path}` does not say what it does"));
            }
            for argument in command.get_arguments().filter(|argument| argument.get_help().is_none()) {
                faults.push(format!("`{path}`: {} has no help", argument.get_id()));
            }
        });
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn every_example_runs_the_command_that_it_is_listed_for() {
        let mut known = Vec::new();
        walk(&grammar(), "", &mut |path, _| known.push(path.to_owned()));
        for (path, examples) in sections() {
            assert!(known.iter().any(|known| known == path), "there is no command `{path}`");
            for line in examples.lines() {
                assert!(line.len() <= MAX_COLUMNS, "a terminal of 80 columns breaks {line}");
                let Some(comment) = line.strip_prefix("# ") else { continue };
                assert!(comment.starts_with(|c: char| c.is_ascii_uppercase()), "{path}: {comment}");
                assert!(!comment.ends_with('.'), "{path}: {comment}");
            }
            assert!(
                examples.lines().last().is_some_and(|line| !line.starts_with('#')),
                "{path}: a comment alone"
            );
            for line in examples.lines().filter(|line| !line.starts_with('#')) {
                let (line, _) = line.split_once(" > ").or(line.split_once(" < ")).unwrap_or((line, ""));
                let words = shell_words::split(line).unwrap();
                if let Err(error) = grammar().try_get_matches_from(&words) {
                    panic!("{line}\n{error}");
                }
                let own = format!("adjutant {path}");
                assert!(path.is_empty() || line.starts_with(own.trim_end()), "{line}");
            }
        }
    }
}
