//! The address of a hub on another machine.

use std::fmt;
use std::str::FromStr;

use adjutant_base::config::is_loopback;

/// The origin of a hub, such as `https://hub.example.org:7437`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubAddress(String);

impl HubAddress {
    /// Returns the address of a toolset's MCP endpoint.
    pub(super) fn endpoint(&self, toolset: &str) -> String {
        match toolset {
            "all" => format!("{}/mcp", self.0),
            one => format!("{}/mcp/{one}", self.0),
        }
    }
}

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HubAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, rest) = text
            .split_once("://")
            .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
            .ok_or("it must begin with https://, such as https://hub.example.org:7437")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty()
            || authority.contains(['@', '?', '#'])
            || authority.contains(char::is_whitespace)
        {
            return Err(
                "it must be a host with or without a port, and the token is not a part of it".to_owned()
            );
        }
        if !matches!(path.trim_end_matches('/'), "" | "mcp") {
            return Err(format!(
                "`/{path}` is not a path of a hub; leave it out, and name the toolset before"
            ));
        }
        if scheme == "http" && !is_loopback(authority) {
            return Err("without TLS the token would be read on the way; use https://".to_owned());
        }
        Ok(Self(format!("{scheme}://{authority}")))
    }
}

#[cfg(test)]
mod tests {
    use super::HubAddress;

    #[test]
    fn an_address_is_one_that_hides_the_token() {
        let parsed = |text: &str| text.parse::<HubAddress>().map(|address| address.endpoint("questions"));
        for (text, endpoint) in [
            ("https://hub.example.org:7437", "https://hub.example.org:7437/mcp/questions"),
            ("https://hub.example.org/", "https://hub.example.org/mcp/questions"),
            ("https://[2001:db8::1]:7437/mcp", "https://[2001:db8::1]:7437/mcp/questions"),
            ("http://127.0.0.1:7437", "http://127.0.0.1:7437/mcp/questions"),
            ("http://localhost:7437/mcp/", "http://localhost:7437/mcp/questions"),
            ("http://[::1]:7437", "http://[::1]:7437/mcp/questions"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(endpoint), "{text}");
        }
        for text in [
            "",
            "hub.example.org",
            "ftp://hub.example.org",
            "http://hub.example.org",
            "http://127.0.0.1.example.org",
            "http://localhost@hub.example.org",
            "https://",
            "https:///mcp",
            "https://token@hub.example.org",
            "https://hub.example.org?token=1",
            "https://hub.example.org/mcp/questions",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
