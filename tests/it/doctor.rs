//! `adjutant doctor`: each thing broken on purpose is found, and what `--fix` can repair it repairs.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::support::process_table::FrozenListener;
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home, StopHubOnDrop, wait};

/// A home whose hub, if one is started, has HTTP off and ends with the value.
struct Fixture {
    home: Home,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { home: Home::new() };
        fixture.config("[http]\naddress = \"off\"\n");
        fixture
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

    /// Runs `doctor --json` with these arguments.
    fn run_doctor(&self, arguments: &[&str]) -> Report {
        run_command(&mut self.home.adjutant(["doctor", "--json"].iter().chain(arguments)))
    }

    fn hub(&self) -> Option<Value> {
        let output = self.home.run(["status", "--json"], "");
        output.status.success().then(|| serde_json::from_str(&output.stdout).unwrap())
    }

    /// Puts a program on the `PATH` of the next command.
    fn program(&self, name: &str, script: &str) {
        self.home.write_program(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
    }

    /// The doctor, on a `PATH` of these programs and the system's.
    fn with_programs(&self) -> Command {
        let mut command = self.home.adjutant(["doctor", "--json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.home.path().join("bin").display()));
        command
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let pid = self.hub().and_then(|hub| hub["pid"].as_i64());
        if let Some(pid) = pid.and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Runs a prepared doctor command.
fn run_command(command: &mut Command) -> Report {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let json = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    Report { json, code: output.status.code().unwrap() }
}

/// The report of the doctor and its exit code.
#[derive(Debug)]
struct Report {
    json: Value,
    code: i32,
}

impl Report {
    fn check(&self, id: &str) -> &Value {
        let all = self.json["items"].as_array().unwrap();
        all.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check {id}: {:#}", self.json))
    }

    /// Asserts the status of a check and a part of its detail; a warning or failure needs a remedy.
    #[track_caller]
    fn assert_check(&self, id: &str, status: &str, detail: &str) {
        let check = self.check(id);
        assert_eq!(check["status"], status, "{check:#}");
        assert!(check["detail"].as_str().unwrap().contains(detail), "{check:#}");
        let has_remedy = check["remedy"].is_string();
        assert_eq!(has_remedy, matches!(status, "warn" | "fail"), "{check:#}");
    }
}

#[test]
fn an_empty_home_passes_and_is_not_changed() {
    let fixture = Fixture { home: Home::new() };
    let report = fixture.run_doctor(&[]);
    let checks = report.json["items"].as_array().unwrap();
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
        assert_eq!(members, ["id", "status", "detail", "remedy", "fixable", "fixed", "check_id"]);
        assert_ne!(check["status"], "fail", "{check:#}");
    }
    assert_eq!(report.code, 0);
    assert!(!fixture.home.path().join(".adjutant").exists(), "looking made a home");
    // Without `--json`: a line for each check, and the count.
    let output = fixture.home.run(["doctor"], "");
    assert!(output.stdout.contains("ok       handshake.stdio"), "{}", output.stdout);
    assert!(output.stderr.starts_with("0 failed, "), "{}", output.stderr);
}

#[test]
fn files_that_other_users_may_read_are_found_and_fixed() {
    let fixture = Fixture::new();
    std::fs::write(fixture.file("token"), "t").unwrap();
    fixture.mode("token", 0o644);
    fixture.mode("config.toml", 0o666);
    fixture.mode("", 0o755);
    let report = fixture.run_doctor(&[]);
    report.assert_check("home.permissions", "fail", "token");
    assert_eq!(report.check("home.permissions")["fixable"], true);
    assert_eq!((report.code, &report.json["status"]), (1, &json!("fail")));
    let report = fixture.run_doctor(&["--fix"]);
    report.assert_check("home.permissions", "ok", "yours alone");
    let fixed = report.check("home.permissions")["fixed"].as_str().unwrap();
    assert!(fixed.contains("token has mode 600 now"), "{fixed}");
    let mode = |name: &str| std::fs::metadata(fixture.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("token"), mode("config.toml")), (0o700, 0o600, 0o600));
    assert_eq!(fixture.run_doctor(&[]).check("home.permissions")["fixed"], Value::Null);
}

#[test]
fn fix_removes_a_stale_socket_and_starts_a_hub() {
    let fixture = Fixture::new();
    drop(UnixListener::bind(fixture.file("hub.sock")).unwrap());
    let report = fixture.run_doctor(&[]);
    report.assert_check("socket.permissions", "warn", "remains from a hub");
    report.assert_check("hub", "skipped", "no hub runs");
    let report = fixture.run_doctor(&["--fix"]);
    assert!(report.check("socket.permissions")["fixed"].as_str().unwrap().starts_with("removed "));
    report.assert_check("socket.permissions", "ok", "yours alone");
    report.assert_check("hub", "ok", "runs");
    assert_eq!(report.check("hub")["fixed"], "started a hub");
    report.assert_check("handshake.socket", "ok", "2026-07-28");
    report.assert_check("handshake.stdio", "ok", "connect");
    assert!(fixture.hub().is_some());
    fixture.mode("hub.sock", 0o666);
    fixture.run_doctor(&[]).assert_check("socket.permissions", "fail", "others may open");
    fixture.run_doctor(&["--fix"]).assert_check("socket.permissions", "ok", "yours alone");
}

#[test]
fn a_socket_of_another_program_is_named_and_kept() {
    let fixture = Fixture::new();
    let other = UnixListener::bind(fixture.file("hub.sock")).unwrap();
    // A connection is closed, as by a program that is not a hub.
    std::thread::spawn(move || other.incoming().for_each(drop));
    let report = fixture.run_doctor(&["--fix"]);
    report.assert_check("socket.permissions", "fail", "another program listens there");
    assert_eq!(report.check("socket.permissions")["fixed"], Value::Null);
    assert!(fixture.file("hub.sock").exists());
}

#[test]
fn frozen_programs_are_reported() {
    let fixture = Fixture::new();
    let places = [fixture.file("hub.sock"), fixture.home.path().join("wayland-7")];
    let _frozen = places.map(|place| FrozenListener::at(&place));
    let screen =
        [("WAYLAND_DISPLAY", "wayland-7"), ("XDG_RUNTIME_DIR", fixture.home.path().to_str().unwrap())];
    let report = run_command(fixture.with_programs().envs(screen));
    report.assert_check("socket.permissions", "fail", "another program listens there");
    report.assert_check("display", "warn", "it accepted no connection for 2 s");
}

#[test]
fn a_home_that_is_a_file_is_reported() {
    let home = Home::new();
    home.write(".adjutant", "");
    let report = run_command(&mut home.adjutant(["doctor", "--json"]));
    report.assert_check("config", "fail", ".adjutant is not a folder");
    assert!(report.check("config")["remedy"].as_str().unwrap().contains("--home"), "{report:?}");
}

#[test]
fn a_file_in_the_sockets_place_is_reported_and_kept() {
    let fixture = Fixture::new();
    std::fs::write(fixture.file("hub.sock"), "mine").unwrap();
    let report = fixture.run_doctor(&["--fix"]);
    report.assert_check("socket.permissions", "fail", "in the way");
    assert_eq!(std::fs::read_to_string(fixture.file("hub.sock")).unwrap(), "mine");
    // The hub could not be started either, and that is reported.
    let fixed = report.check("hub")["fixed"].as_str().unwrap();
    assert!(fixed.starts_with("could not start a hub: "), "{fixed}");
}

#[test]
fn the_http_check_uses_the_token() {
    let fixture = Fixture::new();
    fixture.config("[http]\naddress = \"127.0.0.1:0\"\n");
    assert!(fixture.home.run(["serve", "--background"], "").status.success());
    let report = fixture.run_doctor(&[]);
    report.assert_check("handshake.http", "ok", "2025-11-25 and 2026-07-28");
    report.assert_check("port", "ok", "the hub listens on 127.0.0.1:");
    std::fs::write(fixture.file("token"), "another\n").unwrap();
    fixture.run_doctor(&[]).assert_check("handshake.http", "fail", "status 401");
    std::fs::remove_file(fixture.file("token")).unwrap();
    fixture.run_doctor(&[]).assert_check("handshake.http", "fail", "the token cannot be read");
}

#[test]
fn the_http_check_of_an_open_hub_uses_no_token() {
    let fixture = Fixture::new();
    fixture.config("[http]\naddress = \"127.0.0.1:0\"\n");
    let demo = ["serve", "--background", "--demo", "--auth", "none"];
    assert!(fixture.home.run(demo, "").status.success());
    // It needs no token and made none.
    fixture.run_doctor(&[]).assert_check("handshake.http", "ok", "2025-11-25 and 2026-07-28");
}

/// Answers on the socket as a hub of another version does, and holds the home's lock until it is dropped.
fn fake_hub_of_another_version(fixture: &Fixture, answers: bool) -> std::fs::File {
    let lock = std::fs::File::create(fixture.file("hub.lock")).unwrap();
    std::fs::write(
        fixture.file("hub.lock"),
        json!({"pid": 4242, "adjutant": "0.0.9", "http": null, "socket": fixture.file("hub.sock")})
            .to_string(),
    )
    .unwrap();
    fixture.mode("hub.lock", 0o600);
    lock.lock().unwrap();
    let listener = UnixListener::bind(fixture.file("hub.sock")).unwrap();
    fixture.mode("hub.sock", 0o600);
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
    let fixture = Fixture::new();
    let _lock = fake_hub_of_another_version(&fixture, true);
    let report = fixture.run_doctor(&[]);
    report.assert_check("hub", "warn", "adjutant 0.0.9 runs (pid 4242)");
    assert!(report.check("hub")["remedy"].as_str().unwrap().contains("kill 4242"));
    let alone = fixture.home.run([""; 0], "").stdout;
    assert!(alone.contains("the hub runs (pid 4242, version 0.0.9)"), "{alone}");
    // It sends its hello and nothing else.
    report.assert_check("handshake.socket", "fail", "answer");
}

#[test]
fn a_silent_hub_and_silent_programs_do_not_hang_the_doctor() {
    let fixture = Fixture::new();
    let _lock = fake_hub_of_another_version(&fixture, false);
    fixture.program("codex", "exec sleep 600");
    fixture.program("silent", "exec sleep 600");
    let begun = Instant::now();
    let report = run_command(fixture.with_programs().args(["--program", "bin/silent"]));
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
    report.assert_check("hub", "fail", "does not answer");
    report.assert_check("runner.codex", "fail", "longer than");
    report.assert_check("stdout.purity", "fail", "longer than");
    report.assert_check("clock", "ok", "");
    assert_eq!(report.code, 1);
}

#[test]
fn a_wrapper_that_writes_to_stdout_is_found() {
    let fixture = Fixture::new();
    let own = env!("CARGO_BIN_EXE_adjutant");
    fixture.program("talks", &format!("echo 'Welcome back!'\nexec {own} \"$@\""));
    let report = fixture.run_doctor(&["--program", "bin/talks"]);
    report.assert_check("stdout.purity", "fail", "\"Welcome back!\"");
    fixture.program("breaks", "echo 'no such thing' >&2\nexit 3");
    let report = fixture.run_doctor(&["--program", "bin/breaks"]);
    report.assert_check("handshake.stdio", "fail", "it ended with code 3: no such thing");
    fixture.run_doctor(&[]).assert_check("stdout.purity", "ok", "nothing else");
}

#[test]
fn a_codex_other_than_the_runners_is_named() {
    let fixture = Fixture::new();
    let own = fixture.home.write_program("own/codex", "#!/bin/sh\necho 'codex-cli 0.153.4'\n");
    let text = format!("[http]\naddress = \"off\"\n[codex]\nbackend = \"mcp-server\"\nprogram = {own:?}\n");
    fixture.config(&text);
    let run_doctor = || run_command(&mut fixture.with_programs());
    run_doctor().assert_check("runner.codex", "ok", "0.153.4 for sessions only, driven by its mcp-server");
    fixture.program("codex", "echo 'codex-cli 0.169.0'");
    run_doctor().assert_check(
        "runner.codex",
        "warn",
        "codex-cli 0.169.0; sessions have 0.153.4, driven by its mcp-server",
    );
    std::fs::remove_file(fixture.home.path().join("bin/codex")).unwrap();
    std::fs::remove_file(own).unwrap();
    run_doctor().assert_check("runner.codex", "fail", "codex was not found at `");
}

#[test]
fn runners_are_listed_with_version_backend_and_login() {
    let fixture = Fixture::new();
    let report = run_command(&mut fixture.with_programs());
    report.assert_check("runner.codex", "skipped", "not installed");
    report.assert_check("runners", "warn", "none is installed");
    fixture.program("codex", "echo 'codex-cli 0.169.0'");
    fixture.program("gemini", "exit 7");
    fixture.program("copilot", "printf 'GitHub Copilot CLI 1.0.102.\nRun it.\n'");
    let report = run_command(&mut fixture.with_programs());
    report.assert_check("runner.codex", "warn", "codex-cli 0.169.0, driven by its app-server, not logged in");
    assert!(report.check("runner.codex")["remedy"].as_str().unwrap().contains("codex login"));
    report.assert_check("runner.gemini", "fail", "exit code 7");
    let copilot = report.check("runner.copilot")["detail"].as_str().unwrap();
    assert!(copilot.starts_with("GitHub Copilot CLI 1.0.102, "), "{copilot}");
    report.assert_check("runners", "ok", "3 of 5");
    let keyed = run_command(fixture.with_programs().env("OPENAI_API_KEY", "sk-secret"));
    keyed.assert_check("runner.codex", "ok", "logged in by OPENAI_API_KEY");
    assert!(!keyed.json.to_string().contains("sk-secret"));
    fixture.home.write(".codex/auth.json", r#"{"OPENAI_API_KEY": null, "tokens": {"id_token": "secret"}}"#);
    fixture.program("codex", "echo 'codex-cli 0.77.1'");
    let report = run_command(&mut fixture.with_programs());
    report.assert_check("runner.codex", "ok", "codex-cli 0.77.1, driven by its mcp-server, logged in");
    fixture.config("[http]\naddress = \"off\"\n[codex]\nbackend = \"app-server\"\n[[runners]]\nname = \"codex\"\n[[runners]]\nname = \"claude\"\nprogram = \"/nowhere/claude\"\n");
    let report = run_command(&mut fixture.with_programs());
    report.assert_check("runner.codex", "fail", "has no `app-server`");
    report.assert_check("runner.claude", "fail", "/nowhere/claude is not a program");
}

#[test]
fn a_custom_runner_is_not_started_without_a_version_command() {
    let fixture = Fixture::new();
    let ran = fixture.home.path().join("ran");
    fixture.program("aider", &format!("echo \"$*\" >>{}; echo 'aider 0.9'", ran.display()));
    let config = |more: &str| {
        let runner =
            "[[runners]]\nname = \"aider\"\ncommand = [\"aider\", \"{prompt}\"]\nlevels = [\"full\"]\n";
        fixture.config(&format!("[http]\naddress = \"off\"\n{runner}{more}"));
    };
    config("");
    let report = run_command(&mut fixture.with_programs());
    report.assert_check("runner.aider", "ok", "installed; without `version_command`");
    assert!(!ran.exists());
    config("version_command = [\"aider\", \"version\"]\n");
    let report = run_command(&mut fixture.with_programs());
    report.assert_check("runner.aider", "ok", "aider 0.9; its login cannot be checked");
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "version\n");
}

#[test]
fn a_broken_database_is_found_and_not_changed() {
    let fixture = Fixture::new();
    assert!(fixture.home.run(["users", "add", "Ann Lee", "--id", "ann"], "").status.success());
    fixture.run_doctor(&[]).assert_check("database", "ok", "sound");
    let mut bytes = std::fs::read(fixture.file("adjutant.db")).unwrap();
    let length = bytes.len();
    assert!(length > 3 * 4096, "{length}");
    bytes[2 * 4096..length].fill(0x5a);
    std::fs::write(fixture.file("adjutant.db"), &bytes).unwrap();
    fixture.run_doctor(&[]).assert_check("database", "fail", "");
    assert_eq!(std::fs::read(fixture.file("adjutant.db")).unwrap(), bytes);
    std::fs::write(fixture.file("adjutant.db"), "this is no database at all, however long one looks at it")
        .unwrap();
    fixture.run_doctor(&[]).assert_check("database", "fail", "database");
}

#[test]
fn each_database_fault_has_its_own_remedy() {
    let fixture = Fixture::new();
    assert!(fixture.home.run(["users", "add", "Ann Lee", "--id", "ann"], "").status.success());
    let remedy = |report: &Report| report.check("database")["remedy"].as_str().unwrap().to_owned();
    let sql = |script: &str| {
        let file = fixture.file("adjutant.db");
        let done = Command::new("python3")
            .args(["-c", &format!("import sqlite3, sys\ndb = sqlite3.connect({file:?})\n{script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        done.unwrap()
    };
    // It keeps the file locked until its stdin ends.
    let mut holder = sql(
        "db.execute('PRAGMA locking_mode = EXCLUSIVE')\ndb.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()",
    );
    let mut word = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut word).unwrap();
    assert_eq!(word, "held\n");
    let report = fixture.run_doctor(&[]);
    report.assert_check("database", "fail", "another program has locked it");
    assert!(remedy(&report).starts_with("end that program"), "{report:?}");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    let newer = sql(
        "db.execute('INSERT INTO _sqlx_migrations SELECT version + 1000000, description, installed_on, success, checksum, execution_time FROM _sqlx_migrations ORDER BY version DESC LIMIT 1')\ndb.execute('UPDATE schema_compatibility SET oldest = 1000000')\ndb.commit()",
    );
    assert!(newer.wait_with_output().unwrap().status.success());
    let report = fixture.run_doctor(&[]);
    report.assert_check("database", "fail", "a newer adjutant wrote it");
    assert!(remedy(&report).starts_with("start that version"), "{report:?}");
    fixture.config("database = \"postgres://ann@127.0.0.1:1/rows\"\n");
    let report = fixture.run_doctor(&[]);
    report.assert_check("database", "fail", "cannot be reached");
    assert!(remedy(&report).starts_with("start its server"), "{report:?}");
}

#[test]
fn a_hub_with_a_broken_database_still_reports_its_state() {
    let fixture = Fixture::new();
    std::fs::write(fixture.file("adjutant.db"), [0x5a; 8192]).unwrap();
    fixture.mode("adjutant.db", 0o600);
    let report = fixture.run_doctor(&["--fix"]);
    report.assert_check("hub", "ok", "runs");
    report.assert_check("handshake.socket", "ok", "2026-07-28");
    report.assert_check("database", "fail", "not a database");
    // The command does not wait for a pool that retries again and again.
    let begun = Instant::now();
    let output = fixture.home.run(["tasks", "list"], "");
    assert!(!output.status.success() && output.stderr.contains("store does not answer"), "{output}");
    assert!(begun.elapsed() < Duration::from_secs(9), "{output}");
    let output = fixture.home.run(["stop"], "");
    assert!(output.status.success() && output.stderr.contains("the hub has stopped"), "{output}");
}

#[test]
fn a_display_that_does_not_answer_is_reported() {
    let fixture = Fixture::new();
    let run_doctor =
        |variables: &[(&str, &str)]| run_command(fixture.with_programs().envs(variables.iter().copied()));
    run_doctor(&[("DISPLAY", ":7777")]).assert_check("display", "warn", ":7777 does not answer");
    run_doctor(&[("DISPLAY", "nonsense")]).assert_check("display", "warn", "not a valid display name");
    let _compositor = UnixListener::bind(fixture.home.path().join("wayland-7")).unwrap();
    let folder = fixture.home.path().to_str().unwrap();
    let both = [("DISPLAY", ":7777"), ("WAYLAND_DISPLAY", "wayland-7"), ("XDG_RUNTIME_DIR", folder)];
    run_doctor(&both).assert_check("display", "ok", "wayland-7, where this command runs");
}

#[test]
fn processes_without_a_supervisor_are_found_and_ended() {
    let fixture = Fixture::new();
    let record = json!({"supervisor": 4_000_001, "runner": 4_000_002, "runner_start": 1, "mark": "00ff"});
    fixture.home.write(".adjutant/spool/tasks/one/run-1/run.json", record.to_string());
    fixture.home.write(".adjutant/spool/tasks/one/run-1/lock", "");
    // Folders that an agent may write.
    let forged = json!({"supervisor": 4_000_001, "runner": 4_000_002, "runner_start": 1, "mark": "00fe"});
    for folder in ["tree", "scratch-1"] {
        fixture.home.write(&format!(".adjutant/spool/tasks/one/{folder}/run.json"), forged.to_string());
        fixture.home.write(&format!(".adjutant/spool/tasks/one/{folder}/lock"), "");
    }
    fixture.mode("spool", 0o700);
    let mut left = Command::new("sleep").arg("600").env("ADJUTANT_RUN", "00ff").spawn().unwrap();
    let other_run = Command::new("sleep").arg("600").env("ADJUTANT_RUN", "00fe").spawn();
    let mut other_run = other_run.unwrap();
    let report = fixture.run_doctor(&[]);
    report.assert_check("runs", "fail", "without a supervisor: 1, in runs: 1");
    let report = fixture.run_doctor(&["--fix"]);
    report.assert_check("runs", "ok", "");
    assert!(report.check("runs")["fixed"].as_str().unwrap().starts_with("ended "), "{:#}", report.json);
    wait(&mut left, DEADLINE);
    assert!(other_run.try_wait().unwrap().is_none(), "a process of another run was ended");
    other_run.kill().unwrap();
    other_run.wait().unwrap();
}

#[test]
fn a_taken_port_a_late_clock_and_an_old_service_are_found() {
    let fixture = Fixture::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    fixture.config(&format!("[http]\naddress = \"{address}\"\n"));
    fixture.run_doctor(&[]).assert_check("port", "fail", &format!("another program listens on {address}"));
    drop(taken);
    fixture.run_doctor(&[]).assert_check("port", "ok", "is free");

    let lock = std::fs::File::create(fixture.file("hub.lock")).unwrap();
    fixture.mode("hub.lock", 0o600);
    lock.set_modified(SystemTime::now() + Duration::from_hours(30)).unwrap();
    fixture.run_doctor(&[]).assert_check("clock", "fail", "hub.lock was written");
    lock.set_modified(SystemTime::now()).unwrap();
    fixture.run_doctor(&[]).assert_check("clock", "ok", "");

    fixture.home.write(
        ".config/systemd/user/adjutant.service",
        "# Written by `adjutant service install`; of another day.\n",
    );
    fixture.run_doctor(&[]).assert_check("service", "warn", "another version");
}

#[test]
fn an_unreadable_configuration_is_the_only_finding() {
    let fixture = Fixture::new();
    fixture.config("[http]\nadress = \"off\"\n");
    let report = fixture.run_doctor(&[]);
    assert_eq!(report.json["items"].as_array().unwrap().len(), 1);
    report.assert_check("config", "fail", "adress");
    assert_eq!(report.code, 1);
    fixture.config("");
    assert!(Path::new(&fixture.run_doctor(&[]).json["home"].as_str().unwrap()).is_absolute());
}

#[test]
fn clients_are_checked_by_the_entry_named_adjutant() {
    let fixture = Fixture::new();
    let run_doctor = || fixture.run_doctor(&[]);
    // A word in a comment, a project's path or another server's argument is not an entry.
    fixture.home.write(
        ".codex/config.toml",
        "# once had adjutant\n[projects.\"/home/me/adjutant\"]\ntrust_level = \"trusted\"\n",
    );
    fixture
        .home
        .write(".cursor/mcp.json", r#"{"mcpServers": {"other": {"command": "/opt/adjutant/bin/other"}}}"#);
    run_doctor().assert_check("clients", "warn", "none is connected; found: Codex, Cursor");
    assert!(fixture.home.run(["install", "codex", "--yes"], "").status.success());
    run_doctor().assert_check("clients", "ok", "connected: Codex; not connected: Cursor");
    fixture.home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"adjutant": {"command": "/nowhere/adjutant", "args": ["connect"]}}}"#,
    );
    run_doctor().assert_check(
        "clients",
        "fail",
        "these clients start a program that does not exist: Cursor starts /nowhere/adjutant",
    );
    fixture.home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"adjutant": {"command": "other", "args": ["serve"]}}}"#,
    );
    run_doctor().assert_check(
        "clients",
        "warn",
        "another server has the name adjutant: Cursor (other serve)",
    );
    let own = json!({"mcpServers": {"adjutant": {"command": "adjutant", "args": ["connect", "prompts"]}}});
    fixture.home.write(".cursor/mcp.json", own.to_string());
    run_doctor().assert_check("clients", "ok", "connected: Codex, Cursor; with a changed entry: Cursor");
    fixture.home.write(".cursor/mcp.json", "{\"mcpServers\": ");
    run_doctor().assert_check("clients", "fail", "mcp.json");
}

#[test]
fn probes_of_the_doctor_do_not_count_as_clients_or_activity() {
    let home = Home::new();
    let hub = Serving::open_hub(&home);
    let address = hub.url("").trim_start_matches("http://").to_owned();
    home.write(".adjutant/config.toml", format!("[http]\naddress = \"{address}\"\nauth = \"none\"\n"));
    let fixture = Fixture { home };
    fixture.run_doctor(&[]).assert_check("handshake.http", "ok", "speaks 2025-11-25");
    // A caller without a session is listed for some minutes.
    let output = fixture.home.run(["status"], "").stdout;
    assert!(output.contains("\ncheck    adjutant doctor ") && !output.contains("\nclient "), "{output}");
    assert!(fixture.home.run([""; 0], "").stdout.contains("0 clients"), "{output}");
    let page = hub.page("/timeline");
    let (clients, activity) = page.split_once("id=\"results\"").unwrap();
    assert!(clients.contains("adjutant doctor") && clients.contains("health check"), "{page}");
    assert!(!activity.contains("adjutant doctor"), "{page}");
}

#[test]
fn the_first_file_of_the_user_makes_a_private_home() {
    for arguments in [["prompts", "new", "standup"], ["agents", "new", "helper"]] {
        let home = Home::new();
        let made = home.run(arguments, "");
        assert!(made.status.success(), "{made}");
        let fixture = Fixture { home };
        fixture.run_doctor(&[]).assert_check("home.permissions", "ok", "is yours alone");
    }
    for noun in ["prompts", "agents"] {
        let home = Home::new();
        home.write("foreign/commands/a.md", "---\ndescription: d\n---\nText $ARGUMENTS\n");
        home.write("foreign/agents/a.md", "---\nname: a\ndescription: d\n---\nText\n");
        let made = home.run([noun, "import", "foreign", "--from", "claude"], "");
        assert!(made.status.success(), "{made}");
        let fixture = Fixture { home };
        fixture.run_doctor(&[]).assert_check("home.permissions", "ok", "is yours alone");
    }
}

/// The relay that the doctor starts must not make an agent of the script that runs the doctor.
#[test]
fn a_script_is_still_the_user_after_the_doctor() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let fixture = Fixture { home };
    fixture.run_doctor(&[]).assert_check("handshake.stdio", "ok", "speaks");
    let listed = fixture.home.run(["tasks", "list"], "");
    assert!(listed.status.success(), "{listed}");
}

