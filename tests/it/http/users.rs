//! Users who log in to the console with a password: what each role may do, and what no agent and no other site may.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::client::{Answer, Hub};
use crate::support::{DEADLINE, Home, Peer, wait, wait_for};

pub(super) const PASSWORD: &str = "correct horse battery";

pub(super) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A hub with the users ann and bob (role user, both in the group `backend`), zoe (operator) and vera (viewer).
pub(super) fn hub_with_users() -> Hub {
    hub_with_users_and("")
}

/// The same, with these sections in the `config.toml` too.
pub(super) fn hub_with_users_and(sections: &str) -> Hub {
    let home = Home::new();
    let shop = home.path().join("shop");
    std::fs::create_dir_all(shop.join("prices")).unwrap();
    let shop = shop.to_str().unwrap();
    let settings = format!(
        "[questions]\ngroups = {{ backend = [\"ann\", \"bob\"] }}\nfor_folders = {{ {shop:?} = \"@backend\" }}\n{sections}"
    );
    let hub = Hub::locked_in(home, &settings);
    for (id, role) in [("ann", "user"), ("bob", "user"), ("zoe", "operator"), ("vera", "viewer")] {
        let added = hub.home.run(["users", "add", "--id", id, id], "");
        assert!(added.status.success(), "{}", added.stderr);
        let set = hub.home.run(["users", "password", id, "--role", role], format!("{PASSWORD}\n"));
        assert!(set.status.success(), "{}", set.stderr);
    }
    hub
}

/// The value of the hidden field `csrf` of a page.
pub(super) fn csrf(page: &Answer) -> &str {
    page.body.split("name=\"csrf\" value=\"").nth(1).expect(&page.body).split('"').next().unwrap()
}

/// Sends the form of the login.
pub(super) fn try_log_in(
    hub: &Hub,
    user: &str,
    password: &str,
    more: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let page = hub.send_request("GET", "/login", &[], "");
    assert_eq!(page.status, 200, "{page:?}");
    let form = format!("csrf={}&user={user}&password={}{more}", csrf(&page), password.replace(' ', "+"));
    hub.send_request("POST", "/login", &[&[FORM], headers].concat(), &form)
}

