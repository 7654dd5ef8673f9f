//! Permissions of the five real clients: each case of one table for each client, with a scripted model that runs a command.
//!
//! | case | Claude Code | Codex | Copilot | Gemini | opencode |
//! |---|---|---|---|---|---|
//! | allowed, denied by a rule | yes | yes | yes | denied only | yes |
//! | asked, then allowed or denied in the Inbox | yes | yes | yes | is not asked | yes |
//! | answered in its own prompt while the Inbox asks | yes | has no prompt then | has no prompt then | is not asked | yes |
//! | hub killed, hook killed, time over while it asks | yes | yes | refuses in `-p` | is not asked | yes |
//! | two sessions at once | yes | yes | yes | by a rule for one folder | yes |
//! | an agent that tries to answer | yes | yes | yes | another one's request | yes |
//!
//! A session is started so that its own prompt can be seen: Claude Code and Codex pass theirs to the program that drives
//! them, opencode has it in its server. Copilot refuses in `-p` what it cannot ask. The hook of Gemini can only deny, and this
//! run confirms everything else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::install::real_clients::{command, home_of};
use crate::install::run_ok;
use crate::support::model::{Model, Script};
use crate::support::process_table::{processes_of_home, wait_until_none};
use crate::support::real_clients::{RUN_DEADLINE, is_excluded};
use crate::support::serving::Serving;
use crate::support::{Home, StopHubOnDrop, wait_for};

/// The command of the model, which makes a file.
const MAKE: &str = "touch made.txt";

/// Positions of the options in the Inbox.
const APPROVE: &str = "0";
const DENY: &str = "4";

/// What decides, or prevents that.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Rule(&'static str),
    Inbox(&'static str),
    /// The user approves in the client's own prompt, while the Inbox asks.
    OwnPromptFirst,
    HubKilled,
    HookKilled,
    Timeout,
}

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Ran,
    Refused,
    /// The client's own prompt was open, and nothing ran before it was answered.
    OwnPrompt,
}

const CASES: [(Case, End); 8] = [
    (Case::Rule("allow"), End::Ran),
    (Case::Rule("deny"), End::Refused),
    (Case::Inbox(APPROVE), End::Ran),
    (Case::Inbox(DENY), End::Refused),
    (Case::OwnPromptFirst, End::Ran),
    (Case::HubKilled, End::OwnPrompt),
    (Case::HookKilled, End::OwnPrompt),
    (Case::Timeout, End::OwnPrompt),
];

/// An event of a session.
#[derive(Debug)]
enum Event {
    /// Its own prompt is open; with what refuses and what approves it.
    Prompt { refusal: Value, approval: Value },
    /// The model has its result.
    Ended,
}

/// A client that works, until the value is dropped.
struct Session {
    client: &'static str,
    child: Child,
    events: Receiver<Event>,
    /// The server of opencode.
    server: String,
}

/// The model's command as this client runs it.
fn script(client: &str, line: &str) -> Script {
    // Codex asks only for what its sandbox forbids.
    if client == "codex" { Script::Escalated(line.to_owned()) } else { Script::Shell(line.to_owned()) }
}

/// A home with the hub's entry and hook in the client's configuration, and a running hub.
fn prepare(
    client: &str,
    config: &str,
    script: Script,
    hub: impl FnOnce(&Home) -> Serving,
) -> (Home, Model, Serving) {
    let model = Model::start(script);
    let home = home_of(client, &model);
    if client == "opencode" {
        home.write(".config/opencode/opencode.json", "{\"permission\": {\"bash\": \"ask\"}}");
    }
    home.write(".adjutant/config.toml", config);
    let hub = hub(&home);
    run_ok(&home, &["install", client]);
    (home, model, hub)
}

impl Session {
    fn start(client: &'static str, home: &Home, model: &Model, folder: &Path) -> Self {
        Self::start_with(client, home, model, folder, &[])
    }

