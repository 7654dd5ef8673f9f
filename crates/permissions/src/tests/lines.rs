//! A corpus of shell lines: no rule allows more than its words say.

mod corpus;

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use crate::command::{Line, parse};
use corpus::{ALLOWED, ASKED};

/// The allowing rules of the corpus.
const RULES: &[&str] = &[
    "git status",
    "cargo test *",
    "echo *",
    "wc -l",
    "cd src",
    "env git status",
    "/usr/bin/env git status",
    "xargs git status",
    "sh -c 'git status'",
];

/// Reads lines, prints the words of each command that bash would start, and starts none: no program is on the path. A line
/// feed is another sign, because bash writes a text with one in two parts.
const PRINT_COMMANDS: &str = r#"
    show() { printf '%s\0' "${@//$'\n'/␤}" END >&3; }
    command_not_found_handle() { show "$@"; }
    for word in cd command echo pwd; do eval "$word() { show $word \"\$@\"; }"; done
    exec 3>&1 >/dev/null
    while IFS= read -r -d '' line; do
        ( eval "$line" ) </dev/null
        printf 'LINE\0' >&3
    done
"#;

/// Parts of lines, with `¦` between them. A shell may read each in its own way.
const PARTS: &str = "git¦status¦echo¦a¦b¦'¦'¦'¦\"¦\"¦\"¦ ¦ ¦ ¦\t¦\n¦\n¦;¦&&¦||¦|¦&¦\\¦$¦`¦(¦)¦{¦}¦<¦>¦=¦#¦!¦*¦?¦~¦[¦]¦^¦%\
    ¦,¦-¦+¦:¦@¦x=1 ¦é¦\r¦git ¦status ¦echo ¦a ¦b ¦git status¦git ¦echo ¦a ¦; ¦ && ¦ | ¦'a b' ¦\"a b\" ¦'$a'¦',;|'¦\"&\n\"";

fn rules() -> Rules {
    Rules::new(RULES.iter().map(|text| {
        let mut rule = Rule::new(text, Verdict::Allow);
        rule.command = Rule::words(text);
        rule
    }))
}

#[test]
fn lines_of_allowed_commands_are_allowed_and_all_others_asked() {
    assert!(ALLOWED.len() + ASKED.len() >= 200);
    let rules = rules();
    for (lines, expected) in [(ALLOWED, Verdict::Allow), (ASKED, Verdict::Ask)] {
        for line in lines {
            assert_eq!(rules.decide(&shell(line), NOW).verdict, expected, "{line:?}");
        }
    }
}

/// Returns lines of random parts that are understood; the same ones in each run.
fn random_lines() -> Vec<String> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % bound
    };
    let parts: Vec<&str> = PARTS.split('¦').collect();
    let mut line = || (0..=next(12)).map(|_| parts[next(parts.len())]).collect::<String>();
    let mut lines = std::iter::repeat_with(&mut line).take(200_000);
    let understood: Vec<String> = lines.by_ref().filter(|line| parse(line).is_some()).take(3_000).collect();
    assert!(understood.len() > 1_000, "{} lines are understood", understood.len());
    understood
}

#[test]
#[expect(clippy::disallowed_methods, reason = "bash is the judge, and starts nothing")]
fn bash_reads_the_same_words_in_every_line_that_is_understood() {
    let random = random_lines();
    let all = ALLOWED.iter().chain(ASKED).copied().chain(random.iter().map(String::as_str));
    let expected = all.filter_map(|line| {
        let Line { folder, mut commands } = parse(line)?;
        commands.extend(folder.map(|folder| vec!["cd".to_owned(), folder]));
        // bash would start a program with a path, and NUL ends a line here.
        let is_safe = !line.contains('\0') && commands.iter().all(|words| !words[0].contains('/'));
        is_safe.then_some((line, commands))
    });
    let expected: Vec<(&str, Vec<Vec<String>>)> = expected.collect();
    let lines: String = expected.iter().flat_map(|(line, _)| [*line, "\0"]).collect();
    let mut bash = Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", PRINT_COMMANDS])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = bash.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = bash.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let runs: Vec<&str> = text.split_terminator("LINE\0").collect();
    assert_eq!(runs.len(), expected.len());
    for ((line, commands), run) in expected.iter().zip(runs) {
        let words: Vec<&str> = run.split_terminator('\0').collect();
        // The commands of a pipe run at once, and a failure may end a list; none that runs is missing here.
        for seen in words.split(|word| *word == "END").filter(|words| !words.is_empty()) {
            let is_expected = |words: &Vec<String>| {
                words.iter().map(|word| word.replace('\n', "␤")).eq(seen.iter().copied())
            };
            assert!(commands.iter().any(is_expected), "{line:?} also runs {seen:?}");
        }
    }
}

#[test]
fn a_denied_command_is_found_in_any_line_that_seems_to_hold_it() {
    let rules =
        Rules::new([command(Verdict::Deny, "git push --force"), command(Verdict::Allow, "git push *")]);
    for (line, expected) in [
        ("git push --force", Verdict::Deny),
        ("git push origin main --force", Verdict::Deny),
        ("git -C /x push --force", Verdict::Deny),
        ("/usr/bin/git push --force", Verdict::Deny),
        ("cd x && git push --force", Verdict::Deny),
        ("sudo git push --force", Verdict::Deny),
        ("sh -c 'git push --force'", Verdict::Deny),
        ("echo $(git push --force)", Verdict::Deny),
        ("git pu'sh' \"--force\"", Verdict::Deny),
        ("git \\\npush --force", Verdict::Deny),
        ("git push", Verdict::Allow),
        ("git push origin", Verdict::Allow),
        ("git status; npm push --force", Verdict::Ask),
    ] {
        assert_eq!(rules.decide(&shell(line), NOW).verdict, expected, "{line:?}");
    }
}
