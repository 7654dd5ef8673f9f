//! Who may come in: the guard, the limits, the token and the login.

use serde_json::{Value, json};

use super::client::{Answer, Hub};
use crate::support::Home;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A path of every kind: pages, their forms, events, files, exports, the protocol, and none.
const PATHS: [(&str, &str); 17] = [
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
    ("GET", "/nowhere"),
];

fn post(hub: &Hub, headers: &[(&str, &str)]) -> Answer {
    hub.ask("POST", "/mcp", &[&[("content-type", "application/json")], headers].concat(), LIST)
}

/// No answer opens the door to another origin, and every answer carries the headers of a careful one.
fn is_careful(answer: &Answer) {
    assert!(!answer.head.to_ascii_lowercase().contains("access-control"), "{answer:?}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{answer:?}");
    assert!(!answer.header("referrer-policy").is_empty(), "{answer:?}");
    assert!(!answer.body.contains("/tmp") && !answer.body.contains(".rs"), "{answer:?}");
}

#[test]
fn only_this_listener_is_a_host() {
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
            let answer = hub.ask(method, path, &[("host", &host)], "");
            assert_eq!(answer.status, 403, "{host} {path}: {answer:?}");
            is_careful(&answer);
        }
    }
    let own = hub.address.to_string();
    let twice = post(&hub, &[("host", &own), ("host", "evil.example")]);
    assert_eq!(twice.status, 400, "{twice:?}");
    let absent = hub.raw("GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(absent.status, 400, "{absent:?}");
    let absolute =
        hub.raw(format!("GET http://evil.example/ HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n\r\n"));
    assert_eq!(absolute.status, 403, "{absolute:?}");
}

#[test]
fn only_our_own_pages_are_an_origin() {
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
            let answer = hub.ask(method, path, &[("origin", &origin)], "");
            assert_eq!(answer.status, 403, "{origin} {method} {path}: {answer:?}");
            is_careful(&answer);
        }
    }
    let own = format!("http://{}", hub.address);
    assert_eq!(post(&hub, &[("origin", &own), ("origin", &own)]).status, 403);
    for site in ["cross-site", "same-site"] {
        assert_eq!(post(&hub, &[("sec-fetch-site", site)]).status, 403, "{site}");
        let image = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
        assert_eq!(hub.ask("GET", "/", &image, "").status, 403, "{site}");
        let link = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate")];
        assert_eq!(hub.ask("GET", "/", &link, "").status, 200, "{site}");
    }
}

#[test]
fn a_preflight_is_never_allowed() {
    let hub = Hub::open("");
    let asked =
        [("access-control-request-method", "POST"), ("access-control-request-headers", "content-type")];
    for (_, path) in PATHS {
        for origin in [format!("http://{}", hub.address), "http://evil.example".to_owned()] {
            let answer = hub.ask("OPTIONS", path, &[&asked[..], &[("origin", &origin)]].concat(), "");
            assert!(matches!(answer.status, 403..=405), "{path}: {answer:?}");
            is_careful(&answer);
        }
    }
}

#[test]
fn no_path_becomes_a_web_socket() {
    let hub = Hub::open("");
    let upgrade = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        // What a page is sent for reads to its end; a stream would not.
        ("accept", "text/html"),
    ];
    for (_, path) in PATHS.into_iter().filter(|(_, path)| *path != "/events") {
        let answer = hub.ask("GET", path, &upgrade, "");
        assert_ne!(answer.status, 101, "{path}: {answer:?}");
        assert!(answer.header("upgrade").is_empty(), "{path}: {answer:?}");
    }
}

#[test]
fn a_message_is_json_by_its_header_too() {
    let hub = Hub::open("");
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""]
    {
        let answer = hub.ask("POST", "/mcp", &[("content-type", kind)], LIST);
        assert_eq!(answer.status, 415, "{kind}: {answer:?}");
        is_careful(&answer);
    }
    assert_eq!(hub.ask("POST", "/mcp", &[], LIST).status, 415);
    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        assert_eq!(hub.ask("POST", "/mcp", &[("content-type", kind)], LIST).status, 200, "{kind}");
    }
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(hub.ask("POST", "/mcp", &packed, LIST).status, 415);
}

