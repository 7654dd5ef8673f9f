//! `/calendar`: a person's week with what is told when, and why; and the form that changes it.

use std::path::PathBuf;

use serde_json::json;

use crate::support::Home;
use crate::support::chromium::Browser;
use crate::support::serving::Serving;

/// A home with Ann, and a working week that begins tomorrow.
fn home() -> Home {
    let home = Home::new();
    let zone = "Europe/Berlin";
    let run = |arguments: &[&str]| {
        let done = home.run(arguments, "");
        assert!(done.status.success(), "{arguments:?}: {}", done.stderr);
    };
    run(&[
        "users",
        "add",
        "Ann",
        "--id",
        "ann",
        "--email",
        "ann@example.org",
        "--phone",
        "+15550100200",
        "--time-zone",
        zone,
    ]);
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::get(zone).unwrap());
    let event = |days: i64, time: &str, length: &str, title: &str, more: &str| {
        let day = today.checked_add(jiff::ToSpan::days(days)).unwrap().strftime("%Y%m%d").to_string();
        format!(
            "BEGIN:VEVENT\r\nUID:{title}\r\nDTSTART;TZID={zone}:{day}T{time}00\r\nDURATION:{length}\r\nSUMMARY:{title}\r\n{more}END:VEVENT\r\n"
        )
    };
    let events = [
        event(1, "0730", "PT30M", "Breakfast with <b>Bo</b>", "LOCATION:Café am Markt\r\n"),
        event(1, "1400", "PT2H", "Budget", "ORGANIZER:mailto:boss@example.org\r\n"),
        event(1, "1500", "PT1H", "Dentist", ""),
        event(2, "1000", "PT45M", "Stand-up", "RRULE:FREQ=DAILY;COUNT=4\r\n"),
        event(3, "0500", "PT3H", "Flight", ""),
        event(4, "1800", "PT2H", "Choir", "STATUS:TENTATIVE\r\n"),
    ];
    home.write("week.ics", format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}END:VCALENDAR\r\n", events.concat()));
    run(&["events", "import", "ann", "week.ics"]);
    run(&["notifications", "plan", "ann"]);
    home
}

#[test]
fn a_week_is_a_picture_with_its_reasons_and_a_form() {
    let Some(mut browser) = Browser::start() else { return };
    let home = home();
    let hub = Serving::open_hub(&home);
    let root = hub.url("/calendar");
    browser.look(1280, 900, false);
    browser.open(&root);
    let count = |browser: &mut Browser, what: &str| {
        browser.evaluate(&format!("document.querySelectorAll({what:?}).length"))
    };
    assert_eq!(count(&mut browser, "svg rect.event"), json!(9));
    assert!(count(&mut browser, "svg .mark.planned").as_u64().unwrap() > 5);
    // What a stranger wrote into a title stays words.
    assert_eq!(count(&mut browser, "main b"), json!(0));
    let why = browser.evaluate("document.querySelector('.why').textContent");
    assert!(why.as_str().unwrap().contains("quiet hours"), "{why}");
    if let Some(folder) = std::env::var_os("ADJUTANT_SCREENSHOTS").map(PathBuf::from) {
        for (name, width, dark) in
            [("calendar-light", 1280, false), ("calendar-dark", 1280, true), ("calendar-phone", 390, false)]
        {
            browser.look(width, 900, dark);
            browser.open(&root);
            browser.evaluate("document.querySelector('details').open = true");
            browser.screenshot(&folder.join(format!("{name}.png")));
        }
    }
    for width in [1280, 390] {
        browser.look(width, 900, false);
        browser.open(&root);
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth > innerWidth"),
            json!(false),
            "{width}"
        );
    }
    // A wish that cannot be kept is refused with the sentence that says why, and nothing of it is kept.
    let submit = |browser: &mut Browser, zone: &str| {
        browser.evaluate(&format!("document.getElementById('zone').value = {zone:?}"));
        browser.evaluate("document.getElementById('save').click()");
        browser.loaded();
    };
    submit(&mut browser, "Mars/Base");
    browser.until("document.getElementById('fault') !== null");
    submit(&mut browser, "Asia/Kathmandu");
    browser.until("document.querySelector('.eyebrow').textContent.includes('Asia/Kathmandu')");
}
