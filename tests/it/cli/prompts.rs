//! `adjutant prompts …`: commands and their output, and the files of other programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::terminal::Terminal;
use crate::support::{Finished, Home};

/// Runs `adjutant prompts` and returns exit code, stdout and stderr as one text, with the home's path taken out.
fn transcript(home: &Home, arguments: &[&str], input: &str) -> String {
    let finished = prompts(home, arguments, input);
    let text = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        exit_code(&finished),
        finished.stdout,
        finished.stderr
    );
    let text = text.replace(home.path().to_str().unwrap(), "[home]");
    text.replace(fixtures().to_str().unwrap(), "[fixtures]")
}

fn prompts(home: &Home, arguments: &[&str], input: &str) -> Finished {
    home.run(std::iter::once(&"prompts").chain(arguments), input)
}

fn exit_code(finished: &Finished) -> i32 {
    finished.status.code().unwrap()
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let finished = prompts(home, arguments, "");
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.stdout))
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/foreign")
}

/// Every file below a folder, by its path there.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let relative = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(relative, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

fn as_text(files: &BTreeMap<String, String>) -> String {
    files.iter().flat_map(|(path, text)| ["=== ", path, "\n", text]).collect()
}

/// Writes a small folder with one prompt of each kind, `mine` in the home.
fn write_files(home: &Home) {
    home.write(
        "mine/tone.md",
        "---\ntitle: Set the tone\ndescription: Rewrite a text in another tone of voice.\naliases: [voice]\narguments:\n  - name: tone\n    description: How it should sound\n    enum: [dry, warm]\n    default: dry\n  - name: ticket\n    pattern: '^[A-Z]+-[0-9]+$'\n  - name: words\n    type: integer\n    required: true\n---\nIn a {{tone}} tone, {{words}} words, for {{ticket}}:\n{{input}}\n",
    );
    home.write("mine/plain.md", "---\ndescription: Say it plainly.\n---\nSay it plainly.\n");
    home.write("mine/team/deep.md", "---\ndescription: A prompt in a subfolder.\n---\nDeep: {{input}}\n");
}

#[test]
fn help_of_every_prompts_command() {
    let home = Home::new();
    insta::assert_snapshot!("help", transcript(&home, &["--help"], ""));
    for command in ["list", "show", "expand", "lint", "new", "edit", "path", "remove", "import", "export"] {
        insta::assert_snapshot!(format!("help_{command}"), transcript(&home, &[command, "--help"], ""));
    }
}

#[test]
fn list_shows_prompts_by_folder_and_query() {
    let home = Home::new();
    insta::assert_snapshot!("list_bundled", transcript(&home, &["list"], ""));
    write_files(&home);
    insta::assert_snapshot!("list", transcript(&home, &["list", "--prompts-dir", "mine"], ""));
    insta::assert_snapshot!("list_query", transcript(&home, &["list", "VOICE", "--prompts-dir", "mine"], ""));
    insta::assert_snapshot!(
        "list_no_match",
        transcript(&home, &["list", "zzz", "--prompts-dir", "mine"], "")
    );
    insta::assert_snapshot!(
        "list_json",
        transcript(&home, &["list", "deep", "--json", "--prompts-dir", "mine"], "")
    );
    std::fs::create_dir(home.path().join("empty")).unwrap();
    insta::assert_snapshot!("list_empty", transcript(&home, &["list", "--prompts-dir", "empty"], ""));
    let missing = transcript(&home, &["list", "--prompts-dir", "nowhere"], "");
    assert_eq!(
        missing,
        "exit 1\n--- stdout\n--- stderr\nerror: nowhere is not a folder\nhint: name an existing folder, or leave the option out\n"
    );
}

#[test]
fn a_narrow_screen_truncates_only_descriptions() {
    let home = Home::new();
    write_files(&home);
    let mut command = home.adjutant(["prompts", "list", "--prompts-dir", "mine"]);
    let output = command.env("COLUMNS", "44").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
    assert!(text.contains("team/deep"), "{text}");
    assert!(text.contains('…'), "{text}");
}

#[test]
fn project_prompts_override_user_prompts_and_these_the_bundled_ones() {
    let home = Home::new();
    home.write("work/.adjutant/prompts/review.md", "---\ndescription: The project's.\n---\nProject.\n");
    home.write(".adjutant/prompts/review.md", "---\ndescription: The user's.\n---\nUser.\n");
    let below = home.write("work/src/deep/x", "").parent().unwrap().to_owned();
    home.write("work/.git/HEAD", "");
    let run = |arguments: &[&str]| {
        let output = home.adjutant(arguments).current_dir(&below).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&["prompts", "expand", "review", "x"]), "Project.\n\nx\n");
    let all = run(&["prompts", "list", "review", "--all"]);
    let sources: Vec<&str> = all.lines().skip(1).map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(sources, ["project", "user (overridden)", "bundled (overridden)"], "{all}");
    let show = run(&["prompts", "show", "review"]);
    assert!(show.contains("overrides user: review.md\noverrides bundled: review.md\n"), "{show}");
}

#[test]
fn show_prints_one_prompt() {
    let home = Home::new();
    write_files(&home);
    insta::assert_snapshot!("show", transcript(&home, &["show", "tone", "--prompts-dir", "mine"], ""));
    insta::assert_snapshot!(
        "show_json",
        transcript(&home, &["show", ":voice", "--json", "--prompts-dir", "mine"], "")
    );
    insta::assert_snapshot!(
        "show_unknown",
        transcript(&home, &["show", "tune", "--prompts-dir", "mine"], "")
    );
    let source = prompts(&home, &["show", "plain", "--source", "--prompts-dir", "mine"], "").stdout;
    assert_eq!(source, "---\ndescription: Say it plainly.\n---\nSay it plainly.\n");
    let bundled = prompts(&home, &["show", "research", "--source"], "").stdout;
    assert_eq!(bundled, include_str!("../../../crates/prompts/assets/research.md"));
}

