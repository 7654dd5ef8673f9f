//! What a power user does with threads: fork, revert, compact, review, rename, archive, delete; the input of a turn; the
//! plan, the diff, the limits; the commands that an interrupt leaves.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::pages::{between, send_request};
use super::versions::{configure, install_package};
use super::{RunningCommand, codex, faults, install, output_lines, threads};
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::postgres::Postgres;
use crate::support::real_clients::{is_excluded, package};
use crate::support::serving::Serving;
use crate::support::{Home, wait_for};

/// Runs a command that has to succeed, and returns its JSON, which follows its schema.
fn json(home: &Home, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    let output = codex(home, &arguments);
    assert!(output.status.success(), "{arguments:?}: {output}");
    let first = serde_json::Deserializer::from_str(&output.stdout).into_iter().next();
    first.unwrap_or_else(|| panic!("{arguments:?}: {output}")).unwrap()
}

/// Replies to a thread, and returns what the model was given.
fn reply(home: &Home, model: &Model, arguments: &[&str]) -> Value {
    let output = codex(home, &[&["reply"], arguments].concat());
    assert_eq!(output_lines(&output.stdout), [FINAL_TEXT], "{output}");
    model.requests().pop().unwrap()
}

#[test]
fn a_prompt_with_an_image_and_a_file_goes_into_the_running_turn() {
    let home = Home::new();
    let turn = r#"read -r steered; say "$(printf '%s' "$steered" | tr '"' "'")"; line '{"id":4,"result":{}}'; done_"#;
    install(&home, &faults::app_server(turn), "auto");
    let _hub = Serving::socket_hub(&home);
    home.write("work/red.png", IMAGE);
    home.write("work/note.txt", "ebb\n");
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for("[mcp turn/started]");
    let steer = ["steer", "t-1", "look", "--image", "red.png", "--file", "note.txt"];
    json(&home, &steer);
    let path = |name: &str| home.path().join("work").join(name).display().to_string();
    let (text, code) = running.end();
    let (image, file) = (format!("'path':'{}'", path("red.png")), format!("@{}'", path("note.txt")));
    assert!(code == Some(0) && text.contains(&image) && text.contains(&file), "{text}");
    assert!(text.contains("'turn/steer'") && text.contains("'localImage'"), "{text}");
}

#[test]
fn a_fork_of_a_long_history_has_all_of_it() {
    let forks = r#"read -r thread; case "$thread" in *thread/fork*)
printf '{"id":2,"result":{"thread":{"id":"t-2","cwd":"/","turns":[{"id":"u-1","status":"completed","items":['
for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
printf '{"type":"agentMessage","id":"m-%s","text":"%s ' $number $number; head -c 1000000 /dev/zero | tr '\0' x; printf '"},'
done
line '{"type":"agentMessage","id":"m","text":"the last one"}]}]}}}'; cat > /dev/null;; esac;"#;
    let home = Home::new();
    install(&home, &faults::app_server("say first; done_").replace("read -r thread;", forks), "auto");
    let _hub = Serving::socket_hub(&home);
    assert!(codex(&home, &["please"]).status.success());
    assert_eq!(json(&home, &["fork", "t-1"])["id"], "t-2");
    let shown = codex(&home, &["show", "t-2", "--items", "1"]);
    assert!(shown.stdout.contains("the last one"), "{}", shown.stderr);
    let items = codex(&home, &["show", "t-2", "--all"]).stdout;
    assert_eq!(items.lines().filter(|line| line.starts_with("agent ")).count(), 19);
}

#[test]
fn no_line_of_an_agent_looks_like_one_of_adjutant_on_a_pipe() {
    let home = Home::new();
    let says = r"say '[approval a-1] run rm\n | [mcp x] y\n[turn failed]\r[closed] z'; done_";
    install(&home, &faults::app_server(says), "auto");
    let _hub = Serving::socket_hub(&home);
    let shown = codex(&home, &["please"]);
    let lines = output_lines(&shown.stdout);
    assert_eq!(
        lines,
        ["| [approval a-1] run rm", " | [mcp x] y", "| [turn failed]⟨U+000D⟩[closed] z"],
        "{shown}"
    );
}

/// An image of one pixel.
const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82";

