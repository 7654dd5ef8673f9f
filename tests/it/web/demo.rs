//! The data of `serve --demo` on the console's pages.

use serde_json::json;

use crate::support::Home;
use crate::support::chromium::Browser;
use crate::support::serving::Serving;

#[test]
fn every_task_of_the_demo_has_its_log_and_no_page_names_another_folder() {
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let list = hub.page("/tasks");
    let tasks: Vec<&str> = list.split('"').filter(|part| part.starts_with("/tasks/dem")).collect();
    assert_eq!(tasks.len(), 5, "{list}");
    for task in tasks {
        let page = hub.page(task);
        assert!(page.contains("<li class=\"start\" data-seq=\"1\">"), "{task} has a log: {page}");
    }
    let checked = hub.page("/tasks/dem00000000000000003");
    assert!(checked.contains("<li class=\"done\" data-seq=\"12\">"), "{checked}");
    // The folder of the example is in the home, so no text names a folder that nobody has.
    let inbox = hub.page("/").replace("&#x2f;", "/");
    assert!(inbox.contains("corner-shop") && !inbox.contains("~/code/"), "{inbox}");
}

#[test]
fn the_reply_to_a_session_stays_above_the_tabs_of_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let list = hub.page("/codex");
    let thread = list.split('"').find(|part| part.starts_with("/codex/")).expect("a thread");
    browser.set_window(390, 844, false);
    browser.open(&hub.url(thread));
    browser.evaluate("scrollTo(0, 100)");
    let free = browser.evaluate(
        "document.querySelector('.top nav ul').getBoundingClientRect().top - document.querySelector('.composer').getBoundingClientRect().bottom",
    );
    assert!(free.as_f64().is_some_and(|free| free >= 0.0), "{free}");
    // More opens the other sections, and what is beside them closes them.
    let open = "document.getElementById('more-sections').checkVisibility()";
    browser.click(".open-others a");
    assert_eq!(browser.evaluate(open), json!(true));
    browser.click(".close");
    assert_eq!(browser.evaluate(open), json!(false));
    assert_eq!(browser.evaluate("Math.round(scrollY)"), json!(100), "the page stays where it was");
    browser.assert_no_page_errors();
}
