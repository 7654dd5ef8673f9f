//! A call of a tool as a client's hook reports it, its answer, and the request that it is for the rules.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use adjutant_base::text::hex;
use adjutant_permissions::{Allowable, Request, Verdict};

/// One call of a tool, as a client's hook reports it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ToolCall {
    /// The client's name in the configuration, such as `claude`.
    pub client: String,
    /// The client's name in texts.
    pub client_title: String,
    pub session: String,
    /// The folder that the client works in.
    pub folder: PathBuf,
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// Whether the client asks about every call, so that only rules decide, and no user is asked.
    pub rules_only: bool,
    /// Whether the client has let it run, so that nothing is left to decide.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_run: bool,
    /// What rules may allow of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allowable: Allowable,
}

/// A member that is left out keeps the digest of a hook and a hub of different versions equal.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl ToolCall {
    /// Returns the digest that binds a decision to this call.
    pub fn digest(&self) -> String {
        hex::sha256(serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns whether both are calls of one tool with the same arguments in one session. The folder may differ, because a
    /// command can change it.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.client, &self.session, &self.tool, &self.arguments)
            == (&other.client, &other.session, &other.tool, &other.arguments)
    }
}

/// The answer to a [`ToolCall`].
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct PermissionAnswer {
    /// [`ToolCall::digest`] of the call that is decided.
    pub digest: String,
    /// [`Verdict::Ask`] means that the client asks by itself.
    pub verdict: Option<Verdict>,
    /// The deciding rules or the user, with a note; for the model.
    pub reason: String,
}

/// Returns the request of a call, with its paths as they lead now.
pub fn request(call: &ToolCall) -> Request {
    Request::new((&call.client, &call.session), &call.folder, &call.tool, call.arguments.clone(), resolve)
        .with_allowable(call.allowable)
}

/// Returns where a path leads from a folder without links. Of a file that does not exist yet, its folder counts.
pub(super) fn resolve(folder: &Path, path: &str) -> PathBuf {
    // A program may read `~` as a home, so this is never below the folder.
    let full = if path.starts_with('~') { Path::new("/").join(path) } else { folder.join(path) };
    full.components().fold(PathBuf::from("/"), |mut resolved, part| {
        if part == Component::ParentDir {
            resolved.pop();
        } else {
            resolved.push(part);
        }
        resolved.canonicalize().unwrap_or_else(|_| {
            // A write makes the file that such a link names, wherever that is: no folder holds it.
            if resolved.is_symlink() { Path::new("/").join("a link that leads nowhere") } else { resolved }
        })
    })
}