    /// The same with more arguments.
    fn start_with(
        client: &'static str,
        home: &Home,
        model: &Model,
        folder: &Path,
        more: &[&'static str],
    ) -> Self {
        let given = command(client, home, model, "make it");
        let all: Vec<_> = given.get_args().filter_map(|argument| argument.to_str()).collect();
        let arguments: Vec<&str> = match client {
            "claude" => "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio"
                .split(' ')
                .collect(),
            "codex" => vec![all[0], "app-server"],
            "opencode" => vec!["serve", "--port", "0"],
            _ => all.into_iter().filter(|argument| *argument != "--allow-all-tools").collect(),
        };
        // In a session of its own, so that the test is no part of the agent and may act for the user.
        let mut asking = Command::new("setsid");
        asking.arg(given.get_program()).args(arguments).args(more).env_clear();
        asking.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
        asking.current_dir(folder);
        let mut child =
            asking.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (send, events) = channel();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut server = String::new();
        match client {
            "claude" => {
                let said = json!({"type": "user", "message": {"role": "user", "content": "make it"}});
                write(&mut child, &said);
                std::thread::spawn(move || read_claude(lines, &send));
            }
            "codex" => {
                write(
                    &mut child,
                    &json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "version": "1"}}}),
                );
                write(&mut child, &json!({"method": "initialized"}));
                let thread = json!({
                    "cwd": folder, "approvalPolicy": "on-request", "sandbox": "read-only",
                    // The review that a user does once in Codex.
                    "config": {"bypass_hook_trust": true},
                });
                write(&mut child, &json!({"id": 2, "method": "thread/start", "params": thread}));
                let started = lines.by_ref().find(|line| line.starts_with("{\"id\":2,")).unwrap();
                let started: Value = serde_json::from_str(&started).unwrap();
                let turn = json!({
                    "threadId": started["result"]["thread"]["id"], "input": [{"type": "text", "text": "make it"}],
                });
                write(&mut child, &json!({"id": 3, "method": "turn/start", "params": turn}));
                std::thread::spawn(move || read_codex(lines, &send));
            }
            "opencode" => {
                let line = lines.by_ref().find(|line| line.contains("listening on http://")).unwrap();
                line.rsplit("http://").next().unwrap().trim().clone_into(&mut server);
                let id = post(&server, "/session", &json!({}))["id"].as_str().unwrap().to_owned();
                let address = server.clone();
                std::thread::spawn(move || for _ in lines {});
                std::thread::spawn(move || {
                    let said = json!({"parts": [{"type": "text", "text": "make it"}]});
                    post(&address, &format!("/session/{id}/message"), &said);
                    let _ = send.send(Event::Ended);
                });
            }
            _ => {
                drop(child.stdin.take());
                std::thread::spawn(move || {
                    for _ in lines {}
                    let _ = send.send(Event::Ended);
                });
            }
        }
        Self { client, child, events, server }
    }

    /// Waits until its own prompt is open, and answers there.
    fn answer_own_prompt(&mut self, approves: bool) {
        if self.client == "opencode" {
            let asked = wait_for("the prompt of opencode", || {
                request(&self.server, "GET", "/permission", "")[0]["id"].as_str().map(str::to_owned)
            });
            let reply = if approves { "once" } else { "reject" };
            post(&self.server, &format!("/permission/{asked}/reply"), &json!({"reply": reply}));
            return;
        }
        let end = Instant::now() + RUN_DEADLINE;
        match self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Event::Prompt { refusal, approval }) => {
                write(&mut self.child, if approves { &approval } else { &refusal });
            }
            other => panic!("{}: no prompt of its own: {other:?}", self.client),
        }
    }

    /// Waits until the model has its result.
    fn finish(self) {
        loop {
            match self.events.recv_timeout(RUN_DEADLINE) {
                Ok(Event::Ended) => return,
                // It is open while the Inbox asks, and closes with the answer there.
                Ok(Event::Prompt { .. }) => {}
                Err(error) => panic!("{} did not end: {error}", self.client),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

fn write(child: &mut Child, message: &Value) {
    writeln!(child.stdin.as_mut().unwrap(), "{message}").unwrap();
}

fn read_claude(lines: impl Iterator<Item = String>, send: &Sender<Event>) {
    for line in lines {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        let event = match line["type"].as_str() {
            Some("control_request") => {
                let answer = |response: Value| {
                    json!({"type": "control_response", "response": {
                        "subtype": "success", "request_id": line["request_id"], "response": response,
                    }})
                };
                let input = &line["request"]["input"];
                Event::Prompt {
                    refusal: answer(json!({"behavior": "deny", "message": "no"})),
                    approval: answer(json!({"behavior": "allow", "updatedInput": input})),
                }
            }
            Some("result") => Event::Ended,
            _ => continue,
        };
        let _ = send.send(event);
    }
}

fn read_codex(lines: impl Iterator<Item = String>, send: &Sender<Event>) {
    for line in lines {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        let event = match line["method"].as_str() {
            Some("item/commandExecution/requestApproval") => {
                let answer = |decision: &str| json!({"id": line["id"], "result": {"decision": decision}});
                Event::Prompt { refusal: answer("decline"), approval: answer("accept") }
            }
            Some("turn/completed") => Event::Ended,
            _ => continue,
        };
        let _ = send.send(event);
    }
}

fn post(server: &str, path: &str, body: &Value) -> Value {
    request(server, "POST", path, &body.to_string())
}

/// Sends a request to the server of opencode, and returns its answer.
fn request(server: &str, method: &str, path: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(server).unwrap();
    let head = format!(
        "Host: {server}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}",
        body.len()
    );
    write!(stream, "{method} {path} HTTP/1.0\r\n{head}\r\n\r\n{body}").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    // The body may come in chunks, each after a line with its length.
    let start = body.find(['{', '[']).unwrap_or(body.len());
    serde_json::Deserializer::from_str(&body[start..])
        .into_iter()
        .next()
        .and_then(Result::ok)
        .unwrap_or_default()
}

/// Waits for a question whose page has this text, and returns its path.
fn question(hub: &Serving, text: &str) -> String {
    wait_for("the question", || {
        let list = hub.page("/questions");
        let mut paths = list.split('"').filter(|part| part.starts_with("/questions/q"));
        paths.find(|path| hub.page(path).replace("&#x2f;", "/").contains(text)).map(str::to_owned)
    })
}

fn answer(hub: &Serving, path: &str, option: &str) {
    let page = hub.page(path);
    let (_, token) = page.split_once("name=\"csrf\" value=\"").unwrap();
    let form = format!("csrf={}&made=0&act=answer&f0={option}&calls=1", token.split('"').next().unwrap());
    hub.send_request("POST", path, "Content-Type: application/x-www-form-urlencoded\r\n", &form);
}

#[track_caller]
fn check(client: &'static str, case: Case, expected: End) {
    let config = match case {
        Case::Rule(decision) => {
            format!("[[approval_rules]]\nname = \"made\"\ndecision = \"{decision}\"\ncommand = \"{MAKE}\"\n")
        }
        Case::Timeout => "[permissions]\nwait_seconds = 1\n".to_owned(),
        Case::Inbox(_) | Case::OwnPromptFirst | Case::HubKilled | Case::HookKilled => {
            "[permissions]\nwait_seconds = 100\n".to_owned()
        }
    };
    let (home, model, mut hub) = prepare(client, &config, script(client, MAKE), Serving::open_hub);
    // The entry of a client may start another hub.
    let _stop = StopHubOnDrop(&home);
    let folder = home.path().join("work");
    let made = folder.join("made.txt");
    let mut session = Session::start(client, &home, &model, &folder);
    let hooks = || processes_of_home(home.path(), "hook");
    match case {
        // Nothing is asked.
        _ if client == "gemini" => {}
        Case::Inbox(option) => {
            let path = question(&hub, MAKE);
            assert!(!made.exists(), "{client} {case:?}: it ran while it was asked");
            answer(&hub, &path, option);
        }
        Case::HubKilled => {
            question(&hub, MAKE);
            hub.kill();
            wait_until_none("hooks", hooks);
        }
        Case::HookKilled => {
            question(&hub, MAKE);
            for line in hooks() {
                let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
                let _ = kill_process(pid.unwrap(), Signal::KILL);
            }
            wait_until_none("hooks", hooks);
        }
        Case::OwnPromptFirst => {
            question(&hub, MAKE);
            session.answer_own_prompt(true);
            wait_for("no question", || (!hub.page("/questions").contains("/questions/q")).then_some(()));
            wait_until_none("hooks", hooks);
        }
        Case::Timeout => {
            question(&hub, MAKE);
            wait_until_none("hooks", hooks);
        }
        Case::Rule(_) => {}
    }
    if expected == End::OwnPrompt {
        session.answer_own_prompt(false);
    }
    session.finish();
    assert_eq!(made.exists(), expected == End::Ran, "{client} {case:?}");
}

#[track_caller]
fn check_cases(client: &'static str) {
    // The others ask after the Inbox, or not at all.
    let is_open = ["claude", "opencode"].contains(&client);
    for (case, expected) in CASES.into_iter().filter(|(case, _)| is_open || *case != Case::OwnPromptFirst) {
        let expected = match (client, expected) {
            ("copilot", End::OwnPrompt) => End::Refused,
            ("gemini", _) if case != Case::Rule("deny") => End::Ran,
            _ => expected,
        };
        check(client, case, expected);
    }
}

/// The same command in two folders at once: each answer decides one of them.
fn check_two_sessions(client: &'static str) {
    let config = "[permissions]\nwait_seconds = 100\n";
    let (home, model, hub) = prepare(client, config, script(client, MAKE), Serving::open_hub);
    let _stop = StopHubOnDrop(&home);
    let sessions = ["one", "two"].map(|name| {
        let head = home.write(&format!("work/{name}/.git/HEAD"), "ref: refs/heads/main\n");
        let folder = head.ancestors().nth(2).unwrap().to_owned();
        (Session::start(client, &home, &model, &folder), folder)
    });
    let paths = ["work/one", "work/two"].map(|folder| question(&hub, folder));
    answer(&hub, &paths[1], APPROVE);
    wait_for("the approved command", || sessions[1].1.join("made.txt").exists().then_some(()));
    answer(&hub, &paths[0], DENY);
    let [(one, first), (two, _)] = sessions;
    one.finish();
    two.finish();
    assert!(!first.join("made.txt").exists(), "{client}: the answer to the other session counted");
}

/// The same command in two folders at once, one of which has a rule that denies it.
fn check_two_folders(client: &'static str) {
    let (home, model, _hub) = prepare(client, "", script(client, MAKE), Serving::open_hub);
    let _stop = StopHubOnDrop(&home);
    let folders = ["one", "two"].map(|name| {
        let head = home.write(&format!("work/{name}/.git/HEAD"), "ref: refs/heads/main\n");
        head.ancestors().nth(2).unwrap().to_owned()
    });
    let denied = folders[0].display();
    home.write(
        ".adjutant/config.toml",
        format!("[[approval_rules]]\nname = \"one\"\ndecision = \"deny\"\ncommand = \"{MAKE}\"\nfolder = \"{denied}\"\n"),
    );
    run_ok(&home, &["reload"]);
    let sessions = folders.each_ref().map(|folder| Session::start(client, &home, &model, folder));
    sessions.into_iter().for_each(Session::finish);
    let made = folders.map(|folder| folder.join("made.txt").exists());
    assert_eq!(made, [false, true], "{client}");
}

/// Claude Code in plan mode: a rule that allows a write does not permit it then.
fn check_plan_mode(client: &'static str) {
    let rules = "[permissions]\nwait_seconds = 100\n[[approval_rules]]\nname = \"files\"\ndecision = \"allow\"\ntool = \"Write\"\n";
    for (mode, is_written) in [("default", true), ("plan", false)] {
        let file = |home: &Home| home.path().join("work/plan.txt");
        let (home, _, hub) = prepare(client, rules, Script::Answer, Serving::open_hub);
        let _stop = StopHubOnDrop(&home);
        // The path is known only now.
        let arguments = json!({"file_path": file(&home), "content": "x"});
        let model = Model::start(Script::Call { tool: "Write", arguments });
        let folder = home.path().join("work");
        let mut session = Session::start_with(client, &home, &model, &folder, &["--permission-mode", mode]);
        if !is_written {
            question(&hub, "plan.txt");
            session.answer_own_prompt(false);
        }
        session.finish();
        assert_eq!(file(&home).exists(), is_written, "{mode}");
    }
}

/// The agent starts a process that leaves it, and tries to approve the next request of its agent in every interface.
const ATTACK: &str = r#"#!/bin/sh
cat >try <<'END'
touch left
until [ -s id ]; do sleep 0.1; done
id=$(cat id)
"$BIN" permissions answer approve "$id" && echo ANSWERED
echo "$id approve" | "$BIN" inbox --plain && echo ANSWERED
"$BIN" open --print && echo ANSWERED
page="$ROOT/questions/$id"
csrf=$(curl -s "$page" | sed -n 's/.*name="csrf" value="\([0-9a-f]*\)".*/\1/p' | head -n 1)
curl -s --data "csrf=$csrf&made=0&act=answer&f0=0&calls=1" "$page"
curl -s --data "csrf=$csrf&made=0&act=approve&shown=$id&$id.calls=1" "$ROOT/questions/approvals"
echo FINISHED
END
setsid sh try >attack.log 2>&1 </dev/null &
# A client ends the process group of a command that has ended, and the new process may not have left it yet.
until [ -e left ]; do sleep 0.01; done
"#;

/// The agent that tries to answer its own request is refused, and the request waits for the user.
fn check_own_answer(client: &'static str) {
    let config = "[permissions]\nwait_seconds = 100\n[[approval_rules]]\nname = \"start\"\n\
        decision = \"allow\"\ncommand = \"./attack\"\n";
    let steps = ["./attack", MAKE].map(|line| script(client, line));
    let (home, model, hub) = prepare(client, config, Script::Steps(steps.to_vec()), Serving::hub);
    let _stop = StopHubOnDrop(&home);
    let attack = ATTACK
        .replace("$BIN", env!("CARGO_BIN_EXE_adjutant"))
        .replace("$ROOT", hub.url("").trim_end_matches('/'));
    home.write_program("work/attack", &attack);
    let folder = home.path().join("work");
    let session = Session::start(client, &home, &model, &folder);
    let id = wait_for("the request", || {
        let listed = home.run(["questions", "list", "--json"], "");
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_else(|_| panic!("{listed}"));
        listed["items"][0]["id"].as_str().map(str::to_owned)
    });
    home.write("work/id", &id);
    let log = wait_for("the attempts", || {
        let log = std::fs::read_to_string(folder.join("attack.log")).unwrap_or_default();
        log.contains("FINISHED").then_some(log)
    });
    assert!(!log.contains("ANSWERED") && !folder.join("made.txt").exists(), "{client}: {log}");
    let shown = home.run(["questions", "show", &id, "--json"], "");
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown}"));
    assert_eq!(shown["outcome"], Value::Null, "{client}: {log}");
    let approved = home.run(["permissions", "answer", "approve", &id], "");
    assert!(approved.status.success(), "{client}: {approved}\n{log}");
    session.finish();
    assert!(folder.join("made.txt").exists(), "{client}: {log}");
}

/// The agent of a client that is not asked itself tries to answer the request of another agent.
fn check_answer_for_another(client: &'static str) {
    let config = "[permissions]\nwait_seconds = 100\n";
    let (home, model, hub) = prepare(client, config, script(client, "./attack"), Serving::hub);
    let _stop = StopHubOnDrop(&home);
    let folder = home.path().join("work");
    let attack = ATTACK
        .replace("$BIN", env!("CARGO_BIN_EXE_adjutant"))
        .replace("$ROOT", hub.url("").trim_end_matches('/'));
    home.write_program("work/attack", &attack);
    let hook = home.adjutant(["hook", "claude"]);
    let mut other = Command::new("setsid");
    other.args(["sh", "-c", "\"$0\" \"$@\"; exit $?"]).arg(hook.get_program()).args(hook.get_args());
    other.env_clear().envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let asked = json!({
        "session_id": "s", "hook_event_name": "PermissionRequest", "cwd": folder, "tool_name": "Bash",
        "tool_input": {"command": MAKE},
    });
    write(&mut other, &asked);
    drop(other.stdin.take());
    let id = wait_for("the request", || {
        let listed = home.run(["questions", "list", "--json"], "");
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_else(|_| panic!("{listed}"));
        listed["items"][0]["id"].as_str().map(str::to_owned)
    });
    home.write("work/id", &id);
    Session::start(client, &home, &model, &folder).finish();
    let log = wait_for("the attempts", || {
        let log = std::fs::read_to_string(folder.join("attack.log")).unwrap_or_default();
        log.contains("FINISHED").then_some(log)
    });
    assert!(!log.contains("ANSWERED"), "{client}: {log}");
    let shown = home.run(["questions", "show", &id, "--json"], "");
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown}"));
    assert_eq!(shown["outcome"], Value::Null, "{client}: {log}");
    let denied = home.run(["permissions", "answer", "deny", &id], "");
    assert!(denied.status.success(), "{client}: {denied}\n{log}");
    let decided = other.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&decided.stdout).contains("deny"), "{client}: {decided:?}");
}

