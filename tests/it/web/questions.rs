//! Questions in the browser: with and without script, by keyboard, and what no request may do.

use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::console_client::Console;
use super::question_fixtures::{ask, choice, field, wait_for_text};
use super::tasks::token;
use super::{assert_strict, browser};
use crate::support::chromium::{Browser, Key};
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home};

/// A question of one choice.
fn deploy(console: &Console, number: u32) -> String {
    let fields = [field("answer", "", choice(&["Now", "Tonight", "Never"], 1))];
    ask(console, number, "Deploy the tide table?", "The tests **pass**.", &fields, "normal")
}

/// A form as the page has it, made long enough ago.
fn form(console: &Console, path: &str, more: &str) -> String {
    format!("csrf={}&made=0&{more}", token(&console.get(path).body))
}

#[test]
fn a_question_page_shows_where_its_client_runs_if_that_is_another_folder() {
    let console = Console::new();
    let mut agent = console.connect_agent();
    agent.initialize("2025-11-25");
    let arguments = json!({"workspacePath": "/code/bank", "title": "Deploy?"});
    let params = json!({"name": "triggerPopup", "arguments": arguments});
    agent.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let both = "<code class=\"where\">&#x2f;code&#x2f;bank</code> <span class=\"quiet\">runs in</span> <code class=\"where\">~&#x2f;</code>";
    let list = wait_for_text(&console, "/questions", both);
    let path = list.split('"').find(|part| part.starts_with("/questions/q")).unwrap();
    let page = console.get(path).body;
    assert_eq!(page.matches("&#x2f;code&#x2f;bank").count(), 1, "the folder is named once:\n{page}");
    assert!(page.contains(both), "{page}");
}

#[test]
fn a_decided_question_is_not_listed_as_snoozed() {
    let console = Console::new();
    let path = deploy(&console, 1);
    console.post(&path, &form(&console, &path, "act=snooze&minutes=60"));
    assert!(console.get("/questions").body.contains("back in 1 h 0 min"));
    console.post(&path, &form(&console, &path, "act=decline"));
    let history = wait_for_text(&console, "/history", "Deploy the tide table?");
    assert!(!history.contains("back in"), "{history}");
}

#[test]
fn a_question_page_shows_the_question_and_what_the_hub_knows_of_its_asker() {
    let console = Console::new();
    console.home.write("work/tides.txt", "changed\n");
    let message = "# Hear\n<script>alert(1)</script>\n\n--- a/tide.rs\n+++ b/tide.rs\n@@ -1 +1 @@\n-old\n+new\n\n![x](https://evil.test/p.png) a\u{202e}b";
    let fields = [field("answer", "", choice(&["<b>Now</b>", "Never"], 1))];
    let path = ask(&console, 1, "Deploy \u{200b}it?", message, &fields, "normal");
    let page = wait_for_text(&console, &path, "<code class=\"branch\">main</code>");
    for text in [
        "<i>+</i>new\n</span>",
        "&lt;b&gt;Now&lt;&#x2f;b&gt;",
        "U+202E",
        "⟨U+200B⟩",
        "<dt>Changed</dt><dd>1 file",
        "tides.txt",
        "claude-code",
        "1 of 1",
    ] {
        assert!(page.contains(text), "{text} is not in the page:\n{page}");
    }
    for tag in ["<script>", "<img", "<b>Now", "\u{202e}"] {
        assert!(!page.contains(tag), "{tag}");
    }
    let inbox = console.get("/");
    assert!(inbox.body.contains("Needs your answer <span class=\"count\">1</span>"), "{}", inbox.body);
    assert!(inbox.body.contains("1 <span class=\"unseen\">pending"), "the badge counts");
    assert_strict("/questions", &console.get("/questions"));
    wait_for_text(&console, "/questions", "<code class=\"branch\">main</code>");
    console.post(&path, &form(&console, &path, "act=decline"));
    for happened in ["<li>Shown first in the browser <span", "<li>Declined in the browser <span"] {
        wait_for_text(&console, &path, happened);
    }
}

/// A page is rendered at once, with the known state of the folder and its age; git runs meanwhile.
#[test]
fn a_question_shows_its_folder_whole() {
    let home = Home::new();
    let hub = Serving::open_hub(&home);
    let folder = "/srv/production/payments/app";
    let params = json!({"workspacePath": folder, "title": "Deploy?", "message": "Now?", "options": []});
    let asked = json!({"jsonrpc": "2.0", "id": "a", "method": "triggerPopup", "params": params});
    hub.post("/mcp/popup", &asked.to_string());
    let list = hub.page("/questions");
    let at = list.find("/questions/q").unwrap_or_else(|| panic!("{list}"));
    for page in [&list, &hub.page(list[at..].split('"').next().unwrap())] {
        assert!(page.replace("&#x2f;", "/").contains(folder), "{page}");
    }
}

