//! The console: pages over plain HTTP, and in a real browser.

mod agent_fixtures;
mod answer_files;
pub(crate) mod browser;
mod calendar;
mod compression;
mod console_client;
mod demo;
mod keyboard;
mod patterns;
mod pending_questions;
mod permission_faults;
mod permissions;
mod question_fixtures;
mod questions;
mod tasks;
mod timeline;

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use console_client::Console;
use sha2::{Digest, Sha256};

use crate::http::client::Answer;

/// Text that no page may contain besides its style sheet, because the policy would block it.
const INLINE: [&str; 5] = [" style=", "<style", "javascript:", "http-equiv", "srcdoc="];

#[test]
fn every_page_has_a_strict_content_security_policy() {
    let console = Console::new();
    for path in [
        "/",
        "/prompts",
        "/prompts?q=re",
        "/prompts/review/pull-request",
        "/prompts/nowhere",
        "/agents",
        "/agents/reviewer",
        "/agents/reviewre",
        "/tasks",
        "/tasks?state=failed&q=x",
        "/tasks/nothing",
        "/codex",
        "/codex?q=x",
        "/codex/nothing",
        "/questions",
        "/questions/nothing",
        "/history",
        "/history?kind=answered&q=x",
        "/timeline",
        "/timeline?of=agents&q=x",
        "/settings",
        "/settings/access",
        "/find",
        "/find?q=re",
        "/keys",
        "/settings?only=changed&q=http",
        "/nowhere",
    ] {
        assert_strict(path, &console.get(path));
    }
}

/// Asserts that a page has its policy and contains nothing that the policy would block.
fn assert_strict(path: &str, page: &Answer) {
    let (sheet, body) = console_client::split_style(&page.body).unwrap();
    let digest = STANDARD.encode(Sha256::digest(sheet));
    assert_eq!(
        page.header("content-security-policy"),
        format!(
            "default-src 'none'; style-src 'self' 'sha256-{digest}'; script-src 'self'; font-src 'self'; img-src 'self' data:; \
             connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "{path}: the policy allows the style that the page has, and no other within it"
    );
    assert_eq!(page.header("cache-control"), "no-store", "{path}");
    assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
    // `no-referrer` would make a browser send `Origin: null` with the console's own forms.
    assert_eq!(page.header("referrer-policy"), "same-origin", "{path}");
    assert_eq!(page.header("origin-agent-cluster"), "?1", "{path}");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
    assert!(!page.head.contains("access-control"), "{path}: {}", page.head);
    for inline in INLINE {
        assert!(!body.contains(inline), "{path} contains {inline}");
    }
    let plain = body.replace("&#x2f;", "/");
    for tag in plain.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let handler =
            tag.split_whitespace().skip(1).find(|word| word.starts_with("on") && word.contains('='));
        assert_eq!(handler, None, "{path}: {tag}");
        assert!(!tag.starts_with("script") || tag.contains("src=\"/static/"), "{path}: {tag}");
        for attribute in ["src=\"", "href=\"", "action=\""] {
            let Some((_, value)) = tag.split_once(attribute) else { continue };
            let own = value.starts_with('#') || value.starts_with('/') && !value.starts_with("//");
            assert!(own, "{path}: {tag} leads outside");
        }
    }
}

#[test]
fn head_matches_get_and_other_methods_are_rejected() {
    let console = Console::new();
    for path in ["/", "/prompts", "/prompts/research", "/nowhere"] {
        let (get, head) = (console.get(path), console.send_request("HEAD", path, &[], ""));
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_eq!(head.body, "", "{path}");
    }
    let wrong = console.send_request("PUT", "/prompts", &[], "");
    assert_eq!((wrong.status, wrong.header("allow")), (405, "GET,HEAD"));
    assert_eq!(console.send_request("DELETE", "/prompts/research", &[], "").status, 405);
    assert_eq!(console.get("/prompts?q=%ff").status, 200, "a search for noise is a search");
    assert_eq!(console.get("/prompts/%ff").status, 400);
    let typed = [("content-type", "text/csv")];
    assert_eq!(console.send_request("POST", "/prompts/research", &typed, "input=x").status, 400);
}

