//! The console in real Chromium: by keyboard, without script, live, and checked by axe-core.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agent_fixtures::DelegatingClient;
use super::console_client::Console;
use super::question_fixtures::{ask, choice, field};
use crate::support::chromium::{Browser, Key};

const WIDE: u32 = 1400;
const PHONE: u32 = 390;

/// Presses Tab until an element is focused, as a user without a mouse does.
pub(super) fn tab_to(browser: &mut Browser, selector: &str) {
    for _ in 0..60 {
        browser.press(Key::Tab);
        if browser.evaluate(&format!("document.activeElement.matches({selector:?})")) == json!(true) {
            return;
        }
    }
    panic!("Tab does not reach {selector}");
}

#[test]
fn search_works_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/prompts"));
    browser.press(Key::Slash);
    assert_eq!(browser.evaluate("document.activeElement.id + document.activeElement.value"), json!("q"));
    browser.type_text("pull");
    browser.wait_until("document.querySelectorAll('#results .prompts li').length === 1");
    assert_eq!(browser.evaluate("location.search"), json!("?q=pull"), "the address can be shared");
    browser.press(Key::Down);
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("location.pathname"), json!("/prompts/review/pull-request"));
    browser.assert_no_page_errors();
}

#[test]
fn the_palette_opens_any_page_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/agents"));
    let active = "document.activeElement.id || document.activeElement.getAttribute('href')";
    browser.press(Key::Palette);
    browser
        .wait_until("document.getElementById('palette').open && document.querySelector('#palette-found a')");
    assert_eq!(browser.evaluate(active), json!("palette-q"));
    browser.press(Key::Escape);
    assert_eq!(browser.evaluate("document.getElementById('palette').open"), json!(false));
    browser.press(Key::Palette);
    browser.type_text("pull");
    browser.wait_until("document.querySelectorAll('#palette-found a[href^=\"/prompts/\"]').length === 1");
    // The first hit is chosen already, so a key goes to the second one. What is typed there goes on in the field.
    browser.press(Key::Down);
    assert_eq!(
        browser.evaluate(
            "[...document.querySelectorAll('#palette-found :is(a, button)')].indexOf(document.activeElement)"
        ),
        json!(1)
    );
    browser.type_text("-");
    assert_eq!(browser.evaluate("document.activeElement.value"), json!("pull-"));
    browser.wait_until("document.querySelectorAll('#palette-found a[href^=\"/prompts/\"]').length === 1");
    browser.press(Key::Down);
    browser.press(Key::Up);
    assert_eq!(browser.evaluate(active), json!("palette-q"));
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("location.pathname"), json!("/prompts/review/pull-request"));
    // Enter in the field opens the first hit, also before the hits are shown.
    browser.press(Key::Palette);
    browser.type_text("activity");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("location.pathname"), json!("/timeline"));
    browser.assert_no_page_errors();
}

#[test]
fn every_link_and_button_is_reachable_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    questions(&console);
    for path in [
        "/",
        "/timeline",
        "/questions",
        "/history",
        "/calendar",
        "/tasks",
        "/codex",
        "/agents",
        "/prompts",
        "/settings",
        "/settings/access",
        "/questions/q00000000000000000001",
        // Its date field has a part that takes the focus from the field.
        "/questions/q00000000000000000002",
        "/find",
        "/keys",
    ] {
        browser.open(&console.url(path));
        // Every control, but for those that Tab leaves to the arrow keys.
        let wanted = browser.evaluate(
            "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
                .filter((one) => one.checkVisibility() && !one.disabled && !one.closest('dialog'))
                .filter((one) => one.type !== 'radio').length",
        );
        let wanted = wanted.as_u64().unwrap();
        let (mut reached, mut focused) = (0, Vec::new());
        for _ in 0..wanted + 40 {
            browser.press(Key::Tab);
            let at = browser.evaluate(
                "(() => { const one = document.activeElement;
                    if (one === document.body) return null;
                    const box = one.getBoundingClientRect();
                    window.tabbed ??= []; if (!window.tabbed.includes(one)) window.tabbed.push(one);
                    const within = one.matches(':focus-within') && getComputedStyle(one).outlineStyle !== 'none';
                    return [window.tabbed.indexOf(one), one.matches(':focus-visible') || within, box.width > 0,
                        one.matches('a[href], button, input, select, textarea, summary')]; })()",
            );
            if at.is_null() {
                break;
            }
            assert_eq!(at[1], json!(true), "{path}: the focus is not seen");
            if !focused.contains(&at[0]) {
                focused.push(at[0].clone());
                reached += u64::from(at[3] == json!(true));
            }
        }
        assert!(reached >= wanted, "{path}: Tab reaches {reached} of {wanted}");
    }
    browser.assert_no_page_errors();
}

