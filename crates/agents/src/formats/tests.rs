//! Tests of each format: from the text of a file to its agent.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{Agent, read, stem, write};
use crate::definition::{FieldSupport, Isolation, OnHubExit, Permission, Program};
use adjutant_base::config::network::Network;

/// Returns each key with its support, as text.
fn support(agent: &Agent) -> Vec<String> {
    let lines = agent.fields.iter().map(|field| match &field.support {
        FieldSupport::Mapped(text) | FieldSupport::Unsupported(text) => {
            format!("{} {}: {text}", field.key, field.support.name())
        }
        FieldSupport::Supported | FieldSupport::Unknown => format!("{} {}", field.key, field.support.name()),
    });
    lines.collect()
}

fn own(text: &str) -> Result<Agent, String> {
    read(Program::Adjutant, &format!("persona: P\ndescription: D\n{text}"))
}

#[test]
fn the_contract_needs_two_keys() {
    let agent = read(Program::Adjutant, "persona: |\n  You review.\n\ndescription: Reviews.\nmodel: gpt-5\n")
        .unwrap();
    assert_eq!((agent.persona.as_str(), agent.description.as_str()), ("You review.", "Reviews."));
    assert_eq!((agent.model.as_deref(), agent.permission), (Some("gpt-5"), Permission::ReadOnly));
    for (text, reason) in [
        ("description: D\n", "it has no persona"),
        ("persona: P\n", "it has no description"),
        ("persona: '  '\ndescription: D\n", "it has no persona"),
        ("", "it has no persona"),
        ("- a\n", "it is not valid YAML: it is not a list of keys with values"),
        ("persona: \"a\\0b\"\ndescription: D\n", "its persona has a NUL character"),
        ("persona: [a]\ndescription: D\n", "`persona` is not a text; put it in quotes"),
    ] {
        assert_eq!(read(Program::Adjutant, text).unwrap_err(), reason, "{text}");
    }
    assert!(read(Program::Adjutant, "persona: a: b\n").unwrap_err().starts_with("it is not valid YAML: "));
}

#[test]
fn our_own_keys_are_checked() {
    let agent = own(
        "runner: codex\npermission: workspace-write\ntimeout: 10m\non_hub_exit: keep\nisolation: worktree\n\
         checks: [cargo test, [make, check]]\nchecks_must_pass: false\nenv: {CI: 1, NAME: x}\ncolour: red\n",
    )
    .unwrap();
    assert_eq!((agent.runner.as_deref(), agent.permission), (Some("codex"), Permission::WorkspaceWrite));
    assert_eq!((agent.timeout, agent.on_hub_exit), (Some(Duration::from_mins(10)), OnHubExit::Keep));
    assert_eq!((agent.isolation, agent.env["CI"].as_str()), (Isolation::Worktree, "1"));
    assert_eq!(agent.checks, [vec!["sh", "-c", "cargo test"], vec!["make", "check"]]);
    assert!(agent.checks_may_fail && !own("checks: [x]\n").unwrap().checks_may_fail);
    assert_eq!(support(&agent).last().unwrap(), "colour unknown");
    for (text, reason) in [
        (
            "permission: workspace-writ",
            "`permission` cannot be `workspace-writ`; did you mean `workspace-write`?",
        ),
        ("permission: yolo", "`permission` cannot be `yolo`; use read-only, workspace-write, full"),
        ("timeout: 0", "`timeout` cannot be `0`; use one like 90s, 10m or 1h"),
        ("timeout: soon", "`timeout` cannot be `soon`; use one like 90s, 10m or 1h"),
        (
            "timeout: 18446744073709551615h",
            "`timeout` cannot be `18446744073709551615h`; use one like 90s, 10m or 1h",
        ),
        ("timeout: 25h", "`timeout` cannot be longer than 24h"),
        ("model: --yolo", "`model` must not begin with `-` or have control characters"),
        (
            "checks: 3",
            "`checks` is a list of commands: each a text for the shell, or a list of program and arguments",
        ),
        (
            "permission: full\nnetwork: none",
            "`network` cannot be limited with `permission: full`, because such a run has no sandbox",
        ),
        ("env: {A=B: c}", "`env` has `A=B`, which is not the name of a variable"),
        ("env: {A: [c]}", "`env` gives `A` no text"),
    ] {
        assert_eq!(own(text).unwrap_err(), reason, "{text}");
    }
}

