//! The one wire rule: a client that speaks 2024-11-05 gets the contracts to the letter, a client that speaks a
//! newer revision gets the MCP specification of that revision. The differences are in this file.

use rmcp::RoleServer;
use rmcp::model::{
    Implementation, InitializeResult, MetaObject, ProtocolVersion, RequestMetaObject, ServerCapabilities,
    TASKS_EXTENSION_ID,
};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use crate::toolset::ToolsetSelection;
use adjutant_base::config::toolsets::Toolset;

/// A revision of the Model Context Protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    /// Stateless: every request carries its revision.
    V2026_07_28,
}

impl Revision {
    /// Every supported version, the oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// Returns the version as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Parses a version of the wire; `None` for an unsupported one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Returns the revision of a request: that of its `_meta`, else the negotiated one, else 2024-11-05.
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        context
            .protocol_version()
            .and_then(|version| Self::parse(version.as_str()))
            .unwrap_or(Self::V2024_11_05)
    }

    /// Returns whether a tool carries annotations.
    pub(crate) fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Returns whether a tool, a prompt and an argument carry a title, and a tool its output schema.
    pub(crate) fn has_titles(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Returns whether an invalid argument gets a result that the model reads (`isError`) and not a protocol error.
    pub(crate) fn argument_errors_are_results(self) -> bool {
        self >= Self::V2025_11_25
    }
}

/// Returns whether the `_meta` of a request names the stateless revision.
pub(crate) fn is_stateless(meta: &RequestMetaObject) -> bool {
    let stateless = ProtocolVersion::V_2026_07_28;
    meta.protocol_version().is_some_and(|revision| revision.as_str() >= stateless.as_str())
}

/// Time for which a client may use a list without reading it again, in milliseconds. A user should see a new file soon;
/// subscribers are notified of every change at once.
const LIST_TTL_MS: u64 = 10_000;

/// Returns the `ttlMs` of a list; revisions before 2026-07-28 have none. Every list is only for its client.
pub(crate) fn list_ttl_ms(revision: Revision) -> Option<u64> {
    (revision == Revision::V2026_07_28).then_some(LIST_TTL_MS)
}

/// Adds the server's name to the `_meta` of a result, as 2026-07-28 requires.
pub fn sign(selection: ToolsetSelection, revision: Revision, meta: &mut Option<MetaObject>) {
    if revision == Revision::V2026_07_28 {
        let name = json!(server_info(selection));
        meta.get_or_insert_default().0.insert(SERVER_INFO.to_owned(), name);
    }
}

/// Returns whether rmcp's type for the response to `method` has no `_meta`, so that [`sign_json`] is needed.
pub fn signs_json(method: &str) -> bool {
    matches!(method, "resources/read" | "tasks/cancel" | "tasks/update")
}

/// Adds the server's name to a result that is JSON already.
pub fn sign_json(selection: ToolsetSelection, result: &mut Value) {
    result["_meta"][SERVER_INFO] = json!(server_info(selection));
}

/// The member of `_meta` with the server's name.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns the server's name and version.
pub(crate) fn server_info(selection: ToolsetSelection) -> Implementation {
    match selection {
        ToolsetSelection::Prompts | ToolsetSelection::Agents => {
            Implementation::new("codex-subagents", "0.1.0")
        }
        ToolsetSelection::Assistant => Implementation::new("assistant-mcp-server", "1.0.0"),
        ToolsetSelection::All | ToolsetSelection::Codex | ToolsetSelection::Questions => {
            Implementation::new("adjutant", env!("CARGO_PKG_VERSION"))
        }
    }
}

/// Returns whether a selection has resources. Those of the questions toolset are files of answers, which no list has.
pub(crate) fn has_resources(selection: ToolsetSelection, revision: Revision) -> bool {
    let has_files = selection == ToolsetSelection::Questions && revision > Revision::V2024_11_05;
    selection.has_listings() || has_files
}