#[test]
fn the_preview_follows_the_form() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/prompts/review/pull-request"));
    browser.wait_until("document.getElementById('preview-tally').textContent.includes('Waits')");
    tab_to(&mut browser, "#field-0");
    browser.type_text("<b>tides</b>");
    browser.wait_until(
        "document.getElementById('expansion')?.textContent.includes('about <b>tides</b> at depth 2')",
    );
    assert_eq!(browser.evaluate("document.activeElement.id"), json!("field-0"), "the focus stays");
    tab_to(&mut browser, "#field-1");
    browser.type_text("9.5");
    browser.wait_until("document.getElementById('field-1-error').textContent.includes('must be an integer')");
    assert_eq!(
        browser.evaluate("document.getElementById('field-1').getAttribute('aria-invalid')"),
        json!("true")
    );
    browser.evaluate("document.getElementById('field-1').value = ''");
    tab_to(&mut browser, "#field-3");
    browser.press(Key::Space);
    browser.wait_until("document.getElementById('expansion')?.textContent.includes('Ask for tests: false')");
    assert_eq!(
        browser.evaluate("document.getElementById('field-1').hasAttribute('aria-invalid')"),
        json!(false)
    );
    assert_eq!(browser.evaluate("document.querySelector('[data-copy=expansion]').hidden"), json!(false));
    browser.assert_no_page_errors();
}

#[test]
fn the_prompt_pages_work_without_script() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.enable_scripts(false);
    browser.open(&console.url("/prompts"));
    tab_to(&mut browser, "#q");
    browser.type_text("pull");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("document.querySelectorAll('#results .prompts li').length"), json!(1));
    tab_to(&mut browser, "a.name");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    tab_to(&mut browser, "#field-0");
    browser.type_text("tides");
    tab_to(&mut browser, "button.primary");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    let text = browser.evaluate("document.getElementById('expansion').textContent");
    assert!(text.as_str().unwrap().contains("about tides at depth 2"), "{text}");
    assert_eq!(browser.evaluate("document.querySelectorAll('[data-copy]:not([hidden])').length"), json!(0));
    browser.open(&console.url("/"));
    assert_eq!(browser.evaluate("document.getElementById('pulse').hidden"), json!(true));
    browser.assert_no_page_errors();
}

#[test]
fn a_logged_in_browser_can_send_a_form() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::with_login();
    browser.enable_scripts(false);
    browser.open(&console.link);
    assert_eq!(browser.evaluate("location.pathname"), json!("/"));
    browser.open(&console.url("/prompts/research"));
    tab_to(&mut browser, "#input");
    browser.type_text("tides");
    tab_to(&mut browser, "button.primary");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    let text = browser.evaluate("document.getElementById('expansion').textContent");
    assert!(text.as_str().unwrap().ends_with("Topic:\ntides"), "{text}");
    browser.assert_no_page_errors();
}