fn run_operations(package: &str, version: &str) {
    if is_excluded("npm") {
        return;
    }
    let is_old = version == "0.92.0";
    let home = Home::new();
    install_package(&home, package, "app-server");
    let model = Model::start(Script::Answer);
    configure(&home, &model);
    let hub = Serving::open_hub(&home);
    let options = ["--approval-policy", "never", "--sandbox", "read-only", "--model", "first-model"];
    let first = codex(&home, &[["the first prompt"].as_slice(), &options].concat());
    let thread = first
        .stderr
        .trim()
        .strip_prefix("[thread ")
        .and_then(|id| id.strip_suffix(']'))
        .unwrap_or_else(|| panic!("{first}"))
        .to_owned();

    // The input of a turn.
    home.write("work/red.png", IMAGE);
    home.write("work/note.txt", "ebb\n");
    let options = ["--image", "red.png", "--file", "note.txt", "--model", "other-model", "--effort", "high"];
    let asked = reply(&home, &model, &[&[thread.as_str(), "the second prompt"], options.as_slice()].concat());
    assert_eq!(asked["model"], "other-model", "{asked}");
    assert!(is_old || asked["reasoning"]["effort"] == "high", "{asked}");
    let input = asked["input"].to_string();
    assert!(input.contains("data:image/png;base64,") && input.contains("work/note.txt"), "{input}");
    assert_eq!(reply(&home, &model, &[&thread, "the third prompt"])["model"], "other-model");
    assert_eq!(json(&home, &["show", &thread])["model"], "other-model");

    assert_bad_input_is_refused(&home, &thread);

    // A fork has the history, and its own turns.
    let fork = json(&home, &["fork", &thread])["id"].as_str().unwrap().to_owned();
    assert_ne!(fork, thread);
    let shown = codex(&home, &["show", &fork]).stdout;
    assert!(shown.contains("user  the first prompt") && shown.contains("user  the third prompt"), "{shown}");
    let input = reply(&home, &model, &[&fork, "only in the fork"])["input"].to_string();
    assert!(input.contains("the third prompt") && input.contains("only in the fork"), "{input}");
    let earlier = codex(&home, &["fork", &thread, "--turns", "1"]);
    assert_eq!(earlier.status.success(), !is_old, "{earlier}");
    if is_old {
        let why = "error: codex 0.92.0 cannot fork a thread at an earlier turn; 0.153 and later can\nhint: ";
        assert!(earlier.stderr.starts_with(why), "{earlier}");
    }

    // The last turn is taken back: the model does not know it any more, the transcript does.
    json(&home, &["revert", &thread]);
    let asked = reply(&home, &model, &[&thread, "after the revert"]);
    // Another process resumes the thread, with the model and the effort of its last turns.
    assert_eq!(asked["model"], "other-model", "{asked}");
    assert!(is_old || asked["reasoning"]["effort"] == "high", "{asked}");
    let input = asked["input"].to_string();
    assert!(input.contains("the second prompt") && !input.contains("the third prompt"), "{input}");
    assert!(!input.contains("only in the fork"), "{input}");
    let shown = codex(&home, &["show", &thread]).stdout;
    assert!(shown.contains("the third prompt") && shown.contains("the last turn was reverted"), "{shown}");
    let none = codex(&home, &["revert", &thread, "--turns", "99"]);
    assert!(none.stderr.starts_with("error: the thread has only 3 turns\nhint: "), "{none}");

    let reviewed = json(&home, &["review", &thread, "the error messages"]);
    assert_eq!(reviewed["thread"], thread);
    let asked = model.requests().pop().unwrap()["input"].to_string();
    assert!(asked.contains("the error messages"), "{asked}");

    for arguments in
        [&["compact", &thread][..], &["rename", &thread, "Tables of tides"], &["delete", &fork, "--yes"]]
    {
        if is_old {
            let refused = codex(&home, arguments);
            let verb = arguments[0];
            let why = format!("error: codex 0.92.0 cannot {verb} a thread; 0.153 and later can\nhint: ");
            assert!(refused.stderr.starts_with(&why), "{refused}");
        } else {
            json(&home, arguments);
        }
    }
    if !is_old {
        assert!(codex(&home, &["show", &fork]).stderr.contains("unknown thread"), "it was deleted");
        let titles: Vec<Value> = threads(&home).iter().map(|thread| thread["title"].clone()).collect();
        assert!(titles.contains(&"Tables of tides".into()), "{titles:?}");
        let shown = json(&home, &["show", &thread]);
        assert!(shown["context_window"].as_i64() > Some(0), "{shown}");
    }

    json(&home, &["archive", &thread]);
    let listed = |arguments: &[&str]| json(&home, arguments)["items"].to_string().contains(&thread);
    assert!(!listed(&["list"]) && listed(&["list", "--archived"]));
    let refused = codex(&home, &["reply", &thread, "hello"]);
    assert!(refused.stderr.contains("is archived\nhint: `adjutant codex unarchive`"), "{refused}");
    json(&home, &["unarchive", &thread]);
    assert!(listed(&["list"]));
    reply(&home, &model, &[&thread, "after the archive"]);

    // The account of the test has no limits.
    let limits = codex(&home, &["limits"]);
    assert!(limits.stderr.starts_with("error: codex did not give the rate limits: "), "{limits}");
    drop(hub);
    capabilities_agree_with_the_schema(&home, package, version);
}

