//! The files that a patch changes.

use serde::{Deserialize, Serialize};

/// One file of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    /// `add`, `delete`, `update`.
    pub how: String,
    /// A unified diff for an update, the content for the others.
    pub diff: String,
}
