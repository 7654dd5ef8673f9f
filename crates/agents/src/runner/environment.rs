//! What of the hub's environment a runner gets: an allow-list, so that a secret of the hub is never a runner's.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::config::env;

/// What every program needs to find its way.
const ALWAYS: &[&str] = &[
    "HOME",
    "PATH",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "COLORTERM",
    // The way out through a proxy, and whom to trust there.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Beginnings of what every program needs.
const ALWAYS_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The environment that runs are given their share of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    variables: Vec<(OsString, OsString)>,
}

/// The variables that a runner of one kind gets besides those that all get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) names: &'static [&'static str],
    pub(super) prefixes: &'static [&'static str],
}

impl Environment {
    /// Takes the hub's own environment as it is now.
    pub(crate) fn of_this_process() -> Self {
        Self { variables: env::snapshot() }
    }

    /// Returns the `PATH`.
    pub(crate) fn path(&self) -> Option<OsString> {
        self.variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone())
    }

    /// Returns what a check of the hub's own gets: what every run gets, and nothing of a runner's.
    pub(crate) fn of_check(&self) -> Vec<(OsString, OsString)> {
        self.share(Own { names: &[], prefixes: &[] }, &[], [])
    }

    /// Returns the share of a runner: what all get, its `own`, the `passed` names of the configuration, and on top
    /// the `added` values, the later ones winning.
    pub(super) fn share<'a>(
        &self,
        own: Own,
        passed: &[String],
        added: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(OsString, OsString)> {
        let allowed = |name: &OsStr| {
            // A name that is not text is on no list.
            let Some(name) = name.to_str() else { return false };
            ALWAYS.contains(&name)
                || own.names.contains(&name)
                || passed.iter().any(|passed| passed == name)
                || ALWAYS_PREFIXES.iter().chain(own.prefixes).any(|prefix| name.starts_with(prefix))
        };
        let mut share: BTreeMap<OsString, OsString> = self
            .variables
            .iter()
            .filter(|(name, _)| allowed(name))
            .cloned()
            // Colours are noise in what is parsed and kept.
            .chain([(OsString::from("NO_COLOR"), OsString::from("1"))])
            .collect();
        for (name, value) in added {
            share.insert(name.into(), value.into());
        }
        share.into_iter().collect()
    }
}

#[cfg(test)]
impl Environment {
    /// An environment of these variables.
    pub(super) fn of(variables: &[(&str, &str)]) -> Self {
        Self { variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, Own};

    #[test]
    fn only_what_is_allowed_passes() {
        let hub = Environment::of(&[
            ("HOME", "/home/u"),
            ("LC_ALL", "C"),
            ("XDG_RUNTIME_DIR", "/run/u"),
            ("https_proxy", "http://p"),
            ("DATABASE_URL", "secret"),
            ("ADJUTANT_LOG", "debug"),
            ("CLAUDECODE", "1"),
            ("CODEX_HOME", "/c"),
            ("MINE", "1"),
            ("GITHUB_TOKEN", "not for codex"),
        ]);
        let own = Own { names: &["CODEX_HOME"], prefixes: &[] };
        let share = hub.share(own, &["MINE".to_owned()], [("EXTRA", "a"), ("EXTRA", "b")]);
        let share: Vec<String> = share
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        assert_eq!(
            share,
            [
                "CODEX_HOME=/c",
                "EXTRA=b",
                "HOME=/home/u",
                "LC_ALL=C",
                "MINE=1",
                "NO_COLOR=1",
                "XDG_RUNTIME_DIR=/run/u",
                "https_proxy=http://p",
            ]
        );
    }
}
