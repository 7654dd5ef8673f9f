//! Agents that Codex starts by itself: they have separate threads in the same process, and their approvals appear in
//! the thread that started them.

use serde_json::json;

use super::versions::{configure, install_package};
use super::{RunningCommand, codex, faults, install, output_lines, threads};
use crate::support::model::{FINAL_TEXT, Model, Script, Turn};
use crate::support::real_clients::is_excluded;
use crate::support::serving::Serving;
use crate::support::{Home, wait_for};

/// During a turn of the hub, one sub-agent sends a message, asks for a patch and withdraws its question; another
/// sub-agent ends. Then the turn waits for an interrupt.
const SUB_AGENTS: &str = r#"
line '{"method":"turn/started","params":{"threadId":"t-2","turn":{"id":"u-2"}}}'
line '{"method":"item/completed","params":{"threadId":"t-2","turnId":"u-2","item":{"type":"agentMessage","id":"m-9","text":"of another"}}}'
line '{"method":"item/started","params":{"threadId":"t-2","turnId":"u-2","item":{"type":"fileChange","id":"p-1","status":"inProgress","changes":[{"path":"a.txt","kind":{"type":"update"},"diff":"-old\n+new"}]}}}'
line '{"id":"q","method":"item/fileChange/requestApproval","params":{"threadId":"t-2","turnId":"u-2","itemId":"p-1"}}'
line '{"method":"turn/completed","params":{"threadId":"t-3","turn":{"id":"u-3","status":"failed","error":{"message":"no luck"}}}}'
read -r decided; say "$(printf '%s' "$decided" | tr '"' "'")"
line '{"id":"r","method":"item/commandExecution/requestApproval","params":{"threadId":"t-2","turnId":"u-2","itemId":"c-1","command":"touch it","cwd":"/"}}'
line '{"method":"serverRequest/resolved","params":{"threadId":"t-2","requestId":"r"}}'
read -r interrupt; say "$(printf '%s' "$interrupt" | tr '"' "'")"; line '{"id":4,"result":{}}'
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-1","status":"interrupted"}}}'"#;

#[test]
fn the_approvals_of_a_sub_agent_appear_in_the_thread_that_started_it() {
    let home = Home::new();
    install(&home, &faults::app_server(SUB_AGENTS), "auto");
    let hub = Serving::open_hub(&home);
    let mut running = RunningCommand::start(&home, &["please"]);
    let approval = running.wait_for_approval("change a.txt");
    let mut follower = RunningCommand::start(&home, &["follow", "t-1", "--json"]);
    follower.wait_for("\"thread\"");
    let page = hub.page("/codex/t-1");
    assert!(page.contains("Codex wants to change files") && page.contains("+new"), "{page}");
    assert!(codex(&home, &["approve", &approval]).status.success());
    running.wait_for("'decision':'accept'");
    running.wait_for("null by codex");
    running.interrupt();
    let (text, code) = running.end();
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("'threadId':'t-1','turnId':'u-1'"), "our own turn is interrupted: {text}");
    let output = output_lines(&text);
    assert!(!output.iter().any(|line| line.contains("of another") || line.contains("no luck")), "{text}");
    let shown = codex(&home, &["show", "t-1"]).stdout;
    assert!(shown.contains("\nagent     t-2  "), "{shown}");
    let agent = codex(&home, &["show", "t-2"]).stdout;
    assert!(agent.contains("agent of  t-1") && agent.contains("agent  of another"), "{agent}");
    let failed = codex(&home, &["show", "t-3"]).stdout;
    assert!(failed.contains("no luck"), "{failed}");
    assert_eq!(threads(&home).len(), 1, "the threads of agents are not among those of the user");
    let page = hub.page("/codex/t-1");
    assert!(page.contains("href=\"/codex/t-2\""), "{page}");
    let reply = codex(&home, &["reply", "t-2", "hello"]);
    assert!(reply.stderr.contains("this thread is used by an agent of the thread `t-1`"), "{reply}");
    assert!(
        !shown.contains("of another") && shown.contains("change a.txt\n  [approved (by a user)]"),
        "{shown}"
    );
}

#[test]
fn a_real_sub_agent_can_ask_after_the_turn_that_started_it_ended() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, "@openai/codex", "auto");
    let turn = |on, does, says| Turn { on, does, says };
    let start = Script::Call { tool: "spawn_agent", arguments: json!({"message": "lend a hand"}) };
    let model = Model::start(Script::Turns(vec![
        turn("lend a hand", Script::Escalated("touch made.txt".to_owned()), "lent"),
        turn("send somebody", start, FINAL_TEXT),
    ]));
    configure(&home, &model);
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["send somebody", "--approval-policy", "on-request", "--sandbox", "read-only"]);
    assert!(run.status.success(), "{run}");
    assert!(output_lines(&run.stdout).contains(&FINAL_TEXT), "{run}");
    wait_for("its question", || codex(&home, &["approvals"]).stdout.contains("touch made.txt").then_some(()));
    assert_eq!(threads(&home)[0]["state"], "asking");
    let approvals: serde_json::Value =
        serde_json::from_str(&codex(&home, &["approvals", "--json"]).stdout).unwrap();
    let approved = codex(&home, &["approve", approvals["items"][0]["id"].as_str().unwrap()]);
    assert!(approved.status.success(), "{approved}");
    wait_for("the file", || home.path().join("work/made.txt").exists().then_some(()));
    wait_for("rest", || (threads(&home)[0]["state"] == "idle").then_some(()));
}
