//! Logins by OpenID Connect with an issuer that makes mistakes or lies, and browsers that bring back what they should not.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::{Answer, Hub};
use super::openid::{address_of_login, fault, query};
use super::users::{get, hub_with_users_and};
use crate::support::DEADLINE;
use crate::support::openid_issuer::{DISCOVERY, FakeIssuer, KEYS, Key, TOKEN, message, now, sign_shared};

const SECRET: &str = "the secret of the hub";

/// Makes another token from a signed one.
type Forger<'a> = Box<dyn Fn(&str) -> String + 'a>;

/// A hub with users that trusts the issuer.
fn hub_of(issuer: &FakeIssuer, more: &str) -> Hub {
    let section = format!("[openid]\nissuer = {:?}\nclient_id = \"adjutant\"\n{more}", issuer.url());
    hub_with_users_and(&section)
}

/// A login that began: the cookie of the browser and the query of the issuer's page.
struct Begun {
    cookie: String,
    state: String,
    nonce: String,
}

fn begin(hub: &Hub) -> Begun {
    let answer = hub.send_request("GET", &address_of_login(hub), &[], "");
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.header("set-cookie");
    for part in ["adjutant_openid=", "; HttpOnly", "; SameSite=Lax", "; Path=/;", "Max-Age=600"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let fields = query(answer.header("location"));
    assert_eq!(fields["response_type"], "code");
    assert_eq!(fields["code_challenge_method"], "S256");
    assert_eq!(fields["tenant"], "shop", "the issuer's own query stays");
    assert_eq!(fields["redirect_uri"], format!("http://{}/login/openid/callback", hub.address));
    let cookie = cookie.split(';').next().unwrap().to_owned();
    Begun { cookie, state: fields["state"].clone(), nonce: fields["nonce"].clone() }
}

/// Comes back from the issuer.
fn come_back(hub: &Hub, begun: &Begun, query: &str) -> Answer {
    let path = format!("/login/openid/callback?state={}&{query}", begun.state);
    hub.send_request("GET", &path, &[("cookie", &begun.cookie)], "")
}

/// Logs in with a token that is made for the nonce.
fn log_in_with(hub: &Hub, issuer: &FakeIssuer, token: impl Fn(&str) -> String) -> Answer {
    let begun = begin(hub);
    issuer.grant(&token(&begun.nonce));
    come_back(hub, &begun, "code=of-this-login")
}

fn assert_refused(answer: &Answer, status: u16, sentence: &str, what: &str) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert!(fault(answer).contains(sentence), "{what}: {}", fault(answer));
    assert!(!answer.head.contains("adjutant_login="), "{what}: {answer:?}");
}

