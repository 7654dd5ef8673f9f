//! Pages of delegated tasks, and the cancel on them.

use serde_json::json;

use super::agent_fixtures::{DelegatingClient, open_gate};
use super::console_client::Console;
use super::{assert_strict, browser};
use crate::support::chromium::{Browser, Key};
use crate::support::{DEADLINE, Peer};

/// The token in the forms of a page.
pub(super) fn token(page: &str) -> &str {
    page.split("name=\"csrf\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a form with a token")
}

#[test]
fn a_task_page_shows_the_agents_message_and_the_run_report() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    let checks = json!({"isolation": "worktree", "checks": ["test -f tides.txt", "sh -c false"]});
    let id = delegating_client.delegate(&console, "Why is the tide table out of order?", checks);
    delegating_client.wait(&id);
    let page = console.get(&format!("/tasks/{id}"));
    assert_strict("a task", &page);
    for text in [
        "Why is the tide table out of order?",
        "The table was sorted by height",
        "<span class=\"state refuted\">1 of 2 checks failed</span>",
        "exit 101",
        "cargo test tide",
        "tides.txt",
        "><i>+</i><b>high water, then </b>low water\n</span>",
        "><i>-</i>low water\n</span>",
        "18,250 tokens read",
        "<dt>Processes left</dt><dd>0</dd>",
        "codex",
        "0.169.0",
        "claude-code",
    ] {
        assert!(page.body.replace("&#x2f;", "/").contains(text), "{text} is not in the page:\n{}", page.body);
    }
    let order = ["<h2 id=\"checks\"", "<code>sh -c false", "<code>test -f", "<h2 id=\"answer\""];
    let order = order.map(|part| page.body.find(part));
    assert!(order[0].is_some() && order.is_sorted(), "a failed check comes first: {order:?}");
    assert!(!page.body.contains("id=\"cancel\""), "there is nothing to cancel");
    assert!(page.body.contains("<li><code>tide.rs</code> sorts it by time</li>"), "the message is Markdown");
    assert!(page.body.contains("<title>Why is the tide table out of order? "), "the title is the task");
}

#[test]
fn every_list_shows_what_the_checks_say() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    for (task, check) in [("Count the tides: quick", "sh -c false"), ("Name the tides: quick", "test -d .")] {
        let id = delegating_client.delegate(&console, task, json!({"checks": [check]}));
        delegating_client.wait(&id);
    }
    for (path, texts) in [
        (
            "/tasks",
            &[
                "<span class=\"state refuted\">1 check failed</span>",
                "<span class=\"state verified\">1 check passed</span>",
            ][..],
        ),
        ("/tasks?state=failed", &["1 check failed", ">1 task"]),
        ("/tasks?state=succeeded", &["1 check passed", ">1 task"]),
        ("/timeline", &["<li class=\"refuted\"", "finished, and checks failed", "<li class=\"succeeded\""]),
        ("/", &["<li class=\"refuted\"", "<li class=\"succeeded\""]),
        ("/find?q=count", &["reviewer, checks failed"]),
        ("/find?q=name", &["reviewer, checks passed"]),
    ] {
        let page = console.get(path).body;
        for text in texts {
            assert!(page.contains(text), "{path} lacks {text}:\n{page}");
        }
    }
}

#[test]
fn a_task_is_delegated_and_run_again_from_the_page() {
    let console = Console::new();
    let page = console.get("/tasks").body;
    let work = console.home.path().canonicalize().unwrap().join("work").display().to_string();
    let form = |agent: &str| {
        format!("csrf={}&agent={agent}&workdir={work}&task=Look+at+the+tides:+quick", token(&page))
    };
    assert_eq!(console.post("/tasks", "agent=reviewer&task=x").status, 403, "without the token of the form");
    let refused = console.post("/tasks", &form("nobody"));
    assert_eq!(refused.status, 200);
    assert!(
        refused.body.contains("unknown agent") && refused.body.contains("Look at the tides: quick"),
        "{}",
        refused.body
    );
    let started = console.post("/tasks", &form("reviewer"));
    let path = started.header("location").to_owned();
    assert!(started.status == 303 && path.starts_with("/tasks/"), "{path}");
    super::question_fixtures::wait_for_text(&console, &path, "id=\"again\"");
    let again = console.post(&format!("{path}/again"), &format!("csrf={}", token(&page)));
    assert_eq!(again.status, 303);
    assert_ne!(again.header("location"), path);
    super::question_fixtures::wait_for_text(&console, again.header("location"), "Look at the tides: quick");
}

