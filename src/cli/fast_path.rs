//! Parses the command lines of agents' configurations without the grammar.
//!
//! A client waits for its server's first answer, and building the grammar of all commands takes a tenth of that
//! wait. All other lines go to the grammar, which reports errors.

use std::ffi::OsString;

use super::connect::{ConnectArgs, TOOLSETS};
use super::hook::{CLIENTS, HookArgs};
use super::mcp::Toolset;
use super::supervise::SuperviseArgs;
use super::{Cli, Command, Common};

/// Parses `mcp prompts [--prompts-dir DIR]...`, `connect [TOOLSET] [--no-start]` and `hook CLIENT`, each with `--home DIR`
/// at its end where `adjutant install` writes one, and `supervise`, which starts before every runner.
pub(super) fn parse(arguments: &[OsString]) -> Option<Cli> {
    let (_program, words) = arguments.split_first()?;
    let (words, home) = match words {
        // A supervised command may have an option `--home` too.
        [command, ..] if command == "supervise" => (words, None),
        [before @ .., name, folder] if name == "--home" && is_value(folder) => (before, Some(folder.into())),
        _ => (words, None),
    };
    let command = match words {
        [command, toolset, options @ ..] if command == "mcp" && toolset == "prompts" => {
            let folders = options.chunks(2).map(|option| match option {
                [name, folder] if name == "--prompts-dir" && is_value(folder) => Some(folder.into()),
                _ => None,
            });
            Command::Mcp(Toolset::Prompts { prompts_dir: folders.collect::<Option<_>>()? })
        }
        [command, client] if command == "hook" && CLIENTS.iter().any(|name| client == name) => {
            Command::Hook(HookArgs { client: client.to_str()?.to_owned() })
        }
        [command, rest @ ..] if command == "connect" => {
            let (toolset, rest) = match rest {
                [toolset, rest @ ..] if TOOLSETS.iter().any(|name| toolset == name) => {
                    (toolset.to_str()?, rest)
                }
                rest => ("all", rest),
            };
            let no_start = match rest {
                [] => false,
                [option] if option == "--no-start" => true,
                _ => return None,
            };
            Command::Connect(ConnectArgs { toolset: toolset.to_owned(), no_start, ..ConnectArgs::default() })
        }
        [command, words @ ..] if command == "supervise" => {
            Command::Supervise(SuperviseArgs { words: words.to_vec() })
        }
        _ => return None,
    };
    Some(Cli { common: Common { home, ..Common::default() }, command: Some(command) })
}

fn is_value(word: &OsString) -> bool {
    let bytes = word.as_encoded_bytes();
    !bytes.is_empty() && !bytes.starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Cli, OsString, parse};

    #[test]
    fn the_fast_path_and_the_grammar_parse_the_same() {
        let parsed = [
            "mcp prompts",
            "mcp prompts --prompts-dir a",
            "mcp prompts --prompts-dir a --prompts-dir b/c",
            "connect",
            "connect all",
            "connect agents",
            "connect prompts",
            "connect --no-start",
            "connect prompts --no-start",
            "connect questions",
            "connect popup",
            "connect --home /a/b",
            "connect codex --no-start --home a",
            "hook claude",
            "hook codex --home /a/b",
            "mcp prompts --prompts-dir a --home b",
            "supervise",
            "supervise --enter 1 /spool sh --home a",
            "supervise --enter 1 /spool /bin/sh sh -c --help",
        ];
        let rejected = [
            "",
            "mcp",
            "mcp prompts --prompts-dir",
            "mcp prompts --prompts-dir=a",
            "mcp prompts --prompts-dir --help",
            "mcp prompts a b",
            "mcp --help",
            "connect nothing",
            "connect --home",
            "connect --home --no-start",
            "connect --home a --home b",
            "mcp prompts --prompts-dir --home b",
            "hook zed",
            "--home a",
            "connect --help",
            "connect prompts --no-start --no-start",
            "serve",
        ];
        for line in parsed.iter().chain(&rejected) {
            let words: Vec<OsString> =
                ["adjutant"].into_iter().chain(line.split_whitespace()).map(OsString::from).collect();
            let cli = parse(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(cli.is_some(), parsed.contains(line), "{line}");
            if let Some(cli) = cli {
                assert_eq!(cli, format!("{:?}", Cli::try_parse_from(&words).unwrap()));
            }
        }
    }
}
