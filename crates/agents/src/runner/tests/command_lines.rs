//! Tests of the command lines of the runners.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::own;
use crate::definition::Permission;
use crate::runner::custom::config::{Answer, CustomRunner};
use crate::runner::environment::RunnerEnv;
use crate::runner::{AttemptSpec, CommandVariant, PreparedCommand, Rejection, Runner, SchemaEnforcement};

/// A request on made-up places, and the environment it is given its share of.
struct Asked {
    environment: RunnerEnv,
    env: BTreeMap<String, String>,
    schema: Value,
}

impl Asked {
    fn new() -> Self {
        Self {
            environment: RunnerEnv::with(&[
                ("HOME", "/home/u"),
                ("CODEX_HOME", "/c"),
                ("COPILOT_ALLOW_ALL", "true"),
                ("GH_TOKEN", "g"),
                ("ANTHROPIC_API_KEY", "a"),
                ("GEMINI_API_KEY", "e"),
                ("OPENCODE_CONFIG", "/o"),
                ("AIDER_KEY", "k"),
                ("SECRET_OF_THE_HUB", "s"),
            ]),
            env: BTreeMap::from([("OPENCODE_PERMISSION".to_owned(), "of the agent".to_owned())]),
            schema: json!({"type": "object"}),
        }
    }

    fn request<'a>(
        &'a self,
        permission: Permission,
        prompt: &'a str,
        variant: CommandVariant,
    ) -> AttemptSpec<'a> {
        AttemptSpec {
            program: Path::new("/bin/program"),
            prompt,
            workdir: Path::new("/workdir"),
            scratch: Path::new("/scratch"),
            permission,
            model: None,
            schema: None,
            session: None,
            variant,
            environment: &self.environment,
            env: &self.env,
        }
    }
}

fn as_json(prepared: Result<PreparedCommand, Rejection>) -> Value {
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(refused) => return json!(refused.to_string()),
    };
    let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
    let mut shown = json!({"argv": prepared.argv.iter().map(|a| text(a)).collect::<Vec<_>>()});
    shown["env"] =
        json!(prepared.env.iter().map(|(k, v)| format!("{}={}", text(k), text(v))).collect::<Vec<_>>());
    if let Some(stdin) = prepared.stdin {
        shown["stdin"] = json!(String::from_utf8(stdin).unwrap());
    }
    if let Some(file) = prepared.output_files.final_message {
        shown["final_message"] = json!(file);
    }
    for (path, bytes) in prepared.files {
        shown["files"][path.to_str().unwrap()] = json!(String::from_utf8(bytes).unwrap());
    }
    if prepared.schema == SchemaEnforcement::Runner {
        shown["schema"] = json!("by the runner");
    }
    shown
}

/// The integration tests start the real CLIs with the command lines of these snapshots.
#[test]
fn command_lines_of_every_runner_at_every_level() {
    let asked = Asked::new();
    let configured = Runner::Custom(Arc::new(CustomRunner {
        answer: Answer::File,
        ..own(&[
            "aider",
            "--dir={workdir}",
            "--model={model}",
            "--out",
            "{final_message_file}",
            "{permission}",
            "{x}",
        ])
    }));
    for runner in Runner::BUILT_IN.iter().chain([&configured]) {
        let mut lines = serde_json::Map::new();
        for &permission in Permission::ALL {
            let request = asked.request(permission, "the prompt", CommandVariant::Native);
            lines.insert(permission.name().to_owned(), as_json(runner.prepare(&request)));
        }
        let everything = AttemptSpec {
            model: Some("the-model"),
            schema: Some(&asked.schema),
            session: Some("the-session"),
            ..asked.request(Permission::Full, "the prompt", CommandVariant::Native)
        };
        lines.insert("everything".to_owned(), as_json(runner.prepare(&everything)));
        insta::assert_json_snapshot!(format!("lines-{}", runner.name()), lines);
    }
}