#[test]
fn expand_takes_words_named_arguments_and_stdin() {
    let home = Home::new();
    write_files(&home);
    for (arguments, input, expected) in [
        (&["plain", "two", "words"][..], "", "Say it plainly.\n\ntwo words\n"),
        (&["plain"], "from a pipe\n", "Say it plainly.\n\nfrom a pipe\n"),
        (&["plain", "-"], "a\r\n", "Say it plainly.\n\na\n"),
        (&["plain", "text", "--arg", "input=x"], "", "Say it plainly.\n\ntext\n"),
        (&["plain", "--", "--not-a-flag"], "", "Say it plainly.\n\n--not-a-flag\n"),
        (&[":plain", "x"], "", "Say it plainly.\n\nx\n"),
        (&["team/deep", "{{input}}"], "", "Deep: {{input}}\n"),
        (
            &["voice", "--arg", "words=5", "--arg", "ticket=AB-1", "text"],
            "",
            "In a dry tone, 5 words, for AB-1:\ntext\n",
        ),
        (&["tone", "words=3 tone=warm the text"], "", "In a warm tone, 3 words, for :\nthe text\n"),
    ] {
        let arguments: Vec<&str> =
            ["expand", "--prompts-dir", "mine"].iter().chain(arguments).copied().collect();
        let finished = prompts(&home, &arguments, input);
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), (expected, ""), "{arguments:?}");
    }
    let value = json(&home, &["expand", "--json", "--prompts-dir", "mine", "plain", "x"]);
    assert_eq!(value["prompt"], "Say it plainly.\n\nx");
    assert_eq!(value["name"], "plain");
    assert!(value["digest"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn expand_reports_why_it_fails() {
    let home = Home::new();
    write_files(&home);
    let mut all = String::new();
    for arguments in [
        &["plian", "x"][..],
        &["../../etc/passwd", "x"],
        &["", "x"],
        &["tone", "--arg", "words=3", "--arg", "tone=loud", "x"],
        &["tone", "--arg", "words=many", "x"],
        &["tone", "--arg", "words=3", "--arg", "ticket=1", "x"],
        &["tone", "--arg", "tone=dry", "x"],
        &["tone", "--arg", "words=3", "--arg", "sound=dry", "x"],
        &["tone", "--arg", "words=3", "--arg", "words=4", "x"],
        &["tone", "--arg", "words", "x"],
        &[],
    ] {
        let arguments: Vec<&str> =
            ["expand", "--prompts-dir", "mine"].iter().chain(arguments).copied().collect();
        all.push_str(&format!("$ {}\n{}\n", arguments.join(" "), transcript(&home, &arguments, "")));
    }
    insta::assert_snapshot!("expand_errors", all);
    let finished = home.run(["prompts", "expand", "--prompts-dir", "mine", "plain"], b"\xff\xfe");
    assert_eq!(
        (exit_code(&finished), finished.stderr.as_str()),
        (1, "error: the input is not UTF-8\nhint: prompts are text; convert it first, such as with iconv\n")
    );
    let finished = home.run(["prompts", "expand", "--prompts-dir", "mine", "plain"], vec![b'x'; 5 << 20]);
    assert_eq!(exit_code(&finished), 1);
    assert!(finished.stderr.contains("over the limit of 4194304 bytes"), "{}", finished.stderr);
}

/// Writes files with the faults that real ones have.
fn write_faulty_prompts(home: &Home) {
    for (path, text) in [
        ("colon.md", "---\ndescription: Fix it: read it, then change it\n---\nFix {{input}}\n"),
        (
            "hint.md",
            "---\nargument-hint: [app-name] [environment] [version]\ndescription: Deploy.\n---\nDeploy.\n",
        ),
        (
            "keys.md",
            "---\ndescripton: A typo.\nmodel: opus\n---\nText with {{inptu}} and ${{ github.sha }}.\n",
        ),
        (
            "arguments.md",
            "---\ndescription: Arguments.\narguments: [used, left, topics]\n---\n{{used}} {{topic}}\n",
        ),
        ("Loud Name.md", "---\ndescription: Hard to type.\n---\nText.\n"),
        ("one.md", "---\ndescription: One.\naliases: [two, both]\n---\nOne.\n"),
        ("two.md", "---\ndescription: Two.\naliases: [both]\n---\nTwo.\n"),
        (
            "splice.md",
            "---\ndescription: Splices.\n---\nState: !`git status`\n\n```\n!`rm -rf x`\n```\nStop!`x` is prose.\n",
        ),
        ("open.md", "---\ndescription: never closed\n\nText\n"),
        ("empty.md", "---\ndescription: Nothing behind it.\n---\n\n"),
        (
            "logic.md",
            "---\ndescription: A template.\nengine: jinja\narguments: [size]\n---\nFine.\n{% if input %}\n{{ colour }}\n{% endfor %}\n",
        ),
        (
            "macro.md",
            "---\ndescription: A template.\nengine: jinja\n---\nFine.\n{% macro m() %}{% endmacro %}\n",
        ),
        (
            "esc.md",
            "---\ndescription: A \\e[31mred\\e[0m word.\nallowed-tools: \"\\e[2J\"\n\u{1b}[2Jkey: x\n---\nText.\n",
        ),
        ("names.md", "---\ndescription: A template.\nengine: jinja\narguments: [size]\n---\n{{ colour }}\n"),
        ("bad.md", "---\ndescription: Bad.\narguments:\n  - name: x\n    type: colour\n---\n{{x}}\n"),
    ] {
        home.write(&format!("faulty/{path}"), text);
    }
    home.write("faulty/latin.md", b"---\ndescription: caf\xe9\n---\nText\n");
    home.write("faulty/huge.md", "x".repeat(300_000));
    home.write("faulty/long.md", format!("---\ndescription: {}\n---\nText\n", "word ".repeat(300)));
}

#[test]
fn lint_reports_every_rule() {
    let home = Home::new();
    write_faulty_prompts(&home);
    insta::assert_snapshot!("lint", transcript(&home, &["lint", "--prompts-dir", "faulty"], ""));
    let by_path = transcript(&home, &["lint", "faulty"], "");
    assert_eq!(by_path, transcript(&home, &["lint", "--prompts-dir", "faulty"], ""));
    let value = json(&home, &["lint", "--json", "--prompts-dir", "faulty"]);
    let severities = |name: &str| {
        value["items"].as_array().unwrap().iter().filter(|found| found["severity"] == name).count()
    };
    assert_eq!(value["errors"], severities("error"));
    assert_eq!(value["warnings"], severities("warning"));
    assert_eq!(value["notes"], severities("note"));
    assert_eq!(value["files"], 18);
}

#[test]
fn lint_checks_the_files_of_other_programs() {
    let home = Home::new();
    let from = fixtures();
    insta::assert_snapshot!("lint_foreign", transcript(&home, &["lint", from.to_str().unwrap()], ""));
    home.write("skills/x/SKILL.md", "---\nname: Not--Good\ndescription: d\n---\nText\n");
    let skill = transcript(&home, &["lint", "skills/x/SKILL.md"], "");
    insta::assert_snapshot!("lint_skill", skill);
}

#[test]
fn lint_names_what_cannot_be_seen_in_its_own_words() {
    let home = Home::new();
    home.write("p/nul.md", "---\ndescription: d\n---\nA\0B\n");
    home.write("p/caf\u{e9}.md", "---\ndescription: d\n---\nText\n");
    home.write("p/cafe\u{301}.md", "---\ndescription: d\n---\nText\n");
    home.write("p/twice.md", "---\ndescription: a\ndescription: b\n---\nText\n");
    home.write("p/list.md", "---\n- a\n---\nText\n");
    home.write("p/filter.md", "---\ndescription: d\nengine: jinja\n---\n{{ input | nofilter }}\n");
    home.write("p/_part.md", "Part.\n");
    home.write(
        "p/include.md",
        "---\ndescription: d\nengine: jinja\n---\n\n{% include \"missing\" %}\n{% include '_part.md' %}\n{%- include '_missing.md' -%}\n",
    );
    home.write("p/several.md", "---\ndescription: a\n...\n--- \n---\nText\n");
    home.write("p/choice.md", "---\ndescription: d\n---\nIn a ${input:tone|dry|warm} tone.\n");
    let found = transcript(&home, &["lint", "--prompts-dir", "p"], "");
    for part in [
        "p/nul.md:4:2: warning[P112]: the text has a NUL character, where some programs take it to end\n",
        "p/choice.md:4:6: warning[P104]: `${input:…}` stays in the text, because the engine is literal\n  hint: add `engine: args`",
        "warning[P112]: its name looks like `cafe",
        "p/twice.md:3:1: warning[P101]: the front matter is not valid YAML: the key `description` is there twice\n  hint: remove one",
        "p/list.md:2:1: warning[P101]: the front matter is not valid YAML: it has no keys\n  hint: write each key",
        "p/filter.md:5:1: error[P110]: the template cannot be used: the filter `nofilter` is not available here;",
        "p/include.md:6:1: error[P110]: `missing` is not a partial: the expansion fails",
        "p/include.md:8:1: error[P110]: `_missing.md` is not a partial: the expansion fails",
    ] {
        assert!(found.contains(part), "{part}\n{found}");
    }
    assert!(!found.contains("_part.md"), "{found}");
    for (name, line) in
        [("filter", "line 5: the filter `nofilter`"), ("include", "line 6: template not found")]
    {
        let failed = prompts(&home, &["expand", "--prompts-dir", "p", name, "x"], "");
        assert!(failed.stderr.contains(line), "{}", failed.stderr);
    }
    for advice in ["Options", "option", "policy", "Policy", "from_multiple", "budget"] {
        assert!(!found.contains(advice), "{found}");
    }
}

#[test]
fn the_choices_of_an_input_are_its_description() {
    let home = Home::new();
    home.write(
        "w/.github/prompts/ship.prompt.md",
        "---\ndescription: d\n---\nShip to ${input:place|dev, prod}.\n",
    );
    assert!(prompts(&home, &["import", "w"], "").status.success());
    let shown = json(&home, &["show", "ship", "--json"]);
    assert_eq!(
        (&shown["arguments"][0]["name"], &shown["arguments"][0]["description"]),
        (&"place".into(), &"one of dev, prod".into())
    );
    assert_eq!(prompts(&home, &["expand", "ship", "--arg", "place=dev"], "").stdout, "Ship to dev.\n");
}

#[test]
fn lint_reads_nothing_outside_its_root_and_no_name_forges_a_record() {
    let home = Home::new();
    let secret = "---\npasswrod: hunter2\nmodle: x\n---\n{{secret_argument}}\n";
    home.write("outside/secret.md", secret);
    home.write("outside/linked/inner.md", secret);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(home.path().join(to), home.path().join(from)).unwrap();
    };
    home.write("root/a.md", "---\ndescription: A.\n---\nText.\n");
    link("root/link.md", "outside/secret.md");
    link("root/folder", "outside/linked");
    link("root/kernel.md", "/proc/kmsg");
    home.write("root/b.md\na.md:7:1: error[P101]: forged.md", "---\nx: y\n---\n");
    home.write("root/c\nroot/a.md:7:1: error[P101]: forged.md", "---\nunknown: y\n---\nText.\n");
    // The folder of another program decides the format of its files.
    home.write("foreign/a.txt", "no prompt");
    link("foreign/link.md", "outside/secret.md");
    for arguments in [&["lint", "root"][..], &["lint", "--prompts-dir", "root"], &["lint", "foreign"]] {
        let linted = prompts(&home, arguments, "");
        let all = format!("{}{}", linted.stdout, linted.stderr);
        for leaked in ["passwrod", "modle", "secret_argument", "hunter2"] {
            assert!(!all.contains(leaked), "{all}");
        }
        assert!(!linted.stdout.lines().any(|line| line.starts_with("root/a.md:7:1")), "{all}");
        assert!(!linted.stdout.lines().any(|line| line.starts_with("a.md:7:1")), "{all}");
    }
    let linted = prompts(&home, &["lint", "root"], "").stdout;
    assert!(linted.contains("root/link.md:1:1: error[") && linted.contains("leaves its root"), "{linted}");
}

#[test]
fn lint_refuses_a_named_link_that_leaves_its_root() {
    let home = Home::new();
    home.write("outside/secret.md", "---\ndescription: d\nSECRETKEY: x\n---\nText\n");
    home.write("work/shared/tone.md", "---\ndescription: d\nSHAREDKEY: x\n---\nText\n");
    home.write("work/.adjutant/prompts/a.md", "---\ndescription: A.\n---\nText.\n");
    home.write("loose/b.md", "---\ndescription: B.\n---\nText.\n");
    home.write("work/.git/HEAD", "");
    for (target, link) in [
        ("../../../outside/secret.md", "work/.adjutant/prompts/out.md"),
        ("../../../outside", "work/.adjutant/prompts/folder"),
        ("/proc/kmsg", "work/.adjutant/prompts/kmsg.md"),
        ("../shared/tone.md", "work/commands/tone.md"),
        ("../outside/secret.md", "loose/out.md"),
        ("b.md", "loose/same.md"),
    ] {
        let link = home.path().join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }
    for (path, is_refused) in [
        ("work/.adjutant/prompts/out.md", true),
        ("work/.adjutant/prompts/kmsg.md", true),
        ("work/.adjutant/prompts/folder", true),
        ("work/.adjutant/prompts/folder/secret.md", true),
        ("work/commands/tone.md", false),
        ("loose/out.md", true),
        ("loose/../loose/out.md", true),
        ("loose/../loose/same.md", false),
        ("loose/b.md", false),
    ] {
        let linted = prompts(&home, &["lint", path], "");
        let refused = format!("{path}:1:1: error[P111]: a symbolic link leads out of");
        assert_eq!(linted.stdout.starts_with(&refused), is_refused, "{path}: {}", linted.stdout);
        assert!(!linted.stdout.contains("SECRETKEY"), "{}", linted.stdout);
    }
    let above =
        home.adjutant(["prompts", "lint", ".."]).current_dir(home.path().join("work/shared")).output();
    assert!(!String::from_utf8(above.unwrap().stdout).unwrap().contains("leads out of"));
    assert!(prompts(&home, &["lint", "work/commands/tone.md"], "").stdout.contains("SHAREDKEY"));
}

#[test]
fn lint_names_a_folder_that_cannot_be_read() {
    let home = Home::new();
    home.write("w/.claude/commands/good.md", "---\ndescription: d\n---\nText\n");
    let closed = home.write("w/.claude/commands/closed/x.md", "Text\n").parent().unwrap().to_owned();
    let set =
        |mode| std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    set(0o000);
    // Permissions do not bind root: then the folder is read.
    let bound = std::fs::read_dir(&closed).is_err();
    let linted = prompts(&home, &["lint", "w"], "").stdout;
    set(0o700);
    let named = linted.contains("w/.claude/commands/closed:1:1: error[P111]: the folder cannot be read");
    assert_eq!(named, bound, "{linted}");
}

#[test]
fn a_line_feed_in_a_name_forges_no_line_of_an_import() {
    let home = Home::new();
    home.write("w/.claude/commands/nl\nforged.md:1:1: error: yes.md", "Text.\n");
    home.write("w/.claude/commands/empty\nforged.md", "");
    let report = prompts(&home, &["import", "w", "--dry-run"], "");
    for line in report.stdout.lines() {
        let is_row =
            ["would be created ", "failed ", "         "].iter().any(|start| line.starts_with(start));
        assert!(is_row, "{}", report.stdout);
    }
}

#[test]
fn no_command_opens_a_pipe_or_device() {
    let home = Home::new();
    let fifo = home.path().join("fifo.agent.md");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (folder, fifo) = (home.path().to_str().unwrap(), fifo.to_str().unwrap());
    home.run(["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin"], "");
    for arguments in [
        &["prompts", "lint", fifo][..],
        &["prompts", "lint", "/dev/null"],
        &["prompts", "import", fifo, "--from", "claude"],
        &["agents", "lint", fifo],
        &["agents", "import", fifo],
        &["events", "import", "ann", fifo],
        &["events", "import", "ann", "https://example.org/c/", "--login", "ann", "--password-file", fifo],
        &["delegate", "reviewer", "Look.", "--schema", fifo],
        &["mcp", "agents", "--agents-dir", folder, "--runner-config", fifo],
    ] {
        let refused = home.run(arguments, "");
        let all = format!("{}{}", refused.stdout, refused.stderr);
        assert!(!refused.status.success() && all.contains("not a regular file"), "{arguments:?}: {all}");
    }
}

#[test]
fn a_clean_folder_and_the_bundled_prompts_have_no_findings() {
    let home = Home::new();
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/prompts/assets");
    let finished = prompts(&home, &["lint", bundled.to_str().unwrap()], "");
    assert_eq!((exit_code(&finished), finished.stdout.as_str()), (0, ""));
    assert!(
        finished.stderr.starts_with("10 files checked: 0 errors, 0 warnings, 0 notes"),
        "{}",
        finished.stderr
    );
    let missing = transcript(&home, &["lint", "nowhere.md"], "");
    assert!(
        missing.starts_with("exit 1\n--- stdout\n--- stderr\nerror: nowhere.md cannot be read"),
        "{missing}"
    );
}

#[test]
fn lint_writes_sarif_with_rule_place_and_level() {
    let home = Home::new();
    write_faulty_prompts(&home);
    let finished = prompts(&home, &["lint", "--format", "sarif", "--prompts-dir", "faulty"], "");
    assert_eq!(exit_code(&finished), 1);
    let log: Value = serde_json::from_str(&finished.stdout).unwrap();
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["note", "warning", "error"].contains(&result["level"].as_str().unwrap()), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("faulty/") && !uri.contains(' '), "{uri}");
        assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
        assert!(place["region"]["startColumn"].as_u64().unwrap() >= 1);
    }
    insta::assert_snapshot!("lint_sarif", finished.stdout);
}

