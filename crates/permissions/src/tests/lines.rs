//! A corpus of shell lines: no rule allows more than its words say.

use std::process::{Command, Stdio};

use super::*;
use crate::command::{Line, parse};

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

/// Lines that consist of commands of the rules.
const ALLOWED: &[&str] = &[
    "git status",
    "git status ",
    "  git status",
    "git  status",
    "git\tstatus",
    "'git' status",
    "\"git\" status",
    "g'it' status",
    "git \"sta\"tus",
    "git status\n",
    "\ngit status\n",
    "git status;",
    "git status && git status",
    "git status || git status",
    "git status; git status",
    "git status\ngit status",
    "git status | wc -l",
    "git status &&\ngit status",
    "git status |\nwc -l",
    "cargo test",
    "cargo test --workspace",
    "cargo test -- --nocapture",
    "cargo test 'a b'",
    "cargo test \"a b\"",
    "cargo test 'a; rm -rf /'",
    "cargo test 'a $(rm) b'",
    "cargo test '`rm`'",
    "cargo test 'a && rm'",
    "cargo test 'a\nb'",
    "cargo test \"a;b|c&d\"",
    "cargo test a=b",
    "cargo test --features=x,y",
    "cargo test ''",
    "cargo test \"\"",
    "cargo test 'it''s'",
    "echo hello",
    "echo 'rm -rf /'",
    "echo \"rm -rf /\"",
    "echo a b c",
    "echo a@b.example",
    "echo 100%",
    "echo a+b",
    "echo \"it's\"",
    "echo 'say \"x\"'",
    "echo über",
    "echo a:b/c",
    "echo '\\d+'",
    "echo '#not a comment'",
    "echo \"*\"",
    "echo '*'",
    "echo '~'",
    "echo '<a>'",
    "echo '{a,b}'",
    "echo alias",
    "echo if then fi",
    "echo cd",
    "cd src",
    "/usr/bin/env git status",
    "env git status",
    "sh -c 'git status'",
    "xargs git status",
    "wc -l",
    "echo a | wc -l | wc -l",
    "cargo test; echo done",
    "cargo test && echo ok || echo failed",
    "cd ./src && cargo test",
    " cd ./src/a/../b && cargo test | wc -l",
    "cd . && git status && echo done",
    "cd './a b' && git status",
    "cd \"./a; rm\" &&\ngit status\n",
    "cd /home/ann/tides/src && git status;",
];

