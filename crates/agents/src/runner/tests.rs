//! Tests of the runners: the results that are parsed from recorded output of the real CLIs.

mod command_lines;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::{Strategy, any, prop, proptest};
use serde_json::{Value, json};

use super::CommandVariant;
use super::command_line::OutputFormat;
use super::custom::config::{Answer, CustomRunner, Stdin};
use super::failure::Class;
use super::output_parser::OutputParser;
use super::progress::{AttemptEnd, AttemptResult};
use crate::definition::Permission;
use crate::run_report::Usage;
use adjutant_host::process::{Cause, Exit, Limit};

/// Reads a whole run.
fn read(format: OutputFormat, stdout: &str, ended: AttemptEnd<'_>) -> (Vec<String>, AttemptResult) {
    let mut parser = OutputParser::new(format);
    let progress =
        stdout.lines().flat_map(|line| parser.line(line)).map(|item| format!("{item:?}")).collect();
    (progress, parser.finish(&ended))
}

fn exited(code: i32) -> AttemptEnd<'static> {
    AttemptEnd { exit: Exit::Code(code), cause: Cause::Exited, stderr: "", final_message: None, usage: None }
}

#[test]
fn recorded_runs_are_understood() {
    let runs: &[(&str, AttemptEnd<'_>)] = &[
        ("codex-0.92.0-plan", exited(0)),
        ("codex-0.169.0-workspace-write", exited(0)),
        ("codex-0.169.0-mcp", exited(0)),
        ("codex-0.169.0-empty", exited(0)),
        ("codex-0.169.0-http401", exited(1)),
        ("codex-0.169.0-http429", exited(1)),
        ("codex-0.169.0-http500", exited(1)),
        ("codex-0.169.0-sigint", exited(0)),
        ("copilot-1.0.102-full", exited(0)),
        ("copilot-1.0.102-workspace-write", exited(0)),
        ("copilot-1.0.102-empty", exited(1)),
        ("copilot-1.0.102-http401", exited(1)),
        ("copilot-1.0.102-http429", exited(1)),
        ("claude-2.1.329-workspace-write", exited(0)),
        ("claude-2.1.329-empty", exited(0)),
        ("claude-2.1.329-http500", exited(1)),
        (
            "claude-2.1.329-http429",
            AttemptEnd { exit: Exit::Signal(9), cause: Cause::TimedOut(Limit::Wall), ..exited(0) },
        ),
        ("gemini-0.61.0-workspace-write", exited(0)),
        ("gemini-0.61.0-mcp", exited(0)),
        ("gemini-0.61.0-empty", exited(0)),
        ("gemini-0.61.0-http401", exited(145)),
        ("opencode-1.18.33-full", exited(0)),
        ("opencode-1.18.33-workspace-write", exited(0)),
        ("opencode-1.18.33-two-messages", exited(0)),
        ("opencode-1.18.33-empty", exited(0)),
        ("opencode-1.18.33-http429", exited(1)),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it/fixtures/runners");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), runs.len(), "a recording is not read");
    for (name, ended) in runs {
        let stdout = std::fs::read_to_string(folder.join(format!("{name}.stdout.ndjson"))).unwrap();
        let (progress, report) = read(format(name), &stdout, *ended);
        insta::assert_snapshot!(*name, format!("{}\n\n{report:#?}", progress.join("\n")));
    }
}

fn format(name: &str) -> OutputFormat {
    match name.split('-').next().unwrap() {
        "codex" => OutputFormat::Codex,
        "copilot" => OutputFormat::Copilot,
        "claude" => OutputFormat::Claude,
        "gemini" => OutputFormat::Gemini,
        "opencode" => OutputFormat::Opencode,
        other => panic!("{other}"),
    }
}

const GOOD: &str = r#"{"type":"item.completed","item":{"type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{}}"#;

#[test]
fn success_needs_a_message_a_good_end_and_a_good_exit() {
    let codex = |stdout: &str, ended| read(OutputFormat::Codex, stdout, ended).1;
    let class = |stdout: &str, ended| codex(stdout, ended).failure.map(|failure| failure.class);
    let cause = |cause| AttemptEnd { exit: Exit::Signal(9), cause, ..exited(0) };
    assert_eq!(class(GOOD, exited(0)), None);
    assert_eq!(class(GOOD, exited(3)), Some(Class::Crashed));
    assert_eq!(class(GOOD, cause(Cause::Cancelled)), Some(Class::Cancelled));
    assert_eq!(class(GOOD, cause(Cause::TimedOut(Limit::Idle))), Some(Class::TimedOut(Limit::Idle)));
    assert_eq!(class(GOOD, cause(Cause::HubGone)), Some(Class::HubGone));
    assert_eq!(class(GOOD, cause(Cause::Exited)), Some(Class::Crashed));
    assert_eq!(class("", exited(0)), Some(Class::EmptyAnswer));
    assert_eq!(class("hello", exited(0)), Some(Class::BadOutput));
    assert_eq!(class(GOOD.lines().next().unwrap(), exited(0)), Some(Class::BadOutput));
    assert_eq!(class(&GOOD[..GOOD.len() - 5], exited(0)), Some(Class::BadOutput));
    assert_eq!(class("", exited(1)), Some(Class::Crashed));
    assert_eq!(class("", AttemptEnd { exit: Exit::NotStarted, ..exited(0) }), Some(Class::NotInstalled));
    // The message is kept where the run failed.
    assert_eq!(codex(GOOD, exited(3)).message.as_deref(), Some("done"));
    // The file is whole where a line may have been cut.
    let ended = AttemptEnd { final_message: Some("all of it ✓".as_bytes()), ..exited(0) };
    assert_eq!(codex(GOOD, ended).message.as_deref(), Some("all of it ✓"));
}

#[test]
fn commands_without_an_end_and_in_cut_lines_are_listed() {
    let started = |id: u32, command: &str| {
        let item = json!({"id": format!("item_{id}"), "type": "command_execution", "command": command});
        json!({"type": "item.started", "item": item}).to_string()
    };
    let cut = |id: u32, command: &str, end: &str| {
        let item = json!({"id": format!("item_{id}"), "type": "command_execution", "command": command});
        let item = item.to_string().replace('}', ",\"aggregated_output\":\"line\\n");
        format!("{{\"type\":\"item.completed\",\"item\":{item}{end}")
    };
    // The last two lines end in an escape sequence.
    let stdout = [
        started(1, "make"),
        started(2, "yes"),
        cut(2, "yes", "yyyy"),
        cut(3, "no start", "\\"),
        cut(4, "unicode", "\\u00"),
        r#"{"type":"item.completed","item":{"id":"item_9","type":"command_execution","aggregated_output":"yyyy"#
            .to_owned(),
        started(5, "sleep 60"),
    ];
    let timed_out = AttemptEnd { exit: Exit::Signal(9), cause: Cause::TimedOut(Limit::Wall), ..exited(0) };
    let result = read(OutputFormat::Codex, &stdout.join("\n"), timed_out).1;
    let listed: Vec<(&str, bool)> =
        result.commands.iter().map(|command| (command.command.as_str(), command.unfinished)).collect();
    assert_eq!(
        listed,
        [
            ("yes", false),
            ("no start", false),
            ("unicode", false),
            ("(not reported)", false),
            ("make", true),
            ("sleep 60", true)
        ]
    );
    // A cut message is neither the answer nor the end.
    let cut = r#"{"type":"item.completed","item":{"type":"agent_message","text":"the beginn"#;
    let result = read(OutputFormat::Codex, cut, exited(0)).1;
    assert_eq!((result.message, result.failure.map(|failure| failure.class)), (None, Some(Class::BadOutput)));
}

/// What the real programs answer to calls that the level does not allow.
#[test]
fn denied_calls_are_listed_as_denied_and_not_as_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it/fixtures/runners");
    for (name, denied) in [
        ("claude-2.1.329-workspace-write", vec!["touch made.txt", "Write /elsewhere/outside.txt"]),
        ("copilot-1.0.102-workspace-write", vec!["touch made.txt", "create"]),
        (
            "gemini-0.61.0-workspace-write",
            vec!["enter_plan_mode", "exit_plan_mode", "write_file /elsewhere/outside.txt", "touch made.txt"],
        ),
        ("opencode-1.18.33-workspace-write", vec!["touch made.txt", "write /elsewhere/outside.txt"]),
    ] {
        let stdout = std::fs::read_to_string(folder.join(format!("{name}.stdout.ndjson"))).unwrap();
        let result = read(format(name), &stdout, exited(0)).1;
        assert_eq!(result.denied, denied, "{name}");
        assert!(result.commands.is_empty(), "{name}: {:?}", result.commands);
    }
    let declined = r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"rm x","exit_code":null,"status":"declined"}}"#;
    let started = declined.replace("completed\"", "started\"");
    let result = read(OutputFormat::Codex, &format!("{started}\n{declined}"), exited(0)).1;
    assert_eq!((result.denied, result.commands.len()), (vec!["rm x".to_owned()], 0));
}

