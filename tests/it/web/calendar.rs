//! `/calendar`: a user's week with each notification and its reason; and the form that changes it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::browser::{assert_accessible, axe, tab_to};
use crate::support::chromium::{Browser, Key};
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home};

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
fn the_week_page_shows_notifications_with_reasons_and_a_form() {
    let Some(mut browser) = Browser::start() else { return };
    let home = home();
    let hub = Serving::open_hub(&home);
    let root = hub.url("/calendar");
    browser.set_window(1280, 900, false);
    browser.open(&root);
    let count = |browser: &mut Browser, what: &str| {
        browser.evaluate(&format!("document.querySelectorAll({what:?}).length"))
    };
    assert_eq!(count(&mut browser, "svg rect.event"), json!(9));
    assert!(count(&mut browser, "svg .mark.planned").as_u64().unwrap() > 5);
    // Each box leads to its row in the agenda.
    let rows = "[...document.querySelectorAll('.week a')].filter((one) => document.querySelector(`.agenda ${one.getAttribute('href')}`)).length";
    assert_eq!(browser.evaluate(rows), json!(9));
    // Markup in a stranger's title stays text.
    assert_eq!(count(&mut browser, "main b"), json!(0));
    let why = browser.evaluate("document.querySelector('.why').textContent");
    assert!(why.as_str().unwrap().contains("quiet hours"), "{why}");
    // The week opens two hours before now, or at its first event.
    browser.set_window(1280, 600, false);
    browser.open(&root);
    let opened = "document.getElementById('week-grid')";
    assert_eq!(
        browser.evaluate(&format!("Math.abs({opened}.scrollTop - Math.min({opened}.dataset.opensAt, {opened}.scrollHeight - {opened}.clientHeight)) < 2")),
        json!(true)
    );
    // An hour has room for a title and its time, and the days with their all-day events stay above the hours.
    let rows = "document.querySelectorAll('.week .hour')";
    let distance = format!("{rows}[1].getBoundingClientRect().top - {rows}[0].getBoundingClientRect().top");
    assert_eq!(browser.evaluate(&format!("Math.round({distance})")), json!(48));
    let days = format!(
        "{opened}.querySelector('.days').getBoundingClientRect().top - {opened}.getBoundingClientRect().top"
    );
    browser.evaluate(&format!("{opened}.scrollTop = 500"));
    assert!(browser.evaluate(&days).as_f64().is_some_and(|top| top.abs() < 2.0), "the days scrolled away");
    // A phone has the agenda alone.
    browser.set_window(390, 900, false);
    assert_eq!(
        browser.evaluate(&format!(
            "[{opened}.checkVisibility(), document.querySelector('.agenda').checkVisibility()]"
        )),
        json!([false, true])
    );
    browser.set_window(1280, 900, false);
    // A preference that cannot be kept is rejected with the reason, and nothing of the form is stored.
    browser.open(&hub.url("/settings/notifications"));
    assert_eq!(
        browser.evaluate("[...document.querySelectorAll('legend')].map((one) => one.textContent)"),
        json!(["When", "How", "Escalation"])
    );
    let submit = |browser: &mut Browser, zone: &str| {
        browser.evaluate(&format!("document.getElementById('zone').value = {zone:?}"));
        browser.evaluate("document.getElementById('save').click()");
        browser.wait_until_loaded();
    };
    submit(&mut browser, "Mars/Base");
    browser.wait_until("document.getElementById('fault') !== null");
    submit(&mut browser, "Asia/Kathmandu");
    browser.wait_until("document.getElementById('saved') !== null");
    browser.open(&root);
    browser.wait_until("document.querySelector('.eyebrow').textContent.includes('Asia/Kathmandu')");
}

