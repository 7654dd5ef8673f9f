//! Every command of the documentation is run unchanged: each page is one shell session in a separate home, with the
//! real agents on its PATH, a scripted model for them, and a user who takes the first option of each question. Of a
//! `console` block the output is compared, too.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use rustix::process::{Pid, Signal, kill_process};

use crate::docs::pages;
use crate::support::model::{Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, codex_config, is_excluded, node, package, run};
use crate::support::{Finished, Home, StopHubOnDrop, wait};

/// A calendar of the user.
const CALENDAR: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//calendar//EN\r\nBEGIN:VEVENT\r\n\
    UID:standup@example.org\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20260105T090000Z\r\nRRULE:FREQ=DAILY\r\n\
    SUMMARY:Standup\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// A new user's machine: a home, a repository with one commit, and the agents.
struct Machine {
    home: Home,
    model: Model,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { home: Home::new(), model: Model::start(Script::Answer) };
        let home = &machine.home;
        home.write(".codex/config.toml", codex_config(&machine.model.base_url()));
        // Another hub may have the default port.
        home.write(".adjutant/config.toml", "[http]\naddress = \"127.0.0.1:0\"\n");
        home.write("project/README.md", "An empty project.\n");
        home.write(".claude/commands/tidy.md", "Tidy up $ARGUMENTS.\n");
        std::fs::create_dir_all(home.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), home.path().join("bin/adjutant")).unwrap();
        for (name, file) in
            [("codex", "@openai/codex/bin/codex.js"), ("copilot", "@github/copilot/npm-loader.js")]
        {
            let program = format!("exec {} {} \"$@\"", node().display(), package(file).display());
            machine.program(name, &program);
        }
        // The program under test replaces the installed one, so build and install commands succeed.
        machine.program(
            "cargo",
            "case \"$*\" in\n'install --locked --path .' | 'uninstall adjutant') ;;\n'run --release --locked -- '*) shift 4; exec adjutant \"$@\" ;;\n*) exit 64 ;;\nesac",
        );
        machine.program("xdg-open", "");
        // A clone of this repository is the folder itself, and nothing is newer where it comes from.
        let git = "PATH=${PATH#*:}\ncase \"$1\" in\nclone) ln -s . \"$3\" ;;\npull) ;;\n*) exec git \"$@\" ;;\nesac";
        machine.program("git", git);
        let ready = machine.shell("git init --quiet; git add .; git commit --quiet -m first");
        assert!(ready.status.success(), "{ready}");
        machine
    }

    fn program(&self, name: &str, script: &str) {
        self.home.write_program(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
    }

    fn set_environment(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{}:{path}", self.home.path().join("bin").display()))
            .env("XDG_RUNTIME_DIR", self.home.path())
            .envs([("GIT_AUTHOR_NAME", "T"), ("GIT_AUTHOR_EMAIL", "t@example.org")])
            .envs([("GIT_COMMITTER_NAME", "T"), ("GIT_COMMITTER_EMAIL", "t@example.org")])
            .current_dir(self.home.path().join("project"));
    }

    /// Runs a script that fails with its first failing line.
    fn shell(&self, script: &str) -> Finished {
        let mut bash = self.home.client(Path::new("bash"));
        bash.args(["-e", "-u", "-o", "pipefail", "-c", script]);
        self.set_environment(&mut bash);
        run(&mut bash, RUN_DEADLINE)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(StopHubOnDrop(&self.home));
    }
}

/// A user in another terminal, who answers each question with its first option.
struct AnsweringUser(Child);

impl AnsweringUser {
    fn start(machine: &Machine) -> Self {
        let mut inbox = machine.home.adjutant(["inbox", "--plain"]);
        machine.set_environment(&mut inbox);
        let mut inbox = inbox.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut says, hears) = (inbox.stdin.take().unwrap(), inbox.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(hears).lines().map_while(Result::ok) {
                if let Some(question) = line.strip_prefix("QUESTION ") {
                    let id = question.split_whitespace().next().unwrap_or_default();
                    let _ = writeln!(says, "{id} 1");
                }
            }
        });
        Self(inbox)
    }
}

impl Drop for AnsweringUser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        wait(&mut self.0, RUN_DEADLINE);
    }
}

/// The output that a page shows for a command of a `console` block; `…` replaces any text.
struct ShownOutput {
    command: String,
    output: String,
}