/// As Copilot 1.0.102 ends where no events were asked for.
#[test]
fn statistics_below_an_error_do_not_hide_it() {
    for (told, class) in [
        (
            "Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).\n  Check your key.",
            Class::Authentication,
        ),
        (
            "Failed to get response from the AI model; retried 5 times (total retry wait time: 5.60 seconds) Last error: 429 slow down",
            Class::UsageLimit,
        ),
        (
            "Failed to get response from the AI model; retried 5 times (total retry wait time: 16.54 seconds) Last error: 500 oh",
            Class::Provider,
        ),
    ] {
        let stderr =
            format!("\n{told}\n\n\nChanges    +0 -0\nDuration   2s\nResume     copilot --resume=1-2\n");
        let (_, report) =
            read(OutputFormat::CopilotText, "● Retrying...", AttemptEnd { stderr: &stderr, ..exited(1) });
        let failure = report.failure.unwrap();
        assert_eq!(failure.class, class, "{failure:?}");
        assert!(!failure.detail.contains("Duration"), "{failure:?}");
        assert_eq!(report.session.as_deref(), Some("1-2"));
    }
}

#[test]
fn copilot_tells_what_it_cost_in_a_file() {
    let file = json!({"modelMetrics": {
        "one": {"usage": {"inputTokens": 7, "outputTokens": 5, "cacheReadTokens": 3, "cacheWriteTokens": 0}},
        "two": {"usage": {"inputTokens": 70, "outputTokens": 50, "cacheReadTokens": 30}},
    }});
    let usage =
        |file: &[u8]| read(OutputFormat::Copilot, "", AttemptEnd { usage: Some(file), ..exited(0) }).1.usage;
    let told = usage(file.to_string().as_bytes());
    assert_eq!((told.input_tokens, told.cached_tokens, told.output_tokens), (Some(77), Some(33), Some(55)));
    assert_eq!(usage(b"{\"modelM"), Usage::default());
}

