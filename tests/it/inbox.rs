//! The channels other than pages: the Inbox in a pseudo-terminal and over lines, `adjutant ask`, and phone
//! notifications.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::questions::fixtures::User;
use super::support::ntfy::Ntfy;
use super::support::serving::Serving;
use super::support::terminal::{Look, Terminal, svg_as, text};
use super::support::{Finished, Home, Peer, wait};
use crate::support::DEADLINE;

/// A script that asks and waits.
struct Script(Option<Child>);

impl Script {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut command: Command = home.adjutant(["ask"]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap()))
    }

    /// Waits for its end.
    fn finish(mut self) -> Finished {
        let mut child = self.0.take().unwrap();
        let status = wait(&mut child, DEADLINE);
        let output = child.wait_with_output().unwrap();
        Finished {
            status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const DEPLOY: [&str; 8] = [
    "--title",
    "Deploy to production?",
    "--message",
    "The release is ready:\n\n- all tests pass\n- nobody is on call\n\n```diff\n--- a/deploy.toml\n+++ b/deploy.toml\n@@ -1,2 +1,2 @@\n-replicas = 2\n+replicas = 4\n region = \"eu\"\n```",
    "--option",
    "Yes, deploy now=yes",
    "--option",
    "No=no",
];

fn inbox(home: &Home) -> Terminal {
    Terminal::start(home, &["inbox"], 80, 24, &[])
}

/// Opens the first question and waits until it accepts keys.
fn open(terminal: &mut Terminal) {
    terminal.send("\r");
    terminal.wait("an open question whose keys count", |screen| screen.contains("Enter sends"));
}

#[test]
fn a_question_is_answered_with_keys_and_the_script_gets_the_value() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let mut terminal = inbox(&home);
    terminal.shows("There are no pending questions.");
    let asking = Script::start(&home, &DEPLOY);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    terminal.send("1");
    let screen = terminal.shows("1 (•) Yes, deploy now");
    // The path of the home differs in every run.
    let screen: Vec<&str> =
        screen.lines().filter(|line| !line.contains("hub sees") && !line.contains("asks")).collect();
    insta::assert_snapshot!("inbox_question", screen.join("\n"));
    terminal.send("\r");
    terminal.shows("u undoes it");
    let finished = asking.finish();
    assert_eq!((finished.stdout.as_str(), finished.status.code()), ("yes\n", Some(0)), "{}", finished.stderr);
    terminal.shows("There are no pending questions.");
    terminal.send("q");
    assert_eq!(terminal.exit_code(), 0);
    terminal.wait_until_restored();
}

#[test]
fn an_answer_is_undone_and_given_again() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let asking = Script::start(&home, &DEPLOY);
    let mut terminal = inbox(&home);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    terminal.send("1\r");
    terminal.shows("u undoes it");
    terminal.send("u");
    terminal.shows("undone; nothing was sent");
    terminal.wait("keys that count again", |screen| screen.contains("Enter sends"));
    terminal.send("2\r");
    terminal.shows("u undoes it");
    assert_eq!(asking.finish().stdout, "no\n");
}

#[test]
fn the_first_answer_wins_and_the_other_terminal_names_its_channel() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let asking = Script::start(&home, &DEPLOY);
    let (mut first, mut second) = (inbox(&home), inbox(&home));
    for terminal in [&mut first, &mut second] {
        terminal.shows("Deploy to production?");
        open(terminal);
    }
    first.send("2\r");
    second.shows("This question was answered in another terminal.");
    second.send("1\r");
    second.shows("There are no pending questions.");
    assert_eq!(asking.finish().stdout, "no\n");
}

#[test]
fn each_outcome_has_its_exit_code() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let mut terminal = inbox(&home);
    let asking = Script::start(&home, &DEPLOY);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    terminal.send("\x04");
    terminal.shows("Decline this question?");
    terminal.send("not on a Friday\r");
    let finished = asking.finish();
    assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
    assert!(finished.stdout.is_empty() && finished.stderr.contains("not on a Friday"), "{}", finished.stderr);

    let late = home.run(["ask", "--title", "Anybody?", "--timeout", "1s", "--option", "Yes=yes"], "");
    assert_eq!((late.status.code(), late.stdout.as_str()), (Some(4), ""), "{}", late.stderr);
    let wrong = home.run(["ask", "--title", "T", "--option", "A=a", "--default", "b"], "");
    assert_eq!(wrong.status.code(), Some(2));
    let help = home.run(["ask", "--help"], "");
    insta::assert_snapshot!("ask_help", help.stdout);
}

