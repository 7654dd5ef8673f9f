//! `adjutant agents …`: commands and their output, and the definitions of other programs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Finished, Home};

/// Runs `adjutant agents` in a folder of the home and returns exit code, stdout and stderr as one text, with the
/// home's path taken out.
fn transcript_in(home: &Home, folder: &str, arguments: &[&str]) -> String {
    let output = command(home, arguments).current_dir(home.path().join(folder)).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let text = format!("exit {}\n--- stdout\n{stdout}--- stderr\n{stderr}", output.status.code().unwrap());
    text.replace(home.path().to_str().unwrap(), "[home]")
}

fn transcript(home: &Home, arguments: &[&str]) -> String {
    transcript_in(home, "", arguments)
}

fn command(home: &Home, arguments: &[&str]) -> std::process::Command {
    home.adjutant(std::iter::once(&"agents").chain(arguments))
}

fn agents(home: &Home, arguments: &[&str]) -> Finished {
    home.run(std::iter::once(&"agents").chain(arguments), "")
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let finished = agents(home, arguments);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.stdout))
}

/// The user's own folder of agents.
fn user_folder(home: &Home) -> PathBuf {
    home.path().join(".adjutant/agents")
}

/// Every file of a folder, by name, as one text.
fn as_text(folder: &Path) -> String {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let text = files.iter().map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap();
        format!("=== {name}\n{}", std::fs::read_to_string(file).unwrap())
    });
    text.collect()
}

/// Writes a small folder of agents, `mine` in the home.
fn write_files(home: &Home) {
    home.write(
        "mine/porter.yaml",
        "description: Ports code from one library to another.\npersona: |\n  You port code.\n\n  Keep it small.\nmodel: gpt-5\nrunner: codex\npermission: workspace-write\ntimeout: 10m\non_hub_exit: keep\nisolation: worktree\nchecks:\n  - cargo test\n  - [make, check]\nenv:\n  TOKEN: hush\n",
    );
    home.write("mine/plain.yaml", "description: Does it plainly.\npersona: You are plain.\n");
}

/// Writes a workspace, `work` in the home, with a definition for every supported program.
fn write_foreign_definitions(home: &Home) {
    // Next to the definitions are files that no program reads as one.
    home.write("work/.claude/agents/README.md", "# Our agents\n\nRead this first.\n");
    home.write("work/.github/agents/notes.md", "");
    home.write("work/.git/HEAD", "");
    for (path, text) in [
        (
            ".claude/agents/cr.md",
            "---\nname: Code Reviewer\ndescription: Reviews code.\ntools: Read, Grep\nmodel: sonnet\npermissionMode: plan\nhooks:\n  Stop: x\nodd: 1\n---\n\nYou review.\n",
        ),
        (
            ".github/agents/tester.agent.md",
            "---\ndescription: Writes tests.\ntarget: vscode\ntools: ['read', 'edit']\n---\nYou write tests.\n",
        ),
        (
            ".codex/agents/mender.toml",
            "name = \"mender\"\ndescription = \"Mends faults.\"\ndeveloper_instructions = \"You mend.\"\nmodel = \"gpt-5\"\nsandbox_mode = \"danger-full-access\"\nweb_search = true\n",
        ),
        (
            ".gemini/agents/scout.md",
            "---\nname: scout\ndescription: Looks around.\nkind: local\ntimeout_mins: 5\nmax_turns: 9\n---\nYou scout.\n",
        ),
        (
            ".opencode/agent/docs.md",
            "---\ndescription: Writes documents.\nmode: subagent\npermission:\n  edit: allow\n  bash: deny\n---\nYou write documents.\n",
        ),
    ] {
        home.write(&format!("work/{path}"), text);
    }
}

#[test]
fn help_of_every_agents_command() {
    let home = Home::new();
    insta::assert_snapshot!("help", transcript(&home, &["--help"]));
    for command in ["list", "show", "lint", "new", "import", "trust"] {
        insta::assert_snapshot!(format!("help_{command}"), transcript(&home, &[command, "--help"]));
    }
}

