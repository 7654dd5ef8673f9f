//! Logins by OpenID Connect at a real provider: npm's `oidc-provider`, on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use super::client::{Answer, Hub, Stream};
use super::users::{get, hub_with_users_and, post, try_log_in};
use crate::support::chromium::{Browser, Key};
use crate::support::real_clients::{is_excluded, node, packages};
use crate::support::{DEADLINE, Home, Peer};

const SECRET: &str = "a secret+with/signs=";

/// The provider; it ends with the value.
struct OidcProvider {
    child: Child,
    lines: Receiver<String>,
    issuer: String,
}

impl OidcProvider {
    /// Starts a provider that signs with this algorithm; `None` when `ADJUTANT_TEST_WITHOUT` names npm.
    fn start(algorithm: &str) -> Option<Self> {
        if is_excluded("npm") {
            return None;
        }
        let script = format!("{}/tests/clients/openid_provider.mjs", env!("CARGO_MANIFEST_DIR"));
        let mut child = std::process::Command::new(node())
            .arg(script)
            .arg(packages())
            .arg(algorithm)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let issuer = lines.recv_timeout(DEADLINE).unwrap();
        Some(Self { child, lines, issuer })
    }

    fn command(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        assert_eq!(self.lines.recv_timeout(DEADLINE).unwrap(), "done");
    }