#[test]
fn a_script_gets_the_whole_outcome_as_json() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let asking = Script::start(&home, &["--title", "Why?", "--json"]);
    let mut terminal = inbox(&home);
    terminal.shows("Why?");
    open(&mut terminal);
    terminal.send("because\x0e");
    terminal.shows("A note for the agent");
    terminal.send("see the log\r");
    terminal.shows("note: see the log");
    terminal.send("\r");
    let finished = asking.finish();
    let outcome: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(outcome["status"], "answered");
    assert_eq!(outcome["selectedValue"], "because");
    assert_eq!(outcome["note"], "see the log");
    assert_eq!((&outcome["decided_by"], &outcome["through"]), (&"user".into(), &"terminal".into()));
}

#[test]
fn control_characters_in_a_question_do_not_reach_the_terminal() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let title = "Safe?\u{202e}evil \x1b]0;owned\x07\x1b[2J";
    let _asking = Script::start(
        &home,
        &["--title", title, "--message", "a\x1b[31mred\u{200b}b", "--option", "Y\x1b[8m=y"],
    );
    let mut terminal = inbox(&home);
    terminal.shows("⟨U+202E⟩evil");
    open(&mut terminal);
    let screen = terminal.shows("a⟨U+001B⟩[31mred⟨U+200B⟩b");
    assert!(screen.contains("Y⟨U+001B⟩[8m"), "{screen}");
}

#[test]
fn the_inbox_adapts_to_narrow_colourless_and_resized_terminals() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let _asking = Script::start(&home, &DEPLOY);
    let mut terminal = Terminal::start(&home, &["inbox"], 34, 20, &[("NO_COLOR", "1")]);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    let screen = terminal.screen();
    for row in 0..20 {
        for column in 0..34 {
            let cell = screen.cell(row, column).unwrap();
            assert_eq!((cell.fgcolor(), cell.bgcolor()), (vt100::Color::Default, vt100::Color::Default));
        }
    }
    assert!(text(&screen).contains("1 ( ) Yes, deploy now"), "{}", text(&screen));
    terminal.resize(100, 30);
    terminal.shows(" region = \"eu\"");
}

#[test]
fn a_key_pressed_while_the_window_is_resized_has_its_effect() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let _asking = Script::start(&home, &DEPLOY);
    let mut terminal = inbox(&home);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    // The signal of the resize and the key arrive together in some of the rounds.
    for round in 0..100 {
        let (choice, columns) = [("1", 90), ("2", 91)][round % 2];
        terminal.resize(columns, 30);
        terminal.send(choice);
        terminal.shows(&format!("{choice} (•)"));
    }
}

#[test]
fn an_open_inbox_keeps_its_question_when_the_hub_restarts() {
    let home = Home::new();
    let mut hub = Serving::socket_hub(&home);
    let asking = Script::start(&home, &DEPLOY);
    let mut terminal = inbox(&home);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    hub.kill();
    terminal.shows("! ");
    // The script starts the next hub by itself; the Inbox finds it.
    terminal.wait("the next hub", |screen| !screen.contains("! "));
    terminal.send("1");
    terminal.shows("1 (•)");
    terminal.send("\r");
    terminal.shows("u undoes it");
    assert_eq!(asking.finish().stdout, "yes\n");
    let status: Value = serde_json::from_str(&home.run(["status", "--json"], "").stdout).unwrap();
    let _ = Command::new("kill").arg(status["pid"].to_string()).status();
}

#[test]
fn an_open_inbox_names_the_next_step_when_its_hub_has_stopped() {
    let home = Home::new();
    let hub = Serving::socket_hub(&home);
    let (screen, lines) = (inbox(&home), Terminal::start(&home, &["inbox", "--plain"], 100, 24, &[]));
    screen.shows("There are no pending questions.");
    lines.shows("LINES for a screen reader");
    hub.stop();
    screen.shows("! the hub stopped; `adjutant open` starts it again");
    lines.shows("LOST the hub stopped; `adjutant open` starts it again");
    // The Inbox searches for a hub again and again, and each search fails with the same reason.
    screen.shows("Looking for the hub.");
    let _hub = Serving::socket_hub(&home);
    screen.shows("There are no pending questions.");
    let shown = text(&lines.screen());
    assert_eq!(shown.matches("LOST").count(), 1, "{shown}");
}

