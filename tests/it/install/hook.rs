//! `adjutant hook CLIENT`: JSON in, JSON or nothing out, and the prompt is never blocked.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::serving::Serving;
use crate::support::{DEADLINE, Finished, Home, wait};

const EXPANDED: &str = "You are a focused researcher.\n\nTopic:\nhow bees sleep";

fn home() -> Home {
    let home = Home::new();
    home.write(".adjutant/prompts/research.md", "You are a focused researcher.\n\nTopic:\n{{input}}\n");
    home
}

fn run_hook(home: &Home, client: &str, prompt: &str) -> Finished {
    let asked = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": home.path(), "prompt": prompt});
    let finished = home.run(["hook", client], asked.to_string());
    assert!(finished.status.success(), "{finished}");
    finished
}

/// The text that a client adds to the prompt.
fn added_context(home: &Home, client: &str, prompt: &str) -> String {
    let finished = run_hook(home, client, prompt);
    let [answer] = &finished.lines()[..] else { panic!("{finished}") };
    let context =
        answer.pointer("/hookSpecificOutput/additionalContext").or_else(|| answer.get("additionalContext"));
    context.unwrap().as_str().unwrap().to_owned()
}

#[test]
fn each_client_gets_the_expanded_prompt_in_its_own_format() {
    let home = home();
    for (client, event) in
        [("claude", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")]
    {
        let lines = run_hook(&home, client, ":research how bees sleep").lines();
        assert_eq!(lines[0]["hookSpecificOutput"]["hookEventName"], event);
        assert_eq!(lines[0].as_object().unwrap().len(), 1);
        let text = lines[0]["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
        assert!(text.contains("`:research`") && text.ends_with(EXPANDED), "{text}");
    }
    let lines = run_hook(&home, "copilot", ":research how bees sleep").lines();
    assert!(lines[0]["additionalContext"].as_str().unwrap().ends_with(EXPANDED));
    assert!(!home.path().join(".adjutant/hub.sock").exists(), "no hub is started for it");
}

#[test]
fn a_prompt_without_a_command_is_not_changed() {
    let home = home();
    for prompt in
        ["hello", "at 10:30", ":smile:", ":unknown x", "`:research x`", "", "a\n```\n:research x\n```\n"]
    {
        let finished = run_hook(&home, "claude", prompt);
        assert_eq!((&*finished.stdout, &*finished.stderr), ("", ""), "{prompt:?}");
    }
}

#[test]
fn several_commands_in_one_prompt_share_its_text() {
    let home = home();
    home.write(".adjutant/prompts/team/tone.md", "Write plainly.\n");
    let text = added_context(&home, "claude", "First :research tides :team/tone and be brief");
    assert!(text.contains("Topic:\ntides\n\nThe prompt command `:team/tone`"), "{text}");
    assert!(text.ends_with("Write plainly.\n\nand be brief"), "{text}");
}

#[test]
fn a_failed_expansion_is_explained_to_the_model() {
    let home = home();
    home.write(
        ".adjutant/prompts/deploy.md",
        "---\narguments:\n  - name: place\n    required: true\n---\nTo {{place}}.\n",
    );
    let text = added_context(&home, "claude", ":deploy");
    assert!(
        text.contains("`:deploy` in the user's message was not expanded") && text.contains("place"),
        "{text}"
    );
}

#[test]
fn a_misspelt_or_broken_command_at_the_beginning_is_answered_with_the_reason() {
    let home = home();
    home.write(".adjutant/prompts/broken.md", "---\nengine: perl\n---\nText\n");
    home.write(".adjutant/prompts/tone.md", "Write plainly.\n");
    for (prompt, reason) in [
        (":resarch bees", "no prompt has this name; did you mean `:research`?"),
        (":Research bees", "no prompt has this name; did you mean `:research`?"),
        (":research: bees", "punctuation follows the name; did you mean `:research`?"),
        ("\":resarch\", bees", "no prompt has this name; did you mean `:research`?"),
        ("“:resarch” bees", "no prompt has this name; did you mean `:research`?"),
        ("(:resarch) bees", "no prompt has this name; did you mean `:research`?"),
        (":broken x", "unknown engine `perl`"),
        ("**:broken**: x", "unknown engine `perl`"),
        ("Please run :broken, then rest", "unknown engine `perl`"),
    ] {
        let text = added_context(&home, "claude", prompt);
        assert!(text.contains("was not expanded") && text.contains(reason), "{prompt}: {text}");
    }
    let text = added_context(&home, "claude", ":resarch bees, :tone!");
    assert!(text.contains("did you mean `:research`?") && text.contains("Write plainly."), "{text}");
    assert!(added_context(&home, "claude", "(:research) how bees sleep").ends_with(EXPANDED));
    for message in
        ["“:research” how bees sleep", "\u{feff}:research how bees sleep", "\u{200b}:research how bees sleep"]
    {
        assert!(added_context(&home, "claude", message).ends_with(EXPANDED), "{message:?}");
    }
}

#[test]
fn a_prompt_over_a_clients_limit_is_left_to_the_tool() {
    let home = home();
    home.write(".adjutant/prompts/long.md", "word ".repeat(3_000));
    for client in ["claude", "codex"] {
        let text = added_context(&home, client, ":long tides :research how bees sleep");
        assert!(text.len() < 10_000 && text.contains("call expand_prompt with the command `long`"), "{text}");
        assert!(text.ends_with(EXPANDED), "the short one fits: {text}");
    }
    assert!(added_context(&home, "gemini", ":long tides").len() > 15_000);
}

#[test]
fn a_limit_counts_in_the_unit_of_its_client() {
    let home = home();
    // An accented letter is one unit of UTF-16 and two bytes, a clef two units and four bytes.
    for (name, letter, count) in [("accents", "é", 4_700), ("clefs", "\u{1d11e}", 4_500)] {
        home.write(&format!(".adjutant/prompts/{name}.md"), letter.repeat(count));
    }
    let is_expanded = |client: &str, prompt: &str| {
        !added_context(&home, client, prompt).contains("too long for this message")
    };
    assert!(is_expanded("claude", ":accents") && is_expanded("claude", ":clefs"));
    assert!(!is_expanded("codex", ":accents") && !is_expanded("codex", ":clefs"));
    assert!(!is_expanded("claude", ":accents :clefs"));
    // What is said of the commands that do not fit counts too.
    home.write(".adjutant/prompts/nearly.md", "x".repeat(9_000));
    let text = added_context(&home, "codex", &format!(":nearly {}", ":clefs ".repeat(7)));
    assert!(text.len() <= 10_000, "{}", text.len());
}

#[test]
fn a_fault_in_the_hook_does_not_block_the_prompt() {
    let home = home();
    for input in ["", "{", "[1]", "{\"cwd\": \"/\"}", "null", "{\"prompt\": 3}"] {
        let finished = home.run(["hook", "claude"], input);
        assert!(finished.status.success() && finished.stdout.is_empty(), "{input}: {finished}");
        assert!(finished.stderr.starts_with("error: "), "{input}: {finished}");
    }
    home.write(".adjutant/config.toml", "nonsense");
    let finished = run_hook(&home, "claude", ":research x");
    assert!(finished.stdout.is_empty() && finished.stderr.contains("config.toml"), "{finished}");
    let finished = home.run(["hook", "claude"], r#"{"prompt": "hello", "cwd": "/nowhere/at/all"}"#);
    assert_eq!((&*finished.stdout, &*finished.stderr), ("", ""));
}

#[test]
fn a_client_that_keeps_the_pipe_open_is_answered() {
    let home = home();
    let mut child =
        home.adjutant(["hook", "gemini"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(json!({"prompt": ":research how bees sleep"}).to_string().as_bytes()).unwrap();
    assert!(wait(&mut child, DEADLINE).success());
    assert!(began.elapsed() < DEADLINE);
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert!(serde_json::from_str::<Value>(&answer).unwrap().to_string().contains("how bees sleep"));
    drop(stdin);
}

#[test]
fn a_project_prompt_is_marked_and_runs_nothing() {
    let home = home();
    let mark = home.path().join("ran");
    let body = format!("!`touch {0}`\n{{{{ '`touch {0}`' }}}} $(touch {0})\n{{{{input}}}}\n", mark.display());
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    home.write("project/.adjutant/prompts/research.md", &body);
    home.write(
        "project/.adjutant/prompts/other.md",
        "---\nengine: jinja\n---\n{% include '/etc/passwd' %}\n",
    );
    let cwd = home.path().join("project/src");
    std::fs::create_dir(&cwd).unwrap();
    let asked = json!({"cwd": cwd, "prompt": ":research tides :other"});
    let finished = home.run(["hook", "claude"], asked.to_string());
    let text = &finished.lines()[0]["hookSpecificOutput"]["additionalContext"];
    let text = text.as_str().unwrap();
    assert!(text.contains("stands for the prompt below (from a file of this project)"), "{text}");
    assert!(text.contains("touch") && text.contains("`:other`") && !text.contains("root:"), "{text}");
    assert!(!mark.exists());
}

#[test]
fn a_running_hub_records_the_expansion() {
    let home = home();
    home.write(".adjutant/prompts/long.md", "x".repeat(20_000));
    let hub = Serving::open_hub(&home);
    assert!(added_context(&home, "claude", ":research tides and :long").contains("tides"));
    let end = Instant::now() + DEADLINE;
    let timeline = loop {
        let page = hub.page("/timeline");
        if page.contains("Claude Code, by its hook") {
            break page;
        }
        assert!(Instant::now() < end, "{page}");
    };
    for part in [">research</a>", ">long</span>", "too long for this client"] {
        assert!(timeline.contains(part), "{part}: {timeline}");
    }
    assert!(!timeline.contains("tides"), "the user's text is not recorded: {timeline}");
    // A hub that does not respond blocks no hook.
    let pid = rustix::process::Pid::from_raw(i32::try_from(hub.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let text = added_context(&home, "claude", ":research tides");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert!(text.contains("tides"), "{text}");
}
