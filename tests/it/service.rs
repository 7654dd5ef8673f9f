//! The hub as a service: the files, the manager's commands, and socket activation.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::real_clients::{is_excluded, run};
use crate::support::{DEADLINE, Finished, Home, Peer, wait};

/// Runs a command of `adjutant service` with a systemctl that records its arguments.
fn service(home: &Home, arguments: &[&str]) -> Finished {
    home.write_program(
        "bin/systemctl",
        "#!/bin/sh\necho \"$*\" >>\"$HOME/systemctl_calls\"\ncase \"$*\" in\n\
         *is-active*) [ -e \"$HOME/active\" ] ;;\n*is-enabled*) [ -e \"$HOME/enabled\" ] || { echo disabled; exit 1; } ;;\n\
         *' start'*) [ ! -e \"$HOME/no-start\" ] || { echo 'it failed' >&2; exit 1; }; touch \"$HOME/active\" ;;\n\
         *disable*) [ ! -e \"$HOME/broken\" ] || { echo 'no bus' >&2; exit 1; }; rm -f \"$HOME/active\" \"$HOME/enabled\" ;;\n\
         *enable*) touch \"$HOME/enabled\" ;;\n\
         *daemon-reload*) [ ! -e \"$HOME/broken\" ] || { echo 'no bus' >&2; exit 1; } ;;\n\
         esac\n",
    );
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let mut command = home.adjutant(["service"].iter().chain(arguments));
    run(command.env("PATH", path).current_dir(home.path()), DEADLINE)
}

fn unit_path(home: &Home, name: &str) -> PathBuf {
    home.path().join(".config/systemd/user").join(name)
}

/// The calls of systemctl since the last time.
fn systemctl_calls(home: &Home) -> Vec<String> {
    let file = home.path().join("systemctl_calls");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(file);
    text.lines().filter(|line| !line.contains(" is-")).map(str::to_owned).collect()
}

/// Replaces the parts of a text that differ from run to run.
fn redact(home: &Home, text: &str) -> String {
    let text = text.replace(env!("CARGO_BIN_EXE_adjutant"), "[program]");
    text.replace(home.path().to_str().unwrap(), "[home]")
}

#[test]
fn the_files_for_systemd_and_launchd_match() {
    let home = Home::new();
    for manager in ["systemd", "launchd"] {
        let output = service(&home, &["install", "--dry-run", "--manager", manager]);
        assert!(output.status.success(), "{}", output.stderr);
        insta::assert_snapshot!(format!("service_{manager}"), redact(&home, &output.stdout));
    }
    home.write(".adjutant/config.toml", "socket = \"off\"\n");
    let odd = home.path().join("a \"home\" of 100%$");
    let output = service(&home, &["install", "--dry-run", "--home", odd.to_str().unwrap()]);
    assert!(output.stdout.contains(r#" --home "[home]/a \"home\" of 100%%$$""#.replace("[home]", home.path().to_str().unwrap()).as_str()), "{}", output.stdout);
    for manager in ["systemd", "launchd"] {
        let forged = home.path().join("a\nExecStartPre=touch forged");
        let forged = forged.to_str().unwrap();
        let refused = service(&home, &["install", "--dry-run", "--manager", manager, "--home", forged]);
        assert_eq!((refused.status.code(), refused.stdout.as_str()), (Some(1), ""), "{refused}");
        assert!(
            refused.stderr.contains(r"a control character in `") && refused.stderr.contains(r"a\nExec"),
            "{refused}"
        );
    }
    assert!(!home.path().join(".config").exists(), "a dry run wrote");
}

#[test]
fn the_service_starts_a_path_that_outlives_an_upgrade() {
    let home = Home::new();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), bin.join("adjutant")).unwrap();
    let output = service(&home, &["install", "--dry-run", "--manager", "systemd"]);
    let line = format!("ExecStart=\"{}\" serve", bin.join("adjutant").display());
    assert!(output.stdout.contains(&line), "{}", output.stdout);
}

#[test]
fn the_plist_is_well_formed_and_complete_for_launchd() {
    let home = Home::new();
    let odd = home.path().join("a \"home\" of <you> & 'me'");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("config.toml"), "[http]\naddress = \"off\"\n").unwrap();
    let words = ["install", "--dry-run", "--manager", "launchd", "--home", odd.to_str().unwrap()];
    let finished = service(&home, &words);
    assert!(finished.status.success(), "{}", finished.stderr);
    let begin = finished.stdout.find("<?xml").unwrap();
    let end = finished.stdout.find("</plist>").unwrap() + "</plist>".len();
    // plutil exists on a Mac only; Python reads the same format, and rejects malformed files.
    let program = "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
    let mut python = std::process::Command::new("python3");
    let mut child =
        python.args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &finished.stdout.as_bytes()[begin..end])
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", finished.stdout);
    let plist: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plist["Label"], "org.adjutant.hub");
    let words: Vec<&str> =
        plist["ProgramArguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(words[0].starts_with('/') && words[1] == "serve", "{words:?}");
    let at = words.iter().position(|word| *word == "--home").unwrap();
    assert_eq!(words[at + 1], odd.to_str().unwrap());
    assert_eq!(plist["Sockets"]["hub"]["SockPathName"], odd.join("hub.sock").to_str().unwrap());
    assert_eq!(plist["Sockets"]["hub"]["SockPathMode"], 0o600);
    assert_eq!((&plist["RunAtLoad"], &plist["KeepAlive"]["SuccessfulExit"]), (&true.into(), &false.into()));
    for path in [&plist["StandardErrorPath"], &plist["Sockets"]["hub"]["SockPathName"]] {
        assert!(path.as_str().unwrap().starts_with('/'), "launchd knows no home folder: {path}");
    }
    let known = [
        "Label",
        "ProgramArguments",
        "EnvironmentVariables",
        "RunAtLoad",
        "KeepAlive",
        "AbandonProcessGroup",
        "Sockets",
        "StandardErrorPath",
    ];
    for key in plist.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "launchd.plist(5) is not known to have {key}");
    }
}