/// Returns the declared capabilities. A client of 2024-11-05 gets only those of the contract.
pub fn capabilities(selection: ToolsetSelection, revision: Revision) -> ServerCapabilities {
    let mut members = Map::new();
    let contract = revision == Revision::V2024_11_05;
    let stateless = revision == Revision::V2026_07_28;
    let watched = || json!({"subscribe": true, "listChanged": true});
    let mut declare = |name: &str, options: Value| {
        members.insert(name.to_owned(), options);
    };
    if stateless {
        let mut extensions = Map::new();
        if selection.has(Toolset::Prompts) {
            extensions.insert("io.modelcontextprotocol/skills".to_owned(), json!({}));
        }
        if [Toolset::Agents, Toolset::Codex, Toolset::Questions]
            .into_iter()
            .any(|toolset| selection.has(toolset))
        {
            extensions.insert(TASKS_EXTENSION_ID.to_owned(), json!({}));
        }
        declare("extensions", Value::Object(extensions));
    }
    // The contract of the prompts server has only tools.
    if selection.has(Toolset::Prompts) && !(contract && selection == ToolsetSelection::Prompts) {
        if !contract {
            declare("completions", json!({}));
        }
        declare("prompts", json!({"listChanged": true}));
        // The contract has no subscriptions to single resources.
        declare("resources", if contract { json!({"listChanged": true}) } else { watched() });
    }
    if selection == ToolsetSelection::Assistant {
        declare("prompts", json!({"listChanged": false}));
        let none = json!({"subscribe": false, "listChanged": false});
        declare("resources", if contract { none } else { watched() });
    }
    if selection == ToolsetSelection::Questions && !contract {
        declare("resources", json!({}));
    }
    // The annotations of `delegate_task` depend on the agents.
    declare(
        "tools",
        match selection {
            ToolsetSelection::All | ToolsetSelection::Agents if !contract => json!({"listChanged": true}),
            ToolsetSelection::Assistant => json!({"listChanged": false}),
            // As Codex declares it, although the two tools never change.
            ToolsetSelection::Codex => json!({"listChanged": true}),
            ToolsetSelection::All
            | ToolsetSelection::Agents
            | ToolsetSelection::Questions
            | ToolsetSelection::Prompts => json!({}),
        },
    );
    let value = Value::Object(members);
    // The values above are capability objects; a mistake would show as empty capabilities in every transcript.
    serde_json::from_value(value).unwrap_or_default()
}

/// Returns the `initialize` result in the form of the selection's contract, if that differs from the specification's:
/// the contracts of `prompts` and `agents` repeat the client's info, the contract of `assistant` has an order.
pub fn contract_initialize(
    selection: ToolsetSelection,
    revision: Revision,
    result: &InitializeResult,
    client_info: &Implementation,
) -> Option<Value> {
    if matches!(selection, ToolsetSelection::All | ToolsetSelection::Questions)
        || revision != Revision::V2024_11_05
    {
        return None;
    }
    let mut value = serde_json::to_value(result).ok()?;
    let members = value.as_object_mut()?;
    match selection {
        ToolsetSelection::All | ToolsetSelection::Codex | ToolsetSelection::Questions => {}
        ToolsetSelection::Agents | ToolsetSelection::Prompts => {
            members.insert("clientInfo".to_owned(), serde_json::to_value(client_info).ok()?);
        }
        // The same capabilities in the order that the contract shows.
        ToolsetSelection::Assistant => {
            let capabilities = members.get_mut("capabilities")?.as_object_mut()?;
            for name in ["tools", "resources", "prompts"] {
                if let Some(capability) = capabilities.shift_remove(name) {
                    capabilities.insert(name.to_owned(), capability);
                }
            }
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use rmcp::model::ProtocolVersion;

    use super::Revision;

    /// The library agrees to each version that it knows itself.
    #[test]
    fn the_library_knows_the_same_versions() {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str);
        assert!(known.eq(Revision::ALL.map(Revision::as_str)), "decide what a new version means here first");
    }
}
