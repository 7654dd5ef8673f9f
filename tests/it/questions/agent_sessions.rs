//! A question, its answer and earlier outcomes belong to one agent session in one workspace.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::fixtures::{Hub, User, example, relay_of};
use crate::support::ntfy::Ntfy;
use crate::support::serving::Serving;
use crate::support::{Home, Peer};

/// Relays of one client, as many as there are folders.
fn sessions<const N: usize>(hub: &Hub, folders: [&str; N]) -> [Peer; N] {
    folders.map(|folder| {
        let folder = hub.home.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let mut peer = hub.client_in("all", &folder);
        peer.initialize("2025-11-25");
        peer
    })
}

fn call(peer: &mut Peer, id: i64, name: &str, arguments: Value) -> Value {
    peer.call(id, "tools/call", json!({"name": name, "arguments": arguments}))["result"].clone()
}

/// A question without a workspace, as an agent asks it.
fn question_without_workspace() -> Value {
    let mut question = example("Continue?");
    question.as_object_mut().unwrap().remove("workspacePath");
    question
}

#[test]
fn an_unrelated_folder_that_an_agent_names_is_shown_with_its_own() {
    let ntfy = Ntfy::start();
    let phone = format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\n", ntfy.url());
    let hub = Hub::with(&format!("wait_seconds = 1\n{phone}"));
    let [mut peer] = sessions(&hub, ["code/shop"]);
    let own = hub.home.path().join("code/shop").display().to_string();
    call(&mut peer, 1, "triggerPopup", example("Deploy?"));
    let notice = ntfy.next_notification();
    assert_eq!(notice["title"], "test in to/workspace (runs in code/shop) asks: Deploy?");
    let run = |words: &[&str]| hub.home.run(words, "");
    let listed = run(&["questions", "list"]);
    assert!(listed.stdout.contains("test in to/workspace (runs in code/shop)"), "{listed}");
    let listed: Value = serde_json::from_str(&run(&["questions", "list", "--json"]).stdout).unwrap();
    let question = &listed["items"][0]["question"];
    assert_eq!((&question["workspace"], &question["runs_in"]), (&json!("/path/to/workspace"), &json!(own)));
    let shown = run(&["questions", "show", question["ticket"].as_str().unwrap()]);
    let lines = format!("\nfolder    /path/to/workspace\nruns in   {own}\n");
    assert!(shown.stdout.contains(&lines), "{shown}");
    let lines = run(&["inbox"]);
    let from = format!(" from test in /path/to/workspace (runs in {own}), ");
    assert!(lines.stdout.contains(&from), "{lines}");

    let mut inside = example("Inside?");
    inside["workspacePath"] = json!(format!("{own}/api"));
    call(&mut peer, 2, "triggerPopup", inside);
    assert_eq!(User::wait_for_question(&hub.home, "Inside?")["runs_in"], json!(""));
}

#[test]
fn two_sessions_of_one_client_share_no_question_and_no_answer() {
    let hub = Hub::with("undo_milliseconds = 0\nwait_seconds = 1");
    let mut peers = sessions(&hub, ["one", "two", "two"]);
    let mut tickets = Vec::new();
    for peer in &mut peers {
        let asked = call(peer, 1, "triggerPopup", question_without_workspace());
        tickets.push(asked["structuredContent"]["ticket"].as_str().unwrap().to_owned());
    }
    let pending = User::pending(&hub.home);
    assert_eq!(pending.len(), 3, "each session has its own question: {pending:?}");
    let folders: Vec<_> = pending.iter().map(|question| question["workspace"].as_str().unwrap()).collect();
    let of = |folder: &str| hub.home.path().join(folder).display().to_string();
    assert_eq!(folders, [of("one"), of("two"), of("two")], "the user is shown where each one runs");
    let first = pending.iter().find(|question| question["ticket"] == json!(tickets[0])).unwrap();
    hub.user().choose(first, "yes");
    let [item, two, three] = &mut peers;
    for other in [two, three] {
        let listed = call(other, 2, "list_prompts", json!({}));
        assert!(listed["structuredContent"].get("earlier_answers").is_none(), "{listed}");
        let stolen = call(other, 3, "await_answer", json!({"ticket": tickets[0], "seconds": 1}));
        assert_eq!(stolen["isError"], json!(true), "{stolen}");
        let repeated = call(other, 4, "triggerPopup", question_without_workspace());
        assert_eq!(repeated["structuredContent"]["status"], json!("pending"), "{repeated}");
    }
    let listed = call(item, 2, "list_prompts", json!({}));
    let earlier = &listed["structuredContent"]["earlier_answers"];
    assert_eq!(earlier[0]["selectedValue"], json!("yes"), "{listed}");
    assert_eq!(User::pending(&hub.home).len(), 2);
}

