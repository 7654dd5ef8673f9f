//! `adjutant tap`: neither side notices it, and it records everything.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{direction_bytes, read_recording, recording, recordings};
use crate::support::{DEADLINE, Home, wait, wait_for};

fn tap(home: &Home, command: &[&str]) -> Command {
    let mut tap = home.adjutant([["tap", "--"].as_slice(), command].concat());
    tap.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tap
}

#[test]
fn tap_passes_and_records_every_byte_of_both_directions() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[log]\nmax_recording_bytes = 200000000\n");
    let mut sent = b"{\"id\":1}\r\n\n\xff\xfe not UTF-8\n".to_vec();
    sent.extend(std::iter::repeat_n(b'x', 17 << 20));
    sent.extend("\nan end without a line end: ü".as_bytes());
    let mut child = tap(&home, &["sh", "-c", "cat; echo complaint >&2"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let written = sent.clone();
    let writer = std::thread::spawn(move || input.write_all(&written).unwrap());
    let mut came = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut came).unwrap();
    writer.join().unwrap();
    assert!(came == sent, "{} of {} bytes", came.len(), sent.len());
    assert!(wait(&mut child, DEADLINE).success());

    let file = recording(&home, "tap");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let (header, entries) = read_recording(&file);
    assert_eq!((&header["connection"], &header["command"][0]), (&"tap".into(), &"sh".into()));
    assert!(direction_bytes(&entries, "c2s") == sent && direction_bytes(&entries, "s2c") == sent);
    assert_eq!(direction_bytes(&entries, "err"), b"complaint\n");
    let numbers: Vec<_> = entries.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=entries.len() as u64).collect::<Vec<_>>());
    let clock: Vec<_> = entries.iter().map(|entry| entry["us"].as_u64().unwrap()).collect();
    assert!(clock.windows(2).all(|pair| pair[0] <= pair[1] + 1_000_000), "roughly in the order of time");
    assert_eq!(entries.last().unwrap()["exit"], 0);
}

#[test]
fn tap_passes_on_the_exit_code_and_signals() {
    let home = Home::new();
    let run = home.run(["tap", "--", "sh", "-c", "echo said; exit 7"], "");
    assert_eq!((run.stdout.as_str(), run.status.code()), ("said\n", Some(7)));
    let run = home.run(["tap", "--", "no-such-program"], "");
    assert_eq!(run.status.code(), Some(127));
    assert!(run.stderr.starts_with("error: `no-such-program` cannot be executed: "), "{}", run.stderr);

    // The server decides what a signal means.
    let mut child =
        tap(&home, &["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do read -r line; done"])
            .spawn()
            .unwrap();
    let mut first = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(wait(&mut child, DEADLINE).code(), Some(9));
}

#[test]
fn tap_passes_the_end_of_each_side_to_the_other() {
    let home = Home::new();
    // The client ends: the server gets the end of its input, and of the reader of its output.
    let mut child = tap(&home, &["sh", "-c", "cat > /dev/null; echo last words; exit 3"]).spawn().unwrap();
    drop(child.stdin.take());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), wait(&mut child, DEADLINE).code()), ("last words\n", Some(3)));
    let mut child = tap(&home, &["yes"]).spawn().unwrap();
    drop(child.stdout.take());
    assert!(!wait(&mut child, DEADLINE).success(), "`yes` ends without a reader");

    // The server ends: a client that keeps its pipe open gets the end of its input.
    let mut child = tap(&home, &["true"]).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(wait(&mut child, DEADLINE).success());

    // The client kills the process that it started: the server ends too.
    let mut child = tap(&home, &["sh", "-c", "echo $$; exec sleep 1000"]).spawn().unwrap();
    let mut pid = String::new();
    let mut stdout = child.stdout.take().unwrap();
    while !pid.ends_with('\n') {
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        pid.push(char::from(byte[0]));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The adopting process may leave a zombie, which has no arguments any longer.
    let words = format!("/proc/{}/cmdline", pid.trim());
    wait_for("the server's end", || std::fs::read(&words).unwrap_or_default().is_empty().then_some(()));
}

#[test]
fn tap_writes_to_the_given_file_and_never_over_one() {
    let home = Home::new();
    let run = home.run(["tap", "--output", "bug.jsonl", "--", "cat"], "hello\n");
    assert_eq!(run.stdout, "hello\n");
    assert_eq!(direction_bytes(&read_recording(&home.path().join("bug.jsonl")).1, "s2c"), b"hello\n");
    assert!(recordings(&home).is_empty());
    let run = home.run(["tap", "--output", "bug.jsonl", "--", "cat"], "hello\n");
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(2), ""));
    // Without a place for the recording the session continues.
    let run = home.run(["tap", "--output", "bug.jsonl/x", "--", "cat"], "hello\n");
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(0), "hello\n"));
    assert!(run.stderr.contains("a recording cannot be written"), "{}", run.stderr);
    let run = home.run(["tap"], "");
    assert_eq!(run.status.code(), Some(2));
}
