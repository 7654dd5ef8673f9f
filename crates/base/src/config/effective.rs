//! Every setting with its effective value and the source of that value.

use super::sources::Origin;
use super::table::{Row, to_toml};
use super::toolsets::ToolsetsConfig;
use super::{Config, channels, env};

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key as `config.toml` spells it, with its section before the dot; the file has no key `home`.
    pub key: String,
    /// The value as the file would spell it; empty if nothing is set.
    pub value: String,
    pub from: Origin,
    /// The setting's sentence in the reference.
    pub about: &'static str,
}

/// Returns every setting, in the order of the reference; `toolsets` are the switches as they are now.
pub fn list(config: &Config, toolsets: &ToolsetsConfig) -> Vec<Setting> {
    let home = to_toml(&env::abbreviate(&config.home));
    let outside = vec![
        Row::new(
            "",
            "home",
            home,
            "Folder of the hub's files. Not a key of the file: set `--home` or `ADJUTANT_HOME`.",
        ),
        Row::new(
            "",
            "log_filter",
            to_toml(&env::log_filter()),
            "Filter of the log lines, such as `debug`. Not a key of the file: set `--log-level` or `ADJUTANT_LOG`.",
        ),
    ];
    let sections = [
        outside,
        config.rows(),
        config.runners.rows(),
        config.http.rows(),
        config.openid.rows(),
        toolsets.rows(),
        config.prompts.rows(),
        config.agents.rows(),
        config.delegation.rows(),
        config.questions.rows(),
        config.permissions.rows(),
        vec![config.permissions.rules_row()],
        config.codex.rows(),
        config.assistant.rows(),
        config.workers.rows(),
        config.traces.rows(),
        config.recorder.rows(),
        config.delivery.rows(),
        config.channels.rows(),
        channels::NtfyConfig::rows(config.channels.ntfy.as_ref()).collect(),
    ];
    let setting =
        |Row { key, value, about }| Setting { from: config.sources.origin(&key), key, value, about };
    sections.into_iter().flatten().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::config::assistant::{EndpointFile, RunnerFile};
    use crate::config::notification_delivery::Phone;
    use crate::config::permissions::ApprovalRule;
    use crate::config::runners::RunnerEntry;
    use crate::config::table::Table as _;
    use crate::config::toolsets::Client;
    use crate::config::{File, Overrides, Roots};

    /// Returns the keys of a section, from the parser's error for an unknown key.
    fn known(section: &str) -> Vec<String> {
        let text =
            if section.is_empty() { "nothing = 1".to_owned() } else { format!("[{section}]\nnothing = 1") };
        let error = toml::from_str::<File>(&text).err().unwrap().to_string();
        let names = error.split("expected ").nth(1).unwrap_or_else(|| panic!("{error}"));
        names.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
    }

    /// The tables that have no default, with their keys.
    const TABLES: [(&str, &[(&str, &str)]); 6] = [
        ("[clients.NAME]", Client::KEYS),
        ("[[runners]]", RunnerEntry::KEYS),
        ("[[approval_rules]]", ApprovalRule::KEYS),
        ("[assistant.endpoint]", EndpointFile::KEYS),
        ("[assistant.runner]", RunnerFile::KEYS),
        ("[notifications.phone]", Phone::KEYS),
    ];

    /// Examples of keys whose default is empty, or says too little. Any other key has its default as its example.
    const EXAMPLES: &[(&str, &str)] = &[
        ("runner_cooldown_minutes", "15"),
        ("socket", r#""/run/user/1000/adjutant.sock""#),
        ("database", r#""postgres://adjutant@db.example.org/adjutant""#),
        ("http.behind_tls_proxy", r#"["hub.example.org"]"#),
        ("http.tls_certificate", r#""/etc/adjutant/fullchain.pem""#),
        ("http.tls_key", r#""/etc/adjutant/key.pem""#),
        ("http.tls_names", r#"["hub.example.org"]"#),
        ("openid.issuer", r#""https://id.example.org""#),
        ("openid.client_id", r#""adjutant""#),
        ("openid.client_secret_file", r#""openid.secret""#),
        ("prompts.folders", r#"["/srv/shop/prompts"]"#),
        ("agents.folders", r#"["/srv/shop/agents"]"#),
        ("tasks.per_runner", "{ codex = 2 }"),
        ("tasks.network", r#"["packages.example.org", "*.example.com:443"]"#),
        ("questions.wait_seconds_by_client", "{ codex = 50 }"),
        ("questions.groups", r#"{ backend = ["ann", "bob"] }"#),
        ("questions.for_folders", r#"{ "/srv/shop" = "@backend" }"#),
        ("questions.ask_in_client", r#"["claude-code"]"#),
        ("codex.program", r#""/opt/codex/bin/codex""#),
        ("assistant.planner", r#"["endpoint"]"#),
        ("assistant.trusted_clients", r#"["claude-code"]"#),
        ("workers.nats", r#""tls://nats.example.org:4222""#),
        ("workers.creds", r#""hub.creds""#),
        ("traces.endpoint", r#""http://127.0.0.1:4318""#),
        ("notifications.mail", r#""smtp://ann:secret@mail.example.org:587""#),
        ("notifications.mail_from", r#""Adjutant <adjutant@example.org>""#),
        ("ntfy.server", r#""https://ntfy.sh""#),
        ("ntfy.topic", r#""shop-0f3b1d5a8c27""#),
        ("ntfy.reply_topic", r#""shop-9e44c0a7d1b6""#),
        ("ntfy.token", r#""tk_0a1b2c3d4e5f""#),
    ];

    /// Keys that no section's example has: no keys of the file, and tables with examples of their own.
    const WITHOUT_EXAMPLE: [&str; 7] = [
        "home",
        "log_filter",
        "runners",
        "approval_rules",
        "assistant.endpoint",
        "assistant.runner",
        "notifications.phone",
    ];

    /// The examples of `TABLES`, in their order.
    const TABLE_EXAMPLES: [&str; 6] = [
        r#"[clients.claude-code]
toolsets = ["prompts", "questions"]"#,
        r#"[[runners]]
name = "aider"
priority = 10
models = ["gpt-5"]
writable = ["/home/ann/.aider"]
hosts = ["api.openai.com:443"]
stall_seconds = 300
command = ["aider", "--yes-always", "--message", "{prompt}"]
version_command = ["aider", "--version"]
stdin = "empty"
final_message = "stdout"
env = { LANG = "C.UTF-8" }
pass_env = ["OPENAI_API_KEY"]
levels = ["workspace-write"]
usage_limit = ["rate limit"]
authentication = ["invalid API key"]

[[runners]]
name = "codex"
program = "/opt/codex/bin/codex""#,
        r#"[[approval_rules]]
name = "tests"
decision = "allow"
client = "claude"
command = "cargo test *"
folder = "/home/ann/shop"
expires = "2027-12-31T00:00:00Z"

[[approval_rules]]
name = "read the price list"
decision = "allow"
tool = "Read"
path = "/home/ann/shop/prices"

[[approval_rules]]
name = "no uploads"
decision = "deny"
host = "upload.example.org""#,
        r#"[assistant.endpoint]
base_url = "https://models.example.org/v1"
model = "some-model"
key_file = "model.key"          # or: key_env = "MODEL_KEY"
timeout_seconds = 30"#,
        r#"[assistant.runner]
name = "codex"
model = "gpt-5"
timeout_seconds = 120"#,
        r#"[notifications.phone]
base_url = "https://api.twilio.com"
account = "AC0123456789"
token = "secret"
from = "+15550000000""#,
    ];

    /// Returns the type of a value of the file.
    fn kind(value: &toml::Value) -> &'static str {
        match value {
            toml::Value::String(_) => "text",
            toml::Value::Integer(_) => "number",
            toml::Value::Boolean(_) => "boolean",
            toml::Value::Array(_) => "list",
            toml::Value::Table(_) => "table",
            toml::Value::Float(_) | toml::Value::Datetime(_) => unreachable!("no key has such a value"),
        }
    }

    /// Returns the type of each key in the example of a table.
    fn kinds(example: &str) -> BTreeMap<String, &'static str> {
        let mut kinds = BTreeMap::new();
        let mut entries: Vec<toml::Value> =
            toml::from_str::<toml::Table>(example).unwrap().into_iter().map(|(_, value)| value).collect();
        while let Some(entry) = entries.pop() {
            match entry {
                toml::Value::Array(tables) => entries.extend(tables),
                toml::Value::Table(table) => {
                    // `[clients.NAME]` is a table in a table.
                    for (key, value) in table {
                        kinds.insert(key, kind(&value));
                        if value.is_table() {
                            entries.push(value);
                        }
                    }
                }
                _ => {}
            }
        }
        kinds
    }

    #[test]
    fn every_key_of_the_file_is_listed() {
        let listed: BTreeSet<String> = list(&Config::default(), &ToolsetsConfig::default())
            .into_iter()
            .map(|setting| setting.key)
            .collect();
        let mut missing = Vec::new();
        for top in known("") {
            // The keys of `[clients]` are names that users choose.
            if top == "clients" || listed.contains(&top) {
                continue;
            }
            for key in known(&top) {
                let key = format!("{top}.{key}");
                if !listed.contains(&key) {
                    missing.push(key);
                }
            }
        }
        assert!(
            missing.is_empty(),
            "list these in config/effective.rs, or /settings does not show them: {missing:?}"
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the switch that writes the page is this test's")]
    fn the_reference_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join(".adjutant");
        let overrides = Overrides { home: Some(home), ..Overrides::default() };
        let config = Config::load(overrides, Roots::User).unwrap();
        let mut page = String::from(
            "# Configuration\n\n`config.toml` in `~/.adjutant` (or in `$ADJUTANT_HOME`). Every key is optional. An unknown \
             key is an error that names its line.\nThe block below each table has an example of each key; a test loads \
             all of them as one file.\n`/settings` in the console shows the effective values and where \
             each came from. Changes of\n`[toolsets]`, `[clients.NAME]` and the runners count within a second; \
             `adjutant reload`, or SIGHUP, applies them\nat once. All others count from the next start of the hub on: \
             `adjutant restart`. A test writes this page: change\nthe tables in `crates/base/src/config/`, then run \
             the test with `INSTA_UPDATE=always`.\n",
        );
        let mut section = None;
        // The examples of all sections are one file, which has to be valid.
        let (mut file, mut example) = (String::new(), String::new());
        let finish = |page: &mut String, file: &mut String, example: &mut String| {
            if !example.is_empty() {
                writeln!(page, "\n```toml\n{}\n```", example.trim_end()).unwrap();
                writeln!(file, "{example}").unwrap();
                example.clear();
            }
        };
        let mut settings = list(&config, &config.toolsets);
        // The keys of no table come first, in one section; the stable sort keeps the others in their order.
        settings.sort_by_key(|setting| setting.key.contains('.'));
        for setting in settings {
            let (of, key) = setting.key.split_once('.').unwrap_or(("", &setting.key));
            if section.as_deref() != Some(of) {
                let title =
                    if of.is_empty() { "Keys outside of tables".to_owned() } else { format!("`[{of}]`") };
                finish(&mut page, &mut file, &mut example);
                write!(page, "\n## {title}\n\n| key | type | default | meaning |\n|---|---|---|---|\n")
                    .unwrap();
                if !of.is_empty() {
                    writeln!(example, "[{of}]").unwrap();
                }
                section = Some(of.to_owned());
            }
            // The folder of this test is replaced by the default home of a user.
            let value = setting.value.replace(&env::abbreviate(&config.home), "~/.adjutant");
            let value = value
                .replace(&format!("{}/", env::abbreviate(folder.path())), "~/")
                .replace("…/", "~/.adjutant/");
            let given = EXAMPLES.iter().find(|(key, _)| *key == setting.key).map(|(_, example)| *example);
            let of_type = if WITHOUT_EXAMPLE.contains(&setting.key.as_str()) {
                if setting.key.contains('.') { "table" } else { "—" }
            } else {
                let given = given.unwrap_or(&value);
                let line = format!("{key} = {given}");
                let parsed = toml::from_str::<toml::Table>(&line)
                    .unwrap_or_else(|error| panic!("`{}` needs a row in EXAMPLES: {error}", setting.key));
                writeln!(example, "{line}").unwrap();
                kind(&parsed[key])
            };
            let value = match (setting.key.as_str(), value.as_str()) {
                // Variables of the other programs name their folders.
                ("agents.folders", _) => "your folder, folders of other programs, bundled agents".to_owned(),
                (_, "") => "—".to_owned(),
                (_, value) => format!("`{}`", value.replace('|', "\\|")),
            };
            writeln!(page, "| `{key}` | {of_type} | {value} | {} |", setting.about.replace('|', "\\|"))
                .unwrap();
        }
        finish(&mut page, &mut file, &mut example);
        for ((table, keys), example) in TABLES.into_iter().zip(TABLE_EXAMPLES) {
            write!(page, "\n## `{table}`\n\n| key | type | meaning |\n|---|---|---|\n").unwrap();
            let kinds = kinds(example);
            for (key, about) in keys {
                // A comment names the other one of two keys.
                let kind = kinds.get(*key).copied().unwrap_or("text");
                assert!(example.contains(&format!("{key} = ")), "`{key}` is not in the example of `{table}`");
                writeln!(page, "| `{key}` | {kind} | {about} |").unwrap();
            }
            finish(&mut page, &mut file, &mut example.to_owned());
        }
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), &file).unwrap();
        let overrides = Overrides { home: Some(home.path().to_owned()), ..Overrides::default() };
        if let Err(error) = Config::load(overrides, Roots::User) {
            panic!("the examples are not a valid file: {error}\n{file}");
        }
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(&file, &page).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == page,
            "docs/configuration.md is out of date: run this test with INSTA_UPDATE=always"
        );
    }
}