    /// A hub with users that is registered at this provider.
    fn hub(&mut self, more: &str) -> Hub {
        let hub = hub_with_users_and(&format!(
            "[openid]\nissuer = {:?}\nclient_id = \"adjutant\"\nclient_secret_file = \"openid.secret\"\n\
             label = \"the shop\"\n{more}",
            self.issuer
        ));
        hub.home.write(".adjutant/openid.secret", SECRET);
        self.command(&format!("register http://{}/login/openid/callback", hub.address));
        hub
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The path of the link on the page of the login.
pub(super) fn address_of_login(hub: &Hub) -> String {
    let page = hub.send_request("GET", "/login", &[], "");
    let link = page.body.split("id=\"openid\" href=\"").nth(1).expect(&page.body).split('"').next().unwrap();
    link.replace("&amp;", "&").replace("&#x2f;", "/")
}

/// What a page says went wrong.
pub(super) fn fault(answer: &Answer) -> String {
    let part = answer.body.split("id=\"fault\" role=\"alert\"><p>").nth(1).unwrap_or_default();
    part.split("</p>").next().unwrap().replace("&#x2f;", "/").replace("&#x27;", "'")
}

/// The fields of the query of an address, decoded.
pub(super) fn query(address: &str) -> BTreeMap<String, String> {
    let (_, query) = address.split_once('?').unwrap_or_else(|| panic!("no query: {address:?}"));
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                b'+' => b' ',
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    };
    let fields = query.split('&').filter_map(|field| field.split_once('='));
    fields.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

/// A browser without script: it keeps cookies by host and follows no redirect by itself.
#[derive(Default)]
struct Person {
    cookies: BTreeMap<(String, String), String>,
}

impl Person {
    fn open(&mut self, method: &str, url: &str, form: &str) -> Answer {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let cookies = self.cookies.iter().filter(|((of, _), _)| of == host);
        let cookies: Vec<String> = cookies.map(|((_, name), value)| format!("{name}={value}")).collect();
        let mut request = format!(
            "{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncookie: {}\r\n",
            cookies.join("; ")
        );
        if !form.is_empty() {
            request += "content-type: application/x-www-form-urlencoded\r\n";
            request += &format!("content-length: {}\r\n", form.len());
        }
        request += &format!("\r\n{form}");
        let address = host.replace("localhost", "127.0.0.1").parse().unwrap();
        let answer = Stream::open(address, request.as_bytes()).whole();
        for line in answer.head.lines() {
            let Some((name, cookie)) = line.split_once(": ") else { continue };
            if name.eq_ignore_ascii_case("set-cookie") {
                let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
                self.cookies.insert((host.to_owned(), name.to_owned()), value.to_owned());
            }
        }
        answer
    }

    /// Follows the link of the login to the provider, says who this is there, and returns the address to which the provider sends
    /// the browser back.
    fn callback_of(&mut self, hub: &Hub, form: &str) -> String {
        let console = format!("http://{}/", hub.address);
        let begun =
            self.open("GET", &format!("{}{}", &console[..console.len() - 1], address_of_login(hub)), "");
        let mut url = begun.header("location").to_owned();
        for _ in 0..10 {
            if url.starts_with(&console) {
                return url;
            }
            let mut answer = self.open("GET", &url, "");
            if answer.status == 200 {
                assert!(answer.body.contains("<title>Provider</title>"), "{answer:?}");
                answer = self.open("POST", &url, form);
            }
            let next = answer.header("location");
            assert!(!next.is_empty(), "{url}: {answer:?}");
            let origin = url.split('/').take(3).collect::<Vec<_>>().join("/");
            url = if next.starts_with('/') { format!("{origin}{next}") } else { next.to_owned() };
        }
        panic!("too many redirects: {url}");
    }

    fn log_in(&mut self, hub: &Hub, form: &str) -> Answer {
        let callback = self.callback_of(hub, form);
        self.open("GET", &callback, "")
    }

    fn cookie_of(&self, hub: &Hub) -> String {
        let value = &self.cookies[&(hub.address.to_string(), "adjutant_login".to_owned())];
        format!("adjutant_login={value}")
    }
}

#[test]
fn a_user_logs_in_at_a_provider_with_each_algorithm() {
    for algorithm in ["RS256", "PS256", "ES256", "ES384", "EdDSA"] {
        let Some(mut provider) = OidcProvider::start(algorithm) else { return };
        let hub = provider.hub("");
        let page = hub.send_request("GET", "/login", &[], "").body;
        assert!(page.contains("Log in with the shop") && page.contains("name=\"password\""), "{page}");
        let mut ann = Person::default();
        let answer = ann.log_in(&hub, "login=ann");
        assert_eq!((answer.status, answer.header("refresh")), (200, "0; url=/"), "{algorithm}: {answer:?}");
        let console = ann.open("GET", &format!("http://{}/", hub.address), "");
        assert!(console.status == 200 && console.body.contains("ann (user)"), "{console:?}");
        assert_eq!(get(&hub, &ann.cookie_of(&hub), "/settings").status, 403, "the role is the hub's");
        // The provider's new key is found at the next login.
        provider.command("rotate");
        let answer = Person::default().log_in(&hub, "login=zoe");
        assert_eq!(answer.status, 200, "{algorithm}: {answer:?}");
    }
}

#[test]
fn the_hub_knows_its_users_and_refuses_everybody_else_by_name() {
    let Some(mut provider) = OidcProvider::start("ES256") else { return };
    let hub = provider.hub("");
    let run = |words: &[&str], input: &str| {
        let done = hub.home.run(words, input);
        assert!(done.status.success(), "{}", done.stderr);
    };
    for (name, sentence) in [
        ("mallory", "No user of this hub has the id `mallory`"),
        ("Ann", "No user of this hub has the id `Ann`"),
        ("%3Cb%3Eann", "has the id `&lt;b&gt;ann`"),
    ] {
        let answer = Person::default().log_in(&hub, &format!("login={name}"));
        assert_eq!(answer.status, 403, "{name}: {answer:?}");
        assert!(fault(&answer).contains(sentence), "{name}: {}", fault(&answer));
        assert!(!answer.head.contains("adjutant_login="), "{answer:?}");
    }
    let ended = Person::default().log_in(&hub, "cancel=1");
    assert!(ended.status == 403 && fault(&ended).contains("ended the login: access_denied."), "{ended:?}");

    // A change of the role, and a lock, end the login; a locked user cannot come in again.
    let mut ann = Person::default();
    assert_eq!(ann.log_in(&hub, "login=ann").status, 200);
    run(&["users", "role", "ann", "viewer"], "");
    assert_eq!(get(&hub, &ann.cookie_of(&hub), "/").status, 401);
    assert_eq!(Person::default().log_in(&hub, "login=ann").status, 200);
    run(&["users", "lock", "ann"], "");
    let locked = Person::default().log_in(&hub, "login=ann");
    assert_eq!(locked.status, 403, "{locked:?}");
    let sentence = "The user `ann` may not log in; the owner of the hub, or an operator, gives the user a role: \
                    `adjutant users role ann user`.";
    assert_eq!(fault(&locked), sentence);
    // The command in the sentence lets the user in, without a password.
    run(&["users", "role", "ann", "user"], "");
    assert_eq!(Person::default().log_in(&hub, "login=ann").status, 200);
    assert_eq!(try_log_in(&hub, "ann", "", "", &[]).status, 401);

    // The same answer again, and from another browser.
    let mut ann = Person::default();
    let callback = ann.callback_of(&hub, "login=ann");
    let mut eve = Person::default();
    eve.callback_of(&hub, "login=mallory");
    assert_eq!(eve.open("GET", &callback, "").status, 400, "another browser");
    assert_eq!(ann.open("GET", &callback.replace("state=", "state=0"), "").status, 400, "another state");
    assert_eq!(ann.open("GET", &callback, "").status, 200);
    let replayed = ann.open("GET", &callback, "");
    assert!(replayed.status == 400 && fault(&replayed).contains("was used before"), "{replayed:?}");
    assert!(!hub.log().contains(SECRET));

    // A process of an agent gets no further than anywhere else.
    let mut agent = Peer::start(&mut hub.home.adjutant(["connect", "questions"]));
    agent.initialize("2025-11-25");
    for path in [address_of_login(&hub), callback[callback.find("/login").unwrap()..].to_owned()] {
        let refused = hub.send_request("GET", &path, &[], "");
        assert!(refused.status == 403 && fault(&refused).contains("An agent started this program"));
    }
}

#[test]
fn a_user_is_known_by_a_verified_mail_address() {
    let Some(mut provider) = OidcProvider::start("RS256") else { return };
    let hub = provider.hub("claim = \"email\"");
    for (id, email) in [("ann", "bob@example.org"), ("vera", "mallory@example.org")] {
        let changed = hub.home.run(["users", "edit", id, "--email", email], "");
        assert!(changed.status.success(), "{}", changed.stderr);
    }
    let mut bob = Person::default();
    assert_eq!(bob.log_in(&hub, "login=bob").status, 200);
    assert!(get(&hub, &bob.cookie_of(&hub), "/").body.contains("ann (user)"));
    let answer = Person::default().log_in(&hub, "login=mallory");
    assert!(answer.status == 403 && fault(&answer).contains("not verified your mail address"), "{answer:?}");
    let answer = Person::default().log_in(&hub, "login=zoe");
    assert!(fault(&answer).contains("the mail address `zoe@example.org`"), "{answer:?}");
}

#[test]
fn a_browser_logs_in_across_sites_and_stays_logged_in() {
    let Some(mut provider) = OidcProvider::start("ES256") else { return };
    let Some(mut browser) = Browser::start() else { return };
    let hub = provider.hub("");
    browser.open(&format!("http://{}/", hub.address));
    browser.evaluate("document.getElementById('openid').focus()");
    browser.press(Key::Enter);
    browser.wait_until_loaded();
    assert_eq!(browser.evaluate("document.title"), "Provider");
    browser.evaluate("document.getElementById('login').focus()");
    browser.type_text("zoe");
    browser.press(Key::Enter);
    // The page that the provider sends the browser back to, and the one that it opens.
    browser.wait_until_loaded();
    browser.wait_until_loaded();
    let text = browser.evaluate("document.body.innerText");
    assert!(text.as_str().unwrap().contains("zoe (operator)"), "{text}");
    assert_eq!(browser.evaluate("location.pathname"), "/");
    let cookie = browser.evaluate("document.cookie");
    assert_eq!(cookie, "", "no script reads the cookie");
}

#[test]
fn an_issuer_that_is_not_there_is_named() {
    let hub = hub_with_users_and("[openid]\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"adjutant\"");
    let answer = hub.send_request("GET", &address_of_login(&hub), &[], "");
    assert!(answer.status == 502 && fault(&answer).contains("127.0.0.1 cannot be reached"), "{answer:?}");
    // A password logs in all the same.
    let cookie = super::users::log_in(&hub, "zoe");
    assert_eq!(post(&hub, &cookie, "/logout", "").status, 303);
}

#[test]
fn a_wrong_section_is_refused_at_the_start() {
    for (section, sentence) in [
        ("issuer = \"http://id.example.org\"\nclient_id = \"a\"", "must start with https://"),
        ("issuer = \"https://id.example.org\"", "belong together"),
        ("client_id = \"a\"", "belong together"),
        ("issuer = \"https://id.example.org\"\nclient_id = \" \"", "`client_id` is empty"),
        ("claim = \"\"", "must not be empty"),
    ] {
        let home = Home::new();
        home.write(".adjutant/config.toml", format!("[openid]\n{section}\n"));
        let run = home.run(["serve", "--http", "off"], "");
        assert!(!run.status.success() && run.stderr.contains(sentence), "{section}: {}", run.stderr);
    }
}
