//! The wire reference matches the servers' lists at each protocol version.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::root;
use crate::support::{Home, Peer, StopHubOnDrop, stateless_meta};

/// The protocol version of the contracts, and the last one with a handshake.
const REVISIONS: [&str; 2] = ["2024-11-05", "2025-11-25"];

#[test]
fn the_wire_reference_matches_what_is_served() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
    let agents = home.write("agents/reviewer.yaml", "description: Reviews code\npersona: You review code.\n");
    let agents = agents.parent().unwrap().to_str().unwrap();
    let _hub = StopHubOnDrop(&home);
    let mut page = String::from(
        "# MCP tools and resources\n\n\
         What the servers list, written by a test: `INSTA_UPDATE=always ./scripts/test wire_reference` writes it anew.\n\n\
         ## All toolsets in one server\n\n\
         `adjutant connect` and `/mcp` of the hub. The same tools answer in every revision; `triggerPopup` and \
         `delegate_task` take more where a client can use it.\n\n",
    );
    let mut peer = Peer::start(&mut home.adjutant(["connect"]));
    let text = peer.initialize(REVISIONS[1]);
    block(&mut page, "Capabilities at 2025-11-25", &text["result"]["capabilities"]);
    let discovered = peer.call("discover", "server/discover", json!({"_meta": stateless_meta()}));
    block(&mut page, "Capabilities at 2026-07-28", &discovered["result"]["capabilities"]);
    page.push_str("### Instructions\n\n");
    for line in text["result"]["instructions"].as_str().unwrap_or_default().lines() {
        writeln!(page, "> {line}").unwrap();
    }
    page.push('\n');
    for tool in list(&mut peer, "tools") {
        describe(&mut page, &tool);
    }
    rows(&mut page, "Resources", &list(&mut peer, "resources"), "uri");
    rows(&mut page, "Resource templates", &list(&mut peer, "resources/templates"), "uriTemplate");
    page.push_str("Prompts are those of `adjutant prompts list`, each with its arguments.\n\n");
    drop(peer);

    page.push_str(
        "## One server for one contract\n\n| command | name | revision | tools |\n|---|---|---|---|\n",
    );
    let alone: [&[&str]; 5] = [
        &["prompts"],
        &["agents", "--agents-dir", agents],
        &["questions"],
        &["assistant", "--database", "sqlite:assistant.db"],
        &["codex"],
    ];
    for arguments in alone {
        for revision in REVISIONS {
            let mut peer = Peer::start(&mut home.adjutant(["mcp"].iter().chain(arguments)));
            let text = peer.initialize(revision);
            let tools: Vec<String> = list(&mut peer, "tools")
                .iter()
                .map(|tool| format!("`{}`", tool["name"].as_str().unwrap()))
                .collect();
            let name = text["result"]["serverInfo"]["name"].as_str().unwrap();
            let answered = text["result"]["protocolVersion"].as_str().unwrap();
            writeln!(
                page,
                "| `adjutant mcp {}` | {name} | {answered} | {} |",
                arguments[0],
                tools.join(", ")
            )
            .unwrap();
        }
    }

    let file = root().join("docs/wire.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|wish| wish == "always") {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "docs/wire.md is not what is served; run this test with INSTA_UPDATE=always");
}

#[test]
fn the_table_of_choices_has_every_tool() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let (reference, choices) = (read("docs/wire.md"), read("docs/design/tool-choice.md"));
    let listed: BTreeSet<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    let rows = choices.lines().filter_map(|line| line.strip_suffix("` |")?.rsplit_once("| `"));
    let chosen: Vec<&str> = rows.map(|(_, tool)| tool).collect();
    assert_eq!(chosen.len(), 40);
    assert_eq!(chosen.into_iter().collect::<BTreeSet<_>>(), listed);
}

/// Every page of a list.
fn list(peer: &mut Peer, what: &str) -> Vec<Value> {
    let member = if what == "resources/templates" { "resourceTemplates" } else { what };
    let mut found = Vec::new();
    let mut params = json!({});
    loop {
        let answer = peer.call("list", &format!("{what}/list"), params);
        found.extend(answer["result"][member].as_array().cloned().unwrap_or_default());
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return found,
        }
    }
}

fn block(page: &mut String, title: &str, value: &Value) {
    writeln!(page, "### {title}\n\n```json\n{}\n```\n", serde_json::to_string_pretty(value).unwrap())
        .unwrap();
}

fn rows(page: &mut String, title: &str, found: &[Value], address: &str) {
    if found.is_empty() {
        return;
    }
    writeln!(page, "### {title}\n\n| address | what |\n|---|---|").unwrap();
    for item in found {
        let what = item["description"].as_str().or(item["title"].as_str()).unwrap_or_default();
        writeln!(page, "| `{}` | {} |", item[address].as_str().unwrap(), cell(what)).unwrap();
    }
    page.push('\n');
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// A tool: its purpose, its annotations, its arguments, and its result.
fn describe(page: &mut String, tool: &Value) {
    writeln!(page, "### `{}`\n", tool["name"].as_str().unwrap()).unwrap();
    writeln!(page, "{}\n", tool["description"].as_str().unwrap_or_default().replace('<', "&lt;")).unwrap();
    if let Some(hints) = tool["annotations"].as_object() {
        let hints = hints.iter().filter(|(_, hint)| hint.is_boolean());
        let hints: Vec<String> = hints
            .map(|(name, hint)| {
                format!("{}{}", if hint == true { "" } else { "not " }, name.trim_end_matches("Hint"))
            })
            .collect();
        writeln!(page, "*{}*\n", hints.join(", ")).unwrap();
    }
    properties(page, "takes", &tool["inputSchema"]);
    properties(page, "gives", &tool["outputSchema"]);
}

fn properties(page: &mut String, verb: &str, schema: &Value) {
    let Some(properties) = schema["properties"].as_object().filter(|found| !found.is_empty()) else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    writeln!(page, "| {verb} | type | |\n|---|---|---|").unwrap();
    for (name, property) in properties {
        let star = if required.contains(&name.as_str()) { " (always)" } else { "" };
        let what = property["description"].as_str().unwrap_or_default();
        writeln!(page, "| `{name}`{star} | {} | {} |", cell(&kind(property)), cell(what)).unwrap();
    }
    page.push('\n');
}

/// The type of a property in a few words.
fn kind(property: &Value) -> String {
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<String> =
            values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or_default())).collect();
        return values.join(", ");
    }
    match &property["type"] {
        Value::String(kind) if kind == "array" => format!("array of {}", kind_of_items(property)),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

fn kind_of_items(property: &Value) -> String {
    if property["items"].is_object() { kind(&property["items"]) } else { "any".to_owned() }
}