#[test]
fn a_limit_that_was_got_over_is_not_why_a_run_took_too_long() {
    let late = AttemptEnd { exit: Exit::Signal(9), cause: Cause::TimedOut(Limit::Wall), ..exited(0) };
    for (name, limited, goes_on) in [
        (
            "codex",
            json!({"type": "error", "message": "Reconnecting... 1/5 (429 Too Many Requests)"}),
            json!({"type": "item.started", "item": {"type": "command_execution", "id": "1", "command": "ls"}}),
        ),
        (
            "copilot",
            json!({"type": "session.error", "data": {"statusCode": 429, "message": "slow down"}}),
            json!({"type": "assistant.message", "data": {"content": "on"}}),
        ),
        (
            "claude",
            json!({"type": "system", "subtype": "api_retry", "error_status": 429}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "on"}]}}),
        ),
        (
            "gemini",
            json!({"type": "error", "message": "quota exceeded"}),
            json!({"type": "tool_use", "tool_name": "glob", "tool_id": "1"}),
        ),
    ] {
        let class = |stdout: String| read(format(name), &stdout, late).1.failure.unwrap().class;
        assert_eq!(class(limited.to_string()), Class::UsageLimit, "{name}");
        assert_eq!(class(format!("{limited}\n{goes_on}")), Class::TimedOut(Limit::Wall), "{name}");
    }
}

#[test]
fn words_on_stderr_tell_the_class() {
    for (stderr, class) in [
        ("Error: No authentication information found.\nCopilot can be …", Class::Authentication),
        (
            "thinking about the usage limit of things\nERROR: unexpected status 401 Unauthorized",
            Class::Authentication,
        ),
        ("the model said: usage limit\nError: boom", Class::Crashed),
        ("error: unexpected argument '--sandboxx' found", Class::Refused),
        ("--dangerously-skip-permissions cannot be used with root/sudo privileges", Class::Refused),
        ("\u{1b}[31mError: fetch failed\u{1b}[0m", Class::Network),
    ] {
        let failure = read(OutputFormat::Text, "", AttemptEnd { stderr, ..exited(1) }).1.failure.unwrap();
        assert_eq!(failure.class, class, "{stderr}");
        assert!(!failure.detail.contains('\u{1b}'));
    }
    let stderr = "Not inside a trusted directory and --skip-git-repo-check was not specified.";
    let failure = read(OutputFormat::Text, "", AttemptEnd { stderr, ..exited(1) }).1.failure.unwrap();
    assert_eq!((failure.class, failure.retry_with), (Class::Refused, Some(CommandVariant::Native)));
}