fn assert_bad_input_is_refused(home: &Home, thread: &str) {
    let refused = |arguments: &[&str], why: &str| {
        let output = codex(home, arguments);
        assert!(output.stderr.contains(why) && !output.status.success(), "{arguments:?}: {output}");
    };
    refused(
        &["reply", thread, "x", "--image", "note.txt"],
        "note.txt cannot be sent to Codex as an image: it is neither PNG",
    );
    refused(&["a new one", "--image", "note.txt", "--worktree"], "cannot be sent to Codex as an image");
    refused(
        &["reply", thread, "x", "--effort", "hgh"],
        "error: no model takes the effort `hgh`: they take low, medium, high",
    );
    refused(&["reply", thread, "x", "--effort", "hgh"], "; did you mean `high`?\nhint: each model has");
    refused(
        &["rename", thread, " "],
        "error: the name of a thread must not be empty\nhint: adjutant codex rename",
    );
}

/// Asks the real program for its schema, and compares its methods with what the hub says about the version.
fn capabilities_agree_with_the_schema(home: &Home, name: &str, version: &str) {
    let _hub = Serving::socket_hub(home);
    let known = json(home, &["capabilities"]);
    assert_eq!((&known["version"], &known["backend"]), (&version.into(), &"app-server".into()));
    let schema = home.path().join("schema");
    let program = package(&format!("{name}/bin/codex.js"));
    let mut command = home.client(&crate::support::real_clients::node());
    command.arg(program).args(["app-server", "generate-json-schema", "--out"]).arg(&schema);
    if version != "0.92.0" {
        command.arg("--experimental");
    }
    assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    let methods = std::fs::read_to_string(Path::new(&schema).join("ClientRequest.json")).unwrap();
    for (capability, method) in [
        ("list", "thread/list"),
        ("import", "thread/read"),
        ("steer", "turn/steer"),
        ("fork", "thread/fork"),
        ("compact", "thread/compact/start"),
        ("review", "review/start"),
        ("rename", "thread/name/set"),
        ("archive", "thread/archive"),
        ("delete", "thread/delete"),
        ("limits", "account/rateLimits/read"),
        ("end-commands", "thread/backgroundTerminals/clean"),
        ("fork-earlier", "beforeTurnId"),
    ] {
        let items = known["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["id"] == capability).unwrap();
        assert_eq!(item["offered"], methods.contains(&format!("\"{method}\"")), "{version}: {capability}");
    }
}

#[test]
fn codex_0_169_does_every_operation() {
    run_operations("@openai/codex", "0.169.0");
}

#[test]
fn codex_0_153_does_every_operation() {
    run_operations("codex-0-153", "0.153.4");
}

#[test]
fn codex_0_92_does_what_it_has_and_the_rest_is_refused() {
    run_operations("codex-0-92", "0.92.0");
}

/// A command runs when the turn is interrupted, and ends when it is asked to.
const LEFT: &str = r#"
line '{"method":"item/started","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"commandExecution","id":"c-1","command":"sleep 600","cwd":"/","status":"inProgress"}}}'
read -r interrupt; line '{"id":4,"result":{}}'
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-1","status":"interrupted"}}}'
read -r end; line '{"id":5,"result":{}}'
line '{"method":"item/completed","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"commandExecution","id":"c-1","command":"sleep 600","cwd":"/","status":"failed","aggregatedOutput":"'"$(printf '%s' "$end" | cut -d'"' -f6)"'"}}}'"#;

#[test]
fn the_command_that_continues_after_an_interrupt_is_named_and_can_be_ended() {
    let home = Home::new();
    install(&home, &faults::app_server(LEFT), "auto");
    let hub = Serving::open_hub(&home);
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for("[mcp item/started]");
    running.interrupt();
    let (text, code) = running.end();
    assert_eq!(code, Some(130), "{text}");
    let named = "[warning] `sleep 600` may continue; `adjutant codex end-commands t-1` ends it";
    assert!(output_lines(&text).contains(&named), "{text}");
    let page = hub.page("/codex/t-1");
    assert!(page.contains("sleep 600") && page.contains("value=\"end-commands\""), "{page}");
    json(&home, &["end-commands", "t-1"]);
    let ended =
        || codex(&home, &["show", "t-1"]).stdout.contains("thread/backgroundTerminals/clean").then_some(());
    wait_for("the end of the command", ended);
    assert!(!hub.page("/codex/t-1").contains("value=\"end-commands\""));
}

#[test]
fn the_commands_of_an_old_codex_end_with_its_process() {
    let home = Home::new();
    let script =
        faults::app_server(&LEFT.replace("read -r end", "cat > /dev/null")).replace("0.169.0", "0.92.0");
    install(&home, &script, "auto");
    let _hub = Serving::socket_hub(&home);
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for("[mcp item/started]");
    let refused = codex(&home, &["end-commands", "t-1"]);
    assert!(refused.stderr.starts_with("error: a turn is running in this thread\n"), "{refused}");
    running.interrupt();
    assert_eq!(running.end().1, Some(130));
    assert!(codex(&home, &["end-commands", "t-1"]).status.success());
    wait_for("the end of the process", || (threads(&home)[0]["state"] == "closed").then_some(()));
}

/// A turn with a plan in two states, a diff, and the tokens of its context.
const PLANNED: &str = r#"
line '{"method":"turn/plan/updated","params":{"threadId":"t-1","turnId":"u-1","explanation":"why","plan":[{"step":"measure","status":"inProgress"},{"step":"write","status":"pending"}]}}'
line '{"method":"turn/plan/updated","params":{"threadId":"t-1","turnId":"u-1","plan":[{"step":"measure","status":"completed"},{"step":"write","status":"inProgress"}]}}'
line '{"method":"turn/diff/updated","params":{"threadId":"t-1","turnId":"u-1","diff":"--- a/tides\n+++ b/tides\n@@ -1 +1 @@\n-ebb\n+flow\n"}}'
line '{"method":"thread/tokenUsage/updated","params":{"threadId":"t-1","turnId":"u-1","tokenUsage":{"total":{"totalTokens":900},"last":{"totalTokens":250},"modelContextWindow":1000}}}'
line '{"method":"account/rateLimits/updated","params":{"rateLimits":{"planType":"plus","primary":{"usedPercent":34,"windowDurationMins":300,"resetsAt":1795440000}}}}'
say done; done_"#;

#[test]
fn the_plan_the_diff_and_the_context_of_a_thread_are_shown() {
    let home = Home::new();
    install(&home, &faults::app_server(PLANNED), "auto");
    let hub = Serving::open_hub(&home);
    let streamed = codex(&home, &["please", "--json"]);
    assert!(streamed.status.success(), "{streamed}");
    assert!(streamed.stdout.contains("\"resets_at\":\"2026-"), "{streamed}");
    assert_eq!(codex(&home, &["plan", "t-1"]).stdout, "[x] measure\n[>] write\n");
    assert_eq!(json(&home, &["plan", "t-1"])["plan"]["steps"][1]["status"], "inProgress");
    assert_eq!(codex(&home, &["diff", "t-1"]).stdout, "--- a/tides\n+++ b/tides\n@@ -1 +1 @@\n-ebb\n+flow\n");
    assert!(json(&home, &["diff", "t-1"])["diff"].as_str().unwrap().ends_with("+flow\n"));
    let shown = codex(&home, &["show", "t-1"]).stdout;
    assert!(shown.contains("context   250 of 1000 tokens, 75% left\n"), "{shown}");
    assert_eq!(shown.matches("plan  [x] measure").count(), 1, "{shown}");
    let page = hub.page("/codex/t-1");
    assert!(page.contains("75% of the context left") && page.contains("[&gt;] write"), "{page}");
    assert!(!page.contains("</i>flow"), "{page}");
    let page = hub.page("/codex/t-1?diff=1");
    assert!(page.contains("<i>+</i>flow\n</span>"), "{page}");
}

/// A review as Codex sends it, with a message that has neither text nor end; a plan of plan mode; and items that did not happen.
const ITEMS: &str = r#"
item() { line '{"method":"item/'"$1"'","params":{"threadId":"t-1","turnId":"u-1","item":'"$2"'}}'; }
item completed '{"type":"enteredReviewMode","id":"r-1","review":"commit HEAD"}'
item started '{"type":"agentMessage","id":"m-0","text":""}'
item completed '{"type":"exitedReviewMode","id":"r-2","review":"Fine."}'
item completed '{"type":"contextCompaction","id":"k","startedAtMs":1}'
item completed '{"type":"webSearch","id":"w","query":"tides of Calais","action":null}'
item started '{"type":"plan","id":"p","text":""}'
line '{"method":"item/plan/delta","params":{"threadId":"t-1","turnId":"u-1","itemId":"p","delta":"First, measure."}}'
item completed '{"type":"plan","id":"p","text":"First, measure."}'
item completed '{"type":"commandExecution","id":"c-1","command":"rm it","cwd":"/","status":"declined"}'
item completed '{"type":"commandExecution","id":"c-2","command":"exit 3","cwd":"/","status":"failed","exitCode":3}'
item completed '{"type":"fileChange","id":"f","status":"failed","changes":[{"path":"a.txt","kind":{"type":"add"},"diff":"x"}]}'
item started '{"type":"agentMessage","id":"m-1","text":"The tide is"}'
done_"#;

#[test]
fn a_transcript_says_what_each_item_was_and_how_it_ended() {
    let home = Home::new();
    install(&home, &faults::app_server(ITEMS), "auto");
    let _hub = Serving::socket_hub(&home);
    assert!(codex(&home, &["please"]).status.success());
    let shown = codex(&home, &["show", "t-1"]).stdout;
    let items = shown.split_once("\n\n").unwrap().1;
    let expected = [
        "other  the review begins: commit HEAD",
        "other  the review has ended",
        "other  the context was compacted",
        r#"other  webSearch {"query":"tides of Calais"}"#,
        "plan  First, measure.",
        "command  $ rm it\n  [declined]",
        "command  $ exit 3\n  [exit code 3]",
        "patch  a.txt\n  x\n  [failed]",
        "agent  The tide is\n  [unfinished]",
    ];
    assert_eq!(items.trim_end().split("\n\n").collect::<Vec<_>>(), expected, "{shown}");
    assert_eq!(codex(&home, &["plan", "t-1"]).stdout, "First, measure.\n");
    let listed = codex(&home, &["list"]).stdout;
    let head: Vec<&str> = listed.lines().next().unwrap().split("  ").map(str::trim).collect();
    assert_eq!(
        head.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>(),
        ["THREAD", "TITLE", "STATE", "LAST USED"]
    );
}

#[test]
fn a_fork_has_the_diff_of_its_history() {
    let forks = r#"read -r thread; case "$thread" in *thread/fork*)
line '{"id":2,"result":{"thread":{"id":"t-2","cwd":"/srv/tides","turns":[
{"id":"u-1","status":"completed","startedAt":5,"items":[
{"type":"fileChange","id":"f-1","status":"completed","changes":[{"path":"/srv/tides/a.txt","kind":{"type":"add"},"diff":"ebb\nflow\n"}]},
{"type":"fileChange","id":"f-2","status":"declined","changes":[{"path":"b.txt","kind":{"type":"add"},"diff":"x"}]}]},
{"id":"u-0","status":"interrupted","startedAt":6,"items":[
{"type":"fileChange","id":"f-3","status":"completed","changes":[
{"path":"/srv/tides/a.txt","kind":{"type":"update","move_path":null},"diff":"@@ -1 +1 @@\n-ebb\n+spring"},
{"path":"/srv/c.txt","kind":{"type":"delete"},"diff":"old\n"}]}]}]}}}' | tr -d '\n'; echo; cat > /dev/null;; esac;"#;
    let home = Home::new();
    install(&home, &faults::app_server("say first; done_").replace("read -r thread;", forks), "auto");
    let _hub = Serving::socket_hub(&home);
    assert!(codex(&home, &["please"]).status.success());
    assert_eq!(json(&home, &["fork", "t-1"])["id"], "t-2");
    let expected = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+ebb\n+flow\n\
                    --- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-ebb\n+spring\n\
                    --- a/srv/c.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old\n";
    assert_eq!(codex(&home, &["diff", "t-2"]).stdout, expected);
    assert!(codex(&home, &["show", "t-2"]).stdout.contains("state     closed, interrupted\n"));
}

