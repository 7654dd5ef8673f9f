//! The terminal view in a pseudo-terminal: a session with the real Codex, and text with control characters.

use std::time::{Duration, Instant};

use serde_json::json;

use super::browser::{SORT_PRICES, conversation};
use super::versions::{configure, install_package};
use super::{faults, install, threads};
use crate::support::Home;
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, is_excluded};
use crate::support::serving::Serving;
use crate::support::terminal::{Terminal, text};

const CLIPBOARD_SEQUENCE: &[u8] = b"\x1b]52;c;";

/// Waits with the timeout of a real Codex.
pub(super) fn wait_for_screen(
    terminal: &mut Terminal,
    what: &str,
    keys: &str,
    wanted: impl Fn(&str) -> bool,
) -> String {
    let end = Instant::now() + RUN_DEADLINE;
    loop {
        let screen = text(&terminal.screen());
        if wanted(&screen) {
            return screen;
        }
        assert!(Instant::now() < end, "the screen never showed {what}:\n{screen}");
        if !keys.is_empty() {
            terminal.send(keys);
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

pub(super) fn shows(terminal: &mut Terminal, wanted: &str) -> String {
    wait_for_screen(terminal, wanted, "", |screen| screen.contains(wanted))
}

/// Presses a key until the question is off the screen: in its first moment it ignores keys.
fn decide(terminal: &mut Terminal, key: &str) {
    wait_for_screen(terminal, "that it was decided", key, |screen| !screen.contains("Codex wants to"));
}

#[test]
fn a_real_codex_session_works_in_a_terminal() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, "@openai/codex", "auto");
    home.write("corner-shop/prices.txt", "pear  40\nplum  25\n");
    let work = home.path().join("corner-shop");
    let model = Model::start(conversation());
    configure(&home, &model);
    let _hub = Serving::socket_hub(&home);
    let arguments = [
        "codex",
        "--cwd",
        work.to_str().unwrap(),
        "--sandbox",
        "read-only",
        "--approval-policy",
        "on-request",
        "Put the price list in order.",
    ];
    let mut terminal = Terminal::start(&home, &arguments, 100, 30, &[]);

    let screen = shows(&mut terminal, "Codex wants to run a command");
    assert!(screen.contains(SORT_PRICES) && screen.contains(work.to_str().unwrap()), "{screen}");
    decide(&mut terminal, "\x19");
    let screen = shows(&mut terminal, "The list is in order now");
    assert!(screen.contains("plum  25") && screen.contains("approved (by a user)"), "{screen}");
    shows(&mut terminal, "Codex · idle");

    // A patch, denied with a note.
    terminal.send("The plum costs one cent less.\r");
    let screen = shows(&mut terminal, "Codex wants to change files");
    assert!(screen.contains("+plum  24"), "{screen}");
    terminal.send("not before winter");
    shows(&mut terminal, "> not before winter");
    decide(&mut terminal, "\x04");
    shows(&mut terminal, "denied: not before winter");
    shows(&mut terminal, "Codex · idle");
    assert_eq!(std::fs::read_to_string(work.join("prices.txt")).unwrap(), "plum  25\npear  40\n");

    // Text for a running turn.
    terminal.send("Now be slow.\r");
    shows(&mut terminal, "while ! test -e go");
    terminal.send("Mind the winter prices.\r");
    shows(&mut terminal, "the prompt was added to the turn");
    std::fs::write(work.join("go"), "").unwrap();
    shows(&mut terminal, "Nothing more is to be done.");
    shows(&mut terminal, "› Mind the winter prices.");
    assert!(model.requests().pop().unwrap()["input"].to_string().contains("winter prices"));

    // Another size, the transcript by keyboard, a search, a copy.
    terminal.resize(60, 16);
    shows(&mut terminal, "Tab transcript");
    terminal.send("\t/price list\r");
    shows(&mut terminal, "▌ › Put the price list in order.");
    terminal.send("c");
    shows(&mut terminal, "copied");
    let copied: Vec<u8> = [CLIPBOARD_SEQUENCE, b"UHV0IHRoZSBwcmljZSBsaXN0IGluIG9yZGVyLg==\x07"].concat();
    assert!(terminal.written().windows(copied.len()).any(|part| part == copied));
    terminal.send("\t");
    shows(&mut terminal, "Threads");
    terminal.send("\t");
    shows(&mut terminal, "Enter sends");

    // The first Ctrl-C ends the turn, the second leaves.
    terminal.resize(100, 30);
    terminal.send("Go on for ever.\r");
    shows(&mut terminal, "Codex · running");
    terminal.send("\x03");
    shows(&mut terminal, "the turn was interrupted");
    terminal.send("Go on for ever, again.\r");
    wait_for_screen(&mut terminal, "the second turn", "", |screen| {
        screen.contains("› Go on for ever, again.") && screen.contains("Codex · running")
    });
    terminal.send("\x03\x03");
    assert_eq!(terminal.exit_code(), 0);
    terminal.wait_until_restored();
    let thread = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
    shows(&mut terminal, &format!("adjutant codex --thread {thread} continues it"));

    // The thread is shown when the view is opened again, without a list, because there is no other.
    let mut repeated = Terminal::start(&home, &["codex", "--thread", &thread], 120, 30, &[]);
    let screen = shows(&mut repeated, "› Go on for ever, again.");
    assert!(!screen.contains("Threads"), "{screen}");
    // The turn that was running at the end was interrupted.
    shows(&mut repeated, "Codex · idle");
    repeated.send("\x03");
    assert_eq!(repeated.exit_code(), 0);
}

#[test]
fn control_characters_from_codex_are_shown_as_codes() {
    let home = Home::new();
    let turn = r#"line '{"method":"item/completed","params":{"threadId":"t-1","item":{"type":"agentMessage","id":"m-2","text":"\u001b[2Jred\u202eleft\u0007"}}}'
line '{"method":"item/completed","params":{"threadId":"t-1","item":{"type":"commandExecution","id":"c-2","command":"ls \u001b]0;title\u0007","aggregatedOutput":"a\tb\r\n\u001b[31mred","exitCode":3,"status":"failed"}}}'
done_"#;
    install(&home, &faults::app_server(turn), "auto");
    let _hub = Serving::socket_hub(&home);
    let mut terminal = Terminal::start(&home, &["codex", "--", "steer"], 80, 24, &[]);
    let screen = shows(&mut terminal, "exit 3");
    for wanted in [
        "⟨U+001B⟩[2Jred⟨U+202E⟩left⟨U+0007⟩",
        "$ ls ⟨U+001B⟩]0;title⟨U+0007⟩",
        "a    b",
        "⟨U+001B⟩[31mred",
        "failed",
    ] {
        assert!(screen.contains(wanted), "no `{wanted}` in\n{screen}");
    }
    assert!(!terminal.written().windows(4).any(|part| part == b"\x1b]0;"), "no title is set");
    terminal.send("\x03");
    assert_eq!(terminal.exit_code(), 0);
}

/// A form of an MCP server with a field of each kind; the answer is printed.
const FORM_REQUEST: &str = r#"line '{"id":"e-1","method":"mcpServer/elicitation/request","params":{"threadId":"t-1","turnId":"u-1","serverName":"harbour","mode":"form","message":"Where does it berth?","requestedSchema":{"type":"object","required":["name","berth","crew","pilot"],"properties":{"name":{"type":"string","title":"Name of the ship"},"berth":{"type":"string","title":"Berth","oneOf":[{"const":"n","title":"North quay"},{"const":"s","title":"South quay"}]},"crew":{"type":"integer","title":"Crew","minimum":1,"maximum":40},"pilot":{"type":"boolean","title":"With a pilot"},"flags":{"type":"array","title":"Flags","items":{"enum":["red","blue"]}},"remark":{"type":"string","title":"Remark"}}}}}'
read -r filled; say "$(printf '%s' "$filled" | tr '"' "'")"; done_"#;

#[test]
fn a_form_of_an_mcp_server_is_filled_in_with_keys() {
    let home = Home::new();
    install(&home, &faults::app_server(FORM_REQUEST), "auto");
    let _hub = Serving::socket_hub(&home);
    let mut terminal = Terminal::start(&home, &["codex", "please"], 80, 40, &[]);
    let screen = shows(&mut terminal, "With a pilot");
    for wanted in [
        "`harbour` asks through Codex",
        "Where does it berth?",
        "North quay",
        "from 1 to 40",
        "Ctrl-Y fills it in",
    ] {
        assert!(screen.contains(wanted), "no `{wanted}` in\n{screen}");
    }
    // In its first moment it ignores keys.
    wait_for_screen(&mut terminal, "the form's keys", "\x19", |screen| screen.contains("Ctrl-Y sends it"));
    // Nothing is filled in: the missing fields are named, and nothing is sent.
    terminal.send("\x19");
    shows(&mut terminal, "! an answer is needed");
    terminal.send("Fram\t2\t90\ty\t1\t");
    shows(&mut terminal, "[x] red");
    terminal.send("\x19");
    shows(&mut terminal, "! 90 is out of range");
    terminal.send("\x7f\x7f13\r");
    // Escape leaves the form unchanged, and the line below accepts text.
    terminal.send("\x1b");
    shows(&mut terminal, "Ctrl-Y fills it in");
    terminal.send("not for the form");
    shows(&mut terminal, "> not for the form");
    terminal.send("\x19\x19");
    let answered = "{'id':'e-1','result':{'action':'accept','content':{'name':'Fram','berth':'s','crew':13,'pilot':true,'flags':['red']}";
    let flat = |screen: &str| screen.lines().map(str::trim).collect::<String>();
    wait_for_screen(&mut terminal, answered, "", |screen| flat(screen).contains(answered));
    shows(&mut terminal, "Codex · idle");
    terminal.send("\x03");
    assert_eq!(terminal.exit_code(), 0);
}

/// An MCP server whose only tool asks its caller with a form, and answers with the values.
const FORM_SERVER: &str = r#"#!/bin/sh
line() { printf '%s\n' "$1"; }
while read -r asked; do
id="${asked#*\"id\":}"; id="${id%%[,\}]*}"
case $asked in
*'"method":"initialize"'*) line '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"harbour","version":"1"}}}' ;;
*'"method":"tools/list"'*) line '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"berth","description":"Gives a ship its berth","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}}}]}}' ;;
*'"method":"tools/call"'*)
  line '{"jsonrpc":"2.0","id":"form-1","method":"elicitation/create","params":{"message":"Where does it berth?","requestedSchema":{"type":"object","required":["name","berth"],"properties":{"name":{"type":"string","title":"Name of the ship"},"berth":{"type":"string","title":"Berth","enum":["north","south"]}}}}}'
  while read -r filled; do case $filled in *'"form-1"'*) break ;; esac; done
  line '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"'"$(printf '%s' "$filled" | tr '"' "'")"'"}]}}' ;;
