//! Files in answers: from a form with and without script, pasted and dropped, and as the asking agent gets them.

use std::path::Path;

use serde_json::{Value, json};

use super::console_client::Console;
use super::question_fixtures::{ask, choice, field, wait_for_text};
use super::tasks::token;
use crate::http::client::Answer;
use crate::support::Peer;
use crate::support::chromium::{Browser, Key};

/// The smallest PNG: one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// Asks as an agent of a revision; returns it with the path of the question's page.
fn asking(console: &Console, revision: &str) -> (Peer, String) {
    let mut agent = console.connect_agent();
    agent.initialize(revision);
    let options = json!([{"label": "As here", "value": "here"}, {"label": "Otherwise", "value": "other"}]);
    let arguments = json!({"title": "How should the page look?", "message": "Show me.", "options": options});
    let params = json!({"name": "triggerPopup", "arguments": arguments});
    agent.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let list = wait_for_text(console, "/questions", "How should the page look?");
    let path = list.split('"').find(|part| part.starts_with("/questions/q")).unwrap();
    (agent, path.to_owned())
}

/// Waits for the result of the question.
fn result_of(agent: &Peer) -> Value {
    loop {
        let message = agent.receive();
        if message["id"] == json!(1) && message.get("method").is_none() {
            return message["result"].clone();
        }
    }
}

/// Sends the form of a question as a browser does, with these files.
fn post(console: &Console, path: &str, fields: &[(&str, &str)], files: &[(&str, &str)]) -> Answer {
    let page = console.get(path).body;
    let csrf = token(&page);
    let mut body = String::new();
    for (name, value) in [("csrf", csrf), ("made", "0")].iter().chain(fields) {
        body += &format!("--edge\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    for (name, text) in files {
        body += &format!(
            "--edge\r\ncontent-disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
             content-type: image/png\r\n\r\n{text}\r\n"
        );
    }
    body += "--edge--\r\n";
    console.send_request("POST", path, &[("content-type", "multipart/form-data; boundary=edge")], &body)
}

#[test]
fn an_answer_with_a_file_reaches_a_newer_client_as_a_resource_and_a_path() {
    for (revision, kind) in
        [("2025-03-26", "resource"), ("2025-06-18", "resource_link"), ("2025-11-25", "resource_link")]
    {
        let console = Console::new();
        let (mut agent, path) = asking(&console, revision);
        let done = post(
            &console,
            &path,
            &[("act", "answer"), ("f0", "0")],
            &[("../no tes.txt", "Line one.\nLine two.")],
        );
        assert_eq!(done.status, 303, "{}", done.body);
        let result = result_of(&agent);
        assert_eq!(result["structuredContent"]["selectedValue"], json!("here"));
        let file = &result["structuredContent"]["files"][0];
        assert_eq!(
            (&file["name"], &file["mimeType"], &file["size"]),
            (&json!("no tes.txt"), &json!("text/plain"), &json!(19))
        );
        let on_disk = Path::new(file["path"].as_str().unwrap());
        assert!(on_disk.starts_with(console.home.path().canonicalize().unwrap()), "{on_disk:?}");
        assert_eq!(std::fs::read_to_string(on_disk).unwrap(), "Line one.\nLine two.");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["files"][0], *file, "a client without structured content has the files, too");
        assert_eq!(result["content"][1]["type"], json!(kind), "{revision}: {result}");
        let read = agent.call("read", "resources/read", json!({"uri": file["uri"]}));
        assert_eq!(read["result"]["contents"][0]["text"], json!("Line one.\nLine two."), "{read}");
        let other = agent.call(
            "other",
            "resources/read",
            json!({"uri": "adjutant://answers/q00000000000000000000/0"}),
        );
        assert!(other["error"]["code"].is_number(), "{other}");
        // Another agent does not read it.
        let mut stranger = console.connect_agent();
        let client = json!({"name": "stranger", "version": "1"});
        let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        stranger.call("init", "initialize", hello);
        let refused = stranger.call("x", "resources/read", json!({"uri": file["uri"]}));
        assert!(refused["error"]["code"].is_number(), "{refused}");
    }
}