#[test]
fn new_creates_a_prompt_template() {
    let home = Home::new();
    insta::assert_snapshot!(
        "new",
        transcript(&home, &["new", "team/greet", "--description", "Greet: somebody"], "")
    );
    let file = home.path().join(".adjutant/prompts/team/greet.md");
    insta::assert_snapshot!("new_file", std::fs::read_to_string(&file).unwrap());
    let expanded = prompts(&home, &["expand", "team/greet", "Ada"], "");
    assert!(expanded.stdout.ends_with("\n\nAda\n"), "{}", expanded.stdout);
    assert_eq!(exit_code(&prompts(&home, &["lint"], "")), 0);

    std::fs::write(&file, "mine now").unwrap();
    insta::assert_snapshot!("new_existing", transcript(&home, &["new", "team/greet"], ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine now");
    insta::assert_snapshot!("new_invalid_name", transcript(&home, &["new", "Team/Say Hi!"], ""));
    insta::assert_snapshot!("new_escape", transcript(&home, &["new", "../../evil"], ""));
    assert!(!home.path().join("evil.md").exists());
    insta::assert_snapshot!("new_shadows", transcript(&home, &["new", "review"], ""));

    home.write("work/.git/HEAD", "");
    let mut command = home.adjutant(["prompts", "new", "here", "--project", "--json"]);
    let output = command.current_dir(home.path().join("work")).output().unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made["name"], "here");
    assert!(home.path().join("work/.adjutant/prompts/here.md").is_file());
}

#[test]
fn new_writes_no_file_that_would_not_be_read() {
    let home = Home::new();
    let deep = ["a"; 10].join("/");
    for kind in ["prompts", "agents"] {
        for (name, part) in [("", "not a valid name"), (deep.as_str(), "has more than 8 folders")] {
            let refused = home.run([kind, "new", name], "");
            assert_eq!(refused.status.code(), Some(2), "{refused}");
            assert!(refused.stderr.contains(part), "{refused}");
        }
        assert!(!home.path().join(".adjutant").join(kind).exists());
    }
    home.write(&format!("r/.claude/commands/{deep}.md"), "Do it.\n");
    home.write("r/.claude/commands/other.md", "Do it.\n");
    let imported = prompts(&home, &["import", "r"], "");
    assert!(imported.stderr.contains("passed over: 1 too deep folder\n"), "{imported}");
    assert!(prompts(&home, &["new", &deep[2..]], "").status.success());
    assert!(prompts(&home, &["show", &deep[2..]], "").status.success());
    assert!(prompts(&home, &["new", &"n".repeat(250)], "").status.success());
}

#[test]
fn names_and_choices_are_the_words_of_the_file() {
    let home = Home::new();
    let text = "---\ndescription: n\narguments:\n  - name: n\n    required: yes\n  - name: sure\n    enum: [yes, no]\n    default: no\n---\n{{n}} {{sure}}\n";
    home.write(".adjutant/prompts/ask.md", text);
    let shown = json(&home, &["show", "ask", "--json"]);
    assert_eq!((&shown["description"], &shown["arguments"][0]["name"]), (&"n".into(), &"n".into()));
    assert_eq!(shown["arguments"][0]["required"], true);
    assert_eq!(
        prompts(&home, &["expand", "ask", "--arg", "n=all", "--arg", "sure=yes"], "").stdout,
        "all yes\n"
    );
    assert_eq!(prompts(&home, &["expand", "ask", "--arg", "n=all"], "").stdout, "all no\n");
}

#[test]
fn remove_asks_in_a_terminal() {
    let home = Home::new();
    let file = home.write(".adjutant/prompts/mine.md", "Mine.\n");
    for (answer, code) in [("\r", 1), ("no\r", 1), ("y\r", 0)] {
        let mut terminal = Terminal::start(&home, &["prompts", "remove", "mine"], 100, 20, &[]);
        terminal.shows("It cannot be undone. [y/N]");
        assert!(file.exists());
        terminal.send(answer);
        assert_eq!(terminal.exit_code(), code);
        assert_eq!(file.exists(), code == 1);
    }
    home.write(".adjutant/prompts/mine.md", "Mine.\n");
    let mut terminal = Terminal::start(&home, &["prompts", "remove", "mine", "--yes"], 100, 20, &[]);
    assert_eq!(terminal.exit_code(), 0);
    assert!(!file.exists());
}

#[test]
fn a_link_leads_nothing_out_of_a_project() {
    let home = Home::new();
    home.write("outside/secret.md", "Outside.\n");
    home.write("work/.git/HEAD", "");
    std::fs::create_dir(home.path().join("work/.adjutant")).unwrap();
    std::os::unix::fs::symlink("../../outside", home.path().join("work/.adjutant/prompts")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = home.adjutant([&["prompts"], arguments].concat());
        let output = command.current_dir(home.path().join("work")).output().unwrap();
        let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.success(), texts.concat())
    };
    for arguments in [["show", "secret"], ["expand", "secret"], ["remove", "secret"], ["path", "secret"]] {
        let (done, text) = run(&arguments);
        assert!(!done && !text.contains("Outside."), "{arguments:?}: {text}");
    }
    let (done, text) = run(&["new", "made", "--project"]);
    assert!(!done && text.contains("a link that leaves"), "{text}");
    assert!(run(&["lint"]).1.contains("the folder is a link that leaves its project"));
    let left: Vec<_> = std::fs::read_dir(home.path().join("outside")).unwrap().collect();
    assert_eq!(left.len(), 1);
    // A link that stays in the project is followed.
    std::fs::remove_file(home.path().join("work/.adjutant/prompts")).unwrap();
    home.write("work/shared/own.md", "Own.\n");
    std::os::unix::fs::symlink("../shared", home.path().join("work/.adjutant/prompts")).unwrap();
    assert!(run(&["expand", "own"]).1.contains("Own."));
}

