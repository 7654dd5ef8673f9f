//! Permission requests of hooks: the rules and the Inbox decide, and without a decision the client asks by itself.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::console_client::Console;
use super::question_fixtures::wait_for_text;
use super::tasks::token;
use crate::support::{DEADLINE, Home, wait, wait_for};

/// Positions of the options for a command that a rule can decide.
const APPROVE: usize = 0;
const ALWAYS: usize = 1;
const SESSION: usize = 3;
const DENY: usize = 4;
const NEVER: usize = 5;

fn event(home: &Home, name: &str, session: &str, line: &str) -> String {
    let input = json!({"command": line, "description": "Harmless."});
    json!({
        "session_id": session, "hook_event_name": name, "cwd": home.path(), "tool_name": "Bash", "tool_input": input,
    })
    .to_string()
}

/// A hook that waits for its decision.
struct Hook(Child);

impl Hook {
    fn start(home: &Home, client: &str, input: &str) -> Self {
        let mut command = home.adjutant(["hook", client]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Self(child)
    }

    fn ask(home: &Home, session: &str, line: &str) -> Self {
        Self::start(home, "claude", &event(home, "PermissionRequest", session, line))
    }

    /// The decision; null if the client asks by itself.
    fn decision(mut self) -> Value {
        assert!(wait(&mut self.0, DEADLINE * 2).success());
        let output = self.0.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["decision"].clone()
    }
}

/// Waits for a question with this text, and returns its path.
fn question(console: &Console, text: &str) -> String {
    wait_for(text, || {
        let list = console.get("/questions").body;
        let mut paths = list.split('"').filter(|part| part.starts_with("/questions/q"));
        paths.find(|path| console.get(path).body.contains(text)).map(str::to_owned)
    })
}

fn answer(console: &Console, path: &str, option: usize) {
    let form = format!("csrf={}&made=0&act=answer&f0={option}", token(&console.get(path).body));
    assert!(console.post(path, &form).status < 400);
}

fn behavior(decision: &Value) -> &str {
    decision["behavior"].as_str().unwrap_or("none")
}

#[test]
fn a_request_shows_what_it_allows_and_each_answer_decides_one_call() {
    let console = Console::new();
    let home = &console.home;
    let hook = Hook::ask(home, "s1", "rm -rf build");
    let path = question(&console, "rm -rf build");
    let page = console.get(&path).body.replace("&#x2f;", "/");
    let folder = home.path().canonicalize().unwrap().display().to_string();
    for text in
        ["Claude Code wants to run a command", "in the words of the agent, which may be wrong", &folder]
    {
        assert!(page.contains(text), "{text} is not in\n{page}");
    }
    answer(&console, &path, APPROVE);
    assert_eq!(hook.decision(), json!({"behavior": "allow"}));
    // The same call later is a new question.
    let hook = Hook::ask(home, "s1", "rm -rf build");
    let again = question(&console, "rm -rf build");
    assert_ne!(again, path);
    answer(&console, &again, DENY);
    assert_eq!(hook.decision(), json!({"behavior": "deny", "message": "denied by the user, in the Inbox"}));
    wait_for_text(&console, "/timeline", "by the user");
}

#[test]
fn an_answer_can_make_a_rule_for_always_for_the_session_or_never() {
    let console = Console::new();
    let home = &console.home;
    for (line, option, same, other) in [
        ("make all", ALWAYS, "allow", "allow"),
        ("make docs", SESSION, "allow", "none"),
        ("make install", NEVER, "deny", "deny"),
    ] {
        let hook = Hook::ask(home, "s1", line);
        answer(&console, &question(&console, line), option);
        assert_eq!(behavior(&hook.decision()), same, "{line}");
        assert_eq!(behavior(&Hook::ask(home, "s1", line).decision()), same, "{line} again");
        if other == "none" {
            let hook = Hook::ask(home, "s2", line);
            answer(&console, &question(&console, line), DENY);
            assert_eq!(behavior(&hook.decision()), "deny", "{line} in another session");
        } else {
            assert_eq!(behavior(&Hook::ask(home, "s2", line).decision()), other, "{line} in another session");
        }
    }
    let hook = Hook::ask(home, "s1", "make all; rm -rf build");
    answer(&console, &question(&console, "rm -rf build"), APPROVE);
    assert_eq!(behavior(&hook.decision()), "allow", "a line with more commands is asked");
}

#[test]
fn the_agent_that_asks_can_neither_answer_nor_change_rules() {
    let console = Console::new();
    let home = &console.home;
    let hook = Hook::ask(home, "s1", "make all");
    let path = question(&console, "make all");
    // This process started the hook, as an agent does.
    for arguments in [&["inbox", "--plain"][..], &["permissions", "list"], &["permissions", "remove", "x"]] {
        let refused = home.run(arguments, "");
        assert!(refused.stderr.contains("only the user may do this"), "{arguments:?}: {refused}");
    }
    answer(&console, &path, DENY);
    assert_eq!(behavior(&hook.decision()), "deny");
}

#[test]
fn identical_requests_of_a_session_are_one_question() {
    let console = Console::new();
    let home = &console.home;
    let hooks: Vec<Hook> = (0..3).map(|_| Hook::ask(home, "s1", "make all")).collect();
    let other = Hook::ask(home, "s2", "make all");
    question(&console, ", 3 times");
    let list = console.get("/questions").body;
    let paths: BTreeSet<&str> = list.split('"').filter(|part| part.starts_with("/questions/q")).collect();
    assert_eq!(paths.len(), 2, "{list}");
    for path in paths {
        answer(&console, path, APPROVE);
    }
    for hook in hooks.into_iter().chain([other]) {
        assert_eq!(behavior(&hook.decision()), "allow");
    }
}

#[test]
fn the_question_of_a_hook_that_ended_is_withdrawn() {
    let console = Console::new();
    let mut hook = Hook::ask(&console.home, "s1", "make all");
    question(&console, "make all");
    hook.0.kill().unwrap();
    hook.0.wait().unwrap();
    wait_for("no question", || (!console.get("/questions").body.contains("/questions/q")).then_some(()));
}

#[test]
fn without_a_decision_the_client_asks_by_itself() {
    let mut console = Console::new();
    let home = &console.home;
    for (client, input) in [
        ("claude", event(home, "PostToolUse", "s", "ls")),
        ("claude", event(home, "PreToolUse", "s", "make all")),
        ("gemini", event(home, "PermissionRequest", "s", "ls")),
        ("claude", "{\"hook_event_name\": \"PermissionRequest\"}".to_owned()),
    ] {
        let finished = home.run(["hook", client], input.clone());
        assert!(finished.status.success() && finished.stdout.is_empty(), "{input}: {finished}");
    }
    home.write(".adjutant/config.toml", "[permissions]\nwait_seconds = 1\n");
    assert!(home.run(["reload"], "").status.success());
    assert_eq!(Hook::ask(home, "s1", "make all").decision(), Value::Null, "nobody answered in time");
    home.write(".adjutant/config.toml", "[permissions]\nenabled = false\n");
    wait_for("the switch", || {
        (Hook::start(home, "claude", &event(home, "PermissionRequest", "s1", "pwd")).decision()
            == Value::Null)
            .then_some(())
    });
    home.write(".adjutant/config.toml", "[permissions]\nwait_seconds = 60\n");
    wait_for("the switch", || {
        (behavior(&Hook::ask(&console.home, "s1", "pwd").decision()) == "allow").then_some(())
    });
    let asking = Hook::ask(&console.home, "s1", "make all");
    question(&console, "make all");
    console.stop();
    assert_eq!(asking.decision(), Value::Null, "the hub ended while it asked");
    assert_eq!(Hook::ask(&console.home, "s1", "pwd").decision(), Value::Null, "no hub runs");
}

#[test]
fn rules_of_the_file_decide_and_the_command_line_explains_them() {
    let console = Console::new();
    let home = &console.home;
    home.write(
        ".adjutant/config.toml",
        "[[approval_rules]]\nname = \"tests\"\ndecision = \"allow\"\ncommand = \"cargo test *\"\n\
         [[approval_rules]]\nname = \"no force\"\ndecision = \"deny\"\ncommand = \"git push --force\"\n\
         [[approval_rules]]\nname = \"faulty\"\ndecision = \"allow\"\n",
    );
    assert!(home.run(["reload"], "").status.success());
    for (line, expected) in [
        ("cargo test --all", "allow (tests)\n"),
        ("cargo test --all; rm -rf /", "ask (no rule allows all of it)\n"),
        ("sudo git push origin --force", "deny (no force)\n"),
        ("ls -la", "allow (default: look)\n"),
        ("cat .env", "ask (default: secrets)\n"),
    ] {
        assert_eq!(home.run(["permissions", "test", line], "").stdout, expected, "{line}");
    }
    let decided = |line: &str| {
        let finished = home.run(["hook", "claude"], event(home, "PreToolUse", "s1", line));
        finished.lines().first().cloned().unwrap_or_default()["hookSpecificOutput"]["permissionDecision"]
            .clone()
    };
    assert_eq!(decided("cargo test x"), json!("allow"));
    assert_eq!(decided("git push --force"), json!("deny"));
    assert_eq!(decided("git push"), Value::Null);
    let denial = json!({"decision": "deny", "reason": "denied by approval rule no force"});
    let before_tool =
        event(home, "BeforeTool", "s1", "git push --force").replace("Bash", "run_shell_command");
    assert_eq!(home.run(["hook", "gemini"], before_tool).lines(), [denial]);
    let list = home.run(["permissions", "list"], "").stdout;
    for part in ["tests", "no force", "git push --force", "default: secrets"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert!(!list.contains("faulty"), "{list}");
    let explained = home.run(["permissions", "explain", "2"], "").stdout;
    assert!(
        explained.contains("git push --force") && explained.contains("denied by no force"),
        "{explained}"
    );
    assert!(home.run(["permissions", "stats"], "").stderr.contains("rules decided 3 of 3"));
    wait_for_text(&console, "/timeline", "no force");
}
