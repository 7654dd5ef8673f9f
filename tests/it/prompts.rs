//! The prompts domain through `adjutant mcp prompts`: found and rejected files, expansions, and how soon a change on
//! disk is served.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::serving::Serving;
use crate::support::{Home, Peer};

/// A change is served after at most half a second; a machine that is busy with other tests gets more.
const SHOWS_WITHIN: Duration = Duration::from_secs(3);

fn list(peer: &mut Peer) -> Value {
    peer.call(1, "tools/call", json!({"name": "list_prompts", "arguments": {}}))["result"].take()
}

fn names(peer: &mut Peer) -> Vec<String> {
    let listed = list(peer);
    let prompts = listed["structuredContent"]["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect()
}

/// Files that are not served, as `path: reason`.
fn problems(peer: &mut Peer) -> Vec<String> {
    let listed = list(peer);
    let problems = listed["_meta"]["adjutant/problems"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut shown: Vec<_> =
        problems.iter().map(|p| format!("{}: {}", text(&p["file"]), text(&p["problem"]))).collect();
    shown.sort();
    shown
}

fn expand(peer: &mut Peer, command: &str, input: &str) -> Value {
    peer.call(
        2,
        "tools/call",
        json!({"name": "expand_prompt", "arguments": {"command": command, "input": input}}),
    )
}

fn expanded(peer: &mut Peer, command: &str, input: &str) -> String {
    let answer = expand(peer, command, input);
    let prompt = answer["result"]["structuredContent"]["prompt"].as_str();
    prompt.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The message of a rejected expansion.
fn refused(peer: &mut Peer, command: &str, input: &str) -> String {
    let answer = expand(peer, command, input);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Repeats until the value is the wanted one.
fn wait_for<T: PartialEq + std::fmt::Debug>(wanted: &T, mut ask: impl FnMut() -> T) {
    let began = Instant::now();
    loop {
        let answer = ask();
        if answer == *wanted {
            return;
        }
        assert!(began.elapsed() < SHOWS_WITHIN, "{answer:?} is not {wanted:?}");
    }
}

fn folder(home: &Home) -> PathBuf {
    let folder = home.path().join("p");
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_bundled_prompts_match_the_contract() {
    let home = Home::new();
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "prompts"]));
    let listed = list(&mut peer);
    let described = |name: &str| {
        let prompts = listed["structuredContent"]["prompts"].as_array().unwrap();
        prompts.iter().find(|prompt| prompt["name"] == name).unwrap()["description"].clone()
    };
    assert_eq!(described("research"), "Research a topic and provide a concise summary with key sources.");
    assert_eq!(described("summarize"), "Summarize provided text into a tight digest with bullets.");
    assert_eq!(
        expanded(&mut peer, "research", "Example topic"),
        "You are a focused researcher. Investigate the topic below and return:\n- A 3-5 sentence summary\n- 3 key findings\n- Source names or links if mentioned in provided context\n\nTopic:\nExample topic"
    );
}

#[test]
fn a_prompt_of_an_earlier_folder_overrides_a_later_one() {
    let home = Home::new();
    home.write(".adjutant/prompts/research.md", "---\ndescription: mine\n---\nMine: {{input}}");
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "prompts"]));
    assert_eq!(expanded(&mut peer, "research", "x"), "Mine: x");
    let (first, second) = (home.path().join("first"), home.path().join("second"));
    home.write("first/a.md", "first");
    home.write("second/a.md", "second");
    home.write("second/b.md", "second");
    let dirs = [
        "mcp",
        "prompts",
        "--prompts-dir",
        first.to_str().unwrap(),
        "--prompts-dir",
        second.to_str().unwrap(),
    ];
    let mut peer = Peer::start(&mut home.adjutant(dirs));
    assert_eq!(names(&mut peer), ["a", "b"]);
    assert_eq!(expanded(&mut peer, "a", ""), "first\n\n");
}

