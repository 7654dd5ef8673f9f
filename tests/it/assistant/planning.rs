//! Plans that are made without a command: by an import, by a change of the user, and by the hub.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::mail::{
    Hub, MailServer, add_user_and_plan, alter_database, due_event, home_with, import, mail_config,
    notifications, run,
};
use super::{calendar, event_in};
use crate::support::postgres::Postgres;
use crate::support::{Home, wait_for};

/// What is planned, and what the simulation foresees, each as instant, channel and subject.
fn planned_and_foreseen(home: &Home) -> [Vec<[String; 3]>; 2] {
    let of = |all: &[Value], at: &str| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut found: Vec<_> =
            all.iter().map(|one| [text(&one[at]), text(&one["channel"]), text(&one["subject"])]).collect();
        found.sort();
        found
    };
    let range = ["--status", "planned", "--days-forward", "31", "--json"];
    let planned = run(home, &[&["notifications", "list", "--user", "ann"][..], &range].concat());
    let planned: Value = serde_json::from_str(&planned).unwrap();
    let foreseen = run(home, &["notifications", "simulate", "ann", "--days", "30", "--json"]);
    let foreseen: Value = serde_json::from_str(&foreseen).unwrap();
    let foreseen = foreseen["items"].as_array().unwrap().iter();
    let foreseen: Vec<_> =
        foreseen.flat_map(|event| event["notifications"].as_array().unwrap()).cloned().collect();
    [of(planned["items"].as_array().unwrap(), "plan_time"), of(&foreseen, "due_at")]
}

#[test]
fn an_import_and_each_change_of_the_user_plan_what_the_simulation_foresees() {
    let home = Home::new();
    let user = ["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin", "--channels", "both"];
    let addresses = ["--email", "ann@example.org", "--phone", "+15550100200"];
    run(&home, &[&user[..], &addresses].concat());
    let daily = event_in("daily", 40 * 3600).replace("LOCATION", "RRULE:FREQ=DAILY\r\nLOCATION");
    let names = ["a", "b", "c"].into_iter().cycle();
    let week: Vec<_> = (2..40).zip(names).map(|(day, name)| (name, day * 19 * 60)).collect();
    let singles = calendar(&week);
    // A separate UID for each event.
    let lines = singles.lines().enumerate();
    let lines = lines.map(|(number, line)| line.replace("@test", &format!("{number}@test")) + "\r\n");
    let text = lines.collect::<String>();
    home.write("work.ics", text.replace("END:VCALENDAR", &format!("{daily}END:VCALENDAR")));
    run(&home, &["events", "import", "ann", "work.ics"]);
    let mut before = Vec::new();
    for change in [
        None,
        Some(&["users", "edit", "ann", "--quiet-hours", "12:00-19:00"][..]),
        Some(&["users", "edit", "ann", "--weekend", "none", "--channels", "email"][..]),
        Some(&["users", "rule", "ann", "quiet_title", "title=a"][..]),
    ] {
        if let Some(change) = change {
            run(&home, change);
        }
        let [planned, foreseen] = planned_and_foreseen(&home);
        assert_eq!(planned, foreseen, "{change:?}");
        assert!(planned.len() > 8 && planned != before, "{change:?}: {planned:?}");
        before = planned;
    }
}

#[test]
fn a_hub_plans_what_nobody_has_planned() {
    let home = home_with("", &["--email", "ann@example.org"], &[event_in("far", 20 * 86_400)]);
    alter_database(&home, "DELETE FROM notifications");
    alter_database(&home, "DELETE FROM plans");
    let range = ["--days-forward", "30"];
    assert!(notifications(&home, &range).is_empty());
    let _hub = Hub::start(&home);
    let planned = wait_for("the plan", || notifications(&home, &range).pop());
    assert_eq!(planned["status"], "planned", "{planned}");
}

/// Runs a hub that has nothing to send, which sleeps for half a minute, plans a mail for soon in a process of another home
/// if `apart`, and expects the mail in time.
fn check_wake(place: &[&str], apart: bool) {
    let mail_server = MailServer::start();
    let home = Home::new();
    home.write(".adjutant/config.toml", mail_config(&mail_server.address));
    add_user_and_plan(&home, &["--email", "ann@example.org"], &[], place);
    let _hub = Hub::start_with(&home, place);
    wait_for("the hub", || home.run(["status"], "").status.success().then_some(()));
    let other = Home::new();
    import(if apart { &other } else { &home }, &due_event("soon"), place);
    let since = Instant::now();
    wait_for("the mail", || (mail_server.counts().len() == 1).then_some(()));
    assert!(since.elapsed() < Duration::from_secs(20), "{:?} after the plan", since.elapsed());
}

#[test]
fn a_running_hub_sends_in_time_what_another_process_plans() {
    check_wake(&[], false);
}

#[test]
fn a_hub_of_a_shared_database_sends_in_time_what_a_process_elsewhere_plans() {
    let Some(server) = Postgres::start() else { return };
    check_wake(&["--database", &server.url("postgres")], true);
}

#[test]
fn two_hubs_of_a_shared_database_send_each_mail_once() {
    const MAILS: usize = 40;
    let Some(server) = Postgres::start() else { return };
    let url = server.url("postgres");
    let place = ["--database", url.as_str()];
    let mail_server = MailServer::start();
    // Slow enough that both hubs send at the same time.
    *mail_server.slow.lock().unwrap() = (0, Duration::from_millis(40));
    let homes = [Home::new(), Home::new()];
    for home in &homes {
        home.write(".adjutant/config.toml", mail_config(&mail_server.address));
    }
    let entries: Vec<String> = (0..MAILS).map(|n| due_event(&format!("event-{n}"))).collect();
    add_user_and_plan(&homes[0], &["--email", "ann@example.org"], &entries, &place);
    let _hubs = homes.each_ref().map(|home| Hub::start_with(home, &place));
    let sent = || {
        let all = notifications(&homes[0], &place);
        all.iter().filter(|notification| notification["status"] == "sent").count()
    };
    wait_for("all mails", || (sent() == MAILS).then_some(()));
    let counts = mail_server.counts();
    assert!(counts.len() == MAILS && counts.values().all(|count| *count == 1), "{counts:?}");
}