#[test]
fn a_question_is_answered_by_its_number_which_no_other_question_gets() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let ask = |title| Script::start(&home, &["--title", title, "--option", "Yes=yes", "--option", "No=no"]);
    let mut lines = Terminal::start(&home, &["inbox", "--plain"], 100, 40, &[]);
    lines.shows("`NUMBER VALUE`");
    let mut asked = Vec::new();
    for (number, title) in [(1, "First?"), (2, "Second?")] {
        asked.push(ask(title));
        lines.shows(&format!(" number {number} from"));
    }
    lines.send("1 yes\r");
    assert_eq!(asked.remove(0).finish().stdout, "yes\n");
    let third = ask("Third?");
    lines.shows(" number 3 from");
    lines.send("4 no\r");
    lines.shows("REFUSED no question that is pending has the number 4");
    // A script may write before it has read the list, so it has no numbers.
    let piped = home.run(["inbox"], "2 no\n");
    assert!(piped.stdout.contains("REFUSED no question that is pending begins with `2`"), "{piped}");
    assert!(!piped.stdout.contains(" number "), "{piped}");
    lines.send("2 2\r3 yes\r");
    assert_eq!(asked.remove(0).finish().stdout, "no\n");
    assert_eq!(third.finish().stdout, "yes\n");
}

#[test]
fn the_plain_inbox_reads_and_writes_lines_without_a_terminal() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let asking = Script::start(&home, &DEPLOY);
    let mut lines = Peer::start(&mut home.adjutant(["inbox"]));
    let mut found = Vec::new();
    let id = loop {
        let line = lines.line();
        found.push(line.clone());
        if let Some(rest) = line.strip_prefix("QUESTION ") {
            break rest.split(' ').next().unwrap().to_owned();
        }
    };
    for wanted in ["  Deploy to production?", "  1  yes  Yes, deploy now"] {
        while found.last().map(String::as_str) != Some(wanted) {
            found.push(lines.line());
        }
    }
    lines.write("qzzz yes\n");
    while !found.last().unwrap().starts_with("REFUSED no question") {
        found.push(lines.line());
    }
    lines.write(format!("{id} 7\n"));
    assert_eq!(lines.line(), "REFUSED `7` is not one of the options: yes, no");
    lines.write(format!("{id} 2\n"));
    assert_eq!(lines.line(), format!("DONE {id} answered; {id} /undo undoes it for 3 s"));
    lines.write(format!("{id} /undo\n"));
    let mut after = vec![lines.line()];
    while after.last().unwrap() != "  2  no  No" {
        after.push(lines.line());
    }
    assert!(after.contains(&format!("DONE {id} undone")), "{after:?}");
    assert!(
        after.iter().any(|line| line.starts_with(&format!("QUESTION {id} "))),
        "it is asked again: {after:?}"
    );
    lines.write(format!("{id} /note not on a Friday\n{id} /dismiss\n"));
    assert_eq!(lines.line(), format!("NOTED {id} it is sent with your decision"));
    assert!(lines.line().starts_with(&format!("DONE {id} dismissed; ")));
    // Undo does not remove the note.
    lines.write(format!("{id} /undo\n"));
    while lines.line() != format!("DONE {id} undone") {}
    // Lines in one write are carried out in order.
    lines.write(format!("{id} yes\n{id} /undo\n{id} no\n"));
    for done in ["answered; ", "undone", "answered; "] {
        let done = format!("DONE {id} {done}");
        while !lines.line().starts_with(&done) {}
    }
    let finished = asking.finish();
    assert_eq!(finished.stdout, "no\n");
    assert!(finished.stderr.contains("not on a Friday"), "{}", finished.stderr);
    lines.write("/away 30\n");
    let away = std::iter::repeat_with(|| lines.line()).find(|line| line.starts_with("DONE away, ")).unwrap();
    assert_eq!(away, "DONE away, 30 min left");
    let refused = home.run(["ask", "--title", "Now?"], "");
    assert_eq!(refused.status.code(), Some(5), "{}", refused.stderr);
    lines.write("/here\n");
    while lines.line() != "DONE you accept questions" {}
    lines.write("/gone\n");
    assert!(lines.line().starts_with("REFUSED `/gone` is not a command"));
    let (status, _) = lines.finish();
    assert_eq!(status.code(), Some(1), "a line was refused");
    let empty = home.run(["inbox"], "");
    assert_eq!((empty.status.code(), empty.stdout.as_str()), (Some(0), ""), "{}", empty.stderr);
}

/// Waits for the next line with this start.
fn line_with(lines: &Peer, start: &str) -> String {
    std::iter::repeat_with(|| lines.line()).find(|line| line.starts_with(start)).unwrap()
}

