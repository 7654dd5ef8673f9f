//! Admission: the host guard, the limits, the token and the login.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Answer, Hub, initialize};
use crate::support::{Home, stateless_meta};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A path of every kind: pages, their forms, events, files, exports, the protocol, and an unknown one.
const PATHS: [(&str, &str); 20] = [
    ("GET", "/"),
    ("GET", "/events"),
    ("GET", "/prompts"),
    ("POST", "/prompts/greet"),
    ("GET", "/agents"),
    ("GET", "/tasks"),
    ("GET", "/questions"),
    ("POST", "/questions/availability"),
    ("GET", "/questions/q00000000000000000000"),
    ("POST", "/questions/q00000000000000000000"),
    ("POST", "/questions/q00000000000000000000/seen"),
    ("GET", "/history/questions.jsonl"),
    ("GET", "/static/none.css"),
    ("GET", "/mcp"),
    ("POST", "/mcp"),
    ("POST", "/mcp/popup"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/nowhere"),
];

fn post(hub: &Hub, headers: &[(&str, &str)]) -> Answer {
    hub.send_request("POST", "/mcp", &[&[("content-type", "application/json")], headers].concat(), LIST)
}

/// No answer allows another origin, and every answer has the security headers.
fn is_careful(answer: &Answer) {
    assert!(!answer.head.to_ascii_lowercase().contains("access-control"), "{answer:?}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{answer:?}");
    assert!(!answer.header("referrer-policy").is_empty(), "{answer:?}");
    assert!(!answer.body.contains("/tmp") && !answer.body.contains(".rs"), "{answer:?}");
}

#[test]
fn a_request_for_another_host_is_rejected() {
    let hub = Hub::open("");
    let port = hub.address.port();
    for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
        let answer = post(&hub, &[("host", &format!("{host}:{port}"))]);
        assert_eq!(answer.status, 200, "{host}: {answer:?}");
        is_careful(&answer);
    }
    let refused = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "localhost".to_owned(),
        format!("localhost.:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("127.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("user@localhost:{port}"),
        format!("localhost:{port}@evil.example"),
        format!("localhost:{}", port ^ 1),
        format!("[::1]:{}", port ^ 1),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("localhost:{port}, evil.example"),
    ];
    for host in refused {
        for (method, path) in PATHS {
            let answer = hub.send_request(method, path, &[("host", &host)], "");
            assert_eq!(answer.status, 403, "{host} {path}: {answer:?}");
            is_careful(&answer);
        }
    }
    let own = hub.address.to_string();
    let twice = post(&hub, &[("host", &own), ("host", "evil.example")]);
    assert_eq!(twice.status, 400, "{twice:?}");
    let absent = hub.send_bytes("GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(absent.status, 400, "{absent:?}");
    let absolute = hub
        .send_bytes(format!("GET http://evil.example/ HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n\r\n"));
    assert_eq!(absolute.status, 403, "{absolute:?}");
}

#[test]
fn a_request_from_another_origin_is_rejected() {
    let hub = Hub::open("");
    let port = hub.address.port();
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let answer = post(&hub, &[("origin", &format!("http://{host}:{port}"))]);
        assert_eq!(answer.status, 200, "{host}: {answer:?}");
    }
    let refused = [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        "file://".to_owned(),
        String::new(),
        "http://localhost".to_owned(),
        format!("https://localhost:{port}"),
        format!("http://localhost.evil.com:{port}"),
        "http://127.0.0.1:80@evil".to_owned(),
        format!("http://127.0.0.1:{port}@evil.example"),
        format!("http://localhost:{port}/"),
        format!("http://localhost:{port} http://evil.example"),
        format!("http://localhost.:{port}"),
        format!("http://localhost:{}", port ^ 1),
        "HTTP://EVIL.EXAMPLE".to_owned(),
    ];
    for origin in refused {
        let answer = post(&hub, &[("origin", &origin)]);
        assert_eq!(answer.status, 403, "{origin}: {answer:?}");
        is_careful(&answer);
        for (method, path) in PATHS {
            let answer = hub.send_request(method, path, &[("origin", &origin)], "");
            assert_eq!(answer.status, 403, "{origin} {method} {path}: {answer:?}");
            is_careful(&answer);
        }
    }
    let own = format!("http://{}", hub.address);
    assert_eq!(post(&hub, &[("origin", &own), ("origin", &own)]).status, 403);
    for site in ["cross-site", "same-site"] {
        assert_eq!(post(&hub, &[("sec-fetch-site", site)]).status, 403, "{site}");
        let image = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
        assert_eq!(hub.send_request("GET", "/", &image, "").status, 403, "{site}");
        let link = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate")];
        assert_eq!(hub.send_request("GET", "/", &link, "").status, 200, "{site}");
    }
}