#[test]
fn file_names_tell_whose_they_are() {
    for (program, name, expected) in [
        (Program::Adjutant, "a.yaml", Some("a")),
        (Program::Adjutant, "a.YAML", Some("a")),
        (Program::Adjutant, "a.yml", None),
        (Program::Adjutant, ".yaml", None),
        (Program::Claude, "a.md", Some("a")),
        (Program::Copilot, "a.agent.md", Some("a")),
        (Program::Copilot, "a.md", Some("a")),
        (Program::Codex, "é.toml", Some("é")),
        (Program::Codex, "a.md", None),
        (Program::Gemini, "é", None),
    ] {
        assert_eq!(stem(program, name), expected, "{name}");
    }
}

#[test]
fn claude_agents_are_understood() {
    let text = "---\nname: Code Reviewer\ndescription: Use when: code changed\ntools: Read, Grep, Bash(git diff:*)\n\
        model: sonnet\npermissionMode: plan\nisolation: worktree\nhooks:\n  Stop: x\nodd: 1\n---\n\nYou review.\n";
    let agent = read(Program::Claude, text).unwrap();
    assert_eq!(agent.name, "code-reviewer");
    assert_eq!(agent.description, "Use when: code changed");
    assert_eq!((agent.model.as_deref(), agent.runner.as_deref()), (Some("sonnet"), Some("claude")));
    assert_eq!((agent.permission, agent.isolation), (Permission::ReadOnly, Isolation::Worktree));
    assert_eq!(agent.warnings.len(), 1, "read line by line");
    assert_eq!(
        support(&agent),
        [
            "name mapped: the name is `code-reviewer`",
            "description supported",
            "tools mapped: permission `workspace-write`; single tools are not distinguished",
            "model mapped: `sonnet` in the words of claude: the runner is `claude`",
            "isolation supported",
            "hooks unsupported: nothing that a definition of another program says is run",
            "odd unknown",
            "permissionMode mapped: permission `read-only`",
        ]
    );
    let bypass = "---\nname: a\ndescription: b\npermissionMode: bypassPermissions\nmodel: inherit\n---\nP";
    let agent = read(Program::Claude, bypass).unwrap();
    assert_eq!((agent.permission, agent.model), (Permission::WorkspaceWrite, None));
}

#[test]
fn copilot_agents_are_understood() {
    let text = "---\nname: Test Writer\ndescription: Writes tests\ntarget: vscode\ntools: ['read', 'edit']\n\
        model: [gpt-5, other]\nmcp-servers: {a: {}}\n---\nYou write tests.\n";
    let agent = read(Program::Copilot, text).unwrap();
    assert_eq!((agent.name.as_str(), agent.permission), ("", Permission::WorkspaceWrite));
    assert_eq!((agent.model.as_deref(), agent.runner.as_deref()), (Some("gpt-5"), Some("copilot")));
    assert_eq!(
        support(&agent)[..3],
        [
            "name unsupported: the file's name is the agent's",
            "description supported",
            "target unsupported: the delegating client decides where it runs"
        ]
    );
}

#[test]
fn codex_agents_are_understood() {
    let text = "name = \"pr_explorer\"\ndescription = \"Explores\"\nmodel = \"gpt-5-codex\"\n\
        sandbox_mode = \"danger-full-access\"\ndeveloper_instructions = \"\"\"\nStay in exploration.\n\"\"\"\n[mcp_servers.x]\nurl = \"y\"\n";
    let agent = read(Program::Codex, text).unwrap();
    assert_eq!((agent.name.as_str(), agent.persona.as_str()), ("pr_explorer", "Stay in exploration."));
    assert_eq!((agent.permission, agent.runner.as_deref()), (Permission::WorkspaceWrite, Some("codex")));
    assert!(
        support(&agent).contains(
            &"sandbox_mode mapped: permission `workspace-write`; only a file of Adjutant grants `full`"
                .to_owned()
        )
    );
    assert_eq!(read(Program::Codex, "name = 3\n").unwrap_err(), "`name` cannot be `3`");
    assert!(read(Program::Codex, "a = 1\nname = \n").unwrap_err().ends_with("(line 2)"));
    assert_eq!(read(Program::Codex, "description = \"a\"").unwrap_err(), "it has no persona");
}

