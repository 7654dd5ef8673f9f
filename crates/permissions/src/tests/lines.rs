//! A corpus of shell lines: no rule allows more than its words say.

use std::io::Write;
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
    // Substitutions of processes and of quotes.
    "git status <(rm -rf /)",
    "git status >(sh)",
    "echo =(rm)",
    "diff <(git status) <(rm)",
    "echo $'a\\'; rm -rf /; echo '",
    "$'git' status",
    "git $'status'",
    "g$'i't status",
    "git $\"status\"",
    "{git,rm} status",
    "git {status,push}",
    "git st{atus,}",
    "{git,status}",
    "echo {1..9}",
    "${IFS}git status",
    "git${IFS}status",
    "git status $(:)",
    "git status $@",
    "git status $#",
    "$0 -c rm",
    // Programs that run their words.
    "command -p git status",
    "command rm",
    "command -v git",
    "time -p git status",
    "eval \"git status\"",
    "coproc X { git status; }",
    "busybox git status",
    "busybox sh -c 'git status'",
    "busybox rm -rf /",
    "toybox rm",
    "find . -name '*.rs' -exec git status ';'",
    "find . -execdir sh -c 'git status' ';'",
    "find . -fprint /etc/x",
    "git -c alias.x='!rm -rf /' x",
    "git -c core.pager='rm' status",
    "git -c core.fsmonitor=./x status",
    "git --exec-path=/tmp status",
    "git -C /tmp status",
    "git --git-dir=/tmp status",
    "git status --porcelain",
    "tar --to-command=rm -xf a",
    "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec=rm a",
    "env -S'rm -rf /'",
    "env -S \"git status\"",
    "env --split-string='git status'",
    "env -C / git status",
    "env -u PATH git status",
    "/usr/bin/env -S git status",
    "setsid git status",
    "unshare git status",
    "chroot / git status",
    "script -c 'git status'",
    "awk 'BEGIN{system(1)}'",
    "sed e",
    "vim -c '!rm'",
    "less git",
    "man -P rm git",
    "rsync -e rm a b:",
    "make -f a",
    "npx git status",
    "docker run a git status",
    "flock a git status",
    "stdbuf -o0 git status",
    "ionice git status",
    "xargs -a a git status",
    "xargs -P9 git status",
    "sh -ec 'git status'",
    "sh -c 'git status' rm",
    "sh -c \"git status\" -- rm",
    // Settings of one command, and of all that follow.
    "LD_PRELOAD=/tmp/x.so cargo test",
    "GIT_SSH_COMMAND=rm git status",
    "PAGER=rm git status",
    "GIT_EXTERNAL_DIFF=rm git status",
    "RUSTC_WRAPPER=rm cargo test",
    "IFS=x git status",
    "BASH_ENV=/tmp/x sh -c 'git status'",
    "A=1 B=2 git status",
    "A= git status",
    "A[0]=1 git status",
    "A+=1 git status",
    "'A'=1 git status",
    "\"A=1\" git status",
    "export A=1 && git status",
    "readonly PATH=/tmp && git status",
    "local A=1; git status",
    "typeset -f git; git status",
    "set -- rm; git status",
    "umask 0; rm",
    "ulimit -f 0; rm",
    "read git; git status; $git",
    "printf -v PATH x; rm",
    "exit; rm",
    "wait; rm",
    "fg; rm",
    "%1",
    "%sleep; git status &",
    "jobs; rm",
    "git status; fc -s",
    // Newlines, comments and history.
    "git 'status\n'",
    "'git\nstatus'",
    "\"git\nstatus\"",
    "git status '\nrm",
    "git status #\nrm -rf /",
    "#\nrm",
    "git status\n#rm",
    "git status\n\n\nrm",
    "git status \\\n; rm",
    "git status \\\n",
    "echo a#b",
    "!git",
    "!-1",
    "!$",
    "!?rm?",
    "^status^push",
    "git status ^rm",
    "echo \"!rm\"",
    // Here-documents.
    "git status <<EOF\n$(rm -rf /)\nEOF",
    "git status <<-EOF\n\trm\n\tEOF",
    "git status <<'EOF'\nrm\nEOF\nrm",
    "sh <<EOF\ngit status\nEOF",
    "cat <<A <<B\n1\nA\n2\nB\nrm",
    "git status <<< $(rm)",
    // Functions.
    "function git status",
    "function git() { rm; }\ngit status",
    "git(){ rm;};git status",
    "git() (rm); git status",
    "status() { rm; }",
    "alias -g status='; rm'; git status",
    "alias status=rm",
    "git status;}",
    "git status; }; rm",
    "git status)",
    "(git status",
    "git status;;rm",
    "git status ;& rm",
    "git status |||| rm",
    "git status &&& rm",
    "git status | & rm",
    "git status <>a",
    "git status 3<a",
    "git status >&2",
    "git status >/dev/tcp/a/1",
    "git status &>>a",
    "exec 3<>/dev/tcp/a/1",
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