#[test]
fn only_a_right_token_of_the_issuers_own_key_logs_in() {
    let (issuer, curve, edwards) = (FakeIssuer::start(), Key::curve("one"), Key::edwards("two"));
    let foreign = Key::curve("one");
    issuer.publish(&[&curve, &edwards]);
    let hub = hub_of(&issuer, "");
    for key in [&curve, &edwards] {
        let answer = log_in_with(&hub, &issuer, |nonce| key.sign(&issuer.claims(nonce)));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let with = |name: &str, value: Value| {
        let (issuer, curve, name) = (&issuer, &curve, name.to_owned());
        move |nonce: &str| {
            let mut claims = issuer.claims(nonce);
            match &value {
                Value::Null => _ = claims.as_object_mut().unwrap().remove(&name),
                value => claims[&name] = value.clone(),
            }
            curve.sign(&claims)
        }
    };
    // The clocks may differ a little, and a token may be for several programs if it says who asked.
    for token in
        [with("exp", json!(now() - 30)), with("iat", json!(now() + 30)), with("azp", json!("adjutant"))]
    {
        assert_eq!(log_in_with(&hub, &issuer, token).status, 200);
    }
    let wrong: [(&str, &str, Value); 14] = [
        ("exp", "it has expired", json!(now() - 120)),
        ("exp", "is missing or malformed", json!("never")),
        ("exp", "is missing or malformed", Value::Null),
        ("nbf", "it is not valid yet", json!(now() + 600)),
        ("nbf", "is missing or malformed", json!("soon")),
        ("iat", "it was made in the future", json!(now() + 600)),
        ("iat", "it does not say when it was made", Value::Null),
        ("iss", "another issuer made it", json!("https://id.example.org")),
        ("iss", "another issuer made it", json!([issuer.url(), "https://id.example.org"])),
        ("aud", "it is for another program", json!("another")),
        ("aud", "it is for other programs too", json!(["adjutant", "another"])),
        ("azp", "it is for another program", json!("another")),
        ("nonce", "it belongs to another login", json!("0".repeat(64))),
        ("nonce", "it belongs to another login", Value::Null),
    ];
    for (name, sentence, value) in wrong {
        let what = format!("{name}: {value}");
        assert_refused(&log_in_with(&hub, &issuer, with(name, value)), 502, sentence, &what);
    }
    let forged: [(&str, &str, Forger<'_>); 8] = [
        ("no signature", "not a signed token", {
            Box::new(|nonce| format!("{}.", message(&json!({"alg": "none"}), &issuer.claims(nonce))))
        }),
        ("the public key as a shared one", "signed with a shared key", {
            Box::new(|nonce| {
                let header = json!({"alg": "HS256", "kid": "one"});
                sign_shared(curve.public_bytes(), &header, &issuer.claims(nonce))
            })
        }),
        ("the published key as a shared one", "signed with a shared key", {
            Box::new(|nonce| {
                let header = json!({"alg": "HS256", "kid": "one"});
                sign_shared(curve.public.to_string().as_bytes(), &header, &issuer.claims(nonce))
            })
        }),
        ("another key of the same name", "its signature is wrong", {
            Box::new(|nonce| foreign.sign(&issuer.claims(nonce)))
        }),
        ("a key in the token itself", "its signature is wrong", {
            Box::new(|nonce| {
                let header = json!({"alg": "ES256", "kid": "one", "jwk": foreign.public});
                foreign.sign_with(&header, &issuer.claims(nonce))
            })
        }),
        ("another algorithm than that of the key", "its algorithm does not fit", {
            Box::new(|nonce| curve.sign_with(&json!({"alg": "RS256", "kid": "one"}), &issuer.claims(nonce)))
        }),
        ("an unknown extension", "an extension that the hub does not know", {
            Box::new(|nonce| {
                let header = json!({"alg": "ES256", "kid": "one", "crit": ["x"], "x": 1});
                curve.sign_with(&header, &issuer.claims(nonce))
            })
        }),
        ("no token", "not a signed token", Box::new(|_| "token".to_owned())),
    ];
    for (what, sentence, token) in forged {
        assert_refused(&log_in_with(&hub, &issuer, token), 502, sentence, what);
    }
    let log = hub.log();
    assert!(!log.contains("of-this-login") && !log.contains("of-access") && !log.contains("eyJ"), "{log}");
}

#[test]
fn a_login_counts_once_and_in_the_browser_in_which_it_began() {
    let (issuer, key) = (FakeIssuer::start(), Key::curve("one"));
    issuer.publish(&[&key]);
    let hub = hub_of(&issuer, "");
    let unusable = "expired, was used before, or began in another browser";
    let begun = begin(&hub);
    issuer.grant(&key.sign(&issuer.claims(&begun.nonce)));
    let other = begin(&hub);
    for (what, state, cookie) in [
        ("another state", "0".repeat(64), begun.cookie.clone()),
        ("no state", String::new(), begun.cookie.clone()),
        ("another browser", begun.state.clone(), other.cookie.clone()),
        ("a browser without a cookie", begun.state.clone(), "a=b".to_owned()),
    ] {
        let wrong = Begun { cookie, state, nonce: String::new() };
        assert_refused(&come_back(&hub, &wrong, "code=x"), 400, unusable, what);
    }
    assert!(!issuer.requests().iter().any(|request| request.starts_with("POST")), "no code was sent");
    // Two states, a foreign issuer, an act by another site: none of them is the login that began.
    assert_refused(&come_back(&hub, &begun, "code=x&state=y"), 400, unusable, "two states");
    let right = come_back(&hub, &begun, "code=x");
    assert_eq!(right.status, 200, "{right:?}");
    assert_eq!(right.header("refresh"), "0; url=/", "{right:?}");
    let cookies = right.head.lines().filter(|line| line.starts_with("set-cookie: "));
    let cookies: Vec<&str> = cookies.collect();
    assert!(
        cookies.iter().any(|cookie| cookie.contains("adjutant_openid=;") && cookie.contains("Max-Age=0"))
    );
    let login = cookies.iter().find(|cookie| cookie.contains("adjutant_login=")).unwrap();
    assert!(login.contains("; HttpOnly; SameSite=Strict; Path=/;"), "{login}");
    let login = login.strip_prefix("set-cookie: ").unwrap().split(';').next().unwrap();
    assert!(get(&hub, login, "/").body.contains("ann (user)"));
    assert_refused(&come_back(&hub, &begun, "code=x"), 400, unusable, "the same once more");

    let begun = begin(&hub);
    let mixed = come_back(&hub, &begun, "code=x&iss=https://id.example.org");
    assert_refused(&mixed, 502, "another issuer", "the answer of another issuer");
    let begun = begin(&hub);
    let ended = come_back(&hub, &begun, "error=access_denied&error_description=%3Cb%3Ehello");
    assert_refused(&ended, 403, "ended the login: access_denied.", "the person cancelled");
    assert!(!ended.body.contains("hello"), "{ended:?}");
    let begun = begin(&hub);
    let ended = come_back(&hub, &begun, "error=%3Cb%3Ehello");
    assert_refused(&ended, 403, "it does not say why", "an error that is no word");

    // Another site's link begins nothing, and its name for the next page is not taken.
    let link = address_of_login(&hub);
    let (path, _) = link.split_once('?').unwrap();
    for link in [path.to_owned(), format!("{path}?csrf=x&next=/"), format!("{path}?next=//evil.example")] {
        let answer = hub.send_request("GET", &link, &[], "");
        assert_eq!((answer.status, answer.header("set-cookie")), (200, ""), "{answer:?}");
    }
    let answer = hub.send_request("GET", &link.replace("next=/", "next=//evil.example"), &[], "");
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let fields = query(answer.header("location"));
    let (state, nonce) = (fields["state"].clone(), fields["nonce"].clone());
    issuer.grant(&key.sign(&issuer.claims(&nonce)));
    let answer = come_back(&hub, &Begun { cookie, state, nonce }, "code=x");
    assert_eq!(answer.header("refresh"), "0; url=/", "{answer:?}");
    // The name of the console that is registered gets the cookie.
    let port = hub.address.port();
    let elsewhere = hub.send_request("GET", &link, &[("host", &format!("localhost:{port}"))], "");
    assert_eq!((elsewhere.status, elsewhere.header("set-cookie")), (303, ""));
    assert_eq!(elsewhere.header("location"), format!("http://{}{link}", hub.address));
    // A token of an agent logs nobody in.
    let token = format!("Bearer {}", hub.token());
    let answer = hub.send_request("GET", "/login/openid/callback?code=x", &[("authorization", &token)], "");
    assert_refused(&answer, 400, unusable, "a token of an agent");
}

#[test]
fn logins_that_began_are_bounded() {
    let (issuer, key) = (FakeIssuer::start(), Key::curve("one"));
    issuer.publish(&[&key]);
    let hub = hub_of(&issuer, "");
    let first = begin(&hub);
    let link = address_of_login(&hub);
    for _ in 0..256 {
        assert_eq!(hub.send_request("GET", &link, &[], "").status, 303);
    }
    assert_refused(&come_back(&hub, &first, "code=x"), 400, "expired", "the oldest made room");
    let reads = issuer.requests().iter().filter(|request| request.contains(DISCOVERY)).count();
    assert_eq!(reads, 1, "the issuer's addresses are read once");
}

#[test]
fn keys_are_read_again_once_when_a_token_names_an_unknown_one() {
    let (issuer, old, new) = (FakeIssuer::start(), Key::curve("old"), Key::curve("new"));
    issuer.publish(&[&old]);
    let hub = hub_of(&issuer, "");
    let reads = || issuer.requests().iter().filter(|request| request.starts_with("GET /keys ")).count();
    assert_eq!(log_in_with(&hub, &issuer, |nonce| old.sign(&issuer.claims(nonce))).status, 200);
    assert_eq!(reads(), 1);
    issuer.publish(&[&new]);
    for _ in 0..2 {
        assert_eq!(log_in_with(&hub, &issuer, |nonce| new.sign(&issuer.claims(nonce))).status, 200);
        assert_eq!(reads(), 2, "once for the new key");
    }
    let answer = log_in_with(&hub, &issuer, |nonce| old.sign(&issuer.claims(nonce)));
    assert_refused(&answer, 502, "none of its published keys", "a key that was taken back");
    assert_eq!(reads(), 3, "and once for one that is nowhere");
    // Without a name, each key may be the one.
    issuer.publish(&[&old, &new]);
    let nameless = |nonce: &str| new.sign_with(&json!({"alg": "ES256"}), &issuer.claims(nonce));
    assert_eq!(log_in_with(&hub, &issuer, nameless).status, 200);
}

#[test]
fn an_issuer_that_is_down_or_wrong_costs_a_sentence_and_no_secret() {
    let (issuer, key) = (FakeIssuer::start(), Key::curve("one"));
    issuer.publish(&[&key]);
    let hub = hub_of(&issuer, "client_secret_file = \"openid.secret\"");
    let begin_badly = |sentence: &str, what: &str| {
        let answer = hub.send_request("GET", &address_of_login(&hub), &[], "");
        assert_refused(&answer, 502, sentence, what);
        assert_eq!(answer.header("set-cookie"), "", "{what}");
    };
    let elsewhere = format!("{}/elsewhere", issuer.url());
    issuer.answer("/elsewhere", 200, &issuer.metadata().to_string());
    issuer.redirect(DISCOVERY, &elsewhere);
    begin_badly("answers with status 307", "a redirect of the addresses");
    issuer.answer(DISCOVERY, 200, "<html>");
    begin_badly("publishes no openid-configuration", "a page");
    issuer.answer(DISCOVERY, 200, &" ".repeat(300 * 1024));
    begin_badly("answers with more than", "an endless document");
    for (name, value, sentence) in [
        ("issuer", "https://id.example.org", "it calls itself `https://id.example.org`"),
        ("token_endpoint", "http://id.example.org/token", "does not start with https://"),
        ("jwks_uri", "file:///etc/passwd", "does not start with https://"),
    ] {
        let mut metadata = issuer.metadata();
        metadata[name] = json!(value);
        issuer.answer(DISCOVERY, 200, &metadata.to_string());
        begin_badly(sentence, name);
    }
    issuer.silence(DISCOVERY);
    let start = Instant::now();
    begin_badly("did not answer within 10 s", "silence");
    assert!(start.elapsed() < DEADLINE);
    issuer.answer(DISCOVERY, 200, &issuer.metadata().to_string());
    issuer.answer(KEYS, 404, "");
    begin_badly("/keys answers with status 404", "no keys");
    issuer.redirect(KEYS, &elsewhere);
    begin_badly("answers with status 307", "a redirect of the keys");
    issuer.publish(&[&key]);

    // The secret is read at each login, and sent to the issuer's own address alone.
    let answer = log_in_with(&hub, &issuer, |nonce| key.sign(&issuer.claims(nonce)));
    assert_refused(&answer, 500, "client_secret_file", "no file with the secret");
    hub.home.write(".adjutant/openid.secret", format!("{SECRET}\n"));
    let begun = begin(&hub);
    issuer.redirect(TOKEN, &elsewhere);
    assert_refused(&come_back(&hub, &begun, "code=x"), 502, "answers with status 307", "a redirected code");
    let posts = issuer.requests();
    let posts: Vec<&String> = posts.iter().filter(|request| request.starts_with("POST")).collect();
    assert!(posts.len() == 1 && posts[0].starts_with("POST /token "), "{posts:?}");
    assert!(posts[0].contains("&code_verifier=") && posts[0].contains("authorization: Basic "), "{posts:?}");
    assert!(!posts[0].contains("client_id="), "{posts:?}");
    for (status, body, sentence) in [
        (400, json!({"error": "invalid_grant", "error_description": SECRET}).to_string(), "invalid_grant"),
        (400, json!({"error": SECRET}).to_string(), "answers with status 400"),
        (200, json!({"access_token": "x"}).to_string(), "has no id token"),
    ] {
        let begun = begin(&hub);
        issuer.answer(TOKEN, status, &body);
        let answer = come_back(&hub, &begun, "code=x");
        assert_refused(&answer, 502, sentence, &body);
        assert!(!answer.body.contains(SECRET), "{answer:?}");
    }
    let answer = log_in_with(&hub, &issuer, |nonce| key.sign(&issuer.claims(nonce)));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!hub.log().contains(SECRET), "{}", hub.log());
}

#[test]
fn an_issuer_is_asked_for_what_its_token_leaves_out_and_must_speak_of_the_same_person() {
    let (issuer, key) = (FakeIssuer::start(), Key::curve("one"));
    issuer.publish(&[&key]);
    let mut metadata = issuer.metadata();
    metadata["userinfo_endpoint"] = json!(format!("{}/person", issuer.url()));
    issuer.answer(DISCOVERY, 200, &metadata.to_string());
    let hub = hub_of(&issuer, "claim = \"email\"");
    let changed = hub.home.run(["users", "edit", "ann", "--email", "ann@example.org"], "");
    assert!(changed.status.success(), "{}", changed.stderr);
    for (person, status, sentence) in [
        (json!({"sub": "1", "email": "ann@example.org", "email_verified": true}), 200, ""),
        (
            json!({"sub": "2", "email": "ann@example.org", "email_verified": true}),
            502,
            "about another person",
        ),
        (json!({"email": "ann@example.org", "email_verified": true}), 502, "about another person"),
        (json!({"sub": "1", "email": "ann@example.org"}), 403, "not verified your mail address"),
        (json!({"sub": "1", "email": "ann@example.org", "email_verified": false}), 403, "not verified"),
        (json!({"sub": "1", "email": "eve@example.org", "email_verified": true}), 403, "`eve@example.org`"),
        (json!({"sub": "1", "email": ""}), 403, "did not say `email` of you"),
        (json!({"sub": "1"}), 403, "did not say `email` of you"),
        (json!(["sub"]), 502, "no JSON object"),
    ] {
        issuer.answer("/person", 200, &person.to_string());
        let answer = log_in_with(&hub, &issuer, |nonce| key.sign(&issuer.claims(nonce)));
        if status == 200 {
            assert_eq!(answer.status, 200, "{answer:?}");
        } else {
            assert_refused(&answer, status, sentence, &person.to_string());
        }
    }
    let asked = issuer.requests().into_iter().rfind(|request| request.starts_with("GET /person ")).unwrap();
    assert!(asked.contains("authorization: Bearer of-access"), "{asked}");
}
