//! What an agent cannot do with what it has: its tools, a shell of the same user with `curl`, and the command line.

use std::process::Command;

use serde_json::{Value, json};

use super::user_acts::{Hub, Person, example};
use crate::support::Peer;

/// An agent with a connected relay, whose shell tries to answer as soon as it reads a ticket; then a process that left
/// its parents tries the same. Each try says what it was told.
const AGENT: &str = r#"
exec 3<&0
"$BIN" connect popup <&3 &
read ticket <go
cat >try <<'END'
id=$(echo "$1" | cut -c1-12)
told() { echo "$2 $1: $(tr '\n' ' ')"; }
echo "$id yes" | "$BIN" inbox --plain 2>&1 | told inbox "$2"
"$BIN" passphrase </dev/null 2>&1 | told passphrase "$2"
page="$ROOT/questions/$1"
csrf=$(curl -s "$page" | sed -n 's/.*name="csrf" value="\([0-9a-f]*\)".*/\1/p' | head -n 1)
answer="csrf=$csrf&made=0&act=answer&f0=0&note=&level=normal"
for secret in '' '&passphrase=' '&passphrase=guess'; do
    curl -s --data "$answer$secret" "$page" | sed -n '/id="fault"/p' | told form "$2"
done
curl -s -o /dev/null -w '%{http_code}' --data "${answer#csrf=}" "$page" | told forged "$2"
curl -s -o /dev/null -w '%{http_code}' --data "csrf=$csrf" "$page/undo" | told undo "$2"
curl -s -o /dev/null -w '%{http_code}' --data "csrf=$csrf" "$page/seen" | told seen "$2"
curl -s -X PUT -o /dev/null -w '%{http_code}' --data "$answer" "$page" | told put "$2"
echo "$2 END"
END
sh try "$ticket" below
(setsid sh try "$ticket" detached &)
wait
"#;

fn told(lines: &[String], who: &str, what: &str) -> Vec<String> {
    let start = format!("{who} {what}: ");
    lines.iter().filter_map(|line| line.strip_prefix(&start)).map(ToOwned::to_owned).collect()
}

#[test]
fn an_agent_cannot_answer_a_high_risk_question() {
    // The weakest hub there is: it asks nobody for a token, and answers leave at once.
    let mut hub = Hub::new();
    let done = hub.person().desk(json!({"set_passphrase": {"current": null, "new": "correct horse"}}));
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

    // Nobody but the asker sees it through MCP, and no tool answers. The same words at the other level are another question.
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
    let question = Person::waits_for(&hub.home, "Drop it");
    let ticket = question["ticket"].as_str().unwrap().to_owned();
    hub.post("/mcp?client=other", &[], &super::user_acts::request("n", "Drop it").to_string());
    let twin =
        Person::pending(&hub.home).into_iter().find(|other| other["ticket"] != question["ticket"]).unwrap();
    hub.person().choose(&twin, "yes");

    std::fs::write(hub.home.path().join("go"), format!("{ticket}\n")).unwrap();
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "detached END") {
        lines.push(agent.line());
    }
    let all = lines.join("\n");
    for who in ["below", "detached"] {
        assert!(told(&lines, who, "passphrase")[0].contains("typed on a terminal"), "{all}");
        let forms = told(&lines, who, "form");
        assert!(forms.len() == 3 && forms.iter().all(|form| form.contains("passphrase")), "{all}");
        // Nothing is no guess: it is said what is missing.
        assert!(forms[..2].iter().all(|form| form.contains("needs the approval passphrase")), "{all}");
        assert_eq!(told(&lines, who, "forged"), ["403"], "{all}");
        assert_eq!(told(&lines, who, "undo"), ["303"], "there is nothing to undo: {all}");
        assert_eq!(told(&lines, who, "put"), ["405"], "{all}");
    }
    assert!(told(&lines, "below", "inbox")[0].contains("only the user may do this"), "{all}");
    // It left the tree of the agent, so it is taken for a person: what is high asks for the passphrase all the same.
    assert!(told(&lines, "detached", "inbox")[0].contains("passphrase"), "{all}");

    // The socket's own door, spoken by hand, and the same act once more.
    let answer = json!([["answer", {"choices": ["yes"]}]]);
    for passphrase in [json!(null), json!(""), json!("guess"), json!("guess"), json!(["correct horse"])] {
        let act =
            json!({"answer": {"ticket": ticket, "answer": answer, "note": null, "passphrase": passphrase}});
        let told = hub.person().say(&json!({"questions": act}));
        assert!(told.to_string().contains("passphrase") || told.get("rejected").is_some(), "{told}");
    }
    let stolen = hub.person().desk(json!({"set_passphrase": {"current": null, "new": "an agent's own"}}));
    assert!(stolen["rejected"].is_object(), "{stolen}");
    // A hub that starts anew takes no form of the old one.
    let form = hub.ask("GET", &format!("/questions/{ticket}"), &[], "").1;
    let csrf = form.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    hub.crash();
    let again = format!("csrf={csrf}&made=0&act=answer&f0=0&passphrase=correct+horse");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(hub.ask("POST", &format!("/questions/{ticket}"), &form, &again).0, 403);

    let pending = Person::pending(&hub.home);
    assert_eq!(pending.iter().map(|question| &question["ticket"]).collect::<Vec<_>>(), [&json!(ticket)]);
}
