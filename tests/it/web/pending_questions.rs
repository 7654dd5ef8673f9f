//! Many pending questions: filters, pages, the list next to a question, and the notifications of a hidden tab.

use serde_json::{Value, json};

use super::console_client::Console;
use super::question_fixtures::{ask, choice, field};
use crate::support::chromium::{Browser, Key};

/// A console with five questions: the third is of high risk, the fourth an approval.
fn console() -> Console {
    let console = Console::new();
    for (number, title, level) in [
        (1, "Deploy the tide table?", "normal"),
        (2, "Which platforms?", "normal"),
        (3, "Delete the database?", "high"),
        (4, "Allow: git push", "normal"),
        (5, "Announce 50% off?", "normal"),
    ] {
        let item = [field("answer", "", choice(&["Yes", "No"], 1))];
        ask(&console, number, title, &format!("Message {number}."), &item, level);
    }
    console.sql(
        "UPDATE question_bodies SET form = SUBSTR(form, 1, LENGTH(form) - 1) || ',\"denials\":[\"no\"]}' WHERE question LIKE '%4'",
    );
    console
}

#[test]
fn pending_questions_are_filtered_and_searched_without_script() {
    let console = console();
    let found = |query: &str| {
        let page = console.get(&format!("/questions{query}")).body;
        let list = page.split("<ul class=\"tasks questions\">").nth(1).unwrap_or_default();
        let links = list.split("href=\"/questions/q").skip(1);
        links.map(|rest| rest[..20].parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(found(""), [1, 2, 3, 4, 5]);
    assert_eq!(found("?kind=high"), [3]);
    assert_eq!(found("?kind=approval"), [4]);
    assert_eq!(found("?kind=snoozed"), [0; 0]);
    assert_eq!(found("?q=DATABASE"), [3], "the title, in any case");
    assert_eq!(found("?q=message+5"), [5], "the message");
    assert_eq!(found("?q=claude-code&kind=high"), [3], "the client");
    assert_eq!(found("?q=50%25"), [5], "a percent sign is a letter");
    assert_eq!(found("?after=3"), [4, 5]);
    assert_eq!(found("?q=message&after=3"), [4, 5]);
    assert!(console.get("/questions?q=nowhere").body.contains("No questions match."));
    assert_eq!(console.get("/questions?kind=other").status, 400);
}

#[test]
fn every_question_is_reachable_by_the_pages_of_a_search() {
    let console = Console::new();
    let item = [field("answer", "", choice(&["Yes", "No"], 1))];
    ask(&console, 1, "Deploy number 1?", "Now.", &item, "normal");
    console.sql(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 130) \
         INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, asked_at, deadline, seen_ms) \
         SELECT printf('q%020d', i), i, i, asker, client, workspace, 'Deploy number ' || i || '?', level, state, asked_at, deadline, 0 \
         FROM n, questions WHERE seq = 1; \
         INSERT INTO question_bodies SELECT id, 'Now.', form FROM questions, question_bodies WHERE seq > 1; \
         UPDATE question_counts SET pending = 130;",
    );
    for start in ["/questions", "/questions?q=deploy"] {
        let (mut path, mut seen) = (start.to_owned(), Vec::new());
        loop {
            let page = console.get(&path).body.replace("&#x2f;", "/").replace("&amp;", "&");
            assert!(page.contains("130 pending questions"), "{path}: {page}");
            let list = page.split("<ul class=\"tasks questions\">").nth(1).unwrap();
            seen.extend(
                list.split("href=\"/questions/q").skip(1).map(|rest| rest[..20].parse::<u32>().unwrap()),
            );
            let Some(next) = page.split("rel=\"next\" href=\"").nth(1) else { break };
            path = next.split('"').next().unwrap().to_owned();
        }
        assert_eq!(seen, (1..=130).collect::<Vec<_>>(), "{start}");
    }
    // A question in the middle has its neighbours next to it.
    let page = console.get("/questions/q00000000000000000100").body;
    let list = page.split("id=\"queue-list\"").nth(1).unwrap().split("</nav>").next().unwrap();
    let here = "href=\"/questions/q00000000000000000100\" aria-current=\"page\"";
    assert!(
        list.contains(here)
            && list.contains("q00000000000000000099")
            && list.contains("q00000000000000000101"),
        "{list}"
    );
    assert!(list.contains("All 130 questions"), "{list}");
}

