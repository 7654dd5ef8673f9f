//! Network of a run: what the configuration and the agent's file both allow, and the hosts of the runner's model.

use crate::runner::Runner;
use adjutant_base::config::network::{Network, matches};

/// The network of one run.
#[derive(Debug)]
pub(crate) struct RunNetwork {
    /// Of the configuration, and of the agent's file.
    rules: [Network; 2],
    /// Hosts that a list leaves reachable.
    model: Vec<String>,
}

impl RunNetwork {
    /// Returns the network of a run on `runner`, which has these `hosts` in the configuration too.
    pub(crate) fn new(rules: [Network; 2], runner: &Runner, hosts: &[String]) -> Self {
        let known = model_hosts(runner).iter().map(|host| (*host).to_owned());
        Self { rules, model: known.chain(hosts.iter().map(|host| host.to_ascii_lowercase())).collect() }
    }

    /// Returns whether the run has the network of the machine.
    pub(crate) fn is_all(&self) -> bool {
        self.rules.iter().all(|rule| *rule == Network::All)
    }

    /// Returns whether the run may reach some hosts and not others.
    pub(crate) fn is_list(&self) -> bool {
        !self.is_all() && !self.rules.contains(&Network::None)
    }

    /// Returns whether the run may connect to `port` of `host`. Call it for a list.
    pub(crate) fn allows(&self, host: &str, port: u16) -> bool {
        self.model.iter().any(|entry| matches(entry, host, port))
            || self.rules.iter().all(|rule| rule.allows(host, port))
    }
}

/// Returns a rule as text for users.
fn text(rule: &Network) -> String {
    match rule {
        Network::All => "all".to_owned(),
        Network::None => "none".to_owned(),
        Network::Hosts(hosts) => hosts.join(", "),
    }
}

impl std::fmt::Display for RunNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.rules {
            rules if rules.contains(&Network::None) => f.write_str("none"),
            [one, Network::All] | [Network::All, one] => f.write_str(&text(one)),
            [config, agent] => {
                write!(f, "{}, of which the configuration allows {}", text(agent), text(config))
            }
        }
    }
}

/// Returns the hosts of a runner's login and model, as far as they are known: other providers are in its own files.
fn model_hosts(runner: &Runner) -> &'static [&'static str] {
    match runner {
        Runner::Codex => &["api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"],
        Runner::Copilot => &["api.github.com:443", "github.com:443", "*.githubcopilot.com:443"],
        Runner::Claude => &["api.anthropic.com:443", "console.anthropic.com:443", "platform.claude.com:443"],
        Runner::Gemini => &[
            "cloudcode-pa.googleapis.com:443",
            "generativelanguage.googleapis.com:443",
            "oauth2.googleapis.com:443",
        ],
        Runner::Opencode => &["models.dev:443", "opencode.ai:443"],
        Runner::Custom(_) => &[],
    }
}
