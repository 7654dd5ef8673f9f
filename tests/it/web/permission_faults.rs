//! Permission requests with arguments that try to hide the call, and with a configuration file that is not valid.

use serde_json::json;

use super::console_client::Console;
use super::permissions::{Hook, behavior, event, question};

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
fn a_faulty_configuration_file_does_not_lock_the_user_out_of_the_running_hub() {
    let console = Console::new();
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