/// The file of an agent that runs with the same fake runner as the reviewer.
const SECOND: &str =
    "description: Reads quickly.\nrunner: codex\npermission: workspace-write\npersona: You read.\n";

#[test]
fn several_agents_race_on_one_task_without_script() {
    let mut console = Console::new();
    console.home.write(".adjutant/agents/reader.yaml", SECOND);
    let page = super::question_fixtures::wait_for_text(&console, "/tasks", "value=\"reader\"");
    let work = console.home.path().canonicalize().unwrap().join("work").display().to_string();
    let form =
        |agents: &str| format!("csrf={}&{agents}&workdir={work}&task=Sort+the+tides+by+time", token(&page));
    let none = console.post("/tasks", &form("x=y"));
    assert!(none.body.contains("Choose one agent, or up to 6 for a race."), "{}", none.body);
    let started = console.post("/tasks", &form("agent=reviewer&agent=reader"));
    let path = started.header("location").to_owned();
    assert!(started.status == 303 && path.starts_with("/tasks/race?task="), "{path}");
    let race = super::question_fixtures::wait_for_text(&console, &path, "Race of 2");
    assert_strict(&path, &console.get(&path));
    for text in [">reviewer</a>", ">reader</a>", "Sort the tides by time"] {
        assert!(race.contains(text), "{text}: {race}");
    }
    let end = std::time::Instant::now() + DEADLINE;
    let ended = loop {
        let page = console.get(&path).body;
        if page.matches("2 files").count() == 2 {
            break page;
        }
        assert!(std::time::Instant::now() < end, "both agents have an end: {page}");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    };
    assert_eq!(ended.matches("Result and diff").count(), 2, "{ended}");
    let untouched = std::fs::read_to_string(console.home.path().join("work/tides.txt")).unwrap();
    assert_eq!(untouched, "low water\nevery 12 h\n", "each worked in a worktree of its own");
    assert_eq!(console.get("/tasks/race?task=nothing").status, 404);
    assert_eq!(console.get("/tasks/race").status, 400);
    // Each racer leads to the race, also after a restart of the hub.
    console.restart();
    for id in path.split("task=").skip(1) {
        let page = console.get(&format!("/tasks/{}", id.trim_end_matches('&'))).body.replace("&#x2f;", "/");
        assert!(
            page.contains(&format!("<a href=\"{}\">Race of 2</a>", path.replace('&', "&amp;"))),
            "{page}"
        );
    }
}

#[test]
fn a_task_is_delegated_by_keyboard_and_changed_for_another_run() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let work = console.home.path().canonicalize().unwrap().join("work").display().to_string();
    browser.open(&console.url("/agents/reviewer"));
    super::browser::tab_to(&mut browser, "#delegate-to");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(
        browser.evaluate(
            "[...document.querySelectorAll('[name=agent]:checked')].map((one) => one.value).join()"
        ),
        json!("reviewer")
    );
    super::browser::tab_to(&mut browser, "#task");
    browser.type_text("Count the tides: quick");
    super::browser::tab_to(&mut browser, "#workdir");
    browser.type_text(&work);
    super::browser::tab_to(&mut browser, "#delegate");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    browser.wait_until("document.getElementById('edit-again')");
    super::browser::tab_to(&mut browser, "#edit-again");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("document.getElementById('task').value"), json!("Count the tides: quick"));
    assert_eq!(browser.evaluate("document.getElementById('workdir').value"), json!(work));
    browser.assert_no_page_errors();
}