#[test]
fn a_file_is_sent_with_an_answer_over_lines() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let plan = home.write("plan b.txt", "On Monday.\n").display().to_string();
    let empty = home.write("empty.txt", "").display().to_string();
    let folder = home.path().display().to_string();
    let asking = Script::start(&home, &DEPLOY);
    let mut lines = Peer::start(&mut home.adjutant(["inbox"]));
    let asked = line_with(&lines, "QUESTION ");
    let id = asked.split(' ').nth(1).unwrap();
    for (path, reason) in [
        (format!("{folder}/nothing.txt"), "cannot be read: "),
        (folder.clone(), "is not a file"),
        (empty, "is empty"),
    ] {
        lines.write(format!("{id} /file {path}\n"));
        let refused = line_with(&lines, "REFUSED");
        assert!(refused.starts_with(&format!("REFUSED {id} `{path}` {reason}")), "{refused}");
    }
    // A path of the user's home, and a path with a space; undo does not remove the files.
    lines.write(format!("{id} /file ~/plan b.txt\n{id} /file {plan}\n{id} no\n{id} /undo\n{id} yes\n"));
    for _ in 0..2 {
        assert_eq!(line_with(&lines, "NOTED"), format!("NOTED {id} plan b.txt is sent with your answer"));
    }
    let finished = asking.finish();
    assert_eq!((finished.stdout.as_str(), finished.status.code()), ("yes\n", Some(0)), "{}", finished.stderr);
    let files: Vec<&str> =
        finished.stderr.lines().filter_map(|line| line.split_once("file: ")).map(|(_, path)| path).collect();
    assert_eq!(files.len(), 2, "{}", finished.stderr);
    for file in files {
        assert_eq!(std::fs::read_to_string(file).unwrap(), "On Monday.\n", "{file}");
    }
    let (status, _) = lines.finish();
    assert_eq!(status.code(), Some(1), "lines were refused");
}

#[test]
fn more_files_than_an_answer_takes_are_refused_over_lines() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    home.write("plan.txt", "On Monday.\n");
    let _asking = Script::start(&home, &DEPLOY);
    let mut lines = Peer::start(&mut home.adjutant(["inbox"]));
    let asked = line_with(&lines, "QUESTION ");
    let id = asked.split(' ').nth(1).unwrap();
    lines.write(format!("{id} /file ~/plan.txt\n").repeat(6));
    for _ in 0..5 {
        line_with(&lines, "NOTED");
    }
    assert_eq!(line_with(&lines, "REFUSED"), format!("REFUSED {id} an answer takes at most 5 files"));
}

#[test]
fn a_file_is_sent_with_an_answer_from_a_terminal() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    home.write("plan.txt", "On Monday.\n");
    let asking = Script::start(&home, &DEPLOY);
    let mut terminal = inbox(&home);
    terminal.shows("Deploy to production?");
    open(&mut terminal);
    // Ctrl-F, a path with a slip of the finger, and the right one.
    terminal.send("\u{6}~/plans.txt\r");
    terminal.shows("cannot be read");
    terminal.send("\u{15}~/plan.txt\r");
    terminal.shows("files: plan.txt");
    terminal.send("1\r");
    terminal.shows("u undoes it");
    let finished = asking.finish();
    assert_eq!(finished.stdout, "yes\n");
    let file = finished.stderr.lines().find_map(|line| line.split_once("file: ")).unwrap().1;
    assert_eq!(std::fs::read_to_string(file).unwrap(), "On Monday.\n");
}

#[test]
fn lines_for_a_screen_reader_are_announced_at_the_start() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let lines = Terminal::start(&home, &["inbox", "--plain"], 100, 12, &[]);
    let screen = lines.shows("`adjutant inbox --help` lists the others");
    assert!(screen.starts_with("LINES for a screen reader: "), "{screen}");
    // The full screen says before it is drawn where a screen reader finds lines.
    let terminal = inbox(&home);
    terminal.shows("There are no pending questions.");
    let written = String::from_utf8_lossy(&terminal.written()).into_owned();
    let (before, _) = written.split_once("\u{1b}[?1049h").expect("another screen");
    assert!(before.contains("`adjutant inbox --plain` prints lines"), "{before:?}");
    // No program reads the announcement.
    let piped = home.run(["inbox", "--plain"], "");
    assert_eq!(piped.stdout, "", "{piped}");
}