#[test]
fn a_second_install_changes_nothing_and_uninstall_removes_everything() {
    let home = Home::new();
    let status = || -> Value { serde_json::from_str(&service(&home, &["status", "--json"]).stdout).unwrap() };
    assert_eq!(status()["installed"], false);
    let first = service(&home, &["install"]);
    assert!(first.status.success(), "{}", first.stderr);
    assert!(first.stderr.contains("wrote "), "{}", first.stderr);
    let both = "adjutant.socket adjutant.service";
    assert_eq!(
        systemctl_calls(&home),
        ["--user daemon-reload".to_owned(), format!("--user enable {both}"), format!("--user start {both}"),]
    );
    assert_eq!(
        (&status()["installed"], &status()["running"], &status()["manager"]),
        (&json!(true), &json!(true), &json!("systemd"))
    );
    let repeated = service(&home, &["install"]);
    assert!(repeated.stderr.contains("kept ") && !repeated.stderr.contains("wrote "), "{}", repeated.stderr);
    systemctl_calls(&home);
    let closed = service(&home, &["uninstall"]);
    assert!(closed.status.success(), "{}", closed.stderr);
    assert_eq!(
        systemctl_calls(&home),
        [format!("--user disable --now {both}"), "--user daemon-reload".to_owned()]
    );
    assert!(!unit_path(&home, "adjutant.service").exists() && !unit_path(&home, "adjutant.socket").exists());
    assert_eq!(service(&home, &["status"]).status.code(), Some(1));
    assert!(service(&home, &["uninstall"]).stderr.contains("not installed"));
}

