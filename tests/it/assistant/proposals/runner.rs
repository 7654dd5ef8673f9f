//! One of the coding-agent CLIs, here a fake one.

use serde_json::{Value, json};

use super::{assistant, fallback_reasons, home, plan, planned, policy_plan, proposal, run};
use crate::assistant::{result_json, tool};
use crate::support::process_table::{runs_of_home, wait_until_none};
use crate::support::{Home, Peer, wait_for};

/// A home whose only runner answers by this shell text. Each of its prompts is kept in a file.
fn home_with_runner(text: &str) -> Home {
    let home = home("");
    let program = home.path().join("bin/oracle");
    let config = format!(
        "[tasks]\nsandbox = 'none'\n[assistant]\nplanner = ['runner']\n[assistant.runner]\nname = 'oracle'\n\
         [[runners]]\nname = 'oracle'\ncommand = ['{}']\nstdin = 'prompt'\nfinal_message = 'stdout'\n\
         levels = ['read-only']\n",
        program.display()
    );
    home.write(".adjutant/config.toml", config);
    let found = home.path().join("seen");
    std::fs::create_dir(&found).unwrap();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 1.0\nprompt={}/$$\npwd >\"$prompt.folder\"\nls -A >>\"$prompt.folder\"\ncat >\"$prompt\"\n{text}\n",
        found.display()
    );
    home.write_program("bin/oracle", text);
    home
}

/// The prompts of the runner, and its working folder with its content.
fn runner_prompts_and_folder(home: &Home) -> (Vec<String>, Vec<String>) {
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let all = std::fs::read_dir(home.path().join("seen")).unwrap().map(|entry| entry.unwrap().path());
    let (folders, prompts): (Vec<_>, Vec<_>) = all.partition(|path| path.extension().is_some());
    (prompts.iter().map(|path| read(path)).collect(), folders.iter().map(|path| read(path)).collect())
}

#[test]
fn a_runner_proposes_from_an_empty_folder() {
    let home = home_with_runner(&format!("echo '{}'", proposal(&[(45, "email", "Bring the numbers.")])));
    let mut peer = assistant(&home);
    let answer = plan(&mut peer);
    assert_eq!(
        (planned(&answer, "review"), fallback_reasons(&answer)),
        (vec![(-45, "email".to_owned())], vec![])
    );
    assert_eq!(answer["notifications"][0]["reasons"][0]["by"], "runner");
    let (prompts, folders) = runner_prompts_and_folder(&home);
    assert_eq!(prompts.len(), 2, "one for each event");
    for prompt in &prompts {
        assert!(prompt.starts_with("You are a scheduling policy agent"), "{prompt}");
        assert!(prompt.contains("\n\nTask: {") && prompt.contains("\"maxItems\":3"), "{prompt}");
    }
    for folder in &folders {
        assert_eq!(folder.lines().count(), 1, "there is nothing to be read: {folder}");
        assert!(!folder.starts_with(home.path().to_str().unwrap()), "{folder}");
    }
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
    wait_until_none("runs", || runs_of_home(home.path()));
}

