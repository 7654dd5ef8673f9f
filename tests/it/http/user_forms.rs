//! Forms for the logins of users at `/settings/access`: who may use them, and what they change.

use serde_json::Value;

use super::client::Hub;
use super::users::{FORM, PASSWORD, get, hub_with_users, hub_with_users_and, log_in, post, try_log_in};
use crate::support::Home;
use crate::support::chromium::Browser;
use crate::web::browser::{assert_accessible, axe};

const PAGE: &str = "/settings/access";

/// What the command line says of the role of a user; empty without a login.
fn role_of(hub: &Hub, user: &str) -> String {
    let listed = hub.home.run(["users", "list", "--json"], "");
    let listed: Value = serde_json::from_str(&listed.stdout).expect(&listed.stdout);
    let found = listed["items"].as_array().unwrap().iter().find(|found| found["id"] == user).unwrap();
    found["role"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_operator_gives_changes_and_takes_logins() {
    let hub = hub_with_users();
    let (owner, zoe) = (hub.log_in(), log_in(&hub, "zoe"));
    let added = hub.home.run(["users", "add", "Carl", "--id", "carl"], "");
    assert!(added.status.success(), "{}", added.stderr);
    for cookie in [&owner, &zoe] {
        let page = get(&hub, cookie, PAGE).body;
        assert!(page.contains("Login of carl") && page.contains("name=\"password\""), "{page}");
        assert!(!page.contains("Let log in at"), "no provider is configured");
    }
    let change = |cookie: &str, form: &str| post(&hub, cookie, PAGE, form);
    // Carl gets a login, another role and password, and loses it.
    let given = change(&zoe, "user=carl&act=password&role=viewer&password=a+first+password");
    assert_eq!((given.status, given.header("location")), (303, "/settings/access?changed=carl#users"));
    assert_eq!(role_of(&hub, "carl"), "viewer");
    let page = get(&hub, &zoe, "/settings/access?changed=carl").body;
    assert!(page.contains("Changed.") && !page.contains("a first"), "{page}");
    let first = try_log_in(&hub, "carl", "a first password", "", &[]);
    assert_eq!(first.status, 303, "{first:?}");
    let first = first.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_eq!(change(&owner, "user=carl&act=role&role=user").status, 303);
    assert_eq!(role_of(&hub, "carl"), "user");
    assert_eq!(get(&hub, &first, "/").status, 401, "a change ends the logins before it");
    assert_eq!(change(&zoe, "user=carl&act=password&password=a+second+password").status, 303);
    assert_eq!(role_of(&hub, "carl"), "user", "a new password keeps the role");
    assert_eq!(try_log_in(&hub, "carl", "a first password", "", &[]).status, 401);
    assert_eq!(try_log_in(&hub, "carl", "a second password", "", &[]).status, 303);
    assert_eq!(change(&zoe, "user=carl&act=lock").status, 303);
    assert_eq!(role_of(&hub, "carl"), "");
    assert_eq!(try_log_in(&hub, "carl", "a second password", "", &[]).status, 401);

    // What cannot be done is said, and changes nothing.
    for (form, sentence) in [
        ("user=carl&act=password&role=user&password=short", "10 to 1024 characters"),
        ("user=carl&act=password&role=owner&password=a+long+password", "is no role"),
        ("user=carl&act=role&role=operator", "unknown login of user"),
        ("user=carl&act=lock", "unknown login of user"),
        ("user=nobody&act=password&password=a+long+password", "unknown user"),
        ("user=carl&act=", "choose one of its buttons"),
        ("user=&act=lock", "names no user"),
    ] {
        let answer = change(&zoe, form);
        assert_eq!(answer.status, 200, "{form}: {answer:?}");
        let fault = answer.body.split("id=\"fault\"").nth(1).unwrap_or_else(|| panic!("{form}"));
        assert!(fault.split("</div>").next().unwrap().contains(sentence), "{form}: {fault}");
        assert!(!answer.body.contains("long password"), "{form}");
    }
    assert_eq!(role_of(&hub, "carl"), "");
    assert!(!hub.log().contains("first password") && !hub.log().contains("second"), "{}", hub.log());
    // An operator who changes the own login logs in again.
    assert_eq!(change(&zoe, "user=zoe&act=password&password=another+password").status, 303);
    assert_eq!(get(&hub, &zoe, PAGE).status, 401);
}

#[test]
fn nobody_but_an_operator_changes_a_login() {
    let hub = hub_with_users();
    let form = format!("user=ann&act=password&role=operator&password={}", "x".repeat(20));
    for user in ["ann", "vera"] {
        let cookie = log_in(&hub, user);
        assert_eq!(get(&hub, &cookie, PAGE).status, 403);
        for form in [&form, "user=ann&act=role&role=operator", "user=zoe&act=lock"] {
            assert_eq!(post(&hub, &cookie, PAGE, form).status, 403, "{user}: {form}");
        }
    }
    let token = format!("Bearer {}", hub.token());
    for headers in [vec![], vec![("authorization", token.as_str())]] {
        let answer = hub.send_request("POST", PAGE, &[&[FORM][..], &headers].concat(), &form);
        assert_eq!(answer.status, 401, "{headers:?}");
    }
    // Another site, and a form that is not the console's.
    let zoe = log_in(&hub, "zoe");
    let unsigned = hub.send_request("POST", PAGE, &[("cookie", &zoe), FORM], &form);
    assert_eq!(unsigned.status, 403, "{unsigned:?}");
    let foreign = [("cookie", zoe.as_str()), FORM, ("origin", "https://evil.example")];
    assert_eq!(hub.send_request("POST", PAGE, &foreign, &form).status, 403);
    assert_eq!((role_of(&hub, "ann"), role_of(&hub, "zoe")), ("user".to_owned(), "operator".to_owned()));
    assert_eq!(try_log_in(&hub, "ann", PASSWORD, "", &[]).status, 303);
}

#[test]
fn a_console_without_logins_gives_none() {
    let home = Home::new();
    let hub = Hub::with_socket(home);
    let added = hub.home.run(["users", "add", "Ann", "--id", "ann"], "");
    assert!(added.status.success(), "{}", added.stderr);
    let page = hub.send_request("GET", PAGE, &[], "");
    assert!(page.status == 200 && !page.body.contains("Login of ann"), "{page:?}");
    let answer = post(&hub, "", PAGE, "user=ann&act=password&role=operator&password=a+long+password");
    assert!(answer.body.contains("needs no login, so it gives none"), "{answer:?}");
    assert_eq!(role_of(&hub, "ann"), "");
}

#[test]
fn with_a_provider_a_role_is_enough() {
    let hub = hub_with_users_and(
        "[openid]\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"a\"\nlabel = \"the shop\"",
    );
    let added = hub.home.run(["users", "add", "Carl", "--id", "carl"], "");
    assert!(added.status.success(), "{}", added.stderr);
    let owner = hub.log_in();
    assert!(get(&hub, &owner, PAGE).body.contains("Let log in at the shop"));
    assert_eq!(post(&hub, &owner, PAGE, "user=carl&act=role&role=viewer").status, 303);
    assert_eq!(role_of(&hub, "carl"), "viewer");
    assert_eq!(try_log_in(&hub, "carl", "", "", &[]).status, 401, "there is no password");
}

#[test]
fn the_forms_are_accessible() {
    let (Some(axe), Some(mut browser)) = (axe(), Browser::start()) else { return };
    let hub = hub_with_users_and(
        "[openid]\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"a\"\nlabel = \"the shop\"",
    );
    let added = hub.home.run(["users", "add", "Carl", "--id", "carl"], "");
    assert!(added.status.success(), "{}", added.stderr);
    let address = |path: &str| format!("http://{}{path}", hub.address);
    let link = hub.login_link();
    for (width, dark) in [(1280, false), (390, true)] {
        browser.set_window(width, 900, dark);
        browser.open(&address("/login"));
        assert_accessible(&mut browser, &axe, "the login");
        browser.open(&address(&link));
        browser.open(&address("/settings/access"));
        browser.evaluate("document.querySelectorAll('details.login').forEach((one) => { one.open = true; })");
        let scrolled = browser.evaluate(&format!("document.documentElement.scrollWidth > {width}"));
        assert_eq!(scrolled, false, "the page is wider than the window");
        assert_accessible(&mut browser, &axe, "the forms");
    }
}
