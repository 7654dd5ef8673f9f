//! Network of a run: what the configuration, the agent's file and the tasks above all allow, and the hosts of the runner's
//! model.

use crate::runner::Runner;
use adjutant_base::config::network::{Network, matches};

/// The network of one run.
#[derive(Debug)]
pub(crate) struct RunNetwork {
    /// Of the configuration.
    config: Network,
    /// Of the agent's file, and of the tasks above.
    rules: Vec<Network>,
    /// Hosts of the runner's model, which stay reachable although a list does not name them.
    model: Vec<String>,
}

impl RunNetwork {
    /// Returns the network of a run on `runner`, which has these `hosts` in the configuration too.
    pub(crate) fn new(config: Network, rules: Vec<Network>, runner: &Runner, hosts: &[String]) -> Self {
        let known = model_hosts(runner).iter().map(|host| (*host).to_owned());
        Self {
            config,
            rules,
            model: known.chain(hosts.iter().map(|host| host.to_ascii_lowercase())).collect(),
        }
    }

    /// Returns whether the run has the network of the machine.
    pub(crate) fn is_all(&self) -> bool {
        self.all().all(|rule| *rule == Network::All)
    }

    /// Returns whether the run may reach some hosts and not others.
    pub(crate) fn is_list(&self) -> bool {
        !self.is_all() && self.all().all(|rule| *rule != Network::None)
    }

    /// Returns whether the run may connect to `port` of `host`. Call it only where [`Self::is_list`], because it always
    /// allows the hosts of the model.
    pub(crate) fn allows(&self, host: &str, port: u16) -> bool {
        self.model.iter().any(|entry| matches(entry, host, port))
            || self.all().all(|rule| rule.allows(host, port))
    }

    fn all(&self) -> impl Iterator<Item = &Network> {
        self.rules.iter().chain([&self.config])
    }
}

impl std::fmt::Display for RunNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |rule: &Network| match rule {
            Network::All => "all".to_owned(),
            Network::None => "none".to_owned(),
            Network::Hosts(hosts) => hosts.join(", "),
        };
        if !self.is_all() && !self.is_list() {
            return f.write_str("none");
        }
        let mut limited = self.all().filter(|rule| **rule != Network::All);
        let first = limited.next().unwrap_or(&Network::All);
        f.write_str(&text(first))?;
        for rule in limited.filter(|rule| *rule != first) {
            let holder = if *rule == self.config { "the configuration" } else { "the task above" };
            write!(f, ", of which {holder} allows {}", text(rule))?;
        }
        Ok(())
    }
}

/// Returns the hosts of a runner's login and model. Those of other providers are in the runner's own configuration, and
/// unknown here.
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