#[test]
fn an_event_of_several_days_is_in_each_of_them() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    // The page has seven days from today.
    let today = jiff::Timestamp::now().to_zoned(zone).date();
    let day = |days: i64| today.checked_add(jiff::ToSpan::days(days)).unwrap();
    let whole = |title: &str, from: i64, until: i64| {
        let [from, until] = [from, until].map(|days| day(days).strftime("%Y%m%d").to_string());
        format!(
            "BEGIN:VEVENT\r\nUID:{title}\r\nDTSTART;VALUE=DATE:{from}\r\nDTEND;VALUE=DATE:{until}\r\nSUMMARY:{title}\r\nEND:VEVENT\r\n"
        )
    };
    let timed = |title: &str, from: (i64, &str), until: (i64, &str)| {
        let [from, until] =
            [from, until].map(|(days, time)| format!("{}T{time}00", day(days).strftime("%Y%m%d")));
        format!(
            "BEGIN:VEVENT\r\nUID:{title}\r\nDTSTART:{from}\r\nDTEND:{until}\r\nSUMMARY:{title}\r\nEND:VEVENT\r\n"
        )
    };
    let events = [
        whole("Ended", -5, 0),
        whole("Leave", -40, 2),
        whole("Fair", 1, 4),
        timed("Move", (4, "2200"), (5, "0200")),
        timed("Shift", (5, "1800"), (6, "0000")),
        timed("Hike", (2, "0900"), (4, "1700")),
    ];
    home.write("days.ics", format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}END:VCALENDAR\r\n", events.concat()));
    for arguments in [
        &["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin", "--email", "ann@example.org"]
            [..],
        &["events", "import", "ann", "days.ics"],
    ] {
        let done = home.run(arguments, "");
        assert!(done.status.success(), "{done}");
    }
    let hub = Serving::open_hub(&home);
    browser.set_window(1280, 900, false);
    browser.open(&hub.url("/calendar"));
    let all_day = "[...document.querySelectorAll('.days li')].map((one) => [...one.querySelectorAll('a.all-day')].map((one) => one.textContent).join())";
    assert_eq!(
        browser.evaluate(all_day),
        json!(["Leave", "Leave,Fair", "Fair,Hike", "Fair,Hike", "Hike", "", ""])
    );
    // The parts of an event in two nights: from 22:00 to the end of the day, and from its start to 02:00.
    let parts = "[...document.querySelectorAll('.week svg a')].filter((one) => one.textContent.includes('Move')).map((one) => one.firstChild.getAttribute('y') + ' ' + one.firstChild.getAttribute('height')).join()";
    assert_eq!(browser.evaluate(parts), json!("1056.0 96.0,0.0 96.0"));
    let shown = |days: i64| day(days).strftime("%a %-d %b").to_string();
    let rows = "[...document.querySelectorAll('.agenda > li')].map((one) => one.querySelector('time').textContent + ' ' + one.querySelector('strong').textContent)";
    assert_eq!(
        browser.evaluate(rows),
        json!([
            format!("all day until {} Leave", shown(1)),
            format!("all day until {} Fair", shown(3)),
            format!("09:00–{} 17:00 Hike", shown(4)),
            format!("22:00–{} 02:00 Move", shown(5)),
            "18:00–00:00 Shift".to_owned(),
        ])
    );
    // Each of them leads to its row.
    let rows = "[...document.querySelectorAll('.week a')].every((one) => document.querySelector(`.agenda ${one.getAttribute('href')}`))";
    assert_eq!(browser.evaluate(rows), json!(true));
    browser.assert_no_page_errors();
}

#[test]
fn the_week_page_is_accessible_and_fits_every_width() {
    let Some(mut browser) = Browser::start() else { return };
    let Some(axe) = axe() else { return };
    let home = home();
    let hub = Serving::open_hub(&home);
    let looks = [(1280, false), (1280, true), (375, false), (375, true)];
    for ((width, dark), path) in
        looks.into_iter().flat_map(|look| [(look, "/calendar"), (look, "/settings/notifications")])
    {
        browser.set_window(width, 900, dark);
        browser.open(&hub.url(path));
        browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })");
        let wider = browser.evaluate(&format!("document.documentElement.scrollWidth > {width}"));
        assert_eq!(wider, json!(false), "{path} {width}: the page is wider than the window");
        assert_accessible(&mut browser, &axe, &format!("{path} {width} {dark}"));
    }
    browser.assert_no_page_errors();
}