#[test]
fn the_documented_line_of_codex_tells_its_answer_on_stdout() {
    let stderr = "OpenAI Codex v0.169.0\n--------\nmodel: gpt-5\nsession id: 01a1\n--------\nuser\n";
    let report = read(
        OutputFormat::Text,
        "line one\n\nline \u{1b}[1mtwo\u{1b}[0m\n",
        AttemptEnd { stderr, ..exited(0) },
    )
    .1;
    assert_eq!(report.message.as_deref(), Some("line one\n\nline two"));
    assert_eq!((report.session.as_deref(), report.model.as_deref()), (Some("01a1"), Some("gpt-5")));
    assert_eq!(report.failure, None);
    assert_eq!(read(OutputFormat::Text, " \n", exited(0)).1.failure.unwrap().class, Class::EmptyAnswer);
}

fn own(argv: &[&str]) -> CustomRunner {
    CustomRunner {
        name: "aider".to_owned(),
        argv: argv.iter().map(ToString::to_string).collect(),
        version_command: Vec::new(),
        stdin: Stdin::Prompt,
        answer: Answer::Stdout,
        env: BTreeMap::from([("AIDER_YES".to_owned(), "1".to_owned())]),
        pass_env: vec!["AIDER_KEY".to_owned()],
        levels: vec![Permission::Full],
        usage_limit: vec!["Out of juice".to_owned()],
        authentication: vec!["who are you".to_owned()],
    }
}

#[test]
fn a_configured_runner_is_read_as_configured() {
    let end = |answer: Answer, stdout: &str, ended: AttemptEnd<'_>| {
        let runner = CustomRunner { answer, ..own(&["aider"]) };
        let report = read(OutputFormat::Custom(Arc::new(runner)), stdout, ended).1;
        (report.message, report.failure.map(|failure| failure.class))
    };
    let said = |text: &str| Some(text.to_owned());
    let json = |path: &str| Answer::Json(path.split('.').map(ToOwned::to_owned).collect());
    assert_eq!(end(Answer::Stdout, "a\nb\n", exited(0)), (said("a\nb"), None));
    assert_eq!(end(Answer::Stdout, "", exited(0)), (None, Some(Class::EmptyAnswer)));
    let file = AttemptEnd { final_message: Some(b"from the file"), ..exited(0) };
    assert_eq!(end(Answer::File, "noise", file), (said("from the file"), None));
    assert_eq!(end(Answer::File, "noise", exited(0)), (None, Some(Class::EmptyAnswer)));
    let lines = "{\"r\":[{\"t\":\"first\"}]}\n{\"r\":[{\"t\":\"last\"}]}\nbye\n";
    assert_eq!(end(json("r.0.t"), lines, exited(0)), (said("last"), None));
    assert_eq!(end(json("r"), "{\n \"r\": 7\n}\n", exited(0)), (said("7"), None));
    assert_eq!(end(json("x"), lines, exited(0)), (None, Some(Class::BadOutput)));
    let flood = format!("{}{{\"r\":\"behind it\"}}\n", "{\"noise\":\"of a kind\"}\n".repeat(100_000));
    assert_eq!(end(json("r"), &flood, exited(0)), (said("behind it"), None));
    let long = "é".repeat(1024 * 1024);
    let (cut, failure) = end(Answer::Stdout, &format!("{long}\nthe end\n"), exited(0));
    let cut = cut.unwrap();
    assert!(cut.len() < 1024 * 1024 + 100 && cut.ends_with("é\nthe end"), "{} bytes", cut.len());
    assert_eq!(failure, None);
    let failed = |stderr| AttemptEnd { stderr, ..exited(2) };
    assert_eq!(end(Answer::Stdout, "", failed("sorry: out of JUICE")).1, Some(Class::UsageLimit));
    assert_eq!(end(Answer::Stdout, "Who are you?", failed("")).1, Some(Class::Authentication));
    assert_eq!(end(Answer::Stdout, "x", failed("boom")).1, Some(Class::Crashed));
}

fn values() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "item",
        "data",
        "part",
        "text",
        "content",
        "message",
        "result",
        "usage",
        "error",
        "id",
        "name",
        "turn.completed",
        "item.completed",
        "assistant",
        "assistant.message",
        "tool_use",
        "step_finish",
        "state",
        "tokens",
        "command",
        "fileEdits",
        "system",
        "init",
        "user",
        "tool_result",
    ]);
    let leaf = proptest::prop_oneof![
        words.clone().prop_map(|word| json!(word)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(|truth| json!(truth)),
        proptest::prelude::Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        proptest::prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((words.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    /// Whatever an event looks like, it is taken; and nothing succeeds without a message.
    #[test]
    fn no_event_breaks_a_reader(events in prop::collection::vec(values(), 0..20), code in 0..3) {
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        let stdout = lines.join("\n");
        for name in ["codex", "copilot", "claude", "gemini", "opencode"] {
            let (_, report) = read(format(name), &stdout, exited(code));
            assert!(report.failure.is_some() || report.message.is_some());
        }
    }
}
