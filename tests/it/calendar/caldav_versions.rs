//! Changes on CalDAV servers with versions of several kinds.

use super::{calendar, home, multistatus, resource, response, server};
use crate::support::Home;

const EVENT: &str = "UID:a\r\nDTSTART:20310701T120000Z\r\nDURATION:PT1H\r\nSUMMARY:Budget";

/// Imports a calendar whose one resource has a version, changes its title, and returns stderr with the requests after the
/// import.
fn edit(listed: &str, answers: Vec<String>) -> (String, Vec<String>) {
    let imported =
        [multistatus(&[resource("a", listed, None)]), multistatus(&[resource("a", listed, Some(EVENT))])];
    let (url, asked) = server([&imported[..], &answers[..]].concat());
    let home = home();
    let import = ["events", "import", "ann", &format!("{url}/"), "--caldav", "--write"];
    assert!(home.run(import, "").status.success());
    let edited = home.run(["events", "edit", &id(&home), "--title", "Plan"], "");
    (edited.stderr, asked.join().unwrap().split_off(2))
}

fn id(home: &Home) -> String {
    let listed = home.run(["events", "list", "--from", "1.7.2031", "--to", "1.7.2031"], "").stdout;
    listed.split_whitespace().last().unwrap().to_owned()
}

/// The event with these headers.
fn found(headers: &str) -> String {
    response("200 OK", headers, &calendar(&[EVENT]))
}

/// The calendar after the change.
fn read_again(version: &str) -> [String; 2] {
    let changed = EVENT.replace("Budget", "Plan");
    [multistatus(&[resource("a", version, None)]), multistatus(&[resource("a", version, Some(&changed))])]
}

const CHANGED: &str = "changed: Plan on Tuesday, 2031-07-01 14:00 to 15:00 (Europe/Berlin)\n";

#[test]
fn a_change_names_the_strong_version_in_whatever_form_the_server_shows_it() {
    for (listed, header, named) in [
        ("\"1\"", "ETag: W/\"1\"\r\n", "\"1\""),
        ("1", "ETag: \"1\"\r\n", "\"1\""),
        ("W/\"1\"", "ETag: \"1\"\r\n", "\"1\""),
        ("\"1\"", "", "\"1\""),
        ("1", "", "\"1\""),
    ] {
        let answers = [found(header), response("204 No Content", "", "")];
        let (output, asked) = edit(listed, [&answers[..], &read_again("\"2\"")].concat());
        assert_eq!(output, CHANGED, "{listed} {header}");
        assert!(asked[1].contains(&format!("if-match: {named}\r\n")), "{}", asked[1]);
    }
}

#[test]
fn a_change_of_a_weak_version_is_guarded_as_far_as_the_server_can_do_so() {
    let weak = "ETag: W/\"1\"\r\n";
    let dated = format!("{weak}Last-Modified: Fri, 27 Nov 2026 10:00:00 GMT\r\n");
    for (headers, condition) in [
        (weak, "if-match: *\r\n"),
        (dated.as_str(), "if-unmodified-since: fri, 27 nov 2026 10:00:00 gmt\r\n"),
    ] {
        let refused = response("412 Precondition Failed", "", "");
        let answers = [found(headers), refused, found(headers), response("204 No Content", "", "")];
        let (output, asked) = edit("W/\"1\"", [&answers[..], &read_again("W/\"2\"")].concat());
        assert_eq!(output, CHANGED);
        // A server that compares the letters takes this one.
        assert!(asked[1].contains("if-match: w/\"1\"\r\n"), "{}", asked[1]);
        assert!(asked[3].starts_with("put ") && asked[3].contains(condition), "{}", asked[3]);
    }
    // A different program was quicker.
    let other = EVENT.replace("Budget", "Other");
    let answers = vec![
        found(weak),
        response("412 Precondition Failed", "", ""),
        response("200 OK", "ETag: W/\"2\"\r\n", &calendar(&[&other])),
        multistatus(&[resource("a", "W/\"2\"", None)]),
        multistatus(&[resource("a", "W/\"2\"", Some(&other))]),
    ];
    let (output, _) = edit("W/\"1\"", answers);
    assert!(
        output.starts_with("error: another program changed the event, which is now `Other`; "),
        "{output}"
    );
}

#[test]
fn a_change_that_a_server_refuses_is_not_a_conflict() {
    let answers = vec![
        found("ETag: \"1\"\r\n"),
        response("412 Precondition Failed", "", ""),
        multistatus(&[resource("a", "\"1\"", None)]),
    ];
    let (output, _) = edit("\"1\"", answers);
    assert!(
        output.starts_with("error: the server answers with status 412; nothing was changed\n"),
        "{output}"
    );
}
