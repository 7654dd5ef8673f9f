//! The sources of settings: flags, environment, file.

use std::collections::{BTreeMap, BTreeSet};

use super::env;

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// `config.toml`.
    File,
    /// This variable.
    Environment(&'static str),
    /// This flag of the command line.
    Flag(&'static str),
}

/// The settings that were set at the start, with their sources.
#[derive(Clone, Debug, Default)]
pub struct SettingSources {
    /// The keys of the file, as [`super::effective::Setting::key`], with their values there.
    pub(super) file: BTreeMap<String, String>,
    /// Keys that a flag set, with the flag.
    pub(super) flags: Vec<(&'static str, &'static str)>,
    /// The variable that named the home folder.
    pub(super) home: Option<&'static str>,
}

impl SettingSources {
    /// Returns the source of a setting's value.
    pub(super) fn origin(&self, key: &str) -> Origin {
        if let Some((_, flag)) = self.flags.iter().find(|(set, _)| *set == key) {
            return Origin::Flag(flag);
        }
        match self.home {
            Some(variable) if key == "home" => Origin::Environment(variable),
            _ if key == "log_filter" && env::log_filter().is_some() => Origin::Environment("ADJUTANT_LOG"),
            _ if self.file.contains_key(key) => Origin::File,
            _ => Origin::Default,
        }
    }

    /// Returns the keys that the file sets differently since the start and that take effect at the next start. Keys
    /// that take effect at once and keys with a flag are left out.
    pub(super) fn pending_restart(&self, now: &BTreeMap<String, String>) -> Vec<String> {
        let has_flag = |key: &str| self.flags.iter().any(|(set, _)| *set == key);
        let keys: BTreeSet<&String> = self.file.keys().chain(now.keys()).collect();
        let differ = keys.into_iter().filter(|key| self.file.get(*key) != now.get(*key));
        differ.filter(|key| !takes_effect_at_once(key) && !has_flag(key)).cloned().collect()
    }
}

/// Returns whether a change of this key takes effect at once and not at the next start.
fn takes_effect_at_once(key: &str) -> bool {
    ["toolsets.", "clients.", "runner", "permissions.", "approval_rules"]
        .iter()
        .any(|start| key.starts_with(start))
}

/// Returns the keys of a file's text, as [`super::effective::Setting::key`], with their values.
pub(super) fn parse_keys(text: &str) -> BTreeMap<String, String> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let mut keys = BTreeMap::new();
    for (section, value) in table {
        match value {
            toml::Value::Table(members) => {
                let member =
                    |(key, value): (String, toml::Value)| (format!("{section}.{key}"), value.to_string());
                keys.extend(members.into_iter().map(member));
            }
            value => drop(keys.insert(section, value.to_string())),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_names_its_source() {
        let sources = SettingSources {
            file: parse_keys(
                "grace_seconds = 1\n[http]\nsessions = 2\naddress = \"off\"\n[clients.x]\ntoolsets = []\n[[runners]]\n",
            ),
            flags: vec![("http.address", "--http")],
            home: Some("HOME"),
        };
        assert_eq!(sources.origin("http.address"), Origin::Flag("--http"));
        assert_eq!(sources.origin("http.sessions"), Origin::File);
        assert_eq!(sources.origin("runners"), Origin::File);
        assert_eq!(sources.origin("clients.x"), Origin::File);
        assert_eq!(sources.origin("http.auth"), Origin::Default);
        assert_eq!(sources.origin("home"), Origin::Environment("HOME"));
    }
}