*'"id":'*) line '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"unknown"}}' ;;
esac
done
"#;

/// The form comes from an MCP server of the real Codex, and the values go back to it and to the model.
#[test]
fn a_form_of_a_real_codex_mcp_server_reaches_the_model() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, "@openai/codex", "auto");
    let model = Model::start(Script::Call { tool: "berth", arguments: json!({}) });
    configure(&home, &model);
    let harbour = home.write_program("bin/harbour", FORM_SERVER);
    let config = home.path().join(".codex/config.toml");
    let config_text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{config_text}[mcp_servers.harbour]\ncommand = {harbour:?}\n")).unwrap();
    let _hub = Serving::socket_hub(&home);
    let arguments =
        ["codex", "--approval-policy", "on-request", "--sandbox", "read-only", "A berth, please."];
    let mut terminal = Terminal::start(&home, &arguments, 100, 40, &[]);
    let form = ["`harbour` asks through Codex", "Where does it berth?", "Name of the ship", "south"];
    wait_for_screen(&mut terminal, "the form", "", |screen| form.iter().all(|part| screen.contains(part)));
    // In its first moment it ignores keys.
    wait_for_screen(&mut terminal, "the form's keys", "\x19", |screen| screen.contains("Ctrl-Y sends it"));
    // Codex orders the fields by name.
    terminal.send("2\tFram\x19");
    shows(&mut terminal, FINAL_TEXT);
    shows(&mut terminal, "Codex · idle");
    let answer = model.requests().pop().unwrap()["input"].to_string();
    assert!(answer.contains("'action':'accept'"), "{answer}");
    assert!(answer.contains("'name':'Fram'") && answer.contains("'berth':'south'"), "{answer}");
    terminal.send("\x03");
    assert_eq!(terminal.exit_code(), 0);
}