/// Returns whether the client can run here: opencode has no package for another processor.
fn can_run(client: &str) -> bool {
    !is_excluded("npm") && (client != "opencode" || cfg!(target_arch = "x86_64"))
}

macro_rules! cases {
    ($($test:ident: $check:ident($client:literal),)*) => {
        $(
            #[test]
            fn $test() {
                if can_run($client) {
                    $check($client);
                }
            }
        )*
    };
}

cases! {
    claude_code_gets_the_decisions_of_rules_and_of_the_inbox: check_cases("claude"),
    codex_gets_the_decisions_of_rules_and_of_the_inbox: check_cases("codex"),
    copilot_gets_the_decisions_of_rules_and_of_the_inbox: check_cases("copilot"),
    gemini_gets_the_denials_of_rules: check_cases("gemini"),
    opencode_gets_the_decisions_of_rules_and_of_the_inbox: check_cases("opencode"),
    two_sessions_of_claude_code_get_their_own_answers: check_two_sessions("claude"),
    two_sessions_of_codex_get_their_own_answers: check_two_sessions("codex"),
    two_sessions_of_copilot_get_their_own_answers: check_two_sessions("copilot"),
    two_sessions_of_opencode_get_their_own_answers: check_two_sessions("opencode"),
    two_sessions_of_gemini_get_the_rules_of_their_folders: check_two_folders("gemini"),
    claude_code_writes_nothing_in_plan_mode_by_a_rule_alone: check_plan_mode("claude"),
    an_agent_of_gemini_cannot_answer_for_another: check_answer_for_another("gemini"),
    an_agent_of_claude_code_cannot_answer_its_own_request: check_own_answer("claude"),
    an_agent_of_codex_cannot_answer_its_own_request: check_own_answer("codex"),
    an_agent_of_copilot_cannot_answer_its_own_request: check_own_answer("copilot"),
    an_agent_of_opencode_cannot_answer_its_own_request: check_own_answer("opencode"),
}