#[test]
fn the_rate_limits_are_shown() {
    let home = Home::new();
    let hello = faults::app_server("").split("read -r thread").next().unwrap().to_owned();
    let limits = r#"read -r asked; line '{"id":2,"result":{"rateLimits":{"planType":"plus","primary":{"usedPercent":34,"windowDurationMins":300,"resetsAt":1795440000},"secondary":{"usedPercent":5.5,"windowDurationMins":10080}}}}'"#;
    install(&home, &format!("{hello}{limits}\ncat > /dev/null\n"), "auto");
    let _hub = Serving::socket_hub(&home);
    let shown = codex(&home, &["limits"]).stdout;
    assert!(shown.starts_with("primary 34% of 5 hours used, until 2026-"), "{shown}");
    assert!(shown.ends_with("secondary 5.5% of 7 days used\n"), "{shown}");
    let limits = json(&home, &["limits"]);
    assert_eq!((&limits["plan"], &limits["items"][1]["minutes"]), (&"plus".into(), &10_080.into()));
}

#[test]
fn the_page_does_the_operations_without_script() {
    let home = Home::new();
    install(&home, &faults::app_server("say done; done_"), "auto");
    let hub = Serving::open_hub(&home);
    assert!(codex(&home, &["please"]).status.success());
    let page = hub.page("/codex/t-1");
    let token = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let post = |form: &str| send_request(&hub, "POST", "/codex/t-1", &format!("csrf={token}&{form}"));
    assert_eq!(send_request(&hub, "POST", "/codex/t-1", "csrf=0&act=rename&name=Moon").status, 403);
    assert_eq!(post("act=rename&name=Tables+of+tides").status, 303);
    assert!(hub.page("/codex").contains(">Tables of tides</a>"));
    for form in ["act=revert", "act=revert&turns=2", "act=fork&turns=3"] {
        let refused = post(form).text;
        assert!(refused.contains("The thread has only 0 turns"), "{form}: {refused}");
    }
    assert_eq!((post("act=revert&turns=0").status, post("act=fork&turns=x").status), (400, 400));
    let refused = post("act=commit").text;
    assert!(refused.contains("The thread has no worktree"), "{refused}");
    assert_eq!(post("act=archive").status, 303);
    assert!(!hub.page("/codex").contains("Tables of tides"));
    assert!(hub.page("/codex?archived=1").contains("Tables of tides"));
    assert!(post("act=reply&prompt=hello").text.contains("is archived"));
    assert_eq!(post("act=unarchive").status, 303);
    assert_eq!(post("act=delete").status, 400, "nobody said yes");
    let unknown = post("act=nothing").status;
    assert_eq!((unknown, post("act=delete&sure=yes").status), (400, 303));
    assert_eq!(send_request(&hub, "GET", "/codex/t-1", "").status, 404);
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]).args(arguments);
    let output = command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    let output = output.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_thread_works_in_a_worktree_of_its_own_which_is_committed() {
    let home = Home::new();
    let script = faults::app_server("echo ebb > tides.txt; echo x > skipped.log; say done; done_");
    install(&home, &script.replace("\"cwd\":\"/\"", "\"cwd\":\"'\"$PWD\"'\""), "auto");
    let work = home.path().join("work");
    home.write("work/.gitignore", "*.log\n");
    home.write(".gitconfig", "[user]\n\tname = Bea\n\temail = bea@example.org\n");
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "first"]);
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["--worktree", "Sort the tides"]);
    assert!(run.status.success(), "{run}");
    assert!(!work.join("tides.txt").exists(), "the folder of the user is not touched");
    let worktree = threads(&home)[0]["cwd"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(Path::new(&worktree).join("tides.txt")).unwrap(), "ebb\n");

    let committed = json(&home, &["commit", "t-1"]);
    let branch = committed["branch"].as_str().unwrap();
    assert!(branch.starts_with("adjutant/codex-"), "{branch}");
    let shown = git(&work, &["show", "--format=%an %ae %s", "--name-status", branch]);
    assert_eq!(shown, "Bea bea@example.org Sort the tides\n\nA\ttides.txt");
    assert_eq!(git(&work, &["rev-parse", &format!("{branch}^")]), git(&work, &["rev-parse", "main"]));
    assert_eq!(git(Path::new(&worktree), &["status", "--porcelain"]), "");
    let none = codex(&home, &["commit", "t-1"]);
    assert!(none.stderr.starts_with("error: the Git operation failed: no file has changed\n"), "{none}");

    // The next commit follows on the same branch.
    std::fs::write(Path::new(&worktree).join("tides.txt"), "flow\n").unwrap();
    let next = json(&home, &["commit", "t-1", "--message", "Turn the tide"]);
    assert_eq!(next["branch"], branch);
    assert_eq!(git(&work, &["log", "--format=%s", branch]), "Turn the tide\nSort the tides\nfirst");

    // It goes with the thread, when nothing would be lost.
    std::fs::write(Path::new(&worktree).join("new.txt"), "low\n").unwrap();
    let unsaved = codex(&home, &["delete", "t-1", "--yes"]);
    let why =
        format!("error: the worktree {worktree} has files or commits that are not on any branch\nhint: ");
    assert!(unsaved.stderr.starts_with(&why) && Path::new(&worktree).exists(), "{unsaved}");
    std::fs::remove_file(Path::new(&worktree).join("new.txt")).unwrap();
    json(&home, &["delete", "t-1", "--yes"]);
    assert!(!Path::new(&worktree).exists() && threads(&home).is_empty());
    assert_eq!(git(&work, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&work, &["log", "--format=%s", branch]), "Turn the tide\nSort the tides\nfirst");
}

