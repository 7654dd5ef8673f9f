use std::io::Write as _;

use serde_json::Value;

use super::{LineMatch, Player, ReplayTransport, Role};
use crate::recorder::reader::Found;

const HEADER: &str =
    r#"{"recording":1,"adjutant":"0","connection":"tap","session":"s","about":"","started":"","pid":1}"#;
/// A client that asks, is asked, and asks again after the end of a turn.
const SCRIPT: &[(&str, &str)] = &[
    ("c2s", r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"c","version":"1"}}}"#),
    ("s2c", r#"{"id":1,"result":{"ok":true}}"#),
    ("c2s", r#"{"method":"initialized"}"#),
    ("c2s", r#"{"id":2,"method":"start","params":{"_meta":{"progressToken":2}}}"#),
    ("s2c", r#"{"id":2,"result":{"thread":"0199-aaaa-bbbb-0001","at":1795213861752}}"#),
    ("s2c", r#"{"method":"progress","params":{"progressToken":2}}"#),
    ("s2c", r#"{"id":0,"method":"may/i","params":{"thread":"0199-aaaa-bbbb-0001"}}"#),
    ("c2s", r#"{"id":0,"result":{"decision":"accept"}}"#),
    ("s2c", r#"{"method":"turn/completed","params":{}}"#),
    ("c2s", r#"{"id":3,"method":"again","params":{"thread":"0199-aaaa-bbbb-0001"}}"#),
    ("s2c", r#"{"id":3,"result":{}}"#),
];

fn player(role: Role, ignore: &[&str]) -> Player {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{HEADER}").unwrap();
    for (seq, (dir, line)) in SCRIPT.iter().enumerate() {
        let entry = serde_json::json!({"seq": seq + 1, "at": 0, "us": seq, "dir": dir, "line": line});
        writeln!(file, "{entry}").unwrap();
    }
    let files = vec![file.path().to_owned()];
    let found = Found { name: "s".to_owned(), files, bytes: 0, modified: std::time::SystemTime::now() };
    let ignore: Vec<String> = ignore.iter().map(|name| (*name).to_owned()).collect();
    Player::new(role, ReplayTransport::Lines, &found, &ignore).unwrap()
}

fn said(player: &mut Player) -> Vec<String> {
    std::iter::from_fn(|| player.due()).map(|due| String::from_utf8(due.bytes).unwrap()).collect()
}

fn found(player: &Player) -> Vec<String> {
    let mut report = player.report();
    report.pop();
    report
}

#[test]
fn a_server_answers_as_it_did_with_the_ids_of_now() {
    let mut server = player(Role::Server, &[]);
    assert_eq!(said(&mut server), [""; 0]);
    // As recorded, except for the id.
    server.on_line(br#"{"id":"a","method":"initialize","params":{"clientInfo":{"name":"c","version":"1"}}}"#);
    assert_eq!(said(&mut server), [r#"{"id":"a","result":{"ok":true}}"#]);
    // `initialized` never comes, and nothing waits for it. The progress token is not the recorded one.
    server.on_line(br#"{"id":"b","method":"start","params":{"_meta":{"progressToken":"t"}}}"#);
    let told = said(&mut server);
    assert_eq!(told[1], r#"{"method":"progress","params":{"progressToken":"t"}}"#);
    assert_eq!(told[2], SCRIPT[6].1, "a question has the server's own id, and is not touched");
    assert_eq!(told.len(), 3, "the rest waits for the answer");
    server.on_line(br#"{"id":0,"result":{"decision":"decline"}}"#);
    assert_eq!(said(&mut server), [SCRIPT[8].1]);
    let LineMatch::Unknown { answer: Some(refused) } = server.on_line(br#"{"id":9,"method":"other"}"#) else {
        panic!("nobody said it then")
    };
    let refused: Value = serde_json::from_slice(&refused).unwrap();
    assert_eq!(refused["error"]["message"], "the recording has no further `other`");
    assert!(!server.is_done());
    assert_eq!(
        found(&server),
        [
            r#"#8 the answer to 0: result.decision was "accept", is "decline""#,
            r#"not in the recording: {"id":9,"method":"other"}"#,
            "#3 was not received: initialized",
            "#10 was not received: again",
            "#11 was not received: (not played) the answer to 3",
        ]
    );
}

#[test]
fn a_client_goes_on_when_what_it_saw_has_come_and_speaks_of_the_thread_of_now() {
    let mut client = player(Role::Client, &["ok"]);
    assert_eq!(said(&mut client), [SCRIPT[0].1]);
    client.on_line(br#"{"id":1,"result":{"ok":false}}"#);
    assert_eq!(said(&mut client), [SCRIPT[2].1, SCRIPT[3].1]);
    client.on_line(br#"{"id":2,"result":{"thread":"0200-cccc-dddd-0002","at":1795219999999}}"#);
    assert_eq!(client.waits_for().as_deref(), Some("may/i"));
    client.on_line(br#"{"id":"q","method":"may/i","params":{"thread":"0200-cccc-dddd-0002"}}"#);
    assert_eq!(said(&mut client), [r#"{"id":"q","result":{"decision":"accept"}}"#]);
    assert_eq!(client.waits_for().as_deref(), Some("turn/completed"), "what came last before it");
    client.on_line(SCRIPT[8].1.as_bytes());
    let again = r#"{"id":3,"method":"again","params":{"thread":"0200-cccc-dddd-0002"}}"#;
    assert_eq!(said(&mut client), [again]);
    client.on_line(SCRIPT[10].1.as_bytes());
    assert!(client.is_done());
    assert_eq!(found(&client), ["#6 was not received: progress"]);
}

#[test]
fn a_client_gives_up_what_does_not_come() {
    let mut client = player(Role::Client, &[]);
    assert_eq!(said(&mut client).len(), 1);
    client.give_up();
    assert_eq!(said(&mut client).len(), 2);
    assert_eq!(found(&client)[0], "#2 was not received: the answer to 1");
}
