//! The first paint: what a browser receives over the wire for it, and waits for.

use serde_json::json;

use super::console_client::Console;
use super::question_fixtures::{ask, choice, field};
use crate::support::chromium::Browser;

/// The most bytes for the first paint of the Inbox: the page, the script and the icon.
const MAX_FIRST_PAINT: u64 = 60_000;

/// The most elements of a full Inbox: each costs its style and its layout before the first paint.
const MAX_ELEMENTS: u64 = 500;

#[test]
fn the_first_paint_of_a_full_inbox_stays_below_its_size() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    let item = [field("answer", "", choice(&["Deploy now", "Deploy tonight", "No"], 1))];
    for number in 1..=12 {
        // Each message is as long as one that has its answers on the start page can be.
        let lines = (0..90_u32)
            .map(|line| format!("{:x} of tide table {number}: {line}\n", line.wrapping_mul(2_654_435_761)));
        ask(
            &console,
            number,
            "Deploy the tide table to production?",
            &lines.collect::<String>(),
            &item,
            "normal",
        );
    }
    browser.open(&console.url("/"));
    let received = browser.evaluate(
        "(() => { const page = performance.getEntriesByType('navigation')[0];
            const files = performance.getEntriesByType('resource');
            return [page, ...files].map((one) => [one.name, one.transferSize, one.encodedBodySize, one.decodedBodySize]); })()",
    );
    let received = received.as_array().unwrap();
    let bytes: u64 = received.iter().filter_map(|one| one[1].as_u64()).sum();
    assert!(received.len() > 1 && bytes <= MAX_FIRST_PAINT, "{bytes} bytes: {received:#?}");
    let (sent, page) = (received[0][2].as_u64().unwrap(), received[0][3].as_u64().unwrap());
    assert!(sent * 3 < page, "a page of {page} bytes was sent as {sent}");
    // Chromium paints nothing before these, not even before a font that is preloaded.
    let blocking = "head link[rel=stylesheet], link[rel=preload], script:not([defer])";
    let blocking = browser.evaluate(&format!("document.querySelectorAll({blocking:?}).length"));
    assert_eq!(blocking, json!(0), "nothing but the page is needed for a paint");
    // The sheet of the page's own part holds up that part alone.
    let own = "[...document.body.children].map((one) => one.matches('link[rel=stylesheet]') ? 'sheet' : one.localName)";
    assert_eq!(browser.evaluate(&format!("{own}.slice(0, 4)")), json!(["a", "header", "sheet", "main"]));
    let elements = browser.evaluate("document.querySelectorAll('*').length").as_u64().unwrap();
    assert!(elements <= MAX_ELEMENTS, "{elements} elements");
    // Where that sheet is not there, the part is hidden at first and shown without it soon. A browser without a window may
    // draw no further frame, which would end the animation.
    let main = "document.querySelector('main')";
    let visibility = format!("getComputedStyle({main}).visibility");
    browser.evaluate("document.querySelector('body > link').remove()");
    assert_eq!(browser.evaluate(&visibility), json!("hidden"));
    let hides = format!(
        "{main}.getAnimations().map((one) => [one.animationName, one.effect.getComputedTiming().endTime, one.effect.getTiming().fill])"
    );
    assert_eq!(browser.evaluate(&hides), json!([["unstyled", 500, "none"]]));
    browser.evaluate(&format!("{main}.getAnimations()[0].finish()"));
    assert_eq!(browser.evaluate(&visibility), json!("visible"));
    browser.assert_no_page_errors();
}

#[test]
fn events_are_not_compressed_and_a_compressed_page_repeats_no_token() {
    let Some(mut browser) = Browser::start() else { return };
    let console = Console::new();
    browser.open(&console.url("/"));
    let coding = "async (path) => { const stop = new AbortController();
        const { headers } = await fetch(path, { signal: stop.signal }); stop.abort();
        return [headers.get('content-encoding'), headers.get('vary')]; }";
    assert_eq!(browser.evaluate(&format!("({coding})('/')")), json!(["gzip", "Accept-Encoding"]));
    assert_eq!(browser.evaluate(&format!("({coding})('/events')")), json!([null, null]));
    let plain = console.get("/");
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", "Accept-Encoding"));
    let tokens = browser.evaluate(
        "Promise.all(['/', '/'].map(async (path) => (await (await fetch(path)).text()).match(/name=\"csrf\" value=\"(\\w+)\"/)[1]))",
    );
    assert_ne!(tokens[0], tokens[1]);
    // Each of them is good.
    for token in tokens.as_array().unwrap() {
        let form = format!("csrf={}&availability=here&minutes=", token.as_str().unwrap());
        assert_eq!(console.post("/questions/availability", &form).status, 303);
    }
    assert_eq!(console.post("/questions/availability", "csrf=&availability=here").status, 403);
}