#[test]
fn no_question_page_waits_for_git() {
    let home = Home::new();
    let work = home.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(&work).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&work).env("HOME", home.path()).args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        assert!(git.args(arguments).status().unwrap().success());
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["commit", "--quiet", "--allow-empty", "--message=one"]);
    let path = std::env::var("PATH").unwrap();
    let held = home.write("held", "");
    // Every git command waits as long as the lock is held.
    let slow = format!(
        "#!/bin/sh\nPATH='{path}'\nwhile test -e '{}'; do sleep 0.02; done\nexec git \"$@\"\n",
        held.display()
    );
    home.write_program("bin/git", slow);
    let mut command = home.adjutant::<&str>([]);
    command.env("PATH", format!("{}:{path}", home.path().join("bin").display()));
    let hub = Serving::open_hub_of(command, &home);
    let params = json!({"workspacePath": work, "title": "Deploy?", "message": "Now?", "options": []});
    hub.post(
        "/mcp/popup",
        &json!({"jsonrpc": "2.0", "id": "a", "method": "triggerPopup", "params": params}).to_string(),
    );
    let list = hub.page("/questions");
    let at = list.find("/questions/q").unwrap_or_else(|| panic!("{list}"));
    let question = list[at..].split('"').next().unwrap();
    assert!(hub.page(question).contains("being read"));
    std::fs::remove_file(&held).unwrap();
    let until = |path: &str, wanted: &str| {
        let end = Instant::now() + DEADLINE;
        loop {
            let page = hub.page(path);
            if page.contains(wanted) {
                return page;
            }
            assert!(Instant::now() < end, "{path} never shows {wanted}:\n{page}");
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
    };
    until(question, "<code class=\"branch\">main</code>");
    until("/questions", "<code class=\"branch\">main</code>");
    home.write("held", "");
    git(&["checkout", "--quiet", "-b", "release"]);
    let old = until(question, "Workspace <span class=\"count\">as of");
    assert!(old.contains("<code class=\"branch\">main</code>"), "{old}");
    std::fs::remove_file(&held).unwrap();
    let new = until(question, "<code class=\"branch\">release</code>");
    assert!(!new.contains("class=\"count\">as of"), "{new}");
}

#[test]
fn an_answer_without_the_form_token_or_too_early_is_rejected() {
    let console = Console::new();
    let path = deploy(&console, 1);
    for forged in ["act=answer&f0=0", "csrf=&act=answer&f0=0", "csrf=00&made=0&act=decline"] {
        assert_eq!(console.post(&path, forged).status, 403, "{forged}");
        for act in ["undo", "seen"] {
            assert_eq!(console.post(&format!("{path}/{act}"), forged).status, 403, "{act} {forged}");
        }
    }
    assert_eq!(console.post("/questions/availability", "availability=away").status, 403);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() + 5_000;
    let hurried = form(&console, &path, "act=answer&f0=1").replace("made=0", &format!("made={now}"));
    let page = console.post(&path, &hurried);
    assert!(page.body.contains("was ignored"), "{}", page.body);
    assert!(page.body.contains("value=\"1\" checked"), "what was chosen is still chosen: {}", page.body);
    let empty = console.post(&path, &form(&console, &path, "act=answer"));
    assert!(empty.body.contains("Choose an answer."), "{}", empty.body);
    let unsaid = console.post(&path, &form(&console, &path, "act=redirect&note="));
    assert!(unsaid.body.contains("Say in a sentence"), "{}", unsaid.body);
    assert_eq!(console.post(&path, &form(&console, &path, "act=explode")).status, 400);
    assert_eq!(console.get("/history").body.matches("class=\"name\"").count(), 0);
    assert!(console.get(&path).body.contains("1 of 1"), "it still waits");
}

/// The text of a card of the Inbox.
fn card<'a>(page: &'a str, ticket: &str) -> &'a str {
    let card =
        page.split(&format!("aria-labelledby=\"{}-title\"", ticket.rsplit('/').next().unwrap())).nth(1);
    card.unwrap_or_else(|| panic!("{ticket} is not in the Inbox:\n{page}"))
        .split("</article>")
        .next()
        .unwrap()
}

