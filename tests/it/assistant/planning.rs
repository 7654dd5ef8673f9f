//! Plans that are made without a command: by an import, by a change of the user, and by the hub.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::mail::{
    Hub, MailServer, alter_database, home_with, mail_config, notifications, run, with_due_event,
};
use super::{calendar, event_in};
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
    let foreseen = foreseen["events"].as_array().unwrap().iter();
    let foreseen: Vec<_> =
        foreseen.flat_map(|event| event["notifications"].as_array().unwrap()).cloned().collect();
    [of(planned["notifications"].as_array().unwrap(), "plan_time"), of(&foreseen, "due_at")]
}

#[test]
fn an_import_and_each_change_of_the_user_plan_what_the_simulation_foresees() {
    let home = Home::new();
    let user = ["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin", "--channels", "both"];
    let addresses = ["--email", "ann@example.org", "--phone", "+15550100200"];
    run(&home, &[&user[..], &addresses].concat());
    let daily = event_in("daily", 40 * 3600).replace("LOCATION", "RRULE:FREQ=DAILY\r\nLOCATION");
    let week: Vec<_> = (2..40).map(|day| (["a", "b", "c"][day as usize % 3], day * 19 * 60)).collect();
    let singles = calendar(&week);
    let text: String = singles
        .lines()
        .enumerate()
        // A separate UID for each event.
        .map(|(number, line)| format!("{}\r\n", line.replace("@test", &format!("{number}@test"))))
        .collect();
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

#[test]
fn a_running_hub_sends_in_time_what_another_process_plans() {
    let mail_server = MailServer::start();
    let home = home_with(&mail_config(&mail_server.address), &["--email", "ann@example.org"], &[]);
    let _hub = Hub::start(&home);
    wait_for("the hub", || home.run(["status"], "").status.success().then_some(()));
    // It sleeps for half a minute when nothing is due.
    with_due_event(&home, "soon");
    let since = Instant::now();
    wait_for("the mail", || (mail_server.counts().len() == 1).then_some(()));
    assert!(since.elapsed() < Duration::from_secs(20), "{:?} after the plan", since.elapsed());
}