#[test]
fn a_new_client_appears_without_a_reload() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/timeline"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    browser.wait_until("document.getElementById('lead').textContent.includes('No clients are connected')");
    let mut agent = console.connect_agent();
    agent.initialize("2025-06-18");
    browser.wait_until("document.querySelector('#list-clients tbody th')?.textContent.startsWith('test')");
    let call = json!({"name": "expand_prompt", "arguments": {"command": "research", "input": "tides"}});
    agent.call(1, "tools/call", call);
    browser.wait_until("document.querySelector('#results a.name')?.textContent === ':research'");
    agent.finish();
    browser.wait_until("document.getElementById('lead').textContent.includes('No clients are connected')");
    let lately =
        "[...document.querySelectorAll('.timeline li:not(.day)')].map((line) => line.className).join()";
    browser.wait_until(&format!("{lately} === 'left,expanded,connected'"));
    console.home.write(".adjutant/prompts/fresh.md", "Fresh.");
    browser.wait_until(&format!("{lately} === 'changed,left,expanded,connected'"));
    browser.assert_no_page_errors();
}

#[test]
fn a_page_update_overtaken_by_a_newer_one_loses_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/timeline"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    browser.evaluate(
        "hold = false; const usual = window.fetch; window.fetch = (where, options) => {
         if (!hold) return usual(where, options);
         document.body.dataset.held = 'yes';
         return new Promise((_, fail) => options.signal.addEventListener('abort', () => fail(options.signal.reason))); }; 0",
    );
    console.home.write(".adjutant/prompts/first.md", "First.");
    browser.wait_until("document.querySelector('.timeline li:not(.day)')?.className === 'changed'");
    // A refresh of the clients is slow, and another section changes meanwhile.
    browser.evaluate("hold = true; 0");
    let mut agent = console.connect_agent();
    agent.initialize("2025-06-18");
    browser.wait_until("document.body.dataset.held");
    browser.evaluate("hold = false; 0");
    console.home.write(".adjutant/prompts/second.md", "Second.");
    browser.wait_until("document.querySelector('#list-clients tbody th')?.textContent.startsWith('test')");
    browser.assert_no_page_errors();
    agent.finish();
}

#[test]
fn a_page_whose_hub_has_stopped_names_the_next_step() {
    let Some(mut browser) = Browser::start() else { return };
    let mut console = Console::new();
    browser.open(&console.url("/"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    console.kill_hub();
    let shown =
        "document.getElementById('pulse').textContent === 'No hub answers. To start it: adjutant open'";
    browser.wait_until(shown);
}

#[test]
fn a_changed_file_appears_without_a_reload() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/prompts"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    console.home.write(".adjutant/prompts/fresh.md", "---\ndescription: Just written.\n---\nFresh.");
    browser.wait_until("document.getElementById('results').textContent.includes('Just written.')");
    browser.assert_no_page_errors();
}

#[test]
fn a_live_change_keeps_focus_selection_and_scroll() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    questions(&console);
    browser.set_window(PHONE, 500, false);
    browser.open(&console.url("/"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    // A line with the branch may be one line more.
    browser.wait_until("document.querySelectorAll('.ask .branch').length === 3");
    browser.evaluate(
        "document.getElementById('q00000000000000000001-1').focus(); scrollTo(0, 300);
         getSelection().selectAllChildren(document.querySelector('.ask .prose')); 0",
    );
    let state = "[document.activeElement.id, Math.round(scrollY), getSelection().toString()].join()";
    let before = browser.evaluate(state);
    // The selected text stays until the selection ends, and with it its list; the activity below changes at once.
    console.home.write(".adjutant/prompts/fresh.md", "Fresh.");
    browser.wait_until("document.querySelector('.timeline li:not(.day)')?.className === 'changed'");
    assert_eq!(browser.evaluate(state), before);
    browser.evaluate("getSelection().removeAllRanges(); 0");
    let item = [field("answer", "", choice(&["Yes", "No"], 1))];
    ask(&console, 4, "Print the table?", "On paper.", &item, "normal");
    let mut agent = console.connect_agent();
    agent.initialize("2025-06-18");
    let arguments = json!({"title": "One more?", "message": "Now?", "options": []});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "triggerPopup", "arguments": arguments}});
    agent.send(&call);
    browser.wait_until("document.getElementById('list-questions').textContent.includes('One more?')");
    let held = "[document.activeElement.id, Math.round(scrollY)].join()";
    assert_eq!(browser.evaluate(held), json!("q00000000000000000001-1,300"));
    browser.assert_no_page_errors();
}

