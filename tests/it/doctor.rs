//! `adjutant doctor`: each thing broken on purpose is found, and what `--fix` can repair it repairs.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::support::processes::Frozen;
use crate::support::serving::Serving;
use crate::support::{DEADLINE, EndsHub, Home, wait};

/// A home whose hub, if one is started, keeps its HTTP door shut and ends with the value.
struct Clinic {
    home: Home,
}

impl Clinic {
    fn new() -> Self {
        let clinic = Self { home: Home::new() };
        clinic.config("[http]\naddress = \"off\"\n");
        clinic
    }

    fn config(&self, text: &str) {
        self.home.write(".adjutant/config.toml", text);
        self.mode("", 0o700);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(".adjutant").join(name)
    }

    fn mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.file(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// What `doctor --json` says with these arguments, and its exit code.
    fn look(&self, arguments: &[&str]) -> Seen {
        look_by(&mut self.home.adjutant(["doctor", "--json"].iter().chain(arguments)))
    }

    fn hub(&self) -> Option<Value> {
        let told = self.home.run(["status", "--json"], "");
        told.status.success().then(|| serde_json::from_str(&told.stdout).unwrap())
    }

    /// Puts a program on the `PATH` of the next command.
    fn program(&self, name: &str, script: &str) {
        let file = self.home.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The doctor, on a `PATH` of these programs and the system's.
    fn with_programs(&self) -> Command {
        let mut command = self.home.adjutant(["doctor", "--json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.home.path().join("bin").display()));
        command
    }
}

impl Drop for Clinic {
    fn drop(&mut self) {
        let pid = self.hub().and_then(|hub| hub["pid"].as_i64());
        if let Some(pid) = pid.and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What a doctor that was prepared says.
fn look_by(command: &mut Command) -> Seen {
    let told = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    let said = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&told.stderr)));
    Seen { said, code: told.status.code().unwrap() }
}

/// What the doctor said.
#[derive(Debug)]
struct Seen {
    said: Value,
    code: i32,
}

impl Seen {
    fn check(&self, id: &str) -> &Value {
        let all = self.said["checks"].as_array().unwrap();
        all.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check {id}: {:#}", self.said))
    }

    /// Asserts how a check ended and what its detail holds; what does not work needs a remedy.
    #[track_caller]
    fn is(&self, id: &str, status: &str, detail: &str) {
        let check = self.check(id);
        assert_eq!(check["status"], status, "{check:#}");
        assert!(check["detail"].as_str().unwrap().contains(detail), "{check:#}");
        let has_remedy = check["remedy"].is_string();
        assert_eq!(has_remedy, matches!(status, "warn" | "fail"), "{check:#}");
    }
}

#[test]
fn an_empty_home_passes_and_is_not_changed() {
    let clinic = Clinic { home: Home::new() };
    let seen = clinic.look(&[]);
    let checks = seen.said["checks"].as_array().unwrap();
    let ids: Vec<&str> = checks.iter().map(|check| check["id"].as_str().unwrap()).collect();
    for id in [
        "config",
        "home.permissions",
        "socket.permissions",
        "hub",
        "port",
        "handshake.stdio",
        "handshake.socket",
        "handshake.http",
        "stdout.purity",
        "runner.codex",
        "runners",
        "database",
        "runs",
        "display",
        "notifications",
        "service",
        "clock",
    ] {
        assert!(ids.contains(&id), "{id} is not among {ids:?}");
    }
    for check in checks {
        let members: Vec<&String> = check.as_object().unwrap().keys().collect();
        assert_eq!(members, ["id", "status", "detail", "remedy", "fixable", "fixed"]);
        assert_ne!(check["status"], "fail", "{check:#}");
    }
    assert_eq!(seen.code, 0);
    assert!(!clinic.home.path().join(".adjutant").exists(), "looking made a home");
    // For a person: a line each, and the count.
    let told = clinic.home.run(["doctor"], "");
    assert!(told.stdout.contains("ok       handshake.stdio"), "{}", told.stdout);
    assert!(told.stderr.starts_with("0 failed, "), "{}", told.stderr);
}

#[test]
fn files_that_other_users_may_read_are_found_and_fixed() {
    let clinic = Clinic::new();
    std::fs::write(clinic.file("token"), "t").unwrap();
    clinic.mode("token", 0o644);
    clinic.mode("config.toml", 0o666);
    clinic.mode("", 0o755);
    let seen = clinic.look(&[]);
    seen.is("home.permissions", "fail", "token");
    assert_eq!(seen.check("home.permissions")["fixable"], true);
    assert_eq!((seen.code, &seen.said["status"]), (1, &json!("fail")));
    let seen = clinic.look(&["--fix"]);
    seen.is("home.permissions", "ok", "yours alone");
    let fixed = seen.check("home.permissions")["fixed"].as_str().unwrap();
    assert!(fixed.contains("token has mode 600 now"), "{fixed}");
    let mode = |name: &str| std::fs::metadata(clinic.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("token"), mode("config.toml")), (0o700, 0o600, 0o600));
    assert_eq!(clinic.look(&[]).check("home.permissions")["fixed"], Value::Null);
}

#[test]
fn fix_removes_a_stale_socket_and_starts_a_hub() {
    let clinic = Clinic::new();
    drop(UnixListener::bind(clinic.file("hub.sock")).unwrap());
    let seen = clinic.look(&[]);
    seen.is("socket.permissions", "warn", "remains from a hub");
    seen.is("hub", "skipped", "no hub runs");
    let seen = clinic.look(&["--fix"]);
    assert!(seen.check("socket.permissions")["fixed"].as_str().unwrap().starts_with("removed "));
    seen.is("socket.permissions", "ok", "yours alone");
    seen.is("hub", "ok", "runs");
    assert_eq!(seen.check("hub")["fixed"], "started a hub");
    seen.is("handshake.socket", "ok", "2026-07-28");
    seen.is("handshake.stdio", "ok", "connect");
    assert!(clinic.hub().is_some());
    clinic.mode("hub.sock", 0o666);
    clinic.look(&[]).is("socket.permissions", "fail", "others may open");
    clinic.look(&["--fix"]).is("socket.permissions", "ok", "yours alone");
}

#[test]
fn a_socket_of_another_program_is_named_and_kept() {
    let clinic = Clinic::new();
    let other = UnixListener::bind(clinic.file("hub.sock")).unwrap();
    // Who connects is turned away, as by a program that is no hub.
    std::thread::spawn(move || other.incoming().for_each(drop));
    let seen = clinic.look(&["--fix"]);
    seen.is("socket.permissions", "fail", "another program listens there");
    assert_eq!(seen.check("socket.permissions")["fixed"], Value::Null);
    assert!(clinic.file("hub.sock").exists());
}

#[test]
fn frozen_programs_are_reported() {
    let clinic = Clinic::new();
    let places = [clinic.file("hub.sock"), clinic.home.path().join("wayland-7")];
    let _frozen = places.map(|place| Frozen::at(&place));
    let screen =
        [("WAYLAND_DISPLAY", "wayland-7"), ("XDG_RUNTIME_DIR", clinic.home.path().to_str().unwrap())];
    let seen = look_by(clinic.with_programs().envs(screen));
    seen.is("socket.permissions", "fail", "another program listens there");
    seen.is("display", "warn", "it accepted no connection for 2 s");
}

#[test]
fn a_home_that_is_a_file_is_reported() {
    let home = Home::new();
    home.write(".adjutant", "");
    let seen = look_by(&mut home.adjutant(["doctor", "--json"]));
    seen.is("config", "fail", ".adjutant is not a folder");
    assert!(seen.check("config")["remedy"].as_str().unwrap().contains("--home"), "{seen:?}");
}

#[test]
fn a_file_in_the_sockets_place_is_reported_and_kept() {
    let clinic = Clinic::new();
    std::fs::write(clinic.file("hub.sock"), "mine").unwrap();
    let seen = clinic.look(&["--fix"]);
    seen.is("socket.permissions", "fail", "in the way");
    assert_eq!(std::fs::read_to_string(clinic.file("hub.sock")).unwrap(), "mine");
    // The hub could not be started either, and that is said.
    let fixed = seen.check("hub")["fixed"].as_str().unwrap();
    assert!(fixed.starts_with("could not start a hub: "), "{fixed}");
}

#[test]
fn the_http_check_uses_the_token() {
    let clinic = Clinic::new();
    clinic.config("[http]\naddress = \"127.0.0.1:0\"\n");
    assert!(clinic.home.run(["serve", "--background"], "").status.success());
    let seen = clinic.look(&[]);
    seen.is("handshake.http", "ok", "2025-11-25 and 2026-07-28");
    seen.is("port", "ok", "the hub listens on 127.0.0.1:");
    std::fs::write(clinic.file("token"), "another\n").unwrap();
    clinic.look(&[]).is("handshake.http", "fail", "status 401");
    std::fs::remove_file(clinic.file("token")).unwrap();
    clinic.look(&[]).is("handshake.http", "fail", "the token cannot be read");
}

#[test]
fn the_http_check_of_an_open_hub_uses_no_token() {
    let clinic = Clinic::new();
    clinic.config("[http]\naddress = \"127.0.0.1:0\"\n");
    let demo = ["serve", "--background", "--demo", "--auth", "none"];
    assert!(clinic.home.run(demo, "").status.success());
    // It asks for no token and made none.
    clinic.look(&[]).is("handshake.http", "ok", "2025-11-25 and 2026-07-28");
}

/// Answers on the socket as a hub of another version does, and holds the home's lock until it is dropped.
fn other_hub(clinic: &Clinic, answers: bool) -> std::fs::File {
    let lock = std::fs::File::create(clinic.file("hub.lock")).unwrap();
    std::fs::write(
        clinic.file("hub.lock"),
        json!({"pid": 4242, "adjutant": "0.0.9", "http": null, "socket": clinic.file("hub.sock")})
            .to_string(),
    )
    .unwrap();
    clinic.mode("hub.lock", 0o600);
    lock.lock().unwrap();
    let listener = UnixListener::bind(clinic.file("hub.sock")).unwrap();
    clinic.mode("hub.sock", 0o600);
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let status = json!({"http": null, "socket": null, "uptime_seconds": 1, "clients": []});
            if answers {
                let welcome = json!({"adjutant": "0.0.9", "hello": 1, "pid": 4242, "status": status});
                let _ = writeln!(stream, "{welcome}");
            } else {
                kept.push(stream);
            }
        }
    });
    lock
}

