//! TLS of the listener: curl connects with a certificate that the test makes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::certificates::{NAME, self_signed, signed};
use crate::support::{DEADLINE, Home};

/// A hub that serves TLS.
struct Hub {
    child: Child,
    port: u16,
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Renames a made pair into the place of the hub's.
fn install(folder: &Path, name: &str) {
    for kind in ["key", "pem"] {
        std::fs::copy(folder.join(format!("{name}.{kind}")), folder.join(format!("new.{kind}"))).unwrap();
        std::fs::rename(folder.join(format!("new.{kind}")), folder.join(format!("hub.{kind}"))).unwrap();
    }
}

fn start(home: &Home, address: &str) -> Hub {
    home.write(
        ".adjutant/config.toml",
        format!("[http]\ntls_certificate = \"hub.pem\"\ntls_key = \"hub.key\"\ntls_names = [{NAME:?}]\n"),
    );
    let mut command = home.adjutant(["serve", "--http", address]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (send, receive) = channel();
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| _ = send.send(line)));
    let root = format!("https://{NAME}:");
    let port = loop {
        let line = receive.recv_timeout(DEADLINE).expect("the hub serves");
        let word = |word: &str| word.strip_suffix("/mcp")?.strip_prefix(&root)?.parse().ok();
        if let Some(port) = line.split_whitespace().find_map(word) {
            break port;
        }
    };
    Hub { child, port }
}

