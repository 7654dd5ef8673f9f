//! What an agent cannot do with its means: its tools, a shell of the same user with `curl`, and the command line.

use std::process::Command;

use serde_json::{Value, json};

use super::fixtures::{Hub, User, example};
use crate::support::Peer;

/// An agent with a connected relay, whose shell tries to answer as soon as it reads a ticket; then a process that left
/// its parents tries the same. Each attempt prints its result.
const AGENT: &str = r#"
exec 3<&0
"$BIN" connect popup <&3 &
read ticket <go
cat >try <<'END'
id=$(echo "$1" | cut -c1-12)
report() { echo "$2 $1: $(tr '\n' ' ')"; }
echo "$id yes" | "$BIN" inbox --plain 2>&1 | report inbox "$2"
"$BIN" passphrase </dev/null 2>&1 | report passphrase "$2"
page="$ROOT/questions/$1"
csrf=$(curl -s "$page" | sed -n 's/.*name="csrf" value="\([0-9a-f]*\)".*/\1/p' | head -n 1)
answer="csrf=$csrf&made=0&act=answer&f0=0&note=&level=normal"
for secret in '' '&passphrase=' '&passphrase=guess'; do
    curl -s --data "$answer$secret" "$page" | sed -n '/id="fault"/p' | report form "$2"
done
curl -s -o /dev/null -w '%{http_code}' --data "${answer#csrf=}" "$page" | report forged "$2"
curl -s -o /dev/null -w '%{http_code}' --data "csrf=$csrf" "$page/undo" | report undo "$2"
curl -s -o /dev/null -w '%{http_code}' --data "csrf=$csrf" "$page/seen" | report seen "$2"
curl -s -X PUT -o /dev/null -w '%{http_code}' --data "$answer" "$page" | report put "$2"
echo "$2 END"
END
sh try "$ticket" below
(setsid sh try "$ticket" detached &)
wait
"#;

fn reports_of(lines: &[String], who: &str, what: &str) -> Vec<String> {
    let start = format!("{who} {what}: ");
    lines.iter().filter_map(|line| line.strip_prefix(&start)).map(ToOwned::to_owned).collect()
}

#[test]
fn an_agent_cannot_answer_a_high_risk_question() {
    // The weakest hub: it needs no token, and answers leave at once.
    let mut hub = Hub::new();
    let done = hub.user().act_on_inbox(json!({"set_passphrase": {"current": null, "new": "correct horse"}}));
    assert_eq!(done, json!(null));
    assert!(Command::new("mkfifo").arg(hub.home.path().join("go")).status().unwrap().success());
    let mut agent = Command::new("sh");
    agent
        .args(["-c", AGENT])
        .env_clear()
        .env("HOME", hub.home.path())
        .env("PATH", std::env::var_os("PATH").unwrap());
    agent
        .env("BIN", env!("CARGO_BIN_EXE_adjutant"))
        .env("ROOT", hub.serving.url(""))
        .current_dir(hub.home.path());
    agent.env("XDG_RUNTIME_DIR", hub.home.path());
    let mut agent = Peer::start(&mut agent);
    agent.initialize("2025-11-25");

    // Only the asker sees it through MCP, and no tool answers. The same words at the other level ask another question.
    let high = |title: &str| {
        let mut arguments = example(title);
        arguments["level"] = json!("high");
        arguments
    };
    let tools = agent.call(1, "tools/list", json!({}))["result"]["tools"].clone();
    let tools: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(tools, ["triggerPopup", "ask_form", "await_answer"]);
    let mut silent = high("Drop it");
    silent["default"] = json!("yes");
    silent["default_after_seconds"] = json!(1);
    let refused = agent.call(2, "tools/call", json!({"name": "triggerPopup", "arguments": silent}));
    assert!(refused.to_string().contains("has no default"), "{refused}");
    agent.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "triggerPopup", "arguments": high("Drop it")}}));
    let question = User::wait_for_question(&hub.home, "Drop it");
    let ticket = question["ticket"].as_str().unwrap().to_owned();
    hub.post("/mcp?client=other", &[], &super::fixtures::request("n", "Drop it").to_string());
    let twin =
        User::pending(&hub.home).into_iter().find(|other| other["ticket"] != question["ticket"]).unwrap();
    hub.user().choose(&twin, "yes");

    std::fs::write(hub.home.path().join("go"), format!("{ticket}\n")).unwrap();
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "detached END") {
        lines.push(agent.line());
    }
    let all = lines.join("\n");
    for who in ["below", "detached"] {
        assert!(reports_of(&lines, who, "passphrase")[0].contains("typed on a terminal"), "{all}");
        let forms = reports_of(&lines, who, "form");
        assert!(forms.len() == 3 && forms.iter().all(|form| form.contains("passphrase")), "{all}");
        // No passphrase is not a wrong passphrase: the page asks for one.
        assert!(forms[..2].iter().all(|form| form.contains("needs the approval passphrase")), "{all}");
        assert_eq!(reports_of(&lines, who, "forged"), ["403"], "{all}");
        assert_eq!(reports_of(&lines, who, "undo"), ["303"], "there is nothing to undo: {all}");
        assert_eq!(reports_of(&lines, who, "put"), ["405"], "{all}");
    }
    assert!(reports_of(&lines, "below", "inbox")[0].contains("only the user may do this"), "{all}");
    // It left the tree of the agent, so it counts as a user: a high-risk question needs the passphrase nevertheless.
    assert!(reports_of(&lines, "detached", "inbox")[0].contains("passphrase"), "{all}");

    // The control API of the socket, used directly, with the same act.
    let answer = json!([["answer", {"choices": ["yes"]}]]);
    for passphrase in [json!(null), json!(""), json!("guess"), json!("guess"), json!(["correct horse"])] {
        let act =
            json!({"answer": {"ticket": ticket, "answer": answer, "note": null, "passphrase": passphrase}});
        let reply = hub.user().request(&json!({"questions": act}));
        assert!(reply.to_string().contains("passphrase") || reply.get("rejected").is_some(), "{reply}");
    }
    let stolen =
        hub.user().act_on_inbox(json!({"set_passphrase": {"current": null, "new": "an agent's own"}}));
    assert!(stolen["rejected"].is_object(), "{stolen}");
    // A restarted hub rejects the forms of the old one.
    let form = hub.send_request("GET", &format!("/questions/{ticket}"), &[], "").1;
    let csrf = form.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    hub.kill_and_restart();
    let repeated = format!("csrf={csrf}&made=0&act=answer&f0=0&passphrase=correct+horse");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(hub.send_request("POST", &format!("/questions/{ticket}"), &form, &repeated).0, 403);

    let pending = User::pending(&hub.home);
    assert_eq!(pending.iter().map(|question| &question["ticket"]).collect::<Vec<_>>(), [&json!(ticket)]);
}
