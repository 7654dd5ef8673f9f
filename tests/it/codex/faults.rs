//! A misbehaving Codex: a script in its place.

use serde_json::{Value, json};

use super::{RunningCommand, codex, install, output_lines, processes_of, threads};
use crate::questions::fixtures::User;
use crate::support::serving::Serving;
use crate::support::terminal::Terminal;
use crate::support::{Home, Peer};

/// A shell script that speaks app-server: the thread begins, then `turn` happens. `$turn` is the id of the request
/// that started the turn.
pub(super) fn app_server(turn: &str) -> String {
    format!(
        r#"#!/bin/sh
if [ "$1" = --version ]; then echo codex-cli 0.169.0; exit; fi
line() {{ printf '%s\n' "$1"; }}
read -r hello; line '{{"id":1,"result":{{"userAgent":"fake/0.169.0 (x)"}}}}'
read -r initialized
read -r thread; line '{{"id":2,"result":{{"thread":{{"id":"t-1","cwd":"/"}},"model":"m"}}}}'
read -r turn; line '{{"id":3,"result":{{"turn":{{"id":"u-1"}}}}}}'
line '{{"method":"turn/started","params":{{"threadId":"t-1","turn":{{"id":"u-1"}}}}}}'
say() {{ line '{{"method":"item/completed","params":{{"threadId":"t-1","turnId":"u-1","item":{{"type":"agentMessage","id":"m-1","text":"'"$1"'"}}}}}}'; }}
done_() {{ line '{{"method":"turn/completed","params":{{"threadId":"t-1","turn":{{"id":"u-1","status":"completed"}}}}}}'; }}
{turn}
cat > /dev/null
"#
    )
}

/// A turn that asks for a command, prints the decision, and ends.
pub(super) const APPROVAL_TURN: &str = r#"
line '{"id":"q","method":"item/commandExecution/requestApproval","params":{"threadId":"t-1","turnId":"u-1","itemId":"i","command":"rm -rf build","cwd":"/"}}'
read -r decided; say "$(printf '%s' "$decided" | tr '"' "'")"; done_"#;

pub(super) fn home_with(turn: &str) -> (Home, Serving) {
    let home = Home::new();
    install(&home, &app_server(turn), "auto");
    let hub = Serving::socket_hub(&home);
    (home, hub)
}

#[test]
fn twenty_thousand_events_arrive_in_order_before_the_answer() {
    let (home, _hub) =
        home_with(r#"seq 1 20000 | sed 's/.*/{"method":"count","params":{"n":&}}/'; say done; done_"#);
    let run = codex(&home, &["count"]);
    let counted: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("[mcp count]")).collect();
    let expected: Vec<String> = (1..=20_000).map(|n| format!("[mcp count] {{\"n\":{n}}}")).collect();
    assert_eq!(counted, expected);
    assert_eq!(output_lines(&run.stdout), ["done"]);
    assert!(run.status.success());
}

#[test]
fn unreadable_lines_of_codex_are_reported_and_do_not_end_the_turn() {
    let (home, _hub) = home_with(
        r#"line 'not json'; line '{"id":77,"result":{}}'; line '{"method":"never/seen","params":[1,2]}'
head -c 17825792 /dev/zero | tr '\0' x; line ''
line '{"id":"9","method":"some/question","params":{}}'; read -r denied; say "$(printf '%s' "$denied" | tr '"' "'")"
say2() { line '{"method":"item/completed","params":{"threadId":"t-1","item":{"type":"agentMessage","id":"m-2","text":"\u001b[2Jred\u202e"}}}'; }
say2; done_"#,
    );
    let run = codex(&home, &["misbehave"]);
    assert!(run.status.success(), "{run}");
    let lines = output_lines(&run.stdout);
    assert!(lines[0].starts_with("[warning] a line of Codex cannot be read: "), "{run}");
    assert!(lines[1].contains("the request 77, which nobody sent"), "{run}");
    assert_eq!(lines[2], "[warning] a line of Codex with 17825792 bytes was left out");
    assert!(lines[3].starts_with("[approval ") && lines[3].contains("`some/question`"), "{run}");
    assert!(lines[4].contains("by nobody"), "{run}");
    assert_eq!(lines[5], "{'id':'9','result':{'decision':'decline'}}");
    assert_eq!(lines[6], "⟨U+001B⟩[2Jred⟨U+202E⟩");
    assert!(run.stdout.contains("[mcp never/seen] [1,2]"), "{run}");
}

