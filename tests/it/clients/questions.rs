//! A real Codex asks the user: the model calls `triggerPopup`, a user answers in the browser, in a terminal or over
//! lines, and the next request of Codex to the model must contain the answer.

use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::inbox::git;
use crate::support::chromium::Browser;
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, codex_config, is_excluded, node, package, run};
use crate::support::serving::Serving;
use crate::support::terminal::Terminal;
use crate::support::{Finished, Home, Peer};

const TITLE: &str = "Deploy the price list?";

/// A home with a hub as a user runs it, and a Codex whose model asks one question.
struct CodexWithQuestion {
    home: Home,
    hub: Serving,
    model: Model,
    codex: Option<JoinHandle<Finished>>,
}

impl CodexWithQuestion {
    fn start() -> Self {
        let home = Home::new();
        let hub = Serving::hub(&home);
        let list = home.write("corner-shop/prices.md", "Plums cost 25 cents.\n");
        let shop = list.parent().unwrap();
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
            git(shop, arguments);
        }
        home.write("corner-shop/prices.md", "Plums cost 24 cents.\n");
        let arguments = json!({
            "workspacePath": home.path().join("corner-shop"),
            "title": TITLE,
            "message": "All tests **pass**. This is the change:\n\n```diff\n--- a/prices.md\n+++ b/prices.md\n@@ -1 +1 @@\n\
                        -Plums cost 25 cents.\n+Plums cost 24 cents.\n```",
            "options": [
                {"label": "Yes, deploy now", "value": "yes"},
                {"label": "Tonight, after closing time", "value": "tonight"},
                {"label": "No", "value": "no"},
            ],
        });
        let model = Model::start(Script::Call { tool: "triggerPopup", arguments });
        let server = format!(
            "[mcp_servers.adjutant]\ncommand = {:?}\nargs = [\"connect\", \"popup\"]\nrequired = true\n",
            env!("CARGO_BIN_EXE_adjutant")
        );
        home.write("codex/config.toml", codex_config(&model.base_url()) + &server);
        let mut command = home.client(&node());
        command
            .arg(package("@openai/codex/bin/codex.js"))
            .args(["--sandbox", "read-only", "--ask-for-approval", "never", "exec"])
            .args(["--skip-git-repo-check", "--json", "ask me before you deploy"])
            .env("CODEX_HOME", home.path().join("codex"))
            .current_dir(home.path().join("corner-shop"));
        let codex = std::thread::spawn(move || run(&mut command, RUN_DEADLINE));
        Self { home, hub, model, codex: Some(codex) }
    }

    /// Waits for Codex to end, and asserts that the model got this answer once, and no other.
    fn assert_answered(&mut self, value: &str, through: &str) {
        let finished = self.codex.take().unwrap().join().unwrap();
        assert!(finished.status.success() && finished.stdout.contains(FINAL_TEXT), "{finished}");
        let requests = self.model.requests();
        let [_, after] = &requests[..] else { panic!("{} requests\n{finished}", requests.len()) };
        let items = after["input"].as_array().unwrap();
        let results: Vec<&Value> =
            items.iter().filter(|item| item["type"] == "function_call_output").collect();
        let [result] = results[..] else { panic!("{results:#?}") };
        // Codex quotes the text of the tool once more.
        let text = result.to_string().replace('\\', "");
        for wanted in [
            json!({"selectedValue": value}),
            json!({"status": "answered"}),
            json!({"decided_by": "user"}),
            json!({"through": through}),
        ] {
            let wanted = wanted.to_string();
            let wanted = wanted.trim_matches(['{', '}']);
            assert!(text.contains(wanted), "{wanted} is not in {result:#}");
        }
    }
}

#[test]
fn codex_gets_the_answer_that_the_user_gives_in_the_browser() {
    if is_excluded("npm") {
        return;
    }
    let Some(mut browser) = Browser::start() else { return };
    let mut asking = CodexWithQuestion::start();
    let link = asking.home.run(["open", "--print"], "").stdout;
    browser.open(link.trim());
    browser.open(&asking.hub.url("/questions"));
    // The page was open before there was a question.
    browser.wait_until("document.querySelector('#results a[href^=\"/questions/\"]')");
    browser.click("#results a[href^=\"/questions/\"]");
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("document.querySelector('h1').textContent"), json!(TITLE));
    // The page polls until git has answered, and ignores keys in its first moment.
    browser.wait_until("!document.querySelector('[data-again]')");
    browser.evaluate("new Promise((done) => setTimeout(done, 700))");
    browser.click("label[for=f0-1]");
    let facts = browser.evaluate("document.getElementById('facts-part').innerText");
    assert!(facts.as_str().unwrap().contains("1 file"), "what the hub itself sees: {facts}");
    browser.click("#confirm");
    browser.wait_until("document.querySelector('#standing')?.innerText.startsWith('Answered')");
    asking.assert_answered("tonight", "browser");
    browser.wait_until("document.querySelector('#standing .decided')?.innerText.includes('in the browser')");
    browser.assert_no_page_errors();
}

#[test]
fn codex_gets_the_answer_that_the_user_gives_in_a_terminal() {
    if is_excluded("npm") {
        return;
    }
    let mut asking = CodexWithQuestion::start();
    let mut terminal = Terminal::start(&asking.home, &["inbox"], 80, 30, &[]);
    terminal.shows(TITLE);
    terminal.send("\r");
    terminal.shows("Enter sends");
    terminal.send("1");
    let screen = terminal.shows("1 (•) Yes, deploy now");
    assert!(screen.contains("+Plums cost 24 cents."), "{screen}");
    terminal.send("\r");
    asking.assert_answered("yes", "terminal");
    terminal.shows("There are no pending questions.");
    terminal.send("q");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn codex_gets_the_answer_that_the_user_gives_over_plain_lines() {
    if is_excluded("npm") {
        return;
    }
    let mut asking = CodexWithQuestion::start();
    let mut lines = Peer::start(&mut asking.home.adjutant(["inbox", "--plain"]));
    let id = loop {
        if let Some(question) = lines.line().strip_prefix("QUESTION ") {
            break question.split(' ').next().unwrap().to_owned();
        }
    };
    lines.write(format!("{id} no\n"));
    while !lines.line().starts_with(&format!("DONE {id} answered")) {}
    asking.assert_answered("no", "terminal");
    assert!(lines.finish().0.success());
}