#[test]
fn a_prompts_file_is_found_edited_and_removed_by_its_name() {
    let home = Home::new();
    let file = home.write(".adjutant/prompts/review.md", "---\naliases: [check]\n---\nMine.\n");
    home.write(".adjutant/prompts/faulty.md", "---\nengine: perl\n---\nText\n");
    let shown = file.to_str().unwrap();
    for name in ["review", ":review", "check"] {
        assert_eq!(prompts(&home, &["path", name], "").stdout, format!("{shown}\n"));
    }
    assert_eq!(json(&home, &["path", "check", "--json"])["name"], "review");
    assert!(prompts(&home, &["path", "faulty"], "").stdout.ends_with("faulty.md\n"));
    let editor = home.write("my editor", "printf 'Edited.' > \"$2\"\n");
    let edited = home
        .adjutant(["prompts", "edit", "review"])
        .env("EDITOR", format!("sh '{}' --wait", editor.display()))
        .env_remove("VISUAL")
        .output()
        .unwrap();
    assert!(edited.status.success(), "{edited:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Edited.");
    let failed = home.adjutant(["prompts", "edit", "review"]).env("VISUAL", "false").output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    // A project could lead the editor to any file.
    let outside = home.write("outside.md", "Secret.\n");
    std::os::unix::fs::symlink(&outside, home.path().join(".adjutant/prompts/leak.md")).unwrap();
    let leak = home.adjutant(["prompts", "edit", "leak"]).env("VISUAL", "cat").output().unwrap();
    let reason = String::from_utf8_lossy(&leak.stderr);
    assert!(leak.stdout.is_empty() && reason.contains("a link that leaves its root"), "{leak:?}");
    std::fs::remove_file(home.path().join(".adjutant/prompts/leak.md")).unwrap();
    let removed = prompts(&home, &["remove", "review"], "");
    assert_eq!(removed.stdout, format!("{shown}\n"));
    assert!(
        removed.stderr.contains("`review` is now the prompt of another file (bundled: review.md)"),
        "{}",
        removed.stderr
    );
    assert!(!file.exists());
    let deep = home.write(".adjutant/prompts/team/deep/ask.md", "Ask.\n");
    let other = home.write(".adjutant/prompts/team/tell.md", "Tell.\n");
    let removed = prompts(&home, &["remove", "team/deep/ask"], "");
    assert!(removed.stderr.contains("no prompt has the name `team/deep/ask` now"), "{}", removed.stderr);
    assert!(!deep.parent().unwrap().exists() && other.exists());
    prompts(&home, &["remove", "team/tell"], "");
    assert!(!other.parent().unwrap().exists() && home.path().join(".adjutant/prompts").exists());
    for command in ["edit", "path", "remove"] {
        let bundled = prompts(&home, &[command, "review"], "");
        assert_eq!(exit_code(&bundled), 1);
        assert!(bundled.stderr.contains("comes with Adjutant"), "{}", bundled.stderr);
        let unknown = prompts(&home, &[command, "reviwe"], "");
        assert!(unknown.stderr.contains("review"), "{}", unknown.stderr);
    }
}

