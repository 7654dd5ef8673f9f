//! Threads that Codex itself began, without this program.

use serde_json::Value;

use super::faults::app_server;
use super::versions::{configure, install_package};
use super::{codex, install, output_lines, threads};
use crate::support::Home;
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, is_excluded, run};
use crate::support::serving::Serving;

fn external_threads(home: &Home) -> Vec<Value> {
    let listed = codex(home, &["list", "--external", "--json"]);
    assert!(listed.status.success(), "{listed}");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    listed["items"].as_array().unwrap().clone()
}

#[test]
fn a_thread_that_codex_began_is_listed_and_resumed() {
    if is_excluded("npm") {
        return;
    }
    for package in ["@openai/codex", "codex-0-153", "codex-0-92"] {
        let home = Home::new();
        install_package(&home, package, "app-server");
        let model = Model::start(Script::Answer);
        configure(&home, &model);
        let mut command = home.client(&home.path().join("bin/codex"));
        command.args(["exec", "--skip-git-repo-check", "the tables of tides"]);
        let begun = run(command.current_dir(home.path().join("work")), RUN_DEADLINE);
        assert!(begun.status.success(), "{package}: {begun}");

        let _hub = Serving::socket_hub(&home);
        let found = external_threads(&home);
        assert_eq!(found.len(), 1, "{package}: {found:?}");
        assert_eq!(
            (&found[0]["title"], &found[0]["source"]),
            (&"the tables of tides".into(), &"exec".into())
        );
        assert!(found[0]["updated_at"].as_str().unwrap() > "2020", "{found:?}");
        assert!(threads(&home).is_empty());

        let thread = found[0]["thread"].as_str().unwrap();
        let reply = codex(&home, &["--thread", thread, "and the moon"]);
        assert_eq!(output_lines(&reply.stdout), [FINAL_TEXT], "{package}: {reply}");
        let last = model.requests().pop().unwrap()["input"].to_string();
        assert!(last.contains("the tables of tides") && last.contains("and the moon"), "{package}: {last}");

        // The hub knows it from now on, with the folder in which it was begun.
        assert_eq!(external_threads(&home), [] as [Value; 0]);
        let known = &threads(&home)[0];
        let work = home.path().join("work");
        assert_eq!((&known["thread"], &known["cwd"]), (&found[0]["thread"], &work.to_str().unwrap().into()));
        assert_eq!(known["title"], "the tables of tides");
        let shown = codex(&home, &["show", thread, "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let items = shown["items"].as_array().unwrap().iter();
        let texts: Vec<&Value> = items
            .filter(|item| item["kind"] == "user" || item["kind"] == "agent")
            .map(|item| &item["text"])
            .collect();
        assert_eq!(texts, ["the tables of tides", FINAL_TEXT, "and the moon", FINAL_TEXT], "{package}");

        // A thread that Codex does not have is rejected with its message, and nothing is stored.
        let none = "01a1fb15-c637-7223-9d66-12abb257a85a";
        let refused = codex(&home, &["--thread", none, "hello"]);
        assert_eq!(refused.status.code(), Some(1), "{package}: {refused}");
        assert!(refused.stderr.contains(none), "{package}: {refused}");
        assert!(!refused.stderr.contains("signal"), "{package}: {refused}");
        assert_eq!(threads(&home).len(), 1);
    }
}

#[test]
fn a_thread_list_that_codex_cannot_give_has_a_reason() {
    let home = Home::new();
    install(&home, "#!/bin/sh\necho codex-cli 0.153.4\n", "mcp-server");
    let hub = Serving::socket_hub(&home);
    let output = codex(&home, &["list", "--external"]);
    drop(hub);
    assert!(output.stderr.starts_with("error: codex mcp-server cannot list the threads "), "{output}");
    // Other programs: an app-server without thread lists, then one that dies.
    for (answer, reason) in [
        (
            r#"line '{"id":2,"error":{"code":-32600,"message":"unknown variant `thread/list`"}}'"#,
            "unknown variant",
        ),
        (r#"line '{"id":2,"result":"threads"}'"#, "its answer is not an object"),
        ("echo 'out of luck' >&2; exit 7", "codex exited with 7: out of luck"),
    ] {
        let hello = app_server("").split("read -r thread").next().unwrap().to_owned();
        install(&home, &format!("{hello}read -r list; {answer}\ncat > /dev/null\n"), "app-server");
        let _hub = Serving::socket_hub(&home);
        let output = codex(&home, &["list", "--external"]);
        assert_eq!(output.status.code(), Some(1), "{output}");
        assert!(output.stderr.starts_with("error: codex did not "), "{output}");
        assert!(output.stderr.contains(reason), "{output}");
    }
}

/// An app-server with a thread that has a turn of more than 256 MiB, so that its history does not fit into a line either.
const LONG_HISTORY: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo codex-cli 0.169.0; exit; fi
answer() { printf '{"id":%s,"result":%s}\n' "$id" "$1"; }
long() { printf '{"id":%s,"result":"' "$id"; head -c 270000000 /dev/zero | tr '\0' x; printf '"}\n'; }
turn() { answer '{"data":[{"id":"'"$1"'","items":[{"type":"agentMessage","id":"'"$1"'","text":"'"$2"'"}]}],"nextCursor":'"$3"'}'; }
THREAD='"thread":{"id":"01a1fb15-a37b-75c1-bd0c-33d573a944b7","cwd":"/","preview":"Tides"}'
about() { printf '{"method":"%s","params":{"threadId":"01a1fb15-a37b-75c1-bd0c-33d573a944b7","turn":{"id":"u-3","status":"completed"}}}\n' "$1"; }
while read -r asked; do
    id=$(printf '%s' "$asked" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $asked in
        *'"initialize"'*) answer '{"userAgent":"fake/0.169.0 (x)"}' ;;
        *'"includeTurns":true'*) long ;;
        *thread/read*) answer "{$THREAD}" ;;
        *'"cursor":null'*'"full"'*) turn u-1 ebb '"second"' ;;
        *'"cursor":"second"'*'"full"'*) long ;;
        *'"cursor":"second"'*) turn u-2 'flow in short' null ;;
        *thread/resume*) answer "{$THREAD,\"model\":\"m\"}" ;;
        *turn/start*) answer '{"turn":{"id":"u-3"}}'; about turn/started; about turn/completed ;;
    esac
done
"#;

#[test]
fn a_history_that_is_longer_than_a_line_may_be_is_read_turn_by_turn() {
    let home = Home::new();
    install(&home, LONG_HISTORY, "app-server");
    let _hub = Serving::socket_hub(&home);
    let thread = "01a1fb15-a37b-75c1-bd0c-33d573a944b7";
    let reply = codex(&home, &["--thread", thread, "hello"]);
    assert!(reply.status.success(), "{reply}");
    let shown = codex(&home, &["show", thread]).stdout;
    assert!(shown.contains("agent  ebb") && shown.contains("agent  flow in short"), "{shown}");
}
