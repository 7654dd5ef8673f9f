//! The assistant's contract at 2024-11-05 and at newer protocol versions, on SQLite and on PostgreSQL; and deliveries.

mod changes;
mod channels;
mod desktop;
pub(crate) mod mail;
mod planning;
mod proposals;
mod timeouts;

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::support::postgres::Postgres;
use crate::support::{Home, Peer, stateless_meta};

const POLICY_PROMPT_TITLE: &str = "LLM prompt template for notification planning";

/// A home with one user and a week of events around now, in a database.
struct Fixture {
    home: Home,
    database: String,
    /// Ends with the fixture.
    server: Option<Postgres>,
}

impl Fixture {
    fn sqlite() -> Self {
        let home = Home::new();
        let database = format!("sqlite:{}", home.path().join("assistant.db").display());
        Self::with_events(home, database, None)
    }

    fn postgres() -> Option<Self> {
        let server = Postgres::start()?;
        let database = server.url("postgres");
        Some(Self::with_events(Home::new(), database, Some(server)))
    }

    fn with_events(home: Home, database: String, server: Option<Postgres>) -> Self {
        let fixture = Self { home, database, server };
        let preferences =
            ["--email", "ann@example.org", "--phone", "+15550100200", "--time-zone", "Europe/Berlin"];
        let user = [&["users", "add", "Ann Bücher", "--id", "ann"][..], &preferences[..]].concat();
        assert_eq!(fixture.run(&user).trim(), "ann");
        fixture.home.write("work.ics", calendar(&[("review", 26 * 60), ("lunch", 50 * 60)]));
        fixture.run(&["events", "import", "ann", "work.ics"]);
        fixture
    }

    fn run(&self, arguments: &[&str]) -> String {
        let finished = self.home.run([arguments, &["--database", &self.database]].concat(), "");
        assert!(finished.status.success(), "{arguments:?}: {}", finished.stderr);
        finished.stdout
    }

    fn peer(&self) -> Peer {
        Peer::start(&mut self.home.adjutant(["mcp", "assistant", "--database", &self.database]))
    }

    fn event(&self, title: &str) -> String {
        let listed: Value =
            serde_json::from_str(&self.run(&["events", "list", "--user", "ann", "--json"])).unwrap();
        let events = listed["items"].as_array().unwrap();
        let event = events.iter().find(|event| event["title"] == title).unwrap();
        event["id"].as_str().unwrap().to_owned()
    }
}

/// A calendar of events that start in so many minutes and last an hour.
pub(crate) fn calendar(events: &[(&str, i64)]) -> String {
    // By the full hour, so that the same calendar is the same text.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let entry = |(name, minutes): &(&str, i64)| event_in(name, minutes * 60 - now % 3600);
    let events = events.iter().map(entry).collect::<String>();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{events}END:VCALENDAR\r\n")
}

/// An event that starts in so many seconds.
fn event_in(name: &str, seconds: i64) -> String {
    format!(
        "BEGIN:VEVENT\r\nUID:{name}@test\r\nDTSTART:{}\r\nDTEND:{}\r\nSUMMARY:{name}\r\nLOCATION:Room 4\r\nEND:VEVENT\r\n",
        calendar_time(seconds),
        calendar_time(seconds + 3600)
    )
}