/// Lines that are, hold, or may hold something else.
const ASKED: &[&str] = &[
    "git status; rm -rf /",
    "git status && rm -rf /",
    "git status || rm -rf /",
    "git status | sh",
    "git status & rm -rf /",
    "git status&rm -rf /",
    "git status;rm x",
    "git status\nrm -rf /",
    "git status\r\nrm -rf /",
    "git status |& sh",
    "rm -rf / ; git status",
    "rm",
    "git status --short",
    "git statusx",
    "git",
    "git push",
    "gitstatus",
    "./git status",
    "/tmp/git status",
    "git status extra",
    "GIT status",
    "git status > /etc/passwd",
    "git status >> a",
    "git status 2>&1",
    "git status < a",
    "git status <<EOF\nrm\nEOF",
    "git status <<<x",
    "git status &> a",
    "git status >| a",
    "echo a > b",
    "echo a >b",
    "echo a>b",
    "echo >a b",
    "cat <<'EOF' | sh\nrm -rf /\nEOF",
    "echo a <(rm)",
    "echo >(rm)",
    "echo $(rm -rf /)",
    "echo \"$(rm -rf /)\"",
    "echo `rm -rf /`",
    "echo \"`rm`\"",
    "echo $((1+1))",
    "echo ${x}",
    "echo $x",
    "echo \"$x\"",
    "echo $'a'",
    "echo $\"a\"",
    "echo ${x:-$(rm)}",
    "$(git status)",
    "`git status`",
    "$x status",
    "git $x",
    "git ${x}status",
    "A=1 git status",
    "PATH=/tmp git status",
    "LD_PRELOAD=/tmp/x.so git status",
    "A=1; git status",
    "A=$(rm) git status",
    "git status; A=1",
    "GIT_PAGER='rm -rf /' git status",
    "=git status",
    "echo =rm",
    "a+=b",
    "alias git=rm; git status",
    "alias git=rm\ngit status",
    "alias git='rm -rf /'",
    "unalias git; git status",
    "function git { rm -rf /; }; git status",
    "git() { rm -rf /; }; git status",
    "git () { rm; } ; git status",
    "hash -p /bin/rm git; git status",
    "enable -f x git; git status",
    "source x; git status",
    ". ./x; git status",
    ". x",
    "source x",
    "eval git status",
    "eval 'rm -rf /'",
    "exec git status",
    "exec rm",
    "export PATH=/tmp; git status",
    "set -a; git status",
    "shopt -s x; git status",
    "trap 'rm -rf /' EXIT; git status",
    "declare -x PATH=/tmp; git status",
    "unset PATH; git status",
    "builtin git status",
    "setopt x; git status",
    "env rm -rf /",
    "env -S 'rm -rf /'",
    "env A=1 git status",
    "env git status; rm",
    "env -i git status",
    "/usr/bin/env rm",
    "xargs rm",
    "echo / | xargs rm -rf",
    "xargs git status rm",
    "xargs -I{} sh -c '{}'",
    "sh -c 'rm -rf /'",
    "sh -c 'git status; rm'",
    "sh -c git status",
    "bash -c 'git status'",
    "sh",
    "sh -c",
    "bash -lc 'rm'",
    "sh script.sh",
    "zsh -c 'rm'",
    "python3 -c 'import os'",
    "perl -e 'unlink'",
    "node -e 'x'",
    "sudo git status",
    "sudo -u root git status",
    "doas git status",
    "nohup git status",
    "nice git status",
    "timeout 5 git status",
    "command git status",
    "time git status",
    "watch git status",
    "strace git status",
    "ssh host git status",
    "find . -exec rm {} \\;",
    "find . -delete",
    "parallel git status ::: a",
    "if true; then git status; fi",
    "for x in a; do git status; done",
    "while true; do git status; done",
    "until git status; do rm; done",
    "case x in x) git status;; esac",
    "{ git status; }",
    "(git status)",
    "( git status )",
    "((1))",
    "[[ -f a ]]",
    "! git status",
    "coproc git status",
    "select x in a; do git status; done",
    "git status;;",
    "; git status",
    "&& git status",
    "| git status",
    "git status &&",
    "git status |",
    "git status ||",
    "git status && ; git status",
    "git status &",
    "git status & &",
    "",
    " ",
    "\n",
    ";",
    "'",
    "\"",
    "git 'status",
    "git \"status",
    "echo 'a",
    "echo \"a",
    "echo 'a\\' ; rm -rf / ; echo '",
    "echo 'a\\\\'",
    "echo a\\ b",
    "echo \\;rm",
    "git\\ status",
    "g\\it status",
    "git status \\\nrm",
    "git status \\",
    "echo \"a\\\"; rm; \\\"\"",
    "echo \"a!b\"",
    "echo !rm",
    "!!",
    "echo a # rm",
    "# git status",
    "git status #",
    "git status # && rm",
    "echo *",
    "echo ?",
    "echo [a]",
    "echo {a,b}",
    "echo ~",
    "echo ~root",
    "rm *",
    "echo a^b",
    "git status %",
    "cargo test *",
    "cargo test ~/x",
    "cargo test $HOME",
    "cd /tmp && git status",
    "cd /tmp; git status",
    "pushd /tmp; git status",
    "git status; cd /",
    // `CDPATH` and options of a shell choose the folder.
    "cd src && cargo test",
    "cd .git && git status",
    "cd ... && git status",
    "cd - && git status",
    "cd +1 && git status",
    "cd && git status",
    "cd '' && git status",
    "cd ~ && git status",
    "cd ~root && git status",
    "cd '~' && git status",
    "cd $HOME && git status",
    "cd \"$x\" && git status",
    "cd $(pwd) && git status",
    "cd ./$x && git status",
    "cd ./s* && git status",
    "cd ./{a,b} && git status",
    "cd -P ./src && git status",
    "cd -- ./src && git status",
    "cd ./a ./b && git status",
    "CDPATH=/ cd ./src && git status",
    "builtin cd ./src && git status",
    "command cd ./src && git status",
    "chdir ./src && git status",
    "pushd ./src && git status",
    "cd .. && git status",
    "cd ./src/../.. && git status",
    "cd /home/ann && git status",
    "cd /home/ann/tides2 && git status",
    "cd ./src; git status",
    "cd ./src || git status",
    "cd ./src | git status",
    "cd ./src & git status",
    "cd ./src\ngit status",
    "cd ./src &&",
    "cd ./src && rm -rf /",
    "cd ./src && git status; git status",
    "cd ./src && git status || git status",
    "cd ./src && git status\ngit status",
    "cd ./src && cd ./a && git status",
    "cd ./src && pushd ./a && git status",
    "cd ./src && cd src",
    "git status && cd ./src && git status",
    "cd ./src && git push",
    "cd ./.ssh && git status",
    "git status\u{a0}",
    "git\u{a0}status",
    "git status\u{2028}rm",
    "git \u{202e}status",
    "git\u{200b}status",
    "git status\u{0}rm",
    "git status\u{b}rm",
    "git status\u{c}rm",
    "\u{feff}git status",
    "git status；rm",
    "echo a；rm｜sh",
    "'' git status",
    "\"\"",
    "git '' status",
    "cargo  build",
    "cargo",
    "cargotest",
    "cargo test; rm",
    "cargo test | tee /etc/x",
    "cargo test && ./x",
    "cargo testx",
    "cargo -C / test",
    "ech o",
    "echo a; echo b; rm",
    "echo a\n\nrm",
    "echo a |\n\nsh",
    "wc",
    "wc -l a",
    "wc -l; rm",
    "begin; git status; end",
    "and git status",
    "not rm",
    "noglob git status",
];