#[test]
fn a_restarted_agent_session_finds_its_question_in_its_workspace_only() {
    let hub = Hub::with("undo_milliseconds = 0\nwait_seconds = 1\ndisconnect_grace_seconds = 600");
    let [mut lost, mut elsewhere] = sessions(&hub, ["one", "two"]);
    call(&mut lost, 1, "triggerPopup", question_without_workspace());
    let question = User::wait_for_question(&hub.home, "Continue?");
    let mut watch = User::follow(&hub.home);
    kill_process(relay_of(&lost), Signal::KILL).unwrap();
    drop(lost);
    watch.wait_for_presence("Continue?", "away");
    let asked = call(&mut elsewhere, 1, "triggerPopup", question_without_workspace());
    assert_ne!(asked["structuredContent"]["ticket"], question["ticket"], "another workspace: {asked}");
    hub.user().choose(&question, "yes");
    let [mut found] = sessions(&hub, ["one"]);
    let answer = call(&mut found, 1, "triggerPopup", question_without_workspace());
    assert_eq!(answer["structuredContent"]["selectedValue"], json!("yes"), "{answer}");
    let anew = call(&mut found, 2, "triggerPopup", question_without_workspace());
    assert_eq!(
        anew["structuredContent"]["status"],
        json!("pending"),
        "a delivered outcome is not used again"
    );
}

#[test]
fn a_waiting_call_of_a_killed_relay_keeps_no_other_session_from_its_question() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "grace_seconds = 600\n[questions]\nundo_milliseconds = 0\n");
    let hub = Hub { serving: Serving::open_hub(&home), home };
    let [mut lost] = sessions(&hub, ["one"]);
    lost.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "triggerPopup", "arguments": question_without_workspace()}}));
    let question = User::wait_for_question(&hub.home, "Continue?");
    let mut watch = User::follow(&hub.home);
    kill_process(relay_of(&lost), Signal::KILL).unwrap();
    watch.wait_for_presence("Continue?", "away");
    let [mut next] = sessions(&hub, ["one"]);
    next.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "triggerPopup", "arguments": question_without_workspace()}}));
    watch.wait_for_presence("Continue?", "here");
    assert_eq!(User::pending(&hub.home).len(), 1, "it is one question");
    hub.user().choose(&question, "yes");
    assert_eq!(next.receive()["result"]["structuredContent"]["selectedValue"], json!("yes"));
}

#[test]
fn a_session_that_ended_with_its_hub_leaves_its_question_to_the_next_one() {
    let mut hub = Hub::new();
    let ask = |peer: &mut Peer| {
        peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "triggerPopup", "arguments": question_without_workspace()}}));
    };
    let [mut lost] = sessions(&hub, ["one"]);
    ask(&mut lost);
    let question = User::wait_for_question(&hub.home, "Continue?");
    kill_process(relay_of(&lost), Signal::KILL).unwrap();
    hub.kill_and_restart();
    // The hub cannot know yet that the relay does not return.
    let [mut next] = sessions(&hub, ["one"]);
    let mut watch = User::follow(&hub.home);
    ask(&mut next);
    watch.wait_for_presence("Continue?", "here");
    assert_eq!(User::pending(&hub.home).len(), 1, "it is one question");
    hub.user().choose(&question, "yes");
    assert_eq!(next.receive()["result"]["structuredContent"]["selectedValue"], json!("yes"));
}