#[test]
fn a_crash_of_codex_fails_the_turn_with_its_last_output() {
    let (home, _hub) =
        home_with("head -c 3000000 /dev/zero | tr '\\0' e >&2; echo 'out of luck' >&2; exit 7");
    let run = codex(&home, &["crash"]);
    assert_eq!(run.status.code(), Some(1), "{run}");
    assert!(run.stderr.contains("codex exited with 7") && run.stderr.contains("out of luck"), "{run}");
    let thread = &threads(&home)[0];
    assert_eq!((&thread["state"], &thread["last_end"]), (&"closed".into(), &"failed".into()));
}

/// A turn with an endless command, which is interrupted.
const INTERRUPTED: &str = r#"line '{"method":"item/started","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"commandExecution","id":"c-1","command":"sleep 1000","cwd":"/work","status":"inProgress"}}}'
read -r interrupt; line '{"id":4,"result":{}}'
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-1","status":"interrupted"}}}'"#;

#[test]
fn a_reopened_transcript_keeps_its_failures() {
    for (turn, faults) in [
        (INTERRUPTED, ["the turn was interrupted"].as_slice()),
        ("echo 'out of luck' >&2; exit 7", ["the turn failed: codex exited with 7"].as_slice()),
        (
            r#"line '{"method":"error","params":{"threadId":"t-1","turnId":"u-1","willRetry":false,"error":{"message":"no model"}}}'
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-1","status":"failed","error":{"message":"no model"}}}}'"#,
            ["no model"].as_slice(),
        ),
    ] {
        let home = Home::new();
        install(&home, &app_server(turn), "auto");
        let mut hub = Serving::open_hub(&home);
        let mut running = RunningCommand::start(&home, &["please"]);
        if turn == INTERRUPTED {
            running.wait_for("item/started");
            running.interrupt();
        }
        running.end();
        for _ in 0..2 {
            let page = hub.page("/codex/t-1");
            let items: Vec<&str> = page.split("<li data-kind=").skip(1).collect();
            let answer: Vec<&&str> = items.iter().filter(|item| item.starts_with("\"error\"")).collect();
            assert_eq!(answer.len(), faults.len(), "each is shown once: {page}");
            for fault in faults {
                assert!(answer.iter().any(|item| item.contains(fault)), "no `{fault}` in {answer:?}");
            }
            let left = items.iter().any(|item| item.contains("sleep 1000") && item.contains("state failed"));
            assert_eq!(left, turn == INTERRUPTED, "what was being done is there, undone: {page}");
            // Another hub reads it from the store.
            hub.kill();
            hub = Serving::open_hub(&home);
        }
        let found = codex(&home, &["list", faults[0]]);
        assert!(found.stdout.contains("t-1"), "{found}");
    }
}

/// The next hub ends the turn of the killed one, at the first look from any interface, and the transcript says where it
/// breaks off.
#[test]
fn a_transcript_shows_where_a_killed_hub_cut_off_its_turn() {
    let home = Home::new();
    let turn = r#"if [ -e left ]; then
line '{"method":"item/completed","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"agentMessage","id":"m-2","text":"more"}}}'
done_; else say half; cat > /dev/null; fi"#;
    install(&home, &app_server(turn), "auto");
    let mut hub = Serving::open_hub(&home);
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for("half");
    // The page shows the state on disk.
    assert!(hub.page("/codex/t-1").contains("half"));
    hub.kill();
    running.end();

    let _hub = Serving::open_hub(&home);
    let thread = &threads(&home)[0];
    assert_eq!((&thread["state"], &thread["last_end"]), (&"closed".into(), &"interrupted".into()));
    let why = thread["last_failure"].as_str().unwrap();
    assert!(why.starts_with("the hub ended during this turn"), "{thread}");
    home.write("work/left", "");
    let reply = codex(&home, &["--thread", "t-1", "go on"]);
    assert_eq!(output_lines(&reply.stdout), ["more"], "{reply}");
    let shown = codex(&home, &["show", "t-1"]).stdout;
    let items: Vec<&str> = shown.split("\n\n").skip(1).map(str::trim_end).collect();
    let cut = format!("error  the turn was cut off: {why}");
    assert_eq!(items, ["agent  half", &cut, "agent  more"], "{shown}");
    assert_eq!(threads(&home)[0]["last_end"], "completed");
}

