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

    use std::collections::BTreeSet;

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
             key is an error that names its line.\n`/settings` in the console shows the effective values and where \
             each came from. Changes of\n`[toolsets]`, `[clients.NAME]` and the runners count within a second; \
             `adjutant reload`, or SIGHUP, applies them\nat once. All others count from the next start of the hub on: \
             `adjutant restart`. A test writes this page: change\nthe tables in `crates/base/src/config/`, then run \
             the test with `INSTA_UPDATE=always`.\n",
        );
        let mut section = None;
        let mut settings = list(&config, &config.toolsets);
        // The keys of no table come first, in one section; the stable sort keeps the others in their order.
        settings.sort_by_key(|setting| setting.key.contains('.'));
        for setting in settings {
            let (of, key) = setting.key.split_once('.').unwrap_or(("", &setting.key));
            if section.as_deref() != Some(of) {
                let title =
                    if of.is_empty() { "Keys outside of tables".to_owned() } else { format!("`[{of}]`") };
                write!(page, "\n## {title}\n\n| key | default | meaning |\n|---|---|---|\n").unwrap();
                section = Some(of.to_owned());
            }
            // The folder of this test is replaced by the default home of a user.
            let value = setting.value.replace(&env::abbreviate(&config.home), "~/.adjutant");
            let value = value
                .replace(&format!("{}/", env::abbreviate(folder.path())), "~/")
                .replace("…/", "~/.adjutant/");
            let value = match (setting.key.as_str(), value.as_str()) {
                // Variables of the other programs name their folders.
                ("agents.folders", _) => "your folder, folders of other programs, bundled agents".to_owned(),
                (_, "") => "—".to_owned(),
                (_, value) => format!("`{}`", value.replace('|', "\\|")),
            };
            writeln!(page, "| `{key}` | {value} | {} |", setting.about.replace('|', "\\|")).unwrap();
        }
        for (table, keys) in TABLES {
            write!(page, "\n## `{table}`\n\n| key | meaning |\n|---|---|\n").unwrap();
            for (key, about) in keys {
                writeln!(page, "| `{key}` | {about} |").unwrap();
            }
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
