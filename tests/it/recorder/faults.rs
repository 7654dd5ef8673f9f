//! A recorder that cannot record breaks no session.

use std::process::Command;

use super::{direction_bytes, read_recording, recording, recordings};
use crate::support::{DEADLINE, Home, Peer, wait};

/// `adjutant tap -- cat` on a disk that takes 256 KiB of a file, after the commands `before`.
fn tapped_on_a_full_disk(home: &Home, before: &str) -> Peer {
    // A limit on the size of files replaces the full disk; with the signal ignored it gives the same error.
    let script = format!("{before} ulimit -f 512; exec \"$@\"");
    let given = home.adjutant(["tap", "--", "cat"]);
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(given.get_program()).args(given.get_args()).env_clear();
    command.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(home.path());
    Peer::start(&mut command)
}

/// Every line comes back, and the session ends with success.
fn pass_half_a_megabyte(peer: &mut Peer) {
    let line = "x".repeat(1000);
    for _ in 0..500 {
        peer.write(format!("{line}\n"));
        assert_eq!(peer.line(), line);
    }
    peer.close();
    assert!(wait(&mut peer.child, DEADLINE).success());
}

#[test]
fn a_full_disk_breaks_no_session_and_leaves_a_readable_recording() {
    let home = Home::new();
    let mut peer = tapped_on_a_full_disk(&home, "trap '' XFSZ;");
    pass_half_a_megabyte(&mut peer);
    let (_, stderr) = peer.finish();
    assert_eq!(stderr.matches("a recording cannot be written").count(), 1, "{stderr}");
    let (_, entries) = read_recording(&recording(&home, "tap"));
    let kept = direction_bytes(&entries, "c2s");
    assert!((1000..260_000).contains(&kept.len()), "{} bytes", kept.len());
    assert!(home.run(["log", "show"], "").status.success());
}

#[test]
fn a_limit_on_the_size_of_files_ends_no_session_even_if_nobody_reads_the_log() {
    let home = Home::new();
    // The signal has its default, and stderr takes nothing.
    let mut peer = tapped_on_a_full_disk(&home, "exec 2>/dev/full;");
    pass_half_a_megabyte(&mut peer);
    assert!(home.run(["log", "show"], "").status.success());
}

#[test]
fn a_closed_pipe_in_the_place_of_the_log_ends_no_session() {
    let home = Home::new();
    // The reader of the pipe ends as soon as it has opened it.
    let mut peer = tapped_on_a_full_disk(&home, "mkfifo log; : <log & exec 2>log; wait;");
    pass_half_a_megabyte(&mut peer);
    let (_, entries) = read_recording(&recording(&home, "tap"));
    assert!(direction_bytes(&entries, "c2s").len() > 1000);
}

#[test]
fn a_full_disk_keeps_the_messages_that_still_fit() {
    let home = Home::new();
    let mut peer = tapped_on_a_full_disk(&home, "trap '' XFSZ;");
    // Each message is one write: a message that is too large for the disk comes with smaller ones.
    let flood = format!("{}\n", "x".repeat(1000)).repeat(300);
    peer.write(flood);
    peer.close();
    assert!(wait(&mut peer.child, DEADLINE).success());
    let (_, entries) = read_recording(&recording(&home, "tap"));
    assert!(entries.len() > 200, "{} entries", entries.len());
    assert_eq!(entries[0]["line"], "x".repeat(1000));
}

#[test]
fn a_full_recording_keeps_its_handshake() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[log]\nmax_recording_bytes = 100000\nkeep_count = 2\n");
    let mut input = String::from("{\"id\":1,\"method\":\"hello\"}\n");
    for number in 0..20_000 {
        input += &format!("{{\"method\":\"count\",\"params\":{number}}}\n");
    }
    let run = home.run(["tap", "--", "cat"], &input);
    assert!(run.stdout == input);
    let kept: u64 = recordings(&home).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(kept < 1_000_000, "{kept}");
    let shown = home.run(["log", "show", "--json"], "").lines();
    assert_eq!(shown[0]["line"], "{\"id\":1,\"method\":\"hello\"}");
    assert_eq!(shown.last().unwrap()["exit"], 0);
}

#[test]
fn an_unknown_transport_in_the_configuration_is_reported() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[log]\nrecord = [\"codexx\"]\n");
    let run = home.run(["log", "list"], "");
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains("unknown variant `codexx`"), "{}", run.stderr);
}