#[test]
fn j_and_k_walk_through_the_list_next_to_a_question() {
    let Some(mut browser) = Browser::start() else { return };
    let console = console();
    let path = |browser: &mut Browser| browser.evaluate("location.pathname.slice(-1)");
    browser.set_window(1440, 900, false);
    browser.open(&console.url("/questions/q00000000000000000002"));
    let seen = browser.evaluate("document.getElementById('queue-list').checkVisibility()");
    assert_eq!(seen, json!(true), "a wide screen has two panes");
    for (key, question) in [("j", "3"), ("j", "4"), ("k", "3"), ("k", "2"), ("k", "1")] {
        browser.type_text(key);
        browser.wait_until_loaded();
        assert_eq!(path(&mut browser), json!(question), "after {key}");
    }
    // Keys that come right after the page do nothing but show the pause.
    assert_eq!(
        browser.evaluate("document.getElementById('confirm').getAttribute('aria-disabled')"),
        json!("true")
    );
    browser.type_text("1");
    assert_eq!(browser.evaluate("document.querySelectorAll('input:checked').length"), json!(0));
    // After an answer the next question is one key away.
    browser.wait_until("!document.getElementById('confirm').hasAttribute('aria-disabled')");
    browser.evaluate("document.querySelector('[name=made]').value = '0'");
    browser.type_text("1");
    browser.press(Key::Enter);
    browser.wait_until("document.querySelector('.strip a.button')?.textContent.startsWith('Next question')");
    browser.type_text("j");
    browser.wait_until_loaded();
    assert_eq!(path(&mut browser), json!("2"));
    browser.set_window(390, 900, false);
    let seen = browser.evaluate("document.getElementById('queue-list').checkVisibility()");
    assert_eq!(seen, json!(false), "a phone has one");
    browser.assert_no_page_errors();
}

#[test]
fn deadlines_have_a_day_and_a_time_of_this_place() {
    let Some(mut browser) = Browser::start() else { return };
    let console = console();
    browser.open(&console.url("/questions"));
    let due = browser.evaluate("document.querySelector('time[data-local]').textContent");
    let due = due.as_str().unwrap();
    assert!(due.starts_with("tomorrow, "), "{due}");
    // Of a close one, the time that is left.
    console.sql("UPDATE questions SET deadline = asked_at + 30 * 60000 WHERE seq = 1");
    browser.open(&console.url("/questions"));
    let due = browser.evaluate("document.querySelector('time[data-local]').textContent");
    assert!(due.as_str().unwrap().ends_with(" min"), "{due}");
    // An old one has its day in place of a number of hours.
    console.sql("UPDATE questions SET asked_at = asked_at - 3 * 86400000 WHERE seq = 1");
    browser.open(&console.url("/questions"));
    let asked = browser.evaluate("document.querySelector('.when > time').textContent");
    assert!(asked.as_str().unwrap().contains(", "), "{asked}");
}

#[test]
fn a_hidden_tab_notifies_on_request_and_shows_nothing_of_a_question() {
    let Some(mut browser) = Browser::start() else { return };
    let console = console();
    browser.open(&console.url("/"));
    browser.evaluate(
        "window.shown = []; window.Notification = class extends EventTarget {
             static permission = 'default';
             static async requestPermission() { return (Notification.permission = 'granted'); }
             constructor(title, options) { super(); shown.push([title, options.body]); }
         }; 0",
    );
    let pressed = "document.getElementById('bell').getAttribute('aria-pressed')";
    let hide = |browser: &mut Browser| {
        browser.evaluate(
            "Object.defineProperty(document, 'hidden', { get: () => true, configurable: true });
             document.dispatchEvent(new Event('visibilitychange'))",
        );
    };
    browser.evaluate("document.getElementById('bell').click()");
    browser.wait_until(&format!("{pressed} === 'true'"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    hide(&mut browser);
    let before = browser.evaluate("shown.length");
    assert_eq!(before, json!(0));
    let asked = json!({"jsonrpc": "2.0", "id": "a", "method": "triggerPopup",
        "params": {"title": "A secret title", "message": "Now?", "options": []}});
    console.send_request("POST", "/mcp/popup", &[("content-type", "application/json")], &asked.to_string());
    browser.wait_until("document.getElementById('badge').textContent.trim().startsWith('6')");
    assert_eq!(browser.evaluate("shown"), json!([["A question needs your answer", "6 pending"]]));
    browser.evaluate("document.getElementById('bell').click()");
    browser.wait_until(&format!("{pressed} === 'false'"));
    assert_eq!(browser.evaluate("localStorage.getItem('notify')"), Value::from("no"));
    browser.assert_no_page_errors();
}