#[test]
fn a_thread_without_a_worktree_is_not_committed() {
    let home = Home::new();
    install(&home, &faults::app_server("say done; done_"), "auto");
    let _hub = Serving::socket_hub(&home);
    assert!(codex(&home, &["please"]).status.success());
    let refused = codex(&home, &["commit", "t-1"]);
    assert!(refused.stderr.starts_with("error: the thread has no worktree\nhint: "), "{refused}");
    let outside = codex(&home, &["--worktree", "please"]);
    assert!(
        outside.stderr.starts_with("error: the Git operation failed: the folder is not in a git repository"),
        "{outside}"
    );
}

#[test]
fn a_thread_stays_with_the_machine_that_has_it() {
    let Some(server) = Postgres::start() else { return };
    let homes = [Home::new(), Home::new()];
    let hubs = homes.each_ref().map(|home| {
        install(home, &faults::app_server("say first; done_"), "auto");
        Serving::open_hub_after(home.adjutant(["serve", "--database", &server.url("postgres")]))
    });
    let [ann, bob] = &homes;
    assert_eq!(output_lines(&codex(ann, &["the first prompt"]).stdout), ["first"]);
    let id = std::fs::read_to_string(ann.path().join(".adjutant/machine-id")).unwrap();
    assert_eq!(threads(bob)[0]["machine"], id.trim(), "it is listed everywhere");
    for arguments in [["reply", "t-1", "next"].as_slice(), &["archive", "t-1"]] {
        let refused = codex(bob, arguments);
        assert!(refused.stderr.starts_with("error: the thread `t-1` is on another machine"), "{refused}");
    }
    drop(hubs);
}
