//! Agents of tasks on workers as clients of the hub: they ask, expand and delegate as on the machine of the hub, and no more.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::joining::{delegate, ended, guarded, joined, json_of, shown};
use super::{NO_SLOTS, WorkerProcess, hub_fixture};
use crate::questions::fixtures::User;
use crate::support::nats::{Nats, Proxy, RawNats, newest};
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;
use crate::support::{Home, wait_for};

/// The script of an agent: it sends lines to its hub, with the folder that it works in for `@PWD@`, and shows the answers once
/// all calls have one, or the connection has ended. It has no variable that names its run.
const TALK: &str = r#"
answers=@FILE@
: >"$answers"
{
    sed "s|@PWD@|$PWD|g" @FILE@.calls
    until [ "$(grep -c '"id":"call-' "$answers")" -ge @COUNT@ ] || [ -e @FILE@.ended ]; do sleep 0.05; done
} | { env -i HOME="$HOME" PATH="$PATH" @PROGRAM@ connect all --no-start >>"$answers" 2>"$answers.errors"; : >@FILE@.ended; }
"#;

/// A task of which the agent calls tools of its hub.
struct Talk {
    task: String,
    answers: std::path::PathBuf,
}

impl Talk {
    /// Writes the script `name` with these calls of tools.
    fn new(fixture: &TaskFixture, name: &str, calls: &[(&str, Value)]) -> Self {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "child", "version": "1"}});
        let mut lines = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
            .to_string()
            + "\n";
        lines += "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        for (number, (tool, arguments)) in calls.iter().enumerate() {
            let id = format!("call-{number}");
            let params = json!({"name": tool, "arguments": arguments});
            lines +=
                &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
            lines += "\n";
        }
        let answers = fixture.folder("talks").join(name);
        fixture.home.write(&format!("talks/{name}.calls"), lines);
        let script = TALK
            .replace("@FILE@", answers.to_str().unwrap())
            .replace("@COUNT@", &calls.len().to_string())
            .replace("@PROGRAM@", env!("CARGO_BIN_EXE_adjutant"));
        let script = fixture.home.write(&format!("talks/{name}.sh"), script);
        Self { task: format!("script {}", script.display()), answers }
    }

    /// Waits for the answer to a call: its result, or its error.
    fn answer(&self, number: usize) -> Value {
        wait_for("the answer to a call", || {
            let text = std::fs::read_to_string(&self.answers).ok()?;
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.into_iter().find(|answer| answer["id"] == format!("call-{number}"))
        })
    }
}

fn question(title: &str) -> (&'static str, Value) {
    let options = json!([{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}]);
    ("triggerPopup", json!({"title": title, "message": "Now?", "options": options, "workspacePath": "@PWD@"}))
}

fn work(folder: &str, more: &Value) -> (&'static str, Value) {
    let mut arguments = json!({"agent": "maker", "task": "touch made.txt", "working_directory": folder});
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    ("delegate_task", arguments)
}

/// A hub, and a worker that runs two tasks at once.
fn hub_and_worker(nats: &Nats, settings: &str) -> (TaskFixture, Serving, WorkerProcess) {
    let fixture = hub_fixture(nats, settings);
    let hub = fixture.hub();
    let worker = WorkerProcess::start(nats, &["--max-tasks", "2"]);
    (fixture, hub, worker)
}

fn clients(home: &Home) -> Vec<Value> {
    let status = home.run(["status", "--json"], "");
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    status["status"]["clients"].as_array().unwrap().clone()
}

