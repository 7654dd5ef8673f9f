//! `subscriptions/listen` over HTTP: each has a separate event stream, from its acknowledgement to its end.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Hub, Stream, initialize};
use crate::support::{DEADLINE, Home, stateless_meta};

const AGENT: &str = "persona: You do this.\ndescription: Does this.\n";

fn listen(hub: &Hub, path: &str, id: impl Into<Value>, filter: Value) -> Stream {
    let params = json!({"notifications": filter, "_meta": stateless_meta()});
    let message =
        json!({"jsonrpc": "2.0", "id": id.into(), "method": "subscriptions/listen", "params": params});
    hub.modern(path, &message)
}

/// The filter that the acknowledgement, which comes first, grants to the subscription `id`.
fn granted_filter(stream: &mut Stream, id: &Value) -> Value {
    let first = stream.next().expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(&first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{first}");
    first["params"]["notifications"].clone()
}

/// The method of the next notification of the subscription `id`.
fn notified_method(stream: &mut Stream, id: &Value) -> String {
    let next = stream.next().expect("a notification");
    assert_eq!(&next["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{next}");
    next["method"].as_str().unwrap_or_else(|| panic!("no notification: {next}")).to_owned()
}

#[test]
fn each_subscription_gets_only_the_notifications_of_its_filter() {
    let hub = Hub::open("");
    hub.home.write(".adjutant/agents/first.yaml", AGENT);
    let filters = [
        (
            json!("all"),
            json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}),
        ),
        (json!(7), json!({"toolsListChanged": true})),
        (json!("7"), json!({"promptsListChanged": true, "toolsListChanged": false})),
        (json!(-1), json!({"resourcesListChanged": true})),
    ];
    let mut open: Vec<(Value, Stream)> = Vec::new();
    for (id, filter) in &filters {
        let mut stream = listen(&hub, "/mcp", id.clone(), filter.clone());
        assert_eq!(stream.status, 200);
        assert_eq!(stream.header("content-type"), "text/event-stream");
        assert_eq!(stream.header("x-accel-buffering"), "no", "a proxy must not keep events back");
        assert_eq!(stream.header("mcp-session-id"), "");
        let mut wanted = filter.clone();
        wanted.as_object_mut().unwrap().retain(|_, wanted| wanted == true);
        let mut granted = granted_filter(&mut stream, id);
        granted.as_object_mut().unwrap().retain(|_, granted| granted == true);
        assert_eq!(granted, wanted);
        open.push((id.clone(), stream));
    }

    hub.home.write(".adjutant/agents/second.yaml", AGENT);
    let tools = "notifications/tools/list_changed";
    for at in [0, 1] {
        let (id, stream) = &mut open[at];
        assert_eq!(notified_method(stream, id), tools, "{id}");
    }
    hub.home.write(".adjutant/prompts/more.md", "More.");
    let (prompts, resources) = ("notifications/prompts/list_changed", "notifications/resources/list_changed");
    for (at, expected) in [(0, [prompts, resources].as_slice()), (2, &[prompts]), (3, &[resources])] {
        let (id, stream) = &mut open[at];
        for method in expected {
            assert_eq!(notified_method(stream, id), *method, "{id}");
        }
    }

    // The second subscription has no prompts: its next message is the end of the server.
    assert!(hub.stop().success());
    for (id, mut stream) in open {
        let end = stream.next().expect("the answer to the request");
        assert_eq!(end["id"], id, "{end}");
        assert_eq!(end["result"]["resultType"], "complete", "{end}");
        let meta = &end["result"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], id, "{end}");
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "adjutant", "{end}");
        assert_eq!(stream.next(), None, "{id}: the answer is the last event");
    }
}

/// Changes a user with the command line, in another process.
fn run_for_hub(hub: &Hub, arguments: &[&str]) {
    let done = hub.home.run([&["users"], arguments].concat(), "");
    assert!(done.status.success(), "{}", done.stderr);
}