#[test]
fn new_creates_a_project_prompt_inside_a_project_only() {
    let home = Home::new();
    let inner = home.path().join("plain/inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir_all(home.path().join(".adjutant/prompts")).unwrap();
    let new = |kind: &str, name: &str, folder: &Path| {
        let mut command = home.adjutant([kind, "new", name, "--project"]);
        let output = command.current_dir(folder).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.success(), text)
    };
    // An empty folder of this name makes no repository.
    std::fs::create_dir(home.path().join("plain/.git")).unwrap();
    for kind in ["prompts", "agents"] {
        for folder in [inner.as_path(), home.path()] {
            let (done, text) = new(kind, "here", folder);
            assert!(!done && text.contains("does not belong to a project"), "{text}");
        }
    }
    assert!(
        tree(&home.path().join(".adjutant/prompts")).is_empty()
            && tree(&home.path().join("plain")).is_empty()
    );
    home.write("plain/.git/HEAD", "");
    for (kind, file) in [("prompts", "here.md"), ("agents", "here.yaml")] {
        let (done, text) = new(kind, "here", &inner);
        let file = home.path().join("plain/.adjutant").join(kind).join(file);
        assert!(done && file.is_file() && text.contains(file.to_str().unwrap()), "{text}");
    }
}

#[test]
fn import_reads_every_format_and_names_what_is_lost() {
    let home = Home::new();
    let from = fixtures();
    let from = from.to_str().unwrap();
    let into = home.path().join(".adjutant/prompts");

    let dry = transcript(&home, &["import", from, "--dry-run"], "");
    assert!(dry.contains("dry run, nothing was written"), "{dry}");
    assert!(!into.exists());

    insta::assert_snapshot!("import", transcript(&home, &["import", from], ""));
    insta::assert_snapshot!("import_files", as_text(&tree(&into)));
    let before = tree(&into);
    let repeated = transcript(&home, &["import", from], "");
    assert!(!repeated.contains("created") && !repeated.contains("replaced"), "{repeated}");
    assert!(repeated.ends_with("--- stderr\n14 unchanged, 1 failed\n"), "{repeated}");

    std::fs::write(into.join("standup.md"), "my own words\n").unwrap();
    let differs = transcript(&home, &["import", from], "");
    assert!(differs.starts_with("exit 1\n"), "{differs}");
    assert!(
        differs.ends_with("13 unchanged, 1 differs, 1 failed\nhint: --force replaces files that differ\n"),
        "{differs}"
    );
    assert_eq!(std::fs::read_to_string(into.join("standup.md")).unwrap(), "my own words\n");
    let forced = json(&home, &["import", from, "--force", "--json"]);
    let replaced =
        forced["items"].as_array().unwrap().iter().find(|file| file["outcome"] == "replaced").unwrap();
    assert_eq!((&replaced["name"], &replaced["format"]), (&Value::from("standup"), &Value::from("claude")));
    assert_eq!(tree(&into), before);
}

