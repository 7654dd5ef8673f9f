//! Settings of the assistant: providers of proposals in their order, and timeouts.

mod provider;

use std::time::Duration;

use super::table::{Plain, PositiveSeconds};
pub use provider::{Adviser, Endpoint, Key, KeyError, Runner};
#[cfg(test)]
pub(super) use provider::{EndpointFile, RunnerFile};
use provider::{EndpointTable, RunnerTable};

super::table::settings! {
    /// The settings of the assistant.
    #[derive(Clone, Debug)]
    pub struct AssistantConfig, file File, section "assistant" {
        /// Models that are asked to plan notifications, in this order.
        advisers: Vec<Adviser> = Vec::new(), planner as Plain;
        /// Maximum seconds of a call of an assistant tool.
        call_timeout: Duration = Duration::from_secs(30), call_timeout_seconds as PositiveSeconds;
        /// Maximum seconds that one planning waits for all models.
        planning_timeout: Duration = Duration::from_secs(45), planning_timeout_seconds as PositiveSeconds;
        /// Maximum number of events about which one planning asks a model.
        max_events_asked: usize = 10, max_events_asked as Plain;
        /// Clients that change events without a question to the user, by their names. A client chooses its name itself; a
        /// client that works on a task is never trusted.
        trusted_clients: Vec<String> = Vec::new(), trusted_clients as Plain;
        /// The model server that is asked; its key is not shown.
        endpoint: Option<Endpoint> = None, endpoint as EndpointTable;
        /// The runner that is asked.
        runner: Runner = Runner::default(), runner as RunnerTable;
    }
    others {}
}

/// Checks the order of the providers. The error is a sentence fragment.
pub(super) fn check(config: &AssistantConfig) -> Result<(), String> {
    for (position, adviser) in config.advisers.iter().enumerate() {
        if config.advisers[..position].contains(adviser) {
            return Err("assistant.planner has an entry twice".to_owned());
        }
        if *adviser == Adviser::Endpoint && config.endpoint.is_none() {
            return Err("assistant.planner names `endpoint`, and there is no [assistant.endpoint]".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<AssistantConfig, String> {
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let mut config = AssistantConfig::default();
        file.apply(&mut config, Path::new("/home/ann/.adjutant")).map_err(|error| error.to_string())?;
        check(&config)?;
        Ok(config)
    }

    #[test]
    fn providers_keep_their_order() {
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
    fn a_key_is_never_sent_in_clear_text() {
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
    fn an_invalid_section_is_rejected() {
        for (text, reason) in [
            ("planner = ['endpoint']", "there is no [assistant.endpoint]"),
            ("planner = ['client', 'client']", "twice"),
            ("planner = ['oracle']", "unknown variant"),
            ("[endpoint]\nbase_url = 'https://x'\nmodel = ' '", "model is empty"),
            ("[endpoint]\nbase_url = 'https://x'\nmodel = 'm'\nkey_env = 'A'\nkey_file = 'b'", "two places"),
            ("[endpoint]\nbase_url = 'https://x'\nmodel = 'm'\nkey = 'sk-1'", "unknown field"),
        ] {
            assert!(read(text).unwrap_err().contains(reason), "{text}");
        }
    }
}