#[test]
fn a_default_answer_is_shown_with_the_time_after_which_it_counts() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let _asking =
        Script::start(&home, &[&DEPLOY[..], &["--default", "no", "--default-after", "4m"]].concat());
    let mut lines = Peer::start(&mut home.adjutant(["inbox"]));
    let sentence = "Without an answer, “no” counts after 4 min on a screen.";
    while lines.line() != "  2  no  No" {}
    assert_eq!(lines.line(), format!("  {sentence}"));
    lines.close();
    let listed = home.run(["questions", "list", "--json"], "");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let question = &listed["items"][0]["question"];
    assert_eq!((&question["default"]["after"]["secs"], &question["seen_ms"]), (&240.into(), &0.into()));
    assert_eq!(question["default"]["answer"][0][1]["choices"][0], "no");
    let shown = home.run(["questions", "show", question["ticket"].as_str().unwrap()], "");
    assert!(shown.stdout.ends_with(&format!("\n\n{sentence}\n")), "{shown}");
}

#[test]
fn an_answer_that_can_be_undone_is_shown_with_the_time_left() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[questions]\nundo_milliseconds = 600000\n");
    let _hub = Serving::socket_hub(&home);
    let _asking = Script::start(&home, &DEPLOY);
    let terminal = inbox(&home);
    terminal.shows("Deploy to production?");
    let lines = Peer::start(&mut home.adjutant(["inbox"]));
    while lines.line() != "  2  no  No" {}
    let question = User::wait_for_question(&home, "Deploy to production?");
    User::connect(&home).choose(&question, "yes");
    let id = &question["ticket"].as_str().unwrap()[..7];
    terminal.shows("was answered in another terminal");
    let is_closed = |line: &str| {
        line.starts_with(&format!("CLOSED {id} was answered in another terminal, "))
            && line.ends_with(" s to undo")
    };
    let closed = lines.line();
    assert!(is_closed(&closed), "{closed}");
    for words in [&["questions", "list"][..], &["questions", "show", id]] {
        let shown = home.run(words, "");
        assert!(shown.stdout.contains("answered, ") && shown.stdout.contains(" s to undo\n"), "{shown}");
    }
    // An Inbox that is opened now shows it too, and undoes it.
    let undone = home.run(["inbox"], format!("{id} /undo\n"));
    assert!(undone.status.success() && undone.stdout.lines().any(is_closed), "{undone}");
    assert!(undone.stdout.ends_with(&format!("DONE {id} undone\n")), "{undone}");
    let again = lines.line();
    assert!(again.starts_with(&format!("QUESTION {id} ")), "{again}");
    terminal.wait("a pending question", |screen| !screen.contains("was answered"));
}

#[test]
fn a_snoozed_question_says_for_how_long() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let _asking = Script::start(&home, &DEPLOY);
    let question = User::wait_for_question(&home, "Deploy to production?");
    let id = &question["ticket"].as_str().unwrap()[..7];
    let done = home.run(["inbox"], format!("{id} /snooze 20\n"));
    assert!(done.stdout.contains(&format!("DONE {id} snoozed for 20 min, until 20")), "{done}");
    let shown = home.run(["inbox"], "");
    assert!(shown.stdout.contains(", snoozed for 20 min, 1 d 0 h left\n"), "{shown}");
}

#[test]
fn a_word_that_means_two_options_is_refused() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let options = ["--title", "How?", "--option", "Keep=keep", "--option", "Ask=ask", "--option", "Wipe=1"];
    let asking = Script::start(&home, &options);
    let mut lines = Peer::start(&mut home.adjutant(["inbox"]));
    let id = std::iter::repeat_with(|| lines.line())
        .find_map(|line| Some(line.strip_prefix("QUESTION ")?.split(' ').next()?.to_owned()))
        .unwrap();
    // The number of the first option, and the value of the third.
    lines.write(format!("{id} 1\n"));
    let refused = std::iter::repeat_with(|| lines.line()).find(|line| line.starts_with("REFUSED")).unwrap();
    assert_eq!(refused, "REFUSED `1` may mean several options: write =keep or =1");
    lines.write(format!("{id} =1\n"));
    assert_eq!(asking.finish().stdout, "1\n");
}