#[test]
fn the_contracts_command_lines_to_the_letter() {
    let asked = Asked::new();
    let line = |runner: Runner, permission, prompt: &str, model: Option<&str>| {
        let request = AttemptSpec { model, ..asked.request(permission, prompt, CommandVariant::Contract) };
        let prepared = runner.prepare(&request).unwrap();
        let words: Vec<String> =
            prepared.argv.iter().skip(1).map(|word| word.to_str().unwrap().to_owned()).collect();
        (words.join(" "), prepared.stdin.map(|bytes| bytes.len()))
    };
    let codex = |prompt: &str| line(Runner::Codex, Permission::ReadOnly, prompt, None);
    let documented = "--cd /workdir --sandbox read-only --ask-for-approval never exec ";
    assert_eq!(codex("do it"), (format!("{documented}do it"), None));
    for prompt in ["-x", "resume", "nul\0", "-", &"x".repeat(200_000)] {
        assert_eq!(codex(prompt), (format!("{documented}-"), Some(prompt.len())), "{}", &prompt[..1]);
    }
    let copilot = |prompt: &str| line(Runner::Copilot, Permission::ReadOnly, prompt, None);
    let documented = "--allow-all-tools --allow-all-paths --stream off";
    assert_eq!(copilot("do it"), (format!("-p do it {documented}"), None));
    for prompt in ["-x", &"x".repeat(200_000)] {
        assert_eq!(copilot(prompt), (documented.to_owned(), Some(prompt.len())));
    }
    assert_eq!(
        line(Runner::Codex, Permission::ReadOnly, "do it", Some("gpt-5")).0,
        "--cd /workdir --sandbox read-only --ask-for-approval never --model gpt-5 exec do it"
    );
    // The documented line has no words for another level.
    assert!(line(Runner::Codex, Permission::Full, "do it", None).0.contains("danger-full-access"));
}

#[test]
fn a_runner_that_cannot_hold_the_level_says_so() {
    let asked = Asked::new();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".gemini")).unwrap();
    std::fs::write(home.path().join(".gemini/settings.json"), "{}").unwrap();
    let refusal = |runner: &Runner, permission| {
        let request = AttemptSpec {
            workdir: home.path(),
            ..asked.request(permission, "do it", CommandVariant::Native)
        };
        runner.prepare(&request).err().map(|refused| refused.to_string())
    };
    assert_eq!(
        refusal(&Runner::Gemini, Permission::ReadOnly).unwrap(),
        "gemini cannot run at permission level `read-only`: the working directory has settings of its own for it, \
         which can start programs, and it cannot be told to leave them out"
    );
    assert_eq!(refusal(&Runner::Gemini, Permission::Full), None);
    let aider = Runner::Custom(Arc::new(own(&["aider"])));
    assert_eq!(
        refusal(&aider, Permission::ReadOnly).unwrap(),
        "aider cannot run at permission level `read-only`: its configuration says that its command line holds full only"
    );
    let unsaid = Runner::Custom(Arc::new(CustomRunner { levels: Vec::new(), ..own(&["aider"]) }));
    assert!(refusal(&unsaid, Permission::Full).unwrap().contains("name them in `levels`"));
    let in_argv = Runner::Custom(Arc::new(own(&["aider", "{prompt}"])));
    let long = "x".repeat(200_000);
    let refused =
        in_argv.prepare(&asked.request(Permission::Full, &long, CommandVariant::Native)).unwrap_err();
    assert!(refused.to_string().starts_with("aider cannot take this prompt"), "{refused}");
}

#[test]
fn a_prompt_is_never_read_for_placeholders() {
    let asked = Asked::new();
    let runner = Runner::Custom(Arc::new(own(&["aider", "{prompt} in {workdir}"])));
    let request = asked.request(Permission::Full, "say {workdir} and {model}", CommandVariant::Native);
    let argv = runner.prepare(&request).unwrap().argv;
    assert_eq!(argv[1], "say {workdir} and {model} in /workdir");
    assert_eq!(PathBuf::from(&argv[0]), request.program);
}