#[test]
fn import_detects_the_format_by_place_and_content() {
    let home = Home::new();
    for (path, text, format, name) in [
        ("a/SKILL.md", "---\nname: a\ndescription: d\n---\nText\n", "claude-skill", "a"),
        ("b/x.prompt.md", "Text\n", "copilot", "x"),
        ("c/y.md", "Ask ${input:who}\n", "copilot", "y"),
        ("d/z.md", "---\nallowed-tools: Bash\n---\nText\n", "claude", "z"),
        ("e/w.md", "Do $ARGUMENTS\n", "claude", "w"),
        ("f/system.md", "# IDENTITY\n\nYou are.\n", "fabric", "f"),
        ("g/.claude/commands/sub/v.md", "Text\n", "claude", "sub/v"),
        ("h/.cursor/commands/u.md", "Text\n", "cursor", "u"),
        ("i/.codex/prompts/t.md", "Text\n", "codex", "t"),
        ("k/.gemini/commands/git/s.toml", "prompt = \"Text\"\n", "gemini", "git/s"),
        ("l/.opencode/command/r.md", "Text\n", "opencode", "r"),
        ("m/q.toml", "description = \"d\"\nprompt = \"Text {{args}}\"\n", "gemini", "q"),
    ] {
        let file = home.write(path, text);
        for from in [file.as_path(), file.parent().unwrap()] {
            let value = json(&home, &["import", from.to_str().unwrap(), "--dry-run", "--json"]);
            let found = &value["items"][0];
            assert_eq!(found["format"], format, "{}: {value}", from.display());
            assert!(name.ends_with(found["name"].as_str().unwrap()), "{}: {value}", from.display());
        }
    }
    home.write("j/plain.md", "Text\n");
    insta::assert_snapshot!("import_ambiguous", transcript(&home, &["import", "j"], ""));
    insta::assert_snapshot!("import_named", transcript(&home, &["import", "j", "--from", "cursor"], ""));
    insta::assert_snapshot!("import_no_match", transcript(&home, &["import", "j", "--from", "fabric"], ""));
    insta::assert_snapshot!("import_missing", transcript(&home, &["import", "nowhere"], ""));
    insta::assert_snapshot!("import_no_format", transcript(&home, &["import", "j", "--from", "claud"], ""));
}

#[test]
fn import_finds_what_a_repository_publishes_and_counts_the_rest() {
    let home = Home::new();
    for (path, text) in [
        ("r/README.md", "Run `$ARGUMENTS` with !`ls`.\n"),
        ("r/CLAUDE.md", "---\nallowed-tools: Bash\n---\nBuild it.\n"),
        ("r/commands/README.md", "All commands.\n"),
        ("r/commands/docs/readme.md", "All commands.\n"),
        ("r/commands/docs/License.md", "All rights.\n"),
        ("r/commands/README_CN.md", "All commands.\n"),
        ("r/commands/readme-generator.md", "Write a readme.\n"),
        ("r/commands/security.md", "Review $ARGUMENTS.\n"),
        ("r/commands/git/clean.md", "Clean $ARGUMENTS.\n"),
        ("r/commands/plan.toml", "prompt = \"Plan {{args}}.\"\n"),
        ("r/commands/run.sh", "exit\n"),
        ("r/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\nFill.\n"),
        ("r/skills/pdf/reference.md", "Part of the skill.\n"),
        ("r/skills/office/word/SKILL.md", "---\nname: word\ndescription: d\n---\nWrite.\n"),
        ("r/prompts/form.prompt.md", "Make ${input:what}.\n"),
        ("r/prompts/plain.md", "Say it.\n"),
        ("r/prompts/reviewer.agent.md", "You review.\n"),
        ("r/data/patterns/wise/system.md", "# IDENTITY\n\nYou are.\n"),
        ("r/plugins/tools/commands/plan.md", "Plan it.\n"),
        ("r/plugins/tools/skills/plan-more/SKILL.md", "---\nname: plan-more\ndescription: d\n---\nPlan.\n"),
        ("r/docs/use.md", "Not a prompt.\n"),
        ("t/README.md", "Run $ARGUMENTS.\n"),
        ("t/tools/tidy.md", "Tidy $ARGUMENTS.\n"),
        ("t/tools/CONTRIBUTING.md", "Send $ARGUMENTS.\n"),
        ("t/examples/notes.md", "Notes.\n"),
    ] {
        home.write(path, text);
    }
    let report = json(&home, &["import", "r", "--dry-run", "--json"]);
    let names: Vec<String> = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| format!("{} {}", file["format"].as_str().unwrap(), file["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            "claude git/clean",
            "gemini plan",
            "claude readme-generator",
            "claude security",
            "fabric wise",
            "claude tools/plan",
            "claude-skill tools/plan-more",
            "copilot form",
            "claude plain",
            "claude-skill word",
            "claude-skill pdf",
        ]
    );
    assert_eq!(report["passed_over"], serde_json::json!({"documentation file": 4, "other file": 2}));
    assert!(!report.to_string().contains("differs from its folder's"), "{report}");
    let by_topic = transcript(&home, &["import", "t", "--dry-run"], "");
    assert!(by_topic.contains("would be created   tools/tidy  t/tools/tidy.md -> "), "{by_topic}");
    assert!(
        by_topic.ends_with("1 would be created\npassed over: 1 documentation file, 1 other file\n"),
        "{by_topic}"
    );
    // Permissions do not bind root: then the folder is read.
    let closed = home.write("r/commands/closed/x.md", "Text\n").parent().unwrap().to_owned();
    let set =
        |mode| std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    set(0o000);
    let bound = std::fs::read_dir(&closed).is_err();
    let report = json(&home, &["import", "r", "--dry-run", "--json"]);
    set(0o700);
    assert_eq!(report["passed_over"]["unreadable folder"] == 1, bound, "{report}");
    assert_eq!(report["items"].as_array().unwrap().len(), if bound { 11 } else { 12 });
}

