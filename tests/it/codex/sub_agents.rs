//! Agents that Codex starts by itself: they have threads of their own in the same process, and what they ask is asked
//! in the thread that started them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::versions::{configure, installed};
use super::{Running, codex, faults, install, said, threads};
use crate::support::model::{LAST_WORD, Model, Script, Turn};
use crate::support::real_clients::{RUN_DEADLINE, without};
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home};

/// While a turn of ours runs, one sub-agent says something, asks for a patch and has its question taken back; another
/// one ends. Then our turn waits to be interrupted.
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
    let mut running = Running::start(&home, &["please"]);
    let approval = running.wait_for_approval("change a.txt");
    let page = hub.page("/codex/t-1");
    assert!(page.contains("Codex wants to change files") && page.contains("+new"), "{page}");
    assert!(codex(&home, &["approve", &approval]).status.success());
    running.wait_for("'decision':'accept'");
    running.wait_for("null by Codex");
    running.interrupt();
    let (text, code) = running.end();
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("'threadId':'t-1','turnId':'u-1'"), "our own turn is interrupted: {text}");
    let said = said(&text);
    assert!(!said.iter().any(|line| line.contains("of another") || line.contains("no luck")), "{text}");
    let shown = codex(&home, &["show", "t-1"]).stdout;
    assert!(
        !shown.contains("of another") && shown.contains("change a.txt\n[approved (by a user)]"),
        "{shown}"
    );
}

#[test]
fn a_real_sub_agent_can_ask_after_the_turn_that_started_it_ended() {
    if without("npm") {
        return;
    }
    let home = Home::new();
    installed(&home, "@openai/codex", "auto");
    let turn = |on, does, says| Turn { on, does, says };
    let start = Script::Call { tool: "spawn_agent", arguments: json!({"message": "lend a hand"}) };
    let model = Model::start(Script::Turns(vec![
        turn("lend a hand", Script::Escalated("touch made.txt".to_owned()), "lent"),
        turn("send somebody", start, LAST_WORD),
    ]));
    configure(&home, &model);
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["send somebody", "--approval-policy", "on-request", "--sandbox", "read-only"]);
    assert!(run.status.success(), "{run}");
    assert!(said(&run.stdout).contains(&LAST_WORD), "{run}");
    let eventually = |what: &str, is_so: &dyn Fn() -> bool| {
        let end = Instant::now() + RUN_DEADLINE.min(3 * DEADLINE);
        while !is_so() {
            assert!(Instant::now() < end, "never: {what}; {:?}", threads(&home));
            std::thread::park_timeout(Duration::from_millis(50));
        }
    };
    eventually("its question", &|| codex(&home, &["approvals"]).stdout.contains("touch made.txt"));
    assert_eq!(threads(&home)[0]["state"], "asking");
    let approvals: serde_json::Value =
        serde_json::from_str(&codex(&home, &["approvals", "--json"]).stdout).unwrap();
    let approved = codex(&home, &["approve", approvals["approvals"][0]["id"].as_str().unwrap()]);
    assert!(approved.status.success(), "{approved}");
    eventually("the file", &|| home.path().join("work/made.txt").exists());
    eventually("rest", &|| threads(&home)[0]["state"] == "idle");
}