#[test]
fn markup_in_an_agents_message_is_escaped() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    let id = delegating_client.delegate(&console, "<script>alert(2)</script>\u{202e} be hostile", json!({}));
    delegating_client.wait(&id);
    for path in
        [format!("/tasks/{id}"), "/tasks".to_owned(), "/tasks?q=%3Cscript%3E".to_owned(), "/".to_owned()]
    {
        let page = console.get(&path);
        assert_strict(&path, &page);
        assert!(!page.body.contains("<script>"), "{path}");
        assert!(!page.body.contains("<img"), "{path}");
        assert!(!page.body.contains(['\u{202e}', '\u{1b}']), "{path}");
    }
    let page = console.get(&format!("/tasks/{id}")).body;
    assert!(page.contains("202e\">U+202E") && page.contains("&lt;script&gt;alert(1)"), "{page}");
}

#[test]
fn project_agents_are_listed_while_a_client_works_in_the_project() {
    let console = Console::new();
    let file = console.home.write(
        "project/.claude/agents/local.md",
        "---\nname: local\ndescription: Knows <this> project.\ntools: Read\n---\nYou know it.\n",
    );
    let project = file.ancestors().nth(3).unwrap().to_owned();
    assert_eq!(console.get("/agents/local").status, 404);
    let mut peer = Peer::start(console.home.adjutant(["connect"]).current_dir(&project));
    peer.initialize("2025-06-18");
    let listed = console.get("/agents").body;
    assert!(listed.contains("Knows &lt;this&gt; project.") && listed.contains("not trusted yet"), "{listed}");
    let address =
        listed.split("href=\"/agents/local").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let page = console.get(&format!("/agents/local{address}"));
    assert_strict("an agent of a project", &page);
    for text in [
        "adjutant agents trust local",
        "<span class=\"state queued\">mapped</span> <code>tools</code>",
        "A201",
    ] {
        assert!(page.body.contains(text), "{text} is not in the page:\n{}", page.body);
    }
    assert_eq!(console.get("/agents/local?in=/etc").status, 404, "only a folder that a client works in");
}

#[test]
fn tasks_are_filtered_by_state_and_words_and_paged() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    let bad = delegating_client.delegate(&console, "this one is to fail", json!({}));
    let ids: Vec<String> = (0..51)
        .map(|number| delegating_client.delegate(&console, &format!("number {number} quick"), json!({})))
        .collect();
    for id in &ids {
        delegating_client.wait(id);
    }
    delegating_client.wait(&bad);
    let shown = |path: &str| {
        let page = console.get(path);
        assert_eq!(page.status, 200, "{path}");
        let rows = page.body.split("class=\"name\" href=\"/tasks/").skip(1);
        let ids: Vec<String> = rows.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
        let next = page
            .body
            .split("rel=\"next\" href=\"")
            .nth(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned());
        (ids, next.map(|next| next.replace("&amp;", "&").replace("&#x2f;", "/")))
    };
    let (first, next) = shown("/tasks");
    let (second, last) = shown(&next.expect("a second page"));
    assert_eq!((first.len(), second.len(), last), (50, 2, None));
    assert_eq!(first[0], ids[50], "the newest is first");
    assert_eq!(second[1], bad);
    assert_eq!(shown("/tasks?state=failed").0, [bad.as_str()]);
    assert_eq!(shown("/tasks?q=number+7+quick").0, [ids[7].as_str()]);
    assert_eq!(shown("/tasks?q=number&state=failed").0, [""; 0]);
    assert_eq!(console.get("/tasks?state=sleeping").status, 400);
    assert_eq!(console.get("/tasks?before=x").status, 400);
}

