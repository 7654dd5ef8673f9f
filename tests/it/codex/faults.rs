//! A Codex that misbehaves: a script in its place.

use super::{codex, install, processes_of, said, threads};
use crate::support::Home;
use crate::support::serving::Serving;

/// A shell script that speaks app-server: the thread begins, then `turn` happens. `$turn` is the id of the request
/// that started the turn.
pub(super) fn app_server(turn: &str) -> String {
    format!(
        r#"#!/bin/sh
if [ "$1" = --version ]; then echo codex-cli 0.169.0; exit; fi
line() {{ printf '%s\n' "$1"; }}
read -r hello; line '{{"id":1,"result":{{"userAgent":"fake/0.169.0 (x)"}}}}'
read -r initialized
read -r thread; line '{{"id":2,"result":{{"thread":{{"id":"t-1","cwd":"/"}},"model":"m"}}}}'
read -r turn; line '{{"id":3,"result":{{"turn":{{"id":"u-1"}}}}}}'
line '{{"method":"turn/started","params":{{"threadId":"t-1","turn":{{"id":"u-1"}}}}}}'
say() {{ line '{{"method":"item/completed","params":{{"threadId":"t-1","turnId":"u-1","item":{{"type":"agentMessage","id":"m-1","text":"'"$1"'"}}}}}}'; }}
done_() {{ line '{{"method":"turn/completed","params":{{"threadId":"t-1","turn":{{"id":"u-1","status":"completed"}}}}}}'; }}
{turn}
cat > /dev/null
"#
    )
}

fn home_with(turn: &str) -> (Home, Serving) {
    let home = Home::new();
    install(&home, &app_server(turn), "auto");
    let hub = Serving::socket_hub(&home);
    (home, hub)
}

#[test]
fn twenty_thousand_events_come_in_order_before_the_answer() {
    let (home, _hub) =
        home_with(r#"seq 1 20000 | sed 's/.*/{"method":"count","params":{"n":&}}/'; say done; done_"#);
    let run = codex(&home, &["count"]);
    let counted: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("[mcp count]")).collect();
    let expected: Vec<String> = (1..=20_000).map(|n| format!("[mcp count] {{\"n\":{n}}}")).collect();
    assert_eq!(counted, expected);
    assert_eq!(said(&run.stdout), ["done"]);
    assert!(run.status.success());
}

#[test]
fn lines_that_cannot_be_read_are_told_and_harm_nothing() {
    let (home, _hub) = home_with(
        r#"line 'not json'; line '{"id":77,"result":{}}'; line '{"method":"never/seen","params":[1,2]}'
head -c 17825792 /dev/zero | tr '\0' x; line ''
line '{"id":"9","method":"some/question","params":{}}'; read -r denied; say "$(printf '%s' "$denied" | tr '"' "'")"
say2() { line '{"method":"item/completed","params":{"threadId":"t-1","item":{"type":"agentMessage","id":"m-2","text":"\u001b[2Jred\u202e"}}}'; }
say2; done_"#,
    );
    let run = codex(&home, &["misbehave"]);
    assert!(run.status.success(), "{run}");
    let lines = said(&run.stdout);
    assert!(lines[0].starts_with("[warning] a line of Codex cannot be read: "), "{run}");
    assert!(lines[1].contains("the request 77, which nobody sent"), "{run}");
    assert_eq!(lines[2], "[warning] a line of Codex with 17825792 bytes was left out");
    assert!(lines[3].starts_with("[approval ") && lines[3].contains("`some/question`"), "{run}");
    assert!(lines[4].contains("by Nobody"), "{run}");
    assert_eq!(lines[5], "{'id':'9','result':{'decision':'decline'}}");
    assert_eq!(lines[6], "⟨U+001B⟩[2Jred⟨U+202E⟩");
    assert!(run.stdout.contains("[mcp never/seen] [1,2]"), "{run}");
}

#[test]
fn a_crash_within_a_turn_fails_it_with_what_codex_said() {
    let (home, _hub) =
        home_with("head -c 3000000 /dev/zero | tr '\\0' e >&2; echo 'out of luck' >&2; exit 7");
    let run = codex(&home, &["crash"]);
    assert_eq!(run.status.code(), Some(1), "{run}");
    assert!(run.stderr.contains("codex exited with 7") && run.stderr.contains("out of luck"), "{run}");
    let thread = &threads(&home)[0];
    assert_eq!((&thread["state"], &thread["last_end"]), (&"closed".into(), &"failed".into()));
}

#[test]
fn nothing_of_a_session_is_left_when_its_hub_is_killed() {
    let (home, mut hub) = home_with("sleep 1000 & setsid sleep 1000 & say x; done_");
    let run = codex(&home, &["leave something"]);
    assert!(run.status.success(), "{run}");
    assert!(processes_of(home.path()).iter().any(|command| command.starts_with("sleep 1000")));
    hub.kill();
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while !processes_of(home.path()).is_empty() {
        assert!(std::time::Instant::now() < end, "{:?}", processes_of(home.path()));
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
}

#[test]
fn no_codex_no_thread_and_no_backend_are_told_with_what_to_do() {
    let home = Home::new();
    install(&home, "#!/bin/sh\necho codex-cli 0.169.0\n", "mcp-server");
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["hello"]);
    assert_eq!(
        run.stderr,
        "error: codex 0.169.0 has no `mcp-server`\nhint: set [codex] backend to \"auto\" in config.toml, or leave it out\n"
    );
    let run = codex(&home, &["--thread", "nope", "hello"]);
    assert!(run.stderr.starts_with("error: there is no thread `nope`\nhint: "), "{run}");
    let run = codex(&home, &["--approve", "nope"]);
    assert!(run.stderr.starts_with("error: nothing is asked by the name `nope`"), "{run}");
    std::fs::remove_file(home.path().join("bin/codex")).unwrap();
    let run = codex(&home, &["hello"]);
    assert!(run.stderr.starts_with("error: codex was not found at `"), "{run}");
    assert_eq!(codex(&home, &["hello", "--config", "x"]).status.code(), Some(2));
}