#[test]
fn a_subscribed_resource_sends_a_notification_when_its_content_changes() {
    let hub = Hub::open("");
    run_for_hub(&hub, &["add", "Ann", "--id", "ann", "--email", "ann@example.org"]);
    let (skill, ann) = ("skill://prompts/greet/SKILL.md", "resources://users/ann");
    let later = "skill://prompts/later/SKILL.md";
    let filter =
        json!({"resourceSubscriptions": [skill, "file:///etc/passwd", later, ann, "resources://nobody"]});
    let mut stream = listen(&hub, "/mcp", "one", filter);
    let granted = granted_filter(&mut stream, &json!("one"));
    assert_eq!(
        granted["resourceSubscriptions"],
        json!([skill, later, ann]),
        "unknown resources are left out"
    );

    let opened = hub.post_to("/mcp", &[], &initialize("2025-11-25"));
    let capabilities = &opened.message()["result"]["capabilities"]["resources"];
    assert_eq!(capabilities, &json!({"subscribe": true, "listChanged": true}));
    let session = [("mcp-session-id", opened.header("mcp-session-id"))];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(hub.post_to("/mcp", &session, &ready).status, 202);
    let ask = |method: &str, uri: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": uri}});
        hub.post_to("/mcp", &session, &message).message()
    };
    assert_eq!(ask("resources/subscribe", skill)["result"], json!({}));
    assert_eq!(ask("resources/subscribe", ann)["result"], json!({}));
    assert_eq!(ask("resources/unsubscribe", skill)["result"], json!({}));
    assert_eq!(ask("resources/subscribe", "file:///etc/passwd")["error"]["code"], -32002);
    let mut legacy = hub.stream("GET", "/mcp", &[session[0], ("accept", "text/event-stream")], "");

    let mut updated = |expected: &str| {
        let next = stream.next().expect("a notification");
        assert_eq!(next["method"], "notifications/resources/updated", "{next}");
        assert_eq!(next["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "one", "{next}");
        assert_eq!(next["params"]["uri"], expected, "{next}");
    };
    hub.home.write(".adjutant/prompts/greet.md", "---\ndescription: Says hello.\n---\nHello, {{input}}!\n");
    updated(skill);
    hub.home.write(".adjutant/prompts/later.md", "Later.");
    updated(later);
    run_for_hub(&hub, &["edit", "ann", "--name", "Ann Other"]);
    updated(ann);
    let answer = loop {
        let next = legacy.next().expect("a notification");
        if next["method"] == "notifications/resources/updated" {
            break next;
        }
    };
    assert_eq!(answer["params"], json!({"uri": ann}), "the first resource is no longer watched");
}

#[test]
fn no_change_is_missed_between_the_acknowledgement_and_the_first_scan() {
    let skill = "skill://prompts/greet/SKILL.md";
    let filter =
        json!({"promptsListChanged": true, "resourceSubscriptions": [skill], "toolsListChanged": true});
    for round in 0..5 {
        let hub = Hub::open("");
        let mut stream = listen(&hub, "/mcp", round, filter.clone());
        granted_filter(&mut stream, &json!(round));
        hub.home.write(".adjutant/prompts/greet.md", format!("Hello for the {round}th time, {{{{input}}}}!"));
        hub.home.write(".adjutant/agents/first.yaml", AGENT);
        // A file that is being written may be read empty first: then there are two notifications.
        let mut missing = BTreeSet::from([
            "notifications/prompts/list_changed",
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        ]);
        while !missing.is_empty() {
            missing.remove(notified_method(&mut stream, &json!(round)).as_str());
        }
    }
}

#[test]
fn added_and_removed_users_change_the_resource_list() {
    let hub = Hub::open("");
    let filter = json!({"promptsListChanged": true, "resourcesListChanged": true});
    let mut stream = listen(&hub, "/mcp/assistant", 1, filter);
    let granted = granted_filter(&mut stream, &json!(1));
    assert_eq!(granted["resourcesListChanged"], true, "{granted}");
    assert_ne!(granted["promptsListChanged"], true, "its prompts never change: {granted}");
    run_for_hub(&hub, &["add", "Ann", "--id", "ann", "--email", "ann@example.org"]);
    assert_eq!(notified_method(&mut stream, &json!(1)), "notifications/resources/list_changed");
    run_for_hub(&hub, &["remove", "ann"]);
    assert_eq!(notified_method(&mut stream, &json!(1)), "notifications/resources/list_changed");
}

/// The database of a hub, open and ready for a write from another process.
struct DatabaseWriter(Child);

impl DatabaseWriter {
    fn open(hub: &Hub) -> Self {
        let mut child = Command::new("sqlite3")
            .args(["-bail", "-cmd", ".timeout 10000"])
            .arg(hub.home.path().join(".adjutant/adjutant.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("no sqlite3: apt-get install sqlite3");
        child.stdin.as_mut().unwrap().write_all(b"SELECT count(*) FROM users;\n").unwrap();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        Self(child)
    }

    fn write(mut self, statement: &str) {
        self.0.stdin.take().unwrap().write_all(statement.as_bytes()).unwrap();
        assert!(self.0.wait().unwrap().success(), "{statement}");
    }
}

/// Another process writes at the moment of the acknowledgement; a first scan after it would not see the change.
#[test]
fn a_user_added_right_after_the_acknowledgement_sends_a_notification() {
    let mut open = Vec::new();
    for _ in 0..4 {
        let hub = Hub::open("");
        run_for_hub(&hub, &["add", "Ben", "--id", "ben", "--email", "ben@example.org"]);
        let writer = DatabaseWriter::open(&hub);
        let filter =
            json!({"resourcesListChanged": true, "resourceSubscriptions": ["resources://users/ben"]});
        let mut stream = listen(&hub, "/mcp/assistant", 1, filter);
        granted_filter(&mut stream, &json!(1));
        writer.write("UPDATE users SET name = 'Ben Other', revision = revision + 1 WHERE id = 'ben';");
        open.push((hub, stream));
    }
    for (_hub, stream) in &mut open {
        let mut notified = [notified_method(stream, &json!(1)), notified_method(stream, &json!(1))];
        notified.sort();
        assert_eq!(notified, ["notifications/resources/list_changed", "notifications/resources/updated"]);
    }
}

#[test]
fn a_silent_database_delays_no_other_notification() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = format!("postgres://ann@{}/users", silent.local_addr().unwrap());
    let hub = Hub::start(Home::new(), "", &["--auth", "none", "--database", &database]);
    let users: Vec<String> = (0..5).map(|number| format!("resources://users/{number}")).collect();
    let filter =
        json!({"promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": users});
    let mut stream = listen(&hub, "/mcp", 1, filter);
    granted_filter(&mut stream, &json!(1));
    hub.home.write(".adjutant/prompts/greet.md", "Hello.");
    assert_eq!(notified_method(&mut stream, &json!(1)), "notifications/prompts/list_changed");
}

#[test]
fn the_acknowledgement_omits_unsupported_notifications() {
    let hub = Hub::open("");
    let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    for (path, expected) in [
        ("/mcp/prompts", json!({"promptsListChanged": true, "resourcesListChanged": true})),
        ("/mcp/agents", json!({"toolsListChanged": true})),
        ("/mcp/popup", json!({})),
    ] {
        let mut granted = granted_filter(&mut listen(&hub, path, 1, all.clone()), &json!(1));
        granted.as_object_mut().unwrap().retain(|_, granted| granted == true);
        assert_eq!(granted, expected, "{path}");
    }
    let refused = listen(&hub, "/mcp", "x", json!({"toolsListChanged": "yes"})).whole().message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("x"), &json!(-32602)), "{refused}");
}

#[test]
fn a_client_that_disconnects_ends_only_its_own_subscription() {
    let hub = Hub::open("");
    let filter = json!({"promptsListChanged": true});
    let mut stays = listen(&hub, "/mcp", "stays", filter.clone());
    granted_filter(&mut stays, &json!("stays"));
    let before = hub.sockets();
    for round in 0..20 {
        let mut goes = listen(&hub, "/mcp", round, filter.clone());
        granted_filter(&mut goes, &json!(round));
    }
    let start = Instant::now();
    while hub.sockets() > before {
        assert!(start.elapsed() < DEADLINE, "connections of clients that went are still open");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    hub.home.write(".adjutant/prompts/more.md", "More.");
    assert_eq!(notified_method(&mut stays, &json!("stays")), "notifications/prompts/list_changed");
}
