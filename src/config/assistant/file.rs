//! `[assistant]` of `config.toml`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{Adviser, AssistantConfig, Endpoint, Key, Runner};

/// The section as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct File {
    /// `endpoint`, `runner`, `client`, `sampling`.
    #[serde(default)]
    planner: Vec<Adviser>,
    call_timeout_seconds: Option<u64>,
    planning_seconds: Option<u64>,
    questions: Option<usize>,
    endpoint: Option<EndpointFile>,
    #[serde(default)]
    runner: RunnerFile,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointFile {
    base_url: String,
    model: String,
    key_env: Option<String>,
    /// Relative to the home, or absolute.
    key_file: Option<PathBuf>,
    timeout_seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunnerFile {
    name: Option<String>,
    model: Option<String>,
    timeout_seconds: Option<u64>,
}

impl File {
    /// Puts what the file says into `config`. The error is a sentence fragment.
    pub(in crate::config) fn apply(self, config: &mut AssistantConfig, home: &Path) -> Result<(), String> {
        // A call that may take no time could never be answered.
        let seconds = |value: Option<u64>, usual: Duration| {
            value.map_or(usual, |seconds| Duration::from_secs(seconds.max(1)))
        };
        config.call_timeout = seconds(self.call_timeout_seconds, config.call_timeout);
        config.planning = seconds(self.planning_seconds, config.planning);
        config.questions = self.questions.unwrap_or(config.questions);
        config.runner = Runner {
            name: self.runner.name,
            model: self.runner.model,
            timeout: seconds(self.runner.timeout_seconds, config.runner.timeout),
        };
        if let Some(endpoint) = self.endpoint {
            config.endpoint = Some(endpoint.checked(home)?);
        }
        for (position, adviser) in self.planner.iter().enumerate() {
            if self.planner[..position].contains(adviser) {
                return Err("assistant.planner names somebody twice".to_owned());
            }
            if *adviser == Adviser::Endpoint && config.endpoint.is_none() {
                return Err(
                    "assistant.planner names `endpoint`, and there is no [assistant.endpoint]".to_owned()
                );
            }
        }
        config.advisers = self.planner;
        Ok(())
    }
}

impl EndpointFile {
    fn checked(self, home: &Path) -> Result<Endpoint, String> {
        let fault = |what: &str| Err(format!("assistant.endpoint.{what}"));
        let key = match (self.key_env, self.key_file) {
            (None, None) => Key::None,
            (Some(name), None) => Key::Variable(name),
            (None, Some(file)) => Key::File(home.join(file)),
            (Some(_), Some(_)) => return fault("key_env and key_file are two places for one key"),
        };
        let base_url = self.base_url.trim_end_matches('/').to_owned();
        let Some((scheme, rest)) =
            base_url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        else {
            return fault("base_url must start with http:// or https://");
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') || rest.contains(['?', '#']) {
            return fault("base_url must be a host and a path: a key stands in key_env or key_file");
        }
        if scheme == "http" && key != Key::None && !is_loopback(authority) {
            return fault("base_url must start with https://, for a key is sent there");
        }
        if self.model.trim().is_empty() {
            return fault("model is empty");
        }
        let timeout = Duration::from_secs(self.timeout_seconds.unwrap_or(30).max(1));
        Ok(Endpoint { base_url, model: self.model, key, timeout })
    }
}

/// Whether a host, with or without a port, is this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    let host = host.unwrap_or_default();
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AssistantConfig, String> {
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let mut config = AssistantConfig::default();
        file.apply(&mut config, Path::new("/home/ann/.adjutant"))?;
        Ok(config)
    }

    #[test]
    fn who_is_asked_stands_in_an_order() {
        let config = read(
            "planner = ['sampling', 'endpoint']\n[endpoint]\nbase_url = 'http://localhost:11434/v1/'\n\
             model = 'm'\nkey_file = 'model.key'\n",
        )
        .unwrap();
        assert_eq!(config.advisers, [Adviser::Sampling, Adviser::Endpoint]);
        let endpoint = config.endpoint.unwrap();
        assert_eq!(endpoint.base_url, "http://localhost:11434/v1");
        assert_eq!(endpoint.key, Key::File("/home/ann/.adjutant/model.key".into()));
        assert_eq!(read("").unwrap().advisers, []);
    }

    #[test]
    fn a_key_goes_nowhere_in_the_open() {
        let endpoint = |url: &str, key: &str| {
            read(&format!("[endpoint]\nbase_url = '{url}'\nmodel = 'm'\n{key}"))
                .map(|config| config.endpoint.unwrap())
        };
        let key = "key_env = 'KEY'";
        for url in
            ["https://models.example.org/v1", "http://127.0.0.1:1/v1", "http://[::1]:1", "http://LOCALHOST"]
        {
            endpoint(url, key).unwrap();
        }
        for url in ["http://models.example.org/v1", "http://127.0.0.1.example.org", "http://10.0.0.1"] {
            assert!(endpoint(url, key).unwrap_err().contains("https://"), "{url}");
            endpoint(url, "").unwrap();
        }
        for url in ["https://key@models.example.org", "https://x/v1?key=1", "ftp://x", "x", "https://"] {
            endpoint(url, "").unwrap_err();
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (text, said) in [
            ("planner = ['endpoint']", "there is no [assistant.endpoint]"),
            ("planner = ['client', 'client']", "twice"),
            ("planner = ['oracle']", "unknown variant"),
            ("[endpoint]\nbase_url = 'https://x'\nmodel = ' '", "model is empty"),
            ("[endpoint]\nbase_url = 'https://x'\nmodel = 'm'\nkey_env = 'A'\nkey_file = 'b'", "two places"),
            ("[endpoint]\nbase_url = 'https://x'\nmodel = 'm'\nkey = 'sk-1'", "unknown field"),
        ] {
            assert!(read(text).unwrap_err().contains(said), "{text}");
        }
    }
}
