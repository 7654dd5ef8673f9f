//! Examples in the help of every command, which a test checks against the grammar.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The examples of each command, as the help shows them, below the command's path in brackets. A test fails for a
/// command that has none here, and for a line that the grammar does not accept.
const EXAMPLES: &str = include_str!("examples.txt");

/// Returns the path and the examples of each command that has some.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES.trim_end().split("\n\n").filter_map(|section| section.strip_prefix('[')?.split_once("]\n"))
}

/// Returns the whole grammar, every command with its examples.
pub(super) fn grammar() -> Command {
    attach(Cli::command(), "")
}

/// Adds the examples to the command at `path`, and to all below it.
fn attach(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |below| attach(below, path.trim_start()))
    });
    let Some((_, examples)) = sections().find(|(known, _)| *known == path) else { return command };
    let examples = format!("Examples:\n  {}", examples.replace('\n', "\n  "));
    let below = |text: Option<&clap::builder::StyledStr>| match text {
        Some(text) => format!("{text}\n\n{examples}"),
        None => examples.clone(),
    };
    let short = below(command.get_after_help());
    let long = command.get_after_long_help().map(|text| below(Some(text)));
    let command = command.after_help(short);
    match long {
        Some(long) => command.after_long_help(long),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, grammar, sections};
    use adjutant_agents::shell_words;

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
                let line = line.split("  # ").next().unwrap().split(" > ").next().unwrap();
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
