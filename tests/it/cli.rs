//! The command line as a whole: help, examples, completions, the manual, colours, widths, and `adjutant` alone.

mod agents;
mod prompts;
mod tasks;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::serving::Serving;
use crate::support::terminal::Terminal;
use crate::support::{Home, wait_for};

/// Longest line of help, at any width of the terminal.
const MAX_HELP_COLUMNS: usize = 100;

/// A visible command, and its whole help.
pub(crate) struct Page {
    /// `adjutant prompts list`
    pub(crate) command: String,
    pub(crate) help: String,
}

/// Reads the help of every visible command, from the top as a user does.
pub(crate) fn pages() -> Vec<Page> {
    fn walk(home: &Home, path: &[String], found: &mut Vec<Page>) {
        let words = path.iter().map(String::as_str).chain(["--help"]);
        let output = home.run(words, "");
        assert!(output.status.success(), "{path:?}: {}", output.stderr);
        let command = ["adjutant"].into_iter().chain(path.iter().map(String::as_str));
        found.push(Page { command: command.collect::<Vec<_>>().join(" "), help: output.stdout.clone() });
        let below =
            output.stdout.lines().skip_while(|line| !["Commands:", "Toolsets:"].contains(line)).skip(1);
        for line in below.take_while(|line| !line.is_empty()) {
            let name = line.strip_prefix("  ").and_then(|line| line.split("  ").next()).unwrap_or_default();
            if !name.is_empty() && name != "help" {
                walk(home, &[path, &[name.to_owned()]].concat(), found);
            }
        }
    }
    let mut found = Vec::new();
    walk(&Home::new(), &[], &mut found);
    found
}

#[test]
fn every_help_page_fits_the_screen_has_an_example_and_is_in_the_reference() {
    let pages = pages();
    assert!(pages.len() > 50, "only {} commands were found", pages.len());
    for Page { command, help } in &pages {
        for line in help.lines() {
            assert!(line.chars().count() <= MAX_HELP_COLUMNS, "{command}: {line}");
        }
        let examples = help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
        assert!(examples.lines().any(|line| line.starts_with(&format!("  {command}"))), "{command}\n{help}");
    }
    let mut text = String::from(
        "# The command line\n\nEvery command with its help, as the program prints it. A test writes this page: change \
         the words in `src/cli`, then\nrun it with `INSTA_UPDATE=always`.\n",
    );
    for Page { command, help } in &pages {
        text.push_str(&format!("\n## {command}\n\n```text\n{}\n```\n", help.trim_end()));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "docs/cli.md is out of date: run this test with INSTA_UPDATE=always");
}

/// A command with commands below it is where a user looks around: its help needs no scrolling. The program itself and
/// `codex` have more commands than the screen has rows: each has one row.
#[test]
fn the_help_of_a_group_fits_a_screen_of_80_columns_and_24_rows() {
    let home = Home::new();
    let mut groups = 0;
    for page in pages() {
        let is_group = page.help.lines().any(|line| ["Commands:", "Toolsets:"].contains(&line));
        let words: Vec<&str> = page.command.split(' ').skip(1).collect();
        if !is_group {
            continue;
        }
        groups += 1;
        let limit = match words[..] {
            [] => 61,
            ["codex"] => 53,
            _ => 24,
        };
        let output = home.adjutant(words).arg("--help").env("COLUMNS", "80").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let rows = help.trim_end().lines().count();
        assert!(rows <= limit, "{rows} lines:\n{help}");
    }
    assert!(groups > 10, "only {groups} groups were found");
}

#[test]
fn examples_with_bundled_prompts_work() {
    let home = Home::new();
    let mut found = 0;
    for page in pages().into_iter().filter(|page| page.command.starts_with("adjutant prompts ")) {
        let examples = page.help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
        let lines = examples.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        for line in lines.filter(|line| line.contains(" expand ") || line.contains(" show ")) {
            let words = line.split(' ').skip(1).filter(|word| !word.contains('"'));
            let output = home.run(words, "a text");
            assert!(output.status.success() && !output.stdout.is_empty(), "{line}\n{output}");
            found += 1;
        }
    }
    assert_eq!(found, 4);
}