#[test]
fn list_shows_agents_by_folder_and_query() {
    let home = Home::new();
    insta::assert_snapshot!("list_bundled", transcript(&home, &["list"]));
    write_files(&home);
    insta::assert_snapshot!("list", transcript(&home, &["list", "--agents-dir", "mine"]));
    insta::assert_snapshot!(
        "list_json",
        transcript(&home, &["list", "PORTS", "--json", "--agents-dir", "mine"])
    );
    let nothing = transcript(&home, &["list", "zzz"]);
    assert_eq!(nothing, "exit 0\n--- stdout\n--- stderr\nno agent matches `zzz`\n");
    std::fs::create_dir(home.path().join("empty")).unwrap();
    let empty = transcript(&home, &["list", "--agents-dir", "empty"]);
    assert!(empty.ends_with("no agents yet; `adjutant agents new NAME` creates one\n"), "{empty}");
    let missing = transcript(&home, &["list", "--agents-dir", "nowhere"]);
    assert_eq!(
        missing,
        "exit 1\n--- stdout\n--- stderr\nerror: nowhere is not a folder\nhint: name an existing folder, or leave the option out\n"
    );
}

#[test]
fn project_agents_override_user_agents_and_these_the_bundled_ones() {
    let home = Home::new();
    home.write("work/.git/HEAD", "");
    home.write("work/.adjutant/agents/reviewer.yaml", "description: The project's.\npersona: Project.\n");
    home.write(".adjutant/agents/reviewer.yaml", "description: The user's.\npersona: User.\n");
    let all = transcript_in(&home, "work", &["list", "reviewer", "--all"]);
    let sources: Vec<&str> = all
        .lines()
        .filter(|line| line.starts_with("reviewer"))
        .map(|line| line.rsplit("  ").next().unwrap())
        .collect();
    assert_eq!(sources, ["project (not trusted yet)", "user (overridden)", "bundled (overridden)"], "{all}");
    let show = transcript_in(&home, "work", &["show", "reviewer"]);
    assert!(show.contains("overrides   user: reviewer.yaml\noverrides   bundled: reviewer.yaml\n"), "{show}");
    let lint = transcript_in(&home, "work", &["lint"]);
    assert!(lint.contains("note[A103]: agent `reviewer` is never used: the one of project wins"), "{lint}");
}

#[test]
fn show_prints_one_agent() {
    let home = Home::new();
    write_files(&home);
    home.write(".adjutant/config.toml", "[tasks]\nsandbox = \"none\"\n");
    insta::assert_snapshot!("show", transcript(&home, &["show", "porter", "--agents-dir", "mine"]));
    let value = transcript(&home, &["show", "porter", "--json", "--agents-dir", "mine"]);
    assert!(!value.contains("hush"), "values of `env` may be secrets: {value}");
    insta::assert_snapshot!("show_json", value);
    insta::assert_snapshot!("show_unknown", transcript(&home, &["show", "reviwer"]));
    let source = agents(&home, &["show", "reviewer", "--source"]).stdout;
    assert_eq!(source, include_str!("../../../crates/agents/assets/reviewer.yaml"));
    home.write("mine/broken.yaml", "description: No persona.\n");
    insta::assert_snapshot!("show_broken", transcript(&home, &["show", "broken", "--agents-dir", "mine"]));
}

#[test]
fn lint_reports_every_rule() {
    let home = Home::new();
    for (path, text) in [
        ("typo.yaml", "description: A typo.\npersona: P.\npermision: full\n"),
        ("runner.yaml", "description: No such runner.\npersona: P.\n\nrunner: codx\n"),
        ("full.yaml", "description: May do everything.\npersona: P.\npermission: full\n"),
        ("Loud Name.yaml", "description: Hard to type.\npersona: P.\n"),
        ("level.yaml", "description: No such level.\npersona: P.\npermission: workspace-writ\n"),
        ("persona.yaml", "description: No persona.\n"),
        ("broken.yaml", "description: [\n"),
        ("fine.yaml", "description: Nothing is wrong.\npersona: P.\n"),
    ] {
        home.write(&format!("faulty/{path}"), text);
    }
    home.write("faulty/latin.yaml", b"description: caf\xe9\npersona: P.\n");
    home.write("faulty/huge.yaml", "x".repeat(300_000));
    insta::assert_snapshot!("lint", transcript(&home, &["lint", "--agents-dir", "faulty"]));
    let value = json(&home, &["lint", "--json", "--agents-dir", "faulty"]);
    let severities = |name: &str| {
        value["items"].as_array().unwrap().iter().filter(|found| found["severity"] == name).count()
    };
    assert_eq!(value["errors"], severities("error"));
    assert_eq!(value["warnings"], severities("warning"));
    assert_eq!(value["files"], 10);
    let missing = transcript(&home, &["lint", "nowhere.yaml"]);
    assert!(
        missing.starts_with("exit 1\n--- stdout\n--- stderr\nerror: nowhere.yaml cannot be read"),
        "{missing}"
    );
}