/// The status and the output of curl, which trusts the certificate `name` alone.
fn curl(home: &Home, hub: &Hub, name: &str, path: &str, options: &[&str]) -> (bool, String) {
    let port = hub.port;
    let run = Command::new("curl")
        .args(["-s", "-S", "-i", "--noproxy", "*", "--max-time", "30"])
        .arg("--cacert")
        .arg(home.path().join(format!(".adjutant/{name}.pem")))
        .args(["--resolve", &format!("{NAME}:{port}:127.0.0.1")])
        .args(options)
        .arg(format!("https://{NAME}:{port}{path}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    (run.status.success(), text.into_owned())
}

#[test]
fn other_machines_are_served_over_tls_with_token_and_login() {
    let home = Home::new();
    let folder = home.path().join(".adjutant");
    std::fs::create_dir_all(&folder).unwrap();
    self_signed(&folder, "hub");
    let hub = start(&home, "0.0.0.0:0");
    let port = hub.port;
    let (_, alive) = curl(&home, &hub, "hub", "/healthz", &[]);
    assert!(alive.starts_with("HTTP/1.1 200") && alive.contains("alive"), "{alive}");

    // First, because curl is an agent when it has called a tool, and the test started it.
    let link = home.run(["open", "--print"], "");
    let path = link.stdout.trim().strip_prefix(&format!("https://{NAME}:{port}"));
    let path = path.unwrap_or_else(|| panic!("{} {}", link.stdout, link.stderr));
    let (_, welcome) = curl(&home, &hub, "hub", path, &[]);
    let cookie = welcome.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&welcome);
    assert!(cookie.starts_with("__Host-adjutant_login="), "{cookie}");
    for part in ["; Secure", "; HttpOnly", "; SameSite=Strict", "; Path=/;"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let (_, page) = curl(&home, &hub, "hub", "/questions", &["-b", cookie]);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    // A page without TLS may set a cookie of the plain name, which therefore counts for nothing.
    let plain = cookie.replace("__Host-", "");
    let (_, page) = curl(&home, &hub, "hub", "/questions", &["-b", &plain]);
    assert!(page.starts_with("HTTP/1.1 401"), "{page}");

    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let call = |more: &[&str]| {
        let options = [&["-H", "content-type: application/json", "-d", list.as_str()], more].concat();
        curl(&home, &hub, "hub", "/mcp", &options).1
    };
    assert!(call(&[]).starts_with("HTTP/1.1 401"));
    let token = std::fs::read_to_string(folder.join("token")).unwrap();
    let bearer = format!("authorization: Bearer {}", token.trim());
    let listed = call(&["-H", &bearer]);
    assert!(listed.starts_with("HTTP/1.1 200") && listed.contains("triggerPopup"), "{listed}");
    // The names are those of the certificate, and the scheme belongs to an origin.
    for header in
        ["host: evil.example", "origin: https://evil.example", &format!("origin: http://{NAME}:{port}")]
    {
        assert!(call(&["-H", &bearer, "-H", header]).starts_with("HTTP/1.1 403"), "{header}");
    }
    // The question of the contract is for a caller with the token; without one it is served nowhere here.
    let raw = json!({"jsonrpc": "2.0", "method": "triggerPopup", "id": "1",
        "params": {"title": "Go?", "message": "Go on?", "options": []}});
    let raw = ["-H", "content-type: application/json", "-d", &raw.to_string()];
    for path in ["/mcp", "/mcp/popup", "/mcp/questions"] {
        assert!(curl(&home, &hub, "hub", path, &raw).1.starts_with("HTTP/1.1 401"), "{path}");
    }

    // Nothing is answered without TLS.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // The hub may have closed the connection before the end of the request.
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {NAME}:{port}\r\n\r\n");
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
}

#[test]
fn a_changed_certificate_is_served_and_a_broken_one_is_not() {
    let home = Home::new();
    let folder = home.path().join(".adjutant");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["first", "second"] {
        self_signed(&folder, name);
    }
    install(&folder, "first");
    let hub = start(&home, "127.0.0.1:0");
    let trusts = |name: &str| curl(&home, &hub, name, "/healthz", &[]).0;
    assert!(trusts("first") && !trusts("second"));
    // Between the two renames the files do not fit together.
    std::fs::copy(folder.join("second.key"), folder.join("hub.key")).unwrap();
    assert!(trusts("first"));
    install(&folder, "second");
    assert!(trusts("second") && !trusts("first"));
    std::fs::write(folder.join("hub.pem"), "no certificate").unwrap();
    assert!(trusts("second"));
    // A key that others can read is not used.
    install(&folder, "first");
    std::fs::set_permissions(folder.join("hub.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(hub);
    let run = home.run(["serve", "--http", "127.0.0.1:0"], "");
    assert!(run.status.code() == Some(1) && run.stderr.contains("mode 0600"), "{}", run.stderr);
}

/// Returns the status and the detail of a check of the doctor.
fn check(home: &Home, id: &str) -> (String, String) {
    let report: Value = serde_json::from_str(&home.run(["doctor", "--json"], "").stdout).unwrap();
    let found = report["items"].as_array().unwrap().iter().find(|check| check["id"] == id);
    let text = |member: &str| found.unwrap()[member].as_str().unwrap().to_owned();
    (text("status"), text("detail"))
}

#[test]
fn every_printed_address_has_the_scheme_and_the_name_of_the_certificate() {
    let home = Home::new();
    let folder = home.path().join(".adjutant");
    std::fs::create_dir_all(&folder).unwrap();
    self_signed(&folder, "hub");
    let added = home.run(["users", "add", "Ann", "--id", "ann"], "");
    assert!(added.status.success(), "{added}");
    let hub = start(&home, "0.0.0.0:0");
    let root = format!("https://{NAME}:{}", hub.port);
    let status = home.run(["status"], "").stdout;
    assert!(status.contains(&format!("\nhttp     {root}\n")), "{status}");
    let overview = home.run([""; 0], "").stdout;
    assert!(overview.contains(&format!("console on {root}\n")), "{overview}");
    let second = home.run(["serve", "--http", "127.0.0.1:0"], "").stderr;
    assert!(second.contains(&root), "{second}");
    let link = home.run(["open", "--print"], "").stdout;
    assert!(link.starts_with(&format!("{root}/login/")), "{link}");
    // A calendar program on another machine has the address and the certificate, and nothing else.
    let feed = home.run(["users", "feed", "ann"], "");
    let path = feed.stdout.trim().strip_prefix(&root).unwrap_or_else(|| panic!("{feed}"));
    let (_, calendar) = curl(&home, &hub, "hub", path, &[]);
    assert!(calendar.starts_with("HTTP/1.1 200") && calendar.contains("BEGIN:VCALENDAR"), "{calendar}");
    let (_, other) = curl(&home, &hub, "hub", &path.replace("/feeds/", "/feeds/0"), &[]);
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
    let (_, page) = curl(&home, &hub, "hub", "/calendar", &[]);
    assert!(page.starts_with("HTTP/1.1 401"), "{page}");

    let (status, detail) = check(&home, "handshake.http");
    assert_eq!((&*status, detail.starts_with(&format!("{root}/mcp speaks"))), ("ok", true), "{detail}");
    let (status, detail) = check(&home, "certificate");
    assert_eq!((&*status, detail.contains("it is self-signed")), ("ok", true), "{detail}");
    // The hub serves another certificate than that of the file while the pair does not fit together.
    self_signed(&folder, "second");
    std::fs::copy(folder.join("second.pem"), folder.join("hub.pem")).unwrap();
    let (status, detail) = check(&home, "handshake.http");
    assert_eq!(status, "fail", "{detail}");
    let (status, detail) = check(&home, "certificate");
    assert_eq!((&*status, detail.contains("cannot be used with the key")), ("fail", true), "{detail}");
}

#[test]
fn the_doctor_names_what_is_wrong_with_a_certificate() {
    let home = Home::new();
    let folder = home.path().join(".adjutant");
    std::fs::create_dir_all(&folder).unwrap();
    home.write(
        ".adjutant/config.toml",
        format!("[http]\ntls_certificate = \"hub.pem\"\ntls_key = \"hub.key\"\ntls_names = [{NAME:?}]\n"),
    );
    self_signed(&folder, "authority");
    let day = |days: i64| Timestamp::now() + SignedDuration::from_hours(24 * days);
    let date = |days: i64| day(days).strftime("%F").to_string();
    let table = [
        // Host, authority, days from now; status and words of the check.
        (NAME, "hub", [-1, 200], "ok", format!("valid until {}; it is self-signed", date(200))),
        (NAME, "authority", [-1, 200], "ok", format!("valid until {}", date(200))),
        // Certificates with a short life are renewed late in it.
        (NAME, "authority", [-1, 5], "ok", format!("valid until {}", date(5))),
        (NAME, "authority", [-80, 10], "warn", format!("expires on {}", date(10))),
        (NAME, "authority", [-90, -1], "fail", format!("expired on {}", date(-1))),
        (NAME, "authority", [2, 90], "fail", format!("not valid before {}", date(2))),
        ("other.example.org", "hub", [-1, 200], "fail", format!("not for `{NAME}`")),
    ];
    for (host, authority, days, status, words) in table {
        signed(&folder, "hub", host, authority, days.map(day));
        let (found, detail) = check(&home, "certificate");
        assert_eq!((&*found, detail.contains(&words)), (status, true), "{days:?}: {detail}");
        assert_eq!(detail.contains("self-signed"), status == "ok" && authority == "hub", "{detail}");
    }
    std::fs::remove_file(folder.join("hub.key")).unwrap();
    let (status, detail) = check(&home, "certificate");
    assert_eq!((&*status, detail.contains("hub.key cannot be read")), ("fail", true), "{detail}");
    home.write(".adjutant/config.toml", "");
    assert_eq!(check(&home, "certificate").0, "skipped");
}