#[test]
fn a_passphrase_is_read_from_a_terminal_and_never_shown() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let refused = home.run(["passphrase"], "correct horse\ncorrect horse\n");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("typed on a terminal"), "{}", refused.stderr);
    let set = |keys: &[(&str, &str)], end: &str| {
        let mut terminal = Terminal::start(&home, &["passphrase"], 80, 12, &[]);
        for (prompt, typed) in keys {
            terminal.shows(prompt);
            terminal.send(&format!("{typed}\r"));
        }
        let screen = terminal.shows(end);
        assert!(!screen.contains("horse") && !screen.contains("staple"), "{screen}");
        terminal.exit_code()
    };
    let new = |repeated: &'static str| {
        [("New passphrase (at least 8 characters):", "correct horse"), ("Repeat the passphrase:", repeated)]
    };
    let mut proving = Terminal::start(&home, &["passphrase", "--prove"], 80, 24, &[]);
    proving.shows("no approval passphrase is set");
    assert_eq!(proving.exit_code(), 1);
    assert_eq!(set(&new("correct house"), "nothing was changed"), 1);
    assert_eq!(set(&new("correct horse"), "the approval passphrase is set"), 0);
    let changed = [
        ("Current passphrase:", "wrong horse"),
        ("New passphrase (at least 8 characters):", "battery staple"),
        ("Repeat the passphrase:", "battery staple"),
    ];
    // Nobody types a passphrase twice that is too short.
    let short =
        [("Current passphrase:", "correct horse"), ("New passphrase (at least 8 characters):", "hors")];
    assert_eq!(set(&short, "has between 8 and 1024 characters"), 1);
    assert_eq!(set(&changed, "wrong approval passphrase"), 1);

    // Over lines in a terminal, as with a screen reader, it is asked for; through a pipe it is rejected.
    let high = [&DEPLOY[..], &["--high"]].concat();
    let asking = Script::start(&home, &high);
    let mut lines = Terminal::start(&home, &["inbox", "--plain"], 100, 30, &[]);
    let screen = lines.shows("QUESTION q");
    assert!(!screen.contains("INBOX"), "it asks for the passphrase: {screen}");
    let piped = home.run(["inbox"], "");
    let needs =
        "INBOX an answer from here needs a proof: only the user may do this, and this terminal has not given";
    assert!(piped.stdout.starts_with(needs), "{piped}");
    let id = screen.split("QUESTION ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    lines.send(&format!("{id} yes\r"));
    lines.shows(&format!("PASSPHRASE {id} this question needs the approval passphrase"));
    lines.send("wrong horse\r");
    lines.shows("wrong approval passphrase");
    lines.send("correct horse\r");
    let screen = lines.shows(&format!("DONE {id} answered"));
    assert!(!screen.contains("horse"), "{screen}");
    assert_eq!(asking.finish().stdout, "yes\n");
}

#[test]
fn a_high_risk_question_without_a_passphrase_says_how_to_set_one_and_asks_for_none() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let _asking = Script::start(&home, &[&DEPLOY[..], &["--high"]].concat());
    let missing = "no approval passphrase is set, and nobody can answer this question without one";
    let mut screen = Terminal::start(&home, &["inbox"], 200, 30, &[]);
    screen.shows("Deploy to production?");
    screen.send("\r");
    screen.wait("the sentence with the command, and keys that count", |screen| {
        screen.contains(missing) && screen.contains("`adjutant passphrase`") && screen.contains("1-9 choose")
    });
    screen.wait("the end of the cooldown", |screen| !screen.contains("in a moment"));
    screen.send("1\r");
    let refused = screen.shows("! no approval passphrase is set");
    assert!(!refused.contains("to send this answer"), "{refused}");
    let mut lines = Terminal::start(&home, &["inbox", "--plain"], 250, 30, &[]);
    let shown = lines.shows(missing);
    let id = shown.split("QUESTION ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    lines.send(&format!("{id} yes\r"));
    let refused = lines.shows(&format!("REFUSED {id} {missing}"));
    assert!(!refused.contains("PASSPHRASE"), "{refused}");
    // An open Inbox learns that one was set.
    let mut setting = Terminal::start(&home, &["passphrase"], 80, 12, &[]);
    for prompt in ["New passphrase (at least 8 characters):", "Repeat the passphrase:"] {
        setting.shows(prompt);
        setting.send("correct horse\r");
    }
    assert_eq!(setting.exit_code(), 0);
    screen.shows("HIGH: an answer needs the approval passphrase");
    let mut lines = Terminal::start(&home, &["inbox", "--plain"], 250, 30, &[]);
    lines.shows("QUESTION ");
    lines.send(&format!("{id} yes\r"));
    lines.shows(&format!("PASSPHRASE {id} this question needs the approval passphrase"));
    screen.send("\r");
    screen.shows("The approval passphrase, to send this answer:");
}

#[test]
fn an_agent_cannot_answer_a_question_with_the_command_line() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    // The process that started the relay is this one, so its children count as an agent's.
    let mut agent = Peer::start(&mut home.adjutant(["connect", "popup"]));
    agent.initialize("2025-11-25");
    let refused = home.run(["inbox"], "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("only the user may do this"), "{}", refused.stderr);
}