#[test]
fn import_of_a_repository_elsewhere_says_to_clone_it_first() {
    let home = Home::new();
    for kind in ["prompts", "agents"] {
        for (from, url) in [
            ("https://github.com/obra/superpowers", "https://github.com/obra/superpowers"),
            ("git@github.com:obra/superpowers.git", "git@github.com:obra/superpowers.git"),
            ("obra/superpowers", "https://github.com/obra/superpowers"),
            ("github.com/obra/superpowers", "https://github.com/obra/superpowers"),
        ] {
            let finished = home.run([kind, "import", from], "");
            assert_eq!(exit_code(&finished), 1);
            assert!(finished.stderr.contains(&format!("`git clone {url}`")), "{}", finished.stderr);
        }
    }
}

#[test]
fn a_hint_for_arguments_survives_import_and_export() {
    let home = Home::new();
    for (name, hint, body) in [
        ("options", "[--last N]", "Show $ARGUMENTS."),
        ("issue", "<number> [--draft]", "Fix $0; its process is $$, it costs \\$0."),
        ("pair", "[pr] [prio]", "Read $0 at $1."),
    ] {
        let text = format!("---\ndescription: d\nargument-hint: \"{hint}\"\n---\n\n{body}\n");
        home.write(&format!("w/.claude/commands/{name}.md"), &text);
        prompts(&home, &["import", "w"], "");
        prompts(&home, &["export", "out", "--to", "claude", name], "");
        let file = home.path().join(format!("out/.claude/commands/{name}.md"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
    let options = json(&home, &["show", "options", "--json"]);
    assert_eq!(options["arguments"].as_array().unwrap().len(), 1);
    assert_eq!(options["arguments"][0]["name"], "input");
    assert_eq!(options["arguments"][0]["description"], "[--last N]");
    let expanded = |arguments: &[&str]| prompts(&home, &[&["expand"], arguments].concat(), "").stdout;
    assert_eq!(expanded(&["options", "--", "--last 3"]), "Show --last 3.\n");
    assert_eq!(expanded(&["issue", "'4 2'"]), "Fix 4 2; its process is $$, it costs $0.\n");
    assert_eq!(expanded(&["issue", ""]), "Fix $0; its process is $$, it costs $0.\n");
    let pair = json(&home, &["show", "pair", "--json"]);
    assert_eq!(pair["arguments"][1]["name"], "prio");
    assert_eq!(pair["arguments"][1]["description"], "[prio]");
}

#[test]
fn import_names_agents_links_and_folders_for_what_they_are() {
    let home = Home::new();
    let agent = "---\nname: reviewer\ndescription: d\ntools: Read\nmodel: sonnet\n---\nYou review.\n";
    home.write("repo/agents/reviewer.md", agent);
    let agents = transcript(&home, &["import", "repo"], "");
    assert!(agents.contains("hint: `adjutant agents import repo` imports the agents there\n"), "{agents}");
    home.write("dotfiles/commands/tidy.md", "Tidy $ARGUMENTS.\n");
    std::fs::create_dir_all(home.path().join("user/.claude")).unwrap();
    std::fs::rename(home.path().join("dotfiles"), home.path().join("user/dotfiles")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/commands", home.path().join("user/.claude/commands")).unwrap();
    for from in ["user", "user/.claude", "user/.claude/commands"] {
        let report = transcript(&home, &["import", from, "--dry-run"], "");
        assert!(report.contains("would be created") && report.contains("tidy"), "{from}: {report}");
    }
    home.write("w/.claude/skills/open/SKILL.md", "---\nname: open\n");
    home.write("w/patterns/wise/system.md", "Be wise.\n");
    home.write("outside.md", "Not a part.\n");
    std::os::unix::fs::symlink("../../../outside.md", home.path().join("w/patterns/wise/user.md")).unwrap();
    let report = json(&home, &["import", "w", "--dry-run", "--json"]);
    let names: Vec<_> =
        report["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["open", "wise"], "{report}");
    assert_eq!(report["items"][1]["notes"][0], "`user.md` is left out: it is not a file of this folder");
}

#[test]
fn import_skips_a_broken_prompt_file() {
    let home = Home::new();
    home.write("w/.claude/commands/good.md", "Good.\n");
    home.write("w/.claude/commands/latin.md", b"caf\xe9\n");
    home.write("w/.claude/commands/huge.md", "x".repeat(300_000));
    home.write("w/.claude/commands/empty.md", "---\ndescription: d\n---\n");
    home.write("w/.claude/commands/???.md", "Text\n");
    home.write("w/.claude/commands/bomb.md", format!("---\na: {}\n---\nText\n", "[".repeat(10_000)));
    home.write("w/.cursor/commands/good.md", "Another good.\n");
    std::os::unix::fs::symlink("/etc/passwd", home.path().join("w/.claude/commands/link.md")).unwrap();
    let fifo = home.path().join("w/.claude/commands/pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    insta::assert_snapshot!("import_broken_file", transcript(&home, &["import", "w"], ""));
    assert_eq!(tree(&home.path().join(".adjutant/prompts")).len(), 1);
}

#[test]
fn import_follows_a_linked_folder_of_skills_once() {
    let home = Home::new();
    home.write("w/.agents/skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\nOne.\n");
    home.write("w/.agents/skills/one/notes.md", "Not a skill.\n");
    home.write("w/shared/two/SKILL.md", "---\nname: two\ndescription: d\n---\nTwo.\n");
    home.write("elsewhere/three/SKILL.md", "---\nname: three\ndescription: d\n---\nThree.\n");
    std::fs::create_dir_all(home.path().join("w/.claude")).unwrap();
    for (target, link) in [
        ("../.agents/skills", "w/.claude/skills"),
        ("../../shared/two", "w/.agents/skills/two"),
        ("../../../elsewhere/three", "w/.agents/skills/three"),
        ("..", "w/.agents/skills/loop"),
    ] {
        std::os::unix::fs::symlink(target, home.path().join(link)).unwrap();
    }
    let report = transcript(&home, &["import", "w"], "");
    assert!(report.starts_with("exit 0\n") && report.ends_with("--- stderr\n2 created\n"), "{report}");
    let names: Vec<String> = tree(&home.path().join(".adjutant/prompts")).into_keys().collect();
    assert_eq!(names, ["one.md", "two.md"]);
}

#[test]
fn import_maps_named_and_zero_based_arguments_of_newer_claude_files() {
    let home = Home::new();
    home.write(
        "w/.claude/skills/component/SKILL.md",
        "---\nname: component\ndescription: d\narguments: [kind, old-name]\n---\nMake a $kind.\n",
    );
    home.write(
        "w/.claude/skills/fix/SKILL.md",
        "---\nname: fix\ndescription: d\narguments: [issue, branch]\n---\nFix issue $issue on branch $branch.\n",
    );
    let zero = "---\ndescription: d\n---\n\nMigrate the $0 component from $1 to $ARGUMENTS[2].\n";
    home.write("w/.claude/commands/zero.md", zero);
    home.write("w/.claude/commands/old.md", "---\ndescription: d\n---\nMove $1 to $2.\n");
    home.write("w/.claude/commands/price.md", "---\ndescription: d\n---\nIt is $0/mo.\n");
    let report = transcript(&home, &["import", "w"], "");
    assert_eq!(
        report.matches("`$1` is the first word here; in Claude Code it is the second").count(),
        1,
        "{report}"
    );
    for (arguments, expected) in [
        (&["component", "--arg", "kind=form"][..], "Make a form.\n"),
        (&["fix", "42 hotfix"], "Fix issue 42 on branch hotfix.\n"),
        (&["zero", "SearchBar React Vue"], "Migrate the SearchBar component from React to Vue.\n"),
        (&["old", "a b"], "Move a to b.\n"),
        (&["price", "x"], "It is $0/mo.\n\nx\n"),
    ] {
        assert_eq!(prompts(&home, &[&["expand"], arguments].concat(), "").stdout, expected);
    }
    let report = transcript(&home, &["export", "numbers", "--to", "claude", "zero", "old"], "");
    assert_eq!(report.matches("there, where words count from zero").count(), 2, "{report}");
    let numbers = tree(&home.path().join("numbers/.claude/commands"));
    assert_eq!(numbers["zero.md"], zero);
    assert_eq!(numbers["old.md"], "---\ndescription: d\n---\n\nMove $ARGUMENTS[0] to $ARGUMENTS[1].\n");
    prompts(&home, &["export", "out", "--to", "claude-skill", "component"], "");
    let skill = std::fs::read_to_string(home.path().join("out/.claude/skills/component/SKILL.md")).unwrap();
    assert_eq!(
        skill,
        "---\nname: component\ndescription: d\nargument-hint: \"[kind] [old-name]\"\narguments: kind old-name\n---\n\nMake a $kind.\n"
    );
    prompts(&home, &["import", "out", "--into", "again"], "");
    let file = |folder: &str| std::fs::read_to_string(home.path().join(folder).join("component.md")).unwrap();
    assert_eq!(file("again"), file(".adjutant/prompts"));
}

#[test]
fn docs_list_every_lint_rule_of_prompts() {
    let home = Home::new();
    let log = prompts(&home, &["lint", "--format", "sarif"], "").stdout;
    let log: Value = serde_json::from_str(&log).unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().iter();
    let rows: Vec<String> = rules
        .map(|rule| {
            let part = |pointer: &str| rule.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            let level = part("/defaultConfiguration/level");
            format!("| {} | {} | {level} | {} |", part("/id"), part("/name"), part("/shortDescription/text"))
        })
        .collect();
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/prompts.md")).unwrap();
    let written: Vec<&str> = page.lines().filter(|line| line.starts_with("| P")).collect();
    assert_eq!(written, rows, "the table should be:\n{}", rows.join("\n"));
}

#[test]
fn export_writes_every_format() {
    let home = Home::new();
    write_files(&home);
    home.write("mine/logic.md", "---\ndescription: d\nengine: jinja\n---\n{% if input %}x{% endif %}\n");
    for format in ["claude", "claude-skill", "codex", "copilot", "cursor", "fabric", "gemini", "opencode"] {
        let report = transcript(&home, &["export", "out", "--to", format, "--prompts-dir", "mine"], "");
        let files = tree(&home.path().join("out"));
        insta::assert_snapshot!(format!("export_{format}"), format!("{report}{}", as_text(&files)));
        std::fs::remove_dir_all(home.path().join("out")).unwrap();
    }
    insta::assert_snapshot!(
        "export_named",
        transcript(&home, &["export", "out", "--to", "cursor", "logic", "--prompts-dir", "mine"], "")
    );
    insta::assert_snapshot!(
        "export_unknown",
        transcript(&home, &["export", "out", "--to", "cursor", "tome", "--prompts-dir", "mine"], "")
    );
}

#[test]
fn importing_an_export_changes_nothing() {
    for (format, folders) in [
        ("claude", &[".claude/commands"][..]),
        ("claude-skill", &[".claude/skills", ".agents/skills"]),
        ("codex", &[".codex/prompts"]),
        ("copilot", &[".github/prompts"]),
        ("cursor", &[".cursor/commands"]),
        ("fabric", &["patterns"]),
        ("gemini", &[".gemini/commands"]),
        ("opencode", &[".opencode/command"]),
    ] {
        let home = Home::new();
        for folder in folders {
            let from = fixtures().join(folder);
            prompts(&home, &["import", from.to_str().unwrap(), "--from", format, "--into", "first"], "");
        }
        let round = |from: &str, by: &str, into: &str| {
            prompts(&home, &["export", by, "--to", format, "--prompts-dir", from], "");
            let finished = prompts(&home, &["import", by, "--from", format, "--into", into], "");
            assert_eq!(exit_code(&finished), 0, "{format}: {}", finished.stdout);
        };
        round("first", "by-1", "second");
        round("second", "by-2", "third");
        let (first, second) = (tree(&home.path().join("first")), tree(&home.path().join("second")));
        assert!(!first.is_empty(), "{format}");
        for (path, text) in &first {
            // Codex appends nothing, so a prompt without a placeholder for input gets one in its export.
            // A `$1` without a `$0` is a number from one; its export for Claude counts from zero.
            if path != "tidy.md" && (format, path.as_str()) != ("claude", "fix-issue.md") {
                assert_eq!(second.get(path), Some(text), "{format}: {path}");
            }
        }
        assert_eq!(second, tree(&home.path().join("third")), "{format}");
        assert_eq!(tree(&home.path().join("by-1")), tree(&home.path().join("by-2")), "{format}");
    }
}
