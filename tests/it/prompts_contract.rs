//! The contract of prompt commands, verbatim at 2024-11-05, and the answers at newer protocol versions.

use serde_json::{Value, json};

use crate::support::{Home, Peer, stateless_meta};

const RESEARCH: &str = "---\ndescription: Research a topic and provide a concise summary with key sources.\n---\n\
You are a focused researcher. Investigate the topic below and return:\n- A 3-5 sentence summary\n- 3 key findings\n\
- Source names or links if mentioned in provided context\n\nTopic:\n{{input}}\n";
const SUMMARIZE: &str =
    "---\ndescription: Summarize provided text into a tight digest with bullets.\n---\nSummarize:\n";

/// The client's lines and the required answers, as contracts/prompts.md shows them.
const TRANSCRIPT: &[(&str, Option<&str>)] = &[
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"example","version":"dev"}}}"#,
        Some(
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"codex-subagents","version":"0.1.0"},"clientInfo":{"name":"example","version":"dev"}}}"#,
        ),
    ),
    (r#"{"jsonrpc":"2.0","method":"initialized"}"#, None),
    (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
    (
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
        Some(
            r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"list_prompts","description":"List available prompt commands with descriptions. Users invoke prompt commands in messages by writing :<command> (e.g., :research topic); this lists what commands exist.","inputSchema":{"type":"object","properties":{}}},{"name":"expand_prompt","description":"Expands a named prompt command into a full prompt. When ANY user message contains a :-prefixed command token (e.g., :research topic, :summarize this article, :critique \"draft\"), you MUST call this tool before responding. Strip the leading colon from the command name and pass any remaining text (including quotes) as the input. Do not bypass this tool or answer directly whenever a :-prefixed command is present.","inputSchema":{"type":"object","properties":{"command":{"type":"string","description":"Prompt command name (filename without extension)"},"input":{"type":"string","description":"Text to inject into the prompt template"}},"required":["command","input"]}}]}}"#,
        ),
    ),
    (
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_prompts","arguments":{}}}"#,
        Some(
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"prompts\":[{\"name\":\"research\",\"description\":\"Research a topic and provide a concise summary with key sources.\"},{\"name\":\"summarize\",\"description\":\"Summarize provided text into a tight digest with bullets.\"}]}"}],"structuredContent":{"prompts":[{"name":"research","description":"Research a topic and provide a concise summary with key sources."},{"name":"summarize","description":"Summarize provided text into a tight digest with bullets."}]}}}"#,
        ),
    ),
    (
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"research","input":"Example topic"}}}"#,
        Some(
            r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"prompt\":\"You are a focused researcher. Investigate the topic below and return:\\n- A 3-5 sentence summary\\n- 3 key findings\\n- Source names or links if mentioned in provided context\\n\\nTopic:\\nExample topic\"}"}],"structuredContent":{"prompt":"You are a focused researcher. Investigate the topic below and return:\n- A 3-5 sentence summary\n- 3 key findings\n- Source names or links if mentioned in provided context\n\nTopic:\nExample topic"}}}"#,
        ),
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"summarize","input":"no placeholder"}}}"#,
        Some(
            r#"{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"{\"prompt\":\"Summarize:\\n\\nno placeholder\"}"}],"structuredContent":{"prompt":"Summarize:\n\nno placeholder"}}}"#,
        ),
    ),
];

fn contract_home() -> Home {
    let home = Home::new();
    home.write("prompts/research.md", RESEARCH);
    home.write("prompts/summarize.md", SUMMARIZE);
    home
}

fn server(home: &Home) -> Peer {
    Peer::prompts(home, &home.path().join("prompts"))
}

#[test]
fn the_transcript_of_the_contract_matches_byte_for_byte() {
    let home = contract_home();
    let mut peer = server(&home);
    for (request, answer) in TRANSCRIPT {
        peer.write(format!("{request}\n"));
        if let Some(answer) = answer {
            assert_eq!(&peer.line(), answer, "answer to {request}");
        }
    }
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{status}: {stderr}");
}