#[test]
fn pages_match_their_snapshots() {
    let console = Console::new();
    insta::assert_snapshot!("inbox", console.redacted(&console.get("/")));
    insta::assert_snapshot!("prompts", console.redacted(&console.get("/prompts")));
    insta::assert_snapshot!("prompt", console.redacted(&console.get("/prompts/review/pull-request")));
    insta::assert_snapshot!("agents", console.redacted(&console.get("/agents")));
    insta::assert_snapshot!("agent", console.redacted(&console.get("/agents/reviewer")));
    insta::assert_snapshot!("unknown_prompt", console.redacted(&console.get("/prompts/reserch")));
    let filled = "arg.topic=the+tide+table&arg.depth=3&arg.tone=blunt&arg.tests=true&input=Mind+%3Cthis%3E";
    let fragment = console.post("/prompts/review/pull-request?part=try", filled);
    insta::assert_snapshot!("preview", console.redacted(&fragment));
}

#[test]
fn the_prompt_search_works_without_script() {
    let console = Console::new();
    let found = |q: &str| {
        let page = console.get(&format!("/prompts?q={q}"));
        let names = page.body.split("class=\"name\" href=\"/prompts/").skip(1);
        names.map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("pull-req"), ["review/pull-request"], "by name");
    assert_eq!(found(":pr"), ["review/pull-request"], "by alias, with its colon");
    assert_eq!(
        found("TIRED+reviewer"),
        ["review/pull-request"],
        "by every word of the description, in any case"
    );
    assert_eq!(found("tired+nothing"), Vec::<String>::new());
    let page = console.get("/prompts?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    assert!(!page.body.contains("<script>alert"), "{}", page.body);
}

#[test]
fn files_that_are_not_served_are_named() {
    let page = Console::new().get("/prompts").body;
    let problems = page.split("id=\"problems\"").nth(1).expect("a section of problems");
    assert!(problems.contains("broken.md"), "{problems}");
    let overridden = page.split("id=\"overridden\"").nth(1).expect("a section of overridden prompts");
    assert!(overridden.contains("research"), "{overridden}");
}

#[test]
fn an_alias_redirects_to_its_prompt() {
    let moved = Console::new().get("/prompts/pr");
    assert_eq!((moved.status, moved.header("location")), (307, "/prompts/review/pull-request"));
}

#[test]
fn a_prompt_name_in_a_url_is_never_a_path() {
    let console = Console::new();
    console.home.write("secret.md", "the secret");
    for name in
        ["../secret", "..%2fsecret", "%2e%2e/%2e%2e/secret", "%2fetc%2fpasswd", "a%00b", "%E2%80%AE", "..."]
    {
        let page = console.get(&format!("/prompts/{name}"));
        assert_eq!(page.status, 404, "{name}");
        assert!(!page.body.contains("the secret"), "{name}");
    }
}

#[test]
fn an_error_page_shows_the_pending_questions() {
    let console = Console::new();
    let fields = [question_fixtures::field("answer", "", question_fixtures::choice(&["Yes", "No"], 1))];
    question_fixtures::ask(&console, 1, "Deploy?", "The tests pass.", &fields, "normal");
    for path in ["/nowhere", "/prompts/nowhere", "/timeline?of=kitchen"] {
        let page = console.get(path);
        assert!(page.status >= 400 && page.body.contains("<title>(1) "), "{path}: {}", page.body);
    }
    // A browser that has not logged in gets this one too.
    let page = console.get("/static/none.css");
    assert!(page.status == 404 && !page.body.contains("(1)"), "{}", page.body);
}

#[test]
fn invisible_characters_are_shown() {
    let console = Console::new();
    for page in
        [console.get("/prompts/hidden"), console.post("/prompts/hidden", "input=a%E2%80%AEb%1B%5B31m")]
    {
        let hidden = ['\u{202e}', '\u{200b}', '\u{e0041}', '\u{1b}'];
        let text = page.body.split("<textarea").next().unwrap().to_owned()
            + page.body.split("</textarea>").nth(1).unwrap();
        assert!(!text.contains(hidden), "a hidden character is in the page");
        for code in ["202e\">U+202E", "200b\">U+200B", "e0041\">U+E0041"] {
            assert!(text.contains(code), "{code} is not shown: {text}");
        }
    }
    let typed = console.post("/prompts/hidden", "input=a%E2%80%AEb%1B%5B31m").body;
    assert!(typed.contains("1b\">U+001B"), "what was typed is shown too");
}

#[test]
fn an_argument_error_is_shown_at_its_field() {
    let page = Console::new().post("/prompts/review/pull-request", "arg.topic=tides&arg.depth=deep");
    assert_eq!(page.status, 200);
    let field = page.body.split("name=\"arg.depth\"").nth(1).unwrap();
    let (tag, rest) = field.split_once('>').unwrap();
    assert!(
        tag.contains("aria-invalid=\"true\"")
            && tag.contains("aria-describedby=\"field-1-about field-1-error\"")
    );
    let error = rest.split("id=\"field-1-error\"").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(error.contains("must be an integer"), "{error}");
    assert!(page.body.contains("value=\"tides\""), "what was filled in is still there");
}

#[test]
fn a_long_expansion_is_clipped_on_the_page_and_complete_in_the_download() {
    let console = Console::new();
    let long = "tide ".repeat(40_000);
    let page = console.post("/prompts/research", &format!("input={}", long.replace(' ', "+")));
    assert!(page.body.contains("This is the beginning."));
    assert!(page.body.matches("tide ").count() < 60_000, "the preview is not clipped");
    let file = console.post("/prompts/research", &format!("download=1&input={}", long.replace(' ', "+")));
    assert_eq!(file.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"research.txt\"");
    assert!(file.body.ends_with(&long), "the file has the whole text");
    let lines = console.post("/prompts/research", "download=1&input=one%0D%0Atwo").body;
    assert!(lines.ends_with("one\ntwo"), "line breaks are a prompt's, not a form's: {lines:?}");
}

#[test]
fn assets_are_cached_by_their_content() {
    let console = Console::new();
    let page = console.get("/").body;
    for (kind, mime) in [
        ("js", "text/javascript; charset=utf-8"),
        ("svg", "image/svg+xml"),
        ("webmanifest", "application/manifest+json"),
    ] {
        let path = page.split('"').find(|word| word.contains("static") && word.ends_with(kind)).unwrap();
        let path = path.replace("&#x2f;", "/");
        let file = console.get(&path);
        assert_eq!((file.status, file.header("content-type")), (200, mime), "{path}");
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        let stale = path.replace(|c: char| c.is_ascii_digit(), "x");
        assert_eq!(console.get(&stale).status, 404, "{stale}");
    }
}

#[test]
fn the_event_stream_reports_changes() {
    let console = Console::new();
    let mut stream = console.stream("/events");
    assert!(stream.wait_until("event: hello").contains("content-type: text/event-stream"));
    let mut agent = console.connect_agent();
    agent.initialize("2025-06-18");
    stream.wait_until("event: changed");
    stream.wait_until("clients");
    console.home.write(".adjutant/prompts/fresh.md", "Fresh.");
    stream.wait_until("prompts");
    assert!(console.get("/prompts").body.contains("/prompts/fresh"));
}

#[test]
fn the_event_stream_ends_with_the_hub() {
    let mut console = Console::new();
    let mut stream = console.stream("/events");
    stream.wait_until("event: hello");
    console.stop();
    stream.assert_ended();
}

#[test]
fn a_browser_without_a_login_is_told_how_to_log_in() {
    let console = Console::with_login();
    let page = console.get("/prompts/research");
    assert_eq!(page.status, 401);
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
    insta::assert_snapshot!("login_needed", console.redacted(&page));
    assert!(
        console_client::split_style(&page.body).unwrap().0.contains(":root"),
        "the page is not without its style"
    );
    assert_eq!(console.get("/events").status, 401);
}

#[test]
fn malformed_forms_get_an_error_page() {
    let console = Console::new();
    for body in [
        "%",
        "arg.topic",
        "=",
        "arg.=x",
        "a&b&c",
        "input=%ff",
        "arg.topic=x&arg.topic=y",
        &"&".repeat(100_000),
    ] {
        let page = console.post("/prompts/review/pull-request", body);
        assert!(matches!(page.status, 200 | 400), "{:.40}: {}", body, page.status);
    }
    let mut sink = Vec::new();
    writeln!(sink, "input={}", "x".repeat(5 << 20)).unwrap();
    let page: Answer = console.post("/prompts/research", &String::from_utf8(sink).unwrap());
    assert_eq!(page.status, 200);
    assert!(page.body.contains("over the limit of"), "an expansion past the limit is refused in words");
}
