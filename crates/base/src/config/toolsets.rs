//! Settings of toolsets: switches for all clients, and for clients by their name.
//!
//! `[toolsets]` switches a toolset off for all. `[clients.NAME]` narrows the toolsets of clients with a name that
//! begins with NAME. A client chooses its name itself, so this spares a model the tools that it does not need, and is
//! not a security boundary.

use std::collections::BTreeMap;

use super::table::{Row, to_toml};

crate::named_enum! {
    /// A toolset, in the order of lists and help.
    Toolset {
        Prompts = "prompts",
        Agents = "agents",
        Questions = "questions",
        Assistant = "assistant",
        Codex = "codex",
    }
}

/// The switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolsetsConfig {
    /// Toolsets that are off for all clients.
    pub off: Vec<Toolset>,
    /// Prefix of a client's name in lower case, and the toolsets of such clients; the longest prefix counts.
    pub clients: Vec<(String, Vec<Toolset>)>,
}

impl ToolsetsConfig {
    /// Returns the switches with their values.
    pub(super) fn rows(&self) -> Vec<Row> {
        let all = Toolset::ALL.iter().copied().map(|toolset| {
            let on = !self.off.contains(&toolset);
            let about = "Whether `adjutant connect` and `/mcp` serve this toolset.";
            Row::new("toolsets", toolset.name(), on.to_string(), about)
        });
        let narrowed = self.clients.iter().map(|(client, toolsets)| {
            let about = "Toolsets of clients whose name begins so.";
            Row::new("clients", client, to_toml(toolsets), about)
        });
        all.chain(narrowed).collect()
    }

    /// Returns whether a client named `client` has `toolset`. A client without a name has every toolset that is not
    /// off.
    pub fn has(&self, toolset: Toolset, client: &str) -> bool {
        let client = client.to_ascii_lowercase();
        let matching = self.clients.iter().filter(|(name, _)| client.starts_with(name.as_str()));
        let narrowed = matching.max_by_key(|(name, _)| name.len());
        !self.off.contains(&toolset) && narrowed.is_none_or(|(_, toolsets)| toolsets.contains(&toolset))
    }
}

/// `[toolsets]`.
pub(super) type File = BTreeMap<Toolset, bool>;

super::table::table! {
    /// `[clients.NAME]`.
    pub(super) struct Client {
        /// The only toolsets of clients whose own name begins with NAME; required.
        toolsets: Vec<Toolset>,
    }
}

/// Combines both sections.
pub(super) fn read(toolsets: &File, clients: impl IntoIterator<Item = (String, Client)>) -> ToolsetsConfig {
    let off = Toolset::ALL.iter().copied().filter(|toolset| toolsets.get(toolset) == Some(&false));
    let clients = clients.into_iter().map(|(name, client)| (name.to_ascii_lowercase(), client.toolsets));
    ToolsetsConfig { off: off.collect(), clients: clients.collect() }
}

#[cfg(test)]
mod tests {
    use super::{Toolset, ToolsetsConfig};

    #[test]
    fn the_longest_prefix_counts_and_off_is_off() {
        let config = ToolsetsConfig {
            off: vec![Toolset::Codex],
            clients: vec![
                ("claude".to_owned(), vec![Toolset::Prompts]),
                ("claude-code".to_owned(), vec![Toolset::Questions, Toolset::Codex]),
            ],
        };
        let toolsets = |client: &str| -> Vec<&str> {
            let all = Toolset::ALL.iter().copied();
            all.filter(|toolset| config.has(*toolset, client)).map(Toolset::name).collect()
        };
        assert_eq!(toolsets("Claude-Code 2"), ["questions"]);
        assert_eq!(toolsets("claude-ai"), ["prompts"]);
        assert_eq!(toolsets(""), ["prompts", "agents", "questions", "assistant"]);
    }
}
