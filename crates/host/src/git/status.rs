//! The status of a working tree, for a user who answers a question about it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Difference, Git, no_attributes, numbers, text};

/// Timeout of a status, because a user waits for it. A status that takes longer is left out.
const GLANCE: Duration = Duration::from_secs(2);

/// Maximum bytes of a listing. A tree with more changes has [`Facts::more`] set.
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024;

/// Maximum names of changed files.
const NAMED: usize = 20;

/// The state of a working tree, from git alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The commit, abbreviated; `None` before the first one.
    pub commit: Option<String>,
    /// Number of files that differ from the commit, new ones included; a folder of new files counts once.
    pub dirty: usize,
    /// Set if there are more than were read.
    pub more: bool,
    /// The first of these files, each with git's two letters for its status.
    pub files: Vec<(String, String)>,
    /// Lines that differ from the commit in files that git knows.
    pub insertions: u64,
    pub deletions: u64,
}

impl Git {
    /// Returns the state of the working tree around `folder`. The error is a sentence fragment.
    pub async fn facts(&self, folder: &Path) -> Result<Facts, String> {
        tokio::time::timeout(GLANCE, self.look(folder))
            .await
            .unwrap_or_else(|_| Err(format!("git took longer than {} s", GLANCE.as_secs())))
    }

    async fn look(&self, folder: &Path) -> Result<Facts, String> {
        let repository = self.find(folder).await?;
        let env = [no_attributes()];
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--no-renames",
            "--ignore-submodules=all",
        ];
        let status = self.ask(&repository.top, &status, &env, MAX_OUTPUT_BYTES).await?;
        let mut facts = read_status(text(&status.stdout)?);
        facts.more = status.cut;
        if repository.head.is_some() {
            let diff = [
                "diff",
                "--numstat",
                "-z",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=all",
                "HEAD",
                "--",
            ];
            let diff = self.ask(&repository.top, &diff, &env, MAX_OUTPUT_BYTES).await?;
            Difference { insertions: facts.insertions, deletions: facts.deletions, .. } =
                numbers(&diff.stdout);
        }
        Ok(facts)
    }
}

/// Parses the output of `git status --porcelain=v2 --branch -z`; git's manual defines the format.
fn read_status(listing: &str) -> Facts {
    let mut facts = Facts::default();
    for entry in listing.split('\0') {
        let (kind, rest) = entry.split_once(' ').unwrap_or_default();
        let file = match kind {
            "#" => {
                match rest.split_once(' ') {
                    Some(("branch.head", name)) if name != "(detached)" => {
                        facts.branch = Some(name.to_owned());
                    }
                    Some(("branch.oid", commit)) if commit != "(initial)" => {
                        facts.commit = Some(commit.chars().take(10).collect());
                    }
                    _ => {}
                }
                continue;
            }
            // A changed file: eight fields before the name, with the letters first. A conflict has ten.
            "1" => fields(rest, 7),
            "u" => fields(rest, 9),
            "?" => Some(("??", rest)),
            _ => None,
        };
        let Some((letters, name)) = file else { continue };
        facts.dirty += 1;
        if facts.files.len() < NAMED {
            facts.files.push((letters.replace('.', " "), name.to_owned()));
        }
    }
    facts
}

/// Returns the first field of an entry and its name, which follows after `before` fields.
fn fields(entry: &str, before: usize) -> Option<(&str, &str)> {
    let letters = entry.split(' ').next()?;
    Some((letters, entry.splitn(before + 1, ' ').nth(before)?))
}

#[cfg(test)]
mod tests {
    use super::{Facts, read_status};

    #[test]
    fn reads_a_status_with_every_kind_of_entry() {
        let listing = "# branch.oid 0123456789abcdef\0# branch.head main\0# branch.ab +1 -2\0\
            1 .M N... 100644 100644 100644 aaaa bbbb a b.txt\0\
            u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both.rs\0? new/\0";
        let file = |letters: &str, name: &str| (letters.to_owned(), name.to_owned());
        assert_eq!(
            read_status(listing),
            Facts {
                branch: Some("main".to_owned()),
                commit: Some("0123456789".to_owned()),
                dirty: 3,
                files: vec![file(" M", "a b.txt"), file("UU", "both.rs"), file("??", "new/")],
                ..Facts::default()
            }
        );
    }

    #[test]
    fn a_detached_head_and_no_commit_are_no_names() {
        assert_eq!(read_status("# branch.oid (initial)\0# branch.head (detached)\0"), Facts::default());
    }
}