#[test]
fn a_body_over_the_limit_is_refused_however_it_comes() {
    let hub = Hub::open("body_limit_bytes = 1000");
    let fits = format!("{LIST:<1000}");
    assert_eq!(hub.ask("POST", "/mcp", &[("content-type", "application/json")], &fits).status, 200);
    let head = format!("POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", hub.address);
    let announced = hub.raw(format!("{head}content-length: 1001\r\n\r\n"));
    assert_eq!(announced.status, 413, "refused before it is sent: {announced:?}");
    assert!(announced.body.contains("1000 bytes"), "{announced:?}");
    let chunk = format!("258\r\n{}\r\n", " ".repeat(600));
    let streamed = hub.raw(format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}{chunk}"));
    assert_eq!(streamed.status, 413, "refused while it comes: {streamed:?}");
    is_careful(&streamed);
    let lie = hub.raw(format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n{LIST}\r\n0\r\n\r\n"));
    assert_eq!(lie.status, 400, "{lie:?}");
    let form = hub.ask("POST", "/prompts/greet", &[], &"x".repeat(1001));
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
        assert!(message["error"]["message"].as_str().unwrap().contains("Authorization: Bearer"), "{message}");
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
        let answer = hub.ask("POST", &path, &[("content-type", "application/json")], LIST);
        assert_eq!(answer.status, 401, "a token is never taken from an address");
    }
    // The token opens /mcp and nothing else.
    assert_eq!(hub.ask("GET", "/", &[("authorization", &right)], "").status, 401);
    assert!(!hub.said().contains(&token));
}

#[test]
fn the_token_file_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
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
fn a_link_logs_one_browser_in_once() {
    let hub = Hub::locked();
    let page = hub.ask("GET", "/", &[], "");
    assert_eq!(page.status, 401, "{page:?}");
    assert!(page.body.contains("adjutant open"), "{page:?}");
    is_careful(&page);

    let path = hub.link.clone();
    assert!(path.starts_with("/login/"), "{path}");
    let evil = hub.ask("GET", &path, &[("host", "evil.example")], "");
    assert_eq!(evil.status, 403, "the guard stands before the login");
    let login = hub.ask("GET", &path, &[], "");
    assert_eq!((login.status, login.header("location")), (303, "/"), "{login:?}");
    let cookie = login.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let (cookie, _) = cookie.split_once(';').unwrap();
    assert_eq!(hub.ask("GET", "/", &[("cookie", cookie)], "").status, 200);
    assert_eq!(hub.ask("GET", "/", &[("cookie", &format!("a=b; {cookie}; c=d"))], "").status, 200);
    assert_eq!(hub.ask("GET", &path, &[], "").status, 401, "a link works once");
    assert_eq!(hub.ask("GET", "/login/", &[], "").status, 401);
    assert_eq!(post(&hub, &[("cookie", cookie)]).status, 401, "a login is not a token");
    let broken = cookie.replace('.', "0");
    assert_eq!(hub.ask("GET", "/", &[("cookie", &broken)], "").status, 401);
}

#[test]
fn other_machines_are_let_in_only_behind_a_proxy() {
    let home = Home::new();
    for auth in ["token", "none"] {
        let run = home.run(["serve", "--http", "0.0.0.0:0", "--socket", "off", "--auth", auth], "");
        assert_eq!(run.status.code(), Some(1), "{auth}: {}", run.stderr);
        assert!(run.stderr.contains("other machines"), "{}", run.stderr);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = home.run(["serve", "--http", &address, "--socket", "off"], "");
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains(&address) && run.stderr.contains("hint"), "{}", run.stderr);
}

#[test]
fn bodies_that_are_no_message_get_a_readable_answer() {
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
        let answer = hub.raw([head.as_bytes(), body].concat());
        let shown = String::from_utf8_lossy(body);
        assert_eq!(answer.status, 400, "{shown}: {answer:?}");
        let message = answer.message();
        assert_eq!(message["error"]["code"], code, "{shown}: {message}");
        assert_eq!(message.get("id"), Some(&id), "{shown}: {message}");
        is_careful(&answer);
    }
}