#[test]
fn a_preflight_is_never_allowed() {
    let hub = Hub::open("");
    let asked =
        [("access-control-request-method", "POST"), ("access-control-request-headers", "content-type")];
    for (_, path) in PATHS {
        for origin in [format!("http://{}", hub.address), "http://evil.example".to_owned()] {
            let answer =
                hub.send_request("OPTIONS", path, &[&asked[..], &[("origin", &origin)]].concat(), "");
            assert!(matches!(answer.status, 403..=405), "{path}: {answer:?}");
            is_careful(&answer);
        }
    }
}

#[test]
fn no_path_upgrades_to_a_web_socket() {
    let hub = Hub::open("");
    let upgrade = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        // The answer of a page ends; a stream would not.
        ("accept", "text/html"),
    ];
    for (_, path) in PATHS.into_iter().filter(|(_, path)| *path != "/events") {
        let answer = hub.send_request("GET", path, &upgrade, "");
        assert_ne!(answer.status, 101, "{path}: {answer:?}");
        assert!(answer.header("upgrade").is_empty(), "{path}: {answer:?}");
    }
}

#[test]
fn a_message_without_the_json_content_type_is_rejected() {
    let hub = Hub::open("");
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""]
    {
        let answer = hub.send_request("POST", "/mcp", &[("content-type", kind)], LIST);
        assert_eq!(answer.status, 415, "{kind}: {answer:?}");
        is_careful(&answer);
    }
    assert_eq!(hub.send_request("POST", "/mcp", &[], LIST).status, 415);
    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        assert_eq!(hub.send_request("POST", "/mcp", &[("content-type", kind)], LIST).status, 200, "{kind}");
    }
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(hub.send_request("POST", "/mcp", &packed, LIST).status, 415);
}