#[test]
fn a_live_change_replaces_no_link_that_is_pressed() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    questions(&console);
    browser.open(&console.url("/questions"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    let before = browser.evaluate("document.title");
    let point = browser.press_mouse("#results a[href^=\"/questions/\"]");
    let mut agent = console.connect_agent();
    agent.initialize("2025-06-18");
    let arguments = json!({"title": "One more?", "message": "Now?", "options": []});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "triggerPopup", "arguments": arguments}});
    agent.send(&call);
    // The title follows the change before the list does.
    browser.wait_until(&format!("document.title !== {before}"));
    browser.release_mouse(&point);
    browser.wait_until_loaded();
    let path = browser.evaluate("location.pathname");
    assert!(path.as_str().unwrap().starts_with("/questions/"), "{path}");
    browser.assert_no_page_errors();
}

#[test]
fn a_changed_prompt_keeps_the_typed_arguments() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/prompts/research"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    tab_to(&mut browser, "#input");
    browser.type_text("tides");
    browser.wait_until("document.getElementById('expansion').textContent.endsWith('tides')");
    console.home.write(
        ".adjutant/prompts/research.md",
        "---\ndescription: Now with a depth.\narguments: [depth]\n---\nAt depth <{{depth}}>: {{input}}!",
    );
    browser.wait_until("document.getElementById('expansion').textContent === 'At depth <>: tides!'");
    browser.wait_until("document.getElementById('source-text').textContent.includes('Now with a depth.')");
    assert_eq!(
        browser.evaluate("document.activeElement.id + document.activeElement.value"),
        json!("inputtides")
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('[name=\"arg.depth\"]').length"), json!(1));
    browser.assert_no_page_errors();
}

#[test]
fn copy_puts_the_exact_text_on_the_clipboard() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.allow_clipboard();
    browser.open(&console.url("/prompts/hidden"));
    tab_to(&mut browser, "[data-copy=expansion]");
    browser.press(Key::Enter);
    browser.wait_until("document.querySelector('[data-copy=expansion]').textContent === 'Copied'");
    let copied = browser.evaluate("navigator.clipboard.readText()");
    assert_eq!(copied, json!("Do this.\u{200b}\u{e0041}\n\n"), "hidden characters are copied as they are");
    browser.assert_no_page_errors();
}

/// Pages in the state of a reader's visit, with a name for screenshots; tasks are those of [`delegate_examples`].
fn pages(tasks: &[String; 3]) -> Vec<(&'static str, String)> {
    let race = format!("/tasks/race?task={}&task={}", tasks[0], tasks[1]);
    let [done, refused, running] = tasks.each_ref().map(|id| format!("/tasks/{id}"));
    [
        ("inbox", "/"),
        ("prompts", "/prompts"),
        ("prompt", "/prompts/review/pull-request"),
        ("hidden", "/prompts/hidden"),
        ("faulty", "/prompts/review/pull-request"),
        ("missing", "/prompts/reserch"),
        ("agents", "/agents"),
        ("agent", "/agents/reviewer"),
        ("tasks", "/tasks"),
        ("task", &done),
        ("task-failed", &refused),
        ("task-running", &running),
        ("questions", "/questions"),
        ("question", "/questions/q00000000000000000001"),
        ("question-form", "/questions/q00000000000000000002"),
        ("question-high", "/questions/q00000000000000000003"),
        ("history", "/history"),
        ("timeline", "/timeline"),
        ("calendar", "/calendar"),
        ("codex", "/codex"),
        ("settings", "/settings"),
        ("access", "/settings/access"),
        ("notifications", "/settings/notifications"),
        ("approvals", "/questions/approvals"),
        ("race", &race),
        ("find", "/find?q=re"),
        ("keys", "/keys"),
        ("palette", "/tasks"),
        ("patterns", "/patterns"),
    ]
    .map(|(name, path)| (name, path.to_owned()))
    .to_vec()
}