#[test]
fn lint_reports_field_by_field_how_foreign_definitions_are_read() {
    let home = Home::new();
    write_foreign_definitions(&home);
    insta::assert_snapshot!("lint_foreign", transcript(&home, &["lint", "work"]));
}

#[test]
fn lint_checks_that_a_runner_supports_the_agents_permission() {
    let home = Home::new();
    home.write(
        ".adjutant/config.toml",
        "[[runners]]\nname = \"careful\"\ncommand = [\"careful\"]\nlevels = [\"read-only\"]\n",
    );
    home.write("mine/all.yaml", "description: D.\npersona: P.\nrunner: careful\npermission: full\n");
    home.write("mine/look.yaml", "description: D.\npersona: P.\nrunner: careful\n");
    let value = json(&home, &["lint", "--json", "--agents-dir", "mine"]);
    let refusals = |agent: usize| {
        let runners = value["agents"][agent]["runners"].as_array().unwrap();
        let rejecting = runners.iter().filter(|runner| !runner["reason"].is_null());
        rejecting.map(|runner| runner["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let why = "careful cannot run at permission level `full`: its configuration says that its command line holds read-only only";
    assert_eq!(refusals(0), [why]);
    assert!(refusals(1).is_empty(), "{value:#}");
    let found = value["items"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|finding| (finding["id"].as_str().unwrap(), &finding["message"])).collect();
    assert_eq!(found[0], ("A106", &Value::from(why)), "{found:?}");
}

#[test]
fn docs_list_every_lint_rule_of_agents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(root.join("crates/agents/src/lint.rs")).unwrap();
    let rules = source.lines().filter_map(|line| line.split_once("= rule(")?.1.strip_suffix(");"));
    let rules = rules.map(|rule| {
        let words: Vec<&str> = rule.split(", ").map(|word| word.trim_matches('"')).collect();
        let severity = words[2].strip_prefix("Severity::").unwrap().to_lowercase();
        format!("| {} {} | {severity} | ", words[0], words[1])
    });
    let page = std::fs::read_to_string(root.join("docs/agents.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| A")).collect();
    let rules: Vec<String> = rules.collect();
    assert_eq!(rows.len(), rules.len());
    for (row, rule) in rows.iter().zip(&rules) {
        assert!(row.starts_with(rule.as_str()), "{row}\n{rule}");
    }
}

#[test]
fn the_bundled_agents_have_no_findings() {
    let home = Home::new();
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/agents/assets");
    let value = json(&home, &["lint", "--json", "--agents-dir", bundled.to_str().unwrap()]);
    assert_eq!((&value["files"], &value["items"]), (&Value::from(5), &Value::from(Vec::<Value>::new())));
}

#[test]
fn new_creates_an_agent_template() {
    let home = Home::new();
    insta::assert_snapshot!(
        "new",
        transcript(&home, &["new", "greeter", "--description", "Greets: somebody"])
    );
    let file = user_folder(&home).join("greeter.yaml");
    insta::assert_snapshot!("new_file", std::fs::read_to_string(&file).unwrap());
    assert_eq!(json(&home, &["show", "greeter", "--json"])["description"], "Greets: somebody");
    assert_eq!(json(&home, &["lint", "--json"])["items"], Value::from(Vec::<Value>::new()));

    // The optional fields of the template are valid once uncommented.
    let text = std::fs::read_to_string(&file).unwrap();
    let (text, optional) = text.split_once("need.\n").unwrap();
    let optional: Vec<&str> = optional.lines().map(|line| &line[2..]).collect();
    std::fs::write(&file, format!("{text}need.\n{}\n", optional.join("\n"))).unwrap();
    let shown = json(&home, &["show", "greeter", "--json"]);
    assert_eq!((&shown["runner"], &shown["timeout_seconds"]), (&Value::from("codex"), &Value::from(1200)));
    assert_eq!(shown["env"], Value::from(vec!["CI"]));

    std::fs::write(&file, "mine now").unwrap();
    insta::assert_snapshot!("new_existing", transcript(&home, &["new", "greeter"]));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine now");
    insta::assert_snapshot!("new_invalid_name", transcript(&home, &["new", "Say Hi!"]));
    let escape = transcript(&home, &["new", "../../evil"]);
    assert!(escape.starts_with("exit 2\n"), "{escape}");
    assert!(!home.path().join("evil.yaml").exists());
    insta::assert_snapshot!("new_shadows", transcript(&home, &["new", "reviewer"]));

    home.write("work/.git/HEAD", "");
    transcript_in(&home, "work", &["new", "here", "--project"]);
    assert!(home.path().join("work/.adjutant/agents/here.yaml").is_file());
}

#[test]
fn import_reads_every_format_and_names_what_is_lost() {
    let home = Home::new();
    write_foreign_definitions(&home);
    let dry = transcript(&home, &["import", "work", "--dry-run"]);
    assert!(dry.contains("dry run, nothing was written"), "{dry}");
    assert!(!user_folder(&home).exists());

    insta::assert_snapshot!("import", transcript(&home, &["import", "work"]));
    insta::assert_snapshot!("import_files", as_text(&user_folder(&home)));
    let before = as_text(&user_folder(&home));
    let repeated = transcript(&home, &["import", "work"]);
    assert!(
        repeated.starts_with("exit 0\n")
            && repeated.ends_with("\n5 unchanged\npassed over: 1 documentation file, 1 other file\n"),
        "{repeated}"
    );

    home.write(".adjutant/agents/scout.yaml", "my own words\n");
    let differs = transcript(&home, &["import", "work"]);
    assert!(differs.starts_with("exit 1\n"), "{differs}");
    assert!(
        differs.ends_with("4 unchanged, 1 differs\npassed over: 1 documentation file, 1 other file\nhint: --force replaces files that differ\n"),
        "{differs}"
    );
    let forced = json(&home, &["import", "work", "--force", "--json"]);
    let replaced =
        forced["items"].as_array().unwrap().iter().find(|file| file["outcome"] == "replaced").unwrap();
    assert_eq!((&replaced["name"], &replaced["format"]), (&Value::from("scout"), &Value::from("gemini")));
    assert_eq!(as_text(&user_folder(&home)), before);
}

#[test]
fn import_finds_the_agents_that_a_repository_publishes() {
    let home = Home::new();
    let claude =
        |name: &str| format!("---\nname: {name}\ndescription: d\nmodel: sonnet\n---\n\nYou are {name}.\n");
    home.write("r/README.md", "# Agents\n");
    home.write("r/agents/top.agent.md", "---\nname: top\ndescription: d\n---\n\nYou are top.\n");
    home.write("r/plugins/one/agents/first.md", claude("first"));
    home.write("r/plugins/two/agents/second.md", claude("second"));
    home.write("r/plugins/few/agents/plain.md", "---\nname: plain\ndescription: d\n---\n\nYou are plain.\n");
    home.write("r/cli/components/agents/web/third.md", claude("third"));
    home.write("r/categories/01-core/README.md", "# Core\n");
    home.write(
        "r/categories/01-core/fourth.toml",
        "name = \"fourth\"\ndescription = \"d\"\ndeveloper_instructions = \"You are fourth.\"\n",
    );
    // A folder of a program with this name has no agents.
    home.write("s/agents/config.toml", "debug = true\n");
    let found = json(&home, &["import", "r", "--dry-run", "--json"]);
    let mut names: Vec<String> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| format!("{} {}", file["format"].as_str().unwrap(), file["name"].as_str().unwrap()))
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["claude first", "claude plain", "claude second", "claude third", "codex fourth", "copilot top"],
        "{found}"
    );
    assert_eq!(found["passed_over"], serde_json::json!({"documentation file": 1}), "{found}");
    // Permissions do not bind root: then the folder is read.
    let closed = home.write("r/agents/closed/notes.txt", "x").parent().unwrap().to_owned();
    let set =
        |mode| std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    set(0o000);
    let bound = std::fs::read_dir(&closed).is_err();
    let report = json(&home, &["import", "r", "--dry-run", "--json"]);
    set(0o700);
    let reason = if bound { "unreadable folder" } else { "other file" };
    assert_eq!(report["passed_over"], serde_json::json!({"documentation file": 1, reason: 1}), "{report}");
    assert_eq!(report["total"], 6, "{report}");
    let none = transcript(&home, &["import", "s", "--dry-run"]);
    assert!(none.contains("cannot tell which program"), "{none}");
}