#[test]
fn a_hub_of_another_version_is_named() {
    let clinic = Clinic::new();
    let _lock = other_hub(&clinic, true);
    let seen = clinic.look(&[]);
    seen.is("hub", "warn", "adjutant 0.0.9 runs (pid 4242)");
    assert!(seen.check("hub")["remedy"].as_str().unwrap().contains("kill 4242"));
    let alone = clinic.home.run([""; 0], "").stdout;
    assert!(alone.contains("the hub runs (pid 4242, version 0.0.9)"), "{alone}");
    // It says hello and nothing else.
    seen.is("handshake.socket", "fail", "answer");
}

#[test]
fn a_silent_hub_and_silent_programs_do_not_hang_the_doctor() {
    let clinic = Clinic::new();
    let _lock = other_hub(&clinic, false);
    clinic.program("codex", "exec sleep 600");
    clinic.program("silent", "exec sleep 600");
    let begun = Instant::now();
    let seen = look_by(clinic.with_programs().args(["--program", "bin/silent"]));
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
    seen.is("hub", "fail", "does not answer");
    seen.is("runner.codex", "fail", "longer than");
    seen.is("stdout.purity", "fail", "longer than");
    seen.is("clock", "ok", "");
    assert_eq!(seen.code, 1);
}

#[test]
fn a_wrapper_that_writes_to_stdout_is_found() {
    let clinic = Clinic::new();
    let own = env!("CARGO_BIN_EXE_adjutant");
    clinic.program("talks", &format!("echo 'Welcome back!'\nexec {own} \"$@\""));
    let seen = clinic.look(&["--program", "bin/talks"]);
    seen.is("stdout.purity", "fail", "\"Welcome back!\"");
    clinic.program("breaks", "echo 'no such thing' >&2\nexit 3");
    let seen = clinic.look(&["--program", "bin/breaks"]);
    seen.is("handshake.stdio", "fail", "it ended with code 3: no such thing");
    clinic.look(&[]).is("stdout.purity", "ok", "nothing else");
}

