//! `--json`: every command has a schema in `docs/schemas` and follows it, and errors are JSON too.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::pages;
use crate::support::task_fixture::TaskFixture;
use crate::support::terminal::Terminal;
use crate::support::{Finished, Home, schemas, wait_for};

/// Commands that speak a protocol or show a view; of `--json` they take only the errors.
const WITHOUT_RESULT: [&str; 9] = [
    "connect",
    "inbox",
    "log-replay",
    "mcp-agents",
    "mcp-assistant",
    "mcp-codex",
    "mcp-prompts",
    "mcp-questions",
    "tap",
];

/// Schemas that the tests of a command check, which need Codex, an editor of the clock, or a service manager.
const CHECKED_ELSEWHERE: [&str; 27] = [
    "codex",
    "codex-approve",
    "codex-archive",
    "codex-capabilities",
    "codex-commit",
    "codex-compact",
    "codex-delete",
    "codex-deny",
    "codex-diff",
    "codex-end-commands",
    "codex-follow",
    "codex-fork",
    "codex-interrupt",
    "codex-limits",
    "codex-plan",
    "codex-rename",
    "codex-reply",
    "codex-revert",
    "codex-review",
    "codex-show",
    "codex-steer",
    "codex-unarchive",
    "notifications-test",
    "permissions-answer",
    "permissions-remove",
    "service-install",
    "service-uninstall",
];

fn schema_names() -> BTreeSet<String> {
    let entries = std::fs::read_dir(schemas::folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.map(|name| name.strip_suffix(".json").expect("a schema ends in .json").to_owned()).collect()
}

#[test]
fn every_command_has_a_schema() {
    let pages = pages();
    let is_group = |help: &str| {
        help.lines().any(|line| line == "Commands:" || line == "Toolsets:")
            && help.contains("<COMMAND>") | help.contains("<TOOLSET>")
    };
    let commands = pages.iter().filter(|page| !is_group(&page.help));
    let words = commands.map(|page| page.command.trim_start_matches("adjutant ").replace(' ', "-"));
    let mut expected: BTreeSet<String> = words.collect();
    for name in WITHOUT_RESULT {
        assert!(expected.remove(name), "there is no command `{name}`");
    }
    // `codex` is a command and a group.
    expected.extend(["codex", "error"].map(str::to_owned));
    assert_eq!(schema_names(), expected);
    for name in schema_names() {
        schemas::close(&mut schemas::read(&name), &name);
    }
}

/// Runs commands, and notes the names of the schemas that were checked.
struct Commands<'a> {
    home: &'a Home,
    checked: BTreeSet<String>,
}

