//! Threads in the console: their pages, and an approval answered on either of its two pages.

use super::{RunningCommand, codex, faults, install, output_lines};
use crate::support::Home;
use crate::support::serving::Serving;

/// The approval of these tests, with text that must not become markup.
pub(super) const APPROVAL_REQUEST: &str = r#"line '{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t-1","turnId":"u-1","itemId":"c-1","reason":"<b>May I?</b>","command":"touch made.txt","cwd":"/work"}}'
read -r answer; say "$(printf '%s' "$answer" | tr '"' "'")"; done_
read -r turn2; line '{"id":4,"result":{"turn":{"id":"u-2"}}}'
line '{"method":"turn/started","params":{"threadId":"t-1","turn":{"id":"u-2"}}}'
line '{"method":"item/completed","params":{"threadId":"t-1","item":{"type":"fileChange","id":"p-1","status":"completed","changes":[{"path":"a.txt","kind":{"type":"update"},"diff":"-old\n+new"}]}}}'
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-2","status":"completed"}}}'"#;

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

pub(super) fn send_request(hub: &Serving, method: &str, path: &str, form: &str) -> Answer {
    let origin = hub.url("");
    let headers = format!("Origin: {origin}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
    let text = hub.send_request(method, path, &headers, form);
    Answer { status: text.split(' ').nth(1).unwrap().parse().unwrap(), text }
}

/// The text between two texts of a page.
pub(super) fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let rest = page.split(before).nth(1).unwrap_or_else(|| panic!("no `{before}` in\n{page}"));
    rest.split(after).next().unwrap()
}

fn home() -> (Home, Serving) {
    let home = Home::new();
    install(&home, &faults::app_server(APPROVAL_REQUEST), "auto");
    let hub = Serving::open_hub(&home);
    (home, hub)
}

