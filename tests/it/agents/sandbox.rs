//! The sandbox of a run: what holds the permission level and the network, and that it does. The real programs are tried
//! where they work; fake ones show everywhere when they are used.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::durability::ask_hub_task;
use crate::support::Peer;
use crate::support::process_table::wait_until_none;
use crate::support::task_fixture::{RUNNER, TaskFixture};

/// Keeps its arguments in a file of its own, and runs the command after them.
const FAKE: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo "bubblewrap 0"
printf '%s\n' "$@" >"${0%/*}/../calls/$$"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"#;

/// The same in the place of podman; the command follows the root of the container.
const FAKE_PODMAN: &str = r#"#!/bin/sh
printf '%s\n' "$@" >"${0%/*}/../calls/$$"
while [ "$1" != --rootfs ]; do shift; done
shift 2
exec "$@"
"#;

/// The same, and leaves a process with a file that names it, as podman does for a user without rights of an administrator.
const FAKE_PODMAN_WITH_PAUSE: &str = r#"#!/bin/sh
while [ "$1" != --rootfs ]; do shift; done
shift 2
sleep 600 </dev/null >/dev/null 2>&1 &
echo $! >>"${0%/*}/../pauses"
exec "$@"
"#;

/// Fails as bubblewrap does where the system allows no user namespace.
const FAILING: &str = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n";

/// Reports each path that can be written, and puts a line into it.
const TRY: &str = "try() { if (echo x >>\"$1\") 2>/dev/null; then echo \"wrote $1\"; fi; }\n";

fn fixture(tasks: &str, bwrap: &str) -> TaskFixture {
    let fixture = TaskFixture::new();
    fixture.configure(tasks, &["fake"]);
    fixture.home.write("calls/keep", "");
    fixture.program("bwrap", bwrap);
    fixture
}

/// The argument lists with which a fake was called for a run; those of a probe end otherwise.
fn calls(fixture: &TaskFixture) -> Vec<String> {
    let files = std::fs::read_dir(fixture.folder("calls")).unwrap().map(|file| file.unwrap().path());
    let calls = files.map(|file| std::fs::read_to_string(file).unwrap());
    calls.filter(|call| call.ends_with("/bin/fake\n")).collect()
}

fn peer(mut peer: Peer) -> Peer {
    peer.initialize("2025-11-25");
    peer
}