/// A home whose hub notifies this phone.
fn home_with_phone(ntfy: &Ntfy, more: &str) -> Home {
    let home = Home::new();
    let phone =
        format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\nreply_topic = \"back\"\n{more}", ntfy.url());
    home.write(".adjutant/config.toml", phone);
    home
}

#[test]
fn a_phone_answers_once_and_a_replayed_nonce_is_rejected() {
    let ntfy = Ntfy::start();
    let home = home_with_phone(&ntfy, "");
    let _hub = Serving::socket_hub(&home);
    assert_eq!(ntfy.next_subscriber(), "/back/json");
    let asking = Script::start(&home, &DEPLOY);
    let notice = ntfy.next_notification();
    assert_eq!(notice["topic"], "bell");
    let title = format!("adjutant ask in {} asks: Deploy to production?", home.short_path());
    assert_eq!(notice["title"], title);
    assert!(!notice.to_string().contains("nobody is on call"), "the message stays here: {notice}");
    let actions = notice["actions"].as_array().unwrap();
    let labels: Vec<_> = actions.iter().map(|action| action["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["Yes, deploy now", "No"]);
    ntfy.post("/back", "0123456789abcdef0123456789abcdef");
    ntfy.press(&actions[0]);
    let finished = asking.finish();
    assert_eq!(finished.stdout, "yes\n", "{}", finished.stderr);

    // The same words ask a new question: neither the used nonce nor the other one answers it.
    let asking = Script::start(&home, &["--title", "And again?", "--option", "Yes=yes", "--option", "No=no"]);
    let repeated = ntfy.next_notification();
    ntfy.press(&actions[0]);
    ntfy.press(&actions[1]);
    ntfy.press(&repeated["actions"][1]);
    assert_eq!(asking.finish().stdout, "no\n");
}

#[test]
fn a_phone_approves_or_denies_a_permission_once() {
    let ntfy = Ntfy::start();
    let home = home_with_phone(&ntfy, "body = true\n");
    let _hub = Serving::socket_hub(&home);
    ntfy.next_subscriber();
    let event = serde_json::json!({
        "session_id": "s", "hook_event_name": "PermissionRequest", "cwd": home.path(), "tool_name": "Bash",
        "tool_input": {"command": "make all"},
    });
    let mut used = None;
    for (button, behavior) in [(0, "allow"), (1, "deny")] {
        let decided = std::thread::scope(|scope| {
            let hook = scope.spawn(|| home.run(["hook", "claude"], event.to_string()));
            let notice = ntfy.next_notification();
            let title = notice["title"].as_str().unwrap();
            assert!(title.ends_with("Claude Code wants to run a command"), "{notice}");
            let message = notice["message"].as_str().unwrap();
            let folder = home.path().canonicalize().unwrap().display().to_string();
            assert!(message.contains("make all") && message.contains(&folder), "{notice}");
            let actions = notice["actions"].as_array().unwrap();
            let labels: Vec<_> = actions.iter().map(|action| action["label"].as_str().unwrap()).collect();
            assert_eq!(labels, ["Approve", "Deny"]);
            // A button is good once.
            if let Some(used) = &used {
                ntfy.press(used);
            }
            ntfy.press(&actions[button]);
            used = Some(actions[button].clone());
            hook.join().unwrap()
        });
        assert_eq!(decided.lines()[0]["hookSpecificOutput"]["decision"]["behavior"], behavior, "{decided}");
    }
}

#[test]
fn a_phone_without_bodies_learns_of_a_permission_and_cannot_answer_it() {
    let ntfy = Ntfy::start();
    let home = home_with_phone(&ntfy, "[permissions]\nwait_seconds = 3\n");
    let _hub = Serving::socket_hub(&home);
    ntfy.next_subscriber();
    let event = serde_json::json!({
        "session_id": "s", "hook_event_name": "PermissionRequest", "cwd": home.path(), "tool_name": "Bash",
        "tool_input": {"command": "make all"},
    });
    let decided = std::thread::scope(|scope| {
        let hook = scope.spawn(|| home.run(["hook", "claude"], event.to_string()));
        let notice = ntfy.next_notification();
        assert!(
            notice["title"].as_str().unwrap().ends_with("Claude Code wants to run a command"),
            "{notice}"
        );
        assert_eq!(notice["actions"], serde_json::json!([]));
        assert!(!notice.to_string().contains("make all"), "{notice}");
        hook.join().unwrap()
    });
    assert_eq!(decided.stdout, "", "the client asks by itself");
}

#[test]
fn high_risk_and_long_questions_have_no_buttons_on_the_phone() {
    let ntfy = Ntfy::start();
    let home = home_with_phone(&ntfy, "body = true\n");
    let _hub = Serving::socket_hub(&home);
    ntfy.next_subscriber();
    let high = [&DEPLOY[..], &["--high"]].concat();
    let _high = Script::start(&home, &high);
    let notice = ntfy.next_notification();
    assert_eq!(notice["actions"], serde_json::json!([]));
    assert_eq!(notice["priority"], 5);
    assert!(notice["message"].as_str().unwrap().contains("nobody is on call"), "{notice}");
    let _many = Script::start(
        &home,
        &["--title", "Which?", "--option", "a", "--option", "b", "--option", "c", "--option", "d"],
    );
    assert_eq!(ntfy.next_notification()["actions"], serde_json::json!([]));
}

#[test]
fn no_phone_notification_is_sent_over_clear_text_http() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[ntfy]\nserver = \"http://ntfy.example\"\ntopic = \"bell\"\n");
    let refused = home.run(["serve", "--http", "off"], "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("`server` must begin with https://"), "{}", refused.stderr);
}

/// Runs git as a fixed author at a fixed time.
pub(crate) fn git(folder: &std::path::Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=you",
        "-c",
        "user.email=you@example.org",
        "-c",
        "init.defaultBranch=release",
    ]);
    command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_AUTHOR_DATE", "1800000000 +0000").env("GIT_COMMITTER_DATE", "1800000000 +0000");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_workspace_line_of_a_question_comes_from_git_and_not_from_the_agent() {
    let home = Home::new();
    let shop = home.write("shop/deploy.toml", "replicas = 2\n");
    let shop = shop.parent().unwrap();
    git(shop, &["init", "-q"]);
    git(shop, &["add", "."]);
    git(shop, &["commit", "-q", "-m", "first"]);
    home.write("shop/deploy.toml", "replicas = 4\n");
    home.write("shop/notes.md", "remember\n");
    let _hub = Serving::socket_hub(&home);
    let mut command = home.adjutant(["ask"]);
    command.args(DEPLOY).current_dir(shop).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let _asking = Script(Some(command.spawn().unwrap()));
    let mut terminal = inbox(&home);
    terminal.shows("shop (release)");
    open(&mut terminal);
    terminal.send("1");
    terminal.shows("1 (•) Yes, deploy now");
    let screen = terminal.screen();
    let joined = text(&screen).replace('\n', " ");
    assert!(joined.contains("branch release at "), "{joined}");
    assert!(joined.contains("2 files changed, +1 −1 lines (changed deploy.toml, new notes.md)"), "{joined}");
}