#[test]
fn a_foreign_unit_is_kept_and_a_silent_manager_is_explained() {
    let home = Home::new();
    home.write(".config/systemd/user/adjutant.service", "[Service]\nExecStart=/mine\n");
    let refused = service(&home, &["install"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("was not written by Adjutant\nhint: --force"), "{}", refused.stderr);
    assert!(!unit_path(&home, "adjutant.socket").exists(), "half of it was written");
    assert!(service(&home, &["uninstall"]).status.success());
    assert!(unit_path(&home, "adjutant.service").exists());
    home.write("broken", "");
    let failed = service(&home, &["install", "--force"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(failed.stderr.contains("failed: no bus\nhint: "), "{}", failed.stderr);
    let kept = std::fs::read_to_string(unit_path(&home, "adjutant.service")).unwrap();
    assert_eq!(kept, "[Service]\nExecStart=/mine\n", "the file is as before");
    assert!(!unit_path(&home, "adjutant.socket").exists());
}

#[test]
fn an_install_that_fails_leaves_nothing_and_an_uninstall_always_removes() {
    let home = Home::new();
    for fault in ["broken", "no-start"] {
        home.write(fault, "");
        let failed = service(&home, &["install"]);
        assert_eq!(failed.status.code(), Some(1), "{failed}");
        assert!(failed.stderr.contains("hint: nothing was changed"), "{failed}");
        assert!(!home.path().join(".config").exists(), "{fault}");
        assert!(!home.path().join("enabled").exists(), "{fault}");
        std::fs::remove_file(home.path().join(fault)).unwrap();
    }
    let installed = service(&home, &["install", "--json"]);
    let installed: Value = serde_json::from_str(&installed.stdout).unwrap();
    assert_eq!(installed["files"][0]["outcome"], "written", "{installed}");
    // systemd makes this link.
    let wants = unit_path(&home, "default.target.wants");
    std::fs::create_dir(&wants).unwrap();
    std::os::unix::fs::symlink(unit_path(&home, "adjutant.service"), wants.join("adjutant.service")).unwrap();
    home.write("broken", "");
    let removed = service(&home, &["uninstall"]);
    assert!(removed.status.success(), "{removed}");
    assert!(removed.stderr.contains("failed: no bus; its files are removed nevertheless"), "{removed}");
    assert!(wants.join("adjutant.service").symlink_metadata().is_err());
    assert!(!unit_path(&home, "adjutant.service").exists() && !unit_path(&home, "adjutant.socket").exists());
    assert!(service(&home, &["uninstall", "--json"]).stdout.contains("\"removed\": []"));
}

#[test]
fn a_service_that_is_not_enabled_is_not_installed() {
    let home = Home::new();
    assert!(service(&home, &["install"]).status.success());
    let check = |home: &Home| {
        let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
        let mut command = home.adjutant(["doctor", "--json"]);
        let output = run(command.env("PATH", path).current_dir(home.path()), DEADLINE);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        let all = report["items"].as_array().unwrap();
        let found = all.iter().find(|check| check["id"] == "service").unwrap();
        (found["status"].clone(), found["detail"].as_str().unwrap().to_owned())
    };
    assert_eq!(check(&home), (json!("ok"), "systemd starts the hub with your session".to_owned()));
    std::fs::remove_file(home.path().join("enabled")).unwrap();
    let (status, detail) = check(&home);
    assert!(status == "warn" && detail.contains("systemd does not start the hub"), "{detail}");
    let status: Value = serde_json::from_str(&service(&home, &["status", "--json"]).stdout).unwrap();
    assert_eq!(status["installed"], false);
}

#[test]
fn a_manually_started_hub_keeps_running() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
    assert!(home.run(["serve", "--background"], "").status.success());
    let status: Value = serde_json::from_str(&home.run(["status", "--json"], "").stdout).unwrap();
    let done = service(&home, &["install"]);
    let pid =
        rustix::process::Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(done.status.success(), "{}", done.stderr);
    assert!(done.stderr.contains("starts at your next login"), "{}", done.stderr);
    assert!(
        !systemctl_calls(&home).iter().any(|line| line.contains("--user start")),
        "a second hub was started"
    );
}

#[test]
fn systemd_accepts_the_units() {
    if is_excluded("systemd") {
        return;
    }
    let home = Home::new();
    assert!(service(&home, &["install"]).status.success());
    let verify = Command::new("systemd-analyze")
        .args(["--user", "--man=no", "verify"])
        .args([unit_path(&home, "adjutant.service"), unit_path(&home, "adjutant.socket")])
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .output()
        .expect("systemd-analyze is in Debian's package systemd");
    let output = String::from_utf8_lossy(&verify.stderr);
    let ours: Vec<&str> = output.lines().filter(|line| line.contains("adjutant")).collect();
    assert!(verify.status.success() && ours.is_empty(), "{output}");
}

#[test]
fn the_first_client_starts_the_hub_through_socket_activation() {
    if is_excluded("systemd") {
        return;
    }
    let home = Home::new();
    home.write(".adjutant/config.toml", "grace_seconds = 1\n[http]\naddress = \"off\"\n");
    let socket = home.path().join(".adjutant/hub.sock");
    // It listens, and becomes the hub at the first connection.
    let mut hub = Command::new("systemd-socket-activate")
        .arg(format!("--listen={}", socket.display()))
        .args([env!("CARGO_BIN_EXE_adjutant"), "serve", "--quiet"])
        .env("HOME", home.path())
        .env_remove("ADJUTANT_HOME")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("systemd-socket-activate is in Debian's package systemd");
    let end = std::time::Instant::now() + DEADLINE;
    // The socket exists a moment before it listens, and a connection would start the hub.
    let listens = || {
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let of_hub = sockets.lines().find(|line| line.ends_with(socket.to_str().unwrap()));
        of_hub.is_some_and(|line| line.split_whitespace().nth(3) == Some("00010000"))
    };
    while !listens() {
        assert!(std::time::Instant::now() < end, "no process listens");
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    let mut peer = Peer::start(&mut home.adjutant(["connect", "prompts", "--no-start"]));
    peer.initialize("2025-11-25");
    let tools = peer.call(2, "tools/list", json!({}));
    assert!(tools["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{tools}");
    let status: Value = serde_json::from_str(&home.run(["status", "--json"], "").stdout).unwrap();
    assert_eq!(status["pid"], hub.id());
    drop(peer);
    rustix::process::kill_process(rustix::process::Pid::from_child(&hub), rustix::process::Signal::TERM)
        .unwrap();
    assert!(wait(&mut hub, DEADLINE).success());
    assert!(socket.exists(), "the socket is the manager's, and stays");
}

#[test]
fn the_hub_notifies_the_service_manager_when_it_is_ready() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
    let place = home.path().join("notify");
    let listener = UnixDatagram::bind(&place).unwrap();
    listener.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut command = home.adjutant(["serve", "--quiet"]);
    let mut hub =
        command.env("NOTIFY_SOCKET", &place).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut word = [0; 64];
    let length = listener.recv(&mut word).unwrap();
    assert_eq!(&word[..length], b"READY=1\n");
    assert!(home.run(["status"], "").status.success());
    hub.kill().unwrap();
    let output = hub.wait_with_output().unwrap().stderr;
    assert!(!String::from_utf8_lossy(&output).contains("console"), "the log contains a login link");
}