#[test]
fn a_codex_other_than_the_runners_is_named() {
    let clinic = Clinic::new();
    let own = clinic.home.write("own/codex", "#!/bin/sh\necho 'codex-cli 0.153.4'\n");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!("[http]\naddress = \"off\"\n[codex]\nbackend = \"mcp-server\"\nprogram = {own:?}\n");
    clinic.config(&text);
    let look = || look_by(&mut clinic.with_programs());
    look().is("runner.codex", "ok", "0.153.4 for sessions only, driven by its mcp-server");
    clinic.program("codex", "echo 'codex-cli 0.169.0'");
    look().is("runner.codex", "warn", "codex-cli 0.169.0; sessions have 0.153.4, driven by its mcp-server");
    std::fs::remove_file(clinic.home.path().join("bin/codex")).unwrap();
    std::fs::remove_file(own).unwrap();
    look().is("runner.codex", "fail", "codex was not found at `");
}

#[test]
fn runners_are_listed_with_version_backend_and_login() {
    let clinic = Clinic::new();
    let seen = look_by(&mut clinic.with_programs());
    seen.is("runner.codex", "skipped", "not installed");
    seen.is("runners", "warn", "none is installed");
    clinic.program("codex", "echo 'codex-cli 0.169.0'");
    clinic.program("gemini", "exit 7");
    clinic.program("copilot", "printf 'GitHub Copilot CLI 1.0.102.\nRun it.\n'");
    let seen = look_by(&mut clinic.with_programs());
    seen.is("runner.codex", "warn", "codex-cli 0.169.0, driven by its app-server, not logged in");
    assert!(seen.check("runner.codex")["remedy"].as_str().unwrap().contains("codex login"));
    seen.is("runner.gemini", "fail", "exit code 7");
    let copilot = seen.check("runner.copilot")["detail"].as_str().unwrap();
    assert!(copilot.starts_with("GitHub Copilot CLI 1.0.102, "), "{copilot}");
    seen.is("runners", "ok", "3 of 5");
    let keyed = look_by(clinic.with_programs().env("OPENAI_API_KEY", "sk-secret"));
    keyed.is("runner.codex", "ok", "logged in by OPENAI_API_KEY");
    assert!(!keyed.said.to_string().contains("sk-secret"));
    clinic.home.write(".codex/auth.json", r#"{"OPENAI_API_KEY": null, "tokens": {"id_token": "secret"}}"#);
    clinic.program("codex", "echo 'codex-cli 0.77.1'");
    let seen = look_by(&mut clinic.with_programs());
    seen.is("runner.codex", "ok", "codex-cli 0.77.1, driven by its mcp-server, logged in");
    clinic.config("[http]\naddress = \"off\"\n[codex]\nbackend = \"app-server\"\n[[runners]]\nname = \"codex\"\n[[runners]]\nname = \"claude\"\nprogram = \"/nowhere/claude\"\n");
    let seen = look_by(&mut clinic.with_programs());
    seen.is("runner.codex", "fail", "has no `app-server`");
    seen.is("runner.claude", "fail", "/nowhere/claude is not a program");
}

#[test]
fn a_broken_database_is_found_and_not_changed() {
    let clinic = Clinic::new();
    assert!(clinic.home.run(["users", "add", "Ann Lee", "--id", "ann"], "").status.success());
    clinic.look(&[]).is("database", "ok", "sound");
    let mut bytes = std::fs::read(clinic.file("adjutant.db")).unwrap();
    let length = bytes.len();
    assert!(length > 3 * 4096, "{length}");
    bytes[2 * 4096..length].fill(0x5a);
    std::fs::write(clinic.file("adjutant.db"), &bytes).unwrap();
    clinic.look(&[]).is("database", "fail", "");
    assert_eq!(std::fs::read(clinic.file("adjutant.db")).unwrap(), bytes);
    std::fs::write(clinic.file("adjutant.db"), "this is no database at all, however long one looks at it")
        .unwrap();
    clinic.look(&[]).is("database", "fail", "database");
}

#[test]
fn each_database_fault_has_its_own_remedy() {
    let clinic = Clinic::new();
    assert!(clinic.home.run(["users", "add", "Ann Lee", "--id", "ann"], "").status.success());
    let remedy = |seen: &Seen| seen.check("database")["remedy"].as_str().unwrap().to_owned();
    let sql = |script: &str| {
        let file = clinic.file("adjutant.db");
        let done = Command::new("python3")
            .args(["-c", &format!("import sqlite3, sys\ndb = sqlite3.connect({file:?})\n{script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        done.unwrap()
    };
    // It holds the file until its stdin ends.
    let mut holder = sql(
        "db.execute('PRAGMA locking_mode = EXCLUSIVE')\ndb.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()",
    );
    let mut word = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut word).unwrap();
    assert_eq!(word, "held\n");
    let seen = clinic.look(&[]);
    seen.is("database", "fail", "another program has locked it");
    assert!(remedy(&seen).starts_with("end that program"), "{seen:?}");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    let newer = sql(
        "db.execute('INSERT INTO _sqlx_migrations SELECT version + 1000000, description, installed_on, success, checksum, execution_time FROM _sqlx_migrations ORDER BY version DESC LIMIT 1')\ndb.commit()",
    );
    assert!(newer.wait_with_output().unwrap().status.success());
    let seen = clinic.look(&[]);
    seen.is("database", "fail", "a newer adjutant wrote it");
    assert!(remedy(&seen).starts_with("start that version"), "{seen:?}");
    clinic.config("database = \"postgres://ann@127.0.0.1:1/rows\"\n");
    let seen = clinic.look(&[]);
    seen.is("database", "fail", "cannot be reached");
    assert!(remedy(&seen).starts_with("start its server"), "{seen:?}");
}

#[test]
fn a_hub_with_a_broken_database_still_reports_its_state() {
    let clinic = Clinic::new();
    std::fs::write(clinic.file("adjutant.db"), [0x5a; 8192]).unwrap();
    clinic.mode("adjutant.db", 0o600);
    let seen = clinic.look(&["--fix"]);
    seen.is("hub", "ok", "runs");
    seen.is("handshake.socket", "ok", "2026-07-28");
    seen.is("database", "fail", "not a database");
    // Nobody waits for a pool that tries again and again.
    let begun = Instant::now();
    let told = clinic.home.run(["tasks", "list"], "");
    assert!(!told.status.success() && told.stderr.contains("store does not answer"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(9), "{told}");
}

#[test]
fn a_display_that_does_not_answer_is_reported() {
    let clinic = Clinic::new();
    let look = |variables: &[(&str, &str)]| look_by(clinic.with_programs().envs(variables.iter().copied()));
    look(&[("DISPLAY", ":7777")]).is("display", "warn", ":7777 does not answer");
    look(&[("DISPLAY", "nonsense")]).is("display", "warn", "not a valid display name");
    let _compositor = UnixListener::bind(clinic.home.path().join("wayland-7")).unwrap();
    let folder = clinic.home.path().to_str().unwrap();
    let both = [("DISPLAY", ":7777"), ("WAYLAND_DISPLAY", "wayland-7"), ("XDG_RUNTIME_DIR", folder)];
    look(&both).is("display", "ok", "wayland-7, where this command runs");
}

#[test]
fn processes_without_a_supervisor_are_found_and_ended() {
    let clinic = Clinic::new();
    let record = json!({"supervisor": 4_000_001, "runner": 4_000_002, "runner_start": 1, "mark": "00ff"});
    clinic.home.write(".adjutant/spool/tasks/one/run-1/run.json", record.to_string());
    clinic.home.write(".adjutant/spool/tasks/one/run-1/lock", "");
    clinic.mode("spool", 0o700);
    let mut left = Command::new("sleep").arg("600").env("ADJUTANT_RUN", "00ff").spawn().unwrap();
    let stranger = Command::new("sleep").arg("600").env("ADJUTANT_RUN", "00fe").spawn();
    let mut stranger = stranger.unwrap();
    let seen = clinic.look(&[]);
    seen.is("runs", "fail", "without a supervisor: 1, in runs: 1");
    let seen = clinic.look(&["--fix"]);
    seen.is("runs", "ok", "");
    assert!(seen.check("runs")["fixed"].as_str().unwrap().starts_with("ended "), "{:#}", seen.said);
    wait(&mut left, DEADLINE);
    assert!(stranger.try_wait().unwrap().is_none(), "a process of another run was ended");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_taken_port_a_late_clock_and_an_old_service_are_found() {
    let clinic = Clinic::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    clinic.config(&format!("[http]\naddress = \"{address}\"\n"));
    clinic.look(&[]).is("port", "fail", &format!("another program listens on {address}"));
    drop(taken);
    clinic.look(&[]).is("port", "ok", "is free");

    let lock = std::fs::File::create(clinic.file("hub.lock")).unwrap();
    clinic.mode("hub.lock", 0o600);
    lock.set_modified(SystemTime::now() + Duration::from_hours(30)).unwrap();
    clinic.look(&[]).is("clock", "fail", "hub.lock was written");
    lock.set_modified(SystemTime::now()).unwrap();
    clinic.look(&[]).is("clock", "ok", "");

    clinic.home.write(
        ".config/systemd/user/adjutant.service",
        "# Written by `adjutant service install`; of another day.\n",
    );
    clinic.look(&[]).is("service", "warn", "another version");
}

#[test]
fn an_unreadable_configuration_is_the_only_finding() {
    let clinic = Clinic::new();
    clinic.config("[http]\nadress = \"off\"\n");
    let seen = clinic.look(&[]);
    assert_eq!(seen.said["checks"].as_array().unwrap().len(), 1);
    seen.is("config", "fail", "adress");
    assert_eq!(seen.code, 1);
    clinic.config("");
    assert!(Path::new(&clinic.look(&[]).said["home"].as_str().unwrap()).is_absolute());
}

#[test]
fn clients_are_checked_by_the_entry_named_adjutant() {
    let clinic = Clinic::new();
    let look = || clinic.look(&[]);
    // A word in a comment, a project's path or another server's argument is no entry.
    clinic.home.write(
        ".codex/config.toml",
        "# once had adjutant\n[projects.\"/home/me/adjutant\"]\ntrust_level = \"trusted\"\n",
    );
    clinic
        .home
        .write(".cursor/mcp.json", r#"{"mcpServers": {"other": {"command": "/opt/adjutant/bin/other"}}}"#);
    look().is("clients", "warn", "none is connected; found: Codex, Cursor");
    assert!(clinic.home.run(["install", "codex", "--yes"], "").status.success());
    look().is("clients", "ok", "connected: Codex; not connected: Cursor");
    clinic.home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"adjutant": {"command": "/nowhere/adjutant", "args": ["connect"]}}}"#,
    );
    look().is(
        "clients",
        "fail",
        "these clients start a program that does not exist: Cursor starts /nowhere/adjutant",
    );
    clinic
        .home
        .write(".cursor/mcp.json", r#"{"mcpServers": {"adjutant": {"command": "desk", "args": ["serve"]}}}"#);
    look().is("clients", "warn", "another server has the name adjutant: Cursor (desk serve)");
    let own = json!({"mcpServers": {"adjutant": {"command": "adjutant", "args": ["connect", "prompts"]}}});
    clinic.home.write(".cursor/mcp.json", own.to_string());
    look().is("clients", "ok", "connected: Codex, Cursor; with a changed entry: Cursor");
    clinic.home.write(".cursor/mcp.json", "{\"mcpServers\": ");
    look().is("clients", "fail", "mcp.json");
}

#[test]
fn probes_of_the_doctor_do_not_count_as_clients_or_activity() {
    let home = Home::new();
    let hub = Serving::open_hub(&home);
    let address = hub.url("").trim_start_matches("http://").to_owned();
    home.write(".adjutant/config.toml", format!("[http]\naddress = \"{address}\"\nauth = \"none\"\n"));
    let clinic = Clinic { home };
    clinic.look(&[]).is("handshake.http", "ok", "speaks 2025-11-25");
    // Who calls without a session is shown for some minutes.
    let told = clinic.home.run(["status"], "").stdout;
    assert!(told.contains("\ncheck    adjutant doctor ") && !told.contains("\nclient "), "{told}");
    assert!(clinic.home.run([""; 0], "").stdout.contains("0 clients"), "{told}");
    let page = hub.page("/");
    assert!(page.contains("adjutant doctor") && page.contains("a check"), "{page}");
    assert!(
        !page.contains("connected</strong>") && page.contains("<strong>0</strong> <span>connected"),
        "{page}"
    );
    let timeline = hub.page("/timeline");
    assert!(!timeline.contains("adjutant doctor"), "{timeline}");
}

#[test]
fn settings_that_need_a_restart_are_named() {
    let home = Home::new();
    home.write(
        ".adjutant/config.toml",
        "[questions]\nkeep_days = 5\n[ntfy]\nserver = \"https://ntfy.example\"\ntopic = \"a\"\n",
    );
    let hub = Serving::open_hub(&home);
    let clinic = Clinic { home };
    let (status, page) = (|| clinic.home.run(["status"], "").stdout, || hub.page("/settings"));
    assert!(!status().contains("restart") && !page().contains("Pending restart"));
    clinic.look(&[]).is("config", "ok", "can be read");
    // A flag decides about auth, and toolsets are switched at once: neither waits.
    let changed = "[http]\nauth = \"token\"\n[toolsets]\ncodex = false\n[questions]\nkeep_days = 6\n";
    clinic.home.write(".adjutant/config.toml", changed);
    let end = Instant::now() + DEADLINE;
    while !status().contains("these need a restart: ntfy.server, ntfy.topic, questions.keep_days\n") {
        assert!(Instant::now() < end, "{}", status());
    }
    let shown = page();
    for part in ["Pending restart", "href=\"#questions.keep_days\"", "href=\"#ntfy.topic\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("href=\"#http.auth\"") && !shown.contains("href=\"#toolsets.codex\""), "{shown}");
    clinic.look(&[]).is("config", "warn", "ntfy.server, ntfy.topic, questions.keep_days");
    clinic.home.write(".adjutant/config.toml", "[questions\n");
    while !page().contains("The file cannot be read") {
        assert!(Instant::now() < end, "{}", page());
    }
    clinic.home.write(
        ".adjutant/config.toml",
        "[questions]\nkeep_days = 5\n[ntfy]\nserver = \"https://ntfy.example\"\ntopic = \"a\"\n",
    );
    while page().contains("Pending restart") {
        assert!(Instant::now() < end, "{}", page());
    }
    assert!(!page().contains("The file cannot be read"));
}

#[test]
fn a_complete_machine_passes_every_check() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[http]\naddress = \"127.0.0.1:0\"\n");
    let clinic = Clinic { home };
    let home = &clinic.home;
    clinic.mode("", 0o700);
    for (name, version) in [
        ("codex", "codex-cli 0.169.0"),
        ("copilot", "GitHub Copilot CLI 1.0.102."),
        ("claude", "2.1.329 (Claude Code)"),
        ("gemini", "0.61.0"),
        ("opencode", "1.18.33"),
    ] {
        clinic.program(name, &format!("echo '{version}'"));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), home.path().join("bin/adjutant")).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let run = |words: &[&str]| {
        let told = home.adjutant(words).env("PATH", &path).stdin(Stdio::null()).output().unwrap();
        assert!(told.status.success(), "{words:?}: {}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap()
    };
    assert!(run(&[]).contains("\n  adjutant install "));
    home.write(".adjutant/approval-passphrase", "");
    clinic.mode("approval-passphrase", 0o600);
    run(&["install", "--yes"]);
    run(&["serve", "--background"]);
    let _hub = EndsHub(home);
    let keys = ["OPENAI_API_KEY", "GH_TOKEN", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"].map(|name| (name, "x"));
    let seen = look_by(clinic.with_programs().envs(keys));
    let checks = seen.said["checks"].as_array().unwrap();
    for check in checks {
        assert!(check["status"] == "ok" || check["status"] == "skipped", "{check:#}");
    }
    seen.is("clients", "ok", "connected: Claude Code, Codex, Copilot CLI, Gemini CLI, opencode");
    seen.is("runners", "ok", "5 of 5");
    for id in ["hub", "handshake.stdio", "handshake.socket", "handshake.http", "stdout.purity", "program"] {
        assert_eq!(seen.check(id)["status"], "ok", "{id}");
    }
    assert!(!run(&[]).contains("\n  adjutant install "), "it is installed already");
}
