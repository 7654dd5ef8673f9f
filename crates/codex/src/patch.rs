//! The files that a patch changes.

use std::path::Path;

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

impl FileChange {
    /// Returns the change as a unified diff with its file below `folder`.
    pub(super) fn unified(&self, folder: &str) -> String {
        let path = Path::new(&self.path);
        let path = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        self.unified_as(path.trim_start_matches('/'))
    }

    /// Returns the change as a unified diff of a file with this name.
    pub fn unified_as(&self, path: &str) -> String {
        let (old, new) = (format!("a/{path}"), format!("b/{path}"));
        let whole = |sign: char| {
            let lines = self.diff.lines().map(|line| format!("{sign}{line}\n"));
            (self.diff.lines().count(), lines.collect::<String>())
        };
        let (old, new, body) = match self.how.as_str() {
            "add" => {
                let (count, lines) = whole('+');
                ("/dev/null".to_owned(), new, format!("@@ -0,0 +1,{count} @@\n{lines}"))
            }
            "delete" => {
                let (count, lines) = whole('-');
                (old, "/dev/null".to_owned(), format!("@@ -1,{count} +0,0 @@\n{lines}"))
            }
            _ => (old, new, self.diff.clone()),
        };
        let end = if body.ends_with('\n') { "" } else { "\n" };
        format!("--- {old}\n+++ {new}\n{body}{end}")
    }
}