#[test]
fn a_body_over_the_limit_is_rejected_with_and_without_its_length() {
    let hub = Hub::open("body_limit_bytes = 1000");
    let fits = format!("{LIST:<1000}");
    assert_eq!(hub.send_request("POST", "/mcp", &[("content-type", "application/json")], &fits).status, 200);
    let head = format!("POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", hub.address);
    let announced = hub.send_bytes(format!("{head}content-length: 1001\r\n\r\n"));
    assert_eq!(announced.status, 413, "refused before it is sent: {announced:?}");
    assert!(announced.body.contains("1000 bytes"), "{announced:?}");
    let chunk = format!("258\r\n{}\r\n", " ".repeat(600));
    let streamed = hub.send_bytes(format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}{chunk}"));
    assert_eq!(streamed.status, 413, "refused while it comes: {streamed:?}");
    is_careful(&streamed);
    let lie = hub.send_bytes(format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n{LIST}\r\n0\r\n\r\n"));
    assert_eq!(lie.status, 400, "{lie:?}");
    let form = hub.send_request("POST", "/prompts/greet", &[], &"x".repeat(1001));
    assert_eq!(form.status, 413, "pages have the same limit: {form:?}");
}

#[test]
fn without_the_token_nothing_is_served() {
    let hub = Hub::locked();
    let token = hub.token();
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    let wrong = format!("Bearer {}", "0".repeat(64));
    let cut = format!("Bearer {}", &token[1..]);
    let basic = format!("Basic {token}");
    for value in ["", "Bearer", "Bearer ", &wrong, &cut, &basic, &token] {
        let answer = post(&hub, &[("authorization", value)]);
        assert_eq!(answer.status, 401, "{value}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        let message = answer.message();
        assert_eq!(message["id"], Value::Null);
        let reason =
            if value == wrong || value == cut { "the token is not valid" } else { "Authorization: Bearer" };
        assert!(message["error"]["message"].as_str().unwrap().contains(reason), "{value}: {message}");
        is_careful(&answer);
    }
    let right = format!("Bearer {token}");
    assert_eq!(post(&hub, &[("authorization", &right)]).status, 200);
    assert_eq!(
        post(&hub, &[("authorization", &format!("bearer {token}"))]).status,
        200,
        "the scheme has no case"
    );
    assert_eq!(post(&hub, &[("authorization", &right), ("authorization", &wrong)]).status, 401);
    for path in [format!("/mcp?token={token}"), format!("/mcp?access_token={token}")] {
        let answer = hub.send_request("POST", &path, &[("content-type", "application/json")], LIST);
        assert_eq!(answer.status, 401, "a token is never taken from an address");
    }
    // The token opens /mcp and nothing else.
    assert_eq!(hub.send_request("GET", "/", &[("authorization", &right)], "").status, 401);
    assert!(!hub.log().contains(&token));
}

#[test]
fn only_its_owner_can_read_the_token_file() {
    let home = Home::new();
    let own = "f".repeat(64);
    let path = home.write(".adjutant/token", &own);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let hub = Hub::start(home, "", &[]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(post(&hub, &[("authorization", &format!("Bearer {own}"))]).status, 200);

    let home = Home::new();
    home.write(".adjutant/token", "short");
    let run = home.run(["serve", "--http", "127.0.0.1:0", "--socket", "off"], "");
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains("token") && !run.stderr.contains("short"), "{}", run.stderr);
}

#[test]
fn a_login_link_logs_in_one_browser_once() {
    let hub = Hub::locked();
    let page = hub.send_request("GET", "/", &[], "");
    assert_eq!(page.status, 401, "{page:?}");
    assert!(page.body.contains("adjutant open"), "{page:?}");
    is_careful(&page);

    let path = hub.login_link();
    assert!(path.starts_with("/login/"), "{path}");
    let evil = hub.send_request("GET", &path, &[("host", "evil.example")], "");
    assert_eq!(evil.status, 403, "the host guard comes before the login");
    let login = hub.send_request("GET", &path, &[], "");
    assert_eq!((login.status, login.header("location")), (303, "/"), "{login:?}");
    let cookie = login.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let (cookie, _) = cookie.split_once(';').unwrap();
    assert_eq!(hub.send_request("GET", "/", &[("cookie", cookie)], "").status, 200);
    assert_eq!(hub.send_request("GET", "/", &[("cookie", &format!("a=b; {cookie}; c=d"))], "").status, 200);
    assert_eq!(hub.send_request("GET", &path, &[], "").status, 401, "a link works once");
    assert_eq!(hub.send_request("GET", "/login/", &[], "").status, 401);
    assert_eq!(post(&hub, &[("cookie", cookie)]).status, 401, "a login is not a token");
    let broken = cookie.replace('.', "0");
    assert_eq!(hub.send_request("GET", "/", &[("cookie", &broken)], "").status, 401);
}

#[test]
fn a_repeated_protocol_version_header_is_rejected() {
    let hub = Hub::open("");
    let version = ("mcp-protocol-version", "2025-06-18");
    assert_eq!(post(&hub, &[version]).status, 200);
    for other in ["2025-06-18", "2026-07-28", "2024-11-05"] {
        let twice = post(&hub, &[version, ("mcp-protocol-version", other)]);
        assert_eq!(twice.status, 400, "{twice:?}");
        assert_eq!(twice.message()["error"]["code"], -32600);
    }
}

#[test]
fn slow_connections_do_not_block_other_clients() {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum.map_or(Some(4096), |maximum| Some(maximum.min(4096)));
    setrlimit(Resource::Nofile, files).unwrap();
    let hub = Hub::locked();
    let right = format!("Bearer {}", hub.token());
    // Before a request makes this process a client, below which nobody is the user.
    let cookie = hub.log_in();
    let slow: Vec<_> = (0..2000)
        .map(|_| {
            let mut slow = TcpStream::connect(hub.address).unwrap();
            let _ = slow.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc");
            slow
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(post(&hub, &[("authorization", &right)]).status, 200);
    }
    // Meanwhile a thousand event streams are served, each with its head and its first event.
    let headers = [("cookie", cookie.as_str()), ("accept", "text/event-stream")];
    let streams: Vec<_> = (0..1000).map(|_| hub.stream("GET", "/events", &headers, "")).collect();
    assert!(streams.iter().all(|stream| stream.status == 200));
    assert_eq!(post(&hub, &[("authorization", &right)]).status, 200);
    drop(slow);
}

#[test]
fn a_login_cookie_cannot_be_forged_from_the_token() {
    let hub = Hub::locked();
    let cookie = hub.log_in();
    // The hub's former seal: a key from a hash of the token.
    let hmac = |key: &str, parts: &[&str]| {
        let text: Vec<u8> = parts.iter().flat_map(|part| [part.as_bytes(), &[0]].concat()).collect();
        let mut openssl = Command::new("openssl");
        openssl.args(["dgst", "-sha256", "-mac", "HMAC", "-macopt", &format!("hexkey:{key}"), "-r"]);
        let mut openssl = openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        openssl.stdin.take().unwrap().write_all(&text).unwrap();
        let output = openssl.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().to_owned()
    };
    let digest = Sha256::digest(hub.token());
    let token = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let key = hmac(&token, &["adjutant console"]);
    let (until, number) = ("99999999999", "0".repeat(64));
    for key in [&key, &token] {
        let forged = format!("adjutant_login={until}.{number}.{}", hmac(key, &["login", until, &number]));
        assert_eq!(hub.send_request("GET", "/", &[("cookie", &forged)], "").status, 401);
        assert_eq!(
            hub.send_request("POST", "/questions/availability", &[("cookie", &forged)], "").status,
            401
        );
    }
    assert_eq!(hub.send_request("GET", "/", &[("cookie", &cookie)], "").status, 200);
    let key = hub.home.path().join(".adjutant/login-key");
    assert_eq!(std::fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn logout_and_a_new_token_end_every_login_at_once() {
    for end in ["logout", "token"] {
        let hub = Hub::locked();
        let cookie = hub.log_in();
        let headers = [("cookie", cookie.as_str()), ("accept", "text/event-stream")];
        let link = hub.login_link();
        let mut stream = hub.stream("GET", "/events", &headers, "");
        assert_eq!(stream.status, 200);
        if end == "logout" {
            assert_eq!(hub.home.run(["logout"], "").status.code(), Some(0));
        } else {
            let right = format!("Bearer {}", hub.token());
            hub.home.write(".adjutant/token", "e".repeat(64));
            assert_eq!(post(&hub, &[("authorization", &right)]).status, 401, "the old token");
            let right = format!("Bearer {}", hub.token());
            assert_eq!(post(&hub, &[("authorization", &right)]).status, 200, "the new token");
        }
        assert_eq!(hub.send_request("GET", "/", &headers[..1], "").status, 401, "{end}");
        assert_eq!(hub.send_request("GET", &link, &[], "").status, 401, "{end}: a link of before");
        // A change, so that the stream has an event to send.
        hub.home.write(".adjutant/prompts/new.md", "Be new.\n");
        stream.assert_ended();
        // The requests with a token made this process a client, below which nobody is the user.
        if end == "logout" {
            assert_eq!(hub.send_request("GET", "/", &[("cookie", &hub.log_in())], "").status, 200, "{end}");
        } else {
            assert_eq!(hub.login_link(), "", "{end}");
        }
    }
}

/// Calls a tool as a stateless client does, and returns the structured result.
fn stateless(hub: &Hub, token: &str, client: &str, tool: &str, arguments: Value) -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(client);
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    hub.post_to("/mcp", &headers, &message).message()["result"].clone()
}

#[test]
fn what_a_stateless_client_asked_belongs_to_its_token_in_one_workspace() {
    let hub = Hub::locked_with("[questions]\nwait_seconds = 0\nundo_milliseconds = 0");
    let cookie = hub.log_in();
    let [one, two] = ["one", "two"].map(|name| hub.home.run(["tokens", "add", name], "").stdout);
    let (one, two, own) = (one.trim(), two.trim(), hub.token());
    let ask = |token: &str, client: &str, title: &str, workspace: &str| {
        let question = json!({"title": title, "message": "?", "workspacePath": workspace,
            "options": [{"label": "Yes", "value": "yes"}]});
        stateless(&hub, token, client, "triggerPopup", question)["structuredContent"].clone()
    };
    let asked = |token: &str, client: &str, workspace: &str| {
        ask(token, client, "Continue?", workspace)["ticket"].as_str().unwrap().to_owned()
    };
    let tickets = [
        asked(one, "a", "/a"),
        asked(two, "a", "/a"),
        asked(&own, "a", "/a"),
        asked(one, "a", "/b"),
        asked(one, "b", "/a"),
    ];
    assert_eq!(tickets.iter().collect::<BTreeSet<_>>().len(), tickets.len(), "{tickets:?}");
    assert_eq!(asked(one, "a", "/a"), tickets[0], "the same question of the same client");

    let path = format!("/questions/{}", tickets[0]);
    let page = hub.send_request("GET", &path, &[("cookie", &cookie)], "").body;
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("cookie", cookie.as_str()), ("content-type", "application/x-www-form-urlencoded")];
    let answered = hub.send_request("POST", &path, &fields, &format!("csrf={csrf}&made=0&act=dismiss"));
    assert_eq!(answered.status, 303, "{answered:?}");

    for (token, client, workspace) in
        [(two, "a", "/a"), (&own, "a", "/a"), (one, "a", "/b"), (one, "b", "/a")]
    {
        let other = ask(token, client, "Another?", workspace);
        assert!(other.get("earlier_answers").is_none(), "{token} {client} {workspace}: {other}");
    }
    let await_it = json!({"ticket": tickets[0], "seconds": 0});
    for (token, client) in [(two, "a"), (own.as_str(), "a")] {
        let stolen = stateless(&hub, token, client, "await_answer", await_it.clone());
        assert_eq!(stolen["isError"], true, "{stolen}");
    }
    let elsewhere = stateless(&hub, one, "a", "list_prompts", json!({}));
    assert!(elsewhere["structuredContent"].get("earlier_answers").is_none(), "it names no workspace");
    let told = ask(one, "a", "Another?", "/a/");
    assert_eq!(told["earlier_answers"][0]["ticket"], tickets[0], "{told}");
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    // The answer is on its way until the response is acknowledged.
    while ask(one, "a", "Another?", "/a").get("earlier_answers").is_some() {
        assert!(std::time::Instant::now() < end, "it is given again and again");
    }
}

#[test]
fn a_token_with_too_many_sessions_ends_its_own() {
    let hub = Hub::locked_with("sessions = 4");
    let [few, many] = ["few", "many"].map(|name| hub.home.run(["tokens", "add", name], "").stdout);
    let bearer = |token: &str| format!("Bearer {}", token.trim());
    let open = |token: &str| {
        let headers = [("authorization", bearer(token))];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let opened = hub.post_to("/mcp", &headers, &initialize("2025-06-18"));
        assert_eq!(opened.status, 200, "{opened:?}");
        opened.header("mcp-session-id").to_owned()
    };
    let session = open(&few);
    for _ in 0..12 {
        open(&many);
    }
    let bearer = bearer(&few);
    let headers = [("authorization", bearer.as_str()), ("mcp-session-id", session.as_str())];
    let listed = hub.post_to("/mcp", &headers, &serde_json::from_str(LIST).unwrap());
    assert_eq!(listed.status, 200, "{listed:?}");
}

#[test]
fn an_agents_token_works_until_it_is_revoked() {
    let hub = Hub::locked();
    let tokens = |arguments: &[&str]| hub.home.run(["tokens"].iter().chain(arguments), "");
    let added = tokens(&["add", "one"]).stdout.trim().to_owned();
    assert_eq!(added.len(), 64, "{added}");
    let item = format!("Bearer {added}");
    let two = format!("Bearer {}", tokens(&["add", "two"]).stdout.trim());
    assert_eq!(tokens(&["add", "one"]).status.code(), Some(1), "a name is taken once");
    assert_eq!(tokens(&["add", "no good"]).status.code(), Some(2));
    assert!(
        !std::fs::read_to_string(hub.home.path().join(".adjutant/agent-tokens")).unwrap().contains(&added)
    );

    // It opens /mcp and nothing of the console; the hub's token stays valid.
    let cookie = hub.log_in();
    let own = format!("Bearer {}", hub.token());
    for token in [&own, &item, &two] {
        assert_eq!(post(&hub, &[("authorization", token)]).status, 200);
        for path in ["/", "/questions", "/events"] {
            assert_eq!(hub.send_request("GET", path, &[("authorization", token)], "").status, 401, "{path}");
        }
    }
    // A session belongs to its token.
    let accept = ("accept", "application/json, text/event-stream");
    let json = ("content-type", "application/json");
    let opened = hub.send_request(
        "POST",
        "/mcp",
        &[accept, json, ("authorization", &item)],
        &initialize("2025-06-18").to_string(),
    );
    let session = ("mcp-session-id", opened.header("mcp-session-id"));
    for (token, status) in [(&item, 200), (&two, 404), (&own, 404)] {
        let answer =
            hub.send_request("POST", "/mcp", &[accept, json, session, ("authorization", token)], LIST);
        assert_eq!(answer.status, status, "{answer:?}");
    }
    // So is a stream of the contract, also under the same `?client=`.
    let ask = |token: &str| {
        let question =
            json!({"jsonrpc": "2.0", "id": "q", "method": "triggerPopup", "params": {"title": "T"}});
        let answer = hub.send_request(
            "POST",
            "/mcp?client=c",
            &[json, ("authorization", token)],
            &question.to_string(),
        );
        assert_eq!(answer.status, 202, "{answer:?}");
    };
    ask(&item);
    ask(&two);
    let events = [("accept", "text/event-stream"), ("authorization", item.as_str())];
    let mut first = hub.stream("GET", "/mcp?client=c", &events, "");
    let second = hub.stream("GET", "/mcp?client=c", &[events[0], ("authorization", &two)], "");
    assert_eq!((first.status, second.status), (200, 200));

    assert!(tokens(&["list"]).stdout.lines().count() == 2);
    assert_eq!(tokens(&["revoke", "one"]).status.code(), Some(0));
    assert_eq!(tokens(&["revoke", "one"]).status.code(), Some(1));
    let revoked = post(&hub, &[("authorization", &item)]);
    assert_eq!(revoked.status, 401);
    let reason =
        "the token is not valid: it was revoked or never existed; `adjutant tokens list` shows the tokens";
    assert!(revoked.body.contains(reason), "{revoked:?}");
    assert_eq!(post(&hub, &[("authorization", &two)]).status, 200);
    // This process acts through the console, because it counts as an agent.
    let page = |path: &str| hub.send_request("GET", path, &[("cookie", &cookie)], "").body;
    let list = page("/questions");
    let paths: BTreeSet<&str> = list
        .split("href=\"")
        .filter_map(|link| link.split('"').next().filter(|path| path.starts_with("/questions/q")))
        .collect();
    assert_eq!(paths.len(), 2, "each token asked a question: {paths:?}");
    for path in paths {
        let page = page(path);
        let csrf = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let fields = [("cookie", cookie.as_str()), ("content-type", "application/x-www-form-urlencoded")];
        let dismissed = hub.send_request("POST", path, &fields, &format!("csrf={csrf}&made=0&act=dismiss"));
        assert_eq!(dismissed.status, 303, "{dismissed:?}");
    }
    first.assert_ended();
}

#[test]
fn other_machines_are_admitted_only_through_tls() {
    let proxy = "behind_tls_proxy = [\"hub.example.org\"]";
    for (settings, address, auth, reason) in [
        ("", "0.0.0.0:0", "token", "with TLS or behind a TLS proxy only"),
        ("", "0.0.0.0:0", "none", "with TLS or behind a TLS proxy only"),
        (proxy, "0.0.0.0:0", "none", "needs authentication"),
        // What a proxy passes on comes from this machine.
        (proxy, "127.0.0.1:0", "none", "needs authentication"),
        ("tls_certificate = \"c.pem\"", "127.0.0.1:0", "token", "one of them is missing"),
        ("tls_certificate = \"c.pem\"\ntls_key = \"k.pem\"", "0.0.0.0:0", "token", "`tls_names` is empty"),
        (
            "tls_certificate = \"c.pem\"\ntls_key = \"k.pem\"\ntls_names = [\"hub.example.org\"]",
            "0.0.0.0:0",
            "token",
            "k.pem cannot be read",
        ),
    ] {
        let home = Home::new();
        home.write(".adjutant/config.toml", format!("[http]\n{settings}\n"));
        let run = home.run(["serve", "--http", address, "--socket", "off", "--auth", auth], "");
        assert_eq!(run.status.code(), Some(1), "{settings} {auth}: {}", run.stderr);
        assert!(
            run.stderr.contains(reason) && run.stderr.contains("hint"),
            "{settings} {auth}: {}",
            run.stderr
        );
    }
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = home.run(["serve", "--http", &address, "--socket", "off"], "");
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains(&address) && run.stderr.contains("hint"), "{}", run.stderr);
}

#[test]
fn an_invalid_body_gets_a_readable_error() {
    let hub = Hub::open("");
    let cases: [(&[u8], i64, Value); 14] = [
        (b"", -32700, Value::Null),
        (b"hello", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        (b"\"text\"", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (b"{\"id\":7,\"method\":\"ping\"}", -32600, json!(7)),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", -32600, json!("a")),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3}", -32600, json!(3)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}", -32600, json!(3)),
    ];
    for (body, code, id) in cases {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            hub.address,
            body.len()
        );
        let answer = hub.send_bytes([head.as_bytes(), body].concat());
        let shown = String::from_utf8_lossy(body);
        assert_eq!(answer.status, 400, "{shown}: {answer:?}");
        let message = answer.message();
        assert_eq!(message["error"]["code"], code, "{shown}: {message}");
        assert_eq!(message.get("id"), Some(&id), "{shown}: {message}");
        is_careful(&answer);
    }
}