impl ShownOutput {
    fn is_of(&self, printed: &str) -> bool {
        let mut parts: Vec<&str> = self.output.trim().split('…').collect();
        let last = parts.pop().unwrap();
        let Some((first, others)) = parts.split_first() else { return printed.trim() == last };
        let Some(mut rest) = printed.trim().strip_prefix(first) else { return false };
        for part in others {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        rest.ends_with(last)
    }
}

/// The scripts of a page: its `sh` blocks, and its `console` blocks with the output of each command in a file below
/// `~/outputs`, which has the place of the command in the second list as its name.
fn shell_blocks(page: &Path) -> (Vec<String>, Vec<ShownOutput>) {
    let text = std::fs::read_to_string(page).unwrap();
    let (mut scripts, mut shown) = (Vec::new(), Vec::new());
    let mut block: Option<(String, String)> = None;
    for event in Parser::new(&text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language)))
                if matches!(&*language, "sh" | "console") =>
            {
                block = Some((language.into_string(), String::new()));
            }
            Event::Text(text) => {
                if let Some((_, block)) = &mut block {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => match block.take() {
                Some((language, script)) if language == "sh" => scripts.push(script),
                Some((_, session)) => {
                    for step in session.split("$ ").map(str::trim).filter(|step| !step.is_empty()) {
                        let (command, output) = step.split_once('\n').unwrap_or((step, ""));
                        scripts.push(format!("{{ {command}; }} >~/outputs/{} 2>&1", shown.len()));
                        shown.push(ShownOutput { command: command.to_owned(), output: output.to_owned() });
                    }
                }
                None => {}
            },
            _ => {}
        }
    }
    (scripts, shown)
}

/// Runs the commands of a page in order; a server runs until it has printed its address.
fn run_page(page: &Path) -> Result<(), String> {
    let (scripts, shown) = shell_blocks(page);
    if scripts.is_empty() {
        return Ok(());
    }
    let machine = Machine::new();
    let outputs = machine.home.path().join("outputs");
    std::fs::create_dir(&outputs).unwrap();
    machine.program(
        "claude",
        "case \"$*\" in --version) echo '2.1.0 (Claude Code)' ;; 'mcp add '*) ;; *) exit 64 ;; esac",
    );
    // Services of this machine stay untouched.
    machine.program("systemctl", "exit 0");
    machine.program("launchctl", "exit 0");
    machine.home.write("project/work.ics", CALENDAR);
    for script in ["deploy", "scripts/test", "scripts/bench", "scripts/book"] {
        // These commands have other tests, or run this test.
        machine.program(&format!("../project/{script}"), "");
    }
    machine.program("../project/wrapper.sh", "exec adjutant \"$@\"");
    let ready = machine.shell("adjutant serve --background");
    assert!(ready.status.success(), "{ready}");
    let _user = AnsweringUser::start(&machine);
    let mut session = String::new();
    for script in scripts {
        // The tests of workers run a NATS server and its workers.
        let local =
            script.lines().filter(|line| !line.contains("nats-server ") && !line.contains("worker --nats "));
        let (servers, commands): (Vec<_>, Vec<_>) = local.partition(|line| line.contains("serve "));
        for command in servers {
            check_server(command);
        }
        writeln!(session, "{}", commands.join("\n")).unwrap();
    }
    let done = machine.shell(&session);
    let printed =
        |number: usize| std::fs::read_to_string(outputs.join(number.to_string())).unwrap_or_default();
    if !done.status.success() {
        let printed: String = (0..shown.len()).map(printed).collect();
        return Err(format!("{}:\n{session}\n{done}\n{printed}\n", page.display()));
    }
    let differs = shown.iter().enumerate().find(|(number, shown)| !shown.is_of(&printed(*number)));
    match differs {
        Some((number, ShownOutput { command, output })) => {
            let printed = printed(number);
            Err(format!("{}:\n$ {command}\nshown:\n{output}\nprinted:\n{printed}\n", page.display()))
        }
        None => Ok(()),
    }
}

/// Checks that a command, on a separate machine, starts a server that prints the console's address.
fn check_server(command: &str) {
    let machine = Machine::new();
    let mut bash = machine.home.client(Path::new("bash"));
    // The command replaces the shell, so that ending it ends the server.
    bash.args(["-e", "-c", &format!("exec 2>&1; exec {command}")]);
    machine.set_environment(&mut bash);
    let mut server = bash.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let found = lines.map_while(Result::ok).any(|line| line.contains("http://127.0.0.1:"));
    let _ = kill_process(Pid::from_child(&server), Signal::TERM);
    wait(&mut server, RUN_DEADLINE);
    assert!(found, "{command} did not print its console's address");
}

#[test]
fn an_output_on_a_page_may_leave_text_out_and_has_no_other() {
    let shown = |output: &str| ShownOutput { command: String::new(), output: output.to_owned() };
    assert!(shown("task …: done\n…\n0 left").is_of("task a1: done\nhub | passed\n0 left\n"));
    assert!(shown("first\n…").is_of("first\nsecond"));
    assert!(shown("yes").is_of("yes\n"));
    assert!(!shown("yes").is_of("yes, but"));
    assert!(!shown("task …: done\n0 left").is_of("task a1: done\n1 left"));
}

fn page_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_commands_of_the_readme_work() {
    if !is_excluded("npm") {
        run_page(&page_path("README.md")).unwrap();
    }
}

#[test]
fn the_commands_of_the_quick_start_work() {
    if !is_excluded("npm") {
        run_page(&page_path("docs/quick-start.md")).unwrap();
    }
}

#[test]
fn the_commands_of_every_other_page_work() {
    if is_excluded("npm") {
        return;
    }
    let own = [page_path("README.md"), page_path("docs/quick-start.md")];
    let others = pages().into_iter().filter(|page| !own.contains(page));
    let failures: String = others.filter_map(|page| run_page(&page).err()).collect();
    assert!(failures.is_empty(), "{failures}");
}