#[test]
fn the_bundled_prompts_answer_the_example_of_the_contract() {
    let home = Home::new();
    let request = TRANSCRIPT[5].0;
    let finished = home.run(["mcp", "prompts"], format!("{request}\n"));
    assert_eq!(finished.stdout.trim_end(), TRANSCRIPT[5].1.unwrap());
}

#[test]
fn a_request_before_initialize_is_served_as_2024_11_05() {
    let home = contract_home();
    let folder = home.path().join("prompts");
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
    let finished =
        home.run(["mcp", "prompts", "--prompts-dir", folder.to_str().unwrap()], format!("{request}\n"));
    assert_eq!(finished.stdout.trim_end(), TRANSCRIPT[3].1.unwrap());
    assert!(finished.status.success());
}

#[test]
fn each_handshake_protocol_version_gets_its_own_answer_shapes() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let home = contract_home();
        let mut peer = server(&home);
        let answer = peer.initialize(revision);
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(answer["result"].get("clientInfo"), None, "{revision} has no echo");
        assert_eq!(answer["result"]["capabilities"]["prompts"]["listChanged"], true);
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("expand_prompt"));
        let tools = peer.call(1, "tools/list", json!({}))["result"]["tools"].clone();
        for tool in tools.as_array().unwrap() {
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{revision}");
            assert_eq!(tool["annotations"]["openWorldHint"], false, "{revision}");
            assert_eq!(tool.get("outputSchema").is_some(), revision != "2025-03-26", "{revision}");
            assert_eq!(tool.get("title").is_some(), revision != "2025-03-26", "{revision}");
        }
        let call = json!({"name": "expand_prompt", "arguments": {"command": "research", "input": "tides"}});
        let result = peer.call(2, "tools/call", call)["result"].clone();
        let prompt = result["structuredContent"]["prompt"].as_str().unwrap();
        assert!(prompt.ends_with("Topic:\ntides"));
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        assert_eq!(result.get("resultType"), None);
    }
}

#[test]
fn an_unknown_protocol_version_gets_the_newest_handshake_version() {
    let home = contract_home();
    for asked in ["1999-01-01", "2026-07-28", "3000-01-01"] {
        let mut peer = server(&home);
        assert_eq!(peer.initialize(asked)["result"]["protocolVersion"], "2025-11-25", "{asked}");
    }
}