#[test]
fn a_killed_hub_leaves_no_process_of_a_codex_session() {
    let (home, mut hub) = home_with("sleep 1000 & setsid sleep 1000 & say x; done_");
    let run = codex(&home, &["leave something"]);
    assert!(run.status.success(), "{run}");
    assert!(processes_of(home.path()).iter().any(|command| command.starts_with("sleep 1000")));
    hub.kill();
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while !processes_of(home.path()).is_empty() {
        assert!(std::time::Instant::now() < end, "{:?}", processes_of(home.path()));
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_missing_codex_thread_or_backend_has_a_hint() {
    let home = Home::new();
    install(&home, "#!/bin/sh\necho codex-cli 0.169.0\n", "mcp-server");
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["hello"]);
    assert_eq!(
        run.stderr,
        "error: codex 0.169.0 has no `mcp-server`\nhint: set [codex] backend to \"auto\" in config.toml, or leave it out\n"
    );
    let run = codex(&home, &["--thread", "nope", "hello"]);
    assert!(run.stderr.starts_with("error: unknown thread `nope`\nhint: "), "{run}");
    let run = codex(&home, &["approve", "nope"]);
    assert!(run.stderr.starts_with("error: no pending approval `nope`"), "{run}");
    std::fs::remove_file(home.path().join("bin/codex")).unwrap();
    let run = codex(&home, &["hello"]);
    assert!(run.stderr.starts_with("error: codex was not found at `"), "{run}");
    // The full screen does not open.
    let mut view = Terminal::start(&home, &["codex"], 100, 24, &[]);
    assert_eq!(view.exit_code(), 1);
    let shown =
        view.shows("hint: install it (npm install -g @openai/codex), or name its program: [codex] program");
    assert!(shown.contains("error: codex was not found at `"), "{shown}");
    assert!(!view.written().windows(8).any(|part| part == b"\x1b[?1049h"), "{shown}");
    let mut peer = Peer::start(&mut home.adjutant(["connect", "--no-start"]));
    peer.initialize("2025-11-25");
    let call = json!({"name": "codex", "arguments": {"prompt": "hello"}});
    let missing = peer.call(1, "tools/call", call)["result"].clone();
    assert_eq!(missing["isError"], true, "{missing}");
    let text = missing["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("npm install -g @openai/codex") && !text.contains("bin/codex"), "{text}");
    assert_eq!(codex(&home, &["hello", "--config", "x"]).status.code(), Some(2));
}

#[test]
fn a_codex_that_is_too_old_is_rejected_with_its_version() {
    let home = Home::new();
    install(&home, "#!/bin/sh\necho codex-cli 0.77.1\n", "app-server");
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["hello"]);
    assert!(run.stderr.starts_with("error: codex 0.77.1 has no `app-server`\nhint: "), "{run}");
    install(&home, "#!/bin/sh\necho something else\n", "auto");
    let run = codex(&home, &["hello"]);
    assert!(run.stderr.starts_with("error: ") && run.stderr.contains("prints no version"), "{run}");
}

#[test]
fn an_unreachable_model_server_is_reported_and_the_turn_can_be_interrupted() {
    if crate::support::real_clients::is_excluded("npm") {
        return;
    }
    let home = Home::new();
    super::versions::install_package(&home, "@openai/codex", "auto");
    // A bound port without a listener: while this end is open no other test can get the port, which a closed one would
    // allow. Codex waits for the network as long as it may.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let base = format!("http://{}/v1", taken.local_addr().unwrap());
    home.write(".codex/config.toml", crate::support::real_clients::codex_config(&base));
    let _hub = Serving::socket_hub(&home);
    let mut running = RunningCommand::start(&home, &["hello", "--approval-policy", "never"]);
    let answer = running.wait_for("[mcp error]");
    assert!(answer.contains("Connection failed") || answer.contains("error sending request"), "{answer}");
    running.interrupt();
    let (text, code) = running.end();
    assert_eq!((output_lines(&text), code), (vec!["[turn interrupted]"], Some(130)), "{text}");
    let thread = &threads(&home)[0];
    assert_eq!((&thread["state"], &thread["last_end"]), (&"idle".into(), &"interrupted".into()));
}

#[test]
fn two_simultaneous_replies_become_consecutive_turns() {
    // Each further turn prints its prompt; the first one waits until both replies have been sent.
    let (home, _hub) = home_with(
        r#"say first; done_
for id in 4 5; do
  read -r asked; prompt=$(printf '%s' "$asked" | sed 's/.*"text":"\([^"]*\)".*/\1/')
  line '{"id":'$id',"result":{"turn":{"id":"u-'$id'"}}}'
  line '{"method":"turn/started","params":{"threadId":"t-1","turn":{"id":"u-'$id'"}}}'
  if [ $id = 4 ]; then line '{"method":"waits"}'; while [ ! -e go ]; do :; done; fi
  say "$prompt"
  line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-'$id'","status":"completed"}}}'
done"#,
    );
    assert_eq!(output_lines(&codex(&home, &["begin"]).stdout), ["first"]);
    let mut item = RunningCommand::start(&home, &["--thread", "t-1", "one"]);
    item.wait_for("[mcp waits]");
    let two = RunningCommand::start(&home, &["--thread", "t-1", "two"]);
    home.write("work/go", "");
    let (item, two) = (item.end(), two.end());
    assert_eq!((output_lines(&item.0).last(), item.1), (Some(&"one"), Some(0)), "{}", item.0);
    assert_eq!((output_lines(&two.0).last(), two.1), (Some(&"two"), Some(0)), "{}", two.0);
}

/// No process has the thread, and the first reply starts one slowly: the second reply waits for it instead of starting
/// another, which the real Codex would reject.
#[test]
fn two_simultaneous_replies_resume_a_thread_once() {
    let said_back = r#"say "$(printf '%s' "$turn" | sed 's/.*"text":"\([^"]*\)".*/\1/')"; done_
read -r turn; line '{"id":4,"result":{"turn":{"id":"u-4"}}}'
line '{"method":"turn/started","params":{"threadId":"t-1","turn":{"id":"u-4"}}}'
say "$(printf '%s' "$turn" | sed 's/.*"text":"\([^"]*\)".*/\1/')"
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-4","status":"completed"}}}'"#;
    let slow =
        r#"read -r thread; echo x >> "$HOME/started"; while ! test -e "$HOME/go"; do sleep 0.05; done; line"#;
    let home = Home::new();
    install(&home, &app_server(said_back).replace("read -r thread; line", slow), "auto");
    let go = home.write("go", "");
    let mut hub = Serving::socket_hub(&home);
    assert_eq!(output_lines(&codex(&home, &["begin"]).stdout), ["begin"]);
    hub.kill();
    std::fs::remove_file(&go).unwrap();
    let _hub = Serving::socket_hub(&home);
    let started = || std::fs::read_to_string(home.path().join("started")).unwrap().lines().count();
    let item = RunningCommand::start(&home, &["--thread", "t-1", "one"]);
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while started() < 2 {
        assert!(std::time::Instant::now() < end, "nothing took the thread up");
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    let two = RunningCommand::start(&home, &["--thread", "t-1", "two"]);
    // Later requests are usually answered later; nothing here depends on that.
    assert_eq!(threads(&home).len(), 1);
    std::fs::write(&go, "").unwrap();
    let (item, two) = (item.end(), two.end());
    assert_eq!((output_lines(&item.0).last(), item.1), (Some(&"one"), Some(0)), "{}", item.0);
    assert_eq!((output_lines(&two.0).last(), two.1), (Some(&"two"), Some(0)), "{}", two.0);
    assert_eq!(started(), 2);
}

#[test]
fn an_approval_outlives_the_terminal_that_showed_it() {
    let (home, _hub) = home_with(APPROVAL_TURN);
    let mut running = RunningCommand::start(&home, &["clean up"]);
    let approval = running.wait_for_approval("rm -rf build");
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let waiting = codex(&home, &["approvals"]);
    assert!(waiting.stdout.contains("rm -rf build"), "{waiting}");
    assert!(codex(&home, &["deny", &approval]).status.success());
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while threads(&home)[0]["last_end"] != "completed" {
        assert!(std::time::Instant::now() < end, "{:?}", threads(&home));
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    assert!(codex(&home, &["approvals"]).stdout.is_empty());
    // The transcript contains the decision and its channel.
    let shown = codex(&home, &["show", "t-1"]).stdout;
    assert!(shown.contains("rm -rf build in /\n  [denied (by a user)]"), "{shown}");
}

#[test]
fn a_form_over_mcp_server_ends_its_turn_even_if_codex_ignores_the_interrupt() {
    let home = Home::new();
    let event = |message: &str| {
        format!(
            r#"line '{{"jsonrpc":"2.0","method":"codex/event","params":{{"_meta":{{"threadId":"t-1"}},"id":"1","msg":{message}}}}}'"#
        )
    };
    let script = [
        "#!/bin/sh".to_owned(),
        "if [ \"$1\" = --version ]; then echo codex-cli 0.153.4; exit; fi".to_owned(),
        r#"line() { printf '%s\n' "$1"; }"#.to_owned(),
        r#"read -r hello; line '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"version":"0.153.4"}}}'"#
            .to_owned(),
        "read -r initialized; read -r call".to_owned(),
        event(r#"{"type":"session_configured","session_id":"t-1","model":"m","cwd":"/"}"#),
        event(r#"{"type":"task_started","turn_id":"1"}"#),
        event(r#"{"type":"elicitation_request","server_name":"harbour"}"#),
        "cat > /dev/null".to_owned(),
    ];
    install(&home, &script.join("\n"), "mcp-server");
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["a berth, please"]);
    assert_eq!(run.status.code(), Some(130), "{run}");
    assert!(run.stdout.contains("`harbour` asks something, which codex mcp-server never forwards"), "{run}");
}

#[test]
fn a_plain_yes_to_a_form_is_refused() {
    let form = r#"
line '{"id":"q","method":"item/tool/requestUserInput","params":{"threadId":"t-1","turnId":"u-1","itemId":"i","questions":[{"id":"n","question":"Your name?"}]}}'
read -r decided; say "$(printf '%s' "$decided" | tr '"' "'")"; done_"#;
    let (home, _hub) = home_with(form);
    let mut running = RunningCommand::start(&home, &["ask me"]);
    let approval = running.wait_for_approval("Your name?");
    let refused = codex(&home, &["approve", &approval]);
    assert_eq!(refused.status.code(), Some(1), "{refused}");
    assert!(codex(&home, &["deny", &approval, "not now"]).status.success());
    let (output, _) = running.end();
    assert!(output.contains("'error':{'code':1,'message':'not now'}"), "{output}");
}

#[test]
fn a_client_that_cannot_be_asked_learns_what_was_denied() {
    let form = r#"
line '{"id":"q","method":"mcpServer/elicitation/request","params":{"threadId":"t-1","turnId":"u-1","serverName":"harbour","mode":"form","message":"Which berth?","requestedSchema":{"type":"object","properties":{"berth":{"type":"string"}}}}}'
read -r decided; say declined; done_"#;
    let home = Home::new();
    install(&home, &app_server(form), "auto");
    let mut client = Peer::start(home.adjutant(["mcp", "codex"]).current_dir(home.path().join("work")));
    client.initialize("2024-11-05");
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "codex", "arguments": {"prompt": "a berth, please"}}}));
    loop {
        let message = client.receive();
        assert_ne!(message["id"], 2, "no warning came: {message}");
        if message["params"]["msg"]["type"] == "warning" {
            let text = message["params"]["msg"]["message"].as_str().unwrap();
            assert_eq!(text, "denied, because this client cannot be asked: answer `harbour`: Which berth?");
            break;
        }
    }
}

#[test]
fn a_client_that_disconnects_during_an_approval_ends_its_session_and_the_command_does_not_run() {
    let home = Home::new();
    let asks = format!("{APPROVAL_TURN}\necho \"$decided\" > decided");
    install(&home, &app_server(&asks), "auto");
    let mut client = Peer::start(home.adjutant(["mcp", "codex"]).current_dir(home.path().join("work")));
    client.initialize("2024-11-05");
    let arguments = json!({"prompt": "clean up", "cwd": home.path().join("work")});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "codex", "arguments": arguments}}));
    while client.receive()["method"] != "elicitation/create" {}
    client.close();
    assert!(crate::support::wait(&mut client.child, crate::support::DEADLINE).success());
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while !processes_of(home.path()).is_empty() {
        assert!(std::time::Instant::now() < end, "{:?}", processes_of(home.path()));
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    let decided = std::fs::read_to_string(home.path().join("work/decided")).unwrap_or_default();
    assert!(!decided.contains("accept"), "{decided}");
}