#[test]
fn a_client_of_2024_11_05_gets_the_answer_without_its_files() {
    let console = Console::new();
    let (agent, path) = asking(&console, "2024-11-05");
    post(&console, &path, &[("act", "answer"), ("f0", "1")], &[("notes.txt", "Line one.")]);
    let result = result_of(&agent);
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["selectedValue"], json!("other"));
    assert!(!result.to_string().contains("notes.txt"), "{result}");
}

#[test]
fn the_page_bounds_files_shows_them_and_forgets_them_with_an_undo() {
    let console = Console::new();
    let fields = [field("answer", "", choice(&["Now", "Never"], 1))];
    let path = ask(&console, 1, "Deploy it?", "Show me.", &fields, "normal");
    let answer = [("act", "answer"), ("f0", "0")];
    let large = "x".repeat(2 * 1024 * 1024 + 1);
    let refused = post(&console, &path, &answer, &[("large.txt", &large)]).body;
    assert!(refused.contains("The file `large.txt` has 2097153 bytes"), "{refused}");
    let many: Vec<(&str, &str)> = vec![("a.txt", "a"); 6];
    let refused = post(&console, &path, &answer, &many).body;
    assert!(refused.contains("6 files are more than 5"), "{refused}");

    assert_eq!(post(&console, &path, &answer, &[("<b>.html", "<script>alert(1)</script>")]).status, 303);
    let file = console.get(&format!("{path}/files/0"));
    assert_eq!(file.body, "<script>alert(1)</script>");
    assert_eq!(file.header("content-type"), "application/octet-stream", "it is saved, not shown");
    assert_eq!(file.header("content-disposition"), "attachment; filename*=UTF-8''_b_.html");
    let page = console.get(&path).body;
    console.post(&format!("{path}/undo"), &format!("csrf={}", token(&page)));
    assert_eq!(console.get(&format!("{path}/files/0")).status, 404, "an undone answer has no files");
    assert_eq!(post(&console, &path, &answer, &[("again.txt", "again")]).status, 303);
    let page = wait_for_text(&console, &path, "again.txt");
    assert!(!page.contains("_b_.html"), "{page}");
}

#[test]
fn files_are_chosen_pasted_dropped_and_removed_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let fields = [field("answer", "", choice(&["Now", "Never"], 1))];
    let path = ask(&console, 1, "Deploy it?", "Show me.", &fields, "normal");
    let chosen = console.home.write("chosen.png", PIXEL);
    browser.open(&console.url(&path));
    browser.choose_files("#files", &[&chosen]);
    browser.wait_until("document.getElementById('files-chosen').textContent.includes('chosen.png')");
    for (event, data) in [("paste", "clipboardData"), ("drop", "dataTransfer")] {
        browser.evaluate(&format!(
            "{{ const data = new DataTransfer();
               data.items.add(new File(['text of {event}'], '{event}.txt', {{ type: 'text/plain' }}));
               const made = new (({{ paste: ClipboardEvent, drop: DragEvent }})['{event}'])('{event}', {{ {data}: data, bubbles: true, cancelable: true }});
               document.body.dispatchEvent(made); 0 }}"
        ));
        browser.wait_until(&format!(
            "document.getElementById('files-chosen').textContent.includes('{event}.txt')"
        ));
    }
    super::browser::tab_to(&mut browser, "#files-chosen li:nth-child(2) button");
    browser.press(Key::Enter);
    browser.wait_until("!document.getElementById('files-chosen').textContent.includes('paste.txt')");
    assert_eq!(
        browser.evaluate("[...document.getElementById('files').files].map(({ name }) => name).join()"),
        json!("chosen.png,drop.txt")
    );
    browser.evaluate("document.activeElement.blur(); 0");
    browser.wait_until("!document.querySelector('#confirm[aria-disabled]')");
    browser.type_text("1");
    browser.press(Key::Enter);
    let page = wait_for_text(&console, &path, "drop.txt");
    assert!(page.contains("chosen.png") && !page.contains("paste.txt"), "{page}");
    assert_eq!(console.get(&format!("{path}/files/1")).body, "text of drop");
    browser.open(&console.url(&path));
    browser.wait_until("document.querySelector('.given img')?.naturalWidth === 1");
    browser.assert_no_page_errors();
}
