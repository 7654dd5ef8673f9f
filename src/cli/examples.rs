//! Examples in the help of every command: one table, checked against the grammar by a test.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// A command line, and what it does where the line does not say it.
type Example = (&'static str, &'static str);

/// The examples of each command, in the order of the help. A test fails for a command that has none here, and for a
/// line that the grammar does not read.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("adjutant", "the state of the hub, and what to do next"),
            ("adjutant serve --demo --open", "a first look, with example data"),
            ("adjutant doctor", "what is wrong, and what to do about it"),
        ],
    ),
    (
        "serve",
        &[
            ("adjutant serve --background --open", "start the hub and open the console"),
            ("adjutant serve --http off", "only for agents on this machine, without a console"),
            ("adjutant serve --http 127.0.0.1:8080 --database postgres://me@db/hub", ""),
        ],
    ),
    (
        "connect",
        &[
            ("adjutant connect", "what an agent's MCP configuration runs"),
            ("adjutant connect prompts --no-start", "one toolset, of a hub that runs already"),
        ],
    ),
    ("mcp", &[("adjutant mcp prompts", "the toolset `prompts`, in this process")]),
    ("mcp prompts", &[("adjutant mcp prompts --prompts-dir ./prompts", "")]),
    ("mcp assistant", &[("adjutant mcp assistant --database sqlite:/srv/team.db", "")]),
    ("mcp questions", &[("adjutant mcp questions --http 127.0.0.1:7438", "with a console for the answers")]),
    ("mcp codex", &[("adjutant mcp codex --codex /opt/codex/bin/codex", "")]),
    ("mcp agents", &[("adjutant mcp agents --agents-dir /srv/agents --runner copilot", "")]),
    (
        "prompts",
        &[("adjutant prompts list", ""), ("adjutant prompts expand research \"how bees sleep\"", "")],
    ),
    (
        "prompts list",
        &[
            ("adjutant prompts list review", "prompts with `review` in their name or text"),
            ("adjutant prompts list --all --json", "with overridden prompts, as JSON"),
        ],
    ),
    (
        "prompts show",
        &[("adjutant prompts show research", ""), ("adjutant prompts show :research --source", "")],
    ),
    (
        "prompts expand",
        &[
            ("adjutant prompts expand research \"how bees sleep\"", ""),
            ("adjutant prompts expand review --arg focus=tests -", "the input comes on stdin"),
        ],
    ),
    (
        "prompts lint",
        &[
            ("adjutant prompts lint", "all prompts"),
            ("adjutant prompts lint .claude/commands --format sarif", "for a code scanner"),
        ],
    ),
    (
        "prompts new",
        &[("adjutant prompts new team/standup --description \"What I did, and what is next\"", "")],
    ),
    (
        "prompts import",
        &[
            ("adjutant prompts import ~/.claude --dry-run", "what would be imported"),
            ("adjutant prompts import ./patterns --from fabric", ""),
        ],
    ),
    ("prompts export", &[("adjutant prompts export ~ --to codex research", "")]),
    ("agents", &[("adjutant agents list", ""), ("adjutant agents new reviewer", "")]),
    ("agents list", &[("adjutant agents list --json", "as JSON")]),
    ("agents show", &[("adjutant agents show reviewer", "")]),
    ("agents lint", &[("adjutant agents lint", ""), ("adjutant agents lint .claude/agents", "")]),
    ("agents new", &[("adjutant agents new reviewer", "")]),
    ("agents import", &[("adjutant agents import ~/.claude --dry-run", "")]),
    ("agents trust", &[("adjutant agents trust reviewer", "")]),
    (
        "delegate",
        &[
            ("adjutant delegate reviewer \"What is wrong with the newest commit?\"", ""),
            ("adjutant delegate fixer - --isolation worktree --check \"cargo test\"", "the task on stdin"),
            ("adjutant delegate reviewer \"And before?\" --background", "print the id and return"),
        ],
    ),
    ("tasks", &[("adjutant tasks list", ""), ("adjutant tasks logs 1f3a --follow", "")]),
    ("tasks list", &[("adjutant tasks list --state running", ""), ("adjutant tasks list bees --json", "")]),
    (
        "tasks show",
        &[("adjutant tasks show 1f3a", ""), ("adjutant tasks show 1f3a --patch", "for `git apply`")],
    ),
    ("tasks wait", &[("adjutant tasks wait 1f3a --timeout 10m", "")]),
    ("tasks cancel", &[("adjutant tasks cancel 1f3a 90b2", "")]),
    ("tasks logs", &[("adjutant tasks logs 1f3a --follow", "")]),
    (
        "ask",
        &[
            ("adjutant ask --title \"Deploy?\" --option Yes=yes --option No=no --timeout 5m", ""),
            ("adjutant ask --title \"Which ticket?\"", "free text, because there are no options"),
        ],
    ),
    ("questions", &[("adjutant questions list", ""), ("adjutant questions list --decided", "")]),
    (
        "questions list",
        &[
            ("adjutant questions list", "pending questions"),
            ("adjutant questions list deploy --decided --json", "as JSON"),
        ],
    ),
    ("questions show", &[("adjutant questions show q7f3kd2", "")]),
    ("inbox", &[("adjutant inbox", "in a terminal"), ("adjutant inbox --plain --no-start", "over lines")]),
    (
        "availability",
        &[
            ("adjutant availability", "the current state"),
            ("adjutant availability do-not-disturb --minutes 90", ""),
        ],
    ),
    ("passphrase", &[("adjutant passphrase", "you type it twice; it is not shown")]),
    ("users", &[("adjutant users list", "")]),
    ("users list", &[("adjutant users list --json", "as JSON")]),
    ("users show", &[("adjutant users show ann", "")]),
    (
        "users add",
        &[(
            "adjutant users add \"Ann Lee\" --id ann --time-zone Europe/Berlin --quiet-hours 21:00-07:00",
            "",
        )],
    ),
    ("users edit", &[("adjutant users edit ann --email ann@example.org --ladder popup,email,call", "")]),
    ("users remove", &[("adjutant users remove ann", "")]),
    (
        "users feed",
        &[("adjutant users feed ann", ""), ("adjutant users feed ann --new", "revokes the old address")],
    ),
    (
        "users rule",
        &[
            ("adjutant users rule ann vip_organizer organizer=bob --priority 80", ""),
            ("adjutant users rule ann --remove rule-pnjwd77ye7g486f2", ""),
        ],
    ),
    ("events", &[("adjutant events list --user ann", "")]),
    ("events list", &[("adjutant events list --user ann --days-forward 7", "")]),
    ("events show", &[("adjutant events show event-wqt8gh035ewx1pc9", "")]),
    ("events forget", &[("adjutant events forget ann calendar.ics", "")]),
    (
        "events import",
        &[
            ("adjutant events import ann calendar.ics", ""),
            (
                "adjutant events import ann https://example.org/ann/ --caldav",
                "only changes since the last import",
            ),
        ],
    ),
    ("events export", &[("adjutant events export ann --to ann.ics", "")]),
    ("notifications", &[("adjutant notifications list --user ann", "")]),
    ("notifications list", &[("adjutant notifications list --status failed --days-back 7", "")]),
    ("notifications show", &[("adjutant notifications show notification-ycdb3yv138zcjsmq", "")]),
    (
        "notifications plan",
        &[
            ("adjutant notifications plan ann --force", ""),
            ("adjutant notifications plan --all", "from a timer"),
        ],
    ),
    ("notifications simulate", &[("adjutant notifications simulate ann --days 7 --why", "")]),
    ("notifications retry", &[("adjutant notifications retry notification-ycdb3yv138zcjsmq", "")]),
    ("notifications resolve", &[("adjutant notifications resolve notification-ycdb3yv138zcjsmq sent", "")]),
    (
        "notifications acknowledge",
        &[("adjutant notifications acknowledge notification-ycdb3yv138zcjsmq", "")],
    ),
    (
        "codex",
        &[
            ("adjutant codex \"Why does the build take so long?\" --sandbox read-only", ""),
            ("adjutant codex --thread 0199 \"And the tests?\"", "continue that thread"),
            ("adjutant codex approvals", "pending approvals"),
        ],
    ),
    (
        "codex list",
        &[("adjutant codex list", ""), ("adjutant codex list tides", "threads that contain `tides`")],
    ),
    ("codex show", &[("adjutant codex show 0199", ""), ("adjutant codex show 0199 --json", "as JSON")]),
    ("codex approvals", &[("adjutant codex approvals", "")]),
    (
        "codex approve",
        &[
            ("adjutant codex approve a1", ""),
            ("adjutant codex approve a1 --for-session", "and the same request again in this session"),
        ],
    ),
    ("codex deny", &[("adjutant codex deny a1 \"not on a Friday\"", "")]),
    ("codex steer", &[("adjutant codex steer 0199 \"Mind the spring tide\"", "")]),
    ("codex interrupt", &[("adjutant codex interrupt 0199", "")]),
    ("log", &[("adjutant log list", ""), ("adjutant log tail --method turn/completed", "")]),
    ("log list", &[("adjutant log list", ""), ("adjutant log list --json", "as JSON")]),
    (
        "log tail",
        &[
            ("adjutant log tail", "all recorded connections, live"),
            ("adjutant log tail codex --direction s2c --json", ""),
        ],
    ),
    (
        "log show",
        &[
            ("adjutant log show", "the recording used last"),
            ("adjutant log show 0199 --method 'item/*'", "the recording of that thread"),
        ],
    ),
    (
        "log export",
        &[
            ("adjutant log export 0199 --output bug.jsonl", "a bug report is one file"),
            ("adjutant log export --format markdown", "for readers"),
        ],
    ),
    (
        "log replay",
        &[
            ("adjutant log replay bug.jsonl", "replay the server on stdin and stdout"),
            (
                "adjutant log replay bug.jsonl -- codex app-server",
                "replay the client, and print the differences",
            ),
        ],
    ),
    (
        "tap",
        &[
            (
                "adjutant tap -- npx some-mcp-server",
                "in a client's configuration, before the server's command",
            ),
            ("adjutant tap --output bug.jsonl -- ./server", ""),
        ],
    ),
    (
        "install",
        &[
            ("adjutant install", "into every program that is found here"),
            ("adjutant install codex claude --dry-run", "what would change, and nothing written"),
            ("adjutant install --link", "links for Cursor and VS Code that install with one click"),
        ],
    ),
    (
        "uninstall",
        &[
            ("adjutant uninstall codex", ""),
            ("adjutant uninstall --all --yes", "out of every program, without a question"),
        ],
    ),
    (
        "open",
        &[
            ("adjutant open", ""),
            ("adjutant open --print", "the link alone, for another browser"),
            ("adjutant open 127.0.0.1:7438", "the console of `adjutant mcp questions --http 127.0.0.1:7438`"),
        ],
    ),
    ("logout", &[("adjutant logout", "every browser has to log in again")]),
    ("tokens", &[("adjutant tokens add laptop", "a token that asks and never answers")]),
    ("tokens add", &[("adjutant tokens add laptop", "prints the token, once")]),
    ("tokens list", &[("adjutant tokens list --json", "")]),
    ("tokens revoke", &[("adjutant tokens revoke laptop", "")]),
    ("status", &[("adjutant status", ""), ("adjutant status --json", "as JSON")]),
    (
        "doctor",
        &[
            ("adjutant doctor", ""),
            ("adjutant doctor --fix", "and repair what can be repaired without a loss"),
            ("adjutant doctor --json", "as JSON"),
        ],
    ),
    ("service", &[("adjutant service install", ""), ("adjutant service status", "")]),
    (
        "service install",
        &[
            ("adjutant service install", ""),
            ("adjutant service install --dry-run", "what would be written and run"),
            ("adjutant service install --dry-run --manager launchd", "for a Mac"),
        ],
    ),
    ("service uninstall", &[("adjutant service uninstall", "")]),
    ("service status", &[("adjutant service status --json", "as JSON")]),
    (
        "completions",
        &[
            ("adjutant completions bash > ~/.local/share/bash-completion/completions/adjutant", ""),
            ("adjutant completions zsh > ~/.zfunc/_adjutant", ""),
        ],
    ),
    ("man", &[("adjutant man ~/.local/share/man/man1", "then: man adjutant-prompts-list")]),
];

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
    let Some((_, examples)) = EXAMPLES.iter().find(|(known, _)| *known == path) else { return command };
    let shown = shown(examples);
    let below = |text: Option<&clap::builder::StyledStr>| match text {
        Some(text) => format!("{text}\n\n{shown}"),
        None => shown.clone(),
    };
    let short = below(command.get_after_help());
    let long = command.get_after_long_help().map(|text| below(Some(text)));
    let command = command.after_help(short);
    match long {
        Some(long) => command.after_long_help(long),
        None => command,
    }
}

fn shown(examples: &[Example]) -> String {
    let width = examples.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let lines = examples.iter().map(|(line, what)| match *what {
        "" => format!("  {line}"),
        what => format!("  {line:<width$}  # {what}"),
    });
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{Command, EXAMPLES, grammar};
    use adjutant_agents::shell_words;

    /// Calls `check` with every command that is shown, and its path.
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
            if !EXAMPLES.iter().any(|(known, _)| *known == path) {
                faults.push(format!("`{path}` has no example in cli/examples.rs"));
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
    fn every_example_is_read_as_the_command_it_stands_below() {
        let mut known = Vec::new();
        walk(&grammar(), "", &mut |path, _| known.push(path.to_owned()));
        for (path, examples) in EXAMPLES {
            assert!(known.iter().any(|known| known == path), "there is no command `{path}`");
            for (line, _) in *examples {
                let line = line.split(" > ").next().unwrap();
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