#[test]
fn a_question_is_answered_and_undone_in_the_inbox_without_script() {
    let console = Console::new();
    let fields = [field("answer", "", choice(&["After (Recommended)", "Before"], 1))];
    let path = ask(&console, 1, "Which order?", "Shipping and discount.", &fields, "normal");
    let page = console.get("/").body;
    let shown = card(&page, &path);
    assert!(shown.contains("Shipping and discount.") && shown.contains("expires <time"), "{shown}");
    assert!(
        shown.contains("class=\"primary\">After<span class=\"unseen\">, recommended</span> <kbd"),
        "{shown}"
    );
    let form = format!("csrf={}&act=answer&from=inbox&calls=1&f0=0", token(&page));
    let early = console.post(&path, &format!("{form}&made={}", u64::MAX));
    assert!(
        early.body.contains("was ignored") && early.body.contains("value=\"0\" checked"),
        "{}",
        early.body
    );
    let done = console.post(&path, &format!("{form}&made=0"));
    assert_eq!((done.status, done.header("location")), (303, "/"));
    let page = console.get("/").body;
    assert!(page.contains("to undo.</strong>") && page.contains("Nothing needs your answer."), "{page}");
    let undone = console.post(&format!("{path}/undo"), &format!("csrf={}&from=inbox", token(&page)));
    assert_eq!((undone.status, undone.header("location")), (303, "/"));
    assert!(card(&console.get("/").body, &path).contains("Before <kbd"));
}

#[test]
fn the_inbox_gives_no_button_to_a_question_that_needs_its_page() {
    let console = Console::new();
    let options = [field("answer", "", choice(&["Drop it", "Keep it"], 1))];
    let high = ask(&console, 1, "Drop the table?", "For good.", &options, "high");
    let long = ask(&console, 2, "Read this?", &"word ".repeat(2_000), &options, "normal");
    let both = [options[0].clone(), field("why", "Why?", json!({"kind": "yes_no"}))];
    let form = ask(&console, 3, "Fill this in?", "Two fields.", &both, "normal");
    let page = console.get("/").body;
    for (path, word) in [(&high, "Review"), (&long, "Read and answer")] {
        let shown = card(&page, path).replace("&#x2f;", "/");
        assert!(!shown.contains("<button"), "{shown}");
        assert!(shown.contains(&format!("href=\"{path}\">{word} <kbd")), "{shown}");
    }
    // A question with several fields has its form there.
    let shown = card(&page, &form);
    assert!(
        shown.contains("<summary class=\"button\">Answer") && shown.contains("Send answer</button>"),
        "{shown}"
    );
    assert!(card(&page, &high).contains("high risk</span>"), "{page}");
}