#[test]
fn settings_that_need_a_restart_are_named() {
    let home = Home::new();
    home.write(
        ".adjutant/config.toml",
        "[questions]\nkeep_days = 5\n[ntfy]\nserver = \"https://ntfy.example\"\ntopic = \"a\"\n",
    );
    let hub = Serving::open_hub(&home);
    let fixture = Fixture { home };
    let (status, page) = (|| fixture.home.run(["status"], "").stdout, || hub.page("/settings"));
    assert!(!status().contains("restart") && !page().contains("Pending restart"));
    fixture.run_doctor(&[]).assert_check("config", "ok", "can be read");
    // The authentication follows a flag, and toolsets switch at once: neither needs a restart.
    let changed = "[http]\nauth = \"token\"\n[toolsets]\ncodex = false\n[questions]\nkeep_days = 6\n";
    fixture.home.write(".adjutant/config.toml", changed);
    let end = Instant::now() + DEADLINE;
    while !status().contains("these need a restart: ntfy.server, ntfy.topic, questions.keep_days\n") {
        assert!(Instant::now() < end, "{}", status());
    }
    let shown = page();
    for part in ["Pending restart", "href=\"#questions.keep_days\"", "href=\"#ntfy.topic\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("href=\"#http.auth\"") && !shown.contains("href=\"#toolsets.codex\""), "{shown}");
    fixture.run_doctor(&[]).assert_check("config", "warn", "ntfy.server, ntfy.topic, questions.keep_days");
    fixture.home.write(".adjutant/config.toml", "[questions\n");
    while !page().contains("The file cannot be read") {
        assert!(Instant::now() < end, "{}", page());
    }
    fixture.home.write(
        ".adjutant/config.toml",
        "[questions]\nkeep_days = 5\n[ntfy]\nserver = \"https://ntfy.example\"\ntopic = \"a\"\n",
    );
    while page().contains("Pending restart") {
        assert!(Instant::now() < end, "{}", page());
    }
    assert!(!page().contains("The file cannot be read"));
}