#[test]
fn gemini_and_opencode_agents_are_understood() {
    let gemini = "---\nkind: local\nname: writer\ndescription: D\ntools:\n  - read_file\n  - write_file\ntimeout_mins: 5\n---\nP";
    let agent = read(Program::Gemini, gemini).unwrap();
    assert_eq!((agent.permission, agent.timeout), (Permission::WorkspaceWrite, Some(Duration::from_mins(5))));
    let remote = "---\nkind: remote\nname: a\nagent_card_url: http://x\n---\n";
    assert_eq!(
        read(Program::Gemini, remote).unwrap_err(),
        "it is a remote agent, which no program here can run"
    );

    for (rules, level) in [
        ("permission:\n  edit: deny\n  bash: deny", Permission::ReadOnly),
        ("permission:\n  edit: allow", Permission::WorkspaceWrite),
        ("permission:\n  edit: deny\n  bash:\n    \"git *\": allow", Permission::WorkspaceWrite),
        ("tools:\n  write: false\n  edit: false", Permission::ReadOnly),
        ("tools:\n  webfetch: true", Permission::ReadOnly),
        ("permission: allow", Permission::WorkspaceWrite),
    ] {
        let text = format!("---\ndescription: D\nmode: subagent\nmodel: anthropic/claude-x\n{rules}\n---\nP");
        let agent = read(Program::Opencode, &text).unwrap();
        assert_eq!(agent.permission, level, "{rules}");
        assert_eq!(agent.model.as_deref(), Some("anthropic/claude-x"));
    }
    let disabled = "---\ndescription: D\ndisable: true\n---\nP";
    assert_eq!(read(Program::Opencode, disabled).unwrap_err(), "it is disabled");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "[ \\ta-z:#|>'\"\\\\\n{}\\[\\],é-]{1,40}", "\\PC{1,20}"]
        .prop_map(|text: String| text.trim().to_owned())
        .prop_filter("persona and description are never empty", |text| !text.is_empty())
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (persona, description) in (text(), text()),
        (model, runner) in (prop::option::of("[a-z0-9][a-z0-9./:-]{0,20}"), prop::option::of("[a-z]{1,10}")),
        permission in prop::sample::select(Permission::ALL.to_vec()),
        (on_hub_exit, isolation) in (prop::sample::select(OnHubExit::ALL.to_vec()), prop::sample::select(Isolation::ALL.to_vec())),
        (seconds, hosts) in (prop::option::of(1_u64..=86_400), prop::collection::vec("([a-z]{1,8}\\.){0,2}[a-z]{1,8}(:[1-9][0-9]{0,3})?", 0..3)),
        setup in prop::collection::vec(prop::collection::vec(text(), 1..4), 0..3),
        (checks, checks_may_fail) in (prop::collection::vec(prop::collection::vec(text(), 1..4), 0..3), any::<bool>()),
        env in prop::collection::btree_map("[A-Z_][A-Z0-9_]{0,8}", text(), 0..3),
    ) {
        let env: BTreeMap<String, String> = env;
        let timeout = seconds.map(Duration::from_secs);
        let network = match hosts {
            _ if permission == Permission::Full => Network::All,
            hosts if hosts.is_empty() => Network::None,
            hosts => Network::Hosts(hosts),
        };
        let agent = Agent { description, persona, model, runner, permission, network, timeout, on_hub_exit, isolation, checks, checks_may_fail, setup, env, ..Agent::default() };
        let written = write(&agent);
        let again = read(Program::Adjutant, &written).unwrap_or_else(|reason| panic!("{reason}\n{written}"));
        prop_assert_eq!(Agent { fields: Vec::new(), ..again.clone() }, agent, "{}", written);
        prop_assert_eq!(write(&again), written);
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "(---\n)?[-a-z:&*\\[\\]{}\"'=\n #|>!%@\u{feff}é]{0,80}(\n---\n)?\\PC{0,10}", number in any::<prop::sample::Index>()) {
        let all = [Program::Adjutant, Program::Claude, Program::Copilot, Program::Codex, Program::Gemini, Program::Opencode];
        if let Ok(agent) = read(all[number.index(all.len())], &text) {
            assert!(!agent.persona.is_empty() && !agent.description.is_empty());
        }
    }
}