/// The instant in so many seconds, as iCalendar writes it.
fn calendar_time(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let at = now.cast_signed() + seconds;
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    // The civil date by the algorithm of Howard Hinnant.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

pub(crate) fn tool(peer: &mut Peer, name: &str, arguments: Value) -> Value {
    peer.call(name, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// Returns the JSON in a tool's text.
pub(crate) fn result_json(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_contracts_transcript_holds_on_sqlite() {
    check_contract(&Fixture::sqlite());
}

#[test]
fn the_contracts_transcript_holds_on_postgresql() {
    let Some(fixture) = Fixture::postgres() else { return };
    check_contract(&fixture);
}

fn check_contract(fixture: &Fixture) {
    let mut peer = fixture.peer();
    peer.write(concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"client-name","version":"1.0.0"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"initialized"}"#,
        "\n",
    ));
    assert_eq!(
        peer.line(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":false},"resources":{"subscribe":false,"listChanged":false},"prompts":{"listChanged":false}},"serverInfo":{"name":"assistant-mcp-server","version":"1.0.0"}}}"#
    );
    check_tools(&mut peer);
    let id = check_events(&mut peer);
    check_planning(&mut peer, &id);
    check_resources(&mut peer, &id);
    check_prompts(&mut peer);
    check_faults(&mut peer);
    check_undeclared_methods(&mut peer);
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
}

fn check_tools(peer: &mut Peer) {
    let tools = peer.call(2, "tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["getUser", "getEvent", "listEvents", "listNotifications", "planNotifications"]);
    assert_eq!(
        tools[0],
        json!({
            "name": "getUser",
            "description": "Get user details by ID",
            "inputSchema": {
                "type": "object",
                "properties": {"user_id": {"type": "string", "description": "User ID"}},
                "required": ["user_id"],
            },
        })
    );
    for (tool, argument, usual) in [
        (2, "days_back", json!(2)),
        (2, "days_forward", json!(30)),
        (3, "days_forward", json!(7)),
        (4, "force_replan", json!(false)),
    ] {
        assert_eq!(tools[tool]["inputSchema"]["properties"][argument]["default"], usual, "{argument}");
    }
}

/// Returns the id of the next event.
fn check_events(peer: &mut Peer) -> String {
    let answer = tool(peer, "getUser", json!({"user_id": "ann"}));
    assert_eq!(answer["result"]["isError"], false);
    assert_eq!(answer["result"].get("structuredContent"), None);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with(
            "{\n  \"id\": \"ann\",\n  \"name\": \"Ann Bücher\",\n  \"email\": \"ann@example.org\","
        ),
        "{text}"
    );
    assert_eq!(result_json(&answer)["preferences"]["timezone"], "Europe/Berlin");

    let listed = result_json(&tool(peer, "listEvents", json!({"user_id": "ann"})));
    assert_eq!(listed["count"], 2);
    assert_eq!(listed["events"][0]["title"], "review");
    let id = listed["events"][0]["id"].as_str().unwrap().to_owned();
    let event = result_json(&tool(peer, "getEvent", json!({"event_id": id})));
    assert_eq!(event["location"], "Room 4");
    assert_eq!(result_json(&tool(peer, "listEvents", json!({"days_forward": 1})))["count"], 0);
    assert_eq!(result_json(&tool(peer, "listEvents", json!({"user_id": null, "days_back": 30})))["count"], 2);
    // JSON Schema counts 3.0 as an integer.
    assert_eq!(result_json(&tool(peer, "listEvents", json!({"days_forward": 3.0})))["count"], 2);
    id
}

fn check_planning(peer: &mut Peer, id: &str) {
    // The import has planned.
    let all = result_json(&tool(peer, "listNotifications", json!({"user_id": "ann"})));
    assert_eq!(all["count"], 2, "{all}");
    let planned = result_json(&tool(peer, "planNotifications", json!({"user_id": "ann", "event_id": id})));
    assert_eq!((&planned["events_processed"], &planned["kept"]), (&json!(1), &json!(1)), "{planned}");
    assert!(planned["plan_time"].is_string(), "{planned}");
    let planned = result_json(&tool(peer, "planNotifications", json!({"user_id": "ann"})));
    assert_eq!(planned["events_processed"], 2);
    for arguments in [json!({"user_id": "ann"}), json!({"user_id": "ann", "force_replan": true})] {
        let planned = result_json(&tool(peer, "planNotifications", arguments));
        assert_eq!((&planned["notifications_planned"], &planned["superseded"]), (&json!(0), &json!(0)));
    }
    let after = result_json(&tool(peer, "listNotifications", json!({"user_id": "ann", "status": "planned"})));
    assert_eq!(after["notifications"], all["notifications"], "planning again planned nothing twice");
    assert!(all["notifications"][0]["reasons"][0]["why"].is_string(), "{all}");
    assert!(all["notifications"][0]["plan_time"].as_str().unwrap().contains('T'));
}

fn check_resources(peer: &mut Peer, id: &str) {
    let resources = peer.call(4, "resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!(
        resources[0],
        json!({
            "uri": "resources://users/{user_id}",
            "name": "User Profile",
            "description": "User profile data by user ID",
            "mimeType": "application/json",
        })
    );
    let uris: Vec<_> =
        resources.as_array().unwrap().iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert_eq!(
        uris,
        [
            "resources://users/{user_id}",
            "resources://events/{event_id}",
            "resources://users/{user_id}/events"
        ]
    );
    let whole = resource_content(peer, json!({"uri": "resources://users/ann"}));
    let text: Vec<char> = whole["text"].as_str().unwrap().chars().collect();
    assert!(whole["hash"].as_str().unwrap().starts_with("sha256:"), "{whole}");
    let mut read = String::new();
    for offset in (0..text.len()).step_by(7) {
        let part =
            resource_content(peer, json!({"uri": "resources://users/ann", "offset": offset, "limit": 7}));
        assert_eq!(part["hash"], whole["hash"], "the hash is the whole's");
        read.push_str(part["text"].as_str().unwrap());
    }
    assert_eq!(read, text.iter().collect::<String>(), "parts are cut between characters");
    for uri in [format!("resources://events/{id}"), "resources://users/ann/events".to_owned()] {
        let text = resource_content(peer, json!({"uri": uri}))["text"].as_str().unwrap().to_owned();
        assert!(text.contains("review"), "{uri}: {text}");
    }
}

fn check_prompts(peer: &mut Peer) {
    let prompts = peer.call(6, "prompts/list", json!({}))["result"]["prompts"].clone();
    let names: Vec<_> =
        prompts.as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["notificationPolicy", "emailTemplate", "ttsScript"]);
    assert_eq!(
        prompts[0]["arguments"][0],
        json!({"name": "event_data", "description": "Event data (JSON string)", "required": true})
    );
    let arguments = json!({"event_data": "{\"title\": \"Meeting\"}", "user_preferences": "{\"channel_pref\": \"email\"}"});
    let prompt =
        peer.call(7, "prompts/get", json!({"name": "notificationPolicy", "arguments": arguments}))["result"]
            .clone();
    assert_eq!(prompt["description"], POLICY_PROMPT_TITLE);
    assert_eq!(prompt["messages"][0]["role"], "system");
    assert!(
        prompt["messages"][0]["content"].as_str().unwrap().starts_with("You are a scheduling policy agent")
    );
    assert_eq!(
        prompt["messages"][1],
        json!({
            "role": "user",
            "content": "Event Data:\n{\"title\": \"Meeting\"}\n\nUser Preferences:\n{\"channel_pref\": \"email\"}",
        })
    );
}

fn resource_content(peer: &mut Peer, params: Value) -> Value {
    peer.call("read", "resources/read", params)["result"]["contents"][0].clone()
}

/// Undeclared methods have their own error code.
fn check_undeclared_methods(peer: &mut Peer) {
    let completion = json!({"ref": {"type": "ref/prompt", "name": "ttsScript"}, "argument": {"name": "urgency", "value": ""}});
    for (method, params, capability) in [
        ("resources/subscribe", json!({"uri": "x"}), "resources.subscribe"),
        ("resources/unsubscribe", json!({"uri": "x"}), "resources.subscribe"),
        ("logging/setLevel", json!({"level": "info"}), "logging"),
        ("completion/complete", completion, "completions"),
    ] {
        let answer = peer.call("undeclared", method, params);
        assert_eq!(answer["error"]["code"], -32001, "{method}: {answer}");
        let data = json!({"path": [], "validator": "capability", "validator_value": capability});
        assert_eq!(answer["error"]["data"], data, "{method}");
        assert_eq!(answer["error"]["message"], contract_message(&answer), "{method}");
    }
}

/// Lines that are not requests get error data too.
fn check_invalid_requests(peer: &mut Peer) {
    for (line, code, validator) in [
        ("not json", -32700, "json"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, -32600, "request"),
    ] {
        peer.write(format!("{line}\n"));
        let data = json!({"path": [], "validator": validator, "validator_value": null});
        let answer = peer.receive();
        assert_eq!(answer["error"]["message"], contract_message(&answer));
        let refused = &answer["error"];
        assert_eq!((&refused["code"], &refused["data"]), (&json!(code), &data));
    }
}

/// The contract's message for the code of an error.
fn contract_message(answer: &Value) -> &'static str {
    match answer["error"]["code"].as_i64().unwrap() {
        -32601 => "Method not found",
        -32602 => "Invalid params",
        -32002 => "Resource not found",
        -32001 => "Capability not supported",
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        -32005 => "Cancelled",
        -32003 => "Tool execution failed",
        code => panic!("no message for {code}"),
    }
}

#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn check_faults(peer: &mut Peer) {
    let data = |path: Value, validator: &str, value: Value| json!({"path": path, "validator": validator, "validator_value": value});
    let call = |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
    let prompt = |arguments: Value| ("prompts/get", json!({"name": "emailTemplate", "arguments": arguments}));
    let cases = [
        (call("getUser", json!({})), -32602, data(json!(["user_id"]), "required", Value::Null)),
        (call("getUser", json!({"user_id": 5})), -32602, data(json!(["user_id"]), "type", json!("string"))),
        (
            call("getUser", json!({"user_id": "bob"})),
            -32002,
            data(json!(["user_id"]), "exists", json!("bob")),
        ),
        (
            call("getEvent", json!({"event_id": "no"})),
            -32002,
            data(json!(["event_id"]), "exists", json!("no")),
        ),
        (
            call("listEvents", json!({"user_id": "bob"})),
            -32002,
            data(json!(["user_id"]), "exists", json!("bob")),
        ),
        (
            call("listEvents", json!({"days_back": 31})),
            -32602,
            data(json!(["days_back"]), "maximum", json!(30)),
        ),
        (
            call("listEvents", json!({"days_back": -1})),
            -32602,
            data(json!(["days_back"]), "minimum", json!(0)),
        ),
        (
            call("listEvents", json!({"days_forward": 0})),
            -32602,
            data(json!(["days_forward"]), "minimum", json!(1)),
        ),
        (
            call("listEvents", json!({"days_forward": "1"})),
            -32602,
            data(json!(["days_forward"]), "type", json!("integer")),
        ),
        (
            call("listEvents", json!({"days_forward": 1.5})),
            -32602,
            data(json!(["days_forward"]), "type", json!("integer")),
        ),
        (
            call("listEvents", json!({"days_forward": 91.0})),
            -32602,
            data(json!(["days_forward"]), "maximum", json!(90)),
        ),
        (call("getUser", json!({"user_id": ""})), -32602, data(json!(["user_id"]), "minLength", json!(1))),
        (
            call("getUser", json!({"user_id": "x".repeat(201)})),
            -32602,
            data(json!(["user_id"]), "maxLength", json!(200)),
        ),
        (
            call("listNotifications", json!({"days_forward": 31})),
            -32602,
            data(json!(["days_forward"]), "maximum", json!(30)),
        ),
        (
            call("planNotifications", json!({"user_id": "ann", "event_id": "no"})),
            -32002,
            data(json!(["event_id"]), "exists", json!("no")),
        ),
        (
            call("planNotifications", json!({"user_id": "ann", "force_replan": 1})),
            -32602,
            data(json!(["force_replan"]), "type", json!("boolean")),
        ),
        (("prompts/get", json!({"name": "nope"})), -32601, data(json!([]), "exists", Value::Null)),
        (prompt(json!({"event_title": "x"})), -32602, data(json!(["event_time"]), "required", Value::Null)),
        (
            ("resources/read", json!({"uri": "resources://users/ann", "offset": -1})),
            -32602,
            data(json!(["offset"]), "minimum", json!(0)),
        ),
        (
            ("resources/read", json!({"uri": "resources://users/ann", "limit": "x"})),
            -32602,
            data(json!(["limit"]), "type", json!("integer")),
        ),
        (("nope", json!({})), -32601, data(json!([]), "exists", Value::Null)),
        (call("nope", json!({})), -32601, data(json!([]), "exists", Value::Null)),
        (("completion/complete", json!({})), -32602, data(json!(["ref"]), "required", Value::Null)),
    ];
    for ((method, params), code, data) in cases {
        let answer = peer.call("fault", method, params.clone());
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        assert_eq!(answer["error"]["data"], data, "{method} {params}");
        assert_eq!(answer["error"]["message"], contract_message(&answer), "{method} {params}");
    }
    check_invalid_requests(peer);
    let status = tool(peer, "listNotifications", json!({"status": "lost"}));
    assert_eq!(status["error"]["data"]["validator"], "enum");
    for uri in
        ["resources://users/bob", "resources://users/bob/events", "resources://nope", "file:///etc/passwd"]
    {
        let answer = peer.call("gone", "resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{uri}");
        assert_eq!(answer["error"]["data"]["validator"], "exists", "{uri}");
    }
}