#[test]
fn a_sandbox_that_does_not_work_is_reported() {
    let fixture = Fixture::new();
    fixture.program("bwrap", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1");
    let reason = "bubblewrap does not work on this machine: bwrap: setting up uid map: Permission denied";
    run_command(&mut fixture.with_programs()).assert_check("sandbox", "warn", reason);
    fixture.config("[http]\naddress = \"off\"\n[tasks]\nrequire_sandbox = true\n");
    run_command(&mut fixture.with_programs()).assert_check("sandbox", "fail", reason);
    fixture.config("[http]\naddress = \"off\"\n[tasks]\nsandbox = \"none\"\n");
    run_command(&mut fixture.with_programs()).assert_check("sandbox", "ok", "none is used");
}

#[test]
fn a_complete_machine_passes_every_check() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[http]\naddress = \"127.0.0.1:0\"\n");
    let fixture = Fixture { home };
    let home = &fixture.home;
    fixture.mode("", 0o700);
    for (name, version) in [
        ("codex", "codex-cli 0.169.0"),
        ("copilot", "GitHub Copilot CLI 1.0.102."),
        ("claude", "2.1.329 (Claude Code)"),
        ("gemini", "0.61.0"),
        ("opencode", "1.18.33"),
        ("bwrap", "bubblewrap 0.11.0"),
    ] {
        fixture.program(name, &format!("echo '{version}'"));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), home.path().join("bin/adjutant")).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let run = |words: &[&str]| {
        let output = home.adjutant(words).env("PATH", &path).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&[]).contains("\n  adjutant install "));
    home.write(".adjutant/approval-passphrase", "");
    fixture.mode("approval-passphrase", 0o600);
    run(&["install", "--yes"]);
    run(&["serve", "--background"]);
    let _hub = StopHubOnDrop(home);
    let keys = ["OPENAI_API_KEY", "GH_TOKEN", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"].map(|name| (name, "x"));
    let report = run_command(fixture.with_programs().envs(keys));
    let checks = report.json["items"].as_array().unwrap();
    for check in checks {
        assert!(check["status"] == "ok" || check["status"] == "skipped", "{check:#}");
    }
    report.assert_check("clients", "ok", "connected: Claude Code, Codex, Copilot CLI, Gemini CLI, opencode");
    report.assert_check("runners", "ok", "5 of 5");
    report.assert_check("sandbox", "ok", "the kernel enforces the levels by ");
    for id in ["hub", "handshake.stdio", "handshake.socket", "handshake.http", "stdout.purity", "program"] {
        assert_eq!(report.check(id)["status"], "ok", "{id}");
    }
    assert!(!run(&[]).contains("\n  adjutant install "), "it is installed already");
}