/// Asks the questions of the pages above.
fn questions(console: &Console) {
    let message = "The tests pass. I would like to run\n\n```\n./deploy --production\n```\n\nThis changes **one** file:\n\n\
                   --- a/tide.rs\n+++ b/tide.rs\n@@ -1,3 +1,3 @@\n fn tide() -> Table {\n-    Table::by_height()\n\
                   +    Table::by_time()\n }\n\nSee [the build](https://ci.example.org/build/4711).";
    console.home.write("work/tides.txt", "high water, then low water\n");
    let item = [field("answer", "", choice(&["Deploy now", "Deploy tonight", "No"], 1))];
    ask(console, 1, "Deploy the tide table to production?", message, &item, "normal");
    let all = [
        field("a", "Which platforms?", choice(&["Linux", "macOS", "Windows"], 3)),
        field("b", "Version", json!({"kind": "text", "multiline": false, "min": 0, "max": 40})),
        field("c", "How many users?", json!({"kind": "number", "whole": true, "min": 1.0, "max": 500.0})),
        field("d", "When?", json!({"kind": "date", "time": false})),
        field("e", "Announce it?", json!({"kind": "yes_no"})),
    ];
    ask(
        console,
        2,
        "What goes into the release notes?",
        "Everything that people will notice.",
        &all,
        "normal",
    );
    let high = [field("answer", "", choice(&["Delete it", "Keep it"], 1))];
    ask(console, 3, "Delete the production database?", "This cannot be undone.", &high, "high");
}

/// Delegates one task that is done, one that failed and one that is running.
fn delegate_examples(console: &Console) -> (DelegatingClient, [String; 3]) {
    let mut delegating_client = DelegatingClient::new(console);
    let checks = json!({"isolation": "worktree", "checks": ["grep -q high tides.txt", "cargo test tide"]});
    let done = delegating_client.delegate(
        console,
        "The tide table is printed out of order. Find out why, and put it right.",
        checks,
    );
    let failed =
        delegating_client.delegate(console, "Translate the tide table, even if it is to fail", json!({}));
    delegating_client.wait(&done);
    delegating_client.wait(&failed);
    let running = delegating_client.delegate(
        console,
        "Look for other tables that are out of order. There is no hurry: hang",
        json!({}),
    );
    (delegating_client, [done, failed, running])
}

#[test]
fn pages_are_accessible_and_fit_every_width() {
    let Some(mut browser) = Browser::start() else { return };
    let Some(axe) = axe() else { return };
    let console = Console::new();
    let mut agents = [("codex-mcp-client", "0.169.0", "2025-06-18"), ("claude-code", "2.1.4", "2025-11-25")]
        .map(|(name, version, revision)| {
            let client = json!({"name": name, "version": version});
            let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
            let mut agent = console.connect_agent();
            agent.call("init", "initialize", hello);
            agent
        });
    for (number, (agent, command)) in
        [(0, "research"), (1, "pr"), (0, "reserch"), (0, "explain")].into_iter().enumerate()
    {
        let arguments = json!({"command": command, "input": "how bees sleep"});
        agents[agent].call(number, "tools/call", json!({"name": "expand_prompt", "arguments": arguments}));
    }
    let (_asker, tasks) = delegate_examples(&console);
    questions(&console);
    for (name, path) in pages(&tasks) {
        for (look, width, dark) in [
            ("light", WIDE, false),
            ("dark", WIDE, true),
            ("phone", PHONE, false),
            ("phone-dark", PHONE, true),
        ] {
            browser.set_window(width, 900, dark);
            browser.open(&console.url(&path));
            match name {
                "task-running" => browser.wait_until("document.querySelectorAll('#log li').length > 3"),
                "prompt" => fill(&mut browser, "field-0", "how bees sleep", "about how bees sleep"),
                "palette" => {
                    browser.press(Key::Palette);
                    browser.type_text("re");
                    browser.wait_until(
                        "document.getElementById('palette-found').textContent.includes(':research')",
                    );
                }
                "faulty" => fill(&mut browser, "field-1", "2.5", "An agent would be refused"),
                _ => {}
            }
            assert_ne!(
                browser.evaluate("document.querySelector('h1').textContent"),
                json!("Something went wrong here"),
                "{name}"
            );
            let background = browser.evaluate("getComputedStyle(document.body).backgroundColor");
            assert_eq!(background == json!("rgb(18, 21, 20)"), dark, "{name} {look}: {background}");
            // The window of a phone grows with a page that is too wide.
            let scrolled = browser.evaluate(&format!("document.documentElement.scrollWidth > {width}"));
            assert_eq!(scrolled, json!(false), "{name} {look}: the page is wider than the window");
            assert_accessible(&mut browser, &axe, &format!("{name} {look}"));
        }
    }
}