#[test]
fn a_broken_file_hides_no_valid_prompt() {
    let home = Home::new();
    let here = folder(&home);
    home.write("secret.md", "secret");
    home.write("p/good.md", "---\ndescription: Foo: bar\nargument-hint: [a] [b]\n---\nGood {{input}}");
    home.write("p/latin.md", b"caf\xe9");
    home.write("p/bomb.md", format!("---\na: {}\n---\nBody", "[".repeat(5000)));
    home.write("p/empty.md", "---\ndescription: nothing\n---\n");
    fs::File::create(here.join("huge.md")).unwrap().set_len(50 << 20).unwrap();
    symlink("../secret.md", here.join("out.md")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(here.join("pipe.md")).status().unwrap();
    assert!(fifo.success());
    let mut peer = Peer::prompts(&home, &here);
    assert_eq!(names(&mut peer), ["good"]);
    assert_eq!(list(&mut peer)["structuredContent"]["prompts"][0]["description"], "Foo: bar");
    assert_eq!(
        problems(&mut peer),
        [
            "bomb.md: the front matter is too complex (YAML bomb?)",
            "empty.md: the file has no text besides its front matter",
            "huge.md: the file has 52428800 bytes, over the limit of 262144",
            "latin.md: the file is not UTF-8",
            "out.md: it is a link that leaves its root",
            "pipe.md: it is not a regular file",
        ]
    );
    assert_eq!(
        refused(&mut peer, "out", ""),
        "prompt `out` cannot be read: it is a link that leaves its root"
    );
    assert_eq!(expanded(&mut peer, "good", "{{input}}"), "Good {{input}}");
}

#[test]
fn a_prompt_name_is_never_used_as_a_path() {
    let home = Home::new();
    let here = folder(&home);
    home.write("secret.md", "secret");
    home.write("p/review.md", "Body");
    let mut peer = Peer::prompts(&home, &here);
    let absolute = here.join("review").to_str().unwrap().to_owned();
    let long = "x".repeat(1 << 20);
    for name in [
        "../secret",
        "../../etc/passwd",
        "/etc/passwd",
        "",
        "\0",
        "./review",
        "x/../review",
        &absolute,
        &long,
    ] {
        let message = refused(&mut peer, name, "x");
        assert!(message.starts_with("unknown prompt `") && message.len() < 400, "{message}");
    }
    assert_eq!(refused(&mut peer, "reveiw", "x"), "unknown prompt `reveiw`; did you mean `review`?");
}

#[test]
fn an_expansion_over_the_limit_is_rejected_without_memory() {
    let home = Home::new();
    home.write("p/many.md", "{{input}} ".repeat(1000));
    let mut peer = Peer::prompts(&home, &folder(&home));
    assert_eq!(expanded(&mut peer, "many", &"x".repeat(1024)).len(), 1000 * 1025 - 1);
    let before = peer.resident_kib();
    let message = refused(&mut peer, "many", &"x".repeat(1 << 20));
    assert_eq!(message, "prompt `many` would expand to 1048576999 bytes, over the limit of 4194304");
    assert!(peer.resident_kib() < before + 64 * 1024, "{before} KiB grew to {} KiB", peer.resident_kib());
}

#[test]
fn invalid_arguments_get_the_error_data_of_the_contract() {
    let home = Home::new();
    home.write(
        "p/deploy.md",
        "---\narguments:\n  - {name: place, required: true, enum: [test, live]}\n  - {name: count, type: integer, default: 1}\n---\n{{place}} x{{count}}",
    );
    let here = folder(&home);
    let mut peer = Peer::prompts(&home, &here);
    assert_eq!(expanded(&mut peer, "deploy", "live count=3"), "live x3");
    for (input, message, validator, value) in [
        ("", "argument `place` of prompt `deploy` is required", "required", Value::Null),
        (
            "moon",
            "argument `place` of prompt `deploy` must be one of `test`, `live`, not `moon`",
            "enum",
            json!(["test", "live"]),
        ),
    ] {
        let error = expand(&mut peer, "deploy", input)["error"].take();
        let data = json!({"path": ["place"], "validator": validator, "validator_value": value});
        assert_eq!(
            (&error["code"], &error["message"], &error["data"]),
            (&json!(-32602), &json!(message), &data)
        );
    }
    let mut peer = Peer::prompts(&home, &here);
    peer.initialize("2025-06-18");
    let get = |arguments: Value| json!({"name": "deploy", "arguments": arguments});
    let answer = peer.call(3, "prompts/get", get(json!({"place": "test", "count": "7"})));
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "test x7");
    let error = peer.call(4, "prompts/get", get(json!({"place": "test", "count": "many"})));
    assert_eq!(
        error["error"]["data"],
        json!({"path": ["count"], "validator": "type", "validator_value": "integer"})
    );
}

#[test]
fn a_changed_file_is_served_changed() {
    let home = Home::new();
    let here = folder(&home);
    home.write("p/a.md", "one");
    let mut peer = Peer::prompts(&home, &here);
    assert_eq!(expanded(&mut peer, "a", ""), "one\n\n");
    for text in ["two", "six", "ten"] {
        home.write("p/a.md", text);
        wait_for(&format!("{text}\n\n"), || expanded(&mut peer, "a", ""));
    }
    home.write("p/team/b.md", "new");
    wait_for(&vec!["a".to_owned(), "team/b".to_owned()], || names(&mut peer));
    fs::remove_file(here.join("a.md")).unwrap();
    fs::rename(here.join("team"), here.join("crew")).unwrap();
    wait_for(&vec!["crew/b".to_owned()], || names(&mut peer));
    home.write("p/crew/b.md", "newer");
    wait_for(&"newer\n\n".to_owned(), || expanded(&mut peer, "crew/b", ""));
}

