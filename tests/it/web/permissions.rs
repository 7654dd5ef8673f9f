//! Permission requests of hooks: the rules and the Inbox decide, and without a decision the client asks by itself.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::console_client::Console;
use super::question_fixtures::wait_for_text;
use super::tasks::token;
use crate::support::chromium::{Browser, Key};
use crate::support::{DEADLINE, Home, wait, wait_for};

/// Positions of the options for a command that a rule can decide.
const APPROVE: usize = 0;
const ALWAYS: usize = 1;
const SESSION: usize = 3;
const DENY: usize = 4;
const NEVER: usize = 5;

pub(super) fn event(home: &Home, name: &str, session: &str, line: &str) -> String {
    let input = json!({"command": line, "description": "Harmless."});
    json!({
        "session_id": session, "hook_event_name": name, "cwd": home.path(), "tool_name": "Bash", "tool_input": input,
    })
    .to_string()
}

/// A hook that waits for its decision.
pub(super) struct Hook(Child);

impl Hook {
    pub(super) fn start(home: &Home, client: &str, input: &str) -> Self {
        let mut command = home.adjutant(["hook", client]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Self(child)
    }

    /// The hook of an agent that is another process than this one, so that this one may act for the user.
    pub(super) fn of_agent(home: &Home, input: &str) -> Self {
        let hook = home.adjutant(["hook", "claude"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "\"$0\" \"$@\"; exit $?"]).arg(hook.get_program()).args(hook.get_args());
        shell.env_clear().envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Self(child)
    }

    fn ask(home: &Home, session: &str, line: &str) -> Self {
        Self::start(home, "claude", &event(home, "PermissionRequest", session, line))
    }

    /// The decision; null if the client asks by itself.
    pub(super) fn decision(mut self) -> Value {
        assert!(wait(&mut self.0, DEADLINE * 2).success());
        let output = self.0.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["decision"].clone()
    }
}

/// Waits for a question with this text, and returns its path.
pub(super) fn question(console: &Console, text: &str) -> String {
    wait_for(text, || {
        let list = console.get("/questions").body;
        let mut paths = list.split('"').filter(|part| part.starts_with("/questions/q"));
        paths.find(|path| console.get(path).body.contains(text)).map(str::to_owned)
    })
}

fn answer(console: &Console, path: &str, option: usize) {
    let page = console.get(path).body;
    let (_, calls) = page.split_once("name=\"calls\" value=\"").unwrap();
    let calls = calls.split('"').next().unwrap();
    let form = format!("csrf={}&made=0&act=answer&f0={option}&calls={calls}", token(&page));
    assert!(console.post(path, &form).status < 400);
}

pub(super) fn behavior(decision: &Value) -> &str {
    decision["behavior"].as_str().unwrap_or("none")
}

/// A hub whose requests wait for their answers longer than any test on a busy machine.
pub(super) fn patient_console() -> Console {
    let console = Console::new();
    console.home.write(".adjutant/config.toml", "[permissions]\nwait_seconds = 300\n");
    assert!(console.home.run(["reload"], "").status.success());
    console
}

#[test]
fn a_request_shows_what_it_allows_and_each_answer_decides_one_call() {
    let console = patient_console();
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
    // The two decisions look different in the activity.
    let activity = wait_for_text(&console, "/timeline?of=questions", "was denied:");
    assert!(activity.contains("<li class=\"denied\"") && activity.contains("was answered:"), "{activity}");
    // A long word and a long button neither hold the hub up nor keep the request from the Inbox.
    let long = format!("git commit -m {}", "a".repeat(20_000));
    let hook = Hook::ask(home, "s1", &long);
    answer(&console, &question(&console, "aaaaaaaa"), DENY);
    assert_eq!(behavior(&hook.decision()), "deny");
}

#[test]
fn the_page_of_a_request_has_a_button_for_each_answer() {
    let Some(mut browser) = Browser::start() else { return };
    let console = patient_console();
    let hook = Hook::ask(&console.home, "s1", "rm -rf build");
    browser.open(&console.url(&question(&console, "rm -rf build")));
    let buttons = "[...document.querySelectorAll('#options > button')].map((one) => one.firstChild.data.trim() + ' ' + one.className).join()";
    let buttons = browser.evaluate(buttons);
    let buttons = buttons.as_str().unwrap();
    assert!(buttons.starts_with("Approve primary,") && buttons.contains("Deny danger"), "{buttons}");
    let others =
        "[document.querySelector('[type=radio]'), document.querySelector('#more #decline').textContent]";
    assert_eq!(browser.evaluate(others), json!([null, "Decline"]));
    browser.wait_until("!document.querySelector('#options [aria-disabled]')");
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    browser.type_text("1");
    assert_eq!(browser.evaluate("document.activeElement.id"), json!("option-0"), "a digit sends nothing");
    browser.press(Key::Enter);
    assert_eq!(behavior(&hook.decision()), "allow");
    browser.assert_no_page_errors();
}

#[test]
fn approvals_that_are_answered_together_are_counted_on_the_button() {
    let Some(mut browser) = Browser::start() else { return };
    let console = patient_console();
    let first = (Hook::ask(&console.home, "s1", "rm -rf build"), question(&console, "rm -rf build"));
    let one = console.get("/questions/approvals").body;
    assert!(one.contains("One pending approval, with all") && !one.contains(" all on this page"), "{one}");
    let second = (Hook::ask(&console.home, "s1", "make docs"), question(&console, "make docs"));
    browser.open(&console.url("/questions/approvals"));
    let button =
        "[document.getElementById('answer-chosen')].map((one) => `${one.textContent} ${one.disabled}`)[0]";
    assert_eq!(browser.evaluate(button), json!("Answer as chosen true"));
    browser.click(".option");
    assert_eq!(browser.evaluate(button), json!("Answer 1 approval false"));
    browser.click(".ask:nth-of-type(2) .option");
    assert_eq!(browser.evaluate(button), json!("Answer 2 approvals false"));
    let red =
        "[...document.querySelectorAll('.ask:nth-of-type(2) .option.danger')].map((one) => one.textContent)";
    assert_eq!(
        browser.evaluate(red),
        json!(["Deny", "Never allow: command make docs"]),
        "what denies looks like it"
    );
    for (hook, path) in [first, second] {
        answer(&console, &path, DENY);
        assert_eq!(behavior(&hook.decision()), "deny");
    }
    browser.assert_no_page_errors();
}

#[test]
fn an_answer_can_make_a_rule_for_always_for_the_session_or_never() {
    let console = patient_console();
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
    let console = patient_console();
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
    let console = patient_console();
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
    let console = patient_console();
    let mut hook = Hook::ask(&console.home, "s1", "make all");
    question(&console, "make all");
    hook.0.kill().unwrap();
    hook.0.wait().unwrap();
    wait_for("no question", || (!console.get("/questions").body.contains("/questions/q")).then_some(()));
}

#[test]
fn a_request_that_its_client_has_let_run_is_no_question_any_more() {
    let console = patient_console();
    let home = &console.home;
    let ask = |session, line| Hook::of_agent(home, &event(home, "PermissionRequest", session, line));
    let hooks = ["s1", "s1", "s2"].map(|session| ask(session, "make all"));
    let other = ask("s1", "make docs");
    question(&console, ", 2 times");
    let left = question(&console, "make docs");
    wait_for("three questions", || (paths(&console).len() == 3).then_some(()));
    // The command may have changed the folder, and members come in any order.
    let ran = json!({
        "tool_input": {"description": "Harmless.", "command": "make all"}, "tool_response": {"stdout": "x"},
        "session_id": "s1", "hook_event_name": "PostToolUse", "cwd": "/", "tool_name": "Bash",
    });
    let reported = home.run(["hook", "claude"], ran.to_string());
    assert!(reported.status.success() && reported.stdout.is_empty(), "{reported}");
    let [first, second, third] = hooks;
    assert_eq!((first.decision(), second.decision()), (Value::Null, Value::Null));
    wait_for("two questions", || (paths(&console).len() == 2).then_some(()));
    answer(&console, &question(&console, "make all"), APPROVE);
    answer(&console, &left, DENY);
    assert_eq!((behavior(&third.decision()), behavior(&other.decision())), ("allow", "deny"));
    let explained = home.run(["permissions", "explain"], "").stdout;
    assert_eq!(explained.matches("left to the client").count(), 2, "{explained}");
}

/// The pages of all pending questions.
fn paths(console: &Console) -> BTreeSet<String> {
    let list = console.get("/questions").body;
    let paths = list.split('"').filter(|part| part.starts_with("/questions/q"));
    paths.map(str::to_owned).collect()
}

#[test]
fn rules_allow_reading_alone_in_plan_mode() {
    let console = patient_console();
    let home = &console.home;
    let rules = "[permissions]\nwait_seconds = 300\n\
        [[approval_rules]]\nname = \"builds\"\ndecision = \"allow\"\ncommand = \"make *\"\n\
        [[approval_rules]]\nname = \"no rm\"\ndecision = \"deny\"\ncommand = \"rm *\"\n";
    home.write(".adjutant/config.toml", rules);
    assert!(home.run(["reload"], "").status.success());
    let planned = |name: &str, line: &str| {
        let mut input: Value = serde_json::from_str(&event(home, name, "s1", line)).unwrap();
        input["permission_mode"] = json!("plan");
        input.to_string()
    };
    let of_rules = |input: String| {
        let answer = home.run(["hook", "claude"], input).lines();
        answer.first().map(|answer| answer["hookSpecificOutput"]["permissionDecision"].clone())
    };
    assert_eq!(of_rules(event(home, "PreToolUse", "s1", "make all")), Some(json!("allow")));
    assert_eq!(of_rules(planned("PreToolUse", "make all")), None);
    assert_eq!(of_rules(planned("PreToolUse", "rm x")), Some(json!("deny")));
    // The user may allow it.
    let hook = Hook::start(home, "claude", &planned("PermissionRequest", "make all"));
    let path = question(&console, "make all");
    assert!(console.get(&path).body.contains("default: plan"));
    answer(&console, &path, APPROVE);
    assert_eq!(behavior(&hook.decision()), "allow");
}

#[test]
fn without_a_decision_the_client_asks_by_itself() {
    let mut console = patient_console();
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
    let console = patient_console();
    let home = &console.home;
    home.write(
        ".adjutant/config.toml",
        "[[approval_rules]]\nname = \"tests\"\ndecision = \"allow\"\ncommand = \"cargo test *\"\n\
         [[approval_rules]]\nname = \"no force\"\ndecision = \"deny\"\ncommand = \"git push --force\"\n\
         [[approval_rules]]\nname = \"faulty\"\ndecision = \"allow\"\n\
         [[approval_rules]]\nname = \"old\"\ndecision = \"deny\"\ncommand = \"make\"\nexpires = \"2026-01-01T00:00:00Z\"\n",
    );
    assert!(home.run(["reload"], "").status.success());
    for (line, expected) in [
        ("cargo test --all", "allow (tests)\n"),
        ("cargo test --all; rm -rf /", "ask (no rule allows all of it)\n"),
        ("sudo git push origin --force", "deny (no force)\n"),
        ("ls -la", "allow (default: harmless commands)\n"),
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
    let listed = home.run(["permissions", "list"], "");
    let list = &listed.stdout;
    for part in ["tests", "no force", "git push --force", "default: secrets", "until 2026-01-01T00:00:00Z"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert!(!list.contains("faulty"), "{list}");
    let fault = "is ignored: `faulty`: a rule that allows needs a tool, a command, a host or a path";
    assert!(listed.stderr.contains(fault), "{listed}");
    let explained = home.run(["permissions", "explain", "2"], "").stdout;
    assert!(
        explained.contains("git push --force") && explained.contains("denied by no force"),
        "{explained}"
    );
    assert!(home.run(["permissions", "stats"], "").stderr.contains("rules decided 3 of 3"));
    wait_for_text(&console, "/timeline", "no force");
}

/// Waits until the page of all approvals has as many as this.
fn approvals(console: &Console, count: usize) -> String {
    wait_for("all approvals", || {
        let page = console.get("/questions/approvals").body.replace("&#x2f;", "/");
        (page.matches("name=\"shown\"").count() == count).then_some(page)
    })
}

/// The form of that page with the pressed button; `chosen` has an option for the approval with a text.
fn form(page: &str, act: &str, chosen: &[(&str, &str)]) -> String {
    let mut form = format!("csrf={}&made=0&act={act}", token(page));
    for section in page.split("<section").filter(|section| section.contains("name=\"shown\"")) {
        let value = |name: &str| {
            let (_, rest) = section.split_once(&format!("{name}\" value=\"")).unwrap();
            rest.split('"').next().unwrap()
        };
        let (ticket, calls) = (value("shown"), value(".calls"));
        form += &format!("&shown={ticket}&{ticket}.calls={calls}");
        let chosen = chosen.iter().find(|(text, _)| section.contains(text));
        form += &chosen.map(|(_, option)| format!("&{ticket}={option}")).unwrap_or_default();
    }
    form
}

#[test]
fn pending_approvals_are_answered_together_as_far_as_they_were_shown() {
    let console = patient_console();
    let home = &console.home;
    let ask = |line: &str| Hook::of_agent(home, &event(home, "PermissionRequest", "s1", line));
    let hooks = ["make all", "make docs", "make install"].map(ask);
    let page = approvals(&console, 3);
    for line in ["make all", "make docs", "make install", "in the words of the agent, which may be wrong"] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    assert!(console.get("/questions").body.contains("Answer 3 approvals together"));
    // One more, and another request for one that is shown already.
    let (later, again) = (ask("make clean"), ask("make docs"));
    question(&console, "make clean");
    question(&console, ", 2 times");
    let result = console.post("/questions/approvals", &form(&page, "approve", &[])).body;
    assert!(result.contains("another identical request came after it was shown"), "{result}");
    let [all, docs, install] = hooks;
    assert_eq!((behavior(&all.decision()), behavior(&install.decision())), ("allow", "allow"));
    let page = approvals(&console, 2);
    assert!(page.contains("make clean") && page.contains(", 2 times"), "{page}");
    console.post("/questions/approvals", &form(&page, "answer", &[("make docs", "4")]));
    assert_eq!((behavior(&docs.decision()), behavior(&again.decision())), ("deny", "deny"));
    approvals(&console, 1);
    // An answer on the page of one question decides what that page showed, too.
    let path = question(&console, "make clean");
    for calls in ["&calls=2", "&calls=", ""] {
        let old = format!("csrf={}&made=0&act=answer&f0=0{calls}", token(&console.get(&path).body));
        assert!(console.post(&path, &old).body.contains("Another identical request"), "{calls}");
    }
    answer(&console, &path, DENY);
    assert_eq!(behavior(&later.decision()), "deny");
}

#[test]
fn the_command_line_answers_the_approvals_that_it_names() {
    let console = patient_console();
    let home = &console.home;
    let ask = |line: &str| Hook::of_agent(home, &event(home, "PermissionRequest", "s1", line));
    let hooks = ["make all", "make docs", "make install"].map(ask);
    approvals(&console, 3);
    let shown = home.run(["permissions", "pending"], "");
    for line in ["make all", "make docs", "make install", "Approve"] {
        assert!(shown.stdout.contains(line), "{line}: {shown}");
    }
    let id = |line: &str| question(&console, line).rsplit('/').next().unwrap().to_owned();
    let (all, docs, install) = (id("make all"), id("make docs"), id("make install"));
    let done = home.run(["permissions", "answer", "approve", &all[..9], &docs, "--json"], "");
    assert!(done.status.success(), "{done}");
    let answered: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!([0, 1].map(|at| answered["items"][at]["decision"].clone()), ["approved", "approved"]);
    let denied = home.run(["permissions", "answer", "deny", "qnone", &install], "");
    assert!(denied.stdout.contains("denied: Claude Code wants to run a command: make install\n"), "{denied}");
    assert!(!denied.status.success() && denied.stderr.contains("qnone"), "{denied}");
    let decided = hooks.map(|hook| behavior(&hook.decision()).to_owned());
    assert_eq!(decided, ["allow", "allow", "deny"]);
    let late = home.run(["permissions", "answer", "approve", &install], "");
    assert!(late.stderr.contains("it was decided before"), "{late}");
    // An answer decides the requests that were shown, and no more.
    let same = ["make dist"; 2].map(ask);
    question(&console, ", 2 times");
    let dist = id("make dist");
    let one = home.run(["permissions", "answer", "approve", &dist], "");
    assert!(!one.status.success() && one.stderr.contains("read all 2 and answer again"), "{one}");
    let shown = home.run(["permissions", "pending"], "").stdout;
    let named = format!("{}:2", &dist[..7]);
    assert!(shown.contains(&format!("\nanswer  {named}\n")), "{shown}");
    assert!(home.run(["permissions", "answer", "approve", &named], "").status.success());
    assert_eq!(same.map(|hook| behavior(&hook.decision()).to_owned()), ["allow", "allow"]);
}

#[test]
fn an_answer_for_the_session_outlives_the_hub_and_an_answer_for_one_call_does_not() {
    let mut console = patient_console();
    let ask = |console: &Console, session: &str, line: &str| Hook::ask(&console.home, session, line);
    for (line, option) in [("make docs", SESSION), ("make all", APPROVE)] {
        let hook = ask(&console, "s1", line);
        answer(&console, &question(&console, line), option);
        assert_eq!(behavior(&hook.decision()), "allow", "{line}");
    }
    let asking = ask(&console, "s1", "make clean");
    question(&console, "make clean");
    console.restart();
    assert_eq!(asking.decision(), Value::Null, "the hub that asked has ended");
    wait_for("no question", || (!console.get("/questions").body.contains("/questions/q")).then_some(()));
    // What was decided before is still shown.
    let listed = console.home.run(["permissions", "explain"], "").stdout;
    assert!(listed.contains("make all") && listed.contains("allowed by you"), "{listed}");
    assert!(console.get("/timeline").body.contains("make all"));
    assert_eq!(behavior(&ask(&console, "s1", "make docs").decision()), "allow");
    for (session, line) in [("s2", "make docs"), ("s1", "make all"), ("s1", "make clean")] {
        let hook = ask(&console, session, line);
        answer(&console, &question(&console, line), DENY);
        assert_eq!(behavior(&hook.decision()), "deny", "{session} {line}");
    }
}

/// The tool calls of one session of the day, with their numbers: 200 together.
fn calls_of_a_session(folder: &Path) -> Vec<(usize, &'static str, Value)> {
    let run =
        |count: usize, line: String| (count, "Bash", json!({"command": line, "description": "As planned."}));
    let file = |name: &str| folder.join(name);
    vec![
        (70, "Read", json!({"file_path": file("src/tide.rs"), "limit": 200})),
        (16, "Glob", json!({"pattern": "**/*.rs"})),
        run(10, "ls -la".to_owned()),
        run(14, "cargo test".to_owned()),
        run(8, format!("cd {} && cargo test", folder.display())),
        run(16, "git status".to_owned()),
        (30, "Edit", json!({"file_path": file("src/moon.rs"), "old_string": "a", "new_string": "b"})),
        (8, "Grep", json!({"pattern": "tide", "path": folder})),
        run(6, "cargo build 2>&1 | tail -n 20".to_owned()),
        run(6, "git diff HEAD~1".to_owned()),
        run(4, "git commit -m 'Rise earlier'".to_owned()),
        run(3, "cargo test | tail -n 20".to_owned()),
        run(2, "python3 -c 'print(1)'".to_owned()),
        run(2, "rm -rf target".to_owned()),
        (2, "WebFetch", json!({"url": "https://docs.rs/tokio", "prompt": "What is new?"})),
        run(2, "curl -s https://example.org".to_owned()),
        (1, "Read", json!({"file_path": file(".env")})),
    ]
}

/// A day of five sessions with 200 tool calls each, after the user has answered nine requests. The decisions are those of
/// the hub; the calls come without the processes of hooks.
#[test]
fn default_rules_and_three_learned_ones_answer_four_fifths_of_a_day() {
    let console = patient_console();
    let home = &console.home;
    let folder = home.write("tides/Cargo.toml", "").parent().unwrap().canonicalize().unwrap();
    let mut hooks = Vec::new();
    for session in ["s1", "s2", "s3"] {
        for (tool, input) in [
            ("Bash", json!({"command": "cargo test"})),
            ("Bash", json!({"command": "git status"})),
            ("Edit", json!({"file_path": folder.join(session), "old_string": "a", "new_string": "b"})),
        ] {
            let asked = json!({
                "session_id": session, "hook_event_name": "PermissionRequest", "cwd": folder, "tool_name": tool,
                "tool_input": input,
            });
            hooks.push(Hook::of_agent(home, &asked.to_string()));
        }
    }
    let page = approvals(&console, 9);
    console.post("/questions/approvals", &form(&page, "approve", &[]));
    for hook in hooks {
        assert_eq!(behavior(&hook.decision()), "allow");
    }
    let stats = home.run(["permissions", "stats"], "").stdout;
    let rules = &stats[stats.find("[[approval_rules]]").unwrap()..];
    assert_eq!(rules.matches("[[approval_rules]]").count(), 3, "{stats}");
    home.write(".adjutant/config.toml", rules);
    assert!(home.run(["reload"], "").status.success());

    let (mut all, mut answered) = (0, 0);
    for session in 1..=5 {
        for (count, tool, arguments) in calls_of_a_session(&folder) {
            for _ in 0..count {
                let call = json!({
                    "client": "claude", "client_title": "Claude Code", "session": format!("day {session}"),
                    "folder": folder, "tool": tool, "arguments": arguments, "rules_only": true,
                });
                let mut stream = UnixStream::connect(home.path().join(".adjutant/hub.sock")).unwrap();
                let hello = json!({"adjutant": env!("CARGO_PKG_VERSION"), "hello": 1, "permission": true});
                write!(stream, "{hello}\n{call}\n").unwrap();
                let decision = BufReader::new(stream).lines().nth(1).unwrap().unwrap();
                let decision: Value = serde_json::from_str(&decision).unwrap();
                assert_ne!(decision["verdict"], "deny");
                all += 1;
                answered += usize::from(decision["verdict"] == "allow");
            }
        }
    }
    assert_eq!((all, answered), (1000, 820), "docs/permissions.md has these numbers");
}