/// Logs a user in and returns the cookie.
pub(super) fn log_in(hub: &Hub, user: &str) -> String {
    let answer = try_log_in(hub, user, PASSWORD, "", &[]);
    assert_eq!((answer.status, answer.header("location")), (303, "/"), "{answer:?}");
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

pub(super) fn get(hub: &Hub, cookie: &str, path: &str) -> Answer {
    hub.send_request("GET", path, &[("cookie", cookie)], "")
}

pub(super) fn post(hub: &Hub, cookie: &str, path: &str, form: &str) -> Answer {
    let page = get(hub, cookie, "/");
    let form = format!("csrf={}&{form}", csrf(&page));
    hub.send_request("POST", path, &[("cookie", cookie), FORM], &form)
}

/// Asks a question from a script that waits for its answer.
fn ask(hub: &Hub, title: &str, arguments: &[&str]) -> Child {
    ask_in(hub, ".", title, arguments)
}

/// Asks in a folder of the home.
fn ask_in(hub: &Hub, folder: &str, title: &str, arguments: &[&str]) -> Child {
    let words = ["ask", "--json", "--title", title, "--option", "Yes=yes", "--option", "No=no"];
    let mut command = hub.home.adjutant(words.iter().chain(arguments));
    command.current_dir(hub.home.path().join(folder));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The path of the question with this title, as the owner of the hub sees it.
fn path_of(hub: &Hub, owner: &str, title: &str) -> String {
    wait_for("the question is in the Inbox", || {
        let list = get(hub, owner, "/questions").body;
        let found = list.split("href=\"").filter(|link| link.starts_with("/questions/q"));
        let paths: Vec<String> = found.filter_map(|link| Some(link.split('"').next()?.to_owned())).collect();
        paths.into_iter().find(|path| get(hub, owner, path).body.contains(&format!("<h1>{title}</h1>")))
    })
}

#[test]
fn each_role_does_what_its_table_says() {
    let hub = hub_with_users();
    let owner = hub.log_in();
    let cookies = ["ann", "zoe", "vera"].map(|user| log_in(&hub, user));
    let unknown = "/questions/q00000000000000000000";
    // Path, then the status for a user, an operator and a viewer. 404 and 303 are answers of the page itself.
    for (method, path, form, expected) in [
        ("GET", "/", "", [200, 200, 200]),
        ("GET", "/questions", "", [200, 200, 200]),
        ("GET", unknown, "", [404, 404, 404]),
        ("GET", "/prompts", "", [200, 200, 200]),
        ("GET", "/tasks", "", [200, 200, 200]),
        ("GET", "/agents", "", [200, 200, 200]),
        ("GET", "/timeline", "", [403, 200, 403]),
        ("GET", "/history", "", [200, 200, 200]),
        ("GET", "/history/questions.jsonl", "", [200, 200, 200]),
        ("GET", "/settings/access", "", [403, 200, 403]),
        ("GET", "/settings", "", [403, 200, 403]),
        ("GET", "/calendar", "", [403, 200, 403]),
        ("GET", "/codex", "", [403, 200, 403]),
        ("GET", "/find", "", [403, 200, 403]),
        ("POST", unknown, "act=answer", [404, 404, 403]),
        ("POST", "/questions/approvals", "act=approve&made=0", [200, 200, 403]),
        ("POST", "/questions/availability", "availability=here", [403, 303, 403]),
        // A role in a form or a query is worth nothing.
        ("POST", "/questions/availability", "availability=here&role=operator&user=zoe", [403, 303, 403]),
        ("GET", "/settings?role=operator", "", [403, 200, 403]),
        ("POST", "/tasks", "agent=x", [403, 0, 403]),
        ("POST", "/settings/notifications", "user=ann", [403, 0, 403]),
    ] {
        for (cookie, expected) in cookies.iter().zip(expected) {
            let answer = match method {
                "GET" => get(&hub, cookie, path),
                _ => post(&hub, cookie, path, form),
            };
            let fits = if expected == 0 { answer.status != 403 } else { answer.status == expected };
            assert!(fits, "{method} {path} {form}: {} instead of {expected}", answer.status);
        }
    }
    let page = get(&hub, &cookies[0], "/").body;
    assert!(page.contains("ann (user)") && !page.contains("href=\"/settings\""), "{page}");
    for words in ["Recent activity", "name=\"availability\"", "/timeline", "/find"] {
        assert!(!page.contains(words), "{words}: {page}");
    }
    assert!(get(&hub, &cookies[1], "/").body.contains("Recent activity"));
    // Nobody else than a user or the owner sees anything; the form says nothing about users.
    let stranger = hub.send_request("GET", "/questions", &[], "");
    assert!(stranger.status == 401 && stranger.body.contains("action=\"/login\""), "{stranger:?}");
    let token = format!("Bearer {}", hub.token());
    for (method, path) in [("GET", "/"), ("POST", "/questions/approvals"), ("POST", unknown)] {
        let answer = hub.send_request(method, path, &[("authorization", &token)], "");
        assert_eq!(answer.status, 401, "a token of an agent opens no page: {method} {path}");
    }
    assert_eq!(get(&hub, &owner, "/settings").status, 200);
}

#[test]
fn a_question_for_a_user_or_a_group_is_for_nobody_else() {
    let hub = hub_with_users();
    let owner = hub.log_in();
    let [ann, bob, zoe, vera] = ["ann", "bob", "zoe", "vera"].map(|user| log_in(&hub, user));
    let for_ann = ask(&hub, "Only for Ann?", &["--for", "ann"]);
    // The folder around it says so.
    let for_group = ask_in(&hub, "shop/prices", "For the group?", &[]);
    let for_all = ask(&hub, "For everybody?", &[]);
    let [own, group, all] =
        ["Only for Ann?", "For the group?", "For everybody?"].map(|title| path_of(&hub, &owner, title));

    // Question, then for ann, bob, zoe and vera whether each sees it.
    for (path, title, expected) in [
        (&own, "Only for Ann?", [true, false, true, false]),
        (&group, "For the group?", [true, true, true, false]),
        (&all, "For everybody?", [true, true, true, true]),
    ] {
        for (cookie, sees) in [&ann, &bob, &zoe, &vera].into_iter().zip(expected) {
            let page = get(&hub, cookie, path);
            assert_eq!(page.status, if sees { 200 } else { 404 }, "{title} {cookie}");
            assert!(sees || !page.body.contains(title));
            for list in ["/", "/questions", "/questions?q=for", "/questions/approvals", &all] {
                let page = get(&hub, cookie, list);
                assert!(sees || !page.body.contains(title), "{list} shows {title} to {cookie}");
                assert!(sees || !page.body.contains(path.as_str()), "{list} names {title} to {cookie}");
            }
            assert_eq!(get(&hub, cookie, "/questions").body.contains(title), sees, "{title} {cookie}");
        }
    }
    // Not theirs: it is unknown, or it stays pending.
    let yes = "act=answer&made=0&calls=1&f0=0";
    for (cookie, path, status) in
        [(&bob, &own, 404), (&vera, &own, 403), (&vera, &all, 403), (&ann, &all, 403), (&bob, &all, 403)]
    {
        assert!(!get(&hub, cookie, path).body.contains("name=\"act\""), "no form that would be refused");
        for form in [yes, "act=decline&made=0", "act=dismiss&made=0", "act=snooze&made=0&minutes=5"] {
            assert_eq!(post(&hub, cookie, path, form).status, status, "{cookie} {path} {form}");
        }
        assert_ne!(post(&hub, cookie, &format!("{path}/undo"), "").status, 500);
        assert_eq!(get(&hub, cookie, &format!("{path}/files/0")).status, 404);
    }
    for path in [&own, &group, &all] {
        assert!(get(&hub, &owner, path).body.contains("name=\"act\""), "{path} is still pending");
    }

    for (cookie, user, path, mut asker) in
        [(&ann, "ann", &own, for_ann), (&bob, "bob", &group, for_group), (&zoe, "zoe", &all, for_all)]
    {
        let answered = post(&hub, cookie, path, yes);
        assert_eq!(answered.status, 303, "{user}: {answered:?}");
        assert!(wait(&mut asker, DEADLINE).success(), "{user}");
        let ticket = path.rsplit('/').next().unwrap();
        let shown = hub.home.run(["questions", "show", ticket, "--json"], "").stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert!(shown.to_string().contains(&format!("\"user\":\"{user}\"")), "{shown}");
        let page = get(&hub, &owner, path).body;
        assert!(page.contains(&format!("by {user} in the browser")), "{page}");
    }
    let exported = get(&hub, &owner, "/history/questions.csv").body;
    let deciders = exported.lines().skip(1).filter_map(|line| line.rsplit(',').next());
    let deciders: BTreeSet<&str> = deciders.map(|cell| cell.trim_matches('"')).collect();
    assert_eq!(deciders, BTreeSet::from(["ann", "bob", "zoe"]), "{exported}");
    for (addressee, hint) in [("@nobody", "@backend"), ("nobody", "adjutant users list"), ("a|b", "`a|b`")] {
        let refused = hub.home.run(["ask", "--title", "Who?", "--for", addressee], "");
        assert!(refused.status.code() == Some(1) && refused.stderr.contains(hint), "{}", refused.stderr);
    }
}

#[test]
fn a_login_withstands_guesses_other_sites_and_old_cookies() {
    let hub = hub_with_users();
    // Another site, and a form that is not the console's.
    let foreign = try_log_in(&hub, "ann", PASSWORD, "", &[("origin", "https://evil.example")]);
    assert_eq!((foreign.status, foreign.header("set-cookie")), (403, ""), "{foreign:?}");
    let unsigned = format!("user=ann&password={}", PASSWORD.replace(' ', "+"));
    let unsigned = hub.send_request("POST", "/login", &[FORM], &unsigned);
    assert_eq!((unsigned.status, unsigned.header("set-cookie")), (403, ""), "{unsigned:?}");
    // The token of that form, which any browser gets, is good for no other form.
    let bob = log_in(&hub, "bob");
    let page = hub.send_request("GET", "/login", &[], "");
    let form = format!("csrf={}", csrf(&page));
    assert_eq!(hub.send_request("POST", "/logout", &[("cookie", &bob), FORM], &form).status, 403);
    let page = get(&hub, &bob, "/");
    let form = format!("csrf={}&user=ann&password={}", csrf(&page), PASSWORD.replace(' ', "+"));
    assert_eq!(hub.send_request("POST", "/login", &[FORM], &form).status, 403);
    let long = "x".repeat(20 * 1024);
    assert_eq!(hub.send_request("POST", "/login", &[FORM], &long).status, 413);

    // The page after the login is one of the hub.
    let own = "/questions/q00000000000000000000";
    for (next, location) in [
        (own, own),
        ("//evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/%5Cevil.example", "/"),
        ("/settings", "/"),
        ("/questions/x%0D%0Aset-cookie:+a=b", "/"),
    ] {
        let answer = try_log_in(&hub, "ann", PASSWORD, &format!("&next={next}"), &[]);
        assert_eq!((answer.status, answer.header("location")), (303, location), "{next}: {answer:?}");
    }

    // A cookie that a browser had before the login is worth nothing after it.
    let first = log_in(&hub, "ann");
    let fixed = try_log_in(&hub, "ann", PASSWORD, "", &[("cookie", &first)]);
    let second = fixed.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_ne!(first, second);
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/;"] {
        assert!(fixed.header("set-cookie").contains(part), "{fixed:?}");
    }
    // Of another user, a later end, the owner's: the seal holds them all.
    let parts: Vec<&str> = first.split('.').collect();
    let name_of = |user: &str| adjutant_base::text::hex::encode(user.as_bytes());
    for (at, other) in [(1, "99999999999".to_owned()), (3, "9".to_owned()), (4, name_of("zoe"))] {
        let mut forged: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        forged[at] = other;
        assert_eq!(get(&hub, &forged.join("."), "/").status, 401, "{forged:?}");
    }
    assert_eq!(get(&hub, &first.replace("=u.", "="), "/").status, 401);

    // Each change ends the logins before it, and its stream too.
    let change = |words: &[&str], stdin: &str| {
        let done = hub.home.run(words, stdin);
        assert!(done.status.success(), "{}", done.stderr);
    };
    assert_eq!(get(&hub, &first, "/").status, 200);
    change(&["users", "role", "ann", "viewer"], "");
    assert_eq!(get(&hub, &first, "/").status, 401);
    let third = log_in(&hub, "ann");
    change(&["users", "password", "ann"], "another password\n");
    assert_eq!(get(&hub, &third, "/").status, 401);
    assert_eq!(try_log_in(&hub, "ann", PASSWORD, "", &[]).status, 401);
    let [bob, other] = [(); 2].map(|()| log_in(&hub, "bob"));
    assert_eq!(post(&hub, &bob, "/logout", "").status, 303);
    assert!([bob, other].iter().all(|cookie| get(&hub, cookie, "/").status == 401), "in all browsers");
    change(&["users", "lock", "zoe"], "");
    assert_eq!(try_log_in(&hub, "zoe", PASSWORD, "", &[]).status, 401);
    let vera = log_in(&hub, "vera");
    change(&["users", "remove", "vera"], "");
    assert_eq!(get(&hub, &vera, "/").status, 401);

    // Guesses: the same answer for a user without a login, then a pause, also for the right password.
    let texts = ["bob", "nobody"].map(|user| {
        let answers = [(); 3].map(|()| try_log_in(&hub, user, "wrong", "", &[]));
        assert!(answers.iter().all(|answer| answer.status == 401), "{answers:?}");
        let locked = try_log_in(&hub, user, PASSWORD, "", &[]);
        assert_eq!((locked.status, locked.header("set-cookie")), (429, ""), "{locked:?}");
        answers[0].body.split("role=\"alert\"").nth(1).unwrap().split("</div>").next().unwrap().to_owned()
    });
    assert_eq!(texts[0], texts[1]);
    assert!(!hub.log().contains(PASSWORD) && !hub.log().contains("wrong&"), "{}", hub.log());
}

#[test]
fn a_process_of_an_agent_cannot_log_in_as_a_user_or_give_itself_a_login() {
    let hub = hub_with_users();
    // The test's process starts the relay, so it is an agent from now on.
    let mut agent = Peer::start(&mut hub.home.adjutant(["connect", "questions"]));
    agent.initialize("2025-11-25");
    let refused = try_log_in(&hub, "ann", PASSWORD, "", &[]);
    assert_eq!((refused.status, refused.header("set-cookie")), (403, ""), "{refused:?}");
    assert!(refused.body.contains("An agent started this program"), "{refused:?}");
    for words in
        [&["users", "password", "ann"][..], &["users", "role", "vera", "operator"], &["users", "lock", "zoe"]]
    {
        let run = hub.home.run(words, "a password of the agent\n");
        assert!(run.status.code() == Some(1) && run.stderr.contains("counts as an agent"), "{}", run.stderr);
    }
    // Nor curl below it.
    let page = hub.send_request("GET", "/login", &[], "");
    let form = format!("csrf={}&user=ann&password={}", csrf(&page), PASSWORD.replace(' ', "+"));
    let url = format!("http://{}/login", hub.address);
    let mut run = Command::new("curl");
    run.args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-d", &form, &url]);
    assert_eq!(run.output().unwrap().stdout, b"403");
}