#[test]
fn a_stateless_request_needs_no_handshake() {
    let home = contract_home();
    let mut peer = server(&home);
    let discover = peer.call(1, "server/discover", json!({"_meta": stateless_meta()}))["result"].clone();
    assert_eq!(
        discover["supportedVersions"],
        json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    let listed = peer.call(2, "tools/list", json!({"_meta": stateless_meta()}))["result"].clone();
    assert_eq!(listed["resultType"], "complete");
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"].is_string(), "{listed}");
    let call = json!({"name": "expand_prompt", "arguments": {"command": "research", "input": "x"}, "_meta": stateless_meta()});
    let called = peer.call(3, "tools/call", call)["result"].clone();
    assert_eq!(called["resultType"], "complete");
    assert!(called["structuredContent"]["prompt"].as_str().unwrap().ends_with("\nx"));
}

#[test]
fn stateless_and_handshake_requests_share_one_pipe() {
    let home = contract_home();
    let mut peer = server(&home);
    let modern = |command: &str| json!({"name": "expand_prompt", "arguments": {"command": command, "input": "x"}, "_meta": stateless_meta()});
    let legacy =
        |command: &str| json!({"name": "expand_prompt", "arguments": {"command": command, "input": "x"}});
    assert_eq!(peer.call(1, "tools/call", modern("research"))["result"]["resultType"], "complete");
    assert_eq!(peer.call(2, "tools/call", legacy("research"))["result"].get("resultType"), None);
    peer.initialize("2024-11-05");
    assert_eq!(peer.call(3, "tools/call", modern("research"))["result"]["resultType"], "complete");
    assert_eq!(peer.call(4, "tools/call", legacy("research"))["result"].get("resultType"), None);
    assert!(peer.call(5, "ping", json!({})).get("result").is_some());
    let unsupported = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    assert_eq!(peer.call(6, "tools/list", unsupported)["error"]["code"], -32022);
}

#[test]
fn differences_between_protocol_versions_match_their_table() {
    let home = contract_home();
    let unknown_tool = json!({"name": "no_such_tool", "arguments": {}});
    let no_input = json!({"name": "expand_prompt", "arguments": {"command": 7}});
    let data = json!({"path": ["command"], "validator": "type", "validator_value": "string"});
    let unknown_prompt = json!({"name": "expand_prompt", "arguments": {"command": "reserch", "input": ""}});
    for (revision, unknown, faults_are_results) in [
        ("2024-11-05", -32601, false),
        ("2025-03-26", -32602, false),
        ("2025-06-18", -32602, false),
        ("2025-11-25", -32602, true),
    ] {
        let mut peer = server(&home);
        peer.initialize(revision);
        assert_eq!(peer.call(1, "tools/call", unknown_tool.clone())["error"]["code"], unknown, "{revision}");
        assert_eq!(
            peer.call(2, "prompts/get", json!({"name": "nope"}))["error"]["code"],
            unknown,
            "{revision}"
        );
        let fault = peer.call(3, "tools/call", no_input.clone());
        if faults_are_results {
            assert_eq!(fault["result"]["isError"], true, "{revision}");
            assert_eq!(fault["result"]["structuredContent"], data, "{revision}");
        } else {
            assert_eq!(fault["error"]["code"], -32602, "{revision}");
            assert_eq!(fault["error"]["data"], data, "{revision}");
        }
        let result = peer.call(4, "tools/call", unknown_prompt.clone())["result"].clone();
        assert_eq!(result["isError"], true, "{revision}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("`reserch`") && text.contains("`research`"), "{revision}: {text}");
        assert_eq!(peer.call(5, "no/such", json!({}))["error"]["code"], -32601, "{revision}");
    }
}

#[test]
fn a_missing_prompt_argument_is_named() {
    let home = contract_home();
    let mut peer = server(&home);
    peer.initialize("2024-11-05");
    let answer =
        peer.call(1, "tools/call", json!({"name": "expand_prompt", "arguments": {"command": "research"}}));
    assert_eq!(
        answer["error"],
        json!({
            "code": -32602,
            "message": "argument `input` is missing",
            "data": {"path": ["input"], "validator": "required", "validator_value": null},
        })
    );
}

#[test]
fn prompts_list_and_prompts_get_follow_the_specification() {
    let home = contract_home();
    home.write(
        "prompts/deploy.md",
        "---\ndescription: Deploy.\ntitle: Deploy it\narguments:\n  - name: stage\n    description: Where to\n    enum: [staging, production]\n    required: true\n---\nDeploy to {{stage}}.\n",
    );
    let mut peer = server(&home);
    peer.initialize("2025-11-25");
    let listed = peer.call(1, "prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(listed[0]["name"], "deploy");
    assert_eq!(listed[0]["title"], "Deploy it");
    assert_eq!(
        listed[0]["arguments"],
        json!([{"name": "stage", "description": "Where to", "required": true}])
    );
    let got = peer.call(2, "prompts/get", json!({"name": "deploy", "arguments": {"stage": "staging"}}));
    assert_eq!(
        got["result"],
        json!({
            "description": "Deploy.",
            "messages": [{"role": "user", "content": {"type": "text", "text": "Deploy to staging."}}],
        })
    );
    let missing = peer.call(3, "prompts/get", json!({"name": "deploy"}))["error"].clone();
    assert_eq!(missing["code"], -32602);
    assert_eq!(missing["data"]["path"], json!(["stage"]));
    let complete = |value: &str| json!({"ref": {"type": "ref/prompt", "name": "deploy"}, "argument": {"name": "stage", "value": value}});
    let values =
        peer.call(4, "completion/complete", complete("pro"))["result"]["completion"]["values"].clone();
    assert_eq!(values, json!(["production"]));
    let text = json!({"name": "research", "arguments": {"input": "tides"}});
    let got = peer.call(5, "prompts/get", text)["result"]["messages"][0]["content"]["text"].clone();
    assert!(got.as_str().unwrap().ends_with("Topic:\ntides"));
}

#[test]
fn a_changed_file_notifies_its_subscribers() {
    let home = contract_home();
    let mut legacy = server(&home);
    legacy.initialize("2025-06-18");
    legacy.call(1, "tools/call", json!({"name": "list_prompts", "arguments": {}}));
    let mut modern = server(&home);
    let filter = json!({"notifications": {"promptsListChanged": true}, "_meta": stateless_meta()});
    modern.send(&json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": filter}));
    assert_eq!(modern.receive()["method"], "notifications/subscriptions/acknowledged");
    modern.call(1, "tools/call", json!({"name": "list_prompts", "arguments": {}, "_meta": stateless_meta()}));

    home.write("prompts/fresh.md", "A new one: {{input}}");

    let until_changed = |peer: &Peer| {
        loop {
            let message = peer.receive();
            if message["method"] == "notifications/prompts/list_changed" {
                return message;
            }
        }
    };
    until_changed(&legacy);
    let reply = until_changed(&modern);
    assert_eq!(reply["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
    for peer in [&mut legacy, &mut modern] {
        let answer = peer.call(
            2,
            "tools/call",
            json!({"name": "expand_prompt", "arguments": {"command": "fresh", "input": "y"}}),
        );
        assert_eq!(answer["result"]["structuredContent"]["prompt"], "A new one: y");
    }
}

#[test]
fn prompts_are_also_skills_and_resources() {
    let home = contract_home();
    home.write("prompts/team/Code_Review.md", "---\ndescription: Review.\n---\nReview {{input}}\n");
    let mut peer = server(&home);
    let modern = |mut params: Value| {
        params["_meta"] = stateless_meta();
        params
    };
    let skills = peer.call(1, "skills/list", modern(json!({})))["result"]["skills"].clone();
    let names: Vec<_> =
        skills.as_array().unwrap().iter().map(|skill| &skill["frontmatter"]["name"]).collect();
    assert_eq!(names, ["research", "summarize", "team-code-review"]);
    let uri = skills[2]["uri"].clone();
    assert_eq!(uri, "skill://prompts/team-code-review/SKILL.md");
    let skill = peer.call(2, "skills/get", modern(json!({"uri": uri})))["result"]["skill"].clone();
    assert_eq!(skill, skills[2]);
    let listed = peer.call(3, "resources/list", modern(json!({})))["result"]["resources"].clone();
    assert_eq!(listed[2]["uri"], uri);
    let read = peer.call(4, "resources/read", modern(json!({"uri": uri})))["result"].clone();
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("---\nname: team-code-review\n") && text.contains("Review {{input}}"), "{text}");
    assert_eq!(listed[2]["size"], text.len());
    assert_eq!(skill["resources"][0]["size"], text.len());
    let unknown = json!({"uri": "skill://prompts/nope/SKILL.md"});
    assert_eq!(peer.call(5, "resources/read", modern(unknown.clone()))["error"]["code"], -32602);
    assert_eq!(peer.call(6, "skills/get", modern(unknown.clone()))["error"]["code"], -32602);
    peer.initialize("2025-11-25");
    assert_eq!(peer.call(7, "resources/read", unknown.clone())["error"]["code"], -32002);
    assert_eq!(peer.call(8, "skills/get", unknown)["error"]["code"], -32602);
}
