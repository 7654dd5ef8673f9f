//! Tests of rules for a tool, by its arguments and the client's mode.

use serde_json::json;

use super::*;

#[test]
fn a_rule_for_a_tool_allows_nothing_that_the_hub_cannot_judge() {
    let allow = |tool: &str| rule(Verdict::Allow, |rule| rule.tool = Some(tool.to_owned()));
    for (client, tool, arguments, expected) in [
        ("claude", "Grep", json!({"pattern": "tide", "path": "src"}), "allow"),
        ("claude", "Grep", json!({"pattern": ".", "path": "/home/ann/.ssh"}), "default: secrets"),
        ("claude", "mcp__files__read", json!({"files": ["a.rs", "deploy/.env"]}), "default: secrets"),
        // It may be a shell, or a connection of Codex that a command wants to have.
        ("claude", "PowerShell", json!({"command": "Get-Date"}), ""),
        ("codex", "network-access", json!({"command": "curl x", "description": "network-access x.org"}), ""),
        ("claude", "WebFetch", json!({"url": "https://x.org", "prompt": "p"}), "allow"),
        ("claude", "WebFetch", json!({"url": "http://x.org", "prompt": "p"}), ""),
        ("claude", "WebFetch", json!({"url": "https://x.org:444/", "prompt": "p"}), ""),
        ("claude", "WebFetch", json!({"url": "https://u@x.org/", "prompt": "p"}), ""),
    ] {
        let request = request(client, tool, arguments);
        assert_eq!(decided(&[allow(tool)], &request).1, expected, "{request:?}");
    }
    let named = request("codex", "network-access", json!({"command": "git push --force"}));
    assert_eq!(Rule::narrowest(&named, Verdict::Allow), None);
    assert_eq!(decided(&[command(Verdict::Deny, "git push")], &named).0, Verdict::Deny);
    let evil = rule(Verdict::Deny, |rule| rule.host = Some("evil.example".into()));
    let fetch = request("claude", "WebFetch", json!({"url": "https://evil.example./", "prompt": "p"}));
    assert_eq!(decided(&[evil, allow("WebFetch")], &fetch).0, Verdict::Deny);
}

#[test]
fn plan_mode_and_doubled_arguments_are_asked_and_still_denied() {
    let rules = [
        command(Verdict::Allow, "git *"),
        rule(Verdict::Allow, |rule| rule.tool = Some("Edit".into())),
        rule(Verdict::Allow, |rule| rule.tool = Some("mcp__files__read".into())),
        command(Verdict::Deny, "git push"),
    ];
    let read = || request("claude", "Read", json!({"file_path": "src/a.rs"}));
    let edit = || request("claude", "Edit", json!({"file_path": "a", "old_string": "a", "new_string": "b"}));
    let unknown = || request("claude", "mcp__files__read", json!({"path": "a"}));
    for (request, plan, twice) in [
        (read(), "default: read", "default: twice"),
        (edit(), "default: plan", "default: twice"),
        (unknown(), "default: plan", "default: twice"),
        (shell("git status"), "default: plan", "default: twice"),
        (shell("git push"), "deny", "deny"),
        (shell("make"), "", ""),
        (shell("cat .env"), "default: secrets", "default: secrets"),
    ] {
        for (allowable, name) in [(Allowable::Reads, plan), (Allowable::Nothing, twice)] {
            let request = request.clone().with_allowable(allowable);
            let (verdict, names) = decided(&rules, &request);
            assert_eq!(names, name, "{request:?}");
            assert_eq!(verdict == Verdict::Allow, name == "default: read", "{request:?}");
        }
    }
}

#[test]
fn a_rule_for_a_tool_in_a_folder_allows_no_words_that_lead_out_of_it() {
    let rules = [rule(Verdict::Allow, |rule| {
        (rule.tool, rule.folder) = (Some("NotebookEdit".into()), Some("/home/ann/tides".into()));
    })];
    for (path, expected) in [
        ("/home/ann/tides/a.ipynb", "allow"),
        ("src/a.ipynb", "allow"),
        ("/home/ann/notes/a.ipynb", ""),
        ("../notes/a.ipynb", ""),
        ("file:///home/ann/notes/a.ipynb", ""),
        ("--to=/home/ann/notes", ""),
    ] {
        let request = request("claude", "NotebookEdit", json!({"notebook_path": path, "new_source": "x"}));
        assert_eq!(decided(&rules, &request).1, expected, "{path}");
    }
}
