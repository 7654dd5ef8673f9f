//! Notifications of the users whom a question names: one, a group, and the default of a folder.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::fixtures::{Hub, User};
use crate::support::http_server::{HttpServer, Request};
use crate::support::ntfy::Ntfy;
use crate::support::postgres::Postgres;
use crate::support::serving::Serving;
use crate::support::{Home, wait_for};

/// The phone of the owner, mails, a group, and a folder of Bob.
fn settings(ntfy: &Ntfy, shop: &Path) -> String {
    format!(
        "undo_milliseconds = 0\ngroups = {{ backend = [\"ann\", \"bob\"] }}\nfor_folders = {{ \"{}\" = \"bob\" }}\n\
         [ntfy]\nserver = \"{}\"\ntopic = \"bell\"\n[notifications]\nmail = \"folder:mail\"\n",
        shop.display(),
        ntfy.url()
    )
}

/// Adds Ann with a phone and mail, Bob with a webhook, and Carl, whom nothing reaches.
fn add_users(home: &Home, webhook: &HttpServer) {
    let url = format!("http://{}/asked", webhook.address);
    let users: [&[&str]; 3] = [
        &["Ann", "--id", "ann", "--email", "ann@example.org", "--ntfy", "bell-of-ann"],
        &["Bob", "--id", "bob", "--email", "bob@example.org", "--channels", "popup", "--webhook", &url],
        &["Carl", "--id", "carl"],
    ];
    for user in users {
        let added = home.run([&["users", "add"], user].concat(), "");
        assert!(added.status.success(), "{added}");
    }
}

/// `adjutant ask`s that wait for their answers, and end with the test.
#[derive(Default)]
struct Scripts(Vec<Child>);

impl Scripts {
    /// Asks in a folder of the home; only scripts may name whom they ask.
    fn ask(&mut self, home: &Home, folder: &str, title: &str, more: &[&str]) {
        let folder = home.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let mut command = home.adjutant([&["ask", "--title", title, "--option", "Yes=yes"], more].concat());
        let script = command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        self.0.push(script.unwrap());
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        for script in &mut self.0 {
            let _ = script.kill();
            let _ = script.wait();
        }
    }
}

/// Returns the topic and the end of the title of the next notice of a phone.
fn next_notice(ntfy: &Ntfy) -> (String, String) {
    let notice = ntfy.next_notification();
    assert_eq!(notice["actions"], json!([]), "a button would answer for the owner");
    let title = notice["title"].as_str().unwrap().rsplit("asks: ").next().unwrap().to_owned();
    (notice["topic"].as_str().unwrap().to_owned(), title)
}

/// Returns the mails as text.
fn mails(home: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(home.join(".adjutant/mail")) else { return Vec::new() };
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "eml"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn a_question_notifies_whom_it_names_and_the_owner_if_it_names_nobody() {
    let (ntfy, webhook) = (Ntfy::start(), HttpServer::start(&[]));
    let home = Home::new();
    let settings = settings(&ntfy, &home.path().join("shop"));
    home.write(".adjutant/config.toml", format!("[questions]\n{settings}"));
    add_users(&home, &webhook);
    let serving = Serving::open_hub(&home);
    let hub = Hub { home, serving };
    let mut scripts = Scripts::default();
    let notice = |topic: &str, title: &str| (topic.to_owned(), title.to_owned());
    let hooked = |number: usize| {
        let requests = wait_for("the webhook", || Some(webhook.requests()).filter(|all| all.len() >= number));
        serde_json::from_str::<Value>(&requests[number - 1].body).unwrap()
    };
    let mailed = |title: &str| {
        let is_about = |mail: &String| mail.contains(title) && mail.contains("\r\nTo: Ann <ann@example.org>");
        wait_for("the mail", || mails(hub.home.path()).into_iter().find(is_about))
    };

    scripts.ask(&hub.home, "a", "Ann alone?", &["--for", "ann"]);
    assert_eq!(next_notice(&ntfy), notice("bell-of-ann", "Ann alone?"));
    let mail = mailed("Ann alone?");
    assert!(mail.contains("Answer in the Inbox.") && !mail.contains("127.0.0.1"), "{mail}");
    scripts.ask(&hub.home, "a", "Nobody?", &[]);
    assert_eq!(next_notice(&ntfy), notice("bell", "Nobody?"), "the owner was not notified before");
    scripts.ask(&hub.home, "a", "The group?", &["--for", "@backend"]);
    assert_eq!(next_notice(&ntfy), notice("bell-of-ann", "The group?"));
    mailed("The group?");
    let body = hooked(1);
    let question = User::wait_for_question(&hub.home, "The group?");
    assert_eq!(
        (&body["id"], &body["user_id"], &body["link"]),
        (&question["ticket"], &json!("bob"), &Value::Null)
    );
    assert!(body["subject"].as_str().unwrap().ends_with("asks: The group?"), "{body}");
    scripts.ask(&hub.home, "shop/checkout", "The folder?", &[]);
    assert!(hooked(2)["subject"].as_str().unwrap().ends_with("The folder?"));
    // Nobody else would be notified of a question for a user whom nothing reaches.
    scripts.ask(&hub.home, "a", "Is Carl there?", &["--for", "carl"]);
    assert_eq!(next_notice(&ntfy), notice("bell", "Is Carl there?"));
    let mails = mails(hub.home.path());
    assert_eq!(mails.len(), 2, "Bob prefers no mail: {mails:?}");
    assert_eq!(webhook.requests().len(), 2);
    let shown = hub.serving.page(&format!("/questions/{}", question["ticket"].as_str().unwrap()));
    for text in ["Rang on the phone of ann", "Rang by mail of ann", "Rang by webhook of bob"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[test]
fn hubs_with_one_inbox_notify_each_user_once() {
    let Some(server) = Postgres::start() else { return };
    let (ntfy, webhook) = (Ntfy::start(), HttpServer::start(&[]));
    let hubs =
        [(); 2].map(|()| Hub::configured(&server.url("postgres"), &settings(&ntfy, Path::new("/srv/shop"))));
    add_users(&hubs[0].home, &webhook);
    let mut scripts = Scripts::default();
    // The questions stay pending, so each hub looks at those of the other with its own.
    for round in 0..4 {
        let title = format!("Round {round}?");
        scripts.ask(&hubs[round % 2].home, "a", &title, &["--for", "@backend"]);
        assert_eq!(next_notice(&ntfy), ("bell-of-ann".to_owned(), title.clone()), "once for both hubs");
        let is_about = |request: &Request| request.body.contains(&title);
        wait_for("the webhook", || webhook.requests().iter().any(is_about).then_some(()));
    }
    for (hub, title) in hubs.iter().zip(["First owner?", "Second owner?"]) {
        scripts.ask(&hub.home, "a", title, &[]);
        assert_eq!(next_notice(&ntfy), ("bell".to_owned(), title.to_owned()));
    }
    assert_eq!(webhook.requests().len(), 4);
    let mails: usize = hubs.iter().map(|hub| mails(hub.home.path()).len()).sum();
    assert_eq!(mails, 4);
}
