//! `--json`: every command has a schema in `docs/schemas` and follows it, and errors are JSON too.

use std::collections::BTreeSet;

use adjutant_agents::task::TaskEventKind;
use adjutant_codex::approval::ApprovalKind;
use adjutant_codex::event::{CodexEvent, Item};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
const CHECKED_ELSEWHERE: [&str; 37] = [
    "codex",
    "codex-approval",
    "codex-approve",
    "codex-archive",
    "codex-capabilities",
    "codex-commit",
    "codex-compact",
    "codex-delete",
    "codex-deny",
    "codex-diff",
    "codex-end-commands",
    "codex-event",
    "codex-follow",
    "codex-fork",
    "codex-interrupt",
    "codex-item",
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
    "worker-invite",
    "worker-join",
    "worker-nats-config",
    "workers-drain",
    "workers-list",
    "workers-resume",
    "workers-revoke",
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
    // `codex` is a command and a group, as `worker` is, which prints no result; the last three are parts of other schemas.
    expected.extend(["codex", "error", "codex-approval", "codex-event", "codex-item"].map(str::to_owned));
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
    let password = ["users", "password", "ann", "--json"];
    let set = home.run(password, "correct horse battery\n");
    assert_eq!(commands.note(&password, &set)["role"], "user");
    let mut run = |line: &str| commands.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(run("users role ann viewer")["role"], "viewer");
    assert_eq!(run("users list")["items"][0]["role"], "viewer");
    run("users lock ann");
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
    for word in ["New passphrase (at least 8 characters):", "Repeat the passphrase:"] {
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
    run(&["licenses"]);
    run(&["restart"]);
    run(&["stop"]);
    run(&["remove-demo"]);
    // Its handshakes are those of an agent, which may not act for the user.
    run(&["doctor"]);
    let checked = commands.checked.iter().map(String::as_str).chain(CHECKED_ELSEWHERE).map(str::to_owned);
    assert_eq!(schema_names(), checked.collect());
}

/// Returns the kinds of an enum that `tag` distinguishes, as serde names them for an unknown one.
fn kinds<T: DeserializeOwned>(tag: &str, base: &Value) -> BTreeSet<String> {
    let mut unknown = base.clone();
    unknown[tag] = "nothing".into();
    let error = serde_json::from_value::<T>(unknown).err().unwrap().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// Checks that a schema names the kinds of an enum and that the samples, one of each kind, follow it.
fn check_kinds<T: DeserializeOwned + Serialize>(tag: &str, base: &Value, schema: &Value, samples: &[Value]) {
    let expected = kinds::<T>(tag, base);
    let variants = schema["oneOf"].as_array().unwrap().iter();
    let named = variants.map(|variant| variant["properties"][tag]["const"].as_str().unwrap().to_owned());
    assert_eq!(named.collect::<BTreeSet<String>>(), expected);
    let given = samples.iter().map(|sample| sample[tag].as_str().unwrap().to_owned());
    assert_eq!(given.collect::<BTreeSet<String>>(), expected);
    for sample in samples {
        let mut whole = base.clone();
        whole.as_object_mut().unwrap().extend(sample.as_object().unwrap().clone());
        let value: T =
            serde_json::from_value(whole.clone()).unwrap_or_else(|error| panic!("{sample}: {error}"));
        let printed = serde_json::to_value(value).unwrap();
        assert_eq!(printed, whole);
        schemas::check_value(schema.clone(), tag, &printed);
    }
}

#[test]
fn every_kind_of_an_event_an_item_and_an_approval_has_its_members_in_a_schema() {
    let change = json!({"path": "a", "how": "add", "diff": "+a"});
    let item = json!({"id": "i", "turn": "u", "state": "done"});
    let items = [
        json!({"kind": "user", "text": "a"}),
        json!({"kind": "agent", "text": "a"}),
        json!({"kind": "reasoning", "text": "a"}),
        json!({"kind": "command", "command": "ls", "cwd": "/", "output": "", "exit_code": 0}),
        json!({"kind": "patch", "changes": [change]}),
        json!({"kind": "tool", "server": "s", "tool": "t", "arguments": {"a": 1}, "result": "r"}),
        json!({"kind": "plan", "explanation": "e", "steps": [{"step": "s", "status": "pending"}]}),
        json!({"kind": "error", "message": "m"}),
        json!({"kind": "other", "name": "n", "content": {"a": 1}}),
    ];
    check_kinds::<Item>("kind", &item, &schemas::read("codex-item"), &items);

    let question = json!({"id": "q", "text": "a", "options": ["b"], "other": true, "secret": true});
    let approvals = [
        json!({"type": "command", "argv": ["ls"]}),
        json!({"type": "network", "host": "h", "protocol": "https", "argv": ["curl"]}),
        json!({"type": "patch", "changes": [change], "grant_root": "/"}),
        json!({"type": "elicitation", "server": "s", "message": "m", "url": "https://h", "schema": {}}),
        json!({"type": "tool_call", "server": "s", "tool": "t", "message": "m", "arguments": {"a": 1}}),
        json!({"type": "permissions", "permissions": {"a": 1}}),
        json!({"type": "input", "questions": [question]}),
        json!({"type": "unknown", "method": "m", "params": {"a": 1}}),
    ];
    let schema = &schemas::read("codex-approval")["properties"]["kind"];
    check_kinds::<ApprovalKind>("type", &json!({}), schema, &approvals);

    let choices = json!(["approve", "approve_for_session", "approve_always", "abort", {"deny": {"note": null}}, {"content": 1}]);
    let approval = json!({
        "id": "a", "thread": "t", "turn": "u", "item": "i", "kind": approvals[0], "folder": "/", "reason": "r", "choices": choices,
        "session_scope": "s", "always_scope": "s", "others": {"a": 1},
    });
    let whole = json!({"id": "i", "state": "running", "kind": "user", "text": "a"});
    let usage = json!({
        "type": "usage", "input": 1, "cached": 1, "output": 1, "reasoning": 1, "total": 1, "context": 1, "window": 1,
    });
    let events = [
        json!({"type": "ready", "model": "m", "effort": "high", "cwd": "/", "version": "1"}),
        json!({"type": "turn_started", "turn": "u"}),
        json!({"type": "turn_ended", "turn": "u", "end": "failed", "message": "m"}),
        json!({"type": "steered", "number": 1, "refused": "r"}),
        json!({"type": "item_started", "item": whole}),
        json!({"type": "item_grew", "id": "i", "text": "a"}),
        json!({"type": "item_ended", "item": whole}),
        json!({"type": "approval_requested", "approval": approval}),
        json!({"type": "approval_resolved", "approval": "a", "decision": {"deny": {"note": "n"}}, "by": "nobody"}),
        json!({"type": "diff", "diff": "+a"}),
        usage.clone(),
        // The command writes the instants of its windows.
        json!({"type": "limits", "plan": "plus", "windows": []}),
        json!({"type": "sub_agent", "thread": "t", "event": usage}),
        json!({"type": "notice", "level": "warning", "message": "m"}),
        json!({"type": "closed", "message": "m"}),
    ];
    check_kinds::<CodexEvent>("type", &json!({}), &schemas::read("codex-event"), &events);

    let events = [
        json!({"kind": "started", "runner": "r", "attempt": 1}),
        json!({"kind": "text", "text": "a"}),
        json!({"kind": "thinking", "text": "a"}),
        json!({"kind": "command_started", "command": "ls"}),
        json!({"kind": "command_ended", "command": "ls", "exit": null}),
        json!({"kind": "tool_started", "tool": "t"}),
        json!({"kind": "tool_ended", "tool": "t", "failed": true}),
        json!({"kind": "denied", "call": "ls"}),
        json!({"kind": "files_changed", "files": ["a"]}),
        json!({"kind": "notice", "text": "a"}),
        json!({"kind": "hub_notice", "text": "a"}),
        json!({"kind": "check_started", "command": "ls"}),
        json!({"kind": "check_ended", "command": "ls", "passed": true}),
    ];
    let schema = &schemas::read("tasks-logs")["properties"]["what"];
    check_kinds::<TaskEventKind>("kind", &json!({}), schema, &events);
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
        ("log replay nothing", 1, "unknown recording"),
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