/// The Inbox with the questions of the demo at the sizes of a small and a large window, in a dark and a light terminal. The
/// pictures are those of the documentation.
#[test]
fn the_inbox_fits_a_small_and_a_large_terminal_in_light_and_dark() {
    let home = Home::new();
    let _hub = Serving::demo_hub(&home);
    let real = home.path().to_str().unwrap();
    for (columns, rows) in [(80, 24), (200, 50)] {
        let mut terminal = Terminal::start(&home, &["inbox", "--no-start"], columns, rows, &[]);
        let list = terminal.wait("the whole list", |screen| {
            screen.contains("4 questions") && screen.contains("Allow: npm publish")
        });
        assert!(list.lines().all(|line| line.chars().count() <= usize::from(columns)), "{list}");
        terminal.send("3");
        let question = terminal.wait("the question with its options and keys", |screen| {
            screen.contains("After the discount") && screen.contains("Enter sends")
        });
        assert!(question.contains("@@ -41,7 +41,7 @@"), "the diff is shown: {question}");
        // A large window has the list next to the question.
        assert_eq!(question.contains("Drop the table orders_2019"), columns >= 120, "{question}");
        for look in [Look::Dark, Look::Light] {
            let picture = svg_as(look, &terminal.screen(), "A question in the terminal", &[(real, "~")]);
            assert_eq!(picture.contains("fill=\"#ffffff\""), look == Look::Light);
            if let Some(folder) = std::env::var_os("ADJUTANT_SCREENSHOTS") {
                let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
                let name = if look == Look::Dark { "dark" } else { "light" };
                std::fs::write(folder.join(format!("inbox-{columns}x{rows}-{name}.svg")), picture).unwrap();
            }
        }
        terminal.send("\u{1b}\u{1b}q");
    }
}