#[test]
fn a_table_of_an_agent_is_a_table_on_a_phone_and_scrolls() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let cells = "| the index is built while orders are written ".repeat(4);
    let table = format!("| plan | locks | time | risk |\n|---|---|---|---|\n{cells}|\n");
    ask(&console, 1, "How?", &table, &[field("answer", "", choice(&["A", "B"], 1))], "normal");
    browser.set_window(PHONE, 900, false);
    browser.open(&console.url("/"));
    let seen = "[document.querySelector('.prose th').getBoundingClientRect().width > 20, document.documentElement.scrollWidth,
        (table => table.scrollWidth > table.clientWidth)(document.querySelector('.prose table'))]";
    assert_eq!(browser.evaluate(seen), json!([true, PHONE, true]));
}

/// Has axe-core look for anything serious on the open page.
pub(crate) fn assert_accessible(browser: &mut Browser, axe: &str, what: &str) {
    browser.evaluate(axe);
    let found = browser.evaluate(
        "axe.run().then(({ violations }) => violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]))",
    );
    assert_eq!(found, json!([]), "{what}: {found:#}");
}

/// Puts a text into a field and waits until the preview contains `wanted`.
fn fill(browser: &mut Browser, field: &str, text: &str, wanted: &str) {
    browser.evaluate(&format!("document.getElementById({field:?}).focus()"));
    browser.evaluate(&format!("document.getElementById({field:?}).select()"));
    browser.type_text(text);
    browser.wait_until(&format!("document.getElementById('preview-body').textContent.includes({wanted:?})"));
    browser.evaluate("document.activeElement.blur()");
}

#[test]
fn pages_have_ordered_headings_and_landmarks() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let (_asker, tasks) = delegate_examples(&console);
    questions(&console);
    for (name, path) in pages(&tasks) {
        browser.open(&console.url(&path));
        let levels =
            browser.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))");
        let levels: Vec<u64> = levels.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert_eq!(levels[0], 1, "{name}: {levels:?}");
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{name}: {levels:?}");
        for landmark in ["header", "main", "footer", "nav[aria-label=Sections]"] {
            let count = browser.evaluate(&format!("document.querySelectorAll({landmark:?}).length"));
            assert_eq!(count, json!(1), "{name}: {landmark}");
        }
        browser.press(Key::Tab);
        assert_eq!(browser.evaluate("document.activeElement.className"), json!("skip"), "{name}");
        browser.press(Key::Enter);
        assert_eq!(browser.evaluate("document.activeElement.id"), json!("main"), "{name}");
    }
    browser.evaluate("1");
}

/// The text of axe-core from the cache of test tools; `None` when `ADJUTANT_TEST_WITHOUT` names npm.
pub(crate) fn axe() -> Option<String> {
    if std::env::var("ADJUTANT_TEST_WITHOUT").is_ok_and(|names| names.split(',').any(|name| name == "npm")) {
        return None;
    }
    let cache = std::env::var_os("ADJUTANT_TEST_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache"), PathBuf::from);
    let file = cache.join("npm/node_modules/axe-core/axe.min.js");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `./scripts/test accessible` installs it with the other test tools",
            file.display()
        )
    });
    // The value of the file's last expression must not be sent back.
    Some(text + "\n;0")
}

/// The folder for screenshots when they are wanted: `ADJUTANT_SCREENSHOTS=docs/screenshots`.
pub(crate) fn pictures() -> Option<PathBuf> {
    let folder = std::env::var_os("ADJUTANT_SCREENSHOTS")?;
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}