#[test]
fn a_cancel_needs_the_form_token() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    let id = delegating_client.delegate(&console, "hang", json!({}));
    let (page, act) = (format!("/tasks/{id}"), format!("/tasks/{id}/cancel"));
    for form in ["", "csrf=", "csrf=0", "csrf=%00", "x=y"] {
        assert_eq!(console.post(&act, form).status, 403, "{form}");
    }
    assert_eq!(console.get(&act).status, 405, "no address does anything by being looked at");
    let shown = console.get(&page).body;
    assert!(shown.contains("Cancel task"), "{shown}");
    let elsewhere = [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://evil.test")];
    let form = format!("csrf={}", token(&shown));
    assert_eq!(console.send_request("POST", &act, &elsewhere, &form).status, 403);
    assert_eq!(console.post("/tasks/00000000000000000000/cancel", &form).status, 404);
    let done = console.post(&act, &form);
    assert_eq!((done.status, done.header("location")), (303, page.as_str()));
    assert_eq!(delegating_client.wait(&id)["status"], json!("cancelled"));
}

#[test]
fn a_task_is_cancelled_by_keyboard_without_script() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::with_login();
    let mut delegating_client = DelegatingClient::new(&console);
    let id = delegating_client.delegate(&console, "look at the tides, then hang", json!({}));
    browser.enable_scripts(false);
    browser.open(&console.link);
    browser::tab_to(&mut browser, "#list-tasks a.name");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("location.pathname"), json!(format!("/tasks/{id}")));
    browser::tab_to(&mut browser, "#cancel");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    delegating_client.wait(&id);
    browser.open(&console.url(&format!("/tasks/{id}")));
    let standing = browser.evaluate("document.getElementById('standing').innerText");
    assert!(standing.as_str().unwrap().starts_with("cancelled"), "{standing}");
    assert_eq!(browser.evaluate("document.getElementById('cancel')"), json!(null));
    browser.assert_no_page_errors();
}

#[test]
fn the_output_of_a_run_appears_without_a_reload() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    browser.open(&console.url("/"));
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    let id = delegating_client.delegate(&console, "look at the tides, and wait", json!({}));
    browser.wait_until("document.querySelector('#list-tasks .state')?.textContent === 'running'");
    browser.open(&console.url(&format!("/tasks/{id}")));
    browser.wait_until("document.getElementById('log').innerText.includes('rg -n tide src')");
    browser.wait_until("document.getElementById('pulse').textContent === 'Live'");
    // The time since the start goes on, and the last event is with it, both without a change of the layout.
    let top = "document.getElementById('log').getBoundingClientRect().top";
    let before = browser.evaluate(top);
    let seconds = "parseInt(document.querySelector('#now .elapsed').textContent)";
    browser.wait_until(&format!("{seconds} >= 2"));
    browser.wait_until("document.getElementById('last-event').textContent.includes('rg -n tide src')");
    assert_eq!(browser.evaluate(top), before, "nothing moved");
    let page = console.get(&format!("/tasks/{id}")).body;
    let now = page.split("id=\"now\"").nth(1).unwrap();
    assert!(now.contains(" data-since>") && now.contains("rg -n tide src"), "without script: {now}");
    // A page that was read before the last line comes after it.
    browser.evaluate(
        "{ const current = fetch; window.fetch = async (...request) => {
            const page = await (await current(...request)).text();
            return new Response(page.replace(/(id=.last-event.>).*?(<.div>)/s, '$1<p>No event yet.</p>$2')); };
            document.querySelector('.now').dataset.replaced = 'no'; }",
    );
    delegating_client.delegate(&console, "look at the tides, and wait", json!({}));
    browser.wait_until("!document.querySelector('.now').dataset.replaced");
    let last = browser.evaluate("document.getElementById('last-event').textContent");
    assert!(last.as_str().unwrap().contains("rg -n tide src"), "{last}");
    open_gate(&console);
    browser.wait_until("document.getElementById('log').innerText.includes('cargo test tide')");
    browser.wait_until("document.getElementById('standing').innerText.includes('not checked')");
    browser.wait_until("!document.querySelector('.now')");
    browser.wait_until("document.getElementById('message')?.textContent.includes('sorted by height')");
    let lines =
        browser.evaluate("[...document.querySelectorAll('#log li')].map((line) => Number(line.dataset.seq))");
    let lines: Vec<u64> = lines.as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).collect();
    assert_eq!(lines, (1..=lines.len() as u64).collect::<Vec<_>>(), "every line once, in order");
    browser.assert_no_page_errors();
}