#[test]
fn examples_show_ids_in_their_real_form() {
    let home = Home::new();
    let run = |words: &[&str]| {
        let output = home.run(words, "");
        assert!(output.status.success(), "{words:?}\n{output}");
        output.stdout
    };
    let calendar = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example//EN\nBEGIN:VEVENT\nUID:tides@example.org\n\
        DTSTAMP:20260101T000000Z\nDTSTART:20260101T100000Z\nDTEND:20260101T110000Z\nRRULE:FREQ=DAILY\n\
        SUMMARY:Tides\nEND:VEVENT\nEND:VCALENDAR\n";
    home.write("calendar.ics", calendar);
    run(&["users", "add", "Ann", "--id", "ann"]);
    let rule = run(&["users", "rule", "ann", "vip_organizer", "organizer=bob"]);
    for term in ["organiser=bob", "minutes=5", "organizer="] {
        let refused = home.run(["users", "rule", "ann", "vip_organizer", term], "");
        assert!(refused.stderr.contains("takes `organizer` and nothing else"), "{term}: {refused}");
    }
    run(&["events", "import", "ann", "calendar.ics"]);
    run(&["notifications", "plan", "ann"]);
    let first = |noun: &str| {
        let listed: Value = serde_json::from_str(&run(&[noun, "list", "--json"])).unwrap();
        listed["items"][0]["id"].as_str().unwrap().to_owned()
    };
    let (event, notification) = (first("events"), first("notifications"));
    for (command, given) in [
        ("users rule", rule.trim()),
        ("events show", &event),
        ("notifications show", &notification),
        ("notifications retry", &notification),
        ("notifications resolve", &notification),
        ("notifications acknowledge", &notification),
    ] {
        let help = run(&[command.split(' ').collect::<Vec<_>>(), vec!["--help"]].concat());
        let kind = given.split_once('-').unwrap().0;
        let examples = help.split_once("\nExamples:\n").unwrap().1;
        let shown = examples.split_whitespace().find(|word| word.starts_with(&format!("{kind}-")));
        assert_eq!(shown.map(str::len), Some(given.len()), "{given}\n{examples}");
    }
    let closed = home.run(["users", "rule", "ann", "--remove", "rule-0"], "");
    assert!(closed.stderr.contains("hint: `adjutant users show USER`"), "{closed}");
}

/// Returns what bash proposes for the last word of `line`, and what it writes into the line.
fn completions(home: &Home, script: &Path, line: &str) -> (Vec<String>, String) {
    let words: Vec<&str> = line.split(' ').collect();
    let (last, before) = (words.len() - 1, words[words.len() - 2]);
    let program = format!(
        "source {script}; COMP_WORDS=({words}); COMP_CWORD={last}; COMP_LINE={line:?}; COMP_POINT={point}; \
         _clap_complete_adjutant adjutant {word:?} {before:?}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script = script.display(),
        words = words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" "),
        point = line.len(),
        word = words[last],
    );
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &program])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", home.path().join("bin").display()))
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout).lines().map(str::to_owned).collect(), text(output.stderr))
}