/// What `adjutant agents show` says that holds an agent.
fn shown(fixture: &TaskFixture, agent: &str) -> String {
    let shown = fixture.adjutant(&["agents", "show", agent]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let held = shown.lines().find_map(|line| line.strip_prefix("held by"));
    held.unwrap_or_else(|| panic!("{shown}")).trim().to_owned()
}

#[test]
fn a_hub_uses_the_sandbox_and_reports_it() {
    let fixture = fixture("sandbox = \"auto\"", FAKE);
    fixture.agent("writer", "permission: workspace-write\n");
    fixture.agent("free", "permission: full\n");
    let _hub = fixture.hub();
    let mut peer = peer(fixture.connect());
    let work = fixture.folder("work");
    for (id, agent, held) in [
        (1, "reviewer", Some(format!("--ro-bind\n{0}\n{0}\n", work.display()))),
        (2, "writer", Some(format!("--bind\n{0}\n{0}\n", work.display()))),
        (3, "free", None),
    ] {
        let (result, report) =
            peer.reported(id, json!({"agent": agent, "task": "ok", "working_directory": work}));
        let attempt = &result["run_report"]["attempts"][0];
        assert_eq!(result["status"], "succeeded", "{agent}: {result:#}");
        assert_eq!(attempt["held_by"] == "kernel (bubblewrap)", held.is_some(), "{agent}: {attempt:#}");
        assert_eq!(report.contains("; held by kernel (bubblewrap);"), held.is_some(), "{agent}: {report}");
        assert_eq!(shown(&fixture, agent), if held.is_some() { "kernel (bubblewrap)" } else { "nothing" });
        if let Some(held) = held {
            assert_eq!(calls(&fixture).iter().filter(|call| call.contains(&held)).count(), 1, "{agent}");
        }
    }
    assert_eq!(calls(&fixture).len(), 2);
}

#[test]
fn without_a_working_sandbox_the_report_says_so_or_the_run_is_refused() {
    for (tasks, refused) in [
        ("sandbox = \"auto\"", false),
        ("sandbox = \"auto\"\nrequire_sandbox = true", true),
        ("sandbox = \"bubblewrap\"", true),
    ] {
        let fixture = fixture(tasks, FAILING);
        let _hub = fixture.hub();
        let (result, report) = peer(fixture.connect()).reported(1, fixture.task("ok"));
        if refused {
            let reason = "fake cannot run at permission level `read-only`: bubblewrap does not work on this machine: \
                          bwrap: setting up uid map: Permission denied";
            assert_eq!(
                result["failure"],
                json!({"class": "refused", "detail": reason}),
                "{tasks}: {result:#}"
            );
            let shown = shown(&fixture, "reviewer");
            assert!(shown.starts_with("nothing, so it is refused: bubblewrap does not work"), "{shown}");
        } else {
            assert!(report.contains("; held by the runner's word;"), "{tasks}: {report}");
            assert_eq!(shown(&fixture, "reviewer"), "the runner's word");
        }
    }
}

#[test]
fn a_hub_uses_podman_only_if_it_is_asked_to() {
    for (tasks, held) in
        [("sandbox = \"podman\"", "kernel (podman)"), ("sandbox = \"auto\"", "the runner's word")]
    {
        let fixture = fixture(tasks, FAILING);
        fixture.program("podman", FAKE_PODMAN);
        let _hub = fixture.hub();
        let (result, report) = peer(fixture.connect()).reported(1, fixture.task("ok"));
        assert_eq!(result["status"], "succeeded", "{tasks}: {result:#}");
        assert!(report.contains(&format!("; held by {held};")), "{tasks}: {report}");
        let work = fixture.folder("work");
        let volume = format!("--volume\n{0}:{0}:ro\n", work.display());
        let calls = calls(&fixture);
        assert_eq!(calls.iter().filter(|call| call.contains(&volume)).count(), calls.len());
        assert_eq!(calls.len(), usize::from(held.ends_with("(podman)")), "{tasks}");
        for call in calls {
            assert!(call.contains("\nsupervise\n--inside\n-\n"), "{call}");
            assert!(call.contains("\n--cap-drop\nall\n") && call.contains("\n--network\nhost\n"), "{call}");
        }
    }
    let fixture = fixture("sandbox = \"podman\"", FAILING);
    fixture.program("podman", "#!/bin/sh\necho 'Error: no range of users' >&2\nexit 125\n");
    let _hub = fixture.hub();
    let (result, _) = peer(fixture.connect()).reported(1, fixture.task("ok"));
    let reason = "fake cannot run at permission level `read-only`: podman does not work on this machine: \
                  Error: no range of users";
    assert_eq!(result["failure"], json!({"class": "refused", "detail": reason}), "{result:#}");
}

#[test]
fn podman_leaves_no_process() {
    let fixture = fixture("sandbox = \"podman\"", FAILING);
    fixture.program("podman", FAKE_PODMAN_WITH_PAUSE);
    let _hub = fixture.hub();
    let (result, _) = peer(fixture.connect()).reported(1, fixture.task("ok"));
    assert_eq!(result["status"], "succeeded", "{result:#}");
    let pauses = std::fs::read_to_string(fixture.folder("pauses")).unwrap();
    assert_eq!(pauses.lines().count(), 2, "of the probe and of the run");
    wait_until_none("processes of podman", || {
        let left = pauses.lines().filter(|pid| Path::new("/proc").join(pid).join("exe").exists());
        left.map(ToOwned::to_owned).collect()
    });
}

#[test]
fn a_run_has_no_folder_of_the_hub_but_the_one_with_its_socket() {
    let fixture = fixture("sandbox = \"auto\"", FAKE);
    let _hub = fixture.hub();
    let mut peer = peer(fixture.connect());
    let (result, _) = peer.reported(1, fixture.task("ok"));
    let spool = fixture.folder(".adjutant/spool");
    let scratch = spool.join(result["task_id"].as_str().unwrap()).join("scratch-1");
    let (home, hub) = (fixture.folder(".adjutant"), scratch.with_extension("hub"));
    let call = calls(&fixture).pop().unwrap();
    let words: Vec<&str> = call.lines().collect();
    let mut of_hub: Vec<_> = words
        .windows(3)
        .filter(|mount| mount[0].starts_with("--") && Path::new(mount[2]).starts_with(&home))
        .map(|mount| (mount[0], Path::new(mount[1]), Path::new(mount[2])))
        .collect();
    of_hub.sort_unstable();
    let (prompts, socket) = (home.join("prompts"), spool.join("hub"));
    assert_eq!(
        of_hub,
        [
            ("--bind", scratch.as_path(), scratch.as_path()),
            ("--ro-bind", &hub, &home),
            ("--ro-bind-try", &prompts, &prompts),
            ("--ro-bind-try", &socket, &socket),
        ]
    );
    assert!(UnixStream::connect(socket.join("hub.sock")).is_ok());

    let mut within = fixture.task("ok");
    within["working_directory"] = json!(spool);
    let (result, _) = peer.reported(2, within);
    let reason = format!("`{}` has files of the hub, which no run may see", spool.display());
    assert_eq!(result["failure"], json!({"class": "refused", "detail": reason}), "{result:#}");
}

/// A sandbox has the folder that was there when its run began.
#[test]
fn a_run_that_goes_on_reaches_the_next_hub_through_the_same_folder() {
    let fixture = fixture("sandbox = \"auto\"", FAKE);
    fixture.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = fixture.hub();
    let mut first = peer(fixture.connect());
    let gate = fixture.folder("gate");
    let mut task = fixture.task(&format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let task = first.delegate_in_background(1, task);
    first.wait_for_activity(2, &task, "working");
    let folder = std::fs::File::open(fixture.folder(".adjutant/spool/hub")).unwrap();
    let socket = format!("/proc/self/fd/{}/hub.sock", folder.as_raw_fd());
    let reaches = || UnixStream::connect(&socket).map(drop);
    reaches().unwrap();
    hub.kill();
    assert!(reaches().is_err());
    let _next = fixture.hub();
    reaches().unwrap();
    std::fs::write(&gate, "").unwrap();
    let result = peer(fixture.connect()).tool(1, "task_wait", json!({"task_id": task}));
    assert_eq!(result["structuredContent"]["message"], "working\nresult", "{result:#}");
}

#[test]
fn a_limited_network_is_refused_where_nothing_holds_it() {
    for (tasks, file) in [
        ("sandbox = \"auto\"", "network: none\n"),
        ("sandbox = \"auto\"", "network: [example.org]\n"),
        ("sandbox = \"auto\"\nnetwork = \"none\"", ""),
    ] {
        let fixture = fixture(tasks, FAILING);
        fixture.agent("reviewer", file);
        let _hub = fixture.hub();
        let (result, _) = peer(fixture.connect()).reported(1, fixture.task("ok"));
        let reason = "fake cannot run at permission level `read-only`: its `network` is limited, and bubblewrap does \
                      not work on this machine: bwrap: setting up uid map: Permission denied";
        assert_eq!(result["failure"]["detail"], reason, "{tasks} {file}: {result:#}");
    }
}

#[test]
fn what_a_task_delegates_is_bound_by_its_network() {
    let fixture = fixture("sandbox = \"auto\"", FAKE);
    fixture.agent("listed", "network: [a.test, b.test]\n");
    fixture.agent("other", "network: [b.test, c.test]\n");
    let _hub = fixture.hub();
    let mut peer = peer(fixture.connect());
    for (agent, network) in [
        ("reviewer", "a.test, b.test"),
        ("other", "b.test, c.test, of which the task above allows a.test, b.test"),
    ] {
        let mut below = fixture.task("ok");
        below["agent"] = json!(agent);
        let mut task = fixture.task(&ask_hub_task(&fixture, "delegate_task", &below));
        task["agent"] = json!("listed");
        let result = peer.delegate_and_wait(1, task);
        let message = result["message"].as_str().unwrap_or_else(|| panic!("{result:#}"));
        assert!(message.contains(&format!("\"network\":\"{network}\"")), "{agent}: {message}");
    }
}

#[test]
fn the_standalone_server_has_a_sandbox_by_its_flag_only() {
    let fixture = fixture("sandbox = \"bubblewrap\"\nrequire_sandbox = true", FAKE);
    let (_, report) = peer(fixture.connect_with_runner("fake")).reported(1, fixture.task("ok"));
    assert!(report.contains("; held by the runner's word;"), "{report}");
    let (agents, runners) = (fixture.folder(".adjutant/agents"), fixture.folder("runners.yaml"));
    let flags =
        [("--agents-dir", agents.as_path()), ("--runner-config", &runners), ("--sandbox", "auto".as_ref())];
    let mut command = fixture.adjutant(&["mcp", "agents", "--runner", "fake"]);
    command.args(flags.iter().flat_map(|(flag, value)| [flag.as_ref(), value.as_os_str()]));
    let (_, report) = peer(Peer::start(&mut command)).reported(1, fixture.task("ok"));
    assert!(report.contains("; held by kernel (bubblewrap);"), "{report}");
    assert_eq!(calls(&fixture).len(), 1);
}

/// A fixture with the real bubblewrap; `None` where it is not installed or the system does not allow it.
fn real() -> Option<TaskFixture> {
    let works = Command::new("bwrap")
        .args(["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"])
        .output();
    works.is_ok_and(|output| output.status.success()).then(|| fixture_of("bubblewrap"))
}

/// A fixture with the real podman; `None` where it is not installed or the system does not allow it.
fn real_podman() -> Option<TaskFixture> {
    let folder = crate::support::Home::new();
    let state = |name: &str| folder.path().join(name);
    let mut podman = Command::new("podman");
    for (option, name) in [("--root", "storage"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
        podman.arg(option).arg(state(name));
    }
    std::fs::create_dir(state("root")).unwrap();
    podman.args([
        "--storage-driver",
        "vfs",
        "--cgroup-manager",
        "cgroupfs",
        "run",
        "--rm",
        "--network",
        "none",
    ]);
    podman
        .args(["--ulimit", "host", "--ipc", "none", "--read-only", "--rootfs"])
        .arg(state("root"))
        .arg("/nothing");
    // The exit code for a command that is not there: the container itself was made.
    podman.output().is_ok_and(|output| output.status.code() == Some(127)).then(|| fixture_of("podman"))
}

fn fixture_of(sandbox: &str) -> TaskFixture {
    {
        let fixture = TaskFixture::new();
        fixture.configure(&format!("sandbox = \"{sandbox}\""), &["fake"]);
        // The sandbox has an empty `/tmp`, where the fake may be.
        let fake = std::fs::read_to_string(fixture.folder("bin/fake")).unwrap();
        let copy = fixture.home.write_program("bin/runner.sh", std::fs::read(RUNNER).unwrap());
        fixture.program("fake", &fake.replace(RUNNER, copy.to_str().unwrap()));
        fixture.home.write(".adjutant/token", "a-token-of-this-hub-that-is-long-enough-to-be-one");
        fixture.home.write("elsewhere/keep", "");
        std::os::unix::fs::symlink(fixture.folder("elsewhere"), fixture.folder("work").join("link")).unwrap();
        fixture.commit_all();
        for level in ["workspace-write", "full"] {
            fixture.agent(level, &format!("permission: {level}\n"));
        }
        fixture
    }
}

/// Runs a script as an agent; returns the result, and the names of the paths that it could write.
fn run_script(fixture: &TaskFixture, task: &Value, script: &str) -> (Value, Vec<String>) {
    let file = fixture.home.write("script.sh", format!("{TRY}{script}"));
    let mut task = task.clone();
    task["task"] = json!(format!("script {}", file.display()));
    let result = peer(fixture.connect()).delegate_and_wait(1, task);
    let message = result["message"].as_str().unwrap_or_default();
    let wrote =
        message.lines().filter_map(|line| line.strip_prefix("wrote ")).map(ToOwned::to_owned).collect();
    (result, wrote)
}

#[test]
fn bubblewrap_holds_each_level() {
    if let Some(fixture) = real() {
        holds_each_level(&fixture, "kernel (bubblewrap)");
    }
}

#[test]
fn podman_holds_each_level() {
    if let Some(fixture) = real_podman() {
        holds_each_level(&fixture, "kernel (podman)");
    }
}

fn holds_each_level(fixture: &TaskFixture, held_by: &str) {
    let _hub = fixture.hub();
    let home = fixture.folder("");
    let name = home.file_name().unwrap().to_str().unwrap();
    let private = PathBuf::from(format!("/tmp/of-{name}"));
    let script = format!(
        "try README.md; try new.txt; try .git/config; try .git/new; mv .git gone; rm -rf .git; try link/out.txt\n\
         try {0}/home.txt; try {0}/.adjutant/config.toml; try {0}/.adjutant/agents/new.yaml; try {1}\n\
         unshare -Urm sh -c 'mount -o remount,bind,rw {0}; umount {0}; echo x >{0}/remounted.txt' 2>/dev/null\n\
         test -s {0}/.adjutant/token && echo 'wrote a copy of the token'\n\
         ls -d /proc/[0-9]* | wc -l | sed 's/^/processes /'\n",
        home.display(),
        private.display()
    );
    let private_name = private.display().to_string();
    for (agent, expected) in [
        ("reviewer", vec![private_name.clone()]),
        ("workspace-write", vec!["README.md".to_owned(), "new.txt".to_owned(), private_name]),
    ] {
        let mut task = fixture.task("");
        task["agent"] = json!(agent);
        let (result, wrote) = run_script(fixture, &task, &script);
        assert_eq!(wrote, expected, "{agent}: {result:#}");
        assert_eq!(result["run_report"]["attempts"][0]["held_by"], held_by, "{agent}");
        assert_eq!(result["run_report"]["processes_left"], 0);
        let written = |path: &Path| assert!(!path.exists(), "{agent}: {} was written", path.display());
        for path in ["home.txt", "elsewhere/out.txt", "remounted.txt", ".adjutant/agents/new.yaml"] {
            written(&home.join(path));
        }
        written(&private);
        assert!(fixture.folder("work/.git/HEAD").exists(), "{agent}");
        // Only the sandbox's own processes are there to be attached to.
        let message = result["message"].as_str().unwrap();
        let count = message.lines().find_map(|line| line.strip_prefix("processes ")).unwrap();
        assert!(count.trim().parse::<u32>().unwrap() < 10, "{agent}: {count}");
    }
    let mut free = fixture.task("");
    free["agent"] = json!("full");
    let (result, wrote) = run_script(fixture, &free, "try link/out.txt");
    assert_eq!(wrote, ["link/out.txt"], "{result:#}");
    assert!(fixture.folder("elsewhere/out.txt").exists());
}

#[test]
fn a_runner_behind_a_link_below_a_hidden_folder_starts() {
    let Some(fixture) = real() else { return };
    // The program reads a file next to itself, and finds it by the end of the link.
    let program = "#!/bin/sh\n. \"$(dirname \"$(readlink -f \"$0\")\")/rest\"\n";
    fixture.home.write("programs/rest", std::fs::read(fixture.folder("bin/fake")).unwrap());
    let program = fixture.home.write_program("programs/fake", program);
    let elsewhere = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp").unwrap();
    let (visible, hidden) = (fixture.folder("bin/fake"), elsewhere.path().join("fake"));
    std::fs::remove_file(&visible).unwrap();
    let config = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    for link in [&visible, &hidden] {
        std::os::unix::fs::symlink(&program, link).unwrap();
        let config = config.replace(visible.to_str().unwrap(), link.to_str().unwrap());
        fixture.home.write(".adjutant/config.toml", config);
        let _hub = fixture.hub();
        let (result, report) = peer(fixture.connect()).reported(1, fixture.task("ok"));
        assert_eq!(result["status"], "succeeded", "{}: {result:#}", link.display());
        assert!(report.contains("; held by kernel (bubblewrap);"), "{report}");
    }
}

#[test]
fn the_callers_tree_is_not_writable_from_a_worktree() {
    let Some(fixture) = real() else { return };
    let _hub = fixture.hub();
    let mut task = fixture.task("");
    task["agent"] = json!("workspace-write");
    task["isolation"] = json!("worktree");
    let script =
        format!("try own.txt; try {0}/stolen.txt; try {0}/.git/config", fixture.folder("work").display());
    let (result, wrote) = run_script(&fixture, &task, &script);
    assert_eq!(wrote, ["own.txt"], "{result:#}");
    assert!(result["run_report"]["repository"]["patch"].as_str().unwrap().contains("own.txt"), "{result:#}");
}

#[test]
fn a_run_reaches_the_hub_but_no_file_of_the_hub_or_of_another_run() {
    for fixture in real().into_iter().chain(real_podman()) {
        fixture.agent("listed", "network: [example.org]\non_hub_exit: keep\n");
        let _hub = fixture.hub();
        let mut peer = peer(fixture.connect());
        let mut other = fixture.task("hang");
        other["agent"] = json!("listed");
        let other = peer.delegate_in_background(1, other);
        peer.wait_for_activity(2, &other, "working");
        let files = |name: &str| fixture.folder(&format!(".adjutant/spool/{other}")).join(name);
        assert!(files("scratch-1/proxy").exists() && files("run-1/control").exists());
        let script = format!(
            "ls -A {0}; find {0} -type s; cat {0}/*.db {0}/*-key {0}/config.toml {0}/logs/* 2>/dev/null\n\
             head -n 1 {1} | {2} connect agents --no-start | grep -o '\"protocolVersion\"'\n",
            fixture.folder(".adjutant").display(),
            fixture
                .home
                .write("to-the-hub.ndjson", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#)
                .display(),
            env!("CARGO_BIN_EXE_adjutant"),
        );
        let (result, _) = run_script(&fixture, &fixture.task(""), &script);
        let socket = fixture.folder(".adjutant/spool/hub/hub.sock");
        let expected = format!("hub.sock\nspool\n{}\n\"protocolVersion\"", socket.display());
        assert_eq!(said(&result), expected, "{result:#}");
        peer.tool(3, "task_cancel", json!({"task_id": other}));
    }
}

#[test]
fn a_cancelled_run_in_the_sandbox_may_finish_what_it_does() {
    for fixture in real().into_iter().chain(real_podman()) {
        finishes_what_it_does(&fixture);
    }
}

fn finishes_what_it_does(fixture: &TaskFixture) {
    let _hub = fixture.hub();
    let script = "trap 'echo stopped; exit 0' INT\necho working\nwhile :; do sleep 0.05; done\n";
    let file = fixture.home.write("script.sh", script);
    let mut peer = peer(fixture.connect());
    let task = fixture.task(&format!("script {}", file.display()));
    let id = peer.delegate_in_background(1, task);
    peer.wait_for_activity(2, &id, "working");
    peer.tool(3, "task_cancel", json!({"task_id": id}));
    let result =
        peer.tool(4, "task_wait", json!({"task_id": id, "seconds": 60}))["structuredContent"].clone();
    assert_eq!(result["status"], "cancelled", "{result:#}");
    assert!(result["message"].as_str().unwrap_or_default().contains("stopped"), "{result:#}");
    assert_eq!(result["run_report"]["processes_left"], 0);
}

/// What a script printed before the runner's last line.
fn said(result: &Value) -> &str {
    result["message"].as_str().unwrap().strip_suffix("\nresult").unwrap().trim()
}

/// Answers each connection with `hello`, until the end of the test. Returns the port.
fn server() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let mut head = Vec::new();
            let mut read = [0; 1024];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match connection.read(&mut read) {
                    Ok(count @ 1..) => head.extend_from_slice(&read[..count]),
                    _ => break,
                }
            }
            let _ = connection
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    port
}

#[test]
fn a_run_reaches_the_hosts_of_its_list_only() {
    for fixture in real().into_iter().chain(real_podman()) {
        let (listed, other) = (server(), server());
        fixture.agent("reviewer", &format!("network: [\"127.0.0.1:{listed}\"]\n"));
        let _hub = fixture.hub();
        let script = format!(
            "echo \"plain $(curl -sS http://127.0.0.1:{listed}/)\"; echo \"tunnel $(curl -sSp http://127.0.0.1:{listed}/)\"\n\
             echo \"other $(curl -sS http://127.0.0.1:{other}/)\"\n\
             curl -sSp http://127.0.0.1:{other}/ || echo refused\n\
             curl -sS --noproxy '*' http://127.0.0.1:{listed}/ || echo unreachable\n"
        );
        let (result, _) = run_script(&fixture, &fixture.task(""), &script);
        let expected = format!(
            "plain hello\ntunnel hello\nother `127.0.0.1:{other}` is not in the `network` of this run\nrefused\nunreachable"
        );
        assert_eq!(said(&result), expected, "{result:#}");
        let attempt = &result["run_report"]["attempts"][0];
        assert_eq!(attempt["network"], format!("127.0.0.1:{listed}"));
        assert_eq!(attempt["refused_hosts"], json!([format!("127.0.0.1:{other}")]));
        assert_eq!(result["run_report"]["processes_left"], 0);
    }
}

#[test]
fn a_run_without_a_network_reaches_no_host() {
    for fixture in real().into_iter().chain(real_podman()) {
        let port = server();
        fixture.agent("reviewer", "network: none\n");
        let _hub = fixture.hub();
        let script =
            format!("curl -sS http://127.0.0.1:{port}/ && echo reached; echo \"proxy $HTTP_PROXY\"\n");
        let (result, report) = peer(fixture.connect()).reported(1, {
            let file = fixture.home.write("script.sh", script);
            fixture.task(&format!("script {}", file.display()))
        });
        assert_eq!(said(&result), "proxy", "{result:#}");
        assert!(report.contains("; network: none;"), "{report}");
    }
}

#[test]
fn a_list_of_the_configuration_bounds_that_of_the_agent() {
    let Some(fixture) = real() else { return };
    let (one, both) = (server(), server());
    let tasks = format!("sandbox = \"bubblewrap\"\nnetwork = [\"127.0.0.1:{both}\"]");
    let config = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    fixture.home.write(".adjutant/config.toml", config.replace("sandbox = \"bubblewrap\"", &tasks));
    fixture.agent("reviewer", "network: [\"127.0.0.1\"]\n");
    let _hub = fixture.hub();
    let script = format!("curl -sS http://127.0.0.1:{both}/; curl -sS http://127.0.0.1:{one}/\n");
    let (result, _) = run_script(&fixture, &fixture.task(""), &script);
    let expected = format!("hello`127.0.0.1:{one}` is not in the `network` of this run");
    assert_eq!(said(&result), expected, "{result:#}");
}