#[test]
fn the_inbox_answers_in_place_and_only_after_its_pause() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let path = deploy(&console, 1);
    let ticket = path.rsplit('/').next().unwrap();
    browser.open(&console.url("/"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    assert_eq!(browser.evaluate("document.title"), json!("(1) Inbox · Adjutant"));
    let now = format!("document.getElementById('{ticket}-1')");
    browser.wait_until(&format!("!{now}.hasAttribute('aria-disabled')"));
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    // The page is not loaded again.
    browser.evaluate("window.stays = true; 0");
    browser.evaluate(&format!("{now}.focus()"));
    browser.press(Key::Enter);
    browser.wait_until("document.querySelector('#list-questions [id^=undo-]')");
    assert_eq!(browser.evaluate("window.stays"), json!(true));
    let strip = browser.evaluate("document.querySelector('.strip').innerText");
    assert!(strip.as_str().unwrap().contains("Tonight"), "{strip}");
    browser.press(Key::Enter);
    browser.wait_until(&format!("{now} && !document.querySelector('.strip')"));
    browser.assert_no_page_errors();
}

#[test]
fn a_high_risk_question_page_asks_for_the_passphrase() {
    let console = Console::new();
    let fields = [field("answer", "", choice(&["Delete", "Keep"], 1))];
    assert!(!console.get("/questions").body.contains("No approval passphrase is set"), "nothing asks for it");
    let path = ask(&console, 1, "Delete it?", "For good.", &fields, "high");
    for page in ["/", "/questions", &path] {
        assert!(console.get(page).body.contains("No approval passphrase is set"), "{page}");
    }
    let page = console.post(&path, &form(&console, &path, "act=answer&f0=0&passphrase=guess"));
    assert!(page.body.contains("No approval passphrase is set"), "{}", page.body);
    assert!(!page.body.contains("guess"), "a passphrase is never in a page");
}

#[test]
fn answered_questions_are_found_and_exported() {
    let console = Console::new();
    let first = deploy(&console, 1);
    let fields = [field("answer", "Why?", json!({"kind": "text", "multiline": true, "min": 0, "max": 100}))];
    let second = ask(&console, 2, "=1+1", "Why is that?", &fields, "normal");
    let done = console.post(&first, &form(&console, &first, "act=answer&f0=1&note=after+tea"));
    assert_eq!((done.status, done.header("location")), (303, first.as_str()));
    assert_eq!(console.post(&second, &form(&console, &second, "act=decline&note=not+now")).status, 303);
    wait_for_text(&console, "/history", "2 questions");
    for (search, found) in
        [("q=tonight", 1), ("q=tea", 1), ("kind=declined", 1), ("q=nothing", 0), ("q=tide&kind=declined", 0)]
    {
        let page = console.get(&format!("/history?{search}"));
        assert_strict(search, &page);
        assert_eq!(page.body.matches("class=\"name\"").count(), found, "{search}");
    }
    assert!(console.get("/find?q=1%2B1").body.contains(", declined</span>"));
    let lines = console.get("/history/questions.jsonl?q=tonight");
    assert_eq!(lines.header("content-disposition"), "attachment; filename=\"questions.jsonl\"");
    assert!(lines.body.contains("\"answer\":{\"answer\":[\"tonight\"]}"), "{}", lines.body);
    let table = console.get("/history/questions.csv").body;
    assert!(table.contains("\"'=1+1\""), "a title is escaped in the table: {table}");
    assert_eq!(console.get("/history/questions.exe").status, 404);
}

#[test]
fn a_question_is_answered_and_undone_without_script() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::with_login();
    browser.enable_scripts(false);
    browser.open(&console.link);
    let unlocked = Console::new();
    let path = deploy(&unlocked, 1);
    browser.open(&unlocked.url(&path));
    browser::tab_to(&mut browser, "#f0-0");
    browser.press(Key::Down);
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    browser::tab_to(&mut browser, "#confirm");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    let standing = browser.evaluate("document.getElementById('standing').innerText");
    let standing = standing.as_str().unwrap();
    assert!(standing.starts_with("Answered, ") && standing.contains(" s to undo. Tonight"), "{standing}");
    assert_eq!(browser.evaluate("document.querySelector('form.answer').offsetHeight"), json!(0));
    browser::tab_to(&mut browser, "#undo");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("document.querySelector('#f0-1:enabled')?.checked"), json!(true));
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    browser::tab_to(&mut browser, "#decline");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    wait_for_text(&unlocked, "/history", "declined</span>");
    browser.assert_no_page_errors();
}

#[test]
fn note_and_files_are_folded_and_so_is_a_text_in_place_of_the_options() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let mut asked = choice(&["Now", "Never"], 1);
    asked["other"] = json!(true);
    let path = ask(&console, 1, "Deploy it?", "Now?", &[field("answer", "", asked)], "normal");
    for (scripts, width) in [(true, 1280), (false, 1280), (false, 390)] {
        browser.enable_scripts(scripts);
        browser.set_window(width, 844, false);
        browser.open(&console.url(&path));
        let shown = "['#note', '.own'].map((one) => document.querySelector(one).checkVisibility({ contentVisibilityAuto: true }))";
        assert_eq!(browser.evaluate(shown), json!([false, false]));
        browser.click("#extra > summary");
        browser.click("label:has([value=other])");
        assert_eq!(browser.evaluate(shown), json!([true, true]));
        // What is typed would be sent, and an empty field takes the next key while it has the focus.
        browser.evaluate("document.querySelector('.own').value = 'Later'");
        browser.click("label.option");
        assert_eq!(browser.evaluate(shown), json!([true, true]));
        browser.evaluate("document.querySelector('.own').focus(); document.querySelector('.own').value = ''");
        assert_eq!(browser.evaluate(shown), json!([true, true]));
    }
    browser.assert_no_page_errors();
}