#[test]
fn a_cancelled_call_gets_the_error_of_the_contract() {
    let fixture = Fixture::sqlite();
    let mut peer = fixture.peer();
    // Both lines are read before the database is open.
    peer.write(concat!(
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"getUser","arguments":{"user_id":"ann"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#,
        "\n",
    ));
    let answer = peer.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(9), &json!(-32005)), "{answer}");
    assert_eq!(result_json(&tool(&mut peer, "getUser", json!({"user_id": "ann"})))["id"], "ann");
}

#[test]
fn each_newer_protocol_version_gets_its_own_answer_shapes() {
    let fixture = Fixture::sqlite();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut peer = fixture.peer();
        let answer = peer.initialize(revision);
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(answer["result"]["serverInfo"]["name"], "assistant-mcp-server");
        check_newer_version(&mut peer, revision, json!({}));
    }
    let mut peer = fixture.peer();
    check_newer_version(&mut peer, "2026-07-28", stateless_meta());
}

fn check_newer_version(peer: &mut Peer, revision: &str, meta: Value) {
    let params = |mut params: Value| {
        if meta != json!({}) {
            let mut all = meta.clone();
            for (name, value) in params["_meta"].as_object().into_iter().flatten() {
                all[name] = value.clone();
            }
            params["_meta"] = all;
        }
        params
    };
    let tools = peer.call(1, "tools/list", params(json!({})))["result"]["tools"].clone();
    let structured = revision >= "2025-06-18";
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let (changes, removes) = (
            ["planNotifications", "createEvent"].contains(&name),
            ["updateEvent", "cancelEvent"].contains(&name),
        );
        assert_eq!(tool["annotations"]["readOnlyHint"], !(changes || removes), "{revision}: {name}");
        assert_eq!(tool["annotations"]["destructiveHint"] == true, removes, "{name}");
        assert_eq!(tool.get("outputSchema").is_some(), structured, "{revision}");
    }
    let call = |name: &str, arguments: Value| params(json!({"name": name, "arguments": arguments}));
    let user = peer.call(2, "tools/call", call("getUser", json!({"user_id": "ann"})));
    assert_eq!(user["result"].get("structuredContent").is_some(), structured, "{user}");
    assert_eq!(result_json(&user)["id"], "ann");
    let unknown = peer.call(3, "tools/call", call("getUser", json!({"user_id": "bob"})))["result"].clone();
    assert_eq!(unknown["isError"], true, "{revision}: {unknown}");
    assert_eq!(unknown["structuredContent"]["path"], json!(["user_id"]));
    let long = peer.call(3, "tools/call", call("getUser", json!({"user_id": "x".repeat(300)}))).to_string();
    assert!(long.contains("argument `user_id` must have at most 200 bytes, and has 300"), "{long}");
    let missing = peer.call(4, "tools/call", call("getUser", json!({})));
    if revision >= "2025-11-25" {
        assert_eq!(missing["result"]["structuredContent"]["validator"], "required", "{missing}");
    } else {
        assert_eq!(missing["error"]["data"]["validator"], "required", "{missing}");
    }

    let templates = peer.call(5, "resources/templates/list", params(json!({})))["result"].clone();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "resources://users/{user_id}");
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 3);
    let resources = peer.call(6, "resources/list", params(json!({})))["result"]["resources"].clone();
    assert_eq!(resources[0]["uri"], "resources://users/ann");
    let asked = params(json!({"uri": "resources://users/ann", "_meta": {"offset": 2, "limit": 12}}));
    let part = peer.call(7, "resources/read", asked)["result"]["contents"][0].clone();
    assert_eq!(part["text"], "  \"id\": \"ann");
    assert!(part["_meta"]["hash"].as_str().unwrap().starts_with("sha256:"), "{part}");
    assert_eq!(part.get("hash"), None);
    let closed = peer.call(8, "resources/read", params(json!({"uri": "resources://users/bob"})));
    let code = if revision == "2026-07-28" { -32602 } else { -32002 };
    assert_eq!(closed["error"]["code"], code, "{closed}");

    let arguments = json!({"event_title": "Review", "event_time": "10:00"});
    let prompt =
        peer.call(9, "prompts/get", params(json!({"name": "ttsScript", "arguments": arguments})))["result"]
            .clone();
    assert_eq!(prompt["messages"].as_array().unwrap().len(), 1);
    assert_eq!(prompt["messages"][0]["role"], "user");
    assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("Event: Review"), "{prompt}");
    let unknown = peer.call(10, "prompts/get", params(json!({"name": "nope"})));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn a_changed_event_is_planned_anew_and_a_cancelled_one_sends_nothing() {
    let fixture = Fixture::sqlite();
    let planned = |fixture: &Fixture| -> Vec<Value> {
        let listed =
            fixture.run(&["notifications", "list", "--user", "ann", "--status", "planned", "--json"]);
        serde_json::from_str::<Value>(&listed).unwrap()["items"].as_array().unwrap().clone()
    };
    let before = planned(&fixture);
    let review = fixture.event("review");
    // By twelve hours, because both times may not be in the same night: a notification at night is sent before the
    // night.
    fixture.home.write("work.ics", calendar(&[("review", 38 * 60), ("lunch", 50 * 60)]));
    let output = fixture.run(&["events", "import", "ann", "work.ics"]);
    assert!(output.contains("0 new, 1 changed, 1 as before, 0 removed"), "{output}");
    let moved = planned(&fixture);
    assert_eq!(moved.len(), before.len());
    let due = |all: &[Value]| {
        let of = all.iter().find(|notification| notification["event_id"] == review.as_str());
        of.unwrap()["plan_time"].clone()
    };
    assert_ne!(due(&before), due(&moved), "the plan moved with its event");

    fixture.home.write("work.ics", calendar(&[("lunch", 50 * 60)]));
    let output = fixture.run(&["events", "import", "ann", "work.ics"]);
    assert!(output.contains("1 removed"), "{output}");
    assert!(planned(&fixture).iter().all(|notification| notification["event_id"] != review.as_str()));
    let exported = fixture.run(&["events", "export", "ann"]);
    assert!(exported.contains("UID:lunch@test") && exported.contains("BEGIN:VALARM"), "{exported}");
    assert!(!exported.contains("UID:review@test"));
}