#[test]
fn an_agent_on_a_worker_asks_its_user_and_expands_prompts() {
    let fixture = TaskFixture::new();
    // The permissions of its credentials suffice.
    let Some(_nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    fixture.home.write(".adjutant/prompts/greet.md", "Greet the reader of the hub.\n");
    let _hub = fixture.hub();
    let worker = WorkerProcess::start_at(joined(&fixture, &[]), None, &[]);
    // A folder of the worker outside of the task says nothing about one of this machine.
    let mut elsewhere = question("Elsewhere?");
    elsewhere.1["workspacePath"] = json!(fixture.folder("."));
    let calls = [question("Deploy?"), ("expand_prompt", json!({"command": "greet"})), elsewhere];
    let conversation = Talk::new(&fixture, "ask", &calls);
    let task = delegate(&fixture, &conversation.task);
    let asked = User::wait_for_question(&fixture.home, "Deploy?");
    // The user knows the folder of the hub, and not that of the worker.
    assert_eq!(asked["workspace"], json!(fixture.folder("work")), "{asked:#}");
    assert_eq!(asked["runs_in"].as_str().unwrap_or_default(), "", "{asked:#}");
    let name = json_of(&fixture, &["workers", "list"])["items"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(asked["client"], json!(format!("child (task {task} on {name})")), "{asked:#}");
    User::connect(&fixture.home).choose(&asked, "yes");
    assert_eq!(
        conversation.answer(0)["result"]["structuredContent"]["selectedValue"],
        "yes",
        "{}",
        conversation.answer(0)
    );
    let expanded = conversation.answer(1).to_string();
    assert!(expanded.contains("Greet the reader of the hub."), "{expanded}");
    let asked = User::wait_for_question(&fixture.home, "Elsewhere?");
    assert_eq!(asked["workspace"], json!(fixture.folder("work")), "{asked:#}");
    assert_eq!(asked["runs_in"].as_str().unwrap_or_default(), "", "{asked:#}");
    User::connect(&fixture.home).choose(&asked, "yes");
    let result = ended(&fixture, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    wait_for("the end of its connection", || clients(&fixture.home).is_empty().then_some(()));
}

#[test]
fn an_agent_on_a_worker_delegates_within_the_limits_of_its_task() {
    let Some(nats) = Nats::start() else { return };
    let (fixture, _hub, worker) = hub_and_worker(&nats, &format!("max_descendants = 1\n{NO_SLOTS}"));
    let here = fixture.folder("work");
    let calls = [
        work("@PWD@", &json!({"permission": "full"})),
        work("@PWD@", &json!({"isolation": "none"})),
        work(here.to_str().unwrap(), &json!({})),
        work("@PWD@/../..", &json!({})),
    ];
    let refused = Talk::new(&fixture, "refused", &calls);
    let task = delegate(&fixture, &refused.task);
    for (number, reason) in [
        "allows `workspace-write`, not `full`",
        "with isolation `worktree` only",
        "the folder of your task on this worker",
        "the folder of your task on this worker",
    ]
    .into_iter()
    .enumerate()
    {
        let answer = refused.answer(number).to_string();
        assert!(answer.contains(reason), "{reason}: {answer}\n{}", worker.log());
    }
    assert_eq!(ended(&fixture, &task)["status"], "succeeded");

    let many = json!({"tasks": [work("@PWD@", &json!({})).1, work("@PWD@", &json!({})).1]});
    let two = Talk::new(&fixture, "two", &[("delegate_many", many)]);
    let task = delegate(&fixture, &two.task);
    let answer = two.answer(0)["result"]["structuredContent"]["results"].clone();
    assert_eq!(answer[0]["status"], "succeeded", "{answer:#}\n{}", worker.log());
    assert_eq!(answer[0]["run_report"]["repository"]["files"][0]["path"], "made.txt", "{answer:#}");
    assert!(answer[1]["failure"]["detail"].to_string().contains("which is the limit"), "{answer:#}");
    assert_eq!(ended(&fixture, &task)["status"], "succeeded");
    // It is a task of the hub: its commit is there.
    let child = answer[0]["task_id"].as_str().unwrap();
    let changed = fixture.git(&["diff", "--name-only", "HEAD", &format!("refs/adjutant/{child}")]);
    assert_eq!(changed.trim(), "made.txt");
}

#[test]
fn what_an_agent_on_a_worker_delegates_is_as_deep_as_elsewhere() {
    let Some(nats) = Nats::start() else { return };
    let (fixture, _hub, worker) = hub_and_worker(&nats, &format!("max_depth = 0\n{NO_SLOTS}"));
    let conversation = Talk::new(&fixture, "deep", &[work("@PWD@", &json!({}))]);
    let task = delegate(&fixture, &conversation.task);
    let answer = conversation.answer(0).to_string();
    assert!(
        answer.contains("this task is 1 delegations deep, and 0 is the limit"),
        "{answer}\n{}",
        worker.log()
    );
    assert_eq!(ended(&fixture, &task)["status"], "succeeded");
}

#[test]
fn what_an_agent_on_a_worker_delegates_never_runs_on_the_machine_of_the_hub() {
    let Some(nats) = Nats::start() else { return };
    // The hub itself has free places for the runner.
    let fixture = hub_fixture(&nats, "[workers]\nlost_after_seconds = 60");
    fixture.agent("maker", "isolation: worktree\npermission: workspace-write\nlabel: gpu\n");
    fixture.agent("plain", "isolation: worktree\npermission: workspace-write\n");
    let _hub = fixture.hub();
    let worker = WorkerProcess::start(&nats, &["--max-tasks", "2", "--label", "gpu"]);
    let conversation = Talk::new(&fixture, "plain", &[work("@PWD@", &json!({"agent": "plain"}))]);
    let task = delegate(&fixture, &conversation.task);
    let child = conversation.answer(0)["result"]["structuredContent"].clone();
    assert_eq!(child["status"], "succeeded", "{child:#}\n{}", worker.log());
    assert!(child["run_report"]["worker"].is_string(), "{child:#}");
    assert_eq!(shown(&fixture, child["task_id"].as_str().unwrap())["runner"], "fake");
    assert_eq!(ended(&fixture, &task)["status"], "succeeded");
}

#[test]
fn the_cancellation_of_a_task_on_a_worker_reaches_what_its_agent_delegated_and_ends_its_connection() {
    let Some(nats) = Nats::start() else { return };
    let (fixture, _hub, worker) = hub_and_worker(&nats, NO_SLOTS);
    let conversation = Talk::new(&fixture, "hang", &[work("@PWD@", &json!({"task": "hang"}))]);
    let task = delegate(&fixture, &conversation.task);
    let running = || json_of(&fixture, &["tasks", "list", "--state", "running"])["items"].clone();
    let both =
        wait_for("both tasks", || Some(running()).filter(|tasks| tasks.as_array().unwrap().len() == 2));
    assert_eq!(clients(&fixture.home).len(), 1);
    assert!(fixture.home.run(["tasks", "cancel", &task], "").status.success());
    for one in both.as_array().unwrap() {
        let result = ended(&fixture, one["id"].as_str().unwrap());
        assert_eq!(result["status"], "cancelled", "{result:#}\n{}", worker.log());
    }
    worker.fixture.assert_no_survivors();
    wait_for("the end of its connection", || clients(&fixture.home).is_empty().then_some(()));
}

#[test]
fn a_question_of_an_agent_on_a_worker_survives_a_restart_of_nats() {
    let Some(mut nats) = Nats::start() else { return };
    let (fixture, _hub, worker) = hub_and_worker(&nats, NO_SLOTS);
    let conversation = Talk::new(&fixture, "restart", &[question("Restart?")]);
    let task = delegate(&fixture, &conversation.task);
    let asked = User::wait_for_question(&fixture.home, "Restart?");
    nats.lose_everything();
    User::connect(&fixture.home).choose(&asked, "no");
    let answer = conversation.answer(0);
    assert_eq!(answer["result"]["structuredContent"]["selectedValue"], "no", "{answer}\n{}", worker.log());
    assert_eq!(ended(&fixture, &task)["status"], "succeeded");
}

#[test]
fn a_call_of_an_agent_on_a_worker_ends_with_an_error_when_the_hub_or_nats_is_lost() {
    for is_hub_lost in [true, false] {
        let Some(nats) = Nats::start() else { return };
        let fixture = hub_fixture(&nats, NO_SLOTS);
        let mut hub = fixture.hub();
        let proxy = Proxy::to(nats.url());
        let worker = WorkerProcess::start_at(TaskFixture::new(), Some(proxy.url()), &[]);
        let conversation = Talk::new(&fixture, "lost", &[question("Lost?")]);
        let task = delegate(&fixture, &conversation.task);
        User::wait_for_question(&fixture.home, "Lost?");
        let mut next = None;
        if is_hub_lost {
            hub.kill();
            // The next one does not have the connection.
            next = Some(fixture.hub());
        } else {
            proxy.cut();
        }
        let answer = conversation.answer(0)["error"]["message"].to_string();
        assert!(answer.contains("stopped before this call was finished"), "{answer}\n{}", worker.log());
        proxy.mend();
        assert_eq!(ended(&fixture, &task)["status"], "succeeded", "{}", worker.log());
        drop(next);
    }
}

/// A request about a stream of the task of an observed request, and the hub's reply.
fn request(raw: &mut RawNats, observed: &(String, Value), fence: i64, body: Value) -> Value {
    let mut request = observed.1.clone();
    request["fence"] = json!(fence);
    request["body"] = body;
    let inbox = format!("_INBOX.again.{fence}");
    assert_eq!(raw.publish(&observed.0, &inbox, request.to_string().as_bytes()), None);
    raw.next(|message| message.subject == inbox).json()
}

#[test]
fn a_stream_of_a_worker_has_tools_alone_each_part_once_and_ends_with_the_fence() {
    let Some(nats) = Nats::start() else { return };
    let (fixture, _hub, _worker) = hub_and_worker(&nats, NO_SLOTS);
    let mut raw = RawNats::connect(nats.url(), None);
    assert_eq!(raw.subscribe("adj.*.hub.*"), None);
    let gate = fixture.folder("gate");
    let task = delegate(&fixture, &format!("until-file {}", gate.display()));
    let message = raw.next(|message| message.json()["body"]["kind"] == "progress");
    let observed = (message.subject.clone(), message.json());
    let fence = observed.1["fence"].as_i64().unwrap();
    assert_eq!(raw.subscribe("_INBOX.again.*"), None);
    let open = |stream: &str| json!({"kind": "open", "stream": stream, "folder": "/w/tree"});
    let send = |stream: &str, number: u64, text: &str| {
        let data = BASE64_STANDARD.encode(text);
        json!({"kind": "send", "stream": stream, "number": number, "data": data})
    };
    let receive = |stream: &str, number: u64| json!({"kind": "receive", "stream": stream, "number": number});
    let hello = |more: Value| {
        let mut hello = json!({"adjutant": env!("CARGO_PKG_VERSION"), "hello": 1});
        hello.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hello.to_string() + "\n"
    };
    // Neither the control API nor a query, whatever the worker sends.
    for (stream, more) in [
        ("user", json!({"user": true})),
        ("both", json!({"user": true, "toolset": "all"})),
        ("link", json!({"ask": "open"})),
        ("hook", json!({"permission": true})),
    ] {
        assert_eq!(request(&mut raw, &observed, fence, open(stream))["kind"], "opened");
        assert_eq!(request(&mut raw, &observed, fence, send(stream, 1, &hello(more)))["kind"], "written");
        let reply = request(&mut raw, &observed, fence, receive(stream, 1));
        let reply = BASE64_STANDARD.decode(reply["data"].as_str().unwrap()).unwrap();
        let reply: Value = serde_json::from_slice(&reply).unwrap();
        let reason = "the agent of a task on a worker gets the tools of the hub, and nothing else";
        assert_eq!(reply["error"], json!(reason), "{stream}");
        assert_eq!(request(&mut raw, &observed, fence, receive(stream, 2))["kind"], "ended");
    }
    // A part that comes twice counts once, and none is skipped.
    let lines = hello(json!({"toolset": "all"}));
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    for _ in 0..2 {
        assert_eq!(request(&mut raw, &observed, fence, open("tools"))["kind"], "opened");
    }
    assert_eq!(request(&mut raw, &observed, fence, send("tools", 2, ping))["kind"], "refused");
    for _ in 0..2 {
        assert_eq!(request(&mut raw, &observed, fence, send("tools", 1, &lines))["kind"], "written");
    }
    let first = request(&mut raw, &observed, fence, receive("tools", 1));
    assert_eq!(first["kind"], "data");
    assert_eq!(request(&mut raw, &observed, fence, receive("tools", 1)), first);
    assert_eq!(request(&mut raw, &observed, fence, receive("tools", 3))["kind"], "refused");
    for _ in 0..2 {
        assert_eq!(request(&mut raw, &observed, fence, send("tools", 2, ping))["kind"], "written");
    }
    let second = request(&mut raw, &observed, fence, receive("tools", 2));
    let second = BASE64_STANDARD.decode(second["data"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(second).unwrap().lines().count(), 1);
    // Another fence opens nothing and ends what is open.
    assert_eq!(request(&mut raw, &observed, fence - 1, open("other"))["kind"], "refused");
    assert_eq!(request(&mut raw, &observed, fence - 1, receive("tools", 3))["kind"], "refused");
    wait_for("the end of the stream", || clients(&fixture.home).is_empty().then_some(()));
    // So does the end of the task.
    assert_eq!(request(&mut raw, &observed, fence, open("late"))["kind"], "opened");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(ended(&fixture, &task)["status"], "succeeded");
    assert_eq!(request(&mut raw, &observed, fence, receive("late", 1))["kind"], "refused");
}