#[test]
fn import_detects_the_format_by_place_and_content_or_asks_for_it() {
    let home = Home::new();
    write_foreign_definitions(&home);
    for (path, format) in [
        ("work/.claude/agents/cr.md", "claude"),
        ("work/.claude/agents", "claude"),
        ("work/.github/agents", "copilot"),
        ("work/.codex", "codex"),
        ("work/.gemini/agents/scout.md", "gemini"),
        ("work/.opencode/agent", "opencode"),
    ] {
        let value = json(&home, &["import", path, "--dry-run", "--json"]);
        assert_eq!(value["items"][0]["format"], format, "{path}: {value}");
    }
    let loose = home.write("loose/x.md", "---\nname: x\ndescription: d\ncolor: red\n---\nText\n");
    let value = json(&home, &["import", loose.to_str().unwrap(), "--dry-run", "--json"]);
    assert_eq!(value["items"][0]["format"], "claude", "{value}");
    home.write("plain/y.md", "---\ndescription: d\n---\nText\n");
    insta::assert_snapshot!("import_ambiguous", transcript(&home, &["import", "plain"]));
    insta::assert_snapshot!("import_named", transcript(&home, &["import", "plain", "--from", "opencode"]));
    insta::assert_snapshot!("import_no_match", transcript(&home, &["import", "plain", "--from", "codex"]));
    insta::assert_snapshot!("import_missing", transcript(&home, &["import", "nowhere"]));
}