impl Commands<'_> {
    /// Runs a command that has to print its result. [`Home::run`] checks it against the schema.
    fn run(&mut self, line: &[&str]) -> Value {
        let output = self.home.run(line.iter().chain(&["--json"]), "");
        self.note(line, &output)
    }

    fn note(&mut self, line: &[&str], output: &Finished) -> Value {
        assert!(!output.stdout.is_empty(), "{line:?}: {output}");
        self.checked.insert(schemas::name_of(line));
        serde_json::Deserializer::from_str(&output.stdout).into_iter().next().unwrap().unwrap()
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story: each command needs what those before it made")]
fn every_command_prints_what_its_schema_says() {
    let fixture = TaskFixture::new();
    let home = &fixture.home;
    let mut commands = Commands { home, checked: BTreeSet::from(["error".to_owned()]) };
    let mut run =
        |line: &str| commands.run(&line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    run("");
    assert_eq!(run("serve --background --http 127.0.0.1:0")["http_fault"], Value::Null);
    let _stop = crate::support::StopHubOnDrop(home);
    for line in ["status", "reload", "open", "logout", "availability", "availability away --minutes 5"] {
        run(line);
    }
    run("tokens add laptop");
    assert_eq!(run("tokens list")["items"][0]["id"], "laptop");
    run("tokens revoke laptop");

    run("prompts new mine");
    for line in ["list", "show mine", "expand mine text", "lint", "path mine"] {
        run(&format!("prompts {line}"));
    }
    let edit = ["prompts", "edit", "mine", "--json"];
    let edited = crate::support::real_clients::run(
        home.adjutant(edit).env("EDITOR", "true").current_dir(home.path()),
        crate::support::DEADLINE,
    );
    commands.note(&edit, &edited);
    let mut run = |line: &str| commands.run(&line.split(' ').collect::<Vec<_>>());
    home.write("r/.claude/commands/other.md", "---\ndescription: x\n---\nDo it.\n");
    home.write("r/.claude/agents/other.md", "---\nname: other\ndescription: x\ntools: Read\n---\nDo it.\n");
    for line in ["import r", "export out --to codex", "remove mine"] {
        run(&format!("prompts {line}"));
    }
    for line in ["new mine", "list", "show mine", "lint", "import r", "trust mine"] {
        run(&format!("agents {line}"));
    }

    let task =
        run("delegate reviewer ok --background --workdir work")["task_id"].as_str().unwrap().to_owned();
    run(&format!("tasks wait {task}"));
    for line in
        ["list", &format!("show {task}"), &format!("logs {task}"), &format!("retry {task}"), "worktrees"]
    {
        run(&format!("tasks {line}"));
    }
    run(&format!("tasks cancel {task}"));
    let listed = run("tasks list --limit 1");
    let page = run(&format!("tasks list --limit 1 --after {}", listed["next"]));
    assert_eq!((&page["items"][0]["id"], &page["next"]), (&task.into(), &Value::Null));

    run("users add Ann --id ann");
    home.write("day.ics", DAY);
    let rule = run("users rule ann vip_organizer organizer=bob")["rule_id"].as_str().unwrap().to_owned();
    for line in ["list", "show ann", "edit ann --email ann@example.org", "feed ann", "feed ann --off"] {
        run(&format!("users {line}"));
    }
    for line in ["import ann day.ics", "calendars ann", "export ann", "export ann --to out.ics"] {
        run(&format!("events {line}"));
    }
    let event = run("events list --days-back 9000")["items"][0]["event_id"].as_str().unwrap().to_owned();
    run(&format!("events show {event}"));
    run("notifications plan ann");
    run("notifications plan --all");
    run("notifications simulate ann");
    let planned = run("notifications list --days-forward 40");
    let ids: Vec<&str> =
        planned["items"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    let notification = ids[0].to_owned();
    run(&format!("notifications show {notification}"));
    for (verb, id) in [("acknowledge", ids[0]), ("snooze", ids[1]), ("cancel", ids[2])] {
        run(&format!("notifications {verb} {id}"));
    }
    let own = run("events add Fair 5.12.2031 --user ann")["event_id"].as_str().unwrap().to_owned();
    run(&format!("events edit {own} --title Market"));
    run(&format!("events cancel {own}"));
    // Only a failed one is retried, and only an unknown one resolved: they print the same.
    for verb in ["retry", "resolve"] {
        let output = home.run(["notifications", verb, &notification, "sent", "--json"], "");
        assert!(!output.status.success(), "{output}");
        commands.checked.insert(format!("notifications-{verb}"));
    }
    let mut run =
        |line: &str| commands.run(&line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    run("events forget ann day.ics");
    run(&format!("users rule ann --remove {rule}"));
    run("users remove ann");

    run("availability here");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| home.run(["ask", "--title", "Now?", "--option", "yes", "--json"], ""));
        let mut run = |line: &str| commands.run(&line.split(' ').collect::<Vec<_>>());
        let ticket = wait_for("the question", || {
            Some(run("questions list")["items"].get(0)?["ticket"].as_str()?.to_owned())
        });
        run(&format!("questions show {ticket}"));
        assert!(home.run(["inbox", "--plain"], format!("{ticket} yes\n")).status.success());
        let output = asked.join().unwrap();
        assert_eq!(commands.note(&["ask"], &output)["selectedValue"], "yes");
    });

    let mut terminal = Terminal::start(home, &["passphrase", "--json"], 80, 24, &[]);
    for word in ["New passphrase:", "Repeat the passphrase:"] {
        terminal.shows(word);
        terminal.send("twelve green herons\r");
    }
    terminal.shows("\"set\": true");
    commands.checked.insert("passphrase".to_owned());

    let tapped = ["log", "tail", "--no-follow"];
    let recorded = home.run(
        ["tap", "--output", "tapped.jsonl", "--", "cat"],
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    );
    assert!(recorded.status.success(), "{recorded}");
    let mut run = |line: &[&str]| commands.run(line);
    run(&["log", "list"]);
    run(&["log", "show", "tapped.jsonl"]);
    run(&["log", "export", "tapped.jsonl", "--output", "out.jsonl"]);
    run(&[&tapped[..], &["tapped.jsonl"]].concat());
    run(&["codex", "list"]);
    run(&["codex", "approvals"]);
    home.write(".codex/config.toml", "");
    run(&["install", "codex", "--dry-run"]);
    run(&["install", "--link"]);
    run(&["install", "codex"]);
    run(&["uninstall", "codex"]);
    for line in [&["list"][..], &["test", "ls"], &["explain"], &["pending"], &["stats"]] {
        run(&[&["permissions"], line].concat());
    }
    run(&["service", "status"]);
    run(&["completions", "bash"]);
    run(&["man", "pages"]);
    run(&["restart"]);
    run(&["stop"]);
    // Its handshakes are those of an agent, which may not act for the user.
    run(&["doctor"]);
    let checked = commands.checked.iter().map(String::as_str).chain(CHECKED_ELSEWHERE).map(str::to_owned);
    assert_eq!(schema_names(), checked.collect());
}

/// A calendar with an event on every day.
const DAY: &str = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example//EN\nBEGIN:VEVENT\nUID:tides@example.org\n\
    DTSTAMP:20260101T000000Z\nDTSTART:20260101T100000Z\nDTEND:20260101T110000Z\nRRULE:FREQ=DAILY\n\
    SUMMARY:Tides\nEND:VEVENT\nEND:VCALENDAR\n";

#[test]
fn errors_are_json_with_the_exit_code() {
    let home = Home::new();
    for (line, code, part) in [
        ("prompts show nothing", 1, "unknown prompt `nothing`"),
        ("agents show nothing", 1, "nothing"),
        ("status", 1, "no hub"),
        ("connect --no-start", 1, ""),
        ("tasks list --bogus", 2, "unexpected argument '--bogus' found"),
        ("nothing", 2, "unrecognized subcommand 'nothing'"),
        ("prompts new Ä", 2, "not a valid name"),
        ("inbox", 2, "as lines, not as JSON"),
        ("log replay nothing", 1, "no recording"),
    ] {
        let output = home.run(["--json"].into_iter().chain(line.split(' ')), "");
        assert_eq!((output.status.code(), output.stdout.as_str()), (Some(code), ""), "{line}: {output}");
        let error: Value =
            serde_json::from_str(&output.stderr).unwrap_or_else(|_| panic!("{line}: {output}"));
        assert!(error["error"].as_str().unwrap().contains(part), "{line}: {error}");
        assert!(!error["hints"].as_array().unwrap().is_empty(), "{line}: {error}");
    }
    // The program that cannot be started says so itself.
    let tapped = home.run(["--json", "tap", "--output", "t.jsonl", "--", "no-such-program"], "");
    assert_eq!(tapped.status.code(), Some(127), "{tapped}");
    let error: Value = serde_json::from_str(&tapped.stderr).unwrap_or_else(|_| panic!("{tapped}"));
    assert_eq!(error["exit_code"], 127);
    // An editor writes beside the result.
    home.run(["prompts", "new", "mine"], "");
    let edited = home.adjutant(["prompts", "edit", "mine", "--json"]).env("EDITOR", "echo").output().unwrap();
    let value: Value = serde_json::from_slice(&edited.stdout).unwrap();
    assert_eq!(value["name"], "mine");
    // What is no error stays text.
    let help = home.adjutant(["--help", "--json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("Usage:"));
}