#[test]
fn a_removed_and_restored_folder_is_followed() {
    let home = Home::new();
    let here = home.path().join("p");
    let mut peer = Peer::prompts(&home, &here);
    assert_eq!(problems(&mut peer), [": the folder does not exist"]);
    home.write("p/a.md", "one");
    wait_for(&vec!["a".to_owned()], || names(&mut peer));
    fs::rename(&here, home.path().join("away")).unwrap();
    wait_for(&Vec::<String>::new(), || names(&mut peer));
    fs::write(&here, "a file in its place").unwrap();
    wait_for(&vec![": the folder is not a folder".to_owned()], || problems(&mut peer));
    fs::remove_file(&here).unwrap();
    fs::rename(home.path().join("away"), &here).unwrap();
    wait_for(&vec!["a".to_owned()], || names(&mut peer));
    // Permissions do not bind root: then the folder must simply stay served.
    fs::set_permissions(&here, fs::Permissions::from_mode(0o000)).unwrap();
    let bound = fs::read_dir(&here).is_err();
    let (served, fault) = if bound {
        (vec![], vec![": the folder cannot be read: permission denied".to_owned()])
    } else {
        (vec!["a".to_owned()], vec![])
    };
    wait_for(&served, || names(&mut peer));
    wait_for(&fault, || problems(&mut peer));
    fs::set_permissions(&here, fs::Permissions::from_mode(0o700)).unwrap();
    wait_for(&vec!["a".to_owned()], || names(&mut peer));
}

#[test]
fn subscribers_are_notified_of_changes() {
    let home = Home::new();
    home.write("p/a.md", "one");
    let mut peer = Peer::prompts(&home, &folder(&home));
    peer.initialize("2025-06-18");
    assert_eq!(names(&mut peer), ["a"]);
    home.write("p/b.md", "two");
    let notified = peer.receive();
    assert_eq!(notified["method"], "notifications/prompts/list_changed");
    assert_eq!(names(&mut peer), ["a", "b"]);
}

#[test]
fn prompts_added_to_a_project_are_served_to_its_connected_client() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    for place in ["repository/.git", "folder"] {
        home.write(&format!("{place}/file"), "");
        let project = place.split('/').next().unwrap();
        let mut command = home.adjutant(["connect", "prompts"]);
        let mut peer = Peer::start(command.current_dir(home.path().join(project)));
        peer.initialize("2025-06-18");
        assert!(!names(&mut peer).contains(&"late".to_owned()));
        home.write(&format!("{project}/.adjutant/prompts/late.md"), "late");
        let written = Instant::now();
        assert_eq!(peer.receive()["method"], "notifications/prompts/list_changed");
        // The promise is half a second; the rest is for a loaded machine.
        assert!(written.elapsed() < SHOWS_WITHIN, "{:?}", written.elapsed());
        assert!(names(&mut peer).contains(&"late".to_owned()));
    }
}

#[test]
fn ten_thousand_files_are_served_from_memory() {
    let home = Home::new();
    for number in 0..10_000 {
        home.write(
            &format!("p/{:02}/{number:05}.md", number % 50),
            format!("---\ndescription: Number {number}\n---\n{number}"),
        );
    }
    let mut peer = Peer::prompts(&home, &folder(&home));
    assert_eq!(names(&mut peer).len(), 10_000);
    home.write("p/07/00007.md", "changed");
    wait_for(&"changed\n\n".to_owned(), || expanded(&mut peer, "07/00007", ""));
    home.write("p/new.md", "new");
    wait_for(&10_001, || names(&mut peer).len());
    assert!(peer.resident_kib() < 128 * 1024, "{} KiB", peer.resident_kib());
}

/// The watcher thread and its callback share a lock: while many folders are removed, a change below another root is
/// still served.
#[test]
fn removing_many_folders_does_not_stop_watching_another_root() {
    let home = Home::new();
    let (many, other) = (home.path().join("many"), home.path().join("other"));
    for number in 0..600 {
        home.write(&format!("many/{:02}/{number:03}.md", number % 30), "text");
    }
    home.write("other/a.md", "0");
    let (many_dir, other_dir) = (many.to_str().unwrap(), other.to_str().unwrap());
    let arguments = ["mcp", "prompts", "--prompts-dir", many_dir, "--prompts-dir", other_dir];
    let mut peer = Peer::start(&mut home.adjutant(arguments));
    assert_eq!(names(&mut peer).len(), 601);
    for number in 0..30 {
        fs::remove_dir_all(many.join(format!("{number:02}"))).unwrap();
        home.write("other/a.md", format!("{number}"));
        wait_for(&format!("{number}\n\n"), || expanded(&mut peer, "a", ""));
    }
    wait_for(&vec!["a".to_owned()], || names(&mut peer));
}

/// The hub never writes into the prompt folders.
#[test]
fn the_prompt_folders_are_never_written_to() {
    let home = Home::new();
    home.write("p/a.md", "one");
    let here = folder(&home);
    let mut peer = Peer::prompts(&home, &here);
    assert_eq!(names(&mut peer), ["a"]);
    assert_eq!(entries(&here), ["a.md"]);
}

fn entries(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