#[test]
fn bash_completes_commands_options_values_and_names() {
    let home = Home::new();
    let script = home.write("completions.bash", home.run(["completions", "bash"], "").stdout);
    // Without the program, nothing is written into the user's line.
    assert_eq!(completions(&home, &script, "adjutant prom"), (vec![String::new()], String::new()));
    std::fs::create_dir(home.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), home.path().join("bin/adjutant")).unwrap();
    let proposed = |line: &str| {
        let (words, errors) = completions(&home, &script, line);
        assert_eq!(errors, "", "{line}");
        words
    };
    assert_eq!(proposed("adjutant prom"), ["prompts"]);
    assert_eq!(proposed("adjutant tasks l"), ["list", "logs"]);
    assert_eq!(proposed("adjutant tasks list --sta"), ["--state"]);
    assert_eq!(proposed("adjutant tasks list --state run"), ["running"]);
    assert_eq!(proposed("adjutant completions f"), ["fish"]);
    // Hidden commands stay hidden.
    assert_eq!(proposed("adjutant super"), [""]);
    // A home without a database gets none.
    assert!(proposed("adjutant tasks show ").iter().all(|word| word.starts_with("--")));
    assert!(!home.path().join(".adjutant").exists(), "a completion made a home");

    home.write(".adjutant/prompts/team/review.md", "Review.\n");
    home.write(".adjutant/agents/porter.yaml", "description: d\npersona: p\n");
    assert!(home.run(["users", "add", "Ann", "--id", "ann"], "").status.success());
    assert_eq!(proposed("adjutant prompts show team"), ["team/review"]);
    assert_eq!(proposed("adjutant prompts export out team"), ["team/review"]);
    assert_eq!(proposed("adjutant delegate por"), ["porter"]);
    assert_eq!(proposed("adjutant agents show por"), ["porter"]);
    assert_eq!(proposed("adjutant users show a"), ["ann"]);
    assert_eq!(proposed("adjutant events list --user a"), ["ann"]);
    // A bundled prompt is no file that can be edited.
    assert_eq!(proposed("adjutant prompts show resear"), ["research"]);
    assert!(!proposed("adjutant prompts edit resear").contains(&"research".to_owned()));
    // A project chooses the names of its files, and bash would run what is in them.
    home.write(".adjutant/prompts/zz$(touch made).md", "Evil.\n");
    assert_eq!(proposed("adjutant prompts show zz"), ["zz\\$\\(touch\\ made\\)"]);
    home.write("yy`touch made`.ics", "");
    assert_eq!(proposed("adjutant events import ann yy"), ["yy\\`touch\\ made\\`.ics"]);
    // The home of the line counts.
    home.write("other/prompts/away.md", "Away.\n");
    assert_eq!(proposed("adjutant prompts show --home other awa"), ["away"]);
    // A new name cannot be completed, and a file that is not a database is no reason for an error.
    assert!(!proposed("adjutant prompts new te").contains(&"team/review".to_owned()));
    home.write("broken/adjutant.db", "not a database");
    assert_eq!(proposed("adjutant users show --home broken a"), [""]);
    for (shell, part) in
        [("zsh", "2>/dev/null"), ("fish", "2>/dev/null)"), ("elvish", "adjutant"), ("powershell", "adjutant")]
    {
        let output = home.run(["completions", shell], "");
        assert!(output.status.success() && output.stdout.contains(part), "{shell}: {output}");
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let home = Home::new();
    let output = home.run(["man", "man/man1"], "");
    assert!(output.status.success(), "{}", output.stderr);
    let folder = home.path().join("man/man1");
    for Page { command, .. } in pages() {
        let file = folder.join(format!("{}.1", command.replace(' ', "-")));
        let page =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(page.contains(&format!("{} \\- ", command.replace([' ', '-'], "\\-"))), "{page}");
        assert!(page.contains("Examples:"), "{page}");
    }
    assert!(!folder.join("adjutant-supervise.1").exists());
    home.write("a-file", "");
    let output = home.run(["man", "a-file/man1"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.contains("\nhint: name a folder"), "{}", output.stderr);
}

/// Runs a command in a terminal to its end; returns its text, and whether any of it is coloured or bold.
fn run_in_terminal(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> (String, bool) {
    let mut terminal = Terminal::start(home, words, 100, 50, variables);
    terminal.exit_code();
    let screen = terminal.wait("something", |screen| !screen.is_empty());
    let now = terminal.screen();
    let (rows, columns) = now.size();
    let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
    let styled = |(row, column)| {
        let cell = now.cell(row, column).unwrap();
        cell.fgcolor() != vt100::Color::Default || cell.bold() || cell.underline()
    };
    (screen, { cells }.any(styled))
}

#[test]
fn terminal_output_has_colour_unless_the_user_turns_it_off() {
    let home = Home::new();
    for words in [&["prompts", "show", "nothing"][..], &["--help"], &["prompts", "list"]] {
        let (text, styled) = run_in_terminal(&home, words, &[]);
        assert!(styled, "{words:?} is plain:\n{text}");
        for variable in [
            ("NO_COLOR", "1"),
            ("TERM", "dumb"),
            ("TERM", ""),
            ("FORCE_COLOR", "0"),
            ("FORCE_COLOR", "false"),
            ("CLICOLOR", "0"),
        ] {
            let (text, styled) = run_in_terminal(&home, words, &[variable]);
            assert!(!styled, "{words:?} has colours with {variable:?}:\n{text}");
        }
        let piped = |variables: &[(&str, &str)]| {
            let output = home.adjutant(words).envs(variables.iter().copied()).output().unwrap();
            [output.stdout, output.stderr].concat().contains(&0x1b)
        };
        assert!(!piped(&[]), "{words:?}");
        for variable in [("FORCE_COLOR", "1"), ("FORCE_COLOR", "true"), ("CLICOLOR_FORCE", "1")] {
            assert!(piped(&[variable, ("TERM", "dumb")]), "{words:?} is plain with {variable:?}");
            assert!(!piped(&[variable, ("NO_COLOR", "1")]), "{words:?} has colours with {variable:?}");
        }
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let home = Home::new();
    for words in
        [&["--help"][..], &["--version"], &["prompts", "--help"], &["prompts", "list"], &["status", "-h"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = home.adjutant(words).stdout(full).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {text}");
        assert!(text.contains("error: cannot write to stdout: No space left"), "{words:?}: {text}");
    }
}

#[test]
fn control_characters_in_files_do_not_reach_the_terminal() {
    let home = Home::new();
    home.write(".adjutant/prompts/loud.md", "Be \u{1b}[31mred about {{input}}.\n");
    home.write(".adjutant/agents/loud.yaml", "# \u{202e}\ndescription: x\npersona: z\n");
    for (words, hidden, visible) in [
        (&["prompts", "expand", "loud", "tides"][..], "\u{1b}[31m", "Be ⟨U+001B⟩[31mred about tides."),
        (&["prompts", "show", "loud", "--source"], "\u{1b}[31m", "Be ⟨U+001B⟩[31mred about {{input}}."),
        (&["agents", "show", "loud", "--source"], "\u{202e}", "# ⟨U+202E⟩"),
    ] {
        Terminal::start(&home, words, 100, 50, &[]).shows(visible);
        // A program gets the bytes of the file.
        assert!(home.run(words, "").stdout.contains(hidden), "{words:?}");
    }
}

#[test]
fn quiet_prints_data_and_errors_only_and_verbose_adds_details() {
    let home = Home::new();
    let words = ["prompts", "list", "zzz"];
    assert_eq!(home.run(words, "").stderr, "no prompt matches `zzz`\n");
    assert_eq!(home.run(["--quiet"].iter().chain(&words), "").stderr, "");
    let output = home.run(["prompts", "show", "zzz", "-q"], "");
    assert!(output.stderr.starts_with("error: unknown prompt `zzz`\nhint: "), "{}", output.stderr);
    let both = home.run(["status", "-q", "-v"], "");
    assert_eq!(both.status.code(), Some(2), "{}", both.stderr);
}

#[test]
fn tables_fit_narrow_screens_and_use_wide_ones() {
    let home = Home::new();
    home.write(
        ".adjutant/prompts/team/a-rather-long-name-of-a-prompt.md",
        "---\ndescription: A description of what this prompt is for which goes on for quite a while, as they do.\n---\nX\n",
    );
    let list = |columns: &str| {
        let output = home.adjutant(["prompts", "list", "--all"]).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let narrow = list("60");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("team/a-rather-long-name-of-a-prompt"), "{narrow}");
    let wide = list("200");
    assert!(wide.contains("quite a while, as they do."), "{wide}");
    assert!(wide.lines().any(|line| line.chars().count() > 100), "{wide}");
    assert_eq!(
        wide.lines().count(),
        1 + home.run(["prompts", "list", "--all"], "").stdout.lines().skip(1).count()
    );
}

#[test]
fn adjutant_without_a_command_shows_the_state_and_three_next_steps() {
    let home = Home::new();
    let alone = || home.run([""; 0], "");
    let steps = |text: &str| -> Vec<String> {
        let steps = text.lines().skip_while(|line| *line != "Next:").skip(1);
        let commands = steps.take_while(|line| !line.is_empty());
        commands.map(|line| line.trim_start().split("  ").next().unwrap().to_owned()).collect()
    };
    let answer = alone();
    assert!(answer.status.success());
    assert_eq!(answer.stderr, "");
    assert!(answer.stdout.starts_with("adjutant 0."), "{}", answer.stdout);
    assert!(answer.stdout.contains("no hub runs"), "{}", answer.stdout);
    let first = steps(&answer.stdout);
    assert_eq!(first.len(), 3, "{}", answer.stdout);
    assert_eq!(first[0], "adjutant serve --background --open");
    assert!(!home.path().join(".adjutant").exists(), "looking made a home");
    // Each step is an existing command.
    for step in &first {
        let words = step.split(' ').skip(1).filter(|word| !word.starts_with('-')).take(2);
        assert!(home.run(words.chain(["--help"]), "").status.success(), "{step}");
    }
    home.write(".adjutant/prompts/mine.md", "Mine.\n");
    home.write(".adjutant/agents/mine.yaml", "description: x\npersona: y\n");
    let later = steps(&alone().stdout);
    assert_ne!(first, later);
    assert_eq!(later.len(), 3);
}

/// Posts a question for the user to a hub, and does not wait.
fn post_question(hub: &Serving, path: &str, id: &str, title: &str) {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "triggerPopup", "params": {
        "title": title,
        "message": "Now, or **later**?",
        "options": [{"label": "Yes, now", "value": "yes"}, {"label": "No", "value": "no"}],
    }});
    let answer = hub.post(path, &request.to_string());
    assert!(answer.contains("202"), "{answer}");
}

#[test]
fn pending_questions_are_counted_listed_and_shown() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[questions]\nundo_milliseconds = 0\n");
    let hub = Serving::open_hub(&home);
    let run = |words: &[&str]| home.run(words, "");
    assert_eq!(
        run(&["questions", "list"]).stderr,
        "there are no pending questions; --decided shows decided questions\n"
    );
    assert!(!run(&[]).stdout.contains("waiting"));
    post_question(&hub, "/mcp/popup?client=script", "a", "Deploy to production?");
    post_question(&hub, "/mcp/popup", "b", "Which branch shall it be, of the many that there are?");
    let output = run(&[]).stdout;
    assert!(output.contains("\nwaiting for you: 2 questions\n\nNext:\n  adjutant inbox "), "{output}");
    assert!(run(&["status"]).stdout.contains("\npending  2 questions\n"));
    let listed = run(&["questions", "list"]);
    assert!(listed.stdout.starts_with("ID       QUESTION") && listed.stdout.lines().count() == 3, "{listed}");
    assert!(listed.stdout.contains(" left\n"), "{listed}");
    assert!(
        listed.stdout.contains("script") && listed.stdout.contains("an agent without a name"),
        "{listed}"
    );
    let item = run(&["questions", "list", "BRANCH", "--json"]);
    let item: Value = serde_json::from_str(&item.stdout).unwrap();
    assert_eq!((item["total"].as_u64(), item["items"].as_array().unwrap().len()), (Some(1), 1));
    let ticket = item["items"][0]["question"]["ticket"].as_str().unwrap().to_owned();
    let shown = run(&["questions", "show", &ticket[..7]]);
    for part in
        [&format!("question  {ticket}"), "state     pending, ", "Now, or **later**?", "  Yes, now  (yes)"]
    {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    let answered = home.run(["inbox", "--plain"], format!("{ticket} yes\n"));
    assert!(answered.status.success(), "{answered}");
    let decided = run(&["questions", "list", "--decided"]);
    assert!(decided.stdout.contains("answered ") && !decided.stdout.contains("Deploy"), "{decided}");
    let shown = run(&["questions", "show", &ticket]);
    assert!(shown.stdout.contains("decided   by user through terminal\nanswer    yes\n"), "{shown}");
    let unknown = run(&["questions", "show", "qqqq"]);
    assert!(unknown.stderr.starts_with("error: unknown question `qqqq`\nhint: "), "{unknown}");
}

#[test]
fn more_pending_questions_than_one_read_are_all_listed() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[questions]\npending_per_client = 400\n");
    let hub = Serving::open_hub(&home);
    for number in 1..=301 {
        post_question(&hub, "/mcp/popup", &number.to_string(), &format!("Question {number} of many"));
    }
    let listed = |words: &[&str]| {
        let output = home.run([&["questions", "list", "--json"], words].concat(), "");
        serde_json::from_str::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{output}"))
    };
    wait_for("the last question", || (listed(&[])["total"] == 301).then_some(()));
    let found = listed(&["301"]);
    assert_eq!((&found["total"], found["items"].as_array().unwrap().len()), (&1.into(), 1));
    let ticket = found["items"][0]["question"]["ticket"].as_str().unwrap();
    let shown = home.run(["questions", "show", &ticket[..7]], "");
    assert!(shown.stdout.contains("Question 301 of many"), "{shown}");
    let page = hub.page("/find?q=question+301");
    assert!(page.contains("<mark>Question</mark> <mark>301</mark> of many"), "{page}");
    let all = home.run(["questions", "list", "--limit", "1000"], "");
    assert_eq!(all.stdout.lines().count(), 302, "{all}");
    let some = home.run(["questions", "list"], "");
    assert!(some.stderr.starts_with("note: these are 30 of 301; --limit shows more\n"), "{some}");
    let lines = home.run(["inbox"], "");
    assert_eq!(lines.stdout.lines().filter(|line| line.starts_with("QUESTION ")).count(), 301);
    // In a terminal the hub is also notified that each of them is shown.
    let mut lines = Terminal::start(&home, &["inbox", "--plain"], 100, 30, &[]);
    lines.shows("Question 301 of many");
    lines.send(&format!("{} /snooze\r", &ticket[..7]));
    lines.shows("snoozed for");
}

#[test]
fn availability_is_shown_and_changed() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let run = |words: &[&str]| home.run([&["availability"], words].concat(), "");
    assert_eq!(run(&[]).stdout, "here\n");
    assert!(run(&["do-not-disturb", "--minutes", "90"]).status.success());
    assert!(run(&[]).stdout.starts_with("do-not-disturb until 20"));
    let output: Value = serde_json::from_str(&run(&["--json"]).stdout).unwrap();
    assert_eq!(output["state"], "do_not_disturb");
    assert!(output["until"].as_str().unwrap().ends_with('Z'), "{output}");
    assert!(run(&["here"]).status.success());
    assert_eq!(run(&[]).stdout, "here\n");
    assert_eq!(run(&["--minutes", "5"]).status.code(), Some(2));
}

