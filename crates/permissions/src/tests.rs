//! Tests of rules and their precedence.

mod lines;
mod tools;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::request::lexical;

const NOW: i64 = 1_000;

fn request(client: &str, tool: &str, arguments: Value) -> Request {
    let Value::Object(arguments) = arguments else { panic!("{arguments} is not an object") };
    Request::new((client, "s1"), Path::new("/home/ann/tides"), tool, arguments, lexical)
}

fn shell(line: &str) -> Request {
    request("claude", "Bash", json!({"command": line}))
}

fn rule(verdict: Verdict, set: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule::new(verdict.name(), verdict);
    set(&mut rule);
    rule
}

fn command(verdict: Verdict, text: &str) -> Rule {
    rule(verdict, |rule| rule.command = Rule::words(text))
}

fn decided(rules: &[Rule], request: &Request) -> (Verdict, String) {
    let Decision { verdict, rules } = Rules::new(rules.iter().cloned()).decide(request, NOW);
    (verdict, rules.join(" "))
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_in_any_order() {
    use Verdict::{Allow, Ask, Deny};
    let of = |verdict| command(verdict, "git push *");
    for (verdicts, expected) in [
        (&[][..], (Ask, "")),
        (&[Allow], (Allow, "allow")),
        (&[Ask], (Ask, "ask")),
        (&[Deny], (Deny, "deny")),
        (&[Allow, Ask], (Ask, "ask")),
        (&[Allow, Deny], (Deny, "deny")),
        (&[Ask, Deny], (Deny, "deny")),
        (&[Allow, Ask, Deny], (Deny, "deny")),
    ] {
        let mut rules: Vec<Rule> = verdicts.iter().map(|verdict| of(*verdict)).collect();
        for _ in 0..2 {
            let (verdict, names) = decided(&rules, &shell("git push origin"));
            assert_eq!((verdict, names.as_str()), expected, "{verdicts:?}");
            rules.reverse();
        }
    }
}

/// The deciding rule, a request, and the conditions of the rule.
type Row<'a> = (&'static str, &'a Request, fn(&mut Rule));

#[test]
fn each_condition_of_a_rule_must_hold() {
    let edit =
        request("claude", "Edit", json!({"file_path": "src/tide.rs", "old_string": "a", "new_string": "b"}));
    let fetch = request("claude", "WebFetch", json!({"url": "https://docs.rs/tokio", "prompt": "x"}));
    let hook = request(
        "claude",
        "Edit",
        json!({"file_path": ".git/hooks/pre-push", "old_string": "a", "new_string": "b"}),
    );
    let rows: [Row<'_>; 17] = [
        ("", &hook, |rule| rule.path = Some("/home/ann/tides".into())),
        ("allow", &hook, |rule| rule.path = Some("/home/ann/tides/.git/hooks/pre-push".into())),
        ("allow", &hook, |rule| rule.path = Some("/home/ann/tides/.git/hooks".into())),
        ("allow", &edit, |rule| rule.path = Some("/home/ann/tides/src".into())),
        ("allow", &edit, |rule| rule.path = Some("/home/ann/tides/src/tide.rs".into())),
        ("", &edit, |rule| rule.path = Some("/home/ann/tides/sr".into())),
        ("allow", &edit, |rule| rule.tool = Some("Edit".into())),
        ("", &edit, |rule| (rule.tool, rule.client) = (Some("Edit".into()), Some("codex".into()))),
        ("allow", &edit, |rule| (rule.tool, rule.session) = (Some("Edit".into()), Some("s1".into()))),
        ("", &edit, |rule| (rule.tool, rule.session) = (Some("Edit".into()), Some("s2".into()))),
        ("allow", &edit, |rule| (rule.tool, rule.folder) = (Some("Edit".into()), Some("/home/ann".into()))),
        ("", &edit, |rule| (rule.tool, rule.folder) = (Some("Edit".into()), Some("/home/bob".into()))),
        ("allow", &edit, |rule| (rule.tool, rule.expires) = (Some("Edit".into()), Some(NOW + 1))),
        ("", &edit, |rule| (rule.tool, rule.expires) = (Some("Edit".into()), Some(NOW))),
        ("allow", &fetch, |rule| rule.host = Some("docs.rs".into())),
        ("", &fetch, |rule| rule.host = Some("rs".into())),
        ("", &fetch, |rule| rule.path = Some("/".into())),
    ];
    for (number, (expected, request, set)) in rows.into_iter().enumerate() {
        assert_eq!(decided(&[rule(Verdict::Allow, set)], request).1, expected, "row {number}");
    }
}

#[test]
fn a_rule_for_a_folder_does_not_allow_files_outside() {
    let rules = [rule(Verdict::Allow, |rule| {
        (rule.tool, rule.folder) = (Some("Edit".into()), Some("/home/ann/tides".into()));
    })];
    for (path, expected) in [("a.rs", "allow"), ("../notes/a.rs", ""), ("/etc/passwd", "")] {
        let edit = request("claude", "Edit", json!({"file_path": path, "old_string": "", "new_string": "x"}));
        assert_eq!(decided(&rules, &edit).1, expected, "{path}");
    }
}

#[test]
fn a_command_after_cd_counts_where_it_runs() {
    let rule_in = |folder: Option<&str>| {
        rule(Verdict::Allow, |rule| {
            rule.command = Rule::words("cargo test *");
            rule.folder = folder.map(PathBuf::from);
        })
    };
    let (tides, notes) = (Some("/home/ann/tides"), Some("/home/ann/notes"));
    for (folder, line, expected) in [
        (None, "cd ./src && cargo test", Verdict::Allow),
        (None, "cd /home/ann/tides/src && cargo test", Verdict::Allow),
        (None, "cd ../notes && cargo test", Verdict::Ask),
        (None, "cd /home/ann/tides/link && cargo test", Verdict::Ask),
        (tides, "cd ./src && cargo test", Verdict::Allow),
        (tides, "cd ./link && cargo test", Verdict::Ask),
        (tides, "cd ./link/../src && cargo test", Verdict::Ask),
        (tides, "cd ../notes && cargo test", Verdict::Ask),
        (tides, "cd / && cargo test", Verdict::Ask),
        (notes, "cargo test", Verdict::Ask),
        (notes, "cd /home/ann/notes && cargo test", Verdict::Allow),
        (notes, "cd /home/ann/notes/.. && cargo test", Verdict::Ask),
        (notes, "cd /home/ann/notes && cargo test; cargo test", Verdict::Ask),
    ] {
        // `link` leads out of the folder.
        let follow = |folder: &Path, path: &str| {
            folder.join(path).components().fold(PathBuf::new(), |parent, part| {
                let full = lexical(&parent, &part.as_os_str().to_string_lossy());
                if full.ends_with("tides/link") { "/home/ann/notes".into() } else { full }
            })
        };
        let arguments = json!({"command": line}).as_object().unwrap().clone();
        let request = Request::new(("claude", "s1"), Path::new("/home/ann/tides"), "Bash", arguments, follow);
        assert_eq!(decided(&[rule_in(folder)], &request).0, expected, "{folder:?} {line}");
    }
    let outside = shell("cd /home/ann/notes && make all");
    let learned = Rule::narrowest(&outside, Verdict::Allow).unwrap();
    assert_eq!(learned.folder, Some("/home/ann/notes".into()), "a rule of an answer matches its request");
    assert_eq!(Rule::words("cd ./src && cargo test"), None, "a rule has one command");
    let denied = rule(Verdict::Deny, |rule| rule.folder = Some("/home/ann/notes".into()));
    assert_eq!(decided(&[denied], &outside).0, Verdict::Deny);
}

#[test]
fn an_argument_that_the_hub_does_not_know_is_asked() {
    let rules = [command(Verdict::Allow, "git status")];
    let line = |more: Value| {
        let mut arguments = json!({"command": "git status", "description": "Look"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request("claude", "Bash", arguments)
    };
    assert_eq!(decided(&rules, &line(json!({"timeout": 5}))).0, Verdict::Allow);
    assert_eq!(decided(&rules, &line(json!({"dangerouslyDisableSandbox": true}))).0, Verdict::Ask);
    // An MCP server chooses the names of its tools.
    assert_eq!(decided(&[], &request("gemini", "view", json!({"path": "a.rs"}))).0, Verdict::Ask);
}

#[test]
fn rules_that_would_allow_more_than_they_say_are_left_out() {
    let faults: [fn(&mut Rule); 5] = [
        |_| {},
        |rule| rule.client = Some("claude".into()),
        |rule| rule.tool = Some("Bash".into()),
        |rule| rule.command = Some(vec!["*".into()]),
        |rule| rule.command = Some(Vec::new()),
    ];
    for (number, set) in faults.into_iter().enumerate() {
        let unsound = rule(Verdict::Allow, set);
        assert!(unsound.fault().is_some(), "row {number}");
        assert_eq!(decided(&[unsound], &shell("rm -rf /")), (Verdict::Ask, String::new()), "row {number}");
    }
    for text in
        ["git status; rm", "", "*", "a | b", "$(a)", "a > b", "git *status", "echo '*'", "echo a \"*\""]
    {
        assert_eq!(Rule::words(text), None, "{text}");
    }
}

#[test]
fn the_default_rules_read_in_the_folder_and_never_secrets() {
    for (client, tool, arguments, expected) in [
        ("claude", "Read", json!({"file_path": "/home/ann/tides/src/a.rs"}), "default: read"),
        ("copilot", "view", json!({"path": "src/a.rs", "view_range": [1, 2]}), "default: read"),
        ("claude", "Glob", json!({"pattern": "**/*.rs"}), "default: read"),
        ("claude", "Glob", json!({"pattern": "../**"}), ""),
        ("claude", "Glob", json!({"pattern": "*", "path": "/etc"}), ""),
        ("claude", "Read", json!({"file_path": "../notes/a.rs"}), ""),
        ("claude", "Read", json!({"file_path": "src/../../notes/a.rs"}), ""),
        ("claude", "Read", json!({"file_path": ".config/gh/settings.yml"}), ""),
        ("claude", "Read", json!({"file_path": ".config/gh/hosts.yml"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "/home/ann/.claude/.credentials.json"}), "default: secrets"),
        ("claude", "Glob", json!({"pattern": ".ssh/*", "path": "/home/ann/tides"}), "default: secrets"),
        ("claude", "Glob", json!({"pattern": "**/.env*"}), ""),
        ("claude", "Glob", json!({"pattern": "{a,.b}/*"}), ""),
        ("claude", "Read", json!({"file_path": ".env"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "deploy/.env.production"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "certs/server.pem"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "ID_RSA"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "credentials.json"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "deploy/prod.env.local"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "deploy_private_key"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "service-account.json"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "AWS_accessKeys.csv"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "gcp-key.json"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "tokens.json"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "password.txt"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "htpasswd"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "deploy_key"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "x.asc"}), "default: secrets"),
        ("claude", "Read", json!({"file_path": "src/token.rs"}), "default: read"),
        ("claude", "Read", json!({"file_path": "package.json"}), "default: read"),
        ("claude", "Read", json!({"file_path": "src/tokenizer.rs"}), "default: read"),
        // Claude Code removes white space around a path, and `~` is then a home.
        ("claude", "Read", json!({"file_path": " /etc/passwd"}), ""),
        ("claude", "Read", json!({"file_path": "\u{feff}~/notes"}), ""),
        ("claude", "Read", json!({"file_path": "src/a.rs\n"}), ""),
        ("claude", "Read", json!({"file_path": "src/\u{0}a.rs"}), ""),
        ("claude", "Read", json!({"file_path": "src/a b.rs"}), "default: read"),
        ("claude", "Read", json!({"file_path": "a.rs", "path": ["/etc/passwd"]}), ""),
        ("claude", "Glob", json!({"pattern": "*", "path": ["/etc"]}), ""),
        ("claude", "Glob", json!({"pattern": "*", "path": " /etc"}), ""),
        ("claude", "Glob", json!({"pattern": "\\.\\./*"}), ""),
        ("claude", "Glob", json!({"pattern": "@(..)/*"}), ""),
        ("claude", "Grep", json!({"pattern": "KEY"}), ""),
        ("claude", "Write", json!({"file_path": "a.rs", "content": ""}), ""),
        ("claude", "Bash", json!({"command": "ls -la && pwd"}), "default: harmless commands"),
        ("claude", "Bash", json!({"command": "ls ~/.ssh"}), "default: secrets"),
        ("claude", "Bash", json!({"command": "ls /"}), ""),
        ("claude", "Bash", json!({"command": "cd ./src && ls"}), "default: harmless commands"),
        ("claude", "Bash", json!({"command": "cd /etc && ls"}), ""),
        ("opencode", "bash", json!({"command": "ls", "workdir": "src"}), "default: harmless commands"),
        ("opencode", "bash", json!({"command": "ls", "workdir": "/etc"}), ""),
        ("opencode", "bash", json!({"command": "ls", "workdir": ["src"]}), ""),
        ("opencode", "bash", json!({"command": "ls", "workdir": " /etc"}), ""),
        ("opencode", "read", json!({"filePath": "src/a.rs", "limit": 5}), "default: read"),
        ("opencode", "external_directory", json!({"patterns": ["/etc/*"]}), ""),
        ("claude", "Bash", json!({"command": "cat src/a.rs"}), ""),
    ] {
        let request = request(client, tool, arguments);
        assert_eq!(decided(&[], &request).1, expected, "{request:?}");
    }
    let all = rule(Verdict::Allow, |rule| rule.path = Some("/".into()));
    assert_eq!(decided(&[all], &request("claude", "Read", json!({"file_path": ".env"}))).0, Verdict::Ask);
    let cat = command(Verdict::Allow, "cat *");
    for line in ["cat a .env", "cat /etc/shadow", "cat ../../../etc/shadow", "cat /proc/self/environ"] {
        assert_eq!(decided(std::slice::from_ref(&cat), &shell(line)).1, "default: secrets", "{line}");
    }
}

#[test]
fn files_of_keys_and_logins_are_asked_by_their_names() {
    for name in [
        ".boto",
        ".claude.json",
        ".config/hub",
        ".dockercfg",
        ".gemini/oauth_creds.json",
        ".m2/settings.xml",
        ".my.cnf",
        ".oci/config",
        ".psql_history",
        ".s3cfg",
        ".terraformrc",
        ".vault_pass",
        "Login Data",
        "client.ovpn",
        "cookies.sqlite",
        "cookies.txt",
        "creds.txt",
        "deploy_rsa",
        "env.prod",
        "key",
        "keys.txt",
        "local.settings.json",
        "logins.json",
        "my-key.der",
        "oauth_creds.json",
        "rclone.conf",
        "terraform.tfstate.backup",
        "wallet.dat",
        "wp-config.php",
        "x.keytab",
    ] {
        for path in [name.to_owned(), format!("/home/ann/tides/deploy/{name}")] {
            let request = request("claude", "Read", json!({"file_path": path}));
            assert_eq!(decided(&[], &request), (Verdict::Ask, "default: secrets".to_owned()), "{path}");
        }
    }
    for name in ["src/env.rs", "src/keys.rs", "cookies.rs", "src/keyboard.rs", "history.md", "settings.xml"] {
        let request = request("claude", "Read", json!({"file_path": name}));
        assert_eq!(decided(&[], &request).1, "default: read", "{name}");
    }
    let cat = command(Verdict::Allow, "cat *");
    for name in
        [".my.cnf", ".s3cfg", "~/.m2/settings.xml", "~/.config/hub", ".oci/config", "oauth_creds.json"]
    {
        let request = shell(&format!("cat {name}"));
        assert_eq!(decided(std::slice::from_ref(&cat), &request).1, "default: secrets", "{name}");
    }
}

#[test]
fn secrets_are_asked_by_the_folder_by_glued_options_and_in_the_home_of_the_hub() {
    let any = [
        command(Verdict::Allow, "cat *"),
        command(Verdict::Allow, "grep *"),
        command(Verdict::Allow, "tee *"),
    ];
    let asked = |request: &Request| {
        let rules = Rules::new(any.iter().cloned()).with_home(Some("/srv/hub".into()));
        assert_eq!(rules.decide(request, NOW).rules, ["default: secrets"], "{request:?}");
    };
    asked(&shell("grep x -f.env.local"));
    asked(&shell("tee -a /srv/hub/config.toml"));
    for folder in ["/home/ann/.ssh", "/srv/hub"] {
        let arguments = json!({"command": "cat known_hosts"}).as_object().unwrap().clone();
        asked(&Request::new(("claude", "s"), Path::new(folder), "Bash", arguments, lexical));
    }
}

#[test]
fn a_rule_that_denies_sees_paths_and_hosts_in_every_word() {
    let rules = || {
        let deny = |name: &str, set: fn(&mut Rule)| {
            let mut rule = Rule::new(name, Verdict::Deny);
            set(&mut rule);
            rule
        };
        [
            deny("path", |rule| rule.path = Some("/home/ann/tides/private".into())),
            deny("folder", |rule| rule.folder = Some("/home/ann/notes".into())),
            deny("host", |rule| rule.host = Some("evil.example".into())),
            command(Verdict::Allow, "cat *"),
            command(Verdict::Allow, "curl *"),
            rule(Verdict::Allow, |rule| rule.tool = Some("mcp__files__read".into())),
        ]
    };
    let fetch = |url: &str| request("claude", "WebFetch", json!({"url": url, "prompt": "p"}));
    let files = |path: &str| request("claude", "mcp__files__read", json!({"files": ["a.rs", path]}));
    for (request, expected) in [
        (shell("cat private/a"), "path"),
        (shell("cat ./src/../private/a"), "path"),
        (shell("cat --from=/home/ann/tides/private"), "path"),
        (shell("cat -f/home/ann/tides/private/a"), "path"),
        (shell("cat private/a > b"), "path"),
        (shell("cd ./private && cat a"), "path"),
        (shell("cat private2/a"), "allow"),
        (shell("cat ../notes/a"), "folder"),
        (shell("curl http://evil.example:8080/a"), "host"),
        (shell("curl EVIL.example."), "host"),
        (shell("curl https://evil.example.org"), "allow"),
        (fetch("http://evil.example/"), "host"),
        (fetch("https://ann@evil.example:444/"), "host"),
        (fetch("https://example.org/"), ""),
        (files("/home/ann/tides/private/a"), "path"),
        (files("file:///home/ann/notes/a"), "folder"),
        (files("src/b.rs"), "allow"),
    ] {
        assert_eq!(decided(&rules(), &request).1, expected, "{request:?}");
    }
    let many = (0..600).fold("cat".to_owned(), |line, number| format!("{line} {number}"));
    assert_eq!(
        decided(&[command(Verdict::Allow, "cat *")], &shell(&many)).0,
        Verdict::Ask,
        "too many words to look up"
    );
}

#[test]
fn a_rule_shows_its_words_as_a_shell_reads_them() {
    for (text, shown) in [
        ("git status", "command git status"),
        ("git diff *", "command git diff *"),
        ("sh -c 'rm -rf /'", "command sh -c 'rm -rf /'"),
        ("git commit -m \"it's late\"", "command git commit -m 'it'\\''s late'"),
        ("grep '' a", "command grep '' a"),
        ("echo '*' a", "command echo '*' a"),
    ] {
        assert_eq!(command(Verdict::Allow, text).summary(), shown, "{text}");
    }
}

#[test]
fn a_number_is_no_host_unless_it_is_written_as_usual() {
    let rules = [
        rule(Verdict::Deny, |rule| rule.host = Some("127.0.0.1".into())),
        rule(Verdict::Allow, |rule| rule.tool = Some("WebFetch".into())),
    ];
    for (url, expected) in [
        ("https://127.0.0.1/", "deny"),
        ("https://10.0.0.1/", "allow"),
        ("https://127.1/", ""),
        ("https://2130706433/", ""),
        ("https://0x7f000001/", ""),
        ("https://0177.0.0.1/", ""),
        ("https://docs.rs/", "allow"),
        ("https://1password.com/", "allow"),
    ] {
        let fetch = request("claude", "WebFetch", json!({"url": url, "prompt": "p"}));
        assert_eq!(decided(&rules, &fetch).1, expected, "{url}");
    }
}

#[test]
fn a_link_names_what_it_leads_to() {
    let follow = |folder: &Path, path: &str| {
        let full = lexical(folder, path);
        if full.ends_with("tides/link") { "/home/ann/tides/.env".into() } else { full }
    };
    let arguments = json!({"command": "cat link"}).as_object().unwrap().clone();
    let request = Request::new(("claude", "s1"), Path::new("/home/ann/tides"), "Bash", arguments, follow);
    assert_eq!(decided(&[command(Verdict::Allow, "cat *")], &request).1, "default: secrets");
}

#[test]
fn a_root_folder_is_no_workspace() {
    let arguments = json!({"file_path": "/srv/data"}).as_object().unwrap().clone();
    let request = Request::new(("claude", "s"), Path::new("/"), "Read", arguments, lexical);
    assert_eq!(decided(&[], &request).0, Verdict::Ask);
}

#[test]
fn ten_thousand_rules_decide_within_two_milliseconds() {
    let rules = (0..10_000).map(|number| {
        let mut rule =
            Rule::new(&format!("r{number}"), if number % 3 == 0 { Verdict::Deny } else { Verdict::Allow });
        match number % 4 {
            0 => rule.command = Rule::words(&format!("tool{number} check *")),
            1 => rule.tool = Some(format!("mcp__server__tool{number}")),
            2 => rule.path = Some(format!("/home/ann/project{number}").into()),
            _ => rule.host = Some(format!("host{number}.example")),
        }
        rule
    });
    let rules = Rules::new(rules);
    assert_eq!(rules.all().len(), 10_000);
    let request = shell("git status && cargo test --workspace | head -n 20");
    rules.decide(&request, NOW);
    // The fastest of some, because other tests share the machine.
    let fastest = (0..20).map(|_| {
        let started = Instant::now();
        rules.decide(&request, NOW);
        started.elapsed()
    });
    assert!(fastest.min().unwrap() < Duration::from_millis(2));
}
