//! Keys of the console that are letters and digits, in a real browser.

use serde_json::json;

use super::console_client::Console;
use super::question_fixtures::{ask, choice, field};
use crate::support::chromium::{Browser, Key};

const PATH: &str = "location.pathname";

#[test]
fn keys_open_sections_and_forms_and_are_listed() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/"));
    browser.type_text("gt");
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate(PATH), json!("/tasks"));
    browser.type_text("c");
    assert_eq!(browser.evaluate("document.activeElement.id"), json!("task"), "C opens the form");
    // In a field the same letters are text.
    browser.type_text("gs?");
    assert_eq!(browser.evaluate("document.activeElement.value"), json!("gs?"));
    browser.evaluate("document.activeElement.blur()");
    browser.type_text("?");
    browser.wait_until("document.querySelector('#palette-found .key-list')");
    assert_eq!(browser.evaluate("document.getElementById('palette').open"), json!(true));
    browser.press(Key::Escape);
    browser.wait_until("!document.getElementById('palette').open");
    // The next key is meant for the page, even in the frame in which the palette closes.
    browser.press(Key::Palette);
    let closed = "palette.click(), [palette.open, document.activeElement.localName].join()";
    assert_eq!(browser.evaluate(closed), json!("false,body"));
    browser.type_text("gs");
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate(PATH), json!("/codex"));
    browser.assert_no_page_errors();
}

#[test]
fn keys_move_to_an_answer_in_the_inbox_and_give_none() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    for number in 1..=2 {
        let item = [field("answer", "", choice(&["Now", "Tonight (recommended)", "No"], 1))];
        ask(&console, number, &format!("Deploy part {number}?"), "It is ready.", &item, "normal");
    }
    browser.open(&console.url("/"));
    browser.type_text("jj");
    let focused = "document.activeElement.closest('.ask').innerText.split('\\n')[0] + ': ' + document.activeElement.firstChild.data.trim()";
    assert_eq!(browser.evaluate(focused), json!("Deploy part 2?: Deploy part 2?"));
    browser.type_text("3");
    assert_eq!(browser.evaluate(focused), json!("Deploy part 2?: No"));
    browser.type_text("r");
    assert_eq!(browser.evaluate(focused), json!("Deploy part 2?: Tonight"));
    browser.type_text("k1");
    assert_eq!(browser.evaluate(focused), json!("Deploy part 1?: Now"));
    assert_eq!(browser.evaluate("document.querySelectorAll('.ask').length"), json!(2), "nothing was sent");
    browser.assert_no_page_errors();
}

#[test]
fn a_digit_leads_into_words_of_ones_own_and_no_letter_of_them_is_a_key() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let mut input = choice(&["Now", "Tonight (recommended)"], 1);
    input["other"] = json!(true);
    let path = ask(&console, 1, "Deploy it?", "It is ready.", &[field("answer", "", input)], "normal");
    browser.open(&console.url(&path));
    browser.wait_until("!document.getElementById('confirm').hasAttribute('aria-disabled')");
    browser.type_text("3rather on Friday");
    assert_eq!(browser.evaluate("document.activeElement.value"), json!("rather on Friday"));
    // The key of the recommended option answers only where no other one is chosen.
    browser.evaluate("document.activeElement.blur()");
    browser.type_text("r");
    let chosen = "document.querySelector('[data-answer] :checked:is(input)').value";
    assert_eq!(browser.evaluate(chosen), json!("other"));
    assert_eq!(browser.evaluate("document.getElementById('answer-fields').disabled"), json!(false));
    browser.assert_no_page_errors();
}

#[test]
fn every_question_of_the_inbox_is_answered_in_place_after_one_key() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let text = json!({"kind": "text", "multiline": false, "min": 0, "max": 40});
    let form = [field("a", "Version", text), field("b", "Platforms", choice(&["Linux", "macOS"], 2))];
    ask(&console, 1, "Which release?", "It is ready.", &form, "normal");
    let high = [field("answer", "", choice(&["Delete it", "Keep it"], 1))];
    ask(&console, 2, "Delete the database?", "This cannot be undone.", &high, "high");
    browser.open(&console.url("/"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    browser.type_text("j");
    // The card with the focus is marked as a whole, and shows its key.
    let selected = "[...document.querySelectorAll('.ask')].map((one) => getComputedStyle(one).outlineStyle + ' ' + one.querySelector('kbd').checkVisibility())";
    assert_eq!(browser.evaluate(selected), json!(["solid true", "none false"]));
    browser.type_text("1");
    assert_eq!(browser.evaluate("document.activeElement.name"), json!("f0"), "the form is open");
    browser.type_text("2.4.0");
    // Another question comes meanwhile: what was typed stays, and the form stays open.
    let come = |id: &str, title: &str| {
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": "triggerPopup",
            "params": {"title": title, "message": "Now?", "options": []}});
        let kind = [("content-type", "application/json")];
        console.send_request("POST", "/mcp/popup", &kind, &asked.to_string());
    };
    come("a", "Deploy it?");
    browser.wait_until("document.querySelectorAll('.ask').length === 3");
    assert_eq!(
        browser.evaluate("[document.activeElement.value, document.activeElement.selectionStart]"),
        json!(["2.4.0", 5])
    );
    // What opens the form keeps the focus too.
    browser.evaluate("document.querySelector('.ask summary').focus()");
    come("b", "Announce it?");
    browser.wait_until("document.querySelectorAll('.ask').length === 4");
    assert_eq!(browser.evaluate("document.activeElement.localName"), json!("summary"));
    // One of high risk is read on its page first.
    browser.evaluate("document.activeElement.blur()");
    browser.evaluate("document.querySelectorAll('.ask a.name')[1].focus()");
    browser.type_text("1");
    assert_eq!(browser.evaluate("document.activeElement.textContent.trim().split(' ')[0]"), json!("Review"));
    browser.evaluate("document.querySelectorAll('.ask input[value=\"0\"]')[0].click()");
    browser.wait_until("!document.querySelector('[id$=-send]').hasAttribute('aria-disabled')");
    browser.evaluate("document.querySelector('.ask [name=made]').value = '0'");
    browser.click("[id$=-send]");
    browser.wait_until("document.querySelector('.strip q')?.textContent === '2.4.0'");
    assert_eq!(browser.evaluate(PATH), json!("/"), "the Inbox stays open");
    browser.assert_no_page_errors();
}

#[test]
fn letters_and_digits_can_be_switched_off() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/keys"));
    browser.click("#keys-switch");
    let offered = "document.getElementById('keys-switch').textContent";
    assert_eq!(browser.evaluate(offered), json!("Turn letter and digit keys on"));
    browser.type_text("gt?/");
    let state = "[location.pathname, document.getElementById('palette').open].join()";
    assert_eq!(browser.evaluate(state), json!("/keys,false"));
    // A key with Control stays.
    browser.press(Key::Palette);
    browser.wait_until("document.getElementById('palette').open");
    browser.press(Key::Escape);
    browser.open(&console.url("/keys"));
    browser.click("#keys-switch");
    browser.type_text("g,");
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate(PATH), json!("/settings"));
    browser.assert_no_page_errors();
}
