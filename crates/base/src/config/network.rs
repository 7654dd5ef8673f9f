//! The network of a sandboxed run: all of it, none, or a list of hosts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum hosts of a list.
const MAX_HOSTS: usize = 64;

/// The network of a sandboxed run, in `config.toml` and in an agent's file: `all`, `none`, or a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Network {
    /// That of the machine.
    #[default]
    All,
    /// None, so only a runner that needs no server works.
    None,
    /// These hosts, and those of the runner's model: `NAME`, `NAME:PORT`, or `*.NAME` for the names below one.
    Hosts(Vec<String>),
}

impl Network {
    /// Returns whether a program may connect to `port` of `host`.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Hosts(hosts) => hosts.iter().any(|entry| matches(entry, host, port)),
        }
    }
}

/// Returns whether an entry of a list names `port` of `host`. Letter case and a final dot of a name do not count.
pub fn matches(entry: &str, host: &str, port: u16) -> bool {
    let (name, wanted) = split_port(entry);
    let (host, name) = (host.trim_end_matches('.').to_ascii_lowercase(), name.trim_end_matches('.'));
    let is_host = match name.strip_prefix('*') {
        Some(end) => host.len() > end.len() && host.ends_with(end),
        None => host == name,
    };
    is_host && wanted.is_none_or(|wanted| wanted == port)
}

/// Splits `NAME:PORT`; an address of IPv6 is in brackets where a port follows it.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
            port.parse().map_or((entry, None), |port| (name, Some(port)))
        }
        _ => (entry.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(entry), None),
    }
}

impl TryFrom<Value> for Network {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let entry = |value: &Value| {
            let entry = value.as_str()?.trim().to_ascii_lowercase();
            let (name, port) = split_port(&entry);
            let plain = name.strip_prefix("*.").unwrap_or(name);
            let is_name = !plain.is_empty()
                && plain.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'))
                && (port.is_some() || !plain.contains(':') || plain.parse::<std::net::Ipv6Addr>().is_ok());
            is_name.then_some(entry)
        };
        let found = match &value {
            Value::String(word) if word == "all" => Some(Self::All),
            Value::String(word) if word == "none" => Some(Self::None),
            Value::Array(list) if !list.is_empty() && list.len() <= MAX_HOSTS => {
                list.iter().map(entry).collect::<Option<_>>().map(Self::Hosts)
            }
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "`network` cannot be {value}; use `all`, `none`, or a list of at most {MAX_HOSTS} hosts, such as \
                 \"example.org\", \"example.org:443\" or \"*.example.org\""
            )
        })
    }
}

impl From<Network> for Value {
    fn from(network: Network) -> Self {
        match network {
            Network::All => "all".into(),
            Network::None => "none".into(),
            Network::Hosts(hosts) => hosts.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Network;
    use serde_json::json;

    #[test]
    fn a_list_names_hosts_with_and_without_ports() {
        let list = json!(["Example.org", "b.test:8443", "*.c.test", "[::1]:80", "10.0.0.1"]);
        let network = Network::try_from(list).unwrap();
        for (host, port, allowed) in [
            ("example.org", 443, true),
            ("EXAMPLE.org.", 80, true),
            ("www.example.org", 443, false),
            ("notexample.org", 443, false),
            ("b.test", 8443, true),
            ("b.test", 443, false),
            ("x.c.test", 1, true),
            ("c.test", 1, false),
            ("xc.test", 1, false),
            ("::1", 80, true),
            ("::1", 81, false),
            ("10.0.0.1", 22, true),
        ] {
            assert_eq!(network.allows(host, port), allowed, "{host}:{port}");
        }
        assert!(Network::All.allows("x", 1) && !Network::None.allows("x", 1));
    }

    #[test]
    fn what_names_no_network_is_refused() {
        for value in [
            json!("allowed"),
            json!([]),
            json!([""]),
            json!(["a b"]),
            json!(["http://x"]),
            json!([1]),
            json!(3),
        ] {
            let reason = Network::try_from(value.clone()).unwrap_err();
            assert!(
                reason.starts_with(&format!("`network` cannot be {value}; use `all`, `none`, or")),
                "{reason}"
            );
        }
        assert_eq!(Network::try_from(json!("none")), Ok(Network::None));
    }
}