#[test]
fn preferences_are_changed_by_keyboard_and_without_script() {
    let Some(mut browser) = Browser::start() else { return };
    let home = home();
    let hub = Serving::open_hub(&home);
    browser.enable_scripts(false);
    browser.open(&hub.url("/calendar"));
    // The picture scrolls on a small screen, so the keyboard reaches it as well.
    tab_to(&mut browser, ".week");
    tab_to(&mut browser, "details summary");
    browser.press(Key::Enter);
    assert_eq!(browser.evaluate("document.activeElement.parentElement.open"), json!(true));
    browser.open(&hub.url("/settings/notifications"));
    tab_to(&mut browser, "#voice");
    browser.evaluate("document.activeElement.select()");
    browser.type_text("de");
    tab_to(&mut browser, "#ladder");
    browser.evaluate("document.activeElement.select()");
    browser.type_text("question, call");
    tab_to(&mut browser, "#save");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("document.getElementById('fault')"), json!(null));
    let shown = home.run(["users", "show", "ann", "--json"], "");
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["preferences"]["voice"], "de");
    assert_eq!(shown["preferences"]["escalation_ladder"], json!(["popup", "call"]));
    assert_eq!(shown["preferences"]["quiet_start"], "21:00", "what was not touched stays");
    browser.assert_no_page_errors();
}

#[test]
fn a_notification_page_acknowledges_and_retries() {
    let Some(mut browser) = Browser::start() else { return };
    // An invalid sender: the mail fails for good, and being urgent it escalates to a question.
    let home = Home::new();
    home.write(".adjutant/config.toml", "[notifications]\nmail = \"folder:mail\"\nmail_from = \"nobody\"\n");
    let run = |arguments: &[&str]| {
        let done = home.run(arguments, "");
        assert!(done.status.success(), "{arguments:?}: {}", done.stderr);
        done.stdout
    };
    let ann = ["users", "add", "Ann", "--id", "ann", "--email", "ann@example.org", "--quiet-hours", "none"];
    run(&[&ann[..], &["--weekend", "both", "--ladder", "email,popup"]].concat());
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(902);
    let start = soon.strftime("%Y%m%dT%H%M%SZ");
    let event = format!("BEGIN:VEVENT\r\nUID:a\r\nDTSTART:{start}\r\nSUMMARY:Review\r\nEND:VEVENT\r\n");
    home.write("a.ics", format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{event}END:VCALENDAR\r\n"));
    run(&["events", "import", "ann", "a.ics"]);
    run(&["notifications", "plan", "ann"]);
    let hub = Serving::open_hub(&home);
    let until = |what: &str, done: &dyn Fn(&Value) -> bool| {
        let end = Instant::now() + 2 * DEADLINE;
        loop {
            let listed = run(&["notifications", "list", "--user", "ann", "--json"]);
            let listed = serde_json::from_str::<Value>(&listed).unwrap()["items"].take();
            if done(&listed) {
                return;
            }
            assert!(Instant::now() < end, "{what}: {listed:#}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    };
    until("a mail that failed, and a question", &|all| {
        all[0]["status"] == "failed" && all[1]["status"] == "sent" && all[1]["channel"] == "popup"
    });
    browser.open(&hub.url("/calendar"));
    let press = |browser: &mut Browser, act: &str| {
        browser.evaluate(&format!("document.querySelector('button[value={act}]').click()"));
        browser.wait_until_loaded();
    };
    press(&mut browser, "retry");
    until("another try", &|all| all[0]["attempts"] == 2 && all[0]["status"] == "failed");
    press(&mut browser, "acknowledge");
    until("the acknowledgement", &|all| all[1]["acknowledged_time"].is_string());
    assert_eq!(browser.evaluate("document.querySelector('button[value=acknowledge]')"), json!(null));
    press(&mut browser, "cancelled");
    until("an end", &|all| all[0]["status"] == "cancelled");
    browser.assert_no_page_errors();
}