/// Prints the words of each command that bash would start, and starts none: no program is on the path.
const PRINT_COMMANDS: &str = r#"
    show() { printf '%s\0' "$@" END >&3; }
    command_not_found_handle() { show "$@"; }
    for word in cd command echo pwd; do eval "$word() { show $word \"\$@\"; }"; done
"#;

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

#[test]
#[expect(clippy::disallowed_methods, reason = "bash is the judge, and starts nothing")]
fn bash_reads_the_same_words_in_every_line_that_is_understood() {
    for line in ALLOWED.iter().chain(ASKED) {
        let Some(Line { folder, commands: mut expected }) = parse(line) else { continue };
        expected.extend(folder.map(|folder| vec!["cd".to_owned(), folder]));
        // bash would start a program with a path.
        if expected.iter().any(|words| words[0].contains('/')) {
            continue;
        }
        let script = format!("{PRINT_COMMANDS}\n{{ {line}\n}} 3>&1 >/dev/null 2>&1 </dev/null; exit 0");
        let output = Command::new("/bin/bash")
            .args(["--norc", "--noprofile", "-c", &script])
            .env_clear()
            .env("PATH", "/nonexistent")
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut seen = vec![Vec::new()];
        for word in text.split_terminator('\0') {
            if word == "END" { seen.push(Vec::new()) } else { seen.last_mut().unwrap().push(word.to_owned()) }
        }
        seen.pop();
        // The commands of a pipe run at once, and a failure may end a list; none that runs is missing here.
        seen.sort();
        expected.sort();
        seen.retain(|words| !expected.contains(words));
        assert!(seen.is_empty(), "{line:?} also runs {seen:?}");
        assert!(output.status.success(), "{line:?}");
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
