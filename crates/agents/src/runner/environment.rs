//! Environment of runners: an allow-list of the hub's variables, so that no runner gets a secret of the hub.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use adjutant_base::config::env;

/// Names of the variables that every program needs.
const COMMON_NAMES: &[&str] = &[
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
    // Proxies, and the certificates to trust.
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

/// Prefixes of further variables that every program needs.
const COMMON_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The hub's environment, of which every runner gets its allowed part.
#[derive(Clone, Debug, Default)]
pub struct RunnerEnv {
    variables: Vec<(OsString, OsString)>,
}

/// The variables that one runner gets in addition to the common ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunnerVariables {
    pub(super) names: &'static [&'static str],
    pub(super) prefixes: &'static [&'static str],
}

impl RunnerEnv {
    /// Captures the environment of this process as it is now.
    pub fn capture() -> Self {
        Self { variables: env::snapshot() }
    }

    /// Returns the `PATH`.
    pub fn path(&self) -> Option<OsString> {
        self.variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone())
    }

    /// Returns the environment of a check: the common variables only.
    pub fn for_check(&self) -> Vec<(OsString, OsString)> {
        self.for_runner(RunnerVariables { names: &[], prefixes: &[] }, &[], [])
    }

    /// Returns the environment of a runner: the common variables, its `variables`, the `passed` names of the
    /// configuration, and on top the `added` values, of which the later ones win.
    pub(super) fn for_runner<'a>(
        &self,
        variables: RunnerVariables,
        passed: &[String],
        added: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(OsString, OsString)> {
        let allowed = |name: &OsStr| {
            // A name that is not UTF-8 is on no list.
            let Some(name) = name.to_str() else { return false };
            COMMON_NAMES.contains(&name)
                || variables.names.contains(&name)
                || passed.iter().any(|passed| passed == name)
                || COMMON_PREFIXES.iter().chain(variables.prefixes).any(|prefix| name.starts_with(prefix))
        };
        let mut env: BTreeMap<OsString, OsString> = self
            .variables
            .iter()
            .filter(|(name, _)| allowed(name))
            .cloned()
            // Colours would be noise in the parsed output.
            .chain([(OsString::from("NO_COLOR"), OsString::from("1"))])
            .collect();
        for (name, value) in added {
            env.insert(name.into(), value.into());
        }
        env.into_iter().collect()
    }
}

#[cfg(test)]
impl RunnerEnv {
    /// Returns an environment of these variables.
    pub(super) fn with(variables: &[(&str, &str)]) -> Self {
        Self { variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{RunnerEnv, RunnerVariables};

    #[test]
    fn a_runner_gets_allowed_variables_only() {
        let hub = RunnerEnv::with(&[
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
        let own = RunnerVariables { names: &["CODEX_HOME"], prefixes: &[] };
        let share = hub.for_runner(own, &["MINE".to_owned()], [("EXTRA", "a"), ("EXTRA", "b")]);
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