#[test]
fn a_decision_in_the_inbox_applies_to_every_interface() {
    for (value, decided) in [("deny", "denied"), ("approve", "approved")] {
        // The answer waits for its undo window of three seconds, and is then decided.
        let (home, _hub) = home_with(APPROVAL_TURN);
        let mut running = RunningCommand::start(&home, &["clean up"]);
        let approval = running.wait_for_approval("rm -rf build");
        let question = User::wait_for_question(&home, "Codex wants to run a command");
        User::connect(&home).choose(&question, value);
        for act in ["approve", "deny"] {
            let late = codex(&home, &[act, &approval]);
            assert!(!late.status.success(), "{act} after {value}: {late}");
        }
        assert_eq!(running.end().1, Some(0));
        let shown = codex(&home, &["show", "t-1"]).stdout;
        assert!(shown.contains(&format!("rm -rf build in /\n  [{decided} (by a user)]")), "{shown}");
        let listed = home.run(["questions", "list", "--decided"], "").stdout;
        let state = if value == "deny" { "denied " } else { "answered " };
        assert!(listed.contains(state), "{listed}");
    }
}

#[test]
fn an_approval_that_was_answered_shortly_before_its_hub_ended_is_shown_as_not_applied() {
    for killed in [true, false] {
        let (home, mut hub) = home_with(APPROVAL_TURN);
        let mut running = RunningCommand::start(&home, &["clean up"]);
        running.wait_for_approval("rm -rf build");
        let question = User::wait_for_question(&home, "Codex wants to run a command");
        User::connect(&home).choose(&question, "approve");
        if killed {
            hub.kill();
        } else {
            hub.stop();
        }
        let hub = Serving::open_hub(&home);
        let list = |option: &str| home.run(["questions", "list", "--decided", option], "").stdout;
        let end = std::time::Instant::now() + crate::support::DEADLINE;
        while !list("--limit=9").contains("answered, not applied, ") {
            assert!(std::time::Instant::now() < end, "{}", list("--limit=9"));
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        let reason = "the hub ended before Codex got the answer";
        let listed: Value = serde_json::from_str(&list("--json")).unwrap();
        assert_eq!(listed["items"][0]["outcome"]["not_applied"], json!(reason), "{listed}");
        let shown = home.run(["questions", "show", question["ticket"].as_str().unwrap()], "").stdout;
        assert!(shown.contains(&format!("effect    none: {reason}")), "{shown}");
        assert!(hub.page("/history").contains(&format!("not applied: {reason}")));
    }
}

#[test]
fn the_approval_of_a_codex_session_ends_with_its_hub() {
    let (home, mut hub) = home_with(APPROVAL_TURN);
    let mut running = RunningCommand::start(&home, &["clean up"]);
    running.wait_for_approval("rm -rf build");
    User::wait_for_question(&home, "Codex wants to run a command");
    hub.kill();
    let _hub = Serving::socket_hub(&home);
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while !User::pending(&home).is_empty() {
        assert!(std::time::Instant::now() < end, "{:?}", User::pending(&home));
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
}