#[test]
fn the_command_line_asks_planners_in_the_same_order() {
    let home = home_with_runner(&format!("echo '{}'", proposal(&[(45, "email", "")])));
    assert_eq!(
        run(&home, &["notifications", "plan", "ann"]),
        "2 planned, 0 as before, 4 withdrawn, for 2 events\n"
    );
    assert_eq!(runner_prompts_and_folder(&home).0.len(), 2);
    wait_until_none("runs", || runs_of_home(home.path()));
    let planned_only = ["notifications", "list", "--status", "planned", "--json"];
    let listed: Value = serde_json::from_str(&run(&home, &planned_only)).unwrap();
    assert_eq!(planned(&listed, "review"), [(-45, "email".to_owned())]);
    // The hub's tasks stay the hub's.
    assert!(!home.path().join(".adjutant/spool").exists());

    // For all users, one after the other; events that no planner was asked about are named.
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    home.write(".adjutant/config.toml", config.replace("['runner']", "['runner']\nmax_events_asked = 1"));
    run(
        &home,
        &["users", "add", "Bob", "--id", "bob", "--email", "bob@example.org", "--quiet-hours", "none"],
    );
    run(&home, &["events", "import", "bob", "work.ics"]);
    let output: Value =
        serde_json::from_str(&run(&home, &["notifications", "plan", "--all", "--json"])).unwrap();
    assert_eq!(
        (&output["events_processed"], &output["unasked"], &output["fell_back"]),
        (&json!(4), &json!(1), &json!(0))
    );
    assert_eq!(runner_prompts_and_folder(&home).0.len(), 3);

    // A command has no client to ask, and says so.
    home.write(".adjutant/config.toml", "[assistant]\nplanner = ['client', 'sampling']\n");
    let text = home.run(["notifications", "plan", "ann", "--force"], "");
    assert!(
        text.status.success() && text.stderr.contains("cannot answer by a second call"),
        "{}",
        text.stderr
    );
    assert!(text.stderr.contains("has not declared sampling"), "{}", text.stderr);
}

#[test]
fn a_runner_that_answers_with_prose_is_corrected_once() {
    let home = home_with_runner("echo 'I would remind them the evening before.'");
    let answer = plan(&mut assistant(&home));
    assert_eq!(planned(&answer, "review"), policy_plan());
    for why in fallback_reasons(&answer) {
        assert!(why.starts_with("runner: the answer of task ") && why.ends_with(" after a repair"), "{why}");
    }
    assert_eq!((fallback_reasons(&answer).len(), runner_prompts_and_folder(&home).0.len()), (2, 4));
}

#[test]
fn the_policy_plans_when_a_runner_fails_or_hangs() {
    let home = home_with_runner("echo 'no such model' >&2; exit 3");
    let answer = plan(&mut assistant(&home));
    assert_eq!(planned(&answer, "review"), policy_plan());
    assert!(fallback_reasons(&answer)[0].contains("ended with "), "{answer}");

    let home = home_with_runner("sleep 300");
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    home.write(
        ".adjutant/config.toml",
        config.replace("name = 'oracle'\n[[", "name = 'oracle'\ntimeout_seconds = 1\n[["),
    );
    let mut peer = assistant(&home);
    let answer = plan(&mut peer);
    assert_eq!(planned(&answer, "review"), policy_plan());
    assert_eq!(fallback_reasons(&answer).len(), 2, "{answer}");
    wait_until_none("runs", || runs_of_home(home.path()));

    // A cancelled call ends its requests and changes nothing: the plan of the import stays.
    let home = home_with_runner("sleep 300");
    let mut peer = assistant(&home);
    let params = json!({"name": "planNotifications", "arguments": {"user_id": "ann"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}));
    wait_for("the question", || (!runner_prompts_and_folder(&home).0.is_empty()).then_some(()));
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    let answer = peer.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32005)), "{answer}");
    wait_until_none("runs", || runs_of_home(home.path()));
    let listed = result_json(&tool(&mut peer, "listNotifications", json!({"user_id": "ann"})));
    assert_eq!(listed["count"], 4, "{listed}");
    let of_policy = |one: &Value| one["reasons"][0]["by"] == "policy";
    assert!(listed["notifications"].as_array().unwrap().iter().all(of_policy), "{listed}");
}

#[test]
fn a_planner_without_its_runner_names_the_missing_runner() {
    let home = home(
        "[assistant]\nplanner = ['runner']\n[[runners]]\nname = 'gone'\ncommand = ['/no/such/program']\nlevels = ['read-only']\n",
    );
    let mut peer: Peer = assistant(&home);
    let answer: Value = plan(&mut peer);
    assert_eq!(planned(&answer, "review"), policy_plan());
    let why = fallback_reasons(&answer);
    assert!(why[0].contains("no runner can be tried: gone is not installed"), "{why:?}");
}