#[test]
fn an_import_names_the_line_of_a_broken_event_and_keeps_the_others() {
    let fixture = Fixture::sqlite();
    let broken = event_in("broken", 3600).replace("DTSTART:", "DTSTART:x");
    let misplaced = event_in("misplaced", 3600)
        .replace("DTSTART:", "DTSTART;TZID=Mars/Base:")
        .replace("Z\r\nDTEND", "\r\nDTEND");
    fixture.home.write(
        "more.ics",
        calendar(&[("fine", 60)]).replace("END:VCALENDAR", &format!("{broken}{misplaced}END:VCALENDAR")),
    );
    let output =
        fixture.home.run(["events", "import", "ann", "more.ics", "--database", &fixture.database], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.contains("2 new") && output.stdout.contains("1 left out"), "{}", output.stdout);
    for line in [
        "more.ics:11: left out: `DTSTART` is not a date or a time: X",
        "imported, but: unknown time zone `Mars/Base`; its times are taken for those of the user, and may be wrong\n",
    ] {
        assert!(output.stderr.contains(line), "{}", output.stderr);
    }
}

#[test]
fn a_restarted_database_is_used_again() {
    let Some(mut fixture) = Fixture::postgres() else { return };
    let mut peer = fixture.peer();
    assert_eq!(result_json(&tool(&mut peer, "getUser", json!({"user_id": "ann"})))["id"], "ann");
    fixture.server.as_mut().unwrap().restart();
    assert_eq!(result_json(&tool(&mut peer, "getUser", json!({"user_id": "ann"})))["id"], "ann");
    let planned = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
    assert_eq!(planned["events_processed"], 2, "{planned}");
    drop(fixture);
    let answer = tool(&mut peer, "getUser", json!({"user_id": "ann"}));
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
}
