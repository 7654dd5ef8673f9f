//! Permission requests with arguments that try to hide the call, and with a configuration file that is not valid.

use serde_json::json;

use super::console_client::Console;
use super::permissions::{Hook, behavior, event, patient_console, question};
use crate::support::ntfy::Ntfy;

#[test]
fn a_rule_denies_whatever_else_the_agent_writes_into_the_call() {
    let console = Console::new();
    let home = &console.home;
    let rule = "[[approval_rules]]\nname = \"no rm\"\ndecision = \"deny\"\ncommand = \"rm *\"\n";
    home.write(".adjutant/config.toml", rule);
    assert!(home.run(["reload"], "").status.success());
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let large = format!("\"{}\"", "a".repeat(5 * 1024 * 1024));
    for added in [r#""\ud800""#, r#""a\ud83d b""#, "1e999", &deep, &large] {
        let of = |client: &str, name: &str, tool: &str| {
            let input = event(home, name, "s", "rm x").replace("\"Harmless.\"", added).replace("Bash", tool);
            home.run(["hook", client], input).lines().into_iter().next().unwrap_or_default()
        };
        let what: String = added.chars().take(20).collect();
        assert_eq!(of("gemini", "BeforeTool", "run_shell_command")["decision"], "deny", "{what}");
        let decision = &of("claude", "PreToolUse", "Bash")["hookSpecificOutput"]["permissionDecision"];
        assert_eq!(*decision, "deny", "{what}");
        let arguments = format!("{{\"command\": \"rm x\", \"description\": {added}}}");
        let input = json!({"sessionId": "s", "cwd": home.path(), "toolName": "bash", "toolArgs": arguments});
        let copilot = home.run(["hook", "copilot"], input.to_string()).lines();
        assert_eq!(copilot.first().map(|answer| &answer["behavior"]), Some(&json!("deny")), "{what}");
    }
}

#[test]
fn an_argument_that_is_given_twice_is_allowed_by_no_rule() {
    let console = Console::new();
    let home = &console.home;
    let rules = "[permissions]\nwait_seconds = 1\n\
        [[approval_rules]]\nname = \"builds\"\ndecision = \"allow\"\ncommand = \"make *\"\n\
        [[approval_rules]]\nname = \"no rm\"\ndecision = \"deny\"\ncommand = \"rm *\"\n";
    home.write(".adjutant/config.toml", rules);
    assert!(home.run(["reload"], "").status.success());
    for (arguments, expected) in [
        (r#"{"command": "make all"}"#, json!("allow")),
        (r#"{"command": "rm x", "command": "make all"}"#, json!(null)),
        (r#"{"command": "make all", "command": "make all"}"#, json!(null)),
        // Copilot runs the last one.
        (r#"{"command": "make all", "command": "rm x"}"#, json!("deny")),
    ] {
        let input = json!({"sessionId": "s", "cwd": home.path(), "toolName": "bash", "toolArgs": arguments});
        let decided = home.run(["hook", "copilot"], input.to_string()).lines();
        let behavior = decided.first().map(|answer| answer["behavior"].clone()).unwrap_or_default();
        assert_eq!(behavior, expected, "{arguments}");
        let text = event(home, "PreToolUse", "s", "x")
            .replace(r#"{"command":"x","description":"Harmless."}"#, arguments);
        assert!(text.contains(arguments), "{text}");
        let decided = home.run(["hook", "claude"], text).lines();
        let decision =
            decided.first().map(|answer| answer["hookSpecificOutput"]["permissionDecision"].clone());
        assert_eq!(decision.unwrap_or_default(), expected, "{arguments}");
    }
}

#[test]
fn a_phone_is_asked_once_and_answers_once() {
    let ntfy = Ntfy::start();
    let mut console = Console::new();
    let config = format!(
        "[permissions]\nwait_seconds = 300\n[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\nreply_topic = \"back\"\nbody = true\n",
        ntfy.url()
    );
    console.home.write(".adjutant/config.toml", config);
    console.restart();
    let home = &console.home;
    ntfy.next_subscriber();
    let ask = |line: &str| Hook::of_agent(home, &event(home, "PermissionRequest", "s1", line));
    let hook = ask("make all");
    let notice = ntfy.next_notification();
    let folder = home.path().canonicalize().unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(notice["title"].as_str().unwrap().contains("Claude Code wants to run a command"), "{notice}");
    let message = notice["message"].as_str().unwrap();
    assert!(message.contains("make all") && message.contains(name), "{notice}");
    let actions = notice["actions"].as_array().unwrap();
    let labels: Vec<&str> = actions.iter().filter_map(|action| action["label"].as_str()).collect();
    assert_eq!(labels, ["Approve", "Deny"], "{notice}");
    ntfy.press(&actions[0]);
    assert_eq!(behavior(&hook.decision()), "allow");
    // The same button means nothing for the next call, and nothing for the same call again.
    let next = ask("make all");
    let again = ntfy.next_notification();
    ntfy.press(&actions[0]);
    ntfy.press(&actions[1]);
    ntfy.press(&again["actions"][1]);
    assert_eq!(behavior(&next.decision()), "deny");
    // Without its text, a request has no buttons.
    let long = ask(&format!("make {}", "a".repeat(8_000)));
    let notice = ntfy.next_notification();
    assert_eq!(notice["actions"], json!([]), "{notice}");
    let id = question(&console, "aaaa").rsplit('/').next().unwrap().to_owned();
    assert!(home.run(["permissions", "answer", "deny", &id], "").status.success());
    assert_eq!(behavior(&long.decision()), "deny");
}

#[test]
fn a_faulty_configuration_file_does_not_lock_the_user_out_of_the_running_hub() {
    let console = patient_console();
    let home = &console.home;
    let hook = Hook::of_agent(home, &event(home, "PermissionRequest", "s1", "make all"));
    let id = question(&console, "make all").rsplit('/').next().unwrap().to_owned();
    home.write(".adjutant/config.toml", "broken");
    for words in [
        &["status"][..],
        &["open", "--print"],
        &["questions", "list"],
        &["availability"],
        &["permissions", "pending"],
        &["permissions", "answer", "approve", &id],
    ] {
        let finished = home.run(words, "");
        assert!(finished.status.success(), "{words:?}: {finished}");
        let is_noted = finished.stderr.starts_with("the hub continues with its last settings: ");
        assert!(is_noted && finished.stderr.contains("config.toml is not valid"), "{words:?}: {finished}");
    }
    assert_eq!(behavior(&hook.decision()), "allow");
    assert!(home.run(["stop"], "").status.success());
    let without = home.run(["status"], "");
    assert!(without.stderr.starts_with("error: ") && !without.status.success(), "{without}");
}