#[test]
fn an_approval_is_answered_on_the_threads_page() {
    let (home, hub) = home();
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for_approval("touch made.txt");
    let page = send_request(&hub, "GET", "/codex/t-1", "");
    assert_eq!(page.status, 200);
    for shown in ["touch made.txt", ">/work<", "&lt;b&gt;May I?&lt;/b&gt;", ">asking<", "Interrupt"] {
        assert!(page.text.contains(shown), "no `{shown}` in\n{}", page.text);
    }
    let token = between(&page.text, "name=\"csrf\" value=\"", "\"").to_owned();
    let approval = between(&page.text, "name=\"approval\" value=\"", "\"").to_owned();
    let form = format!("csrf={token}&approval={approval}&act=session");
    assert_eq!(send_request(&hub, "POST", "/codex/t-1", &form.replace(&token, "0")).status, 403);
    assert_eq!(send_request(&hub, "POST", "/codex/t-1", &form).status, 303);
    let (text, code) = running.end();
    assert_eq!(
        output_lines(&text).last(),
        Some(&"{'id':0,'result':{'decision':'acceptForSession'}}"),
        "{text}"
    );
    assert_eq!(code, Some(0));
    let repeated = send_request(&hub, "POST", "/codex/t-1", &form);
    assert!(repeated.text.contains("No pending approval"), "{}", repeated.text);

    // A reply from the page, whose turn changes a file.
    assert_eq!(
        send_request(&hub, "POST", "/codex/t-1", &format!("csrf={token}&act=reply&prompt=go+on")).status,
        303
    );
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while !send_request(&hub, "GET", "/codex/t-1", "").text.contains(">+new\n</span>") {
        assert!(std::time::Instant::now() < end, "{}", send_request(&hub, "GET", "/codex/t-1", "").text);
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    let list = send_request(&hub, "GET", "/codex?q=acceptForSession", "");
    assert!(list.text.contains("href=\"/codex/t-1\">please</a>"), "{}", list.text);
    assert!(!send_request(&hub, "GET", "/codex?q=neverSaid", "").text.contains("href=\"/codex/t-1\""));
    assert_eq!(send_request(&hub, "GET", "/codex/nope", "").status, 404);
}

#[test]
fn an_approval_is_answered_among_the_questions() {
    let (home, hub) = home();
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for_approval("touch made.txt");
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    let list = loop {
        let list = send_request(&hub, "GET", "/questions", "");
        if list.text.contains("Codex wants to run a command") {
            break list.text;
        }
        assert!(std::time::Instant::now() < end, "{}", list.text);
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    };
    let path = format!("/questions/q{}", between(&list, "href=\"/questions/q", "\""));
    let page = send_request(&hub, "GET", &path, "").text;
    assert!(page.contains("touch made.txt") && !page.contains("<b>May I?</b>"), "{page}");
    let token = between(&page, "name=\"csrf\" value=\"", "\"");
    let made = between(&page, "name=\"made\" value=\"", "\"");
    let deny = page.split("<button").find(|option| option.contains(">Deny ")).unwrap();
    let (field, value) = (between(deny, "name=\"", "\""), between(deny, "value=\"", "\""));
    let form = format!("csrf={token}&made={made}&{field}={value}&note=not+today&act=answer&calls=1");
    // A decision in the first moment of the page is rejected.
    loop {
        let answered = send_request(&hub, "POST", &path, &form);
        if answered.status == 303 {
            break;
        }
        assert!(std::time::Instant::now() < end, "{}", answered.text);
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    let (text, code) = running.end();
    assert_eq!(output_lines(&text).last(), Some(&"{'id':0,'result':{'decision':'decline'}}"), "{text}");
    assert!(text.contains(r#"{"deny":{"note":"not today"}} by user"#), "{text}");
    assert_eq!(code, Some(0));
    assert!(codex(&home, &["approvals"]).stderr.contains("Codex has no pending approvals"));
}

#[test]
fn a_thread_that_fails_to_begin_keeps_the_typed_prompt() {
    let home = Home::new();
    install(&home, "#!/bin/sh\nexit 3\n", "app-server");
    let hub = Serving::open_hub(&home);
    let page = send_request(&hub, "GET", "/codex", "");
    assert_eq!(page.text.matches(" selected").count(), 0);
    let token = between(&page.text, "name=\"csrf\" value=\"", "\"").to_owned();
    let form = "prompt=Say+%3Cb%3E%0Atwice&cwd=%2Fsrv%2F%22x%22&sandbox=read-only&approval-policy=never";
    let page = send_request(&hub, "POST", "/codex", &format!("csrf={token}&{form}")).text;
    assert!(page.contains("role=\"alert\""), "{page}");
    for kept in [
        ">Say &lt;b&gt;\ntwice</textarea>",
        "value=\"/srv/&quot;x&quot;\"",
        "<option selected>read-only</option>",
        "<option selected>never</option>",
    ] {
        assert!(page.replace("&#x2f;", "/").contains(kept), "no {kept} in {page}");
    }
    assert_eq!(page.matches(" selected").count(), 2, "{page}");
}

/// Items of one turn, each an agent's message.
const HUNDRED_THOUSAND_ITEMS: &str = r#"seq 1 100000 | sed 's/.*/{"method":"item\/completed","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"agentMessage","id":"m-&","text":"word &"}}}/'
done_"#;

#[test]
fn a_live_thread_of_a_hundred_thousand_items_is_paged_and_bounded() {
    let home = Home::new();
    install(&home, &faults::app_server(HUNDRED_THOUSAND_ITEMS), "auto");
    let hub = Serving::open_hub(&home);
    let page = send_request(&hub, "GET", "/codex", "");
    let token = between(&page.text, "name=\"csrf\" value=\"", "\"").to_owned();
    assert_eq!(send_request(&hub, "POST", "/codex", &format!("csrf={token}&prompt=count")).status, 303);
    let limit = std::time::Instant::now() + crate::support::real_clients::RUN_DEADLINE;
    let mut slowest = std::time::Duration::ZERO;
    let last = loop {
        let began = std::time::Instant::now();
        let page = send_request(&hub, "GET", "/codex/t-1", "");
        slowest = slowest.max(began.elapsed());
        assert_eq!(page.status, 200);
        assert!(page.text.matches("<li data-kind=").count() <= 101, "one page of items");
        if page.text.contains("last turn completed") {
            break page.text;
        }
        assert!(std::time::Instant::now() < limit, "it takes too long");
    };
    // The newest is the last, and each page before has the others.
    let newest = |page: &str| page.rsplit("<li data-kind=\"agent\">").next().unwrap().to_owned();
    assert!(newest(&last).contains("word 100000"), "{last}");
    let older = send_request(&hub, "GET", "/codex/t-1?before=101", "").text;
    assert!(newest(&older).contains("word 100<"), "{older}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", hub.pid())).unwrap();
    let resident = between(&status, "VmRSS:", "kB").trim().parse::<u64>().unwrap() / 1024;
    assert!(resident < 150, "{resident} MiB");
    assert!(slowest < std::time::Duration::from_secs(5), "{slowest:?}");
}