#[test]
fn a_question_is_answered_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let path = deploy(&console, 1);
    let next = deploy(&console, 2);
    browser.open(&console.url(&path));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    // The test is about the cooldown itself.
    browser.evaluate("new Promise((done) => setTimeout(done, 700))");
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    browser.type_text("2");
    assert_eq!(browser.evaluate("document.querySelector(':checked').id"), json!("f0-1"));
    browser.press(Key::Escape);
    assert_eq!(browser.evaluate("document.querySelectorAll('input:checked').length"), json!(0));
    browser.type_text("3");
    browser.press(Key::Enter);
    browser.wait_until("document.getElementById('undo')");
    browser.press(Key::Escape);
    browser.wait_until("!document.getElementById('answer-fields').disabled");
    assert_eq!(
        browser.evaluate("document.querySelector('input:checked').id"),
        json!("f0-2"),
        "it is as it was"
    );
    browser.evaluate("new Promise((done) => setTimeout(done, 700))");
    browser.evaluate("document.querySelector('#f0-2').focus()");
    browser.press(Key::Enter);
    browser.wait_until("document.querySelector('#standing .decided')?.innerText.includes('in the browser')");
    assert_eq!(browser.evaluate("document.getElementById('next').pathname"), json!(next));
    // J opens the next question. A key that comes with the page has no effect, and the page shows that.
    browser.type_text("j");
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("location.pathname"), json!(next));
    browser.assert_no_page_errors();
}

#[test]
fn the_slower_of_two_answers_is_reported_and_keeps_its_text() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let path = deploy(&console, 1);
    browser.open(&console.url(&path));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    browser.click("#extra > summary");
    browser::tab_to(&mut browser, "#note");
    browser.type_text("wait for the tide");
    console.post(&path, &form(&console, &path, "act=dismiss"));
    browser.wait_until("document.getElementById('answer-fields').disabled");
    browser.wait_until("document.querySelector('#standing .decided')?.innerText.startsWith('dismissed')");
    assert_eq!(browser.evaluate("document.getElementById('note').value"), json!("wait for the tide"));
    browser.assert_no_page_errors();
}

/// A restarted hub rejects the forms of the last one; an open page keeps the typed text nevertheless.
#[test]
fn an_open_page_keeps_the_typed_text_when_the_hub_restarts() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let (path, other) = (deploy(&console, 1), deploy(&console, 2));
    browser.open(&console.url(&path));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    browser.click("#extra > summary");
    browser::tab_to(&mut browser, "#note");
    browser.type_text("wait for the tide");
    browser.press(Key::Escape);
    // The test is about the cooldown itself.
    browser.evaluate("new Promise((done) => setTimeout(done, 700))");
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    browser.type_text("2");
    browser.evaluate("window.known = fetch; window.fetch = () => Promise.reject(new TypeError('away')); 0");
    browser.press(Key::Enter);
    browser.wait_until("document.getElementById('fault').innerText.includes('so nothing was done')");
    // The page reads from a new hub, whose form token differs. The next refresh brings the new token.
    browser.evaluate("document.querySelectorAll('[name=csrf]').forEach((input) => (input.value = '00'))");
    browser.evaluate("window.fetch = window.known; 0");
    console.post(&other, &form(&console, &other, "act=decline"));
    browser
        .wait_until("[...document.querySelectorAll('[name=csrf]')].every((input) => input.value !== '00')");
    browser.evaluate("document.getElementById('f0-1').focus()");
    browser.press(Key::Enter);
    browser
        .wait_until("document.querySelector('#standing .decided')?.innerText.includes('wait for the tide')");
    assert_eq!(browser.evaluate("document.getElementById('fault').innerText"), json!(""));
}

#[test]
fn a_host_name_rebound_to_loopback_reads_nothing() {
    let Some(mut browser) = Browser::start_with(&["--host-resolver-rules=MAP evil.test 127.0.0.1"]) else {
        return;
    };
    let console = Console::new();
    let path = deploy(&console, 1);
    let address = console.url("");
    let evil = address.replace("127.0.0.1", "evil.test");
    for path in ["/", "/questions", path.as_str(), "/events", "/static/app.js", "/history/questions.jsonl"] {
        browser.open(&format!("{evil}{path}"));
        let text = browser.evaluate("document.documentElement.innerText");
        assert!(text.as_str().unwrap().contains("this Host is not served here"), "{path}: {text}");
    }
    // The page of the other name sends requests: to its own name, and across origins to the hub's.
    let ask = |url: String| {
        format!("fetch({url:?}, {{mode: 'cors'}}).then((answer) => answer.status + '', (error) => 'refused')")
    };
    assert_eq!(browser.evaluate(&ask(format!("{evil}/questions"))), json!("403"));
    assert_eq!(browser.evaluate(&ask(format!("{address}/questions"))), json!("refused"));
    let post = format!(
        "fetch({:?}, {{method: 'POST', mode: 'no-cors', body: new URLSearchParams({{act: 'answer', f0: '0'}})}}).then(() => 'sent', () => 'refused')",
        format!("{address}{path}")
    );
    browser.evaluate(&post);
    assert!(console.get(&path).body.contains("1 of 1"), "it still waits");
}