#[test]
fn assistant_users_are_shown_as_text() {
    let home = Home::new();
    assert!(home.run(["users", "add", "Ann", "--id", "ann", "--quiet-hours", "none"], "").status.success());
    let shown = home.run(["users", "show", "ann"], "").stdout;
    for line in ["  email                none\n", "  quiet_start          none\n", "popup, email, call\n"] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    assert!(!shown.contains("null") && !shown.contains('['), "{shown}");
}

#[test]
fn a_terminal_explains_a_printed_value_and_a_pipe_gets_it_alone() {
    let home = Home::new();
    for (words, explained) in [
        (&["users", "add", "Ann", "--id", "ann"][..], "this is the id of Ann, which other commands take"),
        (&["tokens", "add", "laptop"], "this is the token, which is not shown again"),
    ] {
        let (shown, _) = run_in_terminal(&home, words, &[]);
        assert!(shown.contains(explained), "{shown}");
    }
    let piped = home.run(["users", "add", "Bob", "--id", "bob"], "");
    assert_eq!(piped.stdout, "bob\n", "{piped}");
    let piped = home.run(["tokens", "add", "desktop"], "");
    assert_eq!(piped.stdout.split_whitespace().count(), 1, "{piped}");
}

#[test]
fn every_error_has_a_hint() {
    let home = Home::new();
    home.write("file", "x");
    let lines = [
        "prompts show nothing",
        "prompts expand nothing",
        "prompts lint nowhere",
        "prompts import nowhere",
        "prompts new /",
        "prompts list --prompts-dir nowhere",
        "agents show nothing",
        "agents new Ä",
        "agents trust nothing",
        "agents import nowhere",
        "delegate nobody task",
        "delegate nobody task --workdir nowhere",
        "tasks show ffff",
        "tasks wait ffff",
        "tasks cancel ffff",
        "tasks logs ffff",
        "questions show ffff",
        "users show nobody",
        "users rule nobody vip_organizer organizer=bob",
        "events show nothing",
        "events import nobody nowhere.ics",
        "events export nobody",
        "notifications show nothing",
        "notifications retry nothing",
        "notifications plan nobody",
        "codex show nothing",
        "codex approve nothing",
        "codex steer nothing words",
        "codex interrupt nothing",
        "codex prompt --cwd nowhere --plain",
        "log show nothing",
        "log replay nowhere",
        "tap --output file -- true",
        "tap -- /nowhere/server",
        "install --link zed",
        "passphrase",
        "connect --no-start --home elsewhere",
        "status --home elsewhere",
        "open --home elsewhere",
        "serve --http nonsense",
        "serve --database nonsense",
        "serve --http off --socket off",
        "mcp agents --agents-dir relative",
        "mcp popup --http off",
        "man file",
    ];
    let _hub = Serving::socket_hub(&home);
    let mut faults = Vec::new();
    for line in lines {
        let output = home.run(line.split(' '), "");
        let code = output.status.code();
        let errors = output.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        let hinted = output.stderr.contains("\nhint: ");
        let general = output.stderr.contains("`adjutant doctor` checks the installation");
        if errors != 1 || !hinted || general || code.is_none_or(|code| code == 0) {
            faults.push(format!("{line}: {code:?}\n{}", output.stderr));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