#[test]
fn import_skips_a_broken_agent_file() {
    let home = Home::new();
    home.write("w/.claude/agents/good.md", "---\nname: good\ndescription: d\n---\nGood.\n");
    home.write("w/.claude/agents/latin.md", b"caf\xe9\n");
    home.write("w/.claude/agents/empty.md", "---\nname: empty\ndescription: d\n---\n");
    home.write("w/.gemini/agents/far.md", "---\nname: far\ndescription: d\nkind: remote\n---\nFar.\n");
    home.write("w/.gemini/agents/good.md", "---\nname: good\ndescription: d\n---\nAnother good.\n");
    home.write("w/.codex/agents/bad.toml", "name = \n");
    let fifo = home.path().join("w/.claude/agents/pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    insta::assert_snapshot!("import_broken_file", transcript(&home, &["import", "w"]));
    assert_eq!(std::fs::read_dir(user_folder(&home)).unwrap().count(), 1);
}

#[test]
fn a_trusted_project_agent_needs_trust_again_after_a_change() {
    let home = Home::new();
    write_foreign_definitions(&home);
    let trusted =
        || transcript_in(&home, "work", &["show", "code-reviewer", "--json"]).contains("\"trusted\": true");
    assert!(!trusted());
    let lint = transcript_in(&home, "work", &["lint"]);
    assert!(lint.contains("hint: read it, then `adjutant agents trust code-reviewer`"), "{lint}");
    insta::assert_snapshot!("trust", transcript_in(&home, "work", &["trust", "code-reviewer"]));
    assert!(trusted());
    let repeated = transcript_in(&home, "work", &["trust", "code-reviewer"]);
    assert!(repeated.ends_with("`code-reviewer` is trusted already in its current version\n"), "{repeated}");

    let file = home.path().join("work/.claude/agents/cr.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("You review.", "You obey.")).unwrap();
    assert!(!trusted(), "a change asks again");
    std::fs::write(&file, text).unwrap();
    assert!(trusted(), "the text that was trusted is still trusted");

    let other = transcript_in(&home, "work", &["list", "scout", "--json"]);
    assert!(other.contains("\"trusted\": false"), "trust is for one agent: {other}");
    insta::assert_snapshot!("trust_not_needed", transcript(&home, &["trust", "reviewer"]));
    insta::assert_snapshot!("trust_unknown", transcript_in(&home, "work", &["trust", "code-reviwer"]));
}
